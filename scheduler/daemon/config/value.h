/* SPDX-License-Identifier: MIT */
/*
 * Parsers of the values in the configuration file. Each function parses the whole text, with
 * nothing before or after the value. It returns true if the text is a value of its kind within
 * the bounds; otherwise *out is unchanged.
 *
 * Threads: any; no state. value_user() and value_group() use getpwnam(3) and getgrnam(3), which
 * are not thread-safe.
 */
#ifndef KFDSHIM_SCHEDULER_DAEMON_CONFIG_VALUE_H
#define KFDSHIM_SCHEDULER_DAEMON_CONFIG_VALUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define VALUE_NAME 64 /* bytes, with the NUL */

/* Parses a number of decimal digits only. */
bool value_number(const char *text, uint64_t min, uint64_t max, uint64_t *out);

/* Parses a time in the grammar of common/parse.h: "50ms", "1.5 s". */
bool value_time(const char *text, uint64_t min_ns, uint64_t max_ns, uint64_t *out_ns);

/* Parses a percentage: "20%". */
bool value_percent(const char *text, uint32_t min, uint32_t max, uint32_t *out);

/* Parses "yes" or "no". */
bool value_yes_no(const char *text, bool *out);

/* Parse a user or group: a name that the system knows, or a number. The name service may use the
 * network (nsswitch.conf). */
bool value_user(const char *text, uid_t *out);
bool value_group(const char *text, gid_t *out);

/* Copies a name of letters, digits, `.`, `_` and `-`, with 1 to size - 1 characters. */
bool value_name(const char *text, char *out, size_t size);

/* Parses "off" (0), or a port of this machine: "127.0.0.1:9464". */
bool value_listen(const char *text, uint16_t *out);

/* Copies the next item of a list (`a, b, c`) into `item`, without surrounding blanks, and
 * advances *at. An item that is empty or longer than size - 1 is returned as "". Returns false
 * at the end of the list. */
bool value_next(const char **at, char *item, size_t size);

/* Formats a time in the largest unit in which it is a whole number: "50ms", "1us", "3600s". */
void value_time_text(uint64_t ns, char text[static 24]);

#endif

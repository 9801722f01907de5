/* SPDX-License-Identifier: MIT */
/*
 * What stands behind the `=` in the configuration file. Each function reads a whole
 * text, nothing before or after it, and says whether it is one of its kind and within
 * the bounds; if not, *out is untouched. No state.
 */
#ifndef KFDSHIM_SCHEDULER_DAEMON_VALUE_H
#define KFDSHIM_SCHEDULER_DAEMON_VALUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define VALUE_NAME 64 /* with its NUL */

/* Decimal digits only. */
bool value_number(const char *text, uint64_t min, uint64_t max, uint64_t *out);
/* As common/parse.h has it: "50ms", "1.5 s". */
bool value_time(const char *text, uint64_t min_ns, uint64_t max_ns, uint64_t *out_ns);
/* "20%" */
bool value_percent(const char *text, uint32_t min, uint32_t max, uint32_t *out);
/* "yes", "no" */
bool value_yes_no(const char *text, bool *out);
/* A name that the system knows, or a number. It may ask the network (nsswitch.conf). */
bool value_user(const char *text, uid_t *out);
bool value_group(const char *text, gid_t *out);
/* Letters, digits, `.`, `_`, `-`; at most size - 1 of them, and one at least. */
bool value_name(const char *text, char *out, size_t size);
/* "off" (0), or a port of this machine: "127.0.0.1:9464" */
bool value_listen(const char *text, uint16_t *out);

/* Takes the next of a list (`a, b, c`) into `item`, without the blanks around it, and moves
 * *at behind it. false: the list is over. An item that is empty, or longer than
 * size - 1, comes as "". */
bool value_next(const char **at, char *item, size_t size);

/* "50ms", "1us", "3600s": in the largest unit that takes no fraction. */
void value_time_text(uint64_t ns, char text[static 24]);

#endif

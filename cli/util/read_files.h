/* SPDX-License-Identifier: MIT */
/*
 * Reads small files of /proc and /sys, and values of the daemon's reply, for kfdsched doctor.
 *
 * Functions that read a file take its path as a printf format with arguments. They return 0 or a
 * negative errno, unless stated otherwise; after an error the value is unchanged. Threads: none.
 */
#ifndef KFDSHIM_CLI_UTIL_READ_FILES_H
#define KFDSHIM_CLI_UTIL_READ_FILES_H

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

/* Reads the first line, without its newline, cut to `size`. -ENODATA: the file is empty. */
int read_text(char *text, size_t size, const char *path, ...) __attribute__((format(printf, 3, 4)));
/* Reads a decimal number, or "Y" and "N" of a module parameter as 1 and 0. -EINVAL: the text is
 * neither. */
int read_number(int64_t *out, const char *path, ...) __attribute__((format(printf, 2, 3)));
/* Reads the number of the line that begins with `key`, followed by blanks, tabs or a colon.
 * -ENODATA: there is no such line. */
int read_property(int64_t *out, const char *key, const char *path, ...)
	__attribute__((format(printf, 3, 4)));
/* Reads a hexadecimal number as read_property() reads a decimal one, such as the capabilities in
 * /proc/PID/status. */
int read_mask(uint64_t *out, const char *key, const char *path, ...)
	__attribute__((format(printf, 3, 4)));
/* Returns the contents of the file, cut to 1 MiB, with a NUL behind them that *bytes does not
 * count. The caller frees them. Returns NULL with errno on error. */
char *read_whole(size_t *bytes, const char *path, ...) __attribute__((format(printf, 2, 3)));
/* Copies a string of a JSON object, cut to `size`; "" if the key is missing or no string. */
void read_word(char *text, size_t size, const json_t *object, const char *key);
/* Returns an integer of a JSON object; -1 if the key is missing or no integer. */
int64_t read_integer(const json_t *object, const char *key);
/* Parses a value of KFDSHIM_VRAM_LIMIT. Returns 0, or -EINVAL if the value is not valid, so that
 * the shim ignores it. */
int read_bytes(int64_t *out, const char *text);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * Small files of /proc and /sys, for kfdsched doctor, and what stands in the daemon's
 * answer. The last arguments of those that read a file are the path, as for printf; 0 or a
 * negative errno, and then the value stays as it was. Threads: none.
 */
#ifndef KFDSHIM_CLI_DOCTOR_READ_H
#define KFDSHIM_CLI_DOCTOR_READ_H

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

/* The first line, without its end; cut to `size`. */
int read_text(char *text, size_t size, const char *path, ...) __attribute__((format(printf, 3, 4)));
/* A decimal number, or "Y" and "N" of a module's parameter. -EINVAL: it is neither. */
int read_number(int64_t *out, const char *path, ...) __attribute__((format(printf, 2, 3)));
/* What stands behind `key` at the begin of a line, with blanks, tabs or a colon between.
 * -ENODATA: no such line. */
int read_property(int64_t *out, const char *key, const char *path, ...)
	__attribute__((format(printf, 3, 4)));
/* The same with a number in hexadecimal, as /proc has capabilities. */
int read_mask(uint64_t *out, const char *key, const char *path, ...)
	__attribute__((format(printf, 3, 4)));
/* The whole file with a NUL behind it, at most 1 MiB; the caller frees. NULL with errno. */
char *read_whole(size_t *bytes, const char *path, ...) __attribute__((format(printf, 2, 3)));
/* Of a JSON object: a text, cut to `size`, empty where there is none; an integer, or -1. */
void read_word(char *text, size_t size, const json_t *object, const char *key);
int64_t read_integer(const json_t *object, const char *key);
/* A value of KFDSHIM_VRAM_LIMIT. -EINVAL: the shim ignores it. */
int read_bytes(int64_t *out, const char *text);

#endif

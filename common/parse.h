/* SPDX-License-Identifier: MIT */
/*
 * The one grammar of numbers, times and sizes, for the environment of a workload, for the
 * configuration file and for options of the command.
 *
 *	NUMBER  = digits, with a decimal fraction: "20", "1.5", ".5"
 *	time    = NUMBER, blanks or none, and one of us, ms, s
 *	size    = NUMBER, blanks or none, and one of K, M, G, T (powers of 1024), or none: bytes
 *
 * Each function reads a whole text and says whether it is one of its kind that fits into 64 bits;
 * if not, *out is untouched. A fraction of a unit of the result is cut off.
 *
 * Pure: no locale, no memory, no errno. It is a part of the preloaded agent, too. Threads: any.
 */
#ifndef KFDSHIM_COMMON_PARSE_H
#define KFDSHIM_COMMON_PARSE_H

#include <stdbool.h>
#include <stdint.h>

/* Decimal digits and nothing else. */
bool parse_uint(const char *text, uint64_t *out);
/* "20ms", "1.5s", "500 us" */
bool parse_time_ns(const char *text, uint64_t *out);
/* "40G", "1.5G", "512 M", "4096" */
bool parse_bytes(const char *text, uint64_t *out);

#endif

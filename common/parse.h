/* SPDX-License-Identifier: MIT */
/*
 * The common grammar of numbers, times and sizes in the environment of a workload, in the
 * configuration file and in options of the command:
 *
 * 	NUMBER  = digits, with a decimal fraction: "20", "1.5", ".5"
 * 	time    = NUMBER, blanks or none, and one of us, ms, s
 * 	size    = NUMBER, blanks or none, and one of K, M, G, T (powers of 1024), or none: bytes
 *
 * Each function parses a whole text. It returns true if the text has that form and the value fits
 * in 64 bits; otherwise it returns false and does not change *out. The result is rounded down.
 *
 * Pure: no locale, no allocation, no errno, because the preloaded agent uses it, too. Threads: any.
 */
#ifndef KFDSHIM_COMMON_PARSE_H
#define KFDSHIM_COMMON_PARSE_H

#include <stdbool.h>
#include <stdint.h>

/* Parses a number of decimal digits only. */
bool parse_uint(const char *text, uint64_t *out);
/* Parses a time, as "20ms", "1.5s" or "500 us", to ns. */
bool parse_time_ns(const char *text, uint64_t *out);
/* Parses a size, as "40G", "1.5G", "512 M" or "4096", to bytes. */
bool parse_bytes(const char *text, uint64_t *out);

#endif

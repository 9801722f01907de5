/* SPDX-License-Identifier: MIT */
/*
 * Parses the values in a line of a recording (docs/reference/scheduler-recording.md). One letter
 * names the kind of a value:
 *
 *   i  a number                    t  a duration            d  a time or never
 *   k  a number of clients         p  a priority            l  a time, never or none
 *   %  a share                     e  0 or a negative errno x  a set of bits
 *   r  a policy                    a  a capability          y  yes or no
 *   c  a client                    n  a new client
 *
 * Threads: any.
 */
#ifndef TESTS_UNIT_SCHEDULER_CORE_RECORDED_VALUE_H
#define TESTS_UNIT_SCHEDULER_CORE_RECORDED_VALUE_H

#include <stdbool.h>
#include <stdint.h>

/* Largest time or duration, in ns: sums of a few of them do not overflow. */
#define RECORDED_TIME_MAX (UINT64_C(1) << 60)

/* Parses a number that consists of decimal digits only. Returns false if `text` is not such a
 * number, or if it is above `max`. */
bool recorded_number(const char *text, uint64_t max, uint64_t *out);
/* Parses a value of any kind but c and n. `out` is an enumerator, a number (a negative one as two's
 * complement), or for a time ns of the clock on which the recording started at `start_ns`. Returns
 * false if the value is not allowed. */
bool recorded_value(char kind, const char *text, uint64_t start_ns, uint64_t *out);
/* Returns a text that names the allowed values of a kind; it completes "VALUE: must be". */
const char *recorded_allowed(char kind);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * The values in a line of a recording (docs/formats.md), each of a kind that one letter names:
 *   i  a number                    t  a duration            d  a time or never
 *   k  a number of clients         p  a priority            l  a time, never or none
 *   %  a share                     e  0 or a negative errno x  a set of bits
 *   r  a policy                    a  a capability          y  yes or no
 *   c  a client                    n  a new client
 * Threads: any.
 */
#ifndef TESTS_UNIT_SCHEDULER_CORE_RECORDED_VALUE_H
#define TESTS_UNIT_SCHEDULER_CORE_RECORDED_VALUE_H

#include <stdbool.h>
#include <stdint.h>

/* Of a time and a duration: sums of a few of them do not overflow. */
#define RECORDED_TIME_MAX (UINT64_C(1) << 60)

/* Decimal digits alone; false: it is not, or above `max`. */
bool recorded_number(const char *text, uint64_t max, uint64_t *out);
/* A value of any kind but c and n: an enumerator, a number (a negative one as two's complement),
 * or for a time ns of the clock on which the recording began at `start_ns`. false: not allowed. */
bool recorded_value(char kind, const char *text, uint64_t start_ns, uint64_t *out);
/* What is: it completes "VALUE: must be". */
const char *recorded_allowed(char kind);

#endif

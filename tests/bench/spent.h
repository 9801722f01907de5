/* SPDX-License-Identifier: MIT */
/*
 * The resources that a process has used so far, all its threads together. The difference of two
 * readings is the cost of an operation, without the time for which the process waited for a core.
 *
 * Threads: none. If the process does not exist, the program ends with exit code 1 and a line on
 * stderr.
 */
#ifndef KFDSHIM_TESTS_BENCH_SPENT_H
#define KFDSHIM_TESTS_BENCH_SPENT_H

#include <sys/types.h>

/* Returns the CPU time in ns. */
double spent_cpu_ns(pid_t pid);
/* Returns the number of voluntary context switches: each sleep but the last one has ended in a
 * wake. */
double spent_sleeps(pid_t pid);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * What a process has used of the machine so far, all its threads together. The difference of two
 * readings is what something cost, without the time for which the process waited for a core.
 *
 * Threads: none. A process that is not there ends the program with 1 and a line on stderr.
 */
#ifndef KFDSHIM_TESTS_BENCH_SPENT_H
#define KFDSHIM_TESTS_BENCH_SPENT_H

#include <sys/types.h>

double spent_cpu_ns(pid_t pid);
/* How often its threads have gone to sleep: each sleep but the last has ended in a wake. */
double spent_sleeps(pid_t pid);

#endif

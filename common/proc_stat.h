/* SPDX-License-Identifier: MIT */
/*
 * What /proc/PID/stat says of a process or a thread, in proc(5)'s words.
 *
 * Threads: any. It takes no lock and no memory, and leaves an errno.
 */
#ifndef KFDSHIM_COMMON_PROC_STAT_H
#define KFDSHIM_COMMON_PROC_STAT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct proc_stat {
	char state;	    /* 'S' sleeps, 'T' stopped, 't' by a tracer, 'Z' zombie ... */
	bool kernel_thread; /* PF_KTHREAD of the flags */
	bool ending;	    /* PF_EXITING: it lets go of what it has, and may be no zombie yet */
	uint64_t cpu_ticks; /* it has run so long, in user and kernel mode */
	uint64_t
		child_ticks; /* likewise, its children that have ended and that it has waited for */
	uint64_t started;    /* ticks since boot: with the pid it names one process */
	uint64_t stack;	     /* where its stack began, another after an exec; 0: not to be seen */
};

/* A tick is 1 s / sysconf(_SC_CLK_TCK). false: there is none of that number in our pid
 * namespace, and all of *out is 0. */
bool proc_stat(pid_t pid, struct proc_stat *out);

#endif

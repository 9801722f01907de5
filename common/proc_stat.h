/* SPDX-License-Identifier: MIT */
/*
 * /proc/PID/stat of a process or a thread, with the terms of proc(5).
 *
 * Threads: any. Takes no lock, allocates nothing, does not keep errno.
 */
#ifndef KFDSHIM_COMMON_PROC_STAT_H
#define KFDSHIM_COMMON_PROC_STAT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct proc_stat {
	char state; /* 'S' sleeping, 'T' stopped, 't' by a tracer, 'Z' zombie ... */
	pid_t parent;
	bool kernel_thread;   /* PF_KTHREAD is set in its flags */
	bool ending;	      /* PF_EXITING is set: it exits, but may not be a zombie yet */
	uint64_t cpu_ticks;   /* time in user and kernel mode, in ticks */
	uint64_t child_ticks; /* the same of the children that it has waited for, in ticks */
	uint64_t started;     /* ticks since boot; identifies a process together with its PID */
	uint64_t stack;	      /* address of the begin of its stack, which is another after an
				 exec; 0: not readable */
};

/* Reads the stat of a process or thread. A tick is 1 s / sysconf(_SC_CLK_TCK). Returns false if
 * this PID namespace has none with that number; all of *out is 0 then. */
bool proc_stat(pid_t pid, struct proc_stat *out);

#endif

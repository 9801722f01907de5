/* SPDX-License-Identifier: MIT */
/*
 * Where a thread waits in the kernel, as /proc shows it, and whether the kernel ends the wait by the
 * machine's clock. In a virtual world only waits that go past the time library do that.
 *
 * Numbers of processes and threads are those of the caller's PID namespace. Threads: any.
 */
#ifndef KFDSHIM_SIM_HOST_KERNEL_WAIT_H
#define KFDSHIM_SIM_HOST_KERNEL_WAIT_H

#include <stdbool.h>
#include <sys/types.h>

struct kernel_wait {
	const char
		*call;	/* the system call; NULL: it is in none, or in one that is not known here */
	char place[64]; /* the function of the kernel; empty: it runs, or may not be seen */
	bool timed;	/* the call has a time-out, and it is not the time library's */
	bool reads_input; /* it waits for its standard input, and for nothing else */
	bool is_call;	  /* it is in a call that blocks */
};

void kernel_wait_read(pid_t pid, pid_t tid, struct kernel_wait *wait);

/* It was stopped, by a signal or a debugger. */
bool kernel_wait_is_stop(const struct kernel_wait *wait);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * The data that the processes of bench_wake share: a page in the file that BENCH_WAKE_PAGE names.
 *
 * Threads: each word has one writer at a time; loads and stores are atomic.
 */
#ifndef KFDSHIM_TESTS_BENCH_WAKE_H
#define KFDSHIM_TESTS_BENCH_WAKE_H

#include <fcntl.h>
#include <sched.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

/* wakes, and suspends, that are measured */
#define WAKE_PAIRS 10000u
#define WAKE_PAGE_VARIABLE "BENCH_WAKE_PAGE"
#define WAKE_FD_VARIABLE "BENCH_WAKE_FD" /* number of an eventfd: the bare wake */

struct wake_page {
	uint32_t has_work; /* 1: the offline process has work */
	/* 1 from before a doorbell until the next SUSPEND, which clears it and sets entry_ns */
	uint32_t armed;
	/* ns: when that SUSPEND was called */
	uint64_t entry_ns;
	uint64_t resumes; /* number of RESUME calls that have returned */
	uint64_t bare_ns; /* ns: when the bare process woke up; 0: not yet */
	double bare_us[WAKE_PAIRS], suspend_us[WAKE_PAIRS];
	uint32_t lost; /* doorbells without a SUSPEND within one second */
};

/* Binds the calling thread to the nth of its CPUs (from 0), if there are so many. The waker and the
 * sleeper stand on different CPUs, because a program goes on running after it has rung its
 * doorbell. */
static inline void wake_stand_on(unsigned n)
{
	cpu_set_t all, one;

	if (sched_getaffinity(0, sizeof(all), &all) || (unsigned)CPU_COUNT(&all) <= n)
		return;
	CPU_ZERO(&one);
	for (unsigned cpu = 0;; cpu++)
		if (CPU_ISSET(cpu, &all) && n-- == 0) {
			CPU_SET(cpu, &one);
			break;
		}
	sched_setaffinity(0, sizeof(one), &one);
}

/* Maps the page. Returns NULL if there is none. */
static inline struct wake_page *wake_page_map(void)
{
	const char *path = getenv(WAKE_PAGE_VARIABLE);
	int fd = path ? open(path, O_RDWR | O_CLOEXEC) : -1;
	void *page = MAP_FAILED;

	if (fd >= 0) {
		page = mmap(NULL, sizeof(struct wake_page), PROT_READ | PROT_WRITE, MAP_SHARED, fd,
			    0);
		close(fd);
	}
	return page == MAP_FAILED ? NULL : page;
}

#endif

/* SPDX-License-Identifier: MIT */
/*
 * What the processes of bench_wake share: a page that BENCH_WAKE_PAGE names.
 *
 * Threads: every word has one writer at a time; they are loaded and stored atomically.
 */
#ifndef KFDSHIM_TESTS_BENCH_WAKE_H
#define KFDSHIM_TESTS_BENCH_WAKE_H

#include <fcntl.h>
#include <sched.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#define WAKE_PAIRS 10000u
#define WAKE_PAGE_VARIABLE "BENCH_WAKE_PAGE"
#define WAKE_FD_VARIABLE "BENCH_WAKE_FD" /* an eventfd: the bare wake */

struct wake_page {
	uint32_t standing; /* 1: the offline process has its work */
	/* 1 from before a doorbell to the next SUSPEND, which takes it and says when it was */
	uint32_t armed;
	uint64_t entry_ns;
	uint64_t resumes; /* calls that have come back */
	uint64_t bare_ns; /* when the other process was awake; 0: it is not yet */
	double bare_us[WAKE_PAIRS], suspend_us[WAKE_PAIRS];
	uint32_t lost; /* doorbells without a SUSPEND within a second */
};

/* The calling thread on the nth of its CPUs, if it has so many. A wake is of another CPU:
 * whoever wakes goes on, as a program that has rung its doorbell does. */
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

/* NULL: there is none. */
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

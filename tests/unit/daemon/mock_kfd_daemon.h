/* SPDX-License-Identifier: MIT */
/*
 * The driver's side of one debug session, played: its program is linked with
 * --wrap=ioctl, and each call goes here. It fails the test (cmocka) where the driver's
 * rules are broken: another target, a grace period that is not the shortest, SDMA, the
 * resume of what was not suspended. Threads: the first.
 */
#ifndef KFDSHIM_TESTS_PLAYED_KFD_H
#define KFDSHIM_TESTS_PLAYED_KFD_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "abi/kfd_abi.h"

#define PLAYED_FD 1000 /* /dev/kfd: a descriptor that nobody has */
#define PLAYED_QUEUES 8

struct played_queue {
	bool exists, is_new, suspended;
	uint32_t type, gpu_id;
	unsigned new_again; /* becomes new so many times after a snapshot */
};

struct played_kfd {
	pid_t target;
	bool session, lost_right;
	bool tracer_only; /* before Linux 6.12.103 */
	unsigned runtime_state;
	int enable_error;
	bool firmware_fails;
	int suspend_error;
	unsigned suspend_us, snapshot_us; /* how long they take */
	unsigned posted;		  /* runtime events */
	unsigned suspends, resumes, snapshots, disables;
	int dbg_fd;
	uint64_t subscribed;
	bool runtime_raised;
	struct played_queue queues[PLAYED_QUEUES];
};
extern struct played_kfd played;

/* The target makes a queue: a new one, also where there was one of that id. */
void played_queue_made(uint32_t id, uint32_t type);
/* Tells of an exception, if somebody has a session and wants to hear of it. */
void played_event(uint64_t mask);
/* By whomever: the driver resumes all. */
void played_session_end(void);
/* Does somebody trace the target? This is not played. */
bool played_is_traced(void);

#endif

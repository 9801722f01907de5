/* SPDX-License-Identifier: MIT */
/*
 * A mock of the driver's side of one debug session. The test program is linked with --wrap=ioctl,
 * so that each ioctl() is a call of this mock.
 *
 * The mock fails the test (cmocka) if a call breaks the driver's rules: another target process, a
 * grace period other than the shortest, an SDMA queue, or the resume of a queue that was not
 * suspended.
 *
 * Threads: the test's main thread only.
 */
#ifndef KFDSHIM_TESTS_PLAYED_KFD_H
#define KFDSHIM_TESTS_PLAYED_KFD_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "kfd/uapi.h"

#define PLAYED_FD 1000 /* stands for /dev/kfd; no open file has this number */
#define PLAYED_QUEUES 8

/* A queue of the target; its index in `queues` is its id. */
struct played_queue {
	bool exists, is_new, suspended;
	uint32_t type, gpu_id;
	unsigned new_again; /* number of further snapshots that report the queue as new */
	uint64_t faults;    /* exceptions that each snapshot reports besides "new" */
};

/* State of the mock. A test sets the first fields before it makes a call and reads the counters
 * after it. */
struct played_kfd {
	pid_t target;
	bool session, lost_right;
	bool tracer_only; /* rule of Linux before 6.12.103: only the tracing thread can act */
	unsigned runtime_state;
	int enable_error;
	bool firmware_fails;
	int suspend_error;
	/* The time: tests pass it to clock_use(), so that only calls take time, 1 us each and the
	 * durations below. */
	volatile uint64_t now_ns;
	unsigned suspend_us, snapshot_us; /* further duration of the call */
	unsigned posted;		  /* number of runtime events that wait to be used */
	unsigned suspends, resumes, snapshots, disables;
	int dbg_fd;
	uint64_t subscribed;
	bool runtime_raised;
	struct played_queue queues[PLAYED_QUEUES];
};
extern struct played_kfd played;

/* Adds a queue that counts as new. A queue with the same id is replaced, as when the target has
 * destroyed it and the driver uses the id again. */
void played_queue_made(uint32_t id, uint32_t type);
/* Raises the exceptions of `mask`: writes to the session's dbg_fd if a session exists and is
 * subscribed to one of them. */
void played_event(uint64_t mask);
/* Ends the session, as DISABLE or the death of its owner does: the driver resumes all queues. */
void played_session_end(void);
/* Returns whether the target has a tracer. This is read from /proc, not simulated. */
bool played_is_traced(void);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * Fixture for tests of the agent's sampler in virtual time. The test itself calls the sampler
 * (poll_queues()) at the times that it chooses; the agent's thread does not run. Hooks still
 * read the real clock.
 */
#ifndef KFDSHIM_TESTS_SAMPLED_QUEUES_H
#define KFDSHIM_TESTS_SAMPLED_QUEUES_H

#include <stdbool.h>
#include <stdint.h>

#include "common/clock.h"
#include "shim/activity.h"
#include "shim/sampler.h"
#include "tests/lib/mock_kfd.h"

#define AQL KFD_IOC_QUEUE_TYPE_COMPUTE_AQL
#define SDMA KFD_IOC_QUEUE_TYPE_SDMA
#define US 1000ull
#define MS 1000000ull
#define SECOND 1000000000ull

/* The queues, and their entries in the agent. `now`, `due`: virtual time and the time of the next
 * poll, ns of CLOCK_MONOTONIC; due is UINT64_MAX if no poll is scheduled. */
static struct fake_queue made[17];
static struct shim_queue *q[17];
static uint64_t now, due;

/* Creates queue `i`. `runtime`: it is a queue of the HSA runtime, with an hsa_queue_t. */
static inline void queue_of(unsigned i, uint32_t type, bool runtime)
{
	struct kfdabi_create_queue args;

	fake_queue_memory(&made[i], type, &args);
	if (!runtime) /* no hsa_queue_t contains the address of the ring */
		((uint64_t *)made[i].memory)[1] = 0;
	args.queue_id = made[i].id = i;
	q[i] = shim_queue_new(0, &args, sizeof(args));
	CHECK(q[i] != NULL);
	agent_lock();
	CHECK(queue_insert(q[i]) == 0);
	activity_queue_added(q[i], now);
	agent_unlock();
	due = now;
	CHECK(type != AQL || (q[i]->hsa_queue != 0) == runtime);
}

static inline void queue(unsigned i, uint32_t type)
{
	queue_of(i, type, true);
}

static inline void begin(void)
{
	fake_start();
	now = clock_ns(); /* because hooks read the real clock */
	due = UINT64_MAX;
}

/* Polls the queues once, at `now`, and schedules the next poll. */
static inline void poll_queues_once(void)
{
	uint64_t after;

	agent_lock();
	after = poll_queues(now, false);
	agent_unlock();
	due = after == UINT64_MAX ? after : now + after;
	CHECK(after > 0);
}

/* Polls the queues whenever a poll is due until `end` (ns). Returns the number of polls. */
static inline unsigned until(uint64_t end)
{
	unsigned polls = 0;

	for (; due <= end; polls++) {
		now = due > now ? due : now;
		poll_queues_once();
	}
	now = end;
	return polls;
}

/* Advances the time by `ns`. Returns the number of polls. */
static inline unsigned pass(uint64_t ns)
{
	return until(now + ns);
}

/* Advances the time until the queue's activity is `active`, by at most 20 s. Returns the time in ns
 * that it took. */
static inline uint64_t wait_for(const struct shim_queue *which, bool active)
{
	uint64_t start = now;

	while (which->active != active && now < start + 20 * SECOND) {
		CHECK(due != UINT64_MAX);
		now = due > now ? due : now;
		poll_queues_once();
	}
	return now - start;
}

#endif

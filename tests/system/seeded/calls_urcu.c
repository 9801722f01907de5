// SPDX-License-Identifier: MIT
/*
 * liburcu for simulated processes: its own threads and locks would be those of the one real thread.
 * A read may be interrupted anywhere, and a wait for readers ends as soon as all reads that began
 * before it have ended.
 */
#include <stddef.h>

#include "tests/system/seeded/calls.h"
#include "tests/system/seeded/process.h"

/* liburcu's own names, which the images use as they are: each thread is registered. */
extern __thread void *urcu_bp_reader;
extern int urcu_bp_has_sys_membarrier;
static char registered;
__thread void *urcu_bp_reader = &registered;
int urcu_bp_has_sys_membarrier = 1;

/* Returns the reads of a fiber in its process; a free place for a fiber without one. */
static struct reading *reading_of(unsigned fiber)
{
	struct process *process = fiber_process();
	struct reading *unused = NULL;

	for (unsigned i = 0; i < READINGS; i++) {
		if (process->readings[i].depth > 0 && process->readings[i].fiber == fiber)
			return &process->readings[i];
		if (process->readings[i].depth == 0)
			unused = &process->readings[i];
	}
	if (!unused)
		fail("more than %d threads read at a time", READINGS);
	unused->fiber = fiber;
	return unused;
}

void played_urcu_bp_register_thread(void)
{
	fiber_yield();
}

void played_urcu_bp_read_lock(void)
{
	HARNESS;
	struct reading *own = reading_of(fiber_number(fiber_self()));

	if (own->depth++ == 0)
		own->turn = fiber_process()->turn;
	played_point();
}

void played_urcu_bp_read_unlock(void)
{
	HARNESS;
	struct reading *own = reading_of(fiber_number(fiber_self()));

	if (own->depth == 0)
		fail("a read ends that has not begun");
	own->depth--;
	fiber_changed();
	played_point();
}

int played_urcu_bp_read_ongoing(void)
{
	HARNESS;

	return reading_of(fiber_number(fiber_self()))->depth > 0;
}

struct wait {
	const struct process *process;
	uint64_t turn;
};

/* Has every read of the process ended that began before this turn? Called in any fiber. */
static bool have_ended(void *arg)
{
	const struct wait *wait = arg;

	for (unsigned i = 0; i < READINGS; i++)
		if (wait->process->readings[i].depth > 0 &&
		    wait->process->readings[i].turn < wait->turn)
			return false;
	return true;
}

void played_urcu_bp_synchronize_rcu(void)
{
	HARNESS;
	struct wait wait = {fiber_process(), ++fiber_process()->turn};

	fiber_yield();
	while (!have_ended(&wait))
		fiber_wait(have_ended, &wait, NEVER);
}

void played_urcu_bp_before_fork(void)
{
}

void played_urcu_bp_after_fork_parent(void)
{
}

void played_urcu_bp_after_fork_child(void)
{
}

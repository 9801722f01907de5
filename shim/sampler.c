// SPDX-License-Identifier: MIT
#include "shim/sampler.h"

#include <errno.h>
#include <linux/membarrier.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/ratelimit.h"
#include "common/wait.h"
#include "shim/activity.h"
#include "shim/config.h"
#include "shim/descriptor.h"
#include "shim/hold.h"
#include "shim/kfd_context.h"
#include "shim/links/daemon_link.h"
#include "shim/links/peers.h"
#include "shim/look.h"
#include "shim/publish.h"
#include "shim/queue_table.h"
#include "shim/thread.h"
#include "shim/vram_limit.h"

#define LONG_SLEEP_NS 10000000u /* sampler_wake() ends only sleeps that are longer */
#define NO_BARRIER_NS 10000000u /* polling period on a kernel without membarrier(2) */
#define DEAF_NS 10000000u	/* longest sleep while no eventfd can end it */
/* Limits the CPU time of closely spaced polls (sleeps below CLOSE_BELOW_NS between them) to
 * 1/CLOSE_PART (2 %) of a core. A burst of polls may exceed that by CLOSE_AHEAD_NS. */
#define CLOSE_PART 50u
#define CLOSE_AHEAD_NS 25000000u
#define CLOSE_BELOW_NS 1000000u
/* Bounds of wake_ns: 5 us on a server, 40 us in a virtual machine or on a busy server. */
#define WAKE_MIN_NS 5000u
#define WAKE_MAX_NS 40000u
#define ITERATION_MAX_NS 1000000u /* longest iteration that counts; a longer one waited for a CPU */
#define LEARN_SHIFT 3		  /* weight of a new measurement: 1/8 */

uint64_t sampler_longest_ns = 10000000000u;

static uint64_t wake_ns = WAKE_MIN_NS; /* measured duration of a wake: how late sleeps end */
/* Measured duration of one iteration of the sampler's loop without its sleep. It varies, because a
 * poll makes a system call for each queue that has drained. */
static uint64_t iteration_ns;
static bool started; /* atomic */

void sampler_forget(void)
{
	descriptor_close(&sampler_sleep.wake_fd);
	started = sampler_sleep.sleeping = sampler_sleep.queried = false;
}

/* Polls all queues. The clock is read under the agent's lock, so that everything that happened
 * before the poll, in this thread or while it waited for the lock, has an earlier time. */
static uint64_t poll_all(void)
{
	bool suspended = link_suspended() || hold_stands();
	uint64_t after, now_ns;

	agent_lock();
	now_ns = clock_ns();
	if (!suspended)
		link_read_daemon_shm(now_ns);
	after = poll_queues(now_ns, suspended);
	agent_unlock();
	return after;
}

static bool barrier_everywhere(void)
{
	if (syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0) == 0)
		return true;
	/* EPERM: the process is not registered for membarrier(2), because that was refused to
	 * liburcu when it was loaded. Register the process now. */
	return errno == EPERM &&
	       syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0) == 0 &&
	       syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0) == 0;
}

/*
 * Sets `sleeping` before a long sleep, then polls again, so that a doorbell that was rung meanwhile
 * is seen. Returns the time until the next poll; 0 if sampler_wake() was called meanwhile, and the
 * whole loop must run again.
 *
 * Before a sleep that only doorbells end (@after is UINT64_MAX), a barrier is needed, too. A
 * submitter moves the write pointer and then reads the table of active doorbells. If its store is a
 * plain one, the CPU may execute the read first. After a barrier in every running thread of the
 * process, the poll sees such a store.
 */
static uint64_t poll_before_sleep(uint64_t after)
{
	uint64_t again;

	__atomic_store_n(&sampler_sleep.sleeping, true, __ATOMIC_SEQ_CST);
	if (__atomic_load_n(&sampler_sleep.queried, __ATOMIC_SEQ_CST))
		return 0;
	if (after == UINT64_MAX && !barrier_everywhere())
		return NO_BARRIER_NS;
	again = poll_all();
	return again < after ? again : after;
}

/*
 * Returns the longest sleep that is allowed, in ns. Opens the eventfd again if the program has
 * closed it or uses its number: a file of the program under that number might never become
 * readable. Returns 0 if a wake was requested meanwhile, because it may not have found the eventfd.
 *
 * If the program closes the eventfd during the sleep, ppoll() goes on waiting for the file, to
 * which nothing can be written any more. So every sleep has a limit. Work of such a program is
 * noticed late by up to this limit, but only once.
 */
static uint64_t longest_sleep(void)
{
	uint64_t longest = queues_any() ? sampler_longest_ns : 6 * sampler_longest_ns;
	int fd;

	if (descriptor_is_ours(sampler_sleep.wake_fd))
		return longest;
	fd = descriptor_keep(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
	__atomic_store_n(&sampler_sleep.wake_fd, fd, __ATOMIC_SEQ_CST);
	if (__atomic_load_n(&sampler_sleep.queried, __ATOMIC_SEQ_CST))
		return 0;
	return fd < 0 ? DEAF_NS : longest;
}

/* Returns @after, the time until the next poll, or a longer time if the closely spaced polls have
 * used up their share of CPU time (CLOSE_PART). 0 means that a wake was requested, and stays 0. */
static uint64_t spare(uint64_t now_ns, uint64_t after)
{
	static struct ratelimit limit;
	struct ratelimit_rule rule = {.period_ns = CLOSE_PART * (wake_ns + iteration_ns)};
	uint64_t next;

	if (after == 0 || after >= CLOSE_BELOW_NS)
		return after;
	rule.burst = 1 + (uint32_t)(CLOSE_AHEAD_NS / rule.period_ns);
	next = ratelimit_next(&limit, &rule, now_ns + after);
	ratelimit_take(&limit, &rule, next);
	return next - now_ns;
}

/* Updates the mean *ns by the measurement @took_ns, which is limited to @least..@most. */
static void learn(uint64_t *ns, uint64_t took_ns, uint64_t least, uint64_t most)
{
	if (took_ns < least)
		took_ns = least;
	if (took_ns > most)
		took_ns = most;
	*ns = *ns - (*ns >> LEARN_SHIFT) + (took_ns >> LEARN_SHIFT);
}

static void sleep_until(uint64_t now_ns, uint64_t until_ns)
{
	uint64_t end_ns = now_ns + longest_sleep(), count;
	struct pollfd fds[3] = {
		{.fd = sampler_sleep.wake_fd, .events = POLLIN},
		{.fd = link_socket(), .events = POLLIN},
		{.fd = peers_socket(), .events = POLLIN},
	};
	int n;

	if (until_ns < end_ns)
		end_ns = until_ns;
	n = poll_until_ns(fds, 3, end_ns);
	/* EINVAL: the limit of open files is below the number of entries in `fds`, including
	 * entries without a file. Sleep without them. */
	if (n == -EINVAL)
		sleep_until_ns(end_ns < now_ns + DEAF_NS ? end_ns : now_ns + DEAF_NS);
	__atomic_store_n(&sampler_sleep.sleeping, false, __ATOMIC_SEQ_CST);
	if (n == 0 && now_ns < end_ns)
		learn(&wake_ns, clock_ns() - end_ns, WAKE_MIN_NS, WAKE_MAX_NS);
	if (n <= 0)
		return;
	/* Check that the fd is the agent's: a read of a file of the program would take its data. */
	if (fds[0].revents && descriptor_is_ours(sampler_sleep.wake_fd))
		(void)!read(sampler_sleep.wake_fd, &count, sizeof(count));
	if (fds[1].revents)
		link_readable();
	if (fds[2].revents && !descriptor_is_ours(fds[2].fd))
		peers_lost();
}

/* Removes queues and counted VRAM of a KFD context that has ended. Returns false if queues of the
 * context are still active; the caller then tries again later. */
static bool context_ended(uint32_t context)
{
	if (entries_drop_context(context))
		return false;
	vram_context_ended(context);
	return true;
}

static void *sampler(void *arg)
{
	uint64_t now_ns, until_ns, held_ns, peers_ns, ended_ns, after;

	(void)arg;
	prctl(PR_SET_NAME, "kfdshim");
	prctl(PR_SET_TIMERSLACK, 1000ul); /* ns; the default makes a short sleep 50 us longer */
	for (;;) {
		__atomic_store_n(&sampler_sleep.queried, false, __ATOMIC_SEQ_CST);
		now_ns = clock_ns();
		until_ns = link_step(now_ns);
		after = poll_all();
		peers_ns = peers_step(now_ns, link_alone());
		if (peers_ns < until_ns)
			until_ns = peers_ns;
		ended_ns = contexts_step(now_ns, context_ended);
		if (ended_ns < until_ns && queues_any())
			until_ns = ended_ns;
		held_ns = hold_step(clock_ns());
		if (held_ns < until_ns)
			until_ns = held_ns;
		/* Before a long sleep, make sure that a doorbell ends it. */
		if (after > LONG_SLEEP_NS)
			after = poll_before_sleep(after);
		learn(&iteration_ns, clock_ns() - now_ns, 0, ITERATION_MAX_NS);
		after = spare(now_ns, after);
		if (after < UINT64_MAX && now_ns + after < until_ns)
			until_ns = now_ns + after;
		sleep_until(clock_ns(), until_ns);
	}
	return NULL;
}

/* Starts the sampler's thread. Opens the eventfd first, because hooks of other threads may wake it
 * at once. */
static int start_thread(void)
{
	int err;

	sampler_sleep.wake_fd = descriptor_keep(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
	if (sampler_sleep.wake_fd < 0)
		return errno;
	err = thread_start(sampler, NULL);
	if (err)
		descriptor_close(&sampler_sleep.wake_fd);
	return err;
}

void sampler_start(void)
{
	int saved = errno, err;

	if (__atomic_exchange_n(&started, true, __ATOMIC_SEQ_CST))
		return;
	err = start_thread();
	if (err)
		kfdshim_log(
			LOG_ERROR,
			"the sampler thread cannot be started (%s), so the work of this process is not "
			"scheduled; %s",
			strerror(err), remedy(err, "raise the limit of processes"));
	errno = saved;
}

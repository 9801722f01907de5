// SPDX-License-Identifier: MIT
#include "shim/sampler.h"

#include <errno.h>
#include <linux/membarrier.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/budget.h"
#include "common/clock.h"
#include "common/wait.h"
#include "shim/activity.h"
#include "shim/config.h"
#include "shim/contexts.h"
#include "shim/descriptor.h"
#include "shim/hold.h"
#include "shim/link.h"
#include "shim/link_lane.h"
#include "shim/look.h"
#include "shim/peers.h"
#include "shim/queues.h"

#define LONG_SLEEP_NS 10000000u /* who sleeps longer wants to be woken by doorbells */
#define NO_BARRIER_NS 10000000u /* period of a kernel without membarrier(2) */
#define DEAF_NS 10000000u	/* of a sleep that nothing can end */
/* Looks that follow closely cost 2 % of a core: one in 50 times what a wake and the look take, and at
 * once what 25 ms give. */
#define CLOSE_PART 50u
#define CLOSE_AHEAD_NS 25000000u
#define CLOSE_BELOW_NS 1000000u
/* A wake takes 5 us on a server, 40 us in a virtual machine; longer, if all cores are busy. */
#define WAKE_MIN_NS 5000u
#define WAKE_MAX_NS 40000u
#define TURN_MAX_NS 1000000u /* longer the thread was kept from running */
#define LEARN_SHIFT 3	     /* a new value counts an eighth */
/* Little is touched of it; a program's thread-local variables lie in it too. */
#define STACK_BYTES (256u * 1024u)

uint64_t sampler_longest_ns = 10000000000u;

static uint64_t wake_ns = WAKE_MIN_NS; /* what a wake takes here: so late its sleeps end */
static uint64_t turn_ns; /* what it does between two sleeps takes: a system call for some queues */
static bool started;
static bool sleeping;
static bool asked;	 /* to look at everything once more before it sleeps long */
static int wake_fd = -1; /* atomic */

void sampler_wake(void)
{
	uint64_t one = 1;
	int saved = errno, fd;

	__atomic_store_n(&asked, true, __ATOMIC_SEQ_CST);
	if (__atomic_exchange_n(&sleeping, false, __ATOMIC_SEQ_CST)) {
		fd = __atomic_load_n(&wake_fd, __ATOMIC_SEQ_CST);
		if (descriptor_is_ours(fd))
			(void)!write(fd, &one, sizeof(one));
	}
	errno = saved;
}

void sampler_forget(void)
{
	descriptor_close(&wake_fd);
	started = sleeping = asked = false;
}

/* The time is that of the look: whatever came before it, in this thread or while it
 * waited for the lock, is older. */
static uint64_t look(void)
{
	bool suspended = link_suspended() || hold_stands();
	uint64_t after, now_ns;

	agent_lock();
	now_ns = clock_ns();
	if (!suspended)
		link_look_at_board(now_ns);
	after = look_at_queues(now_ns, suspended);
	agent_unlock();
	return after;
}

static bool barrier_everywhere(void)
{
	if (syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0) == 0)
		return true;
	/* Not registered yet, which takes milliseconds: here nobody waits for it. */
	return errno == EPERM &&
	       syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0) == 0 &&
	       syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0) == 0;
}

/*
 * Before a long sleep: flag, then look again, so that a doorbell of meanwhile is
 * seen, and a wish of meanwhile that only the other steps of the loop see. Before a
 * sleep that doorbells are to end, more is needed. A submitter moves the write pointer, then
 * reads the hot table; if its store was a plain one, the read may have passed it.
 * After a barrier in every running thread of the process that is over.
 */
static uint64_t look_before_sleep(uint64_t after)
{
	uint64_t again;

	__atomic_store_n(&sleeping, true, __ATOMIC_SEQ_CST);
	if (__atomic_load_n(&asked, __ATOMIC_SEQ_CST))
		return 0;
	if (after == UINT64_MAX && !barrier_everywhere())
		return NO_BARRIER_NS;
	again = look();
	return again < after ? again : after;
}

/*
 * A program may close all that it has not opened itself, and use the numbers again.
 * What it has there may never be readable, so nothing but a look before each sleep
 * tells. Returns how long that may be: a wake of meanwhile may have found nothing.
 *
 * Of what is closed during the sleep nobody is told: ppoll goes on waiting for the file,
 * which has no number any more to be written by. Therefore no sleep is without an end;
 * so many seconds, once, are what such a program loses.
 */
static uint64_t longest_sleep(void)
{
	uint64_t longest = queues_any() ? sampler_longest_ns : 6 * sampler_longest_ns;
	int fd;

	if (descriptor_is_ours(wake_fd))
		return longest;
	fd = descriptor_keep(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
	__atomic_store_n(&wake_fd, fd, __ATOMIC_SEQ_CST);
	if (__atomic_load_n(&asked, __ATOMIC_SEQ_CST))
		return 0;
	return fd < 0 ? DEAF_NS : longest;
}

/* As long as the budget of close looks wants; 0: asked for, so at once. */
static uint64_t spare(uint64_t now_ns, uint64_t after)
{
	static struct budget budget;
	struct budget_rule rule = {.period_ns = CLOSE_PART * (wake_ns + turn_ns)};
	uint64_t next;

	if (after == 0 || after >= CLOSE_BELOW_NS)
		return after;
	rule.burst = 1 + (uint32_t)(CLOSE_AHEAD_NS / rule.period_ns);
	next = budget_next(&budget, &rule, now_ns + after);
	budget_take(&budget, &rule, next);
	return next - now_ns;
}

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
		{.fd = wake_fd, .events = POLLIN},
		{.fd = link_socket(), .events = POLLIN},
		{.fd = peers_socket(), .events = POLLIN},
	};
	int n;

	if (until_ns < end_ns)
		end_ns = until_ns;
	n = poll_until_ns(fds, 3, end_ns);
	/* Its limit of files is below the number of entries, which counts those without a file. */
	if (n == -EINVAL)
		sleep_until_ns(end_ns < now_ns + DEAF_NS ? end_ns : now_ns + DEAF_NS);
	__atomic_store_n(&sleeping, false, __ATOMIC_SEQ_CST);
	if (n == 0 && now_ns < end_ns)
		learn(&wake_ns, clock_ns() - end_ns, WAKE_MIN_NS, WAKE_MAX_NS);
	if (n <= 0)
		return;
	/* Reading what is the program's would take it away. */
	if (fds[0].revents && descriptor_is_ours(wake_fd))
		(void)!read(wake_fd, &count, sizeof(count));
	if (fds[1].revents)
		link_readable();
	if (fds[2].revents && !descriptor_is_ours(fds[2].fd))
		peers_lost();
}

static void *sampler(void *arg)
{
	uint64_t now_ns, until_ns, held_ns, peers_ns, ended_ns, after;

	(void)arg;
	prctl(PR_SET_NAME, "kfdshim");
	prctl(PR_SET_TIMERSLACK, 1000ul); /* ns; by default a short sleep takes 50 us more */
	for (;;) {
		__atomic_store_n(&asked, false, __ATOMIC_SEQ_CST);
		now_ns = clock_ns();
		until_ns = link_step(now_ns);
		after = look();
		peers_ns = peers_step(now_ns, link_alone());
		if (peers_ns < until_ns)
			until_ns = peers_ns;
		ended_ns = contexts_step(now_ns);
		if (ended_ns < until_ns)
			until_ns = ended_ns;
		held_ns = hold_step(clock_ns());
		if (held_ns < until_ns)
			until_ns = held_ns;
		/* A long sleep is broken off by the first doorbell. */
		if (after > LONG_SLEEP_NS)
			after = look_before_sleep(after);
		learn(&turn_ns, clock_ns() - now_ns, 0, TURN_MAX_NS);
		after = spare(now_ns, after);
		if (after < UINT64_MAX && now_ns + after < until_ns)
			until_ns = now_ns + after;
		sleep_until(clock_ns(), until_ns);
	}
	return NULL;
}

/* Ready before the thread is: hooks of other threads may wake it at once. */
static int start_thread(void)
{
	sigset_t all, old;
	pthread_attr_t attr;
	pthread_t thread;
	int err;

	wake_fd = descriptor_keep(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
	if (wake_fd < 0)
		return errno;
	pthread_attr_init(&attr);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	pthread_attr_setstacksize(&attr, STACK_BYTES);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	err = pthread_create(&thread, &attr, sampler, NULL);
	if (err == EINVAL) { /* too small for this program's thread-local variables */
		pthread_attr_destroy(&attr);
		pthread_attr_init(&attr);
		pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
		err = pthread_create(&thread, &attr, sampler, NULL);
	}
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	pthread_attr_destroy(&attr);
	if (err) {
		descriptor_close(&wake_fd);
	}
	return err;
}

void sampler_start(void)
{
	int saved = errno, err;

	if (__atomic_exchange_n(&started, true, __ATOMIC_SEQ_CST))
		return;
	err = start_thread();
	if (err)
		say(LOG_ERROR, "its thread cannot be started (%s): nothing is scheduled here: %s",
		    strerror(err), remedy(err, "raise the limit of processes"));
	errno = saved;
}

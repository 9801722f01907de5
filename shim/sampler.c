// SPDX-License-Identifier: MIT
#include "shim/sampler.h"

#include <errno.h>
#include <linux/membarrier.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/ratelimit.h"
#include "common/wait.h"
#include "shim/activity.h"
#include "shim/completion.h"
#include "shim/config.h"
#include "shim/descriptor.h"
#include "shim/ends.h"
#include "shim/hold.h"
#include "shim/kfd_context.h"
#include "shim/links/daemon_link.h"
#include "shim/links/peers.h"
#include "shim/publish.h"
#include "shim/queue_table.h"
#include "shim/thread.h"
#include "shim/vram_limit.h"

#define QUIET_MIN_NS 2000000u /* a shorter gap between kernels does not end the queue's work */

/*
 * Bounds of the polling period. A wake of a thread costs 3 us at best and 40 us in a virtual
 * machine, so a queue is polled after a quarter of the time for which its state has lasted.
 */
#define POLL_SHIFT 2
#define POLL_MIN_NS 1000000u
#define POLL_MAX_NS 16000000u

/*
 * Polling period of a queue if the daemon keeps less urgent work off the GPU because of this queue,
 * and no thread of the program reports the end of its work. The period is short because until the
 * end is found no process uses the GPU. The daemon needs up to a millisecond to suspend the less
 * urgent work, so the period also applies within LATELY_NS after the daemon last did so.
 */
#define CLOSE_NS 50000u
#define LATELY_NS 100000000u

/* Upper limit of longest_ns, the learned length of a queue's longest kernel. Without it, one packet
 * that ran for seconds would delay the detection of every later end. */
#define KERNEL_MAX_NS 100000000u

/* If two polls are farther apart than this, the process was stopped or had no core, so it is not
 * known when the read pointer moved in between. */
#define FAR_NS (4 * POLL_MAX_NS)

/* If a poll finds work that no hook has announced, the queue's hooks are no longer trusted, because
 * a program may ring a doorbell both through the hooks and around them (it resolves some functions
 * by handle). After this number of announced starts in a row the hooks are trusted again, because
 * the start without an announcement may have been the runtime's own. */
#define ANNOUNCED 16u

/* Time for which a completion signal above 0 keeps a queue active although no thread waits for the
 * signal, which may belong to a kernel that runs, or may be in use again. */
#define UNFINISHED_NS 100000000u

/* Returns true if the queue is polled at the short period CLOSE_NS: the daemon keeps less urgent
 * work off its node, or did so within LATELY_NS, and a poll had to find the queue's previous end of
 * work. */
static bool is_close(const struct shim_queue *q, uint64_t now_ns)
{
	const struct shim_node *node = q->node == NODE_NONE ? NULL : &queues.nodes[q->node];

	return q->active && q->found && node && node->holds_ns &&
	       now_ns - node->holds_ns < LATELY_NS;
}

/* Returns the polling period of a queue whose state has lasted since @since_ns, in ns. */
static uint64_t period(const struct shim_queue *q, uint64_t since_ns, uint64_t now_ns)
{
	uint64_t part = (now_ns - since_ns) >> POLL_SHIFT;

	if (is_close(q, now_ns))
		return CLOSE_NS;
	if (part < POLL_MIN_NS)
		return POLL_MIN_NS;
	return part > POLL_MAX_NS ? POLL_MAX_NS : part;
}

/* Returns the shortest time without movement of a pointer that can mean the end of work, in ns. It
 * is at least the polling period, because a shorter gap cannot be distinguished from work. After a
 * short burst of copies (SDMA) a gap below QUIET_MIN_NS means the end, too. After kernels it does
 * not, because the last kernel can still run when the pointers are equal. */
static uint64_t gap_limit(const struct shim_queue *q, uint64_t now_ns)
{
	uint64_t period_ns = period(q, q->since_ns, now_ns), burst = q->changed_ns - q->since_ns;
	uint64_t least = QUIET_MIN_NS;

	if (is_close(q, now_ns) && queue_is_sdma(q) && burst >> POLL_SHIFT < least)
		least = burst >> POLL_SHIFT;
	return period_ns < least ? least : period_ns;
}

/* Returns the time in ns after which equal pointers that do not move mean the end of work. */
static uint64_t quiet_limit(const struct shim_queue *q, uint64_t now_ns)
{
	uint64_t kernel = q->longest_ns + q->longest_ns / 2;
	uint64_t gap = gap_limit(q, now_ns);

	return kernel < gap ? gap : kernel;
}

static void measure_anew(struct shim_queue *q)
{
	q->stalled_ns = 0;
	q->stood = false;
}

/* Updates the learned length of the longest kernel by the time since q->stalled_ns, in which the
 * read pointer has not moved. */
static void stalled(struct shim_queue *q, uint64_t now_ns)
{
	uint64_t stalled_for_ns = now_ns - q->stalled_ns;

	if (stalled_for_ns > KERNEL_MAX_NS)
		stalled_for_ns = KERNEL_MAX_NS;
	q->longest_ns = stalled_for_ns > q->longest_ns ? stalled_for_ns : q->longest_ns;
	q->stood = true;
}

/* Handles a poll of a queue whose ring is not empty: its first packet runs or waits. A queue of an
 * offline process is never reported as blocked, because its work could begin at any moment, while
 * an online process executes a request. */
static void poll_stalled(struct shim_queue *q, uint64_t r, uint64_t now_ns)
{
	bool may = config.priority == PRIORITY_UNSET || config.priority > PRIORITY_OFFLINE;

	if (!q->stalled_ns) {
		q->stalled_ns = now_ns;
		return;
	}
	/* On some GPUs the read pointer passes a packet when its execution begins. The kernel
	 * before the barrier may still run then, so the queue counts as blocked only after its
	 * quiet time. */
	if (may && completion_of_barrier(q, r)) {
		if (now_ns - q->stalled_ns >= quiet_limit(q, now_ns))
			activity_block(q, true, now_ns);
		return;
	}
	if (q->blocked) {
		activity_block(q, false, now_ns);
		q->stalled_ns = now_ns;
		return;
	}
	stalled(q, now_ns);
}

/* Handles a poll of a queue whose ring is empty. On some GPUs the read pointer passes a packet when
 * its execution begins, so the last kernel may still run. Therefore the work counts as over only if
 * the completion signal is final, or after quiet_limit() if no thread waits for that signal. */
static void poll_drained(struct shim_queue *q, uint64_t w, uint64_t now_ns)
{
	uint64_t quiet = now_ns - q->changed_ns, signal;
	uint64_t least = is_close(q, now_ns) ? CLOSE_NS : gap_limit(q, now_ns);
	bool over = quiet >= quiet_limit(q, now_ns);

	measure_anew(q);
	if (quiet < least)
		return;
	switch (completion_of(q, w, &signal)) {
	case COMPLETION_DONE:
		over = true;
		break;
	case COMPLETION_UNFINISHED:
		over = over && quiet >= UNFINISHED_NS;
		if (!ends_is_waited_for(signal))
			break;
		q->changed_ns = now_ns;
		over = false;
		break;
	case COMPLETION_NONE:
		break;
	}
	if (!over)
		return;
	q->found = true;
	activity_try_end(q, w, now_ns);
}

static void read_pointer_moved(struct shim_queue *q, uint64_t r, uint64_t now_ns)
{
	/* Count the stall up to this poll, because it has ended at some time after the previous
	 * poll. */
	if (q->stood)
		stalled(q, now_ns);
	q->seen_rptr = r;
	q->changed_ns = now_ns;
	measure_anew(q);
	activity_block(q, false, now_ns);
}

/*
 * Handles a poll of a queue that became idle because a thread has seen the end of its work. Without
 * barrier bits a packet before the last one may still run. The read pointer may lag, but only for a
 * short time. So if it stays before the write pointer, there is still work, and the queue becomes
 * active again; from then on a signal value is not accepted as its end (`refuted`).
 */
static void poll_idle(struct shim_queue *q, uint64_t r, uint64_t w, uint64_t now_ns)
{
	if (queue_drained(q, r, w) || now_ns - q->idle_ns < QUIET_MIN_NS)
		return;
	__atomic_store_n(&q->refuted, w, __ATOMIC_RELAXED);
	activity_begin(q, now_ns);
}

/* Returns true if the work that a poll has found on a queue with hooks was not announced by a hook.
 * A request in `rung` is an announcement, which this poll's lock has kept from being served. */
static bool is_missed(const struct shim_queue *q)
{
	return q->hooked && !q->active && __atomic_load_n(&q->rung, __ATOMIC_RELAXED) == 0;
}

static void poll_queue(struct shim_queue *q, uint64_t now_ns, bool suspended)
{
	uint64_t r, w;

	if (!queue_pointers(q, &r, &w)) {
		if (q->readable)
			activity_lose(q, now_ns);
		return;
	}
	if (r != q->seen_rptr)
		read_pointer_moved(q, r, now_ns);
	if (w != q->seen_wptr && is_missed(q))
		__atomic_store_n(&q->missed, ANNOUNCED, __ATOMIC_RELAXED);
	if (w != q->seen_wptr)
		activity_submitted(q, r, w, now_ns);
	if (!q->active)
		poll_idle(q, r, w, now_ns);
	if (!q->active)
		return;
	if (suspended) {
		q->changed_ns = now_ns;
		measure_anew(q);
		return;
	}
	if (queue_drained(q, r, w))
		poll_drained(q, w, now_ns);
	else
		poll_stalled(q, r, now_ns);
}

/* Returns the time until the queue is to be polled next, in ns. */
static uint64_t poll_next(const struct shim_queue *q, uint64_t now_ns)
{
	uint64_t after, quiet, end;

	if (!q->active && !queue_drained(q, q->seen_rptr, q->seen_wptr))
		return period(q, q->idle_ns, now_ns);
	if (!q->active)
		return queue_is_covered(q) ? UINT64_MAX : period(q, q->changed_ns, now_ns);
	after = period(q, q->since_ns, now_ns);
	if (q->stalled_ns)
		return after;
	quiet = now_ns - q->changed_ns;
	end = gap_limit(q, now_ns);
	if (quiet >= end)
		end = quiet_limit(q, now_ns);
	return quiet < end && end - quiet < after ? end - quiet : after;
}

uint64_t poll_queues(uint64_t now_ns, bool suspended)
{
	bool far = now_ns - queues.polled_ns > FAR_NS;
	uint64_t next = UINT64_MAX, after;
	struct shim_queue *q;

	queues.polled_ns = now_ns;
	for (uint32_t i = 0; i < queues.end; i++) {
		q = queues.table[i];
		if (!q || !q->readable || q->stopped)
			continue;
		if (far)
			measure_anew(q);
		poll_queue(q, now_ns, suspended);
		after = poll_next(q, now_ns);
		next = after < next ? after : next;
	}
	return next;
}

/* ---- the thread ---- */

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

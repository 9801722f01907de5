// SPDX-License-Identifier: MIT
/* Runlist updates: what another thread observes while a call waits for the firmware, or sleeps. */
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/wait.h"
#include "tools/kfdconform/checks.h"
#include "tools/kfdconform/harness/self_debug.h"

#define TRIES_MS 15000u	   /* for a busy machine; usually one attempt is enough */
#define ROUNDS_ENOUGH 100u /* this many rounds without a second NEW are a result */
#define WATCHERS 3u
#define PAUSE_NS 50000u
#define TRIES 4u

struct creator {
	struct raw_queue queue;
	struct kfdabi_create_queue args;
	unsigned seen; /* number of snapshots in which the queue of this round was NEW */
	unsigned rounds;
	bool twice, ended;
};

struct watcher {
	pthread_t thread;
	struct creator *creator;
	unsigned steps; /* odd: a snapshot is in progress or not yet counted */
};

/* Takes a snapshot and counts whether the newest queue was NEW. */
static void take_snapshot(struct creator *creator)
{
	struct kfdabi_queue_snapshot entry = {0};
	uint32_t n = 1;

	CHECK_IS(trap_snapshot(self.gpu.kfd, self.own_pid, NEW_MASK, &entry, &n), 0);
	if (n && entry.exception_status & NEW_MASK)
		__atomic_fetch_add(&creator->seen, 1, __ATOMIC_SEQ_CST);
}

/* Sleeps between snapshots, because the kernel soon runs a thread that sleeps often, even on
 * a busy machine. */
static void *watch(void *arg)
{
	struct watcher *watcher = arg;
	struct creator *creator = watcher->creator;

	while (!__atomic_load_n(&creator->ended, __ATOMIC_SEQ_CST)) {
		__atomic_fetch_add(&watcher->steps, 1, __ATOMIC_SEQ_CST);
		take_snapshot(creator);
		__atomic_fetch_add(&watcher->steps, 1, __ATOMIC_SEQ_CST);
		sleep_ns(PAUSE_NS);
	}
	return NULL;
}

/* Causes one runlist update after another, each of which blocks the process, so that CREATE_QUEUE
 * has to wait and other calls wait behind it. */
static void *hold_up(void *arg)
{
	struct creator *creator = arg;

	while (!__atomic_load_n(&creator->ended, __ATOMIC_SEQ_CST))
		CHECK_IS(queue_update(&self.gpu, &self.queues[0], 100), 0);
	return NULL;
}

/* Waits until the snapshots in progress have been counted. */
static void wait_for_all(struct watcher *watchers)
{
	for (unsigned i = 0; i < WATCHERS; i++) {
		unsigned from = __atomic_load_n(&watchers[i].steps, __ATOMIC_SEQ_CST);

		while (from % 2 && __atomic_load_n(&watchers[i].steps, __ATOMIC_SEQ_CST) == from)
			sleep_ns(PAUSE_NS);
	}
}

/* Creates queues until one was NEW twice or the time is over. */
static void create_many(struct creator *creator, struct watcher *watchers)
{
	uint64_t until = clock_ns() + TRIES_MS * 1000000ull;

	while (!creator->twice && clock_ns() < until) {
		__atomic_store_n(&creator->seen, 0, __ATOMIC_SEQ_CST);
		creator->rounds++;
		CHECK_IS(queue_create(&self.gpu, &creator->queue, &creator->args), 0);
		take_snapshot(creator); /* sees the second NEW if no watcher has */
		wait_for_all(watchers);
		creator->twice = __atomic_load_n(&creator->seen, __ATOMIC_SEQ_CST) > 1;
		CHECK_IS(queue_destroy(&self.gpu, creator->queue.id), 0);
	}
}

/* A snapshot that waits until CREATE_QUEUE releases the process collects the first NEW. If no
 * snapshot happens between the two, both look like one. Therefore several threads take snapshots,
 * so that one of them is probably waiting. */
RULE_CHECK(new_is_set_twice, self_debug_open(1))
{
	struct watcher watchers[WATCHERS] = {0};
	struct creator creator = {0};
	pthread_t holder;

	queue_args(&self.gpu, &creator.queue, &creator.args);
	for (unsigned i = 0; i < WATCHERS; i++) {
		watchers[i].creator = &creator;
		CHECK(!pthread_create(&watchers[i].thread, NULL, watch, &watchers[i]));
	}
	CHECK(!pthread_create(&holder, NULL, hold_up, &creator));
	create_many(&creator, watchers);
	__atomic_store_n(&creator.ended, true, __ATOMIC_SEQ_CST);
	for (unsigned i = 0; i < WATCHERS; i++)
		pthread_join(watchers[i].thread, NULL);
	pthread_join(holder, NULL);
	if (!creator.twice && !harness_simulated())
		SKIP("no snapshot fell between the two");
	if (!creator.twice && creator.rounds < ROUNDS_ENOUGH)
		TOO_BUSY("the machine is too busy for a snapshot to fall between the two");
	CHECK(creator.twice);
}

struct destroying_thread {
	pthread_t thread;
	pid_t tid; /* id of the thread, set before the call */
	int result;
};

static void *destroy(void *arg)
{
	struct destroying_thread *destroying_thread = arg;

	__atomic_store_n(&destroying_thread->tid, (pid_t)syscall(SYS_gettid), __ATOMIC_RELEASE);
	destroying_thread->result = queue_destroy(&self.gpu, self.queues[0].id);
	return NULL;
}

/* A signal whose handler does not request a restart interrupts the sleeping call. On a busy machine
 * the signal may arrive before the call sleeps; then the test is repeated. */
void check_interrupted_destroy_bars_suspension(void)
{
	struct destroying_thread destroying_thread;
	int suspended = 1;
	uint32_t id = 0;

	signal_handle(SIGUSR1, 0);
	self_debug_open(1);
	self_debug_suspend_one(&self.queues[0]);
	for (unsigned i = 0; i < TRIES && suspended; i++) {
		destroying_thread.tid = 0;
		CHECK(!pthread_create(&destroying_thread.thread, NULL, destroy,
				      &destroying_thread));
		until_in_call(&destroying_thread
				       .tid); /* an earlier signal would not interrupt the call */
		sleep_ms(10u << i);
		CHECK(!pthread_kill(destroying_thread.thread, SIGUSR1));
		pthread_join(destroying_thread.thread, NULL);
		CHECK_IS(destroying_thread.result, -EINTR);
		self_debug_resume_one(&self.queues[0]);
		CHECK(self_debug_runs(&self.queues[0]));
		id = self.queues[0].id;
		suspended = self_debug_suspend(&id, 1);
		if (suspended)
			TRY_AGAIN("the signal did not interrupt the sleeping call");
	}
	CHECK_IS(suspended, 0);
	CHECK_IS(id, self.queues[0].id | SELF_DEBUG_INVALID);
	CHECK(self_debug_runs(&self.queues[0]));
}

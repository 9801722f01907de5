// SPDX-License-Identifier: MIT
/* What another thread sees while a call waits for the firmware, or sleeps. */
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include "common/clock.h"
#include "conform/checks.h"
#include "conform/desk.h"

#define TRIES_MS 1500u

struct creator {
	struct desk *desk;
	struct raw_queue queue;
	struct kfdabi_create_queue args;
	unsigned seen;	/* how often the queue of this round was new */
	unsigned asked; /* snapshots */
	bool twice, over;
};

static void *create_many(void *arg)
{
	struct creator *creator = arg;

	while (!creator->twice && !__atomic_load_n(&creator->over, __ATOMIC_SEQ_CST)) {
		unsigned asked;

		__atomic_store_n(&creator->seen, 0, __ATOMIC_SEQ_CST);
		CHECK_IS(queue_create(&creator->desk->gpu, &creator->queue, &creator->args), 0);
		/* The other thread may have to wait for its turn. */
		asked = __atomic_load_n(&creator->asked, __ATOMIC_SEQ_CST);
		while (__atomic_load_n(&creator->asked, __ATOMIC_SEQ_CST) - asked < 2)
			usleep(100);
		creator->twice = __atomic_load_n(&creator->seen, __ATOMIC_SEQ_CST) > 1;
		CHECK_IS(queue_destroy(&creator->desk->gpu, creator->queue.id), 0);
	}
	return NULL;
}

/* A snapshot that waits for CREATE_QUEUE to let go of the process collects the
 * first; where no snapshot falls between the two, both look like one. */
void check_new_is_set_twice(void)
{
	struct creator creator = {0};
	uint64_t until = clock_ns() + TRIES_MS * 1000000ull;
	pthread_t thread;
	struct desk desk;

	creator.desk = &desk;
	desk_prepare(&desk);
	desk_enable(&desk, 0);
	queue_args(&desk.gpu, &creator.queue, &creator.args);
	CHECK(!pthread_create(&thread, NULL, create_many, &creator));
	while (pthread_tryjoin_np(thread, NULL)) {
		struct kfdabi_queue_snapshot entry = {0};
		uint32_t n = 1;

		CHECK_IS(trap_snapshot(desk.gpu.kfd, desk.self, NEW_MASK, &entry, &n), 0);
		if (n && entry.exception_status & NEW_MASK)
			__atomic_fetch_add(&creator.seen, 1, __ATOMIC_SEQ_CST);
		__atomic_fetch_add(&creator.asked, 1, __ATOMIC_SEQ_CST);
		if (clock_ns() > until)
			__atomic_store_n(&creator.over, true, __ATOMIC_SEQ_CST);
	}
	if (!creator.twice && !lab_simulated())
		SKIP("no snapshot fell between the two");
	CHECK(creator.twice);
}

struct destroyer {
	struct desk *desk;
	pthread_t thread;
	int result;
};

static void ignore(int signal)
{
	(void)signal;
}

static void *destroy(void *arg)
{
	struct destroyer *destroyer = arg;

	destroyer->result = queue_destroy(&destroyer->desk->gpu, destroyer->desk->queues[0].id);
	return NULL;
}

/* A signal whose handler wants no restart takes the call out of its sleep. */
void check_interrupted_destroy_bars_suspension(void)
{
	struct sigaction action = {.sa_handler = ignore};
	struct destroyer destroyer;
	struct desk desk;
	uint32_t id;

	CHECK(!sigaction(SIGUSR1, &action, NULL));
	desk_open(&desk, 1);
	desk_suspend_one(&desk, &desk.queues[0]);
	destroyer.desk = &desk;
	CHECK(!pthread_create(&destroyer.thread, NULL, destroy, &destroyer));
	sleep_ms(10);
	CHECK(!pthread_kill(destroyer.thread, SIGUSR1));
	pthread_join(destroyer.thread, NULL);
	CHECK_IS(destroyer.result, -EINTR);
	desk_resume_one(&desk, &desk.queues[0]);
	CHECK(desk_runs(&desk, &desk.queues[0]));
	id = desk.queues[0].id;
	CHECK_IS(desk_suspend(&desk, &id, 1), 0);
	CHECK_IS(id, desk.queues[0].id | DESK_INVALID);
	CHECK(desk_runs(&desk, &desk.queues[0]));
}

// SPDX-License-Identifier: MIT
/* Checks of DESTROY_QUEUE. Their processes debug themselves, which needs no tracer. */
#include <pthread.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tools/kfdconform/checks.h"

#define WORK_MS 15u
#define SLEEPS_MS 15u
#define SURELY_MS 40u /* maximum time until a signal interrupts a sleeping call */
#define LATE_MS 1000u
#define TRIES 5

static struct raw_queue queue;

/* The thread that calls DESTROY_QUEUE. */
static struct {
	pthread_t id;
	pid_t tid;    /* set before the call */
	int64_t done; /* 1 when `result` is valid */
	int result;
} destroyer;

static RULE_CHECK(destroy_of_unknown_queue_is_einval, gpu_open(&gpu))
{
	CHECK_IS(queue_destroy(&gpu, 0), -EINVAL);
	CHECK_IS(queue_destroy(&gpu, NO_QUEUE), -EINVAL);
	queue_new(&gpu, &queue);
	CHECK_IS(queue_destroy(&gpu, queue.id), 0);
	CHECK_IS(queue_destroy(&gpu, queue.id), -EINVAL);
}

/* Destroys a queue in the middle of a kernel. On a busy machine the kernel may end before its queue
 * is destroyed; then the check is repeated with a longer kernel. */
static RULE_CHECK(destroy_drops_the_work, gpu_open(&gpu))
{
	unsigned ms = WORK_MS / 2;
	struct signal *signal = signals_new(&gpu);

	do {
		ms *= 2;
		signal[0].value = 1;
		queue_new(&gpu, &queue);
		queue_work_begun(&queue, ms, &signal[0]);
		CHECK_IS(queue_destroy(&gpu, queue.id), 0);
		if (signal[0].value)
			break;
		TRY_AGAIN("the kernel had ended before its queue was destroyed");
	} while (ms < WORK_MS << TRIES);
	signal[1].value = 1;
	queue_new(&gpu, &queue);
	queue_dispatch(&queue, 1, &signal[1]);
	queue_ring(&queue);
	CHECK(comes(&signal[1].value, 0, LATE_MS));
	CHECK(!comes(&signal[0].value, 0, ms + 10));
}

/* Opens a session with one suspended queue. */
static void begin_suspended(void)
{
	self_debug_open(1);
	self_debug_suspend_one(&self.queues[0]);
}

static void *destroys(void *arg)
{
	__atomic_store_n(&destroyer.tid, (pid_t)syscall(SYS_gettid), __ATOMIC_RELEASE);
	destroyer.result = queue_destroy(&self.gpu, self.queues[0].id);
	__atomic_store_n(&destroyer.done, 1, __ATOMIC_RELEASE);
	return arg;
}

/* Starts a thread that calls DESTROY_QUEUE, and waits until the call sleeps. */
static void begin_destroy(void)
{
	destroyer.tid = 0;
	destroyer.done = 0;
	CHECK(!pthread_create(&destroyer.id, NULL, destroys, NULL));
	until_in_call(&destroyer.tid);
	CHECK(!comes(&destroyer.done, 1, SLEEPS_MS));
}

static void ends(int result)
{
	CHECK(comes(&destroyer.done, 1, LATE_MS));
	CHECK_IS(destroyer.result, result);
}

static RULE_CHECK(destroy_of_a_suspended_queue_sleeps, begin_suspended())
{
	begin_destroy();
}

static RULE_CHECK(resume_wakes_destroy, begin_suspended())
{
	begin_destroy();
	self_debug_resume_one(&self.queues[0]);
	ends(0);
	CHECK_IS(queue_destroy(&self.gpu, self.queues[0].id), -EINVAL);
}

static RULE_CHECK(disable_wakes_destroy, begin_suspended())
{
	begin_destroy();
	CHECK_IS(trap_disable(self.gpu.kfd, getpid()), 0);
	ends(0);
}

static RULE_CHECK(runtime_disable_wakes_destroy, begin_suspended())
{
	begin_destroy();
	/* Post the runtime event in advance, so that RUNTIME_ENABLE does not sleep. */
	CHECK_IS(trap_send(self.gpu.kfd, getpid(), RUNTIME_MASK, 0), 0);
	CHECK_IS(runtime_enable(&self.gpu, 0), 0);
	ends(0);
}

static RULE_CHECK(second_destroy_is_ebusy, begin_suspended())
{
	begin_destroy();
	CHECK_IS(queue_destroy(&self.gpu, self.queues[0].id), -EBUSY);
	self_debug_resume_one(&self.queues[0]);
	ends(0);
}

static RULE_CHECK(interrupted_destroy_leaves_no_mark, begin_suspended())
{
	signal_handle(SIGUSR1, 0);
	begin_destroy();
	/* Repeat the signal: the first one may arrive before the call. */
	for (int i = 0; i < 20 && !comes(&destroyer.done, 1, SURELY_MS); i++)
		CHECK(!pthread_kill(destroyer.id, SIGUSR1));
	ends(-EINTR);
	self_debug_resume_one(&self.queues[0]);
	self_debug_suspend_one(&self.queues[0]);
}

/* Interrupts the sleeping call with a signal whose handler does not request a restart. On a busy
 * machine the signal may arrive before the driver sleeps; then the test is repeated. */
static RULE_CHECK(interrupted_destroy_bars_suspension, begin_suspended())
{
	int suspended = 1;
	uint32_t id = 0;

	signal_handle(SIGUSR1, 0);
	for (unsigned i = 0; i < TRIES && suspended; i++) {
		begin_destroy();
		sleep_ms(10u << i);
		CHECK(!pthread_kill(destroyer.id, SIGUSR1));
		pthread_join(destroyer.id, NULL);
		CHECK_IS(destroyer.result, -EINTR);
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

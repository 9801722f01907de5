// SPDX-License-Identifier: MIT
/* DESTROY_QUEUE. The processes of these checks debug themselves, which needs no tracer. */
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tools/kfdconform/checks.h"
#include "tools/kfdconform/harness/harness.h"

#define NO_QUEUE 1000u
#define WORK_MS 15u
#define SLEEPS_MS 15u
#define SURELY_MS 40u /* maximum time until a signal interrupts a sleeping call */
#define LATE_MS 1000u
#define TRIES 5

static struct gpu_file gpu;
static struct raw_queue queue;

struct destroying_thread {
	pthread_t thread;
	pid_t tid;    /* id of the thread, set before the call */
	int64_t done; /* 1 when `result` is valid */
	int result;
};

void check_destroy_of_unknown_queue_is_einval(void)
{
	gpu_open(&gpu);
	CHECK_IS(queue_destroy(&gpu, 0), -EINVAL);
	CHECK_IS(queue_destroy(&gpu, NO_QUEUE), -EINVAL);
	queue_new(&gpu, &queue);
	CHECK_IS(queue_destroy(&gpu, queue.id), 0);
	CHECK_IS(queue_destroy(&gpu, queue.id), -EINVAL);
}

/* On a busy machine the kernel may end before its queue is destroyed; then the check is repeated
 * with a longer kernel. */
void check_destroy_drops_the_work(void)
{
	unsigned ms = WORK_MS / 2;
	struct signal *signal;

	gpu_open(&gpu);
	signal = signals_new(&gpu);
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
	struct kfdabi_queue_snapshot entry;
	struct kfdabi_runtime_info info;
	uint32_t n = 1, id;

	gpu_open(&gpu);
	CHECK_IS(runtime_enable(&gpu, KFDABI_RUNTIME_MODE_ENABLE), 0);
	queue_new(&gpu, &queue);
	CHECK_IS(trap_enable(gpu.kfd, getpid(), 0, STDERR_FILENO, &info), 0);
	CHECK_IS(trap_snapshot(gpu.kfd, getpid(), NEW_MASK, &entry, &n), 0);
	id = queue.id;
	CHECK_IS(dbg_suspend(gpu.kfd, getpid(), &id, 1, 0), 1);
}

static void *destroys(void *arg)
{
	struct destroying_thread *destroying_thread = arg;

	__atomic_store_n(&destroying_thread->tid, (pid_t)syscall(SYS_gettid), __ATOMIC_RELEASE);
	destroying_thread->result = queue_destroy(&gpu, queue.id);
	__atomic_store_n(&destroying_thread->done, 1, __ATOMIC_RELEASE);
	return NULL;
}

/* Starts DESTROY_QUEUE in a thread, which sleeps. */
static void begin_destroy(struct destroying_thread *destroying_thread)
{
	memset(destroying_thread, 0, sizeof *destroying_thread);
	CHECK(!pthread_create(&destroying_thread->thread, NULL, destroys, destroying_thread));
	until_in_call(&destroying_thread->tid);
	CHECK(!comes(&destroying_thread->done, 1, SLEEPS_MS));
}

static void ends(struct destroying_thread *destroying_thread, int result)
{
	CHECK(comes(&destroying_thread->done, 1, LATE_MS));
	CHECK_IS(destroying_thread->result, result);
}

void check_destroy_of_a_suspended_queue_sleeps(void)
{
	struct destroying_thread destroying_thread;

	begin_suspended();
	begin_destroy(&destroying_thread);
}

void check_resume_wakes_destroy(void)
{
	struct destroying_thread destroying_thread;
	uint32_t id;

	begin_suspended();
	begin_destroy(&destroying_thread);
	id = queue.id;
	CHECK_IS(dbg_resume(gpu.kfd, getpid(), &id, 1), 1);
	ends(&destroying_thread, 0);
	CHECK_IS(queue_destroy(&gpu, queue.id), -EINVAL);
}

void check_disable_wakes_destroy(void)
{
	struct destroying_thread destroying_thread;

	begin_suspended();
	begin_destroy(&destroying_thread);
	CHECK_IS(trap_disable(gpu.kfd, getpid()), 0);
	ends(&destroying_thread, 0);
}

void check_runtime_disable_wakes_destroy(void)
{
	struct destroying_thread destroying_thread;

	begin_suspended();
	begin_destroy(&destroying_thread);
	/* Sent first, so that RUNTIME_ENABLE does not sleep. */
	CHECK_IS(trap_send(gpu.kfd, getpid(), RUNTIME_MASK), 0);
	CHECK_IS(runtime_enable(&gpu, 0), 0);
	ends(&destroying_thread, 0);
}

void check_second_destroy_is_ebusy(void)
{
	struct destroying_thread destroying_thread;
	uint32_t id;

	begin_suspended();
	begin_destroy(&destroying_thread);
	CHECK_IS(queue_destroy(&gpu, queue.id), -EBUSY);
	id = queue.id;
	CHECK_IS(dbg_resume(gpu.kfd, getpid(), &id, 1), 1);
	ends(&destroying_thread, 0);
}

static void nothing(int number)
{
	(void)number;
}

void check_interrupted_destroy_leaves_no_mark(void)
{
	struct sigaction action = {.sa_handler = nothing}; /* without SA_RESTART */
	struct destroying_thread destroying_thread;
	uint32_t id;

	begin_suspended();
	CHECK(!sigaction(SIGUSR1, &action, NULL));
	begin_destroy(&destroying_thread);
	/* Repeat the signal: the first one may arrive before the call. */
	for (int i = 0; i < 20 && !comes(&destroying_thread.done, 1, SURELY_MS); i++)
		CHECK(!pthread_kill(destroying_thread.thread, SIGUSR1));
	ends(&destroying_thread, -EINTR);
	id = queue.id;
	CHECK_IS(dbg_resume(gpu.kfd, getpid(), &id, 1), 1);
	id = queue.id;
	CHECK_IS(dbg_suspend(gpu.kfd, getpid(), &id, 1, 0), 1);
}

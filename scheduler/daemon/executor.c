// SPDX-License-Identifier: MIT
#include "scheduler/daemon/executor.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "common/clock.h"

#define STACK_BYTES (128u * 1024u)
#define ATTACH_TRIES 100 /* 2 s: longer than a predecessor takes to die */
#define ATTACH_PAUSE_NS 20000000

struct executor {
	pthread_t thread;
	pid_t pid;
	int pidfd;
	int done_fd;
	struct beat *beat;
	struct trap *trap;
	uint32_t requests; /* futex */
	uint32_t outcome;
	struct executor_report report;
	int events_fd;
	bool watching;	  /* the thread's own */
	uint32_t runtime; /* 1: enabled */
	int tries;
	int error; /* of attaching */
	char reason[KFD_REASON];
};

/* One descriptor for the whole worker, from its first need on. */
static int device_fd = -1;

static int the_device(char *reason)
{
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	int result;

	pthread_mutex_lock(&lock);
	if (device_fd < 0)
		__atomic_store_n(&device_fd, kfd_device_open(reason), __ATOMIC_RELAXED);
	result = device_fd;
	pthread_mutex_unlock(&lock);
	return result;
}

bool executor_has_device(void)
{
	return __atomic_load_n(&device_fd, __ATOMIC_RELAXED) >= 0;
}

void executor_ask(struct executor *executor, uint32_t requests)
{
	if (__atomic_fetch_or(&executor->requests, requests, __ATOMIC_SEQ_CST) == 0)
		syscall(SYS_futex, &executor->requests, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

/* What is asked, all of it; waits for it, `wait_ns` at most if not negative. */
static uint32_t asked(struct executor *executor, long wait_ns)
{
	const struct timespec wait = {.tv_nsec = wait_ns};
	uint32_t requests;

	for (;;) {
		requests = __atomic_exchange_n(&executor->requests, 0, __ATOMIC_SEQ_CST);
		if (requests)
			return requests;
		if (syscall(SYS_futex, &executor->requests, FUTEX_WAIT_PRIVATE, 0,
			    wait_ns < 0 ? NULL : &wait, NULL, 0) < 0 &&
		    errno == ETIMEDOUT)
			return 0;
	}
}

static void tell(struct executor *executor, uint32_t outcome)
{
	uint64_t one = 1;

	__atomic_fetch_or(&executor->outcome, outcome, __ATOMIC_SEQ_CST);
	(void)!write(executor->done_fd, &one, sizeof(one));
}

/* While it is in the driver, a SUSPEND excuses a heartbeat that is late. */
static void suspend_begin(struct beat *beat)
{
	__atomic_store_n(&beat->suspend_since_ns, clock_ns(), __ATOMIC_RELEASE);
	__atomic_fetch_add(&beat->suspends, 1, __ATOMIC_SEQ_CST);
}

static void suspend_end(struct beat *beat)
{
	__atomic_fetch_sub(&beat->suspends, 1, __ATOMIC_SEQ_CST);
}

static int suspend(struct executor *executor, struct trap_cost *cost)
{
	int error;

	suspend_begin(executor->beat);
	error = trap_suspend(executor->trap, cost);
	suspend_end(executor->beat);
	/* Its runtime was turned off meanwhile, which it does not announce. */
	if (error == -EPERM && executor->watching) {
		struct trap_cost undo;

		trap_resume(executor->trap, &undo);
		error = -ECANCELED;
	}
	return error;
}

/* The session has an event. */
static void answer(struct executor *executor)
{
	bool enabled = executor->runtime;
	int error;

	if (!executor->watching) {
		trap_answer_runtime(executor->trap);
		return;
	}
	error = trap_answer_events(executor->trap, &enabled);
	__atomic_store_n(&executor->runtime, enabled, __ATOMIC_RELEASE);
	tell(executor, EXECUTOR_CHANGED | (error ? EXECUTOR_NOT_COLLECTED : 0));
}

static void act(struct executor *executor, uint32_t requests)
{
	struct executor_report *report = &executor->report;

	if (requests & EXECUTOR_SUSPEND)
		report->error = suspend(executor, &report->cost);
	else
		report->error = trap_resume(executor->trap, &report->cost);
	tell(executor, EXECUTOR_ACTED);
}

/* 0: attached. Otherwise the reason is written, or it was told to quit. Queues that are
 * there go through a suspend. */
static int attach(struct executor *executor)
{
	int device = the_device(executor->reason);
	int error = device < 0 ? device : -EAGAIN;

	for (int i = 0; error == -EAGAIN && i < executor->tries; i++) {
		if (i && asked(executor, ATTACH_PAUSE_NS) & EXECUTOR_QUIT)
			return -ECANCELED;
		suspend_begin(executor->beat);
		error = trap_attach(executor->trap, device, &executor->report.cost,
				    executor->reason);
		suspend_end(executor->beat);
	}
	return error;
}

/* Until told to quit, or the process has ended. */
static void serve(struct executor *executor)
{
	uint32_t requests;

	for (;;) {
		requests = asked(executor, -1);
		if (requests & (EXECUTOR_SUSPEND | EXECUTOR_RESUME))
			act(executor, requests);
		if (requests & EXECUTOR_WATCH)
			executor->watching = trap_watch_queues(executor->trap) == 0;
		if (requests & EXECUTOR_RUNTIME)
			answer(executor);
		if (requests & EXECUTOR_COLLECT && trap_collect(executor->trap) != 0)
			tell(executor, EXECUTOR_NOT_COLLECTED);
		if (requests & EXECUTOR_KICK && trap_serve(executor->trap) == -ESRCH)
			return;
		if (requests & EXECUTOR_QUIT) {
			trap_detach(executor->trap);
			return;
		}
	}
}

static void *run(void *arg)
{
	struct executor *executor = arg;
	int error = attach(executor);

	executor->error = error;
	if (error == 0) {
		executor->events_fd = trap_events_fd(executor->trap);
		executor->runtime = 1; /* or there would be no session */
		tell(executor, EXECUTOR_ATTACHED);
		serve(executor);
	} else if (error != -ECANCELED) {
		tell(executor, EXECUTOR_REFUSED);
	}
	tell(executor, EXECUTOR_ENDED);
	return NULL;
}

static void dispose(struct executor *executor)
{
	trap_destroy(executor->trap);
	if (executor->pidfd >= 0)
		close(executor->pidfd);
	free(executor);
}

int executor_start(pid_t pid, int pidfd, int done_fd, struct beat *beat, bool patient,
		   struct executor **out)
{
	struct executor *executor = calloc(1, sizeof(*executor));
	pthread_attr_t attr;
	int error;

	if (!executor)
		return -ENOMEM;
	executor->pid = pid;
	executor->done_fd = done_fd;
	executor->beat = beat;
	executor->events_fd = -1;
	executor->tries = patient ? ATTACH_TRIES : 1;
	executor->pidfd = fcntl(pidfd, F_DUPFD_CLOEXEC, 0);
	executor->trap = trap_create(pid, executor->pidfd);
	if (executor->pidfd < 0 || !executor->trap) {
		dispose(executor);
		return -ENOMEM;
	}
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, STACK_BYTES);
	error = pthread_create(&executor->thread, &attr, run, executor);
	pthread_attr_destroy(&attr);
	if (error) {
		dispose(executor);
		return -error;
	}
	*out = executor;
	return 0;
}

uint32_t executor_take(struct executor *executor, struct executor_report *report)
{
	uint32_t outcome = __atomic_exchange_n(&executor->outcome, 0, __ATOMIC_SEQ_CST);

	if (outcome & (EXECUTOR_ACTED | EXECUTOR_ATTACHED))
		*report = executor->report;
	return outcome;
}

const char *executor_reason(const struct executor *executor, int *error)
{
	*error = executor->error;
	return executor->reason;
}

int executor_events_fd(const struct executor *executor)
{
	return executor->events_fd;
}

bool executor_runtime(const struct executor *executor)
{
	return __atomic_load_n(&executor->runtime, __ATOMIC_ACQUIRE);
}

bool executor_pending(const struct executor *executor)
{
	return trap_pending(executor->trap);
}

void executor_free(struct executor *executor)
{
	pthread_join(executor->thread, NULL);
	dispose(executor);
}

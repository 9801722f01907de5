// SPDX-License-Identifier: MIT
/*
 * Timers with SIGEV_THREAD: each has one helper thread. It reads the timer's eventfd, and after
 * each expiration starts a thread for the program's function, as the C library does. It ends when
 * the timer was deleted, and with the process.
 */
#include <linux/futex.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "sim/host/time/library.h"
#include "sim/host/time/timer_call.h"

/* Arguments of a new thread lie on the stack of the thread that starts it. That thread waits until
 * `taken` is 1, a futex, before it goes on. */
struct helper {
	const struct sigevent *event;
	int fd;
	uint32_t taken;
};

struct timer_run {
	void (*function)(union sigval);
	union sigval value;
	uint32_t taken;
};

static void take(uint32_t *taken)
{
	__atomic_store_n(taken, 1, __ATOMIC_SEQ_CST);
	raw(SYS_futex, (long)taken, FUTEX_WAKE_PRIVATE, 1, 0, 0, 0);
}

static void wait_until_taken(uint32_t *taken)
{
	while (!__atomic_load_n(taken, __ATOMIC_SEQ_CST))
		raw(SYS_futex, (long)taken, FUTEX_WAIT_PRIVATE, 0, 0, 0, 0);
}

/* Copies only some of the program's attributes: the others point to memory of the program, which
 * may be freed. */
static void copy_attributes(pthread_attr_t *to, const pthread_attr_t *from)
{
	size_t bytes;

	pthread_attr_init(to);
	if (from && !pthread_attr_getstacksize(from, &bytes))
		pthread_attr_setstacksize(to, bytes);
	if (from && !pthread_attr_getguardsize(from, &bytes))
		pthread_attr_setguardsize(to, bytes);
	pthread_attr_setdetachstate(to, PTHREAD_CREATE_DETACHED);
}

static void *run_function(void *arg)
{
	struct timer_run *given = arg, run = *given;
	sigset_t none;

	take(&given->taken);
	sigemptyset(&none);
	pthread_sigmask(SIG_SETMASK, &none, NULL);
	run.function(run.value);
	return NULL;
}

/* Starts a thread for the program's function. If no thread can be started, the expiration is lost,
 * as in the C library. */
static void start_run(const struct sigevent *event, const pthread_attr_t *attributes)
{
	struct timer_run run = {event->sigev_notify_function, event->sigev_value, 0};
	pthread_t thread;

	if (!pthread_create(&thread, attributes, run_function, &run))
		wait_until_taken(&run.taken);
}

static void *help(void *arg)
{
	struct helper *given = arg;
	struct sigevent event = *given->event;
	pthread_attr_t attributes;
	uint64_t count = 0;
	int fd = given->fd;
	long n;

	copy_attributes(&attributes, event.sigev_notify_attributes);
	take(&given->taken);
	while (count < TIME_HELPER_ENDS) {
		n = raw(SYS_read, fd, (long)&count, sizeof(count), 0, 0, 0);
		if (n < 0 && n != -EINTR)
			break; /* the program has closed the file descriptor */
		if (n == sizeof(count) && count < TIME_HELPER_ENDS)
			start_run(&event, &attributes);
	}
	raw(SYS_close, fd, 0, 0, 0, 0, 0);
	pthread_attr_destroy(&attributes);
	return NULL;
}

/* Starts the helper with all signals blocked, so that the program's handlers run in the program's
 * threads. */
static int start_helper(struct helper *helper)
{
	pthread_attr_t detached;
	pthread_t thread;
	sigset_t all, old;
	int r;

	pthread_attr_init(&detached);
	pthread_attr_setdetachstate(&detached, PTHREAD_CREATE_DETACHED);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	r = pthread_create(&thread, &detached, help, helper);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	pthread_attr_destroy(&detached);
	return r;
}

long timer_thread_make(clockid_t clock, const struct sigevent *event)
{
	long made = timer_call(TIME_WHAT(TIME_OP_MAKE, 0) | TIME_WHAT_KIND(TIME_KIND_HELPER, 0, 0),
			       0, clock_offset(clock), 0);
	struct helper helper = {event, (int)(made & INT32_MAX), 0};

	if (made < 0)
		return made;
	if (!start_helper(&helper)) {
		wait_until_taken(&helper.taken);
		return made;
	}
	timer_call(TIME_WHAT(TIME_OP_DELETE, TIME_SPACE_ID), (uint64_t)(made >> 32), 0, 0);
	raw(SYS_close, helper.fd, 0, 0, 0, 0, 0);
	return -EAGAIN;
}

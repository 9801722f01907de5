// SPDX-License-Identifier: MIT
/*
 * The simulated calls for threads, time, and facts about the calling process. Names and results as
 * in libc.
 */
#include "tests/system/seeded/calls.h"

#include <linux/futex.h>
#include <stdarg.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>

#include "tests/system/seeded/files.h"
#include "tests/system/seeded/process.h"

static long refuse(int error)
{
	errno = error;
	return -1;
}

/* ---- time ---- */

static uint64_t ns_of(const struct timespec *t)
{
	return (uint64_t)t->tv_sec * SECOND + (uint64_t)t->tv_nsec;
}

uint64_t played_clock_of(clockid_t id)
{
	(void)id;
	return played_clock_ns();
}

int played_nanosleep(const struct timespec *t, struct timespec *left)
{
	(void)left;
	fiber_sleep(ns_of(t));
	return 0;
}

int played_clock_nanosleep(clockid_t clock, int flags, const struct timespec *t,
			   struct timespec *left)
{
	(void)clock;
	(void)left;
	fiber_sleep(flags & TIMER_ABSTIME && ns_of(t) <= now_ns() ? 0
		    : flags & TIMER_ABSTIME			  ? ns_of(t) - now_ns()
								  : ns_of(t));
	return 0;
}

/* ---- threads ---- */

struct thread {
	void *(*body)(void *arg);
	void *arg;
};

static void run_thread(void *arg)
{
	struct thread thread = *(struct thread *)arg;

	fiber_acquire(arg);
	played_free(arg);
	thread.body(thread.arg);
}

int played_pthread_create(pthread_t *out, const pthread_attr_t *attr, void *(*body)(void *),
			  void *arg)
{
	HARNESS;
	struct thread *thread = played_calloc(1, sizeof(*thread));

	(void)attr;
	*thread = (struct thread){.body = body, .arg = arg};
	fiber_release(thread);
	*out = (pthread_t)fiber_start(fiber_process(), "thread", run_thread, thread);
	fiber_yield();
	return 0;
}

int played_pthread_attr_init(pthread_attr_t *attr)
{
	(void)attr;
	return 0;
}

int played_pthread_attr_destroy(pthread_attr_t *attr)
{
	(void)attr;
	return 0;
}

int played_pthread_attr_setdetachstate(pthread_attr_t *attr, int state)
{
	(void)attr;
	(void)state;
	return 0;
}

int played_pthread_attr_setstacksize(pthread_attr_t *attr, size_t size)
{
	(void)attr;
	(void)size;
	return 0;
}

int played_pthread_atfork(void (*prepare)(void), void (*parent)(void), void (*child)(void))
{
	(void)prepare;
	(void)parent;
	(void)child;
	return 0;
}

pthread_t played_pthread_self(void)
{
	return (pthread_t)fiber_self();
}

int played_pthread_key_create(pthread_key_t *key, void (*end)(void *))
{
	(void)end;
	*key = 0;
	return 0;
}

int played_pthread_setspecific(pthread_key_t key, const void *value)
{
	(void)key;
	*fiber_specific() = value;
	return 0;
}

void *played_pthread_getspecific(pthread_key_t key)
{
	(void)key;
	return (void *)(uintptr_t)*fiber_specific();
}

int played_pthread_setcancelstate(int state, int *old)
{
	(void)state;
	if (old)
		*old = 0;
	return 0;
}

/* The first word of a mutex is the number of the fiber that holds it. */
static bool is_free(void *mutex)
{
	return *(unsigned *)mutex == 0;
}

int played_pthread_mutex_init(pthread_mutex_t *mutex, const pthread_mutexattr_t *attr)
{
	(void)attr;
	*(unsigned *)mutex = 0;
	return 0;
}

int played_pthread_mutex_lock(pthread_mutex_t *mutex)
{
	fiber_yield();
	if (*(unsigned *)mutex == fiber_number(fiber_self()))
		fail("a mutex is locked by the thread that has it");
	while (!is_free(mutex))
		fiber_wait(is_free, mutex, NEVER);
	*(unsigned *)mutex = fiber_number(fiber_self());
	fiber_acquire(mutex);
	return 0;
}

int played_pthread_mutex_trylock(pthread_mutex_t *mutex)
{
	fiber_yield();
	if (!is_free(mutex))
		return EBUSY;
	*(unsigned *)mutex = fiber_number(fiber_self());
	fiber_acquire(mutex);
	return 0;
}

int played_pthread_mutex_unlock(pthread_mutex_t *mutex)
{
	if (*(unsigned *)mutex != fiber_number(fiber_self()))
		fail("a mutex is unlocked by a thread that has not locked it");
	fiber_release(mutex);
	*(unsigned *)mutex = 0;
	fiber_changed();
	fiber_yield();
	return 0;
}

/* ---- syscall(2) ---- */

static long futex(uint32_t *word, int op, uint32_t value, const struct timespec *timeout)
{
	fiber_yield();
	switch (op & FUTEX_CMD_MASK) {
	case FUTEX_WAIT:
		if (*word != value)
			return refuse(EAGAIN);
		if (!fiber_futex_wait(word, timeout ? now_ns() + ns_of(timeout) : NEVER))
			return refuse(ETIMEDOUT);
		return 0;
	case FUTEX_WAKE:
		return fiber_futex_wake(word, (int)value);
	default:
		return refuse(ENOSYS);
	}
}

static long open_pidfd(pid_t pid)
{
	HARNESS;
	struct process *process = process_of(pid);
	struct file *file;

	fiber_yield();
	if (!process || process->gone)
		return refuse(ESRCH);
	file = file_new(PIDFD);
	file->whose = process;
	return file_open(fiber_process(), file);
}

static long copy_out(const struct iovec *from, const struct iovec *to)
{
	HARNESS;

	memcpy(to->iov_base, from->iov_base, from->iov_len);
	return (long)from->iov_len;
}

long played_syscall(long number, ...)
{
	long a[6];
	va_list list;

	va_start(list, number);
	for (int i = 0; i < 6; i++)
		a[i] = va_arg(list, long);
	va_end(list);
	switch (number) {
	case SYS_futex:
		return futex((uint32_t *)a[0], (int)a[1], (uint32_t)a[2],
			     (const struct timespec *)a[3]);
	case SYS_pidfd_open:
		return open_pidfd((pid_t)a[0]);
	case SYS_process_vm_writev:
		return copy_out((const struct iovec *)a[1], (const struct iovec *)a[3]);
	case SYS_membarrier:
	case SYS_rt_sigprocmask:
		fiber_yield();
		return 0;
	default:
		fail("system call %ld is not played", number);
		return refuse(ENOSYS);
	}
}

/* ---- the process ---- */

uid_t played_geteuid(void)
{
	return 0;
}

char *played_getenv(const char *name)
{
	HARNESS;
	const struct process *process = fiber_process();

	return process->environment ? (char *)(uintptr_t)process->environment(process, name) : NULL;
}

pid_t played_getpid(void)
{
	return fiber_process()->pid;
}

pid_t played_gettid(void)
{
	return fiber_process()->pid;
}

int played_getrlimit(int resource, struct rlimit *out)
{
	(void)resource;
	*out = (struct rlimit){.rlim_cur = 1 << 20, .rlim_max = 1 << 20};
	return 0;
}

int played_setrlimit(int resource, const struct rlimit *limit)
{
	(void)resource;
	(void)limit;
	return 0;
}

int played_prctl(int option, ...)
{
	(void)option;
	return 0;
}

int played_sigprocmask(int how, const sigset_t *set, sigset_t *old)
{
	(void)how;
	(void)set;
	(void)old;
	return 0;
}

int played_pthread_sigmask(int how, const sigset_t *set, sigset_t *old)
{
	return played_sigprocmask(how, set, old);
}

void *played_dlopen(const char *name, int flags)
{
	(void)name;
	(void)flags;
	return NULL;
}

void *played_dlsym(void *handle, const char *name)
{
	(void)handle;
	(void)name;
	return NULL;
}

char *played_dlerror(void)
{
	return NULL;
}

int played_dlclose(void *handle)
{
	(void)handle;
	return 0;
}

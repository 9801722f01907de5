// SPDX-License-Identifier: MIT
/* Proves waits by system call number, as libraries with locks of their own make them (libstdc++,
 * libhsakmt). */
#include <linux/futex.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "tests/lib/time_check.h"

static uint32_t word;

static long wait_for(uint64_t ns, int flags)
{
	struct timespec t = timespec_of(ns);

	return syscall(SYS_futex, &word, FUTEX_WAIT | flags, 0, &t, NULL, 0);
}

static long wait_until(clockid_t clock, double steps, int flags)
{
	struct timespec at = after(clock, steps);

	return syscall(SYS_futex, &word, FUTEX_WAIT_BITSET | flags, 0, &at, NULL,
		       FUTEX_BITSET_MATCH_ANY);
}

static void time_outs(void)
{
	uint64_t begin = mono();

	word = 0;
	CHECK(wait_for(2 * STEP_NS, 0) == -1 && errno == ETIMEDOUT);
	TOOK(begin, 2);
	CHECK(wait_for(STEP_NS, FUTEX_PRIVATE_FLAG) == -1 && errno == ETIMEDOUT);
	TOOK(begin, 3);
	CHECK(wait_until(CLOCK_MONOTONIC, 1, FUTEX_PRIVATE_FLAG) == -1 && errno == ETIMEDOUT);
	begin = mono();
	CHECK(wait_until(CLOCK_REALTIME, 1, FUTEX_CLOCK_REALTIME) == -1 && errno == ETIMEDOUT);
	TOOK(begin, 0.9999);
	CHECK(wait_until(CLOCK_MONOTONIC, -1, 0) == -1 && errno == ETIMEDOUT);
	word = 1;
	CHECK(wait_for(STEP_NS, 0) == -1 && errno == EAGAIN);
	CHECK(wait_until(CLOCK_MONOTONIC, 1, 0) == -1 && errno == EAGAIN);
	word = 0;
}

static void errors(void)
{
	struct timespec bad = {0, 1000000000};

	word = 0;
	CHECK(syscall(SYS_futex, &word, FUTEX_WAIT, 0, &bad, NULL, 0) == -1 && errno == EINVAL);
	CHECK(syscall(SYS_futex, 4, FUTEX_WAIT, 0, NULL, NULL, 0) == -1 && errno == EFAULT);
	CHECK(syscall(SYS_futex, &word, FUTEX_WAKE, 1, NULL, NULL, 0) == 0);
	CHECK(syscall(SYS_gettid) == gettid());
	CHECK(syscall(100000) == -1 && errno == ENOSYS);
}

static void *wake_later(void *arg)
{
	sleep_steps(1);
	CHECK(syscall(SYS_futex, &word, FUTEX_WAKE | FUTEX_PRIVATE_FLAG, 1, NULL, NULL, 0) == 1);
	return arg;
}

static void woken(void)
{
	uint64_t begin = mono();
	pthread_t thread;

	CHECK(!pthread_create(&thread, NULL, wake_later, NULL));
	CHECK(wait_for(AMPLE(3) * STEP_NS, FUTEX_PRIVATE_FLAG) == 0);
	TOOK(begin, 1);
	CHECK(!pthread_join(thread, NULL));
}

static void by_process(void)
{
	uint64_t begin = mono();
	uint32_t *shared =
		mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	struct timespec t = timespec_of(AMPLE(5) * STEP_NS);
	pid_t pid = fork();

	if (!pid) {
		sleep_steps(1);
		_exit(syscall(SYS_futex, shared, FUTEX_WAKE, 1, NULL, NULL, 0) != 1);
	}
	CHECK(syscall(SYS_futex, shared, FUTEX_WAIT, 0, &t, NULL, 0) == 0);
	TOOK(begin, 1);
	CHECK(!ended(pid));
}

static void nothing(int signal)
{
	(void)signal;
}

static void interrupted(void)
{
	for (int i = 0; i < 2; i++) {
		uint64_t begin = mono();
		struct caller caller;

		on_signal(SIGUSR1, nothing, i ? SA_RESTART : 0);
		signal_later(&caller, SIGUSR1, 1);
		CHECK(wait_for(AMPLE(3) * STEP_NS, 0) == -1);
		/* A wait for two words, which the time library uses, is restarted with
		 * SA_RESTART. */
		CHECK(errno == EINTR || (is_virtual && i && errno == ETIMEDOUT));
		if (errno == EINTR)
			TOOK(begin, 1);
		signal_joined(&caller);
	}
}

static void other_calls(void)
{
	struct timespec t = timespec_of(STEP_NS), now;
	uint64_t begin = mono();

	CHECK(syscall(SYS_nanosleep, &t, NULL) == 0);
	TOOK(begin, 1);
	CHECK(syscall(SYS_clock_nanosleep, CLOCK_REALTIME, 0, &t, NULL) == 0);
	TOOK(begin, 2);
	CHECK(syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &now) == 0);
	CHECK(ns_of(&now) >= begin + 2 * STEP_NS);
	t.tv_nsec = -1;
	CHECK(syscall(SYS_nanosleep, &t, NULL) == -1 && errno == EINVAL);
}

/* struct futex_waitv, which is missing in system headers before Linux 5.16. */
struct futex_word {
	uint64_t value, address;
	uint32_t flags, reserved;
};
#define SIZE_32_PRIVATE (2 | FUTEX_PRIVATE_FLAG)
#define WORDS 3

static long wait_for_words(struct futex_word *words, clockid_t clock, double steps)
{
	struct timespec at = after(clock, steps);

	return syscall(449, words, WORDS, 0, &at, clock);
}

static void several(void)
{
	static uint32_t others[WORDS - 1];
	struct futex_word words[WORDS] = {
		{0, (uintptr_t)&others[0], SIZE_32_PRIVATE, 0},
		{0, (uintptr_t)&others[1], SIZE_32_PRIVATE, 0},
		{0, (uintptr_t)&word, SIZE_32_PRIVATE, 0},
	};
	uint64_t begin = mono();
	pthread_t thread;

	word = 0;
	CHECK(wait_for_words(words, CLOCK_MONOTONIC, 2) == -1 && errno == ETIMEDOUT);
	TOOK(begin, 2);
	CHECK(wait_for_words(words, CLOCK_MONOTONIC, -1) == -1 && errno == ETIMEDOUT);
	words[1].value = 1;
	CHECK(wait_for_words(words, CLOCK_REALTIME, 2) == -1 && errno == EAGAIN);
	words[1].value = 0;
	begin = mono();
	CHECK(!pthread_create(&thread, NULL, wake_later, NULL));
	CHECK(wait_for_words(words, CLOCK_REALTIME, AMPLE(3)) == 2);
	TOOK(begin, 1);
	CHECK(!pthread_join(thread, NULL));
	CHECK(syscall(449, words, 200, 0, &(struct timespec){1, 0}, CLOCK_MONOTONIC) == -1 &&
	      errno == EINVAL);
}

static void descriptors(void)
{
	struct pollfd none = {.fd = -1};
	struct epoll_event event;
	struct timespec t = timespec_of(STEP_NS);
	struct timeval v = {t.tv_sec, t.tv_nsec / 1000};
	int epoll = epoll_create1(0), ms = (int)(STEP_NS / MS_NS);
	uint64_t begin = mono();
	sigset_t mask;

	CHECK(syscall(SYS_poll, &none, 1, ms) == 0);
	TOOK(begin, 1);
	CHECK(syscall(SYS_ppoll, &none, 1, &t, NULL, 8) == 0);
	t = timespec_of(STEP_NS); /* the kernel has written the remaining time into t */
	CHECK(syscall(SYS_epoll_wait, epoll, &event, 1, ms) == 0);
	CHECK(syscall(SYS_epoll_pwait, epoll, &event, 1, ms, NULL, 8) == 0);
	TOOK(begin, 4);
	CHECK(syscall(SYS_epoll_pwait2, epoll, &event, 1, &t, NULL, 8) == 0);
	CHECK(syscall(SYS_select, 0, NULL, NULL, NULL, &v) == 0 && !v.tv_sec && !v.tv_usec);
	CHECK(syscall(SYS_pselect6, 0, NULL, NULL, NULL, &t, NULL) == 0);
	TOOK(begin, 7);
	t = timespec_of(STEP_NS);
	block_signal(SIGUSR2);
	sigemptyset(&mask);
	sigaddset(&mask, SIGUSR2);
	CHECK(syscall(SYS_rt_sigtimedwait, &mask, NULL, &t, 8) == -1 && errno == EAGAIN);
	TOOK(begin, 8);
	CHECK(syscall(SYS_poll, NULL, 1, 0) == -1 && errno == EFAULT);
	close(epoll);
}

static const struct time_case cases[] = {
	{"time_outs", time_outs},   {"errors", errors},		  {"woken", woken},
	{"by_process", by_process}, {"interrupted", interrupted}, {"other_calls", other_calls},
	{"several", several},	    {"descriptors", descriptors},
};

TIME_MAIN(cases)

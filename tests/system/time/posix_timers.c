// SPDX-License-Identifier: MIT
/* Proves POSIX timers: signals to a process and to a thread, notification by threads, overrun, and
 * what ends a timer. */
#include <sys/syscall.h>

#include "tests/lib/time_check.h"

static volatile sig_atomic_t signals, thread_of_signal, value_of_signal, code_of_signal;
static int runs;

static void count(int signal, siginfo_t *info, void *context)
{
	(void)signal;
	(void)context;
	signals++;
	thread_of_signal = (int)syscall(SYS_gettid);
	value_of_signal = info->si_value.sival_int;
	code_of_signal = info->si_code;
}

static void begin_counting(int signal)
{
	struct sigaction action = {.sa_sigaction = count, .sa_flags = SA_SIGINFO | SA_RESTART};

	signals = 0;
	CHECK(!sigaction(signal, &action, NULL));
}

static timer_t make(clockid_t clock, int notify, int signal, int value)
{
	struct sigevent event = {
		.sigev_notify = notify, .sigev_signo = signal, .sigev_value.sival_int = value};
	timer_t timer = 0;

	event._sigev_un._tid = (int)syscall(SYS_gettid);
	CHECK(!timer_create(clock, &event, &timer));
	return timer;
}

static void set(timer_t timer, double value, double interval)
{
	struct itimerspec new = timer_spec(value, interval);

	CHECK(!timer_settime(timer, 0, &new, NULL));
}

static void to_process(void)
{
	static const clockid_t clocks[] = {CLOCK_MONOTONIC, CLOCK_REALTIME, CLOCK_BOOTTIME,
					   CLOCK_TAI};

	for (size_t i = 0; i < sizeof(clocks) / sizeof(*clocks); i++) {
		timer_t timer = make(clocks[i], SIGEV_SIGNAL, SIGRTMIN + 1, 4711);
		uint64_t begin = mono();
		struct itimerspec at = {.it_value = after(clocks[i], 2)};

		begin_counting(SIGRTMIN + 1);
		block_signal(SIGRTMIN + 1);
		set(timer, 1, 0);
		wait_for_signals(&signals, 1);
		TOOK(begin, 1);
		CHECK(signals == 1 && value_of_signal == 4711 && code_of_signal == SI_TIMER);
		CHECK(!timer_settime(timer, TIMER_ABSTIME, &at, NULL));
		wait_for_signals(&signals, 2);
		TOOK(begin, 2);
		CHECK(!timer_delete(timer));
		allow_signals();
	}
}

/* Without an event a timer raises SIGALRM. */
static void default_event(void)
{
	uint64_t begin = mono();
	timer_t timer;

	begin_counting(SIGALRM);
	block_signal(SIGALRM);
	CHECK(!timer_create(CLOCK_MONOTONIC, NULL, &timer));
	set(timer, 0.5, 0.5);
	wait_for_signals(&signals, 4);
	TOOK(begin, 2);
	CHECK(signals == 4 || !is_virtual);
	CHECK(!timer_delete(timer));
	CHECK(timer_delete(timer) == -1 && errno == EINVAL);
	allow_signals();
	sleep_steps(2);
	CHECK(signals == 4 || !is_virtual);
}

static void *wait_in_thread(void *arg)
{
	timer_t timer = make(CLOCK_MONOTONIC, SIGEV_THREAD_ID, SIGUSR1, 7);
	uint64_t begin = mono();

	(void)arg;
	set(timer, 1, 0);
	sleep_steps(3);
	CHECK(signals == 1 && thread_of_signal == (int)syscall(SYS_gettid));
	TOOK(begin, 3);
	CHECK(!timer_delete(timer));
	return NULL;
}

static void to_thread(void)
{
	struct sigevent other = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SIGUSR1};
	pthread_t thread;
	timer_t timer;

	begin_counting(SIGUSR1);
	CHECK(!pthread_create(&thread, NULL, wait_in_thread, NULL));
	CHECK(!pthread_join(thread, NULL));
	other._sigev_un._tid = 1; /* a thread of another process */
	CHECK(timer_create(CLOCK_MONOTONIC, &other, &timer) == -1 && errno == EINVAL);
}

static void run(union sigval value)
{
	__atomic_add_fetch(&runs, value.sival_int, __ATOMIC_SEQ_CST);
	pthread_exit(NULL);
}

static void in_threads(void)
{
	struct sigevent event = {.sigev_notify = SIGEV_THREAD,
				 .sigev_notify_function = run,
				 .sigev_value.sival_int = 10};
	uint64_t begin = mono();
	timer_t timer;

	runs = 0;
	CHECK(!timer_create(CLOCK_MONOTONIC, &event, &timer));
	set(timer, 1, 1);
	sleep_steps(3.5);
	CHECK(__atomic_load_n(&runs, __ATOMIC_SEQ_CST) == 30 || !is_virtual);
	for (int tries = 0; tries < 1000 && !__atomic_load_n(&runs, __ATOMIC_SEQ_CST); tries++)
		sleep_steps(1);
	CHECK(!timer_delete(timer));
	sleep_steps(is_virtual ? 1 : 20);
	runs = 0;
	sleep_steps(2);
	CHECK(__atomic_load_n(&runs, __ATOMIC_SEQ_CST) == 0);
	if (is_virtual)
		TOOK(begin, 6.5);
}

/* While a signal is pending, further expirations are counted, also for a real-time signal. */
static void overrun(void)
{
	timer_t timer = make(CLOCK_MONOTONIC, SIGEV_SIGNAL, SIGRTMIN + 2, 0);

	begin_counting(SIGRTMIN + 2);
	block_signal(SIGRTMIN + 2);
	set(timer, 1, 1);
	sleep_steps(5.5);
	CHECK(signals == 0);
	allow_signals();
	CHECK(signals == 1 || !is_virtual);
	CHECK(timer_getoverrun(timer) == 4 || !is_virtual);
	sleep_steps(0.6);
	CHECK(signals == 2 || !is_virtual);
	CHECK(timer_getoverrun(timer) == 0 || !is_virtual);
	CHECK(!timer_delete(timer));
}

static void read_value(void)
{
	timer_t timer = make(CLOCK_MONOTONIC, SIGEV_NONE, 0, 0);
	struct itimerspec now, next = timer_spec(50, 0);

	CHECK(!timer_gettime(timer, &now) && !ns_of(&now.it_value));
	set(timer, 10, 2);
	sleep_steps(4);
	CHECK(!timer_gettime(timer, &now));
	CHECK(ns_of(&now.it_interval) == 2 * STEP_NS && ns_of(&now.it_value) <= 6 * STEP_NS);
	CHECK(!is_virtual || ns_of(&now.it_value) >= 6 * STEP_NS - MS_NS);
	sleep_steps(7);
	CHECK(!timer_settime(timer, 0, &next, &now));
	CHECK(ns_of(&now.it_value) <= STEP_NS || !is_virtual);
	CHECK(!is_virtual || ns_of(&now.it_value) >= STEP_NS - MS_NS);
	CHECK(!timer_delete(timer));
}

static void use_of_parent(void *arg)
{
	struct itimerspec now;

	int before = signals;

	CHECK(timer_gettime(*(timer_t *)arg, &now) == -1 && errno == EINVAL);
	sleep_steps(2);
	CHECK(signals == before);
}

static void forked(void)
{
	timer_t timer = make(CLOCK_MONOTONIC, SIGEV_SIGNAL, SIGUSR1, 0);

	begin_counting(SIGUSR1);
	set(timer, 1, 0);
	CHECK(ended(start_process(use_of_parent, &timer)) == 0);
	CHECK(signals == 1);
	CHECK(!timer_delete(timer));
}

/* After exec the timer is gone. In real time the exec must happen before the timer expires. */
static void become_sleep(void *arg)
{
	(void)arg;
	set(make(CLOCK_MONOTONIC, SIGEV_SIGNAL, SIGTERM, 0), is_virtual ? 1 : 50, 0);
	execlp("sleep", "sleep", is_virtual ? "3" : "1.5", (char *)NULL);
	CHECK(!"exec");
}

static void executed(void)
{
	uint64_t begin = mono();

	CHECK(ended(start_process(become_sleep, NULL)) == 0);
	TOOK(begin, 3);
}

static void of_cpu_time(void)
{
	timer_t timer = make(CLOCK_PROCESS_CPUTIME_ID, SIGEV_SIGNAL, SIGUSR2, 0);
	struct itimerspec now = {.it_value = {0, 5000000}};

	begin_counting(SIGUSR2);
	CHECK(!timer_settime(timer, 0, &now, NULL));
	for (volatile uint64_t i = 0; i < 1ull << 34 && !signals; i++)
		;
	CHECK(signals == 1);
	CHECK(!timer_gettime(timer, &now) && !ns_of(&now.it_value));
	CHECK(timer_getoverrun(timer) == 0);
	CHECK(!timer_delete(timer));
}

static void refused(void)
{
	struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = 65};
	struct itimerspec bad = {.it_value = {0, -1}};
	timer_t timer = make(CLOCK_MONOTONIC, SIGEV_NONE, 0, 0), other;

	CHECK(timer_create(CLOCK_MONOTONIC, &event, &other) == -1 && errno == EINVAL);
	CHECK(timer_settime(timer, 0, &bad, NULL) == -1 && errno == EINVAL);
	CHECK(!timer_delete(timer));
	CHECK(timer_gettime(timer, &bad) == -1 && errno == EINVAL);
	CHECK(timer_getoverrun(timer) == -1 && errno == EINVAL);
}

static const struct time_case cases[] = {
	{"to_process", to_process}, {"default_event", default_event},
	{"to_thread", to_thread},   {"in_threads", in_threads},
	{"overrun", overrun},	    {"shown", read_value},
	{"forked", forked},	    {"executed", executed},
	{"cpu_time", of_cpu_time},  {"refused", refused},
};

TIME_MAIN(cases)

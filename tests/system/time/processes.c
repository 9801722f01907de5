// SPDX-License-Identifier: MIT
/* Proves: processes and threads can start, end, exec, be stopped and be killed while others
 * sleep. */
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>

#include "tests/lib/time_check.h"

#define SLEEPERS 30u

static struct shared {
	_Atomic unsigned steps, n;
	unsigned sequence[SLEEPERS];
} * shared;

static void prepare(void)
{
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		      0);
	CHECK(shared != MAP_FAILED);
}

static void sleep_two(void *unused)
{
	(void)unused;
	sleep_steps(2);
}

static void forked(void)
{
	uint64_t begin = mono();
	pid_t one = start_process(sleep_two, NULL), two = start_process(sleep_two, NULL);

	sleep_steps(1);
	CHECK(!ended(one) && !ended(two));
	TOOK(begin, 2);
}

static void vforked(void)
{
	uint64_t begin = mono();
	pid_t pid = vfork();

	if (!pid) {
		struct timespec t = timespec_of(2 * STEP_NS);

		nanosleep(&t, NULL);
		_exit(5);
	}
	CHECK(ended(pid) == 5);
	TOOK(begin, 2);
	sleep_steps(1);
	TOOK(begin, 3);
}

/* The process executes another program, `sleep`. */
static void executed(void)
{
	uint64_t begin = mono();
	char text[32];
	pid_t pid = fork();

	snprintf(text, sizeof(text), "%f", 2 * (double)STEP_NS / 1e9);
	if (!pid) {
		sleep_steps(1);
		execlp("sleep", "sleep", text, NULL);
		_exit(99);
	}
	CHECK(!ended(pid));
	TOOK(begin, 3);
}

static void *execute(void *text)
{
	sleep_steps(1);
	execlp("sleep", "sleep", text, NULL);
	_exit(99);
}

static void *sleep_long(void *arg)
{
	sleep_steps(1000);
	return arg;
}

static void exec_of_a_thread(void *text)
{
	pthread_t threads[2];

	CHECK(!pthread_create(&threads[0], NULL, sleep_long, NULL));
	CHECK(!pthread_create(&threads[1], NULL, execute, text));
	sleep_long(NULL);
}

/* exec by a thread that is not the first: the other threads and their waits end. */
static void executed_by_thread(void)
{
	uint64_t begin = mono();
	char text[32];

	snprintf(text, sizeof(text), "%f", 2 * (double)STEP_NS / 1e9);
	CHECK(!ended(start_process(exec_of_a_thread, text)));
	TOOK(begin, 3);
}

static void *end_after(void *lengths)
{
	sleep_steps((double)*(unsigned *)lengths);
	return NULL;
}

static void threads_end(void)
{
	unsigned lengths[20];
	uint64_t begin = mono();
	pthread_t threads[20];

	for (unsigned i = 0; i < 20; i++) {
		lengths[i] = 20 - i;
		CHECK(!pthread_create(&threads[i], NULL, end_after, &lengths[i]));
	}
	for (unsigned i = 20; i-- > 0;) {
		CHECK(!pthread_join(threads[i], NULL));
		TOOK(begin, lengths[i]);
	}
}

static void *leave_first(void *arg)
{
	sleep_steps(2);
	_exit(*(int *)arg);
}

static void first_thread_ends(void *arg)
{
	pthread_t thread;

	CHECK(!pthread_create(&thread, NULL, leave_first, arg));
	pthread_exit(NULL);
}

/* A process whose first thread has ended is a zombie that continues. */
static void leader_gone(void)
{
	uint64_t begin = mono();
	int code = 42;

	CHECK(ended(start_process(first_thread_ends, &code)) == 42);
	TOOK(begin, 2);
}

#define ALLOW(nr)                                                                                  \
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (nr), 0, 1),                                           \
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)

/* Allows the calls of the program itself, and none that only the time library makes. */
static struct sock_filter strict[] = {
	BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
	ALLOW(SYS_clock_nanosleep),
	ALLOW(SYS_clock_gettime),
	ALLOW(SYS_nanosleep),
	ALLOW(SYS_poll),
	ALLOW(SYS_write),
	ALLOW(SYS_rt_sigtimedwait),
	ALLOW(SYS_exit_group),
	BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
};

static void filtered(void *by_prctl)
{
	struct sock_fprog program = {sizeof(strict) / sizeof(*strict), strict};
	struct timespec t = timespec_of(STEP_NS);
	sigset_t none;

	sigemptyset(&none);
	CHECK(!prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0));
	if (by_prctl)
		CHECK(!prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program));
	else
		CHECK(!syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program));
	CHECK(!nanosleep(&t, NULL));
	CHECK(!clock_nanosleep(CLOCK_REALTIME, 0, &t, NULL));
	for (int i = 0; i < 3; i++)
		CHECK(!poll(NULL, 0, (int)(STEP_NS / MS_NS)));
	CHECK(sigtimedwait(&none, NULL, &t) == -1 && errno == EAGAIN);
	mono();
}

static void own_filter(void)
{
	uint64_t begin = mono();

	CHECK(ended(start_process(filtered, NULL)) == 0);
	TOOK(begin, 6);
	CHECK(ended(start_process(filtered, &begin)) == 0);
	TOOK(begin, 12);
}

static void forbidden(void *unused)
{
	struct sock_fprog program = {sizeof(strict) / sizeof(*strict), strict};

	(void)unused;
	CHECK(!prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0));
	CHECK(!prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program));
	getppid();
}

static void filter_still_filters(void)
{
	CHECK(ended(start_process(forbidden, NULL)) == 256 + SIGSYS);
}

static void step(void *unused)
{
	(void)unused;
	for (int i = 0; i < 10; i++) {
		sleep_steps(1);
		shared->steps++;
	}
}

/* Checks that the process makes no step for 10 units; it was stopped 3.5 units after @begin. */
static void makes_no_step(uint64_t begin)
{
	unsigned steps = shared->steps;

	CHECK(!is_virtual || steps == 3);
	sleep_steps(10);
	CHECK(shared->steps == steps);
	TOOK(begin, 13.5);
}

static void stopped(void)
{
	uint64_t begin = mono();
	int status;
	pid_t pid;

	prepare();
	pid = start_process(step, NULL);
	sleep_steps(3.5);
	kill(pid, SIGSTOP);
	CHECK(waitpid(pid, &status, WUNTRACED) == pid && WIFSTOPPED(status));
	makes_no_step(begin);
	kill(pid, SIGCONT);
	CHECK(!ended(pid));
	CHECK(shared->steps == 10);
	if (is_virtual)
		TOOK(begin, 13.5 + 6); /* the fourth step ended while it was stopped */
}

/* The process is in a debugger, its parent, which sleeps meanwhile. */
static void traced(void)
{
	uint64_t begin = mono();
	int status;
	pid_t pid;

	prepare();
	pid = start_process(step, NULL);
	sleep_steps(3.5);
	CHECK(!ptrace(PTRACE_SEIZE, pid, NULL, NULL));
	CHECK(!ptrace(PTRACE_INTERRUPT, pid, NULL, NULL));
	CHECK(waitpid(pid, &status, 0) == pid && WIFSTOPPED(status));
	makes_no_step(begin);
	CHECK(!ptrace(PTRACE_DETACH, pid, NULL, NULL));
	CHECK(!ended(pid));
	CHECK(shared->steps == 10);
}

static void killed(void)
{
	uint64_t begin = mono();
	pid_t pid = start_process(exec_of_a_thread, "1000");

	sleep_steps(5);
	kill(pid, SIGKILL);
	CHECK(ended(pid) == 256 + SIGKILL);
	sleep_steps(1);
	TOOK(begin, 6);
}

static void *note_sequence(void *arg)
{
	unsigned number = (unsigned)(uintptr_t)arg;

	sleep_steps(1 + (number * 7 % SLEEPERS) * 0.1);
	shared->sequence[shared->n++] = number * 7 % SLEEPERS;
	return NULL;
}

static void note_in_process(void *arg)
{
	note_sequence(arg);
}

/* Half of the sleepers are threads, half processes: they wake in the order of their deadlines. */
static void sequence(void)
{
	pthread_t threads[SLEEPERS];
	pid_t pids[SLEEPERS];

	prepare();
	for (uintptr_t i = 0; i < SLEEPERS; i++)
		if (i % 2)
			CHECK(!pthread_create(&threads[i], NULL, note_sequence, (void *)i));
		else
			pids[i] = start_process(note_in_process, (void *)i);
	for (uintptr_t i = 0; i < SLEEPERS; i++)
		CHECK(i % 2 ? !pthread_join(threads[i], NULL) : !ended(pids[i]));
	CHECK(shared->n == SLEEPERS);
	for (unsigned i = 0; i < SLEEPERS && is_virtual; i++)
		CHECK(shared->sequence[i] == i);
}

static const struct time_case cases[] = {
	{"forked", forked},	      {"vforked", vforked},
	{"executed", executed},	      {"executed_by_thread", executed_by_thread},
	{"threads_end", threads_end}, {"leader_gone", leader_gone},
	{"own_filter", own_filter},   {"filter_still_filters", filter_still_filters},
	{"stopped", stopped},	      {"traced", traced},
	{"killed", killed},	      {"order", sequence},
};

TIME_MAIN(cases)

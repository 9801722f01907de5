// SPDX-License-Identifier: MIT
/* Proves the check that no thread of a simulation can run, against processes in every state. */
#include <errno.h>
#include <linux/membarrier.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
/* clang-format off: cmocka wants some of the above first */
#include <cmocka.h>
/* clang-format on */

#include "sim/host/idle.h"

#define THREADS 40u
#define STORM 3000u
#define PASSES 100000u
#define GRACES 100u

static struct shared {
	_Atomic unsigned begun, done;
	_Atomic bool stop, ran;
} * shared;

static pid_t started;

static int make_shared(void **state)
{
	(void)state;
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		      0);
	return shared == MAP_FAILED;
}

static int end_started(void **state)
{
	(void)state;
	if (started > 0) {
		kill(-started, SIGKILL);
		while (waitpid(-1, NULL, 0) > 0)
			;
	}
	started = 0;
	munmap(shared, sizeof(*shared));
	return 0;
}

/* Starts a process in a process group of its own, which ends with this test. */
static pid_t start(void (*run)(void))
{
	pid_t parent = getpid();

	started = fork();
	assert_true(started >= 0);
	if (!started) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		setpgid(0, 0);
		if (getppid() == parent)
			run();
		_exit(0);
	}
	setpgid(started, started);
	return started;
}

static void doze(void)
{
	for (;;)
		pause();
}

static void spin(void)
{
	while (!shared->stop)
		;
}

static struct idle *watch(pid_t pid)
{
	struct idle *idle;

	assert_int_equal(idle_open(pid, &idle), 0);
	return idle;
}

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* Checks until the process is proved idle. A proof may fail because of other load on the machine,
 * but not for long. */
static bool becomes_idle(struct idle *idle)
{
	uint64_t end = now_ns() + 60000000000u;

	while (now_ns() < end)
		if (idle_check(idle))
			return true;
	return false;
}

static void await(const _Atomic unsigned *count, unsigned value)
{
	while (atomic_load(count) < value)
		sched_yield();
}

static void sleeping(void **state)
{
	struct idle *idle = watch(start(doze));

	(void)state;
	assert_true(becomes_idle(idle));
	assert_int_equal(idle_threads(idle), 1);
	idle_close(idle);
}

static void no_such_process(void **state)
{
	struct idle *idle;
	pid_t pid = start(spin);

	(void)state;
	shared->stop = true;
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	assert_int_equal(idle_open(pid, &idle), -ESRCH);
}

/* A running process is never idle, and is reported as the one that is busy. */
static void running(void **state)
{
	pid_t pid = start(spin);
	struct idle *idle = watch(pid);
	uint64_t before, cpu;
	char name[16];

	(void)state;
	assert_false(idle_check(idle));
	assert_int_equal(idle_busy(idle, &before), pid);
	do {
		assert_false(idle_check(idle));
		assert_int_equal(idle_busy(idle, &cpu), pid);
	} while (cpu - before < 50000000);
	idle_name(pid, name, sizeof(name));
	assert_string_equal(name, "unit_sim_host_i");
	shared->stop = true;
	assert_true(becomes_idle(idle)); /* it is a zombie now */
	idle_close(idle);
}

static void ended(void *context, pid_t tid)
{
	assert_int_equal(tid, *(pid_t *)context);
	*(pid_t *)context = -1;
}

/* A zombie is idle, and its end is reported when it has been reaped. */
static void zombie(void **state)
{
	pid_t pid = start(spin), expected = pid;
	struct idle *idle = watch(pid);
	siginfo_t info;

	(void)state;
	idle_on_end(idle, ended, &expected);
	shared->stop = true;
	assert_int_equal(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT), 0);
	assert_true(becomes_idle(idle));
	assert_int_equal(expected, pid);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	assert_true(becomes_idle(idle));
	assert_int_equal(expected, -1);
	assert_int_equal(idle_threads(idle), 0);
	idle_close(idle);
}

static void stopped(void **state)
{
	pid_t pid = start(spin);
	struct idle *idle = watch(pid);
	int status;

	(void)state;
	kill(pid, SIGSTOP);
	assert_int_equal(waitpid(pid, &status, WUNTRACED), pid);
	assert_true(WIFSTOPPED(status));
	assert_true(becomes_idle(idle));
	kill(pid, SIGCONT);
	assert_int_equal(waitpid(pid, &status, WCONTINUED), pid);
	for (int i = 0; i < 100; i++)
		assert_false(idle_check(idle));
	idle_close(idle);
}

static void wake(int signal)
{
	(void)signal;
}

static void dozes_elsewhere(void)
{
	int ends[2];
	char byte;

	signal(SIGUSR1, wake);
	if (pipe(ends))
		_exit(1);
	shared->begun++;
	pause();
	shared->done++;
	if (read(ends[0], &byte, 1) != 1)
		_exit(1);
}

/* Limits the file descriptors to those below n. Returns the previous limit. */
static struct rlimit limit_files(rlim_t n)
{
	struct rlimit limit, few;

	assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
	few = (struct rlimit){n, limit.rlim_max};
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
	return limit;
}

static rlim_t lowest_free(void)
{
	int fd = dup(0);

	close(fd);
	return (rlim_t)fd;
}

/* A thread whose files cannot be opened for lack of file descriptors is not taken for one that has
 * ended. */
static void no_descriptors(void **state)
{
	pid_t pid = start(dozes_elsewhere);
	struct rlimit limit;
	struct idle *idle = watch(pid);

	(void)state;
	await(&shared->begun, 1);
	assert_true(becomes_idle(idle));
	limit = limit_files(3);
	/* Let it sleep at a place where the check has not seen it, so that the check needs its
	 * files. */
	kill(pid, SIGUSR1);
	await(&shared->done, 1);
	for (int i = 0; i < 1000; i++)
		idle_check(idle);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
	assert_int_equal(idle_threads(idle), 1);
	assert_true(becomes_idle(idle));
	idle_close(idle);
}

/* When all other file descriptors are in use, the reserve of the checker is enough for a proof. */
static void last_descriptors(void **state)
{
	pid_t pid = start(dozes_elsewhere);
	struct idle *idle = watch(pid);
	struct rlimit limit;

	(void)state;
	limit = limit_files(lowest_free());
	await(&shared->begun, 1);
	assert_true(becomes_idle(idle));
	kill(pid, SIGUSR1);
	await(&shared->done, 1);
	assert_true(becomes_idle(idle));
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
	idle_close(idle);
}

static void *thread_dozes(void *arg)
{
	shared->begun++;
	doze();
	return arg;
}

static void go_on(int number)
{
	(void)number;
}

/* Starts four more threads at each signal. */
static void grows(void)
{
	pthread_t thread;

	signal(SIGUSR1, go_on);
	shared->begun++;
	for (;;) {
		pause();
		for (unsigned i = 0; i < 4; i++)
			pthread_create(&thread, NULL, thread_dozes, NULL);
	}
}

/* New threads do not use up the reserve of file descriptors. */
static void new_threads_with_the_last_descriptors(void **state)
{
	pid_t pid = start(grows);
	struct idle *idle = watch(pid);
	struct rlimit limit;

	(void)state;
	await(&shared->begun, 1);
	assert_true(becomes_idle(idle));
	limit = limit_files(lowest_free());
	for (unsigned n = 5; n <= 13; n += 4) {
		kill(pid, SIGUSR1);
		await(&shared->begun, n);
		assert_true(becomes_idle(idle));
		assert_int_equal(idle_threads(idle), n);
	}
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
	idle_close(idle);
}

static void *thread_spins(void *arg)
{
	shared->begun++;
	spin();
	return arg;
}

static void many(void)
{
	pthread_t thread;

	for (unsigned i = 0; i < THREADS; i++)
		pthread_create(&thread, NULL, i == THREADS / 2 ? thread_spins : thread_dozes, NULL);
	doze();
}

/* One of many threads runs. */
static void many_threads(void **state)
{
	pid_t pid = start(many);
	struct idle *idle = watch(pid);
	uint64_t cpu;

	(void)state;
	await(&shared->begun, THREADS);
	for (int i = 0; i < 100; i++)
		assert_false(idle_check(idle));
	assert_int_equal(idle_busy(idle, &cpu), pid);
	shared->stop = true;
	assert_true(becomes_idle(idle));
	/* the first thread, and all others but the one that has ended */
	assert_int_equal(idle_threads(idle), THREADS);
	idle_close(idle);
}

/* The first thread of the process has ended; the process goes on without it. */
static void *leader_ends(void *arg)
{
	shared->begun++;
	spin();
	shared->done++;
	doze();
	return arg;
}

static void without_leader(void)
{
	pthread_t thread;

	pthread_create(&thread, NULL, leader_ends, NULL);
	pthread_exit(NULL);
}

static void leader_gone(void **state)
{
	struct idle *idle = watch(start(without_leader));

	(void)state;
	await(&shared->begun, 1);
	for (int i = 0; i < 100; i++)
		assert_false(idle_check(idle));
	shared->stop = true;
	await(&shared->done, 1);
	assert_true(becomes_idle(idle));
	idle_close(idle);
}

static void vforks(void)
{
	pid_t pid = vfork();

	if (!pid) {
		shared->begun++;
		doze();
	}
}

/* The parent of a vfork() waits uninterruptibly in the kernel, as for a disk. */
static void vforked(void **state)
{
	struct idle *idle = watch(start(vforks));

	(void)state;
	await(&shared->begun, 1);
	assert_true(becomes_idle(idle));
	assert_int_equal(idle_threads(idle), 2);
	idle_close(idle);
}

static void excuses(void **state)
{
	pid_t pid = start(spin);
	struct idle *idle = watch(pid);

	(void)state;
	assert_false(idle_check(idle));
	assert_int_equal(idle_excused(idle), 0);
	idle_excuse(idle, pid);
	idle_excuse(idle, pid); /* a second call has no effect */
	idle_excuse(idle, 1);	/* not a process of this simulation */
	assert_int_equal(idle_excused(idle), 1);
	assert_true(becomes_idle(idle));
	idle_excuse_none(idle);
	assert_int_equal(idle_excused(idle), 0);
	for (int i = 0; i < 100; i++)
		assert_false(idle_check(idle));
	idle_close(idle);
}

/* Forks children one after the other; each computes for a moment and counts itself. */
static void storm(void)
{
	for (unsigned i = 0; i < STORM; i++) {
		if (!fork()) {
			for (volatile unsigned n = 0; n < 100000; n++)
				;
			shared->done++;
			_exit(0);
		}
		while (waitpid(-1, NULL, 0) > 0)
			;
	}
	shared->ran = true;
	doze();
}

/* No proof succeeds while a process exists that has just been forked and computes. */
static void just_forked(void **state)
{
	struct idle *idle = watch(start(storm));

	(void)state;
	while (!shared->ran)
		if (idle_check(idle))
			assert_true(shared->ran);
	assert_int_equal(shared->done, STORM);
	assert_true(becomes_idle(idle));
	assert_int_equal(idle_threads(idle), 1);
	idle_close(idle);
}

static int go; /* an eventfd */

static void fork_on_go(void)
{
	eventfd_t value;

	eventfd_read(go, &value);
	if (!fork()) {
		shared->begun++;
		spin();
		_exit(0);
	}
	doze();
}

/* After a successful proof a new process appears, which computes while its parent sleeps. */
static void forked_after_a_proof(void **state)
{
	struct idle *idle;

	(void)state;
	go = eventfd(0, EFD_CLOEXEC);
	idle = watch(start(fork_on_go));
	assert_true(becomes_idle(idle));
	eventfd_write(go, 1);
	await(&shared->begun, 1);
	for (int i = 0; i < 100; i++)
		assert_false(idle_check(idle));
	shared->stop = true;
	assert_true(becomes_idle(idle));
	assert_int_equal(idle_threads(idle), 2); /* including the zombie */
	idle_close(idle);
	close(go);
}

/* Each thread wakes the next one and sleeps. One thread always runs, although each is seen asleep.
 * The threads belong to two processes, because a proof reads the CPU time of each process. */
static int ring[THREADS];

static void *pass_on(void *arg)
{
	unsigned at = (unsigned)(uintptr_t)arg;
	uint64_t token;

	while (read(ring[at], &token, sizeof(token)) == sizeof(token)) {
		shared->done++;
		if (shared->stop || write(ring[(at + 1) % THREADS], &token, sizeof(token)) < 0)
			break;
	}
	shared->ran = true;
	doze();
	return NULL;
}

static void start_half(unsigned first)
{
	pthread_t thread;

	for (uintptr_t i = first; i < THREADS; i += 2)
		pthread_create(&thread, NULL, pass_on, (void *)i);
	doze();
}

static void run_ring(void)
{
	for (unsigned i = 0; i < THREADS; i++)
		ring[i] = eventfd(i == 0, 0);
	start_half(fork() != 0);
}

static void one_of_many_runs(void **state)
{
	struct idle *idle = watch(start(run_ring));

	(void)state;
	await(&shared->done, 2 * THREADS);
	while (shared->done < PASSES)
		assert_false(idle_check(idle) && !shared->ran);
	shared->stop = true;
	assert_true(becomes_idle(idle));
	assert_int_equal(idle_threads(idle), THREADS + 2);
	idle_close(idle);
}

static void use_cores(const cpu_set_t *cores)
{
	assert_int_equal(sched_setaffinity(0, sizeof(*cores), cores), 0);
}

/* Repeatedly sleeps uninterruptibly for a grace period of the kernel, with interruptible sleeps in
 * between. */
static void wait_for_graces(void)
{
	const struct timespec moment = {0, 100000};

	while (!shared->stop) {
		shared->begun++;
		if (syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL, 0, 0) != 0)
			break;
		shared->done++;
		nanosleep(&moment, NULL);
	}
	shared->ran = true;
	doze();
}

/* All on one core, so that the process takes the core from a check when its sleep ends. */
static void grace_periods(void **state)
{
	unsigned begun, done;
	struct idle *idle;
	cpu_set_t all, one;
	bool proved;

	(void)state;
	assert_int_equal(sched_getaffinity(0, sizeof(all), &all), 0);
	CPU_ZERO(&one);
	CPU_SET(sched_getcpu(), &one);
	use_cores(&one);
	idle = watch(start(wait_for_graces));
	await(&shared->done, 1);
	while (shared->done < GRACES) {
		begun = shared->begun;
		done = shared->done;
		proved = idle_check(idle);
		/* the same grace period lasted from the start of the check to its end */
		assert_false(proved && begun > done && done == shared->done);
		assert_false(shared->ran);
	}
	shared->stop = true;
	assert_true(becomes_idle(idle));
	idle_close(idle);
	use_cores(&all);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, make_shared, end_started)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(sleeping),		TEST(no_such_process),
		TEST(running),		TEST(zombie),
		TEST(stopped),		TEST(no_descriptors),
		TEST(last_descriptors), TEST(new_threads_with_the_last_descriptors),
		TEST(many_threads),	TEST(leader_gone),
		TEST(vforked),		TEST(excuses),
		TEST(just_forked),	TEST(forked_after_a_proof),
		TEST(one_of_many_runs), TEST(grace_periods),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

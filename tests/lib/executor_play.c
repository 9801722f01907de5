// SPDX-License-Identifier: MIT
#include "tests/lib/executor_play.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/clock.h"
#include "kfd/ptrace.h"
#include "scheduler/daemon/executor/executor_table.h"
#include "scheduler/daemon/memory.h"
#include "scheduler/daemon/peer.h"
#include "scheduler/daemon/privileges.h"

#define WAIT_MS 60000

/* Memory that the program shares with the executor process. */
struct shared {
	pid_t pid[PLAY_TARGETS];
	uint32_t stopped[PLAY_TARGETS]; /* 1: a stop is not handled yet */
	uint64_t checks, refused;
};

static struct shared *shared;
static struct executor_table *table;
static struct executor *executors[PLAY_TARGETS];
static uint32_t target_count, reported_count;
static uint32_t wanted; /* outcome that play_act() and play_begin() wait for */
static pid_t process;
static int done_fd = -1, want_fd = -1;

static void must(bool good, const char *what)
{
	if (good)
		return;
	fprintf(stderr, "executor_play: %s: %s\n", what, strerror(errno));
	exit(1);
}

/* ---- played parts of the executor process ---- */

struct trap {
	uint32_t target;
	int events_fd;
	struct kfd_debug_cost enable;
	struct kfd_debug_session session;
};

struct trap *trap_create(pid_t pid, int pidfd)
{
	struct trap *trap = calloc(1, sizeof(*trap));

	(void)pidfd;
	while (trap && trap->target < PLAY_TARGETS - 1 && shared->pid[trap->target] != pid)
		trap->target++;
	return trap;
}

void trap_destroy(struct trap *trap)
{
	if (trap)
		close(trap->events_fd);
	free(trap);
}

int trap_attach(struct trap *trap, int kfd_fd, struct kfd_debug_cost *settled,
		struct reason *reason)
{
	(void)kfd_fd;
	(void)reason;
	trap->events_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	*settled = (struct kfd_debug_cost){0};
	return 0;
}

struct kfd_debug_cost trap_enable_cost(const struct trap *trap)
{
	return trap->enable;
}

void trap_detach(struct trap *trap)
{
	(void)trap;
}

int trap_events_fd(const struct trap *trap)
{
	return trap->events_fd;
}

void trap_handle_runtime(struct trap *trap)
{
	(void)trap;
}

int trap_handle_events(struct trap *trap, bool *enabled)
{
	(void)trap;
	(void)enabled;
	return 0;
}

int trap_watch_queues(struct trap *trap)
{
	(void)trap;
	return 0;
}

int trap_collect(struct trap *trap)
{
	(void)trap;
	return 0;
}

uint32_t trap_exceptions(const struct trap *trap, uint64_t *out, uint32_t room)
{
	(void)trap;
	(void)out;
	(void)room;
	return 0;
}

bool trap_is_gone(struct trap *trap, int error)
{
	(void)trap;
	(void)error;
	return false;
}

struct kfd_debug_session *trap_session(struct trap *trap)
{
	return &trap->session;
}

int kfd_debug_suspend(struct kfd_debug_session *session, struct kfd_debug_cost *cost)
{
	(void)session;
	*cost = (struct kfd_debug_cost){.entry_ns = clock_ns(), .duration_ns = 1, .gpus = 1};
	return 0;
}

int kfd_debug_resume(struct kfd_debug_session *session, struct kfd_debug_cost *cost)
{
	return kfd_debug_suspend(session, cost);
}

int trap_serve(struct trap *trap)
{
	__atomic_store_n(&shared->stopped[trap->target], 0, __ATOMIC_SEQ_CST);
	return 0;
}

bool trap_pending(const struct trap *trap)
{
	__atomic_fetch_add(&shared->checks, 1, __ATOMIC_RELAXED);
	return __atomic_load_n(&shared->stopped[trap->target], __ATOMIC_SEQ_CST);
}

bool tracer_any_pending(void)
{
	for (uint32_t i = 0; i < PLAY_TARGETS; i++)
		if (__atomic_load_n(&shared->stopped[i], __ATOMIC_SEQ_CST))
			return true;
	return false;
}

int kfd_device_open(struct reason *reason)
{
	(void)reason;
	return 0;
}

uint64_t peer_started(pid_t pid)
{
	(void)pid;
	return 1;
}

void filter_report(void)
{
}

void memory_lock(void)
{
}

void privilege_urgent(bool log_failure)
{
	(void)log_failure;
}

void privilege_drop(enum filter_role role, uint64_t *refused)
{
	(void)role;
	(void)refused;
}

/* ---- worker ---- */

static void count_report(uint32_t number, void *context)
{
	struct executor_report report;

	(void)context;
	reported_count += (executor_take(&table->slots[number], &report) & wanted) != 0;
}

/* Waits until `count` executors have reported the outcome. */
static void await(uint32_t count, uint32_t outcome)
{
	struct pollfd p = {.fd = done_fd, .events = POLLIN};
	uint64_t number;

	wanted = outcome;
	while (reported_count < count) {
		must(poll(&p, 1, WAIT_MS) == 1, "an executor does not answer");
		(void)!read(done_fd, &number, sizeof(number));
		executor_collect(count_report, NULL);
	}
}

static void *shared_memory(size_t bytes)
{
	void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	must(memory != MAP_FAILED, "mmap");
	return memory;
}

static pid_t start_target(void)
{
	pid_t pid = fork();

	must(pid >= 0, "fork");
	if (pid)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (;;)
		pause();
}

/* Plays the watchdog, which starts the process that the worker wants. */
static void start_process(uint32_t number)
{
	process = fork();
	must(process >= 0, "fork");
	if (process)
		return;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	_exit(executor_run(table, number, done_fd, &shared->refused));
}

void play_begin(uint32_t count)
{
	const struct executor_tenant tenant = {.uid = 0};
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	sigprocmask(SIG_BLOCK, &set, NULL);
	shared = shared_memory(sizeof(*shared));
	table = shared_memory(sizeof(*table));
	done_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	want_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	must(done_fd >= 0 && want_fd >= 0, "eventfd");
	executor_use(table, want_fd);
	target_count = count;
	for (uint32_t i = 0; i < count; i++)
		shared->pid[i] = start_target();
	for (uint32_t i = 0; i < count; i++)
		must(executor_start(shared->pid[i], 1, &tenant, false, &executors[i]) == 0,
		     "executor_start");
	table->processes[0].state = EXECUTOR_RUNS;
	start_process(0);
	reported_count = 0;
	await(count, EXECUTOR_ATTACHED);
}

void play_attach_to_ended(void)
{
	const struct executor_tenant tenant = {.uid = 0};
	struct executor *executor;
	pid_t pid = fork();

	must(pid >= 0, "fork");
	if (pid == 0)
		_exit(0);
	waitpid(pid, NULL, 0);
	must(executor_start(pid, 1, &tenant, false, &executor) == 0, "executor_start");
	reported_count = 0;
	await(1, EXECUTOR_REFUSED);
}

void play_end(void)
{
	kill(process, SIGKILL);
	waitpid(process, NULL, 0);
	for (uint32_t i = 0; i < target_count; i++) {
		kill(shared->pid[i], SIGKILL);
		waitpid(shared->pid[i], NULL, 0);
	}
	munmap(shared, sizeof(*shared));
	munmap(table, sizeof(*table));
	close(done_fd);
	close(want_fd);
}

pid_t play_process(void)
{
	return process;
}

void play_act(uint32_t count, enum executor_request request)
{
	reported_count = 0;
	for (uint32_t i = 0; i < count; i++)
		executor_send(executors[i], request);
	await(count, EXECUTOR_ACTED);
}

void play_stop(uint32_t i)
{
	__atomic_store_n(&shared->stopped[i], 1, __ATOMIC_SEQ_CST);
}

void play_signal(uint32_t i)
{
	siginfo_t info;

	memset(&info, 0, sizeof(info));
	info.si_signo = SIGCHLD;
	info.si_code = SI_QUEUE; /* a code that a process is allowed to send */
	info.si_pid = shared->pid[i];
	must(syscall(SYS_rt_sigqueueinfo, process, SIGCHLD, &info) == 0, "rt_sigqueueinfo");
}

bool play_is_served(uint32_t i)
{
	return !__atomic_load_n(&shared->stopped[i], __ATOMIC_SEQ_CST);
}

uint64_t play_checks(void)
{
	return __atomic_load_n(&shared->checks, __ATOMIC_RELAXED);
}

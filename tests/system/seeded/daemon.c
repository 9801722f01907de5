// SPDX-License-Identifier: MIT
#include "tests/system/seeded/daemon.h"

#include <signal.h>
#include <string.h>

#include "scheduler/daemon/admission/greeter.h"
#include "scheduler/daemon/child.h"
#include "scheduler/daemon/config/config.h"
#include "scheduler/daemon/executor/executor_table.h"
#include "scheduler/daemon/metrics/metrics.h"
#include "scheduler/daemon/worker.h"
#include "tests/system/seeded/calls.h"
#include "tests/system/seeded/files.h"
#include "tests/system/seeded/images.h"
#include "tests/system/seeded/listener.h"

#define CHECK_NS (50 * MS) /* as in the watchdog */

struct image watchdog_image, worker_image, executor_images[EXECUTOR_IMAGES];

struct reload {
	uint32_t number;
	struct config config;
};

static struct {
	struct shared_state shared;
	uint64_t refused;
	struct reload reload;
	struct executors *executors;
	struct executor_table *table;
	struct process *watchdog, *worker;
	struct process *children[EXECUTOR_PROCESSES];
	const struct worker *state;
	/* the ends of the worker and of the process that accepts connections */
	struct file *channel[2];
	bool stopping, children_ended, worker_ended;
	const struct process *stopped; /* the stopped child; NULL: none */
	uint64_t stopped_ns;
} it;

/* ---- executor processes ---- */

struct executor_start {
	unsigned image;
	uint32_t number;
	int done_fd;
};

static void run_executor(void *arg)
{
	static executor_run_fn *const entries[] = EXECUTOR_ENTRIES;
	const struct executor_start *start = arg;

	entries[start->image](it.table, start->number, start->done_fd, &it.shared.refused_calls);
	process_kill(fiber_process());
}

static void child_gone(struct process *process)
{
	(void)process;
	it.children_ended = true;
	fiber_changed();
}

/* Replaces the watchdog's daemon_child_start(). The watchdog starts each wanted process at once, so
 * the first wanted entry without a process is the right one. */
pid_t daemon_child_start(struct daemon_child *child, uint64_t now)
{
	HARNESS;
	static struct executor_start starts[EXECUTOR_IMAGES];
	struct process *process;
	uint32_t number = 0;
	unsigned image = 0;

	while (number < EXECUTOR_PROCESSES &&
	       !(it.table->processes[number].state == EXECUTOR_WANTED && !it.children[number]))
		number++;
	while (image < EXECUTOR_IMAGES && executor_images[image].user)
		image++;
	if (number == EXECUTOR_PROCESSES || image == EXECUTOR_IMAGES)
		return -EAGAIN;
	starts[image] = (struct executor_start){
		.image = image, .number = number, .done_fd = executors_done_fd(it.executors)};
	process = process_start("executor", &executor_images[image], run_executor, &starts[image]);
	process_inherit(process, starts[image].done_fd);
	process->on_gone = child_gone;
	it.children[number] = process;
	child->pid = process->pid;
	child->since_ns = now;
	child->killed = false;
	return process->pid;
}

/* fork() would return 0 here. daemon_child_start() above does not, so this is never called. */
int executor_run(struct executor_table *table, uint32_t number, int done_fd, uint64_t *refused)
{
	(void)table;
	(void)number;
	(void)done_fd;
	(void)refused;
	return 1;
}

bool child_reap(struct daemon_child *child, int *status)
{
	struct process *process = child->pid ? process_of(child->pid) : NULL;

	if (!process || !process->gone)
		return false;
	fiber_acquire(process);
	if (it.stopped == process)
		it.stopped = NULL;
	for (uint32_t i = 0; i < EXECUTOR_PROCESSES; i++)
		if (it.children[i] == process)
			it.children[i] = NULL;
	*status = 0;
	child->pid = 0;
	child->killed = false;
	return true;
}

bool child_is_stopped(const struct daemon_child *child)
{
	return it.stopped && it.stopped->pid == child->pid;
}

void child_kill(struct daemon_child *child)
{
	struct process *process = child->pid ? process_of(child->pid) : NULL;

	if (!process || child->killed)
		return;
	child->killed = true;
	process_kill(process);
}

static struct process *any_executor(void)
{
	for (uint32_t i = 0; i < EXECUTOR_PROCESSES; i++)
		if (it.children[i] && it.children[i]->running)
			return it.children[i];
	return NULL;
}

void daemon_kill_executor(void)
{
	struct process *process = any_executor();

	if (process)
		process_kill(process);
}

void daemon_stop_executor(void)
{
	struct process *process = any_executor();

	if (!process || it.stopped)
		return;
	note("process %d (executor) is stopped", (int)process->pid);
	fiber_freeze(process, true);
	it.stopped = process;
	it.stopped_ns = now_ns();
	child_gone(process); /* the parent gets SIGCHLD */
}

uint64_t daemon_stopped_ns(void)
{
	return it.stopped && it.stopped->running ? it.stopped_ns : 0;
}

/* ---- worker and watchdog ---- */

static void run_worker(void *arg)
{
	(void)arg;
	/* The process that reads in /proc is a stub without a connection (played_parts.c). */
	worker_run(file_open(fiber_process(), file_hold(it.channel[0])),
		   file_open(fiber_process(), file_new(EVENT)), &it.reload, &it.shared, &it.refused,
		   it.executors);
	process_kill(fiber_process());
}

static void worker_gone(struct process *process)
{
	(void)process;
	it.worker_ended = true;
	it.state = NULL;
	fiber_changed();
}

static void start_worker(void)
{
	executors_reset(it.executors, now_ns());
	it.shared.serving = 0;
	it.shared.heartbeat_ns = now_ns();
	it.worker = process_start("worker", &worker_image, run_worker, NULL);
	process_inherit(it.worker, executors_done_fd(it.executors));
	process_inherit(it.worker, executors_want_fd(it.executors));
	it.worker->on_gone = worker_gone;
}

static bool anything(void *arg)
{
	const struct file *want = arg;

	return file_readable(want) || it.children_ended || it.worker_ended;
}

static void watchdog_iterate(void)
{
	bool children = it.children_ended;

	it.children_ended = false;
	if (it.worker_ended) {
		it.worker_ended = false;
		fiber_acquire(it.worker);
		it.worker = NULL;
		executors_kill(it.executors, now_ns());
	}
	executors_check(it.executors, children, now_ns());
	if (!it.worker && !it.stopping)
		start_worker();
}

static void run_watchdog(void *arg)
{
	(void)arg;
	it.executors = executors_create(NULL, 0, &it.shared.refused_calls);
	it.table = executors_table(it.executors);
	for (;;) {
		watchdog_iterate();
		fiber_wait(anything, file_of(executors_want_fd(it.executors)), now_ns() + CHECK_NS);
	}
}

/* ---- the process that accepts connections ---- */

static bool any_hello(void *arg)
{
	(void)arg;
	return listener_any();
}

static void run_admission(void *arg)
{
	(void)arg;
	for (;;) {
		struct admission_message message = {0};
		struct file *connection;

		fiber_wait(any_hello, NULL, NEVER);
		message.accepted_ns = now_ns();
		connection = listener_take(&message.hello, sizeof(message.hello));
		if (!connection)
			continue;
		fiber_release(it.channel[0]);
		file_send(it.channel[1], &message, sizeof(message), &connection, 1);
		file_drop(connection);
	}
}

/* ---- functions for the scenario ---- */

void daemon_begin(const struct config *config)
{
	memset(&it, 0, sizeof(it));
	it.reload.config = *config;
	it.reload.config.verbose = true;
	it.reload.number = 1;
	file_pair(it.channel);
	file_open(NULL, it.channel[0]);
	file_open(NULL, it.channel[1]);
	it.watchdog = process_start("watchdog", &watchdog_image, run_watchdog, NULL);
	process_start("door", NULL, run_admission, NULL);
}

void daemon_configure(const struct config *config)
{
	it.reload.config = *config;
	it.reload.config.verbose = true;
	it.reload.number++;
	if (it.worker)
		process_signal(it.worker, SIGHUP);
}

void daemon_leave(void)
{
	it.stopping = true;
	if (it.worker)
		process_signal(it.worker, SIGTERM);
}

void daemon_kill_worker(void)
{
	if (!it.worker || !it.worker->running)
		return;
	it.state = NULL;
	process_kill(it.worker);
}

const struct config *daemon_config(void)
{
	return &it.reload.config;
}

struct process *daemon_worker(void)
{
	return it.worker && it.worker->running ? it.worker : NULL;
}

const struct worker *daemon_state(void)
{
	return daemon_worker() ? it.state : NULL;
}

uint64_t daemon_heartbeat_ns(void)
{
	return it.shared.serving && daemon_worker() ? it.shared.heartbeat_ns : 0;
}

const struct executor_table *daemon_table(void)
{
	return it.table;
}

bool daemon_executor_runs(uint32_t number)
{
	const struct process *process = it.children[number % EXECUTOR_PROCESSES];

	return process && process->running && process != it.stopped &&
	       it.table->processes[number % EXECUTOR_PROCESSES].state == EXECUTOR_RUNS;
}

unsigned daemon_slots(void)
{
	unsigned n = 0;

	for (uint32_t i = 0; i < EXECUTOR_SLOTS; i++)
		n += it.table->slots[i].state != EXECUTOR_SLOT_FREE;
	return n;
}

unsigned daemon_executors(void)
{
	unsigned n = 0;

	for (uint32_t i = 0; i < EXECUTOR_PROCESSES; i++)
		n += it.children[i] != NULL;
	return n;
}

bool reload_take(const struct reload *reload, uint32_t *number, struct config *out)
{
	HARNESS;

	if (*number == reload->number)
		return false;
	*out = reload->config;
	*number = reload->number;
	return true;
}

/* The worker calls this in every iteration of its loop. */
void metrics_publish(struct worker *worker, uint64_t now)
{
	(void)now;
	it.state = worker;
}

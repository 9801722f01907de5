// SPDX-License-Identifier: MIT
#include "scheduler/daemon/executor/executor.h"

#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/own_names.h"
#include "scheduler/daemon/child.h"
#include "scheduler/daemon/log.h"

#define MS 1000000ull
#define WORK_MAX_NS (10000 * MS)
/* minimum number of checks before a call counts as hung, because the watchdog may have been
 * stopped */
#define WORK_CHECKS 20u
#define QUIT_NS (200 * MS)     /* time from the request to quit to the kill */
#define END_MAX_NS (1000 * MS) /* a killed process that lives longer is logged */

/* Observation of a slot (struct executor), to detect a driver call that does not return. */
struct executor_seen {
	uint64_t since_ns;	/* when its present work began; 0: it has none */
	uint32_t turns, checks; /* slot's `turns` as last seen; checks since since_ns */
};

struct child_process {
	struct daemon_child child;
	pid_t pid;	    /* pid of the last process, kept after its end */
	uint64_t killed_ns; /* when its end was requested, or it was killed; 0: neither */
	bool logged;	    /* it was logged that it does not end */
};

struct executors {
	struct executor_table *table;
	int done_fd, want_fd;
	const int *files; /* `count` descriptors; see executors_create() */
	size_t count;
	uint64_t *refused;
	struct child_process processes[EXECUTOR_PROCESSES];
	struct executor_seen seen[EXECUTOR_SLOTS];
};

struct executors *executors_create(const int *files, size_t count, uint64_t *refused)
{
	struct executors *executors = calloc(1, sizeof(*executors));

	if (!executors)
		return NULL;
	executors->files = files;
	executors->count = count;
	executors->refused = refused;
	executors->done_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	executors->want_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	executors->table = mmap(NULL, sizeof(*executors->table), PROT_READ | PROT_WRITE,
				MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (executors->done_fd >= 0 && executors->want_fd >= 0 && executors->table != MAP_FAILED)
		return executors;
	free(executors);
	return NULL;
}

struct executor_table *executors_table(struct executors *executors)
{
	return executors->table;
}

int executors_done_fd(const struct executors *executors)
{
	return executors->done_fd;
}

int executors_want_fd(const struct executors *executors)
{
	return executors->want_fd;
}

void executors_close(const struct executors *executors)
{
	close(executors->done_fd);
	close(executors->want_fd);
}

static uint32_t state_of(const struct executors *executors, uint32_t number)
{
	return __atomic_load_n(&executors->table->processes[number].state, __ATOMIC_ACQUIRE);
}

/* Sets the state and wakes the worker. */
static void set_state(struct executors *executors, uint32_t number, uint32_t state)
{
	uint64_t one = 1;

	__atomic_store_n(&executors->table->processes[number].state, state, __ATOMIC_RELEASE);
	(void)!write(executors->done_fd, &one, sizeof(one));
}

static void start(struct executors *executors, uint32_t number, uint64_t now)
{
	struct child_process *process = &executors->processes[number];
	pid_t pid;

	process->child.name = NAME_EXECUTOR;
	process->killed_ns = 0;
	process->logged = false;
	pid = daemon_child_start(&process->child, now);
	if (pid == 0) {
		for (size_t i = 0; i < executors->count; i++)
			if (executors->files[i] >= 0)
				close(executors->files[i]);
		close(executors->want_fd);
		_exit(executor_run(executors->table, number, executors->done_fd,
				   executors->refused));
	}
	process->pid = pid;
	set_state(executors, number, pid > 0 ? EXECUTOR_RUNS : EXECUTOR_DIED);
}

static void kill_one(struct executors *executors, uint32_t number, uint64_t now)
{
	struct child_process *process = &executors->processes[number];

	if (!process->child.pid || process->child.killed)
		return;
	child_kill(&process->child);
	process->killed_ns = now;
	set_state(executors, number, EXECUTOR_KILLED);
}

/* Returns true if the slot (struct executor) is used. The acquire load makes visible what the
 * worker wrote to it before. */
static bool is_used(const struct executor *slot)
{
	return __atomic_load_n(&slot->state, __ATOMIC_ACQUIRE) == EXECUTOR_SLOT_USED;
}

/* Requests each thread of an executor process to end its debug session. Returns their number. */
static unsigned request_quit(struct executors *executors, uint32_t number)
{
	struct executor_table *table = executors->table;
	unsigned count = 0;

	for (uint32_t i = 0; i < table->slot_end && i < EXECUTOR_SLOTS; i++) {
		struct executor *slot = &table->slots[i];

		if (!is_used(slot) || slot->process != number)
			continue;
		executor_send(slot, EXECUTOR_QUIT);
		count++;
	}
	return count;
}

/*
 * Begins the end of an executor process: requests its threads to end their own sessions;
 * check_process() kills it later. If the process were killed at once, the driver would end the
 * sessions one after the other. While the driver waits for the mutex of one target, it holds
 * kfd_processes_srcu, for which the end of each other process waits. So one target could delay all
 * others.
 */
static void dismiss(struct executors *executors, uint32_t number, uint64_t now)
{
	struct child_process *process = &executors->processes[number];

	/* The worker that requested the process is gone, so nothing would end its debug
	 * sessions. */
	if (state_of(executors, number) == EXECUTOR_WANTED && !process->child.pid)
		set_state(executors, number, EXECUTOR_DIED);
	if (!process->child.pid || state_of(executors, number) != EXECUTOR_RUNS)
		return;
	if (request_quit(executors, number) == 0) {
		kill_one(executors, number, now);
		return;
	}
	process->killed_ns = now;
	set_state(executors, number, EXECUTOR_KILLED);
}

/* Handles that an executor process has ended: logs it, and sets EXECUTOR_DIED. */
static void ended(struct executors *executors, uint32_t number, int status)
{
	const struct child_process *process = &executors->processes[number];

	if (process->logged)
		log_info("executor process %d has ended", (int)process->pid);
	else if (!process->killed_ns && status)
		log_error("executor process %d ended by %s %d; its clients get a new one",
			  (int)process->pid, WIFSIGNALED(status) ? "signal" : "exit code",
			  WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
	set_state(executors, number, EXECUTOR_DIED);
}

static void check_children(struct executors *executors, uint64_t now)
{
	for (uint32_t i = 0; i < EXECUTOR_PROCESSES; i++) {
		struct daemon_child *child = &executors->processes[i].child;
		int status;

		if (child_reap(child, &status)) {
			ended(executors, i, status);
		} else if (child->pid && !child->killed && child_is_stopped(child)) {
			log_error("executor process %d is stopped; killing it", (int)child->pid);
			kill_one(executors, i, now);
		}
	}
}

/* Returns true if the executor of the slot has been busy with the same request for WORK_MAX_NS. */
static bool hangs(struct executor_seen *seen, const struct executor *slot, uint64_t now)
{
	uint32_t turns = __atomic_load_n(&slot->turns, __ATOMIC_ACQUIRE);

	if (!__atomic_load_n(&slot->busy, __ATOMIC_ACQUIRE) &&
	    !__atomic_load_n(&slot->requests, __ATOMIC_ACQUIRE)) {
		seen->since_ns = 0;
		return false;
	}
	if (!seen->since_ns || seen->turns != turns)
		*seen = (struct executor_seen){.since_ns = now, .turns = turns};
	return ++seen->checks >= WORK_CHECKS && now >= seen->since_ns + WORK_MAX_NS;
}

static void check_slot(struct executors *executors, uint32_t i, uint64_t now)
{
	struct executor *slot = &executors->table->slots[i];
	bool used = is_used(slot);
	uint32_t number = used ? slot->process % EXECUTOR_PROCESSES : 0;

	if (!used || state_of(executors, number) != EXECUTOR_RUNS) {
		executors->seen[i].since_ns = 0;
		return;
	}
	if (!hangs(&executors->seen[i], slot, now))
		return;
	log_error("killing executor process %d: its driver call for process %d has not returned "
		  "for %llu s",
		  (int)executors->processes[number].pid, (int)slot->pid, WORK_MAX_NS / 1000 / MS);
	__atomic_store_n(&slot->hung, 1, __ATOMIC_RELEASE);
	dismiss(executors, number, now);
}

static void check_process(struct executors *executors, uint32_t number, uint64_t now)
{
	struct child_process *process = &executors->processes[number];
	uint32_t state = state_of(executors, number);

	if (state == EXECUTOR_WANTED && !process->child.pid)
		start(executors, number, now);
	if (state != EXECUTOR_KILLED || process->logged)
		return;
	if (!process->child.killed && now >= process->killed_ns + QUIT_NS)
		kill_one(executors, number, now);
	if (!process->child.killed || now < process->killed_ns + END_MAX_NS)
		return;
	log_error("executor process %d does not end, because its driver call cannot be killed; "
		  "the process of that debug session stays suspended until the call returns",
		  (int)process->pid);
	process->logged = true;
}

void executors_check(struct executors *executors, bool children, uint64_t now)
{
	uint32_t slots = __atomic_load_n(&executors->table->slot_end, __ATOMIC_ACQUIRE);
	uint64_t count;

	(void)!read(executors->want_fd, &count, sizeof(count));
	if (children)
		check_children(executors, now);
	for (uint32_t i = 0; i < EXECUTOR_PROCESSES; i++)
		check_process(executors, i, now);
	for (uint32_t i = 0; i < slots && i < EXECUTOR_SLOTS; i++)
		check_slot(executors, i, now);
}

void executors_kill(struct executors *executors, uint64_t now)
{
	for (uint32_t i = 0; i < EXECUTOR_PROCESSES; i++)
		dismiss(executors, i, now);
}

void executors_reset(struct executors *executors, uint64_t now)
{
	struct executor_table *table = executors->table;

	executors_kill(executors, now);
	for (uint32_t i = 0; i < EXECUTOR_PROCESSES; i++) {
		struct executor_process *process = &table->processes[i];

		*process = (struct executor_process){
			.state =
				executors->processes[i].child.pid ? EXECUTOR_KILLED : EXECUTOR_FREE,
			.tenant = process->tenant,
		};
	}
	for (uint32_t i = 0; i < table->slot_end && i < EXECUTOR_SLOTS; i++) {
		struct executor *slot = &table->slots[i];
		struct executor_process *process =
			&table->processes[slot->process % EXECUTOR_PROCESSES];

		if (slot->state == EXECUTOR_SLOT_FREE || process->state == EXECUTOR_FREE) {
			slot->state = EXECUTOR_SLOT_FREE;
			continue;
		}
		slot->state = EXECUTOR_SLOT_LEFT;
		process->load++;
	}
}

bool executors_gone(const struct executors *executors)
{
	for (uint32_t i = 0; i < EXECUTOR_PROCESSES; i++)
		if (executors->processes[i].child.pid)
			return false;
	return true;
}

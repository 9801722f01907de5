// SPDX-License-Identifier: MIT
#include "sim/host/idle.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/proc.h"
#include "sim/host/threads.h"

#define NAMES 64u
#define NAME_BYTES 64u

struct idle {
	struct threads all;
	pid_t busy;			/* process of a thread that was not asleep; 0: unknown */
	pid_t stopped;			/* process of a thread that was stopped; 0: none */
	char asleep[NAMES][NAME_BYTES]; /* wchan names at which threads only sleep interruptibly */
	size_t n_asleep;
	unsigned n_excused;
};

int idle_open(pid_t init, struct idle **out)
{
	struct idle *idle = calloc(1, sizeof(*idle));
	int r;

	if (!idle)
		return -ENOMEM;
	r = threads_open(&idle->all, init);
	if (r) {
		idle_close(idle);
		return r;
	}
	*out = idle;
	return 0;
}

void idle_close(struct idle *idle)
{
	if (!idle)
		return;
	threads_close(&idle->all);
	free(idle);
}

void idle_on_end(struct idle *idle, void (*ended)(void *context, pid_t tid), void *context)
{
	idle->all.ended = ended;
	idle->all.context = context;
}

static bool name_known(const struct idle *idle, const char *name)
{
	for (size_t i = 0; i < idle->n_asleep; i++)
		if (!strcmp(idle->asleep[i], name))
			return true;
	return false;
}

/* Sets *@runs to how often the thread was given a core: 0 if it has ended or the kernel does not
 * count. Returns false if the file could not be read for lack of resources
 * (threads_note_full()). */
static bool runs_of(struct idle *idle, const struct thread *thread, unsigned long long *runs)
{
	char text[96];
	ssize_t n = thread_read_cached(thread, thread->schedstat, "schedstat", text, sizeof(text));

	if (n <= 0 || sscanf(text, "%*u %*u %llu", runs) != 1)
		*runs = 0;
	return n > 0 || !threads_note_full(&idle->all, n);
}

/* The state of a thread: it can run, it cannot run, or it has ended. */
enum thread_activity { BUSY, ASLEEP, GONE };

/* Returns the thread's state (as in /proc/PID/stat) while its wchan is `name`. Returns 0 if its
 * wchan is another one, or if it has run during the check or has ended. */
static char state_at(struct idle *idle, const struct thread *thread, const char *name)
{
	unsigned long long before, after;
	char again[NAME_BYTES];
	struct proc_stat stat;

	if (!runs_of(idle, thread, &before) ||
	    thread_read_cached(thread, thread->wchan, "wchan", again, sizeof(again)) <= 0 ||
	    !proc_stat(thread->tid, &stat) || !runs_of(idle, thread, &after) || before != after ||
	    strcmp(again, name) != 0)
		return 0;
	return stat.state;
}

/* Remembers the name (wchan) of a place where threads only sleep interruptibly. From now on this
 * name alone shows that a thread sleeps. */
static void learn_name(struct idle *idle, const struct thread *thread, const char *name)
{
	if (idle->n_asleep < NAMES && state_at(idle, thread, name) == 'S')
		strcpy(idle->asleep[idle->n_asleep++], name);
}

/* Returns the activity according to /proc/PID/stat. `name`: the wchan, "?" if it is unreadable. */
static enum thread_activity by_state(struct idle *idle, const struct thread *thread,
				     const char *name)
{
	struct proc_stat stat;
	char state;

	errno = 0;
	if (!proc_stat(thread->tid, &stat) || stat.state == 'X')
		return threads_note_full(&idle->all, -errno) ? BUSY : GONE;
	state = stat.state;
	if (state == 'T' || state == 't')
		idle->stopped = thread->pid;
	if (state == 'S' && strcmp(name, "0") && strcmp(name, "?"))
		learn_name(idle, thread, name);
	/* In state D with one of these names, the thread waits for the end of its vfork() child. */
	if (state == 'D' && (!strcmp(name, "kernel_clone") || !strcmp(name, "wait_for_vfork_done")))
		return ASLEEP;
	/* State S is only a sleep if the kernel shows a place (wchan is not "0"). All other states
	 * count as busy: an idle kernel thread (I) does not belong to the simulation, and a parked
	 * or frozen thread only waits to continue. */
	return strchr("TtZ", state) || (state == 'S' && strcmp(name, "0")) ? ASLEEP : BUSY;
}

/* Returns the thread's activity: by its wchan if that is a known name, otherwise by its state. */
static enum thread_activity state_of(struct idle *idle, const struct thread *thread)
{
	char name[NAME_BYTES], call[128];
	ssize_t n;

	for (int again = 0; again < 2; again++) {
		n = thread_read_cached(thread, thread->wchan, "wchan", name, sizeof(name));
		if (n <= 0)
			return threads_note_full(&idle->all, n) ? BUSY : GONE;
		if (strcmp(name, "0"))
			return name_known(idle, name) ? ASLEEP : by_state(idle, thread, name);
		/* A thread may have gone to sleep and still be in its run queue for a while
		 * (delayed dequeue, Linux 6.12). Reading this file removes it from the queue. */
		n = thread_read(thread->pid, thread->tid, "syscall", call, sizeof(call));
		/* Another user's thread: only its state is readable. */
		if (n == -EACCES || n == -EPERM)
			return by_state(idle, thread, "?");
		if (n <= 0)
			return threads_note_full(&idle->all, n) ? BUSY : GONE;
		if (!strncmp(call, "running", 7))
			return BUSY;
	}
	return by_state(idle, thread, name);
}

/* Moves the thread to the front, so that the next check reads it first: a busy thread
 * usually stays busy. */
static void to_front(struct idle *idle, size_t at)
{
	struct thread thread = idle->all.threads[at];

	memmove(idle->all.threads + 1, idle->all.threads, at * sizeof(thread));
	idle->all.threads[0] = thread;
}

static bool is_excused(const struct idle *idle, pid_t pid)
{
	const struct host_process *process =
		idle->n_excused ? threads_process(&idle->all, pid) : NULL;

	return process && process->excused;
}

/* Reads the state of all threads. Returns false if a thread can run, or has ended in the
 * meantime. */
static bool all_asleep(struct idle *idle)
{
	bool ended = false;

	for (size_t i = 0; i < idle->all.n_threads;) {
		enum thread_activity activity = state_of(idle, &idle->all.threads[i]);

		if (activity == GONE) {
			/* The end of a thread may have woken a thread that was read before it. */
			threads_drop(&idle->all, i);
			ended = true;
			continue;
		}
		if (activity == BUSY && !is_excused(idle, idle->all.threads[i].pid)) {
			idle->busy = idle->all.threads[i].pid;
			to_front(idle, i);
			return false;
		}
		i++;
	}
	return !ended;
}

/* Reads the CPU times. Returns false if one has changed, unless its process is excluded
 * (idle_excuse()). */
static bool clocks_stood(struct idle *idle)
{
	bool stood = true;

	for (size_t i = 0; i < idle->all.n_processes; i++) {
		/* ns is 0 if the process has ended or its last thread is about to end */
		uint64_t ns = clock_of(idle->all.processes[i].clock);

		stood &= ns == idle->all.processes[i].cpu_ns || idle->all.processes[i].excused;
		idle->all.processes[i].cpu_ns = ns;
	}
	return stood;
}

/* Returns true if the process has used CPU time since the last proof that no thread can run. Such a
 * process may be running now. */
static bool is_awake(const struct idle *idle, pid_t pid)
{
	const struct host_process *process = threads_process(&idle->all, pid);

	return process && process->cpu_ns != process->proved_ns;
}

/* Reads how often each thread was given a core. Returns false if one number has changed. The CPU
 * clock alone is not enough: it can stand still while its thread runs, because in a virtual machine
 * the kernel subtracts the time that the host took away from the threads that run afterwards.
 * Without `all`, reads only threads of processes that have run since the last proof (that all
 * threads are asleep); the stored numbers of other threads are still those of that proof. */
static bool runs_stood(struct idle *idle, bool all)
{
	bool stood = true;

	for (size_t i = 0; i < idle->all.n_threads; i++) {
		struct thread *thread = &idle->all.threads[i];
		unsigned long long runs;

		if (is_excused(idle, thread->pid) || !(all || is_awake(idle, thread->pid)))
			continue;
		stood &= runs_of(idle, thread, &runs) && runs == thread->runs;
		thread->runs = runs;
	}
	return stood;
}

/* Returns true if no CPU time and no run count has changed; reads both in any case. */
static bool none_ran(struct idle *idle, bool all)
{
	bool clocks = clocks_stood(idle);

	return runs_stood(idle, all) && clocks;
}

static void remember_clocks(struct idle *idle)
{
	for (size_t i = 0; i < idle->all.n_processes; i++)
		idle->all.processes[i].proved_ns = idle->all.processes[i].cpu_ns;
}

/* Returns true if the thread that the last check found busy is still busy. Most often it is, and
 * reading it is far cheaper than reading all threads. */
static bool is_still_busy(struct idle *idle)
{
	struct thread *thread = idle->all.n_threads ? &idle->all.threads[0] : NULL;

	if (!thread || state_of(idle, thread) != BUSY || is_excused(idle, thread->pid))
		return false;
	idle->busy = thread->pid;
	return true;
}

static bool check(struct idle *idle)
{
	idle->busy = 0;
	idle->stopped = 0;
	if (is_still_busy(idle))
		return false;
	/* The run counts must be read first: if a thread is inside fork() while the ids are read,
	 * it runs after this point, and the second none_ran() detects it. */
	none_ran(idle, false);
	if (threads_find(&idle->all))
		return false;
	if (!all_asleep(idle) || !none_ran(idle, true) ||
	    threads_newest(&idle->all) != idle->all.last)
		return false;
	if (!idle->n_excused) { /* excused processes may be inside fork() */
		idle->all.proved = idle->all.last;
		remember_clocks(idle);
	}
	return true;
}

bool idle_check(struct idle *idle)
{
	bool asleep;

	idle->all.full = false;
	asleep = check(idle);
	if (!idle->all.full)
		return asleep;
	threads_reserve_use(&idle->all);
	asleep = check(idle);
	threads_reserve_restore(&idle->all);
	return asleep;
}

pid_t idle_busy(const struct idle *idle, uint64_t *cpu)
{
	*cpu = idle->busy ? clock_of(process_clock(idle->busy)) : 0;
	return idle->busy;
}

uint64_t idle_cpu(const struct idle *idle, pid_t *most)
{
	uint64_t all = 0, highest = 0;
	struct proc_stat stat;

	for (size_t i = 0; i < idle->all.n_processes; i++) {
		uint64_t ticks = proc_stat(idle->all.processes[i].pid, &stat)
					 ? stat.cpu_ticks + stat.child_ticks
					 : 0;

		all += ticks;
		if (ticks >= highest) {
			highest = ticks;
			*most = idle->all.processes[i].pid;
		}
	}
	return all * (1000000000u / (uint64_t)sysconf(_SC_CLK_TCK));
}

pid_t idle_newest(struct idle *idle)
{
	threads_find(&idle->all);
	return idle->all.last;
}

pid_t idle_stopped(const struct idle *idle)
{
	return idle->stopped;
}

void idle_excuse(struct idle *idle, pid_t pid)
{
	struct host_process *process = threads_process(&idle->all, pid);

	if (!process || process->excused)
		return;
	process->excused = true;
	idle->n_excused++;
}

unsigned idle_excused(const struct idle *idle)
{
	return idle->n_excused;
}

void idle_excuse_none(struct idle *idle)
{
	for (size_t i = 0; i < idle->all.n_processes && idle->n_excused; i++)
		idle->all.processes[i].excused = false;
	idle->n_excused = 0;
}

void idle_name(pid_t pid, char *name, size_t size)
{
	if (thread_read(pid, pid, "comm", name, size) <= 0)
		*name = '\0';
	name[strcspn(name, "\n")] = '\0';
}

pid_t idle_number(pid_t tid)
{
	char status[PROC_STATUS_BYTES];
	pid_t numbers[PROC_NS_LEVELS_MAX];

	if (proc_status_read(tid, status, sizeof(status)))
		return 0;
	return proc_status_ns_pids(status, numbers) > 1 ? numbers[1] : tid;
}

unsigned idle_threads(const struct idle *idle)
{
	return (unsigned)idle->all.n_threads;
}

void idle_each(const struct idle *idle, void (*use)(void *context, pid_t pid, pid_t tid),
	       void *context)
{
	for (size_t i = 0; i < idle->all.n_threads; i++)
		use(context, idle->all.threads[i].pid, idle->all.threads[i].tid);
}

// SPDX-License-Identifier: MIT
#include "sim/host/idle.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/proc_stat.h"
#include "common/proc_status.h"

#define NAMES 64u
#define NAME_BYTES 64u
#define RESERVE 4u  /* more than a check has open at once beside the files that stay open */
#define NEW_MAX 512 /* more new numbers than this: everything is read anew */

struct thread {
	pid_t pid, tid;
	int wchan, schedstat; /* its files in /proc, open; -1: there are too many open files */
	unsigned long long runs;
};

struct process {
	pid_t pid;
	unsigned threads;
	clockid_t clock;
	uint64_t cpu_ns, proved_ns; /* its CPU time, and that at the last proof */
	bool excused;
};

struct idle {
	struct thread *threads;
	struct process *processes;
	size_t n_threads, cap_threads, n_processes, cap_processes;
	int loadavg;
	int reserve[RESERVE]; /* descriptors for a check when there are no others */
	bool full;	      /* a file of a thread could not be read, though it may be there */
	int kept_below;	      /* the files of threads are kept open with these numbers */
	pid_t last;   /* the newest process or thread of the machine when it was read; 0: unknown */
	pid_t proved; /* the same at the last proof */
	pid_t busy;   /* process of the thread that was not asleep */
	pid_t stopped;			/* process of a thread that was stopped */
	char asleep[NAMES][NAME_BYTES]; /* where threads were seen to sleep interruptibly */
	size_t n_asleep;
	unsigned n_excused;
	void (*ended)(void *context, pid_t tid);
	void *context;
};

static int grow(void **array, size_t *cap, size_t n, size_t size)
{
	size_t more = *cap ? *cap * 2 : 64;
	void *bigger;

	if (n < *cap)
		return 0;
	bigger = realloc(*array, more * size);
	if (!bigger)
		return -ENOMEM;
	*array = bigger;
	*cap = more;
	return 0;
}

static ssize_t read_text(int fd, char *text, size_t size)
{
	ssize_t n = pread(fd, text, size - 1, 0);

	text[n > 0 ? n : 0] = '\0';
	return n < 0 ? -errno : n;
}

/* Has the supervisor as many files open as it may, or the kernel no memory? Then nothing is known of
 * the thread, which is noted for the whole check. */
static bool note_full(struct idle *idle, ssize_t error)
{
	bool full = error == -EMFILE || error == -ENFILE || error == -ENOMEM;

	idle->full |= full;
	return full;
}

/* False: not all of them can be had. */
static bool reserve_take(struct idle *idle)
{
	bool all = true;

	for (unsigned i = 0; i < RESERVE; i++) {
		if (idle->reserve[i] < 0)
			idle->reserve[i] = fcntl(idle->loadavg, F_DUPFD_CLOEXEC, 0);
		all &= idle->reserve[i] >= 0;
	}
	return all;
}

/* A file of the thread in /proc. */
static int open_file(pid_t pid, pid_t tid, const char *name)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/task/%d/%s", pid, tid, name);
	return open(path, O_RDONLY | O_CLOEXEC);
}

static ssize_t read_file(pid_t pid, pid_t tid, const char *name, char *text, size_t size)
{
	int fd = open_file(pid, tid, name);
	ssize_t n;

	if (fd < 0)
		return -errno;
	n = read_text(fd, text, size);
	close(fd);
	return n;
}

/* The same of a file that may be open, as @fd. */
static ssize_t read_kept(const struct thread *thread, int fd, const char *name, char *text,
			 size_t size)
{
	return fd < 0 ? read_file(thread->pid, thread->tid, name, text, size)
		      : read_text(fd, text, size);
}

static void close_file(int fd)
{
	if (fd >= 0)
		close(fd);
}

static void reserve_give(struct idle *idle)
{
	for (unsigned i = 0; i < RESERVE; i++) {
		close_file(idle->reserve[i]);
		idle->reserve[i] = -1;
	}
}

static struct process *process_find(const struct idle *idle, pid_t pid)
{
	for (size_t i = 0; i < idle->n_processes; i++)
		if (idle->processes[i].pid == pid)
			return &idle->processes[i];
	return NULL;
}

static bool thread_known(const struct idle *idle, pid_t tid)
{
	for (size_t i = 0; i < idle->n_threads; i++)
		if (idle->threads[i].tid == tid)
			return true;
	return false;
}

/* The CPU time of a process: clock_getcpuclockid(3). */
static clockid_t cpu_clock(pid_t pid)
{
	return (clockid_t)(~(unsigned)pid << 3 | 2);
}

static int process_add(struct idle *idle, pid_t pid)
{
	struct process *process = process_find(idle, pid);

	if (!process) {
		int r = grow((void **)&idle->processes, &idle->cap_processes, idle->n_processes,
			     sizeof(*idle->processes));

		if (r)
			return r;
		process = &idle->processes[idle->n_processes++];
		*process = (struct process){.pid = pid, .clock = cpu_clock(pid)};
	}
	process->threads++;
	return 0;
}

static int files_to_keep(void)
{
	return (int)(sysconf(_SC_OPEN_MAX) / 2);
}

/* A file that stays open, unless the calls that are served would have few descriptors then. */
static int thread_file(const struct idle *idle, pid_t pid, pid_t tid, const char *name)
{
	int fd = open_file(pid, tid, name);

	if (fd < idle->kept_below)
		return fd;
	close(fd);
	errno = EMFILE;
	return -1;
}

static int thread_add(struct idle *idle, pid_t pid, pid_t tid)
{
	int r, fd;

	if (thread_known(idle, tid))
		return 0;
	r = grow((void **)&idle->threads, &idle->cap_threads, idle->n_threads,
		 sizeof(*idle->threads));
	if (r)
		return r;
	fd = thread_file(idle, pid, tid, "wchan");
	if (fd < 0 && !note_full(idle, -errno))
		return errno == ENOENT || errno == ESRCH ? 0 : -errno;
	r = process_add(idle, pid);
	if (r) {
		close_file(fd);
		return r;
	}
	idle->threads[idle->n_threads++] =
		(struct thread){pid, tid, fd, thread_file(idle, pid, tid, "schedstat"), 0};
	return 0;
}

static void thread_drop(struct idle *idle, size_t at)
{
	struct thread thread = idle->threads[at];
	struct process *process = process_find(idle, thread.pid);

	close_file(thread.wchan);
	close_file(thread.schedstat);
	memmove(&idle->threads[at], &idle->threads[at + 1],
		(--idle->n_threads - at) * sizeof(*idle->threads));
	if (process && !--process->threads)
		*process = idle->processes[--idle->n_processes];
	/* Its number may be another thread's by now, which has to be found; what it has asked for by that
	 * number stays. */
	if (!kill(thread.tid, 0) || errno != ESRCH)
		idle->proved = 0;
	else if (idle->ended)
		idle->ended(idle->context, thread.tid);
}

static pid_t number(const char *status, const char *key)
{
	const char *at = proc_status_field(status, key);

	return at ? atoi(at) : 0;
}

/* Is the task @tid one of the world's? Its process or its parent is known then: one that has lost
 * its parent is a child of the world's init, or of a process that has asked for that. */
static int consider(struct idle *idle, pid_t tid)
{
	char status[1024];
	pid_t pid, parent;
	int r = proc_status_read(tid, status, sizeof(status));

	if (r)
		return note_full(idle, r) ? r : 0;
	pid = number(status, "\nTgid:");
	parent = number(status, "\nPPid:");
	if (!process_find(idle, pid) && !process_find(idle, parent))
		return 0;
	return thread_add(idle, pid, tid);
}

static int numbers_in(const char *path, int (*use)(struct idle *idle, pid_t pid, pid_t tid),
		      struct idle *idle, pid_t pid)
{
	DIR *dir = opendir(path);
	struct dirent *entry;
	int r = 0;

	if (!dir) {
		r = errno == ENOENT ? 0 : -errno;
		note_full(idle, r);
		return r;
	}
	while (!r && (entry = readdir(dir)))
		if (entry->d_name[0] >= '1' && entry->d_name[0] <= '9')
			r = use(idle, pid, (pid_t)atoi(entry->d_name));
	closedir(dir);
	return r;
}

static int consider_tasks(struct idle *idle, pid_t unused, pid_t pid)
{
	char path[64];
	int r = consider(idle, pid);

	(void)unused;
	if (r || !process_find(idle, pid))
		return r;
	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	return numbers_in(path, thread_add, idle, pid);
}

/* All of the machine; again while new ones are found, because the folder's order is not that of
 * parents and children. */
static int read_all(struct idle *idle)
{
	size_t before;
	int r;

	do {
		before = idle->n_threads;
		r = numbers_in("/proc", consider_tasks, idle, 0);
	} while (!r && idle->n_threads != before);
	return r;
}

static pid_t newest(const struct idle *idle)
{
	char text[96], *at;

	if (read_text(idle->loadavg, text, sizeof(text)) <= 0)
		return 0;
	at = strrchr(text, ' ');
	return at ? (pid_t)atoi(at) : 0;
}

/* What was created since the last proof: a number is given before its task can be read, so all of
 * them are read again until no thread ran that could still create one. */
static int read_new(struct idle *idle)
{
	pid_t last = newest(idle), from;
	int r = 0;

	/* Numbers that have begun anew may come to the one of the last proof before the next proof. */
	if (last < idle->last)
		idle->proved = 0;
	from = idle->proved;
	idle->last = last;
	if (last && last == from)
		return 0;
	if (!from || last < from || last - from > NEW_MAX)
		return read_all(idle);
	for (pid_t tid = from + 1; tid <= last && !r; tid++)
		if (!thread_known(idle, tid))
			r = consider(idle, tid);
	return r;
}

int idle_open(pid_t init, struct idle **out)
{
	struct idle *idle = calloc(1, sizeof(*idle));
	int r;

	if (!idle)
		return -ENOMEM;
	idle->loadavg = open("/proc/loadavg", O_RDONLY | O_CLOEXEC);
	for (unsigned i = 0; i < RESERVE; i++)
		idle->reserve[i] = -1;
	idle->kept_below = files_to_keep();
	r = idle->loadavg < 0 || !reserve_take(idle) ? -errno : thread_add(idle, init, init);
	if (!r && !idle->n_threads)
		r = -ESRCH;
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
	for (size_t i = 0; i < idle->n_threads; i++) {
		close_file(idle->threads[i].wchan);
		close_file(idle->threads[i].schedstat);
	}
	reserve_give(idle);
	close_file(idle->loadavg);
	free(idle->threads);
	free(idle->processes);
	free(idle);
}

void idle_on_end(struct idle *idle, void (*ended)(void *context, pid_t tid), void *context)
{
	idle->ended = ended;
	idle->context = context;
}

static bool name_known(const struct idle *idle, const char *name)
{
	for (size_t i = 0; i < idle->n_asleep; i++)
		if (!strcmp(idle->asleep[i], name))
			return true;
	return false;
}

/* How often the thread was given a core; 0: it has ended, or the kernel does not count. False: it
 * could not be read (note_full). */
static bool runs_of(struct idle *idle, const struct thread *thread, unsigned long long *runs)
{
	char text[96];
	ssize_t n = read_kept(thread, thread->schedstat, "schedstat", text, sizeof(text));

	if (n <= 0 || sscanf(text, "%*u %*u %llu", runs) != 1)
		*runs = 0;
	return n > 0 || !note_full(idle, n);
}

enum look { BUSY, ASLEEP, GONE };

/* The state that a sleep at that place has; 0: the thread has run meanwhile, or has ended. */
static char state_at(struct idle *idle, const struct thread *thread, const char *name)
{
	unsigned long long before, after;
	char again[NAME_BYTES];
	struct proc_stat stat;

	if (!runs_of(idle, thread, &before) ||
	    read_kept(thread, thread->wchan, "wchan", again, sizeof(again)) <= 0 ||
	    !proc_stat(thread->tid, &stat) || !runs_of(idle, thread, &after) || before != after ||
	    strcmp(again, name) != 0)
		return 0;
	return stat.state;
}

/* Only there do threads sleep interruptibly, so the name is enough from now on. */
static void learn_name(struct idle *idle, const struct thread *thread, const char *name)
{
	if (idle->n_asleep < NAMES && state_at(idle, thread, name) == 'S')
		strcpy(idle->asleep[idle->n_asleep++], name);
}

static enum look by_state(struct idle *idle, const struct thread *thread, const char *name)
{
	struct proc_stat stat;
	char state;

	errno = 0;
	if (!proc_stat(thread->tid, &stat) || stat.state == 'X')
		return note_full(idle, -errno) ? BUSY : GONE;
	state = stat.state;
	if (state == 'T' || state == 't')
		idle->stopped = thread->pid;
	if (state == 'S' && strcmp(name, "0") && strcmp(name, "?"))
		learn_name(idle, thread, name);
	/* Its child of vfork() has not ended yet. */
	if (state == 'D' && (!strcmp(name, "kernel_clone") || !strcmp(name, "wait_for_vfork_done")))
		return ASLEEP;
	/* An idle kernel thread is none of the world's; a parked or frozen thread waits. */
	return strchr("TtZ", state) || (state == 'S' && strcmp(name, "0")) ? ASLEEP : BUSY;
}

static enum look look_at(struct idle *idle, const struct thread *thread)
{
	char name[NAME_BYTES], call[128];
	ssize_t n;

	for (int again = 0; again < 2; again++) {
		n = read_kept(thread, thread->wchan, "wchan", name, sizeof(name));
		if (n <= 0)
			return note_full(idle, n) ? BUSY : GONE;
		if (strcmp(name, "0"))
			return name_known(idle, name) ? ASLEEP : by_state(idle, thread, name);
		/* A thread may have gone to sleep and yet stay in its queue for a while (delayed
		 * dequeue, Linux 6.12); reading this file takes it out. */
		n = read_file(thread->pid, thread->tid, "syscall", call, sizeof(call));
		if (n == -EACCES || n == -EPERM) /* another user's: its state is all there is */
			return by_state(idle, thread, "?");
		if (n <= 0)
			return note_full(idle, n) ? BUSY : GONE;
		if (!strncmp(call, "running", 7))
			return BUSY;
	}
	return by_state(idle, thread, name);
}

/* The next time it is the first to be read: busy threads stay busy. */
static void to_front(struct idle *idle, size_t at)
{
	struct thread thread = idle->threads[at];

	memmove(idle->threads + 1, idle->threads, at * sizeof(thread));
	idle->threads[0] = thread;
}

static bool is_excused(const struct idle *idle, pid_t pid)
{
	const struct process *process = idle->n_excused ? process_find(idle, pid) : NULL;

	return process && process->excused;
}

static bool all_asleep(struct idle *idle)
{
	bool ended = false;

	for (size_t i = 0; i < idle->n_threads;) {
		enum look look = look_at(idle, &idle->threads[i]);

		if (look == GONE) {
			/* Its end may have woken one that was read before it. */
			thread_drop(idle, i);
			ended = true;
			continue;
		}
		if (look == BUSY && !is_excused(idle, idle->threads[i].pid)) {
			idle->busy = idle->threads[i].pid;
			to_front(idle, i);
			return false;
		}
		i++;
	}
	return !ended;
}

static uint64_t cpu_ns(const struct process *process)
{
	return clock_of(process->clock); /* 0: it has ended, or its last thread is about to */
}

/* Remembers the CPU times; false: one has changed. */
static bool clocks_stood(struct idle *idle)
{
	bool stood = true;

	for (size_t i = 0; i < idle->n_processes; i++) {
		uint64_t ns = cpu_ns(&idle->processes[i]);

		stood &= ns == idle->processes[i].cpu_ns || idle->processes[i].excused;
		idle->processes[i].cpu_ns = ns;
	}
	return stood;
}

/* Has it run since the last proof? Then it may run now. */
static bool is_awake(const struct idle *idle, pid_t pid)
{
	const struct process *process = process_find(idle, pid);

	return process && process->cpu_ns != process->proved_ns;
}

/* The same of the threads. A CPU clock can stand while its thread runs: in a virtual machine the
 * kernel takes the time that the host took away off the threads that run after it. Not @all: only those
 * of processes that have run since the last proof; the counts of the others are of then. */
static bool runs_stood(struct idle *idle, bool all)
{
	bool stood = true;

	for (size_t i = 0; i < idle->n_threads; i++) {
		struct thread *thread = &idle->threads[i];
		unsigned long long runs;

		if (is_excused(idle, thread->pid) || !(all || is_awake(idle, thread->pid)))
			continue;
		stood &= runs_of(idle, thread, &runs) && runs == thread->runs;
		thread->runs = runs;
	}
	return stood;
}

static bool none_ran(struct idle *idle, bool all)
{
	bool clocks = clocks_stood(idle);

	return runs_stood(idle, all) && clocks;
}

static void remember_clocks(struct idle *idle)
{
	for (size_t i = 0; i < idle->n_processes; i++)
		idle->processes[i].proved_ns = idle->processes[i].cpu_ns;
}

/* A thread that was busy is so for a while, and this is far less work than a proof. */
static bool is_still_busy(struct idle *idle)
{
	struct thread *thread = idle->n_threads ? &idle->threads[0] : NULL;

	if (!thread || look_at(idle, thread) != BUSY || is_excused(idle, thread->pid))
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
	/* First: a thread that is in fork() while the numbers are read runs after this. */
	none_ran(idle, false);
	if (read_new(idle))
		return false;
	if (!all_asleep(idle) || !none_ran(idle, true) || newest(idle) != idle->last)
		return false;
	if (!idle->n_excused) { /* they may be in fork() */
		idle->proved = idle->last;
		remember_clocks(idle);
	}
	return true;
}

bool idle_check(struct idle *idle)
{
	bool asleep;

	idle->full = false;
	asleep = check(idle);
	if (!idle->full)
		return asleep;
	reserve_give(idle);
	idle->kept_below = 0; /* or the reserve would be spent on the files of threads */
	asleep = check(idle);
	idle->kept_below = files_to_keep();
	reserve_take(idle);
	return asleep;
}

pid_t idle_busy(const struct idle *idle, uint64_t *cpu)
{
	struct process busy = {.pid = idle->busy, .clock = cpu_clock(idle->busy)};

	*cpu = busy.pid ? cpu_ns(&busy) : 0;
	return busy.pid;
}

uint64_t idle_cpu(const struct idle *idle, pid_t *most)
{
	uint64_t all = 0, highest = 0;
	struct proc_stat stat;

	for (size_t i = 0; i < idle->n_processes; i++) {
		uint64_t ticks = proc_stat(idle->processes[i].pid, &stat)
					 ? stat.cpu_ticks + stat.child_ticks
					 : 0;

		all += ticks;
		if (ticks >= highest) {
			highest = ticks;
			*most = idle->processes[i].pid;
		}
	}
	return all * (1000000000u / (uint64_t)sysconf(_SC_CLK_TCK));
}

pid_t idle_newest(struct idle *idle)
{
	read_new(idle);
	return idle->last;
}

pid_t idle_stopped(const struct idle *idle)
{
	return idle->stopped;
}

void idle_excuse(struct idle *idle, pid_t pid)
{
	struct process *process = process_find(idle, pid);

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
	for (size_t i = 0; i < idle->n_processes && idle->n_excused; i++)
		idle->processes[i].excused = false;
	idle->n_excused = 0;
}

void idle_name(pid_t pid, char *name, size_t size)
{
	if (read_file(pid, pid, "comm", name, size) <= 0)
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
	return (unsigned)idle->n_threads;
}

void idle_each(const struct idle *idle, void (*use)(void *context, pid_t pid, pid_t tid),
	       void *context)
{
	for (size_t i = 0; i < idle->n_threads; i++)
		use(context, idle->threads[i].pid, idle->threads[i].tid);
}

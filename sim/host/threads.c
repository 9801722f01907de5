// SPDX-License-Identifier: MIT
#include "sim/host/threads.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/array.h"
#include "common/proc.h"

#define NEW_MAX 512 /* if there are more new ids than this, all of /proc is read again */

static ssize_t read_text(int fd, char *text, size_t size)
{
	ssize_t n = pread(fd, text, size - 1, 0);

	text[n > 0 ? n : 0] = '\0';
	return n < 0 ? -errno : n;
}

bool threads_note_full(struct threads *all, ssize_t error)
{
	bool full = error == -EMFILE || error == -ENFILE || error == -ENOMEM;

	all->full |= full;
	return full;
}

/* Opens the reserved file descriptors that are not open. Returns false if one cannot be opened. */
static bool reserve_take(struct threads *all)
{
	bool have = true;

	for (unsigned i = 0; i < THREADS_RESERVE; i++) {
		if (all->reserve[i] < 0)
			all->reserve[i] = fcntl(all->loadavg, F_DUPFD_CLOEXEC, 0);
		have &= all->reserve[i] >= 0;
	}
	return have;
}

/* Opens a /proc file of the thread. */
static int open_file(pid_t pid, pid_t tid, const char *name)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/task/%d/%s", pid, tid, name);
	return open(path, O_RDONLY | O_CLOEXEC);
}

ssize_t thread_read(pid_t pid, pid_t tid, const char *name, char *text, size_t size)
{
	int fd = open_file(pid, tid, name);
	ssize_t n;

	if (fd < 0)
		return -errno;
	n = read_text(fd, text, size);
	close(fd);
	return n;
}

ssize_t thread_read_cached(const struct thread *thread, int fd, const char *name, char *text,
			   size_t size)
{
	return fd < 0 ? thread_read(thread->pid, thread->tid, name, text, size)
		      : read_text(fd, text, size);
}

static void close_file(int fd)
{
	if (fd >= 0)
		close(fd);
}

static void reserve_give(struct threads *all)
{
	for (unsigned i = 0; i < THREADS_RESERVE; i++) {
		close_file(all->reserve[i]);
		all->reserve[i] = -1;
	}
}

struct host_process *threads_process(const struct threads *all, pid_t pid)
{
	for (size_t i = 0; i < all->n_processes; i++)
		if (all->processes[i].pid == pid)
			return &all->processes[i];
	return NULL;
}

static bool thread_known(const struct threads *all, pid_t tid)
{
	for (size_t i = 0; i < all->n_threads; i++)
		if (all->threads[i].tid == tid)
			return true;
	return false;
}

clockid_t process_clock(pid_t pid)
{
	return (clockid_t)(~(unsigned)pid << 3 | 2);
}

static int process_add(struct threads *all, pid_t pid)
{
	struct host_process *process = threads_process(all, pid);

	if (!process) {
		int r = ARRAY_GROW(all->processes, all->cap_processes, all->n_processes + 1);

		if (r)
			return r;
		process = &all->processes[all->n_processes++];
		*process = (struct host_process){.pid = pid, .clock = process_clock(pid)};
	}
	process->threads++;
	return 0;
}

/* Returns how many file descriptors the threads' files may take: half of the limit. The calls that
 * the supervisor serves need the rest. */
static int files_to_keep(void)
{
	return (int)(sysconf(_SC_OPEN_MAX) / 2);
}

/* Opens a /proc file of a thread; the file stays open. Fails with EMFILE if the fd is not below
 * cached_below, because the calls that the supervisor serves need file descriptors as well. */
static int thread_file(const struct threads *all, pid_t pid, pid_t tid, const char *name)
{
	int fd = open_file(pid, tid, name);

	if (fd < all->cached_below)
		return fd;
	close(fd);
	errno = EMFILE;
	return -1;
}

/* Adds a thread and its process, unless it has ended. Returns 0 or a negative errno. */
static int thread_add(struct threads *all, pid_t pid, pid_t tid)
{
	int r, fd;

	if (thread_known(all, tid))
		return 0;
	r = ARRAY_GROW(all->threads, all->cap_threads, all->n_threads + 1);
	if (r)
		return r;
	fd = thread_file(all, pid, tid, "wchan");
	if (fd < 0 && !threads_note_full(all, -errno))
		return errno == ENOENT || errno == ESRCH ? 0 : -errno;
	r = process_add(all, pid);
	if (r) {
		close_file(fd);
		return r;
	}
	all->threads[all->n_threads++] =
		(struct thread){pid, tid, fd, thread_file(all, pid, tid, "schedstat"), 0};
	return 0;
}

void threads_drop(struct threads *all, size_t at)
{
	struct thread thread = all->threads[at];
	struct host_process *process = threads_process(all, thread.pid);

	close_file(thread.wchan);
	close_file(thread.schedstat);
	memmove(&all->threads[at], &all->threads[at + 1],
		(--all->n_threads - at) * sizeof(*all->threads));
	if (process && !--process->threads)
		*process = all->processes[--all->n_processes];
	/* If the id already belongs to another thread, that thread has to be found, and what it has
	 * requested under that id must not be removed. */
	if (!kill(thread.tid, 0) || errno != ESRCH)
		all->proved = 0;
	else if (all->ended)
		all->ended(all->context, thread.tid);
}

static pid_t number(const char *status, const char *key)
{
	const char *at = proc_status_field(status, key);

	return at ? atoi(at) : 0;
}

/* Adds task @tid if it belongs to the simulation, that is, if its process or its parent is known.
 * This also finds a task that has lost its parent, because it is then a child of the simulation's
 * init or of a process that is a child subreaper. */
static int consider(struct threads *all, pid_t tid)
{
	char status[1024];
	pid_t pid, parent;
	int r = proc_status_read(tid, status, sizeof(status));

	if (r)
		return threads_note_full(all, r) ? r : 0;
	pid = number(status, "\nTgid:");
	parent = number(status, "\nPPid:");
	if (!threads_process(all, pid) && !threads_process(all, parent))
		return 0;
	return thread_add(all, pid, tid);
}

/* Calls `use` for each entry of a /proc directory whose name is a number. */
static int numbers_in(const char *path, int (*use)(struct threads *all, pid_t pid, pid_t tid),
		      struct threads *all, pid_t pid)
{
	DIR *dir = opendir(path);
	struct dirent *entry;
	int r = 0;

	if (!dir) {
		r = errno == ENOENT ? 0 : -errno;
		threads_note_full(all, r);
		return r;
	}
	while (!r && (entry = readdir(dir)))
		if (entry->d_name[0] >= '1' && entry->d_name[0] <= '9')
			r = use(all, pid, (pid_t)atoi(entry->d_name));
	closedir(dir);
	return r;
}

static int consider_tasks(struct threads *all, pid_t unused, pid_t pid)
{
	char path[64];
	int r = consider(all, pid);

	(void)unused;
	if (r || !threads_process(all, pid))
		return r;
	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	return numbers_in(path, thread_add, all, pid);
}

/* Reads all tasks of the machine. Repeats this as long as new threads are found, because the
 * directory may list a child before its parent. */
static int read_all(struct threads *all)
{
	size_t before;
	int r;

	do {
		before = all->n_threads;
		r = numbers_in("/proc", consider_tasks, all, 0);
	} while (!r && all->n_threads != before);
	return r;
}

pid_t threads_newest(const struct threads *all)
{
	char text[96], *at;

	if (read_text(all->loadavg, text, sizeof(text)) <= 0)
		return 0;
	at = strrchr(text, ' ');
	return at ? (pid_t)atoi(at) : 0;
}

/* Reads only tasks that were created since idle_check() has last proved that no thread can run. A
 * task has its id before it can be read in /proc. So all ids since that proof are read again each
 * time, until the next proof shows that no thread has run that could have created a task. */
int threads_find(struct threads *all)
{
	pid_t last = threads_newest(all), from;
	int r = 0;

	/* The ids have wrapped around. The newest id may become equal to `proved` (the newest one
	 * at the last proof, idle_check()) again, although tasks were created since that proof. */
	if (last < all->last)
		all->proved = 0;
	from = all->proved;
	all->last = last;
	if (last && last == from)
		return 0;
	if (!from || last < from || last - from > NEW_MAX)
		return read_all(all);
	for (pid_t tid = from + 1; tid <= last && !r; tid++)
		if (!thread_known(all, tid))
			r = consider(all, tid);
	return r;
}

int threads_open(struct threads *all, pid_t init)
{
	int r;

	all->loadavg = open("/proc/loadavg", O_RDONLY | O_CLOEXEC);
	for (unsigned i = 0; i < THREADS_RESERVE; i++)
		all->reserve[i] = -1;
	all->cached_below = files_to_keep();
	r = all->loadavg < 0 || !reserve_take(all) ? -errno : thread_add(all, init, init);
	return !r && !all->n_threads ? -ESRCH : r;
}

void threads_close(struct threads *all)
{
	for (size_t i = 0; i < all->n_threads; i++) {
		close_file(all->threads[i].wchan);
		close_file(all->threads[i].schedstat);
	}
	reserve_give(all);
	close_file(all->loadavg);
	free(all->threads);
	free(all->processes);
}

void threads_reserve_use(struct threads *all)
{
	reserve_give(all);
	all->cached_below = 0; /* keep the reserve for the check */
}

void threads_reserve_restore(struct threads *all)
{
	all->cached_below = files_to_keep();
	reserve_take(all);
}

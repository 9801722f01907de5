/* SPDX-License-Identifier: MIT */
/*
 * The threads of a simulation in virtual time, and their files in /proc. Used only by the proof
 * that none of them can run (idle.h).
 *
 * All ids are those of the caller's PID namespace. Errors are negative errnos.
 * Threads: one at a time. Source: fs/proc/base.c, kernel/pid.c (Linux 6.12).
 */
#ifndef KFDSHIM_SIM_HOST_THREADS_H
#define KFDSHIM_SIM_HOST_THREADS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

/* Number of reserved file descriptors: more than idle_check() has open at a time, in addition to
 * those that stay open. */
#define THREADS_RESERVE 4u

struct thread {
	pid_t pid, tid;
	int wchan, schedstat;	 /* open files in /proc; -1: too many open files */
	unsigned long long runs; /* for idle.c: how often the thread was given a core */
};

struct host_process {
	pid_t pid;
	unsigned threads;
	clockid_t clock;
	uint64_t cpu_ns, proved_ns; /* for idle.c: CPU time now, and at the latest proof */
	bool excused;		    /* for idle.c: see idle_excuse() */
};

/* The known threads and processes. All zero before threads_open(). */
struct threads {
	struct thread *threads;
	struct host_process *processes;
	size_t n_threads, cap_threads, n_processes, cap_processes;
	int loadavg;
	/* File descriptors reserved for an idle_check() that finds no free ones. */
	int reserve[THREADS_RESERVE];
	bool full;	  /* a file of an existing thread may not have been readable */
	int cached_below; /* /proc files are kept open only with fd numbers below this */
	pid_t last;	  /* newest process or thread of the machine at the last read; 0: unknown */
	pid_t proved; /* value of `last` at the latest proof (idle.h); 0: read all tasks again */
	void (*ended)(void *context, pid_t tid); /* called by threads_drop(); may be NULL */
	void *context;
};

/* Fills in *all. @init: the first process of the simulation; its descendants are found later.
 * Returns 0 or a negative errno. threads_close() is needed after an error, too. */
int threads_open(struct threads *all, pid_t init);
void threads_close(struct threads *all);

/* Adds the threads that were created since idle_check() has last proved that no thread can run.
 * Returns 0 or a negative errno. */
int threads_find(struct threads *all);
/* Returns the id of the machine's newest process or thread; 0 if it cannot be read. */
pid_t threads_newest(const struct threads *all);
/* Removes the thread with index `at`, which has ended. Calls `ended` if its id is not in use again;
 * otherwise makes the next threads_find() read everything again. */
void threads_drop(struct threads *all, size_t at);
/* Returns the entry of a process, or NULL if it does not belong to the simulation. */
struct host_process *threads_process(const struct threads *all, pid_t pid);

/* Returns the CPU-time clock of a process, as clock_getcpuclockid(3) does. */
clockid_t process_clock(pid_t pid);
/* Reads a /proc file of the thread as text and adds a NUL. Returns the number of bytes, 0, or a
 * negative errno. */
ssize_t thread_read(pid_t pid, pid_t tid, const char *name, char *text, size_t size);
/* Reads a /proc file as thread_read() does, from @fd if it is open already (-1: it is not). */
ssize_t thread_read_cached(const struct thread *thread, int fd, const char *name, char *text,
			   size_t size);

/* Returns true, and sets `full`, if @error means that the supervisor has too many open files or the
 * kernel has no memory. In that case nothing is known about the thread. */
bool threads_note_full(struct threads *all, ssize_t error);
/* threads_reserve_use() frees the reserved file descriptors, so that idle_check() can use them.
 * threads_reserve_restore() takes them again. */
void threads_reserve_use(struct threads *all);
void threads_reserve_restore(struct threads *all);

#endif

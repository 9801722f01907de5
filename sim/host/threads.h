/* SPDX-License-Identifier: MIT */
/*
 * The threads of a virtual world: which there are, and their files in /proc. For the proof that none of
 * them can run (idle.h), and for nothing else.
 *
 * All numbers are those of the caller's PID namespace. One thread. Errors: a negative errno.
 * Source: fs/proc/base.c, kernel/pid.c (Linux 6.12).
 */
#ifndef KFDSHIM_SIM_HOST_THREADS_H
#define KFDSHIM_SIM_HOST_THREADS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

#define THREADS_RESERVE 4u /* more than a check has open at once beside the files that stay open */

struct thread {
	pid_t pid, tid;
	int wchan, schedstat;	 /* its files in /proc, open; -1: there are too many open files */
	unsigned long long runs; /* the proof's: how often it was given a core */
};

struct process {
	pid_t pid;
	unsigned threads;
	clockid_t clock;
	uint64_t cpu_ns, proved_ns; /* the proof's: its CPU time, and that at the last proof */
	bool excused;		    /* the proof's */
};

/* All zero before threads_open(). */
struct threads {
	struct thread *threads;
	struct process *processes;
	size_t n_threads, cap_threads, n_processes, cap_processes;
	int loadavg;
	int reserve[THREADS_RESERVE]; /* descriptors for a check when there are no others */
	bool full;	/* a file of a thread could not be read, though it may be there */
	int kept_below; /* the files of threads are kept open with these numbers */
	pid_t last;   /* the newest process or thread of the machine when it was read; 0: unknown */
	pid_t proved; /* the same at the last proof; 0: everything is read anew */
	void (*ended)(void *context, pid_t tid); /* for threads_drop(); may be NULL */
	void *context;
};

/* @init: the world's first process; its descendants are found. 0 or an errno, also then to be closed. */
int threads_open(struct threads *all, pid_t init);
void threads_close(struct threads *all);

/* Adds what was created since the last proof. 0 or an errno. */
int threads_find(struct threads *all);
/* The number of the machine's newest process or thread now; 0: it cannot be read. */
pid_t threads_newest(const struct threads *all);
/* The thread at that place has ended: it is taken out, and reported if its number is free. */
void threads_drop(struct threads *all, size_t at);
/* NULL: it is not one of the world's. */
struct process *threads_process(const struct threads *all, pid_t pid);

/* The clock of a process's CPU time: clock_getcpuclockid(3). */
clockid_t process_clock(pid_t pid);
/* A file of the thread in /proc, as text with a NUL. Bytes, 0 or an errno. */
ssize_t thread_read(pid_t pid, pid_t tid, const char *name, char *text, size_t size);
/* The same of a file that may be open, as @fd. */
ssize_t thread_read_kept(const struct thread *thread, int fd, const char *name, char *text,
			 size_t size);

/* Has the supervisor as many files open as it may, or the kernel no memory? Then nothing is known of the
 * thread, which is noted in `full`. */
bool threads_note_full(struct threads *all, ssize_t error);
/* For a check with the descriptors in reserve; and after it. */
void threads_reserve_use(struct threads *all);
void threads_reserve_restore(struct threads *all);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * Proves that no thread of a virtual world can run.
 *
 * The kernel shows for each thread where it sleeps (/proc/PID/task/TID/wchan), and nothing for
 * one that runs, is queued or is being woken. The threads are read one after the other, so the
 * proof also needs that none has run meanwhile: how often each was given a core and the CPU time of
 * each process are the same before and after, and no process or thread was created.
 *
 * A thread in an uninterruptible sleep (a disk, the kernel's own grace periods) is busy. One
 * that is stopped, by a signal or a debugger, or has ended is idle.
 *
 * All numbers of processes and threads are those of the caller's PID namespace. One thread.
 * Source: fs/proc/base.c, kernel/sched/core.c get_wchan() and update_rq_clock_task()
 * (Linux 6.12).
 */
#ifndef KFDSHIM_SIM_HOST_IDLE_H
#define KFDSHIM_SIM_HOST_IDLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct idle;

/* @init: the world's first process; its descendants are watched. 0 or a negative errno. */
int idle_open(pid_t init, struct idle **out);
void idle_close(struct idle *idle);

/* Called for each thread that has ended and whose number is none of another thread yet; may be
 * NULL. */
void idle_on_end(struct idle *idle, void (*ended)(void *context, pid_t tid), void *context);

bool idle_check(struct idle *idle);
/* After idle_check() was false: the process of a thread that was not asleep, and the CPU time
 * that it has used; 0: it is not known. */
pid_t idle_busy(const struct idle *idle, uint64_t *cpu_ns);

/* The CPU time that all processes have used, and their children that have ended; @most: the process
 * that has used most of it. */
uint64_t idle_cpu(const struct idle *idle, pid_t *most);
/* Finds what is new in the world. Returns the newest process or thread of the machine. */
pid_t idle_newest(struct idle *idle);
/* After idle_check() was true: a process that is stopped, by a signal or a debugger; 0: none is. */
pid_t idle_stopped(const struct idle *idle);

/* Until idle_excuse_none(): the process may run, and the proof is about the others. */
void idle_excuse(struct idle *idle, pid_t pid);
unsigned idle_excused(const struct idle *idle);
void idle_excuse_none(struct idle *idle);

/* What the process or thread is called; empty: it is not known. */
void idle_name(pid_t tid, char *name, size_t size);
/* Its number as the world has it; 0: it has ended. */
pid_t idle_number(pid_t tid);
unsigned idle_threads(const struct idle *idle);
/* Calls @use for each thread. */
void idle_each(const struct idle *idle, void (*use)(void *context, pid_t pid, pid_t tid),
	       void *context);

#endif

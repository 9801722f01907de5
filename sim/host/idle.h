/* SPDX-License-Identifier: MIT */
/*
 * Proves that no thread of a simulation in virtual time can run.
 *
 * For each thread the kernel shows where it sleeps (/proc/PID/task/TID/wchan), and nothing for a
 * thread that runs, is queued or is being woken. The threads are read one after another, so the
 * proof also needs that no thread has run in the meantime: how often each thread was given a core
 * and the CPU time of each process must be the same before and after, and no process or thread may
 * have been created.
 *
 * A thread in uninterruptible sleep (for a disk, or for an RCU grace period) counts as busy. A
 * thread that is stopped by a signal or a debugger, or that has ended, counts as idle.
 *
 * All process and thread ids are those of the caller's PID namespace.
 * Threads: one at a time. Source: fs/proc/base.c, kernel/sched/core.c get_wchan() and
 * update_rq_clock_task() (Linux 6.12).
 */
#ifndef KFDSHIM_SIM_HOST_IDLE_H
#define KFDSHIM_SIM_HOST_IDLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct idle;

/* Creates the state for proving that no thread can run. @init: the first process of the simulation;
 * it and its descendants are checked. Returns 0 or a negative errno. Release with idle_close(). */
int idle_open(pid_t init, struct idle **out);
void idle_close(struct idle *idle);

/* Sets a function that is called for each thread that has ended, once its id is not in use by
 * another thread. May be NULL. */
void idle_on_end(struct idle *idle, void (*ended)(void *context, pid_t tid), void *context);

/* Tries to prove that all threads are asleep, except those of excluded processes (idle_excuse()).
 * Returns true if that is proved. */
bool idle_check(struct idle *idle);
/* After idle_check() has returned false: returns the process of a thread that was not asleep and
 * writes its CPU time in ns to *cpu_ns. Returns 0 if the process is unknown. */
pid_t idle_busy(const struct idle *idle, uint64_t *cpu_ns);

/* Returns the CPU time in ns of all processes, including that of their children that have ended.
 * *most is set to the process that has used the most of it. */
uint64_t idle_cpu(const struct idle *idle, pid_t *most);
/* Finds new threads of the simulation. Returns the machine's newest process or thread id. */
pid_t idle_newest(struct idle *idle);
/* After idle_check() has returned true: returns a process that is stopped by a signal or a
 * debugger, or 0. */
pid_t idle_stopped(const struct idle *idle);

/* Excludes a process from idle_check() until idle_excuse_none(): idle_check() then only proves that
 * the other processes are asleep, and this process may run. */
void idle_excuse(struct idle *idle, pid_t pid);
/* Returns the number of excused processes. */
unsigned idle_excused(const struct idle *idle);
void idle_excuse_none(struct idle *idle);

/* Writes the command name of the process or thread; an empty string if it is unknown. */
void idle_name(pid_t tid, char *name, size_t size);
/* Returns the id that the process or thread has inside the simulation, or 0 if it has ended. */
pid_t idle_number(pid_t tid);
/* Returns the number of threads that are known. */
unsigned idle_threads(const struct idle *idle);
/* Calls @use for each known thread. */
void idle_each(const struct idle *idle, void (*use)(void *context, pid_t pid, pid_t tid),
	       void *context);

#endif

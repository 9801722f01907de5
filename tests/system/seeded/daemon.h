/* SPDX-License-Identifier: MIT */
/*
 * The daemon's processes. Worker, executor processes and the watchdog's handling of these are the
 * real code, each in an image of its own. Stubs replace the rest of the watchdog, the process that
 * accepts connections, the one that reads in /proc, privileges and metrics.
 *
 * Threads: fibers of one real thread (fiber.h).
 */
#ifndef KFDSHIM_TESTS_SEEDED_DAEMON_H
#define KFDSHIM_TESTS_SEEDED_DAEMON_H

#include <stdbool.h>
#include <stdint.h>

#include "tests/system/seeded/process.h"

#define EXECUTOR_IMAGES 3

struct config;
struct executor_table;
struct worker;

/* The images; filled once by main(). */
extern struct image watchdog_image, worker_image, executor_images[EXECUTOR_IMAGES];

/* Starts the watchdog, which starts the other processes. */
void daemon_begin(const struct config *config);
/* Sets another configuration and sends the signal to reload it. */
void daemon_configure(const struct config *config);
/* Sends SIGTERM; no other worker is started. */
void daemon_leave(void);
/* Sends SIGKILL to the worker, if it runs. */
void daemon_kill_worker(void);
/* Sends SIGKILL, or SIGSTOP, to one executor process, if there is one. */
void daemon_kill_executor(void);
void daemon_stop_executor(void);
/* Returns the time, in ns, at which an executor was stopped; 0: none is. */
uint64_t daemon_stopped_ns(void);

/* Returns the configuration that is in force, or will soon be. */
const struct config *daemon_config(void);
/* Returns the worker's process, or NULL if it does not run. */
struct process *daemon_worker(void);
/* Returns the worker's state, or NULL before the first iteration of its loop and when it does not
 * run. */
const struct worker *daemon_state(void);
/* Returns the time of the worker's last heartbeat, in ns; 0: it does not serve yet. */
uint64_t daemon_heartbeat_ns(void);
/* Returns the executors' table, or NULL before the daemon has made it. daemon_executor_runs():
 * whether the executor process of this number runs, is not stopped, and is wanted. */
const struct executor_table *daemon_table(void);
bool daemon_executor_runs(uint32_t number);
/* Return the number of slots in use in the executors' table, and of executor processes. */
unsigned daemon_slots(void);
unsigned daemon_executors(void);

#endif

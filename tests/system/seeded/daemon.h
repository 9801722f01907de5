/* SPDX-License-Identifier: MIT */
/*
 * The daemon's processes: worker, executor processes and the watchdog's side of these are the real
 * code, each in its image; the rest of the watchdog, the process that accepts connections, the one
 * that reads in /proc, privileges and metrics are played here.
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

/* The images; filled in once. */
extern struct image watchdog_image, worker_image, executor_images[EXECUTOR_IMAGES];

/* Starts the watchdog, which starts the rest. */
void daemon_begin(const struct config *config);
/* Another configuration, and the signal that says so. */
void daemon_configure(const struct config *config);
/* SIGTERM, and no other worker is started. */
void daemon_leave(void);
void daemon_kill_worker(void);
/* One of them, if there is any: SIGKILL, SIGSTOP. */
void daemon_kill_executor(void);
void daemon_stop_executor(void);
/* Since when one has been stopped; 0: none is. */
uint64_t daemon_stopped_ns(void);

/* In force, or soon. */
const struct config *daemon_config(void);
/* NULL: it does not run. */
struct process *daemon_worker(void);
/* What the worker knows; NULL until its loop has turned once, and when it does not run. */
const struct worker *daemon_state(void);
/* When its heart beat last; 0: it does not serve yet. */
uint64_t daemon_beat_ns(void);
/* NULL: not yet. And: does the executor process of this number run (it is not stopped), and is it
 * to? */
const struct executor_table *daemon_table(void);
bool daemon_executor_runs(uint32_t number);
/* Slots of the executors' table that are in use, and executor processes. */
unsigned daemon_slots(void);
unsigned daemon_executors(void);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * Samples the machine for kfdsched top. The first source is the daemon. Values that it does not
 * report are read from the driver's files in /sys/class/kfd and from /proc, at most once a second,
 * however often the caller samples. No process is stopped or suspended.
 *
 * Threads: one for each gatherer. Errors: negative errno.
 */
#ifndef KFDSHIM_CLI_TOP_COLLECT_H
#define KFDSHIM_CLI_TOP_COLLECT_H

#include "cli/inspect/snapshot.h"
#include "cli/top/snapshot.h"

struct gatherer;

/* Creates a gatherer. socket: path of the daemon's socket, which is kept, not copied; NULL:
 * libkfdsched's default. */
struct gatherer *collect_open(const char *socket);
void collect_close(struct gatherer *gatherer);

/*
 * Takes one sample, which replaces the content of *out.
 * registers: also read debugfs for the hardware slots, at most every 5 s.
 *
 * If there is no daemon or it does not reply, out->why has the reason.
 */
void collect_sample(struct gatherer *gatherer, bool registers, struct top_state *out);

/*
 * ---- collect_queues.c ----
 *
 * Reads the hardware slots that the queues of each process occupy, and all queues of the process
 * whose details the user has opened. For the texts of debugfs the driver reads the registers of
 * every slot and dumps every MQD. So debugfs is read at most every 5 s, and for the slots of all
 * processes less often if a reading takes long. In between, the last values are used.
 */
struct registers;
struct registers *registers_open(void);
void registers_close(struct registers *registers);
/* Adds the numbers of MQDs and HQDs, and their ratio, to each process. If debugfs cannot be read,
 * nothing is added. */
void registers_add(struct registers *registers, struct top_state *state);

struct detail;

/* Creates a sampler of one process. socket: as in snapshot_open(). */
struct detail *detail_open(const char *socket);
void detail_close(struct detail *detail);
/* Samples the queues of process `pid`, which may differ from that of the last call. If the process
 * has ended, the sample of detail_seen() has `ended` set. */
void detail_read(struct detail *detail, pid_t pid);
/* Returns the last sample, or NULL if there is none. Valid until the next detail_read(). */
const struct snapshot_process *detail_seen(const struct detail *detail);
/* Drops all samples, so that the next detail_read() starts anew even for the same pid. */
void detail_forget(struct detail *detail);

#endif

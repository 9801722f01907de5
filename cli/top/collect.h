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

#include "cli/inspect/inspect.h"
#include "cli/top/snapshot.h"

struct gatherer;

/* socket: of the daemon; NULL: libkfdsched's default; kept, not copied. Returns NULL if there is no
 * memory. */
struct gatherer *collect_open(const char *socket);
void collect_close(struct gatherer *gatherer); /* NULL is allowed */

/*
 * Takes one sample, which replaces the content of *out.
 * registers: also read debugfs for the hardware slots, at most every 5 s.
 *
 * Returns 0 or -ENOMEM. A daemon that does not exist or does not reply is no error; out->why has
 * the reason then.
 */
int collect_sample(struct gatherer *gatherer, bool registers, struct top_state *out);

/*
 * ---- collect_queues.c ----
 *
 * The hardware slots that the queues of each process occupy, and all queues of the process that the
 * user has opened. For the texts of debugfs the driver reads the registers of every slot and dumps
 * every MQD. So they are read at most every 5 s, and the slots of all processes less often if that
 * takes long. In between, the last values are used.
 */
struct registers;
struct registers *registers_open(void);		   /* returns NULL if there is no memory */
void registers_close(struct registers *registers); /* NULL is allowed */

/* Adds MQDs, HQDs and their ratio to each process. Returns 0 or -ENOMEM. If debugfs cannot be read,
 * nothing is added, without an error. */
int registers_add(struct registers *registers, struct top_state *state);

struct detail;

/* socket: as in struct observe_options; kept, not copied. Returns NULL if there is no memory. */
struct detail *detail_open(const char *socket);
void detail_close(struct detail *detail); /* NULL is allowed */

/* Samples the process, which may be another one than in the last call. Returns 0 or -ENOMEM. The
 * end of the process is no error; detail_seen() shows it. */
int detail_read(struct detail *detail, pid_t pid);
/* Returns the last sample, or NULL if there is none. Valid until the next detail_read(). */
const struct observation *detail_seen(const struct detail *detail);
/* Drops all samples, so that the next detail_read() starts anew even for the same pid. */
void detail_forget(struct detail *detail);

#endif

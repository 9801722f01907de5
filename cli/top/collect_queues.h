/* SPDX-License-Identifier: MIT */
/*
 * Values of queues for kfdsched top: the hardware slots that the queues of each process occupy, and
 * all queues of the process that the user has opened. No source stops a process or attaches to it.
 *
 * For the texts of debugfs the driver reads the registers of every slot and dumps every MQD. So
 * they are read at most every 5 s, and the slots of all processes less often if that takes long. In
 * between, the last values are used.
 *
 * Threads: one. Errors: negative errno.
 */
#ifndef KFDSHIM_CLI_TOP_COLLECT_QUEUES_H
#define KFDSHIM_CLI_TOP_COLLECT_QUEUES_H

#include "cli/inspect/inspect.h"
#include "cli/top/snapshot.h"

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

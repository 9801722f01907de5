/* SPDX-License-Identifier: MIT */
/*
 * Number of hardware slots that the queues of each process occupy, from debugfs. Used by collect.c
 * only; contracts as in collect.h.
 *
 * To write these texts the driver reads the registers of every slot and dumps every MQD. So they
 * are read at most every 5 s, and less often if that takes long. In between, the last values are
 * used.
 */
#ifndef KFDSHIM_CLI_TOP_COLLECT_DEBUGFS_H
#define KFDSHIM_CLI_TOP_COLLECT_DEBUGFS_H

#include "cli/top/snapshot.h"

struct registers;
struct registers *registers_open(void);		   /* returns NULL if there is no memory */
void registers_close(struct registers *registers); /* NULL is allowed */

/* Adds MQDs, HQDs and their ratio to each process. Returns 0 or -ENOMEM. If debugfs cannot be read,
 * nothing is added, without an error. */
int registers_add(struct registers *registers, struct top_state *state);

#endif

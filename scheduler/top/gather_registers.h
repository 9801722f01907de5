/* SPDX-License-Identifier: MIT */
/*
 * In how many hardware slots the queues of each process are, from debugfs; for gather.c
 * alone. Contracts as there. To write its texts the driver reads the registers of every
 * slot, and dumps every descriptor, so this is done once in five seconds at most, and less
 * often where it takes long; between those a process has what it had.
 */
#ifndef KFDSHIM_TOP_GATHER_REGISTERS_H
#define KFDSHIM_TOP_GATHER_REGISTERS_H

#include "scheduler/top/state.h"

struct registers;
struct registers *registers_open(void);
void registers_close(struct registers *registers); /* NULL is allowed */

/* 0 or -ENOMEM; that debugfs may not be read is no error. */
int registers_add(struct registers *registers, struct top_state *state);

#endif

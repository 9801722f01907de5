/* SPDX-License-Identifier: MIT */
/* Who the processes are, for gather.c alone. Contracts as there. */
#ifndef KFDSHIM_TOP_GATHER_NAMES_H
#define KFDSHIM_TOP_GATHER_NAMES_H

#include "scheduler/top/state.h"

struct names;
struct names *names_open(void);
void names_close(struct names *names); /* NULL is allowed */

/* Adds commands and the pids within containers. 0 or -ENOMEM. */
int names_add(struct names *names, struct top_state *state);

#endif

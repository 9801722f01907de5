/* SPDX-License-Identifier: MIT */
/* Names of the processes, from /proc. Used by collect.c only; contracts as in collect.h. */
#ifndef KFDSHIM_CLI_TOP_COLLECT_NAMES_H
#define KFDSHIM_CLI_TOP_COLLECT_NAMES_H

#include "cli/top/snapshot.h"

struct command_names;
struct command_names *names_open(void);	       /* returns NULL if there is no memory */
void names_close(struct command_names *names); /* NULL is allowed */

/* Adds the command and the pid within the container to each process. Of the processes that only
 * sysfs lists, those that have ended or belong to kfdsched or kfdschedd are removed. Returns 0 or
 * -ENOMEM. */
int names_add(struct command_names *names, struct top_state *state);

#endif

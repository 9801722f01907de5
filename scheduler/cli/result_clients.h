/* SPDX-License-Identifier: MIT */
/*
 * Several clients of a kind in a colocate run: the figures of all of them together. Of one client
 * they are its own, to the bit.
 *
 * Threads: none.
 */
#ifndef KFDSHIM_CLI_RESULT_CLIENTS_H
#define KFDSHIM_CLI_RESULT_CLIENTS_H

#include "scheduler/cli/result.h"

/* Of client `i`, in an arm or in all seeds of it. */
const struct online_figures *client_online(const struct colocation *run,
					   const struct arm_figures *arm, unsigned i);
const struct offline_figures *client_offline(const struct colocation *run,
					     const struct arm_figures *arm, unsigned i);

/* The share of its steps alone that offline client `i` keeps in an arm. NAN: it is not known. */
double client_of_alone(const struct colocation *run, enum arm arm, unsigned i);

/* Fills arm->online from arm->online_of. `requests`: the times of each client, needed if there
 * are several; the percentiles are of all their requests in one list, by nearest rank. -ENOMEM. */
int result_all_online(const struct colocation *run, const struct request_list *requests,
		      struct arm_figures *arm);
/* Fills arm->offline from arm->offline_of. A step counts by its GPU time, 1 for the mean of the
 * clients' steps. So the share of alone of all together is the sum of the clients' shares of
 * alone, each weighted by the part of the GPU time of all that the client had alone. */
void result_all_offline(const struct colocation *run, struct arm_figures *arm);

/* The fewest clients that are suspended and resumed as one: of a group, or one that is in none. */
unsigned client_smallest_unit(const struct client_set *clients);

/* "serve + 2 x train (a)": the names, and how many clients have both name and group. Cut off
 * where it is too long. Returns `text`. */
const char *result_title(const struct client_set *clients, char *text, size_t size);

#endif

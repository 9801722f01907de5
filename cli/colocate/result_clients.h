/* SPDX-License-Identifier: MIT */
/*
 * Combines the values of several clients of one kind in a colocate run. The combined values of a
 * single client equal its own values exactly.
 *
 * Threads: none.
 */
#ifndef KFDSHIM_CLI_COLOCATE_RESULT_CLIENTS_H
#define KFDSHIM_CLI_COLOCATE_RESULT_CLIENTS_H

#include "cli/colocate/result.h"

/* Both return the values of client `i` in `arm`, which is an arm of one seed or the
 * combination of all seeds. */
const struct online_stats *client_online(const struct colocation *run, const struct arm_stats *arm,
					 unsigned i);
const struct offline_stats *client_offline(const struct colocation *run,
					   const struct arm_stats *arm, unsigned i);

/* Returns the share of its steps alone that offline client `i` keeps in an arm; NAN if
 * it is not known. */
double client_of_alone(const struct colocation *run, enum arm arm, unsigned i);

/* Computes arm->online from arm->online_of. `requests`: the request times of each client, read only
 * if there are several clients; the percentiles are those of all requests in one list, by nearest
 * rank. Returns 0 or -ENOMEM. */
int result_all_online(const struct colocation *run, const struct request_list *requests,
		      struct arm_stats *arm);
/* Computes arm->offline from arm->offline_of. A step is weighted by its GPU time, relative to the
 * mean of the clients' steps. The throughput of all clients together relative to arm alone is
 * therefore the sum of the clients' relative throughputs, each weighted by the client's share of
 * the GPU time in arm alone. */
void result_all_offline(const struct colocation *run, struct arm_stats *arm);

/* Returns the number of clients in the smallest gang, that is, of clients that are suspended and
 * resumed together: the members of a group, or one client without a group. */
unsigned client_smallest_hold(const struct client_set *clients);

/* Writes the names of the clients, and how many have the same name and group, "serve + 2 x train
 * (a)"; cut if `text` is too short. Returns `text`. */
const char *result_title(const struct client_set *clients, char *text, size_t size);

#endif

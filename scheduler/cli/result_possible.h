/* SPDX-License-Identifier: MIT */
/*
 * Beside the figures of a colocate run what was possible (possible.h): with the requests of
 * arm alone and the costs that the run found, for a scheduler that knows them in advance.
 *
 * Unknown (NAN, null in JSON) if arm alone did not run or did not keep up, or a cost is not
 * known. On a simulated GPU the costs are its bounce and the median save and restore of arm trap
 * (none where nothing was saved), on hardware the medians of the daemon's calls. The driver
 * suspends and resumes one process a call; what is possible takes as many calls as the smallest
 * unit of offline clients has members, for one of them at a time is enough to use the GPU.
 */
#ifndef KFDSHIM_CLI_RESULT_POSSIBLE_H
#define KFDSHIM_CLI_RESULT_POSSIBLE_H

#include "scheduler/cli/result.h"

/* Fills the part of *out that is its own; the rest is read. Of seeds: the mean share, the median
 * of each percentile, the sum of the suspends. */
void result_find_possible(const struct colocation *run, struct verdict *out);
/* null, or an object. */
json_t *result_possible_json(const struct verdict *verdict);
/* A line, or nothing if it is unknown. */
void result_print_possible(const struct colocation *run, const struct verdict *verdict, FILE *out);

#endif

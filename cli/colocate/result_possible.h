/* SPDX-License-Identifier: MIT */
/*
 * Compares a colocate run with the clairvoyant scheduler (possible.h), which runs on the requests
 * of arm alone and with the costs that the run has measured.
 *
 * The result is unknown (NAN, null in JSON) if arm alone did not run or did not keep up, or if a
 * cost is not known. On a simulated GPU the costs are its runlist update (bounce) and the median
 * save and restore of the arms that preempt (0 if nothing was saved); on hardware they are the
 * medians of the daemon's calls. The driver suspends and resumes one process per call. The
 * clairvoyant scheduler makes as many calls as the smallest gang of offline clients has members,
 * because one gang at a time is enough to use the GPU.
 */
#ifndef KFDSHIM_CLI_COLOCATE_RESULT_POSSIBLE_H
#define KFDSHIM_CLI_COLOCATE_RESULT_POSSIBLE_H

#include "cli/colocate/result.h"

/* Fills possible, possible_costs, of_possible and of_possible_p99 of *out; reads the other members.
 * Of several seeds: the mean share, the median of each percentile, the sum of the suspends. */
void result_find_possible(const struct colocation *run, struct result_verdict *out);
/* Returns the result as a JSON object; null if it is unknown. */
json_t *result_possible_json(const struct result_verdict *verdict);
/* Prints the result in one line; prints nothing if it is unknown. */
void result_print_possible(const struct colocation *run, const struct result_verdict *verdict,
			   FILE *out);

#endif

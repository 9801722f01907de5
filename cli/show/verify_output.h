/* SPDX-License-Identifier: MIT */
/*
 * Output of "kfdsched verify": tables with a verdict, or JSON.
 *
 * Threads: none.
 */
#ifndef KFDSHIM_CLI_SHOW_VERIFY_OUTPUT_H
#define KFDSHIM_CLI_SHOW_VERIFY_OUTPUT_H

#include "cli/inspect/hqd_ratio.h"
#include "cli/inspect/process.h"
#include "cli/inspect/verify.h"

/* What was found about one process. */
struct verified {
	struct process_identity identity;
	struct observation seen; /* last sample of all sources */
	struct verify verify;	 /* differences that were present in every sample */
	/* Number of samples. */
	unsigned samples;
	struct topology_gpu gpus[TOPOLOGY_GPUS];
	size_t n_gpus;
	/* Active hardware slots per queue, for each of `ratios` GPUs that have a queue, and
	 * for all together. */
	struct ratio ratio[TOPOLOGY_GPUS], all;
	size_t ratios;
};

/* Both print on stdout and return 0 or -ENOMEM. */
int verify_print(const struct verified *verified);
int verify_print_json(const struct verified *verified);

#endif

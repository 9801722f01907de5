/* SPDX-License-Identifier: MIT */
/* What kfdsched verify found, as tables with a verdict, and as JSON. Threads: none. */
#ifndef KFDSHIM_CLI_VERIFY_SHOW_H
#define KFDSHIM_CLI_VERIFY_SHOW_H

#include "scheduler/observe/process.h"
#include "scheduler/observe/ratio.h"
#include "scheduler/observe/verify.h"

struct verified {
	struct process_identity identity;
	struct observation seen; /* the last look */
	struct verify verify;	 /* what differed at every look */
	unsigned looks;
	struct topology_gpu gpus[TOPOLOGY_GPUS];
	size_t n_gpus;
	struct ratio ratio[TOPOLOGY_GPUS], all;
	size_t ratios;
};

/* Both: 0 or -ENOMEM. */
int verify_print(const struct verified *verified);
int verify_print_json(const struct verified *verified);

#endif

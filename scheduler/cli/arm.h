/* SPDX-License-Identifier: MIT */
/*
 * One arm of colocate: starts its processes, measures its window or windows,
 * reads what they and the instruments say, and ends them.
 *
 * alone   each online client by itself, then all offline ones together; nothing preloaded
 * shared  all of them, nothing preloaded
 * trap    all of them with the shim, and a kfdschedd of their own; offline clients of a group
 *         are one unit
 *
 * Offline alone has no arrivals, so that it is the same with every seed: it runs with the first.
 *
 * The measured window begins when every client stands ready (kfdreplay
 * --sync-fd), so that neither start-up nor registration is measured.
 * Threads: none. Errors: the sentence has been printed; -EINTR asked to stop,
 * -EOPNOTSUPP a child says that it is not possible here (77), others failed.
 */
#ifndef KFDSHIM_CLI_ARM_H
#define KFDSHIM_CLI_ARM_H

#include "scheduler/cli/child.h"
#include "scheduler/cli/cli.h"
#include "scheduler/cli/result.h"

struct arm_setup {
	struct nursery *nursery;
	const struct client_set *online, *offline; /* with the paths of the traces */
	const char *arrivals;			   /* for kfdreplay's --arrivals */
	const char *pace[2]; /* "--load" or "--rate", and its value for each */
	const char *seconds; /* wall, for kfdreplay's --seconds */
	const char *config;  /* of the daemon; NULL: made for the world's time scale */
	unsigned seed;	     /* of the arrivals, 1 to RESULT_SEEDS_MAX */
	char replay[PATH_MAX];
	char daemon[PATH_MAX];
	char shim[PATH_MAX];
	char folder[PATH_MAX / 2]; /* ours alone, removed by the caller */
};

/* Fills out->arms[arm], arm alone out->requests[seed - 1], too, and adds to out->doorbell,
 * suspend and resume. */
int arm_run(const struct arm_setup *setup, enum arm arm, struct colocation *out);

#endif

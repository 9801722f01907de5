/* SPDX-License-Identifier: MIT */
/*
 * Runs one arm of a colocate experiment with one seed: starts its processes, measures its window
 * or windows, reads the results of the processes, the simulation and the daemon, and ends the
 * processes.
 *
 * alone   each online client by itself, one window each; then all offline clients together in
 *         one window; nothing is preloaded
 * shared  all clients in one window; nothing is preloaded
 * trap    all clients in one window, with libkfdshim.so and a private kfdschedd; offline clients
 *         with the same group form one gang; self, gate: the same by these levels
 * peers   all clients in one window, with libkfdshim.so in a directory of their own, and no daemon
 *
 * The offline clients alone have no arrivals, so that their result is the same with every seed:
 * they run with the first seed only.
 *
 * A measured window begins when every client has reported that it is ready (kfdreplay
 * --sync-fd), so that neither start-up nor registration is measured.
 *
 * Threads: none. Errors: a negative errno, after a message was printed. -EINTR: a signal
 * stopped the run. -EOPNOTSUPP: a child exited with 77, not possible here. Others: it failed.
 */
#ifndef KFDSHIM_CLI_COLOCATE_ARM_H
#define KFDSHIM_CLI_COLOCATE_ARM_H

#include "cli/colocate/result.h"
#include "cli/util/command.h"
#include "cli/util/subprocess.h"

/* The directory that the shims of arm peers make in arm_setup.folder, their XDG_RUNTIME_DIR. */
#define ARM_PEERS_DIR "kfdshim"

/* Everything is borrowed from the caller for the time of arm_run(). */
struct arm_setup {
	struct process_group *children;
	const struct client_set *online, *offline; /* with the paths of the traces */
	const char *arrivals;			   /* for kfdreplay --arrivals */
	const char *pace[2]; /* "--load" or "--rate", and the value for each online client */
	const char *seconds; /* wall time of a window, for kfdreplay --seconds */
	const char *config;  /* daemon's configuration file; NULL: made for the run's time scale */
	unsigned seed;	     /* of the arrivals, 1 to RESULT_SEEDS_MAX */
	char replay[PATH_MAX];
	char daemon[PATH_MAX];
	char shim[PATH_MAX];
	char directory[PATH_MAX /
		       2]; /* private directory; the caller removes it and ARM_PEERS_DIR */
};

/*
 * Runs the arm and ends all of its processes, also after an error. Fills out->arms[arm]; arm
 * alone also fills out->requests[seed - 1], which the caller frees. Adds the window's delays and
 * the durations of the daemon's calls to out->doorbell, suspend and resume.
 * Returns 0 or an error as in the header of this file.
 */
int arm_run(const struct arm_setup *setup, enum arm arm, struct colocation *out);

#endif

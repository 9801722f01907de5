/* SPDX-License-Identifier: MIT */
/*
 * Runs one arm (a configuration that is measured, enum arm) of a colocate experiment with one seed:
 * starts its processes, measures its window or windows, reads the results of the processes, the
 * simulation and the daemon, and ends the processes.
 *
 * alone   each online client by itself, one window each; then all offline clients together in
 *         one window; nothing is preloaded
 * shared  all clients in one window; nothing is preloaded
 * trap    all clients in one window, with libkfdshim.so and a private kfdschedd; offline clients
 *         with the same group form one gang (they are suspended and resumed together)
 * self, gate  as trap, but the offline clients have level "self" or "gate" (how they are held back)
 * peers   all clients in one window, with libkfdshim.so in a directory of their own, and no daemon
 *
 * A seed only changes the arrivals. In ARM_ALONE the window of the offline clients has none, so
 * it is measured with the first seed only.
 *
 * A measured window begins when every client has reported that it is ready (kfdreplay --sync-fd),
 * so that neither start-up nor registration is measured.
 *
 * Threads: none. Errors: a negative errno, after a message was printed. -EINTR: a signal stopped
 * the run. -EOPNOTSUPP: a child exited with 77: its work is not possible on this machine. Any
 * other errno: the run failed.
 */
#ifndef KFDSHIM_CLI_COLOCATE_ARM_H
#define KFDSHIM_CLI_COLOCATE_ARM_H

#include "cli/colocate/result.h"
#include "cli/util/command.h"
#include "cli/util/subprocess.h"

/* Directory in which the shims of ARM_PEERS, which has no daemon, find each other. They create it
 * in $XDG_RUNTIME_DIR, which the arm sets to arm_setup.directory. */
#define ARM_PEERS_DIR "kfdshim"

/* Arguments of arm_run(), all borrowed from the caller until it returns. */
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
 * Runs the arm and ends all of its processes, also after an error. Fills out->arms[arm], and for
 * ARM_ALONE out->requests[seed - 1], which the caller frees. Adds the window's delays and
 * the durations of the daemon's calls to out->doorbell, suspend and resume.
 * Returns 0 or an error as in the header of this file.
 */
int arm_run(const struct arm_setup *setup, enum arm arm, struct colocation *out);

/* ---- the parts of arm.c: the clients of a measured window, and the private daemon ---- */

#define MS UINT64_C(1000000) /* ns */

/* Variables that a child does not inherit, so that only the arm decides how the child is
 * scheduled. KFDSHIM_DISABLE and KFDSHIM_LOG are inherited from the user. */
#define FORGET                                                                                     \
	"KFDSHIM_PRIORITY", "KFDSHIM_GROUP", "KFDSHIM_SLO", "KFDSHIM_LEVEL", "KFDSHIM_VRAM_LIMIT", \
		"KFDSHIM_SOCKET", "KFDSHIM_GATE", "KFDSHIM_UPDATE_QUEUE"

/* What the daemon has counted since it started. */
struct arm_totals {
	json_int_t suspends, resumes;
	struct hist detection, holdover; /* delays; ns, wall time */
	struct hist suspend, resume;	 /* durations of the driver calls; ns, wall time */
};

/* One client of a window: a kfdreplay process. */
struct arm_client {
	char name[24]; /* "online"; with several of a kind "online1", "online2" */
	bool open; /* true: online, with arrivals (open loop); false: offline, as fast as it can */
	unsigned index; /* index among the online or the offline clients, from 0 */
	const char *trace, *group;
	struct subprocess *child; /* owned by the process group; NULL until it is started */
};

struct window {
	const struct arm_setup *setup;
	enum arm arm;
	const char *name;   /* for messages: "alone (online)" */
	const char *socket; /* of the arm's daemon; NULL: no daemon */
	struct arm_client clients[2 * RESULT_CLIENTS_MAX];
	unsigned count;
	struct time_reading time[2]; /* at the window's beginning and end */
	/* Request times of the online clients that record them, by client index; owned. */
	struct request_list requests[RESULT_CLIENTS_MAX];
};

/* ---- arm.c ---- */

/* Prints how the child ended. Returns -EOPNOTSUPP if it exited with 77, otherwise -ECHILD. */
int arm_child_failed(const struct subprocess *child);
/* Handles events of the children for up to timeout_ms. A child that has ended is an error. */
int arm_pump(const struct arm_setup *setup, int timeout_ms);
/* Handles events of the children, as arm_pump() does, until `ms` of wall time have passed. */
int arm_pause_ms(const struct arm_setup *setup, unsigned ms);

/* ---- arm_clients.c ---- */

/* Adds `count` online clients (open true) or offline clients to the window, beginning with the
 * one at index `from` of the setup. Starts nothing. */
void arm_add_clients(struct window *window, bool open, unsigned from, unsigned count);
/* Returns the number of offline clients, and writes their pids to `pids` unless it is NULL. */
unsigned arm_offline_pids(const struct window *window, pid_t pids[RESULT_CLIENTS_MAX]);
/* Starts all clients, one after the other, each when the one before it is ready; up to 60 s
 * each. */
int arm_start_clients(struct window *window);
/* Makes all clients begin their work. All must be ready. */
int arm_go(const struct window *window);
/* Waits until the clients have ended, up to 60 s each, and stores their results per client in
 * run->arms and window->requests. */
int arm_set_stats(struct window *window, struct colocation *run);
/* Returns true if the shims of all clients use the directory of ARM_PEERS. Otherwise writes into
 * `reason` which client's shim does not. */
bool arm_peers_met(const struct window *window, char *reason, size_t size);

/* ---- arm_daemon.c ---- */

/* Starts kfdschedd on window->socket and waits up to 10 s until it replies. */
int arm_start_daemon(const struct window *window, double time_scale);
/* Waits up to 5 s until the daemon knows all clients and reports the arm's level for each offline
 * client; in ARM_PEERS, which has no daemon, until the clients can find each other. If that does
 * not happen, prints a message and returns 0 all the same, because that is a result of the
 * experiment and not an error. Sets *level to the arm's level if the daemon reports it. */
int arm_wait_registered(const struct window *window, const char **level);
/* Queries the daemon's totals. */
int arm_query_totals(const struct window *window, struct arm_totals *out);
/* Returns how long the daemon kept the offline clients suspended after the online work had ended
 * (hold-over), as the mean of the clients; us, wall time. 0 without a daemon; NAN: not known. */
double arm_held_over_us(const struct window *window);

#endif

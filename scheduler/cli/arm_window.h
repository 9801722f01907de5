/* SPDX-License-Identifier: MIT */
/*
 * The parts of arm.c: the clients of a measured window (arm_clients.c), and the daemon beside
 * them (arm_daemon.c). Threads: none. Errors: as in arm.h.
 */
#ifndef KFDSHIM_CLI_ARM_WINDOW_H
#define KFDSHIM_CLI_ARM_WINDOW_H

#include "scheduler/cli/arm.h"

#define MS UINT64_C(1000000)

/* Everything a child does not inherit: only what this arm means decides how it
 * is scheduled. KFDSHIM_DISABLE and KFDSHIM_LOG stay the user's. */
#define FORGET                                                                                     \
	"KFDSHIM_PRIORITY", "KFDSHIM_GROUP", "KFDSHIM_SLO", "KFDSHIM_LEVEL", "KFDSHIM_VRAM_LIMIT", \
		"KFDSHIM_SOCKET", "KFDSHIM_GATE", "KFDSHIM_UPDATE_QUEUE"

/* What the daemon has done since it started. */
struct totals {
	json_int_t suspends, resumes;
	struct hist detection, holdover; /* ns, wall */
	struct hist suspend, resume;	 /* ns, wall: calls */
};

struct client {
	const char *role; /* "online", "offline" */
	struct child *child;
	char json[PATH_MAX], times[PATH_MAX];
};

struct window {
	const struct arm_setup *setup;
	enum arm arm;
	const char *name;   /* for talk: "alone (online)" */
	const char *socket; /* of the arm's daemon; NULL: none, and no shim */
	struct client online, offline;
	struct time_reading time[2];
};

/* ---- arm.c ---- */

/* Says how the child ended. */
int arm_child_failed(const struct child *child);
/* One round of waiting, in which no child may end. */
int arm_pump(const struct arm_setup *setup, int timeout_ms);
int arm_pause_ms(const struct arm_setup *setup, unsigned ms);

/* ---- arm_clients.c ---- */

/* @open: with arrivals; otherwise it runs as fast as it can. */
int arm_start_client(struct window *window, struct client *client, const char *trace, bool open);
int arm_wait_ready(const struct window *window, const struct child *child);
int arm_go(struct client *client);
/* Waits until the clients have ended, and reads what they say. */
int arm_take_figures(const struct window *window, struct colocation *run);

/* ---- arm_daemon.c ---- */

int arm_start_daemon(const struct arm_setup *setup, const char *socket, double time_scale);
/* Until the daemon can suspend the offline client for the online one. That it
 * cannot is a finding, not an error: the arm then shows no suspends. */
int arm_wait_registered(const struct window *window);
int arm_ask_totals(const struct window *window, struct totals *out);
/* For how long the daemon has held the offline client over; NAN: that is not known. */
double arm_held_over_us(const struct window *window);

#endif

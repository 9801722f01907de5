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
	char name[24];	/* "online", or of several the second "online2" */
	bool open;	/* online: with arrivals; otherwise it runs as fast as it can */
	unsigned index; /* among those of its kind */
	const char *trace, *group;
	struct child *child;
};

struct window {
	const struct arm_setup *setup;
	enum arm arm;
	const char *name;   /* for talk: "alone (online)" */
	const char *socket; /* of the arm's daemon; NULL: none, and no shim */
	struct client clients[2 * RESULT_CLIENTS_MAX];
	unsigned count;
	struct time_reading time[2];
	struct request_list requests[RESULT_CLIENTS_MAX]; /* of the online clients that keep them */
};

/* ---- arm.c ---- */

/* Says how the child ended. */
int arm_child_failed(const struct child *child);
/* One round of waiting, in which no child may end. */
int arm_pump(const struct arm_setup *setup, int timeout_ms);
int arm_pause_ms(const struct arm_setup *setup, unsigned ms);

/* ---- arm_clients.c ---- */

/* Adds the online or the offline clients from `from` on, `count` of them. */
void arm_add_clients(struct window *window, bool open, unsigned from, unsigned count);
/* The first offline client; NULL: there is none. */
const struct client *arm_first_offline(const struct window *window);
/* Starts all, one after the other, and waits until each is ready. */
int arm_start_clients(struct window *window);
/* Lets all begin. */
int arm_go(const struct window *window);
/* Waits until the clients have ended, and reads what they say: into the arm's figures of each
 * client, and window->requests. */
int arm_take_figures(struct window *window, struct colocation *run);

/* ---- arm_daemon.c ---- */

int arm_start_daemon(const struct arm_setup *setup, const char *socket, double time_scale);
/* Until the daemon can suspend the offline clients for the online ones. That it
 * cannot is a finding, not an error: the arm then shows no suspends. */
int arm_wait_registered(const struct window *window);
int arm_ask_totals(const struct window *window, struct totals *out);
/* For how long the daemon has held the offline clients over, the mean; NAN: that is not known. */
double arm_held_over_us(const struct window *window);

#endif

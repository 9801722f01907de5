/* SPDX-License-Identifier: MIT */
/*
 * The thread that runs beside the simulated driver. It forwards signals to the command and detects
 * the end of the simulation.
 */
#ifndef KFDSHIM_SIM_SANDBOX_WATCH_H
#define KFDSHIM_SIM_SANDBOX_WATCH_H

#include <pthread.h>
#include <signal.h>

#include "sim/sandbox/spawn.h"

struct watch {
	pthread_t thread;
	const struct sim_init *init;
	int signals; /* signalfd */
	int stop;    /* eventfd; readable when the simulation has ended */
	/* Valid after watch_join(). */
	int status;  /* exit status of the simulation */
	bool killed; /* the init process did not end by itself */
};

/* Returns the set of forwarded signals. The caller blocks them in every thread before it starts
 * the init process. */
void watch_signals(sigset_t *out);
/* Starts the thread. `init` must outlive the watch. */
void watch_start(struct watch *watch, const struct sim_init *init);
/* Waits for the end of the simulation and returns the exit status of the command. */
int watch_join(struct watch *watch);

#endif

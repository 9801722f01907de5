/* SPDX-License-Identifier: MIT */
/*
 * The thread beside the simulated driver: hands signals on to the command and
 * notices the end of the world.
 */
#ifndef KFDSHIM_SIM_RUN_WATCH_H
#define KFDSHIM_SIM_RUN_WATCH_H

#include <pthread.h>
#include <signal.h>

#include "sim/run/spawn.h"

struct watch {
	pthread_t thread;
	const struct world_init *init;
	int signals; /* signalfd */
	int stop;    /* eventfd: readable once the world has ended */
	/* Valid after watch_join(). */
	int status;  /* the world's exit status */
	bool killed; /* its init did not end by itself */
};

/* The signals that are handed on; the caller blocks them in every thread
 * before the init is started. */
void watch_signals(sigset_t *out);
/* Both return an exit status, said why. `init` must outlive the watch. */
int watch_start(struct watch *watch, const struct world_init *init);
/* Waits for the end of the world; the command's exit status. */
int watch_join(struct watch *watch);

#endif

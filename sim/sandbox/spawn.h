/* SPDX-License-Identifier: MIT */
/*
 * The processes of a simulation. Its init process (pid 1 of a new PID namespace, a child of the
 * supervisor) mounts the file systems, installs the seccomp filter, starts the command as pid 2 and
 * reaps orphans. It ends with the exit status of the command (128 + n for signal n) when the
 * command has ended; with wait_all, when all other processes have ended as well. Everything that
 * still runs in the namespace ends with it. The init process dies with the supervisor, however the
 * supervisor ends.
 */
#ifndef KFDSHIM_SIM_SANDBOX_SPAWN_H
#define KFDSHIM_SIM_SANDBOX_SPAWN_H

#include <pthread.h>
#include <signal.h>
#include <sys/types.h>

#include "sim/sandbox/mounts.h"

struct spawn {
	char *const *command; /* as for execvp() */
	const struct root *root;
	sigset_t mask; /* signal mask of the command */
	mode_t umask;  /* umask of the command */
	bool virtual_time;
	/* Wait for the last process of the simulation, not only for the command. */
	bool wait_all;
	bool turns;	       /* all threads share one core (sim/host/virtual.c) */
	bool ignore_child;     /* start the command with SIGCHLD ignored */
	bool ignore_file_size; /* start the command with SIGXFSZ ignored */
	bool trap_open;	       /* the supervisor serves openat("/proc/modules") */
};

struct sim_init {
	pid_t pid;
	int pidfd;
	int control;  /* socket pair: sends "go ahead" to the init, receives the command's pidfd */
	int listener; /* listener of the seccomp user notification */
};

/* Starts the init process and waits until its file systems and its filter are in place. The calling
 * thread must live as long as the simulation, because the init process dies with it
 * (PR_SET_PDEATHSIG). */
void spawn_init(const struct spawn *spawn, struct sim_init *out);
/* Lets the init process start the command. From here on the listener must be served. */
void spawn_go(const struct sim_init *init);

/* ---- the thread that runs beside the simulated driver: it forwards signals to the command and
 * detects the end of the simulation ---- */
struct watch {
	pthread_t thread;
	const struct sim_init *init;
	int signals; /* signalfd */
	int stop;    /* eventfd; readable when the simulation has ended */
	/* Valid after watch_join(). */
	int status;  /* exit status of the simulation */
	bool killed; /* a signal has ended the init process */
};

/* Returns the set of forwarded signals. The caller blocks them in every thread before it starts
 * the init process. */
void watch_signals(sigset_t *out);
/* Starts the thread. `init` must outlive the watch. */
void watch_start(struct watch *watch, const struct sim_init *init);
/* Waits for the end of the simulation and returns the exit status of the command. */
int watch_join(struct watch *watch);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * The processes of a world. Its init (pid 1 of a new pid namespace, a child of
 * the supervisor) puts the file systems in place, installs the filter, starts
 * the command as pid 2, reaps orphans and ends with the command's exit status
 * (128 + n for signal n) when the command has ended, or with wait_all everything
 * else, too; with it ends everything that still runs inside. It dies with the
 * supervisor, however that ends.
 */
#ifndef KFDSHIM_SIM_RUN_SPAWN_H
#define KFDSHIM_SIM_RUN_SPAWN_H

#include <signal.h>
#include <stdbool.h>
#include <sys/types.h>

#include "sim/run/root.h"

struct spawn {
	char *const *command; /* as for execvp() */
	const struct root *root;
	sigset_t mask; /* the command's signal mask */
	mode_t umask;  /* and its umask */
	bool virtual_time;
	bool wait_all;	       /* the world lasts until its last process has ended */
	bool turns;	       /* the world's threads share one core */
	bool ignore_child;     /* and whether it starts with SIGCHLD ignored */
	bool ignore_file_size; /* and SIGXFSZ */
	bool trap_open;	       /* the supervisor answers openat("/proc/modules") */
};

struct world_init {
	pid_t pid;
	int pidfd;
	int control;  /* socket: go ahead, and the command's pidfd back */
	int listener; /* seccomp user notification */
};

/* Starts the init and waits until its world stands. An exit status, said why;
 * then nothing is left running. The calling thread must live as long as the
 * world shall. */
int spawn_init(const struct spawn *spawn, struct world_init *out);
/* Lets the init start the command. The listener is served from here on. */
int spawn_go(const struct world_init *init);
/* Receives the command's pidfd; -1: there is none. Blocks. */
int spawn_command_pidfd(const struct world_init *init);
/* Kills the world and waits until nothing of it is left. */
void spawn_kill(const struct world_init *init);
/* Waits for the init's end; its exit status, or 128 + n and *killed: it did not
 * end by itself. */
int spawn_wait(const struct world_init *init, bool *killed);

#endif

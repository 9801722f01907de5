/* SPDX-License-Identifier: MIT */
/*
 * The processes of one measurement: started, listened to, ended. Whatever
 * happens to us, none of them stays: each is a process group of its own, is
 * told by the kernel when we die, and is ended by its process id.
 *
 * While a nursery is open SIGINT, SIGTERM, SIGHUP and SIGCHLD are blocked and
 * taken in nursery_pump(), so that an interrupt goes through the same cleaning
 * up as an error. One nursery at a time. Threads: none.
 * Errors: a negative errno; -EINTR means that somebody asked us to stop.
 */
#ifndef KFDSHIM_CLI_CHILD_H
#define KFDSHIM_CLI_CHILD_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#define CHILDREN 17 /* eight clients of each kind, and their daemon */

struct child {
	char name[48]; /* in front of what it says on stderr */
	pid_t pid;
	bool ended;
	int status;	 /* of waitpid(2), once ended */
	int talk;	 /* its stderr; -1: none */
	int ready;	 /* -1: none, or it has been ready */
	int go;		 /* -1: none, or it has been told */
	bool is_ready;	 /* it wrote its byte */
	char line[1024]; /* of its stderr, not yet repeated */
	size_t used;
};

struct nursery {
	struct child list[CHILDREN];
	unsigned count;
	int signals;
	int stopped_by; /* 0, or the signal that asked us to stop */
	sigset_t before;
};

struct child_spec {
	const char *name;
	const char *const *argv;	/* argv[0] is an absolute path; NULL-terminated */
	const char *const *environment; /* "NAME=VALUE" sets, "NAME" removes; NULL-terminated */
	const char *shim;		/* library to preload; NULL: none of ours */
	bool sync;			/* add --sync-fd R:W, and fill ready and go */
	int death_signal;		/* that the kernel sends it when we die */
};

int nursery_open(struct nursery *nursery);
/* The child, valid until nursery_empty(); NULL with errno. */
struct child *nursery_start(struct nursery *nursery, const struct child_spec *spec);
/* Waits up to `timeout_ms` for something to happen and takes it in. */
int nursery_pump(struct nursery *nursery, int timeout_ms);
/* Lets a ready child begin. */
int child_go(struct child *child);
/* "exited with 3", "was ended by SIGSEGV". */
const char *child_end_text(const struct child *child, char text[64]);
/* Ends what still runs, the youngest first, and forgets all. */
void nursery_empty(struct nursery *nursery);
/* Empties it and gives the signals back. */
void nursery_close(struct nursery *nursery);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * Processes and their containers, as verbs show and choose them.
 *
 * Threads: none. Ownership: people_free() ends a list.
 */
#ifndef KFDSHIM_CLI_PEOPLE_H
#define KFDSHIM_CLI_PEOPLE_H

#include "scheduler/cli/cli.h"
#include "scheduler/observe/container_names.h"
#include "scheduler/observe/process.h"

struct person {
	struct process_identity who;
	enum process_gpu gpu;
};

struct people {
	struct person *list; /* by pid */
	size_t count;
	size_t hidden; /* of which nobody but root can tell whether they use a GPU */
};

struct people_wish {
	const char *container; /* NULL: any, and none; else all of its processes */
	bool gpu;	       /* only those that use one, and none of our own programs */
	const char *socket;    /* of the daemon, which may know more */
};

/* 0 or a negative errno. Those that end meanwhile are left out. */
int people_read(struct people *out, const struct people_wish *wish, struct container_names *names);
void people_free(struct people *people);

/* The process of that number: CLI_GO_ON, or CLI_FAILED and one line that says why it can have
 * no queues: there is none, it is a thread, one of the kernel's, or a zombie. */
int people_one(const struct verb *verb, pid_t pid, struct process_identity *out);

/* Sees that there are GPUs to be used, in words: CLI_DONE, or CLI_IMPOSSIBLE and said. */
int people_need_gpu(const struct verb *verb);
/* Sees that all processes that use a GPU can be known here (observe_can_list()), in words:
 * CLI_DONE, or CLI_IMPOSSIBLE and said. */
int people_need_list(const struct verb *verb, const char *socket);
/* Says that no container is called so, and why it may be called so all the same. */
int people_no_container(const struct verb *verb, const char *container,
			struct container_names *names);

/* "docker 3f2a9c0d1e4b", "unknown"; "-" for none. */
#define PEOPLE_TEXT 192
const char *people_container(char text[static PEOPLE_TEXT], const struct container *container);
/* Its command, or its name in brackets, cut to `length`. */
const char *people_command(char text[static PEOPLE_TEXT], const struct process_identity *who,
			   size_t length);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * Names of containers, which only their engines know: docker, podman and crictl are asked
 * where they are in PATH, each time for at most two seconds, without a shell. What one
 * says is not trusted: a name is what could be one.
 *
 * Threads: one at a time. Errors: negative errno.
 */
#ifndef KFDSHIM_OBSERVE_CONTAINER_NAMES_H
#define KFDSHIM_OBSERVE_CONTAINER_NAMES_H

#include "scheduler/observe/process.h"

struct container_names; /* what was answered, for each id: nobody is asked twice */

struct container_names *container_names_new(void); /* NULL: no memory */
void container_names_free(struct container_names *names);

/* Fills container->name, unless it is known. 0; -EINVAL: without an id and an engine nobody
 * can be asked; -ENOENT: the engine's command is not in PATH; others: it gave no name. */
int container_names_ask(struct container_names *names, struct container *container);

/* Who could not tell a name may be asked again; not one that is not there. */
void container_names_retry(struct container_names *names);

/*
 * It is the one that somebody means by `text`: its id begins so (4 digits at least), it is
 * the uid of its pod, or its name is that, for which its engine may be asked.
 */
#define CONTAINER_PREFIX_MIN 4u
bool container_names_fit(struct container_names *names, struct container *container,
			 const char *text);
/* What stood in the way of knowing all names so far, as a sentence without a full stop;
 * empty: nothing did. */
const char *container_names_problem(struct container_names *names);

/* Runs argv[0], found in PATH, with nothing on stdin, and takes what it writes to stdout,
 * NUL-terminated. 0; -ENOENT: it is not in PATH; -ETIMEDOUT: it took longer and was
 * killed; -EFBIG: it wrote more and was killed; -EIO: it failed. */
int container_names_run(const char *const *argv, char *out, size_t size, unsigned timeout_ms);

#endif

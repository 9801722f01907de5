/* SPDX-License-Identifier: MIT */
/*
 * Names of containers. Only the container engines have them, so docker, podman or crictl is run, if
 * it is in PATH: without a shell, and for at most two seconds. Their output is not trusted: it is
 * used only if it has the form of a name.
 *
 * Threads: one at a time. Errors: negative errno.
 */
#ifndef KFDSHIM_CLI_INSPECT_CONTAINER_ENGINE_H
#define KFDSHIM_CLI_INSPECT_CONTAINER_ENGINE_H

#include "cli/inspect/process.h"

/* Cache of the results by container id, so that the engine is run once for each id. */
struct container_names;

struct container_names *container_names_new(void);
void container_names_free(struct container_names *names); /* NULL is allowed */

/*
 * Fills container->name from the cache or from the engine, unless the name is known already.
 *
 * After a tool was found missing or has timed out, it is not run again for other ids.
 * Returns 0, or a negative errno:
 * -EINVAL  the container has no id, or no engine that could be queried
 * -ENOENT  the engine's command is not in PATH
 * others   the command failed, took too long, or gave no valid name
 */
int container_names_query(struct container_names *names, struct container *container);

/* Removes failed results from the cache, so that the engines are queried again. Results of a
 * command that is not in PATH are kept. */
void container_names_retry(struct container_names *names);

/*
 * Returns true if a user means this container by `text`: the first digits of its id (at least
 * CONTAINER_PREFIX_MIN), the uid of its pod, or its name. For the name the engine may be queried.
 */
#define CONTAINER_PREFIX_MIN 4u
bool container_names_fit(struct container_names *names, struct container *container,
			 const char *text);
/* Returns the reasons for which names could not be read so far, as a sentence without a full stop;
 * empty if there is none. The text belongs to `names` and is valid until the next call. */
const char *container_names_problem(struct container_names *names);

#endif

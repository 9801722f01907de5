// SPDX-License-Identifier: MIT
#include "cli/inspect/process.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/allocate.h"
#include "common/child.h"
#include "common/clock.h"

#define REPLY_BYTES 1024u
#define TIMEOUT_NS 2000000000u
#define TOOLS 3u

enum tool { DOCKER, PODMAN, CRICTL, NO_TOOL };

static const char *const tool_names[] = {"docker", "podman", "crictl"};

struct engine_reply {
	char id[CONTAINER_ID_MAX], name[CONTAINER_NAME_MAX];
	int error;
};

struct container_names {
	struct engine_reply *reply;
	size_t count, room;
	int failed[TOOLS]; /* last error of each tool; 0: none */
	char problem[256];
};

/* ---- running a tool ---- */

/*
 * Runs argv[0], found in PATH, with /dev/null as stdin and stderr. Copies its stdout to `out`,
 * NUL-terminated; `out` is empty on error.
 *
 * Returns 0, or a negative errno:
 * -ENOENT     the command is not in PATH
 * -ETIMEDOUT  it took longer than TIMEOUT_NS and was killed
 * -EFBIG      it wrote `size` bytes or more and was killed
 * -EIO        its exit code is not 0, or it was killed by a signal
 */
static int run_tool(const char *const *argv, char *out, size_t size)
{
	const struct child_program program = {
		.argv = argv,
		/* Unset LD_PRELOAD, so that the command does not load the shim. */
		.environment = (const char *const[]){"LD_PRELOAD", NULL},
		.stdio = {CHILD_NULL, CHILD_PIPE, CHILD_NULL},
	};
	int status = child_collect(&program, clock_ns() + TIMEOUT_NS, out, size);

	if (status > 0)
		status = -EIO;
	if (status)
		out[0] = '\0';
	return status;
}

/* ---- names ---- */

struct container_names *container_names_new(void)
{
	return allocate(1, sizeof(struct container_names));
}

void container_names_free(struct container_names *names)
{
	if (names)
		free(names->reply);
	free(names);
}

void container_names_retry(struct container_names *names)
{
	size_t n_valid = 0;

	for (size_t i = 0; i < names->count; i++)
		if (!names->reply[i].error || names->reply[i].error == -ENOENT)
			names->reply[n_valid++] = names->reply[i];
	names->count = n_valid;
	for (unsigned i = 0; i < TOOLS; i++)
		if (names->failed[i] != -ENOENT)
			names->failed[i] = 0;
}

static enum tool tool_of(const struct container *container)
{
	switch (container->engine) {
	case CONTAINER_DOCKER:
		return DOCKER;
	case CONTAINER_PODMAN:
		return PODMAN;
	case CONTAINER_CONTAINERD:
	case CONTAINER_CRIO:
		return CRICTL;
	default:
		return container->pod_uid[0] ? CRICTL : NO_TOOL;
	}
}

/* Copies the name that a tool has printed, without the slash that docker puts in front of it.
 * Returns 0, or -EPROTO if the output does not have the form of a name. */
static int take_name(const char *text, char out[static CONTAINER_NAME_MAX])
{
	static const char allowed[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				      "0123456789_.-";
	size_t n;

	text += *text == '/';
	n = strspn(text, allowed);
	if (n == 0 || n >= CONTAINER_NAME_MAX || (text[n] != '\n' && text[n]))
		return -EPROTO;
	memcpy(out, text, n);
	out[n] = '\0';
	return 0;
}

static int send_query(enum tool tool, const char *id, char out[static CONTAINER_NAME_MAX])
{
	const char *const docker[] = {"docker",	  "inspect",   "--type", "container",
				      "--format", "{{.Name}}", id,	 NULL};
	const char *const podman[] = {"podman",	   "container", "inspect", "--format",
				      "{{.Name}}", id,		NULL};
	const char *const crictl[] = {"crictl",	    "inspect",
				      "--output",   "go-template",
				      "--template", "{{.status.metadata.name}}",
				      id,	    NULL};
	const char *const *const argv[TOOLS] = {docker, podman, crictl};
	char text[REPLY_BYTES];
	int error = run_tool(argv[tool], text, sizeof(text));

	return error ? error : take_name(text, out);
}

static const struct engine_reply *find(struct container_names *names, enum tool tool,
				       const char *id)
{
	struct engine_reply *reply;

	for (size_t i = 0; i < names->count; i++)
		if (strcmp(names->reply[i].id, id) == 0)
			return &names->reply[i];
	names->reply = allocate_next(names->reply, names->count, &names->room, sizeof(*reply));
	reply = &names->reply[names->count++];
	*reply = (struct engine_reply){0};
	snprintf(reply->id, sizeof(reply->id), "%s", id);
	/* If the tool is missing or has timed out, do not run it again: for many containers that
	 * could cost a timeout each. */
	if (names->failed[tool] == -ENOENT || names->failed[tool] == -ETIMEDOUT)
		reply->error = names->failed[tool];
	else
		reply->error = send_query(tool, id, reply->name);
	if (reply->error)
		names->failed[tool] = reply->error;
	return reply;
}

int container_names_query(struct container_names *names, struct container *container)
{
	enum tool tool = tool_of(container);
	const struct engine_reply *reply;

	if (container->name[0])
		return 0;
	if (tool == NO_TOOL || !container->id[0])
		return -EINVAL;
	reply = find(names, tool, container->id);
	strcpy(container->name, reply->name);
	return reply->error;
}

bool container_names_fit(struct container_names *names, struct container *container,
			 const char *text)
{
	size_t length = strlen(text);

	if (container->engine == CONTAINER_NONE || length == 0)
		return false;
	if (length >= CONTAINER_PREFIX_MIN && strncmp(container->id, text, length) == 0)
		return true;
	if (strcmp(container->pod_uid, text) == 0)
		return true;
	container_names_query(names, container);
	return strcmp(container->name, text) == 0;
}

const char *container_names_problem(struct container_names *own)
{
	own->problem[0] = '\0';
	for (unsigned i = 0; i < TOOLS; i++) {
		const char *why = "returned no name";

		if (!own->failed[i])
			continue;
		if (own->failed[i] == -ENOENT)
			why = "is not in PATH";
		else if (own->failed[i] == -ETIMEDOUT)
			why = "did not reply within 2 seconds";
		snprintf(own->problem + strlen(own->problem),
			 sizeof(own->problem) - strlen(own->problem), "%s%s %s",
			 own->problem[0] ? ", " : "", tool_names[i], why);
	}
	return own->problem;
}

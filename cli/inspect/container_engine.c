// SPDX-License-Identifier: MIT
#include "cli/inspect/container_engine.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define REPLY_BYTES 1024u
#define TIMEOUT_MS 2000u
#define TOOLS 3u

enum tool { DOCKER, PODMAN, CRICTL, NO_TOOL };

static const char *const tool_names[] = {"docker", "podman", "crictl"};

struct engine_reply {
	char id[CONTAINER_ID_MAX], name[CONTAINER_NAME_MAX];
	int error;
};

struct container_names {
	struct engine_reply *reply;
	size_t count;
	int failed[TOOLS]; /* last error of each tool; 0: none */
	char problem[256];
};

struct container_names *container_names_new(void)
{
	return calloc(1, sizeof(struct container_names));
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

/* Check the output of a tool and copy the name. docker puts a slash in front of it. */
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
	int error = container_names_run(argv[tool], text, sizeof(text), TIMEOUT_MS);

	return error ? error : take_name(text, out);
}

static const struct engine_reply *find(struct container_names *names, enum tool tool,
				       const char *id)
{
	struct engine_reply *reply;

	for (size_t i = 0; i < names->count; i++)
		if (strcmp(names->reply[i].id, id) == 0)
			return &names->reply[i];
	reply = reallocarray(names->reply, names->count + 1, sizeof(*reply));
	if (!reply)
		return NULL;
	names->reply = reply;
	reply += names->count++;
	*reply = (struct engine_reply){0};
	snprintf(reply->id, sizeof(reply->id), "%s", id);
	/* Do not run a missing or hanging tool again, so that many containers do not cost a timeout
	 * each. */
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
	if (!reply)
		return -ENOMEM;
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

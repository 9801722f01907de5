// SPDX-License-Identifier: MIT
/* Detects a container by the cgroup names that container engines use. */
#include <limits.h>
#include <string.h>

#include "cli/inspect/container.h"
#include "common/cgroup.h"

#define NAMES 64u /* names of one path; the kernel allows more, but engines nest only a few */

struct word {
	const char *text;
	enum container_engine engine;
};

/* Prefixes of the id in the name of a cgroup. */
static const struct word prefixes[] = {
	{"docker-", CONTAINER_DOCKER},	    {"libpod-payload-", CONTAINER_PODMAN},
	{"libpod-", CONTAINER_PODMAN},	    {"cri-containerd-", CONTAINER_CONTAINERD},
	{"nerdctl-", CONTAINER_CONTAINERD}, {"crio-", CONTAINER_CRIO},
};

/* Names of the parent of a cgroup whose name is the id only. Kubernetes' own parents are not here:
 * they name the pod, but not the engine. */
static const struct word parents[] = {
	{"docker", CONTAINER_DOCKER},
	{"default", CONTAINER_CONTAINERD},
	{"k8s.io", CONTAINER_CONTAINERD},
};

static bool is_id(const char *text)
{
	return strspn(text, "0123456789abcdef") == CGROUP_ID && !text[CGROUP_ID];
}

/* Parse "docker-ID", or "SLICE:docker:ID" from a runtime that gets systemd's notation but uses it
 * as a plain directory name. */
static bool prefixed(char *name, struct container *out)
{
	char *colon = strrchr(name, ':');

	if (colon) {
		char *before = memrchr(name, ':', (size_t)(colon - name));

		*colon = '-';
		if (before) {
			*before = '\0'; /* leaves the slice, which pod_of_name() needs */
			name = before + 1;
		}
	}
	for (size_t i = 0; i < sizeof(prefixes) / sizeof(prefixes[0]); i++) {
		size_t length = strlen(prefixes[i].text);

		if (strncmp(name, prefixes[i].text, length) != 0 || !is_id(name + length))
			continue;
		out->engine = prefixes[i].engine;
		strcpy(out->id, name + length);
		return true;
	}
	return false;
}

static void without_tail(char *name, const char *tail)
{
	size_t length = strlen(name), cut = strlen(tail);

	if (length > cut && strcmp(name + length - cut, tail) == 0)
		name[length - cut] = '\0';
}

static void of_name(char *name, const char *parent, struct container *out)
{
	without_tail(name, ".scope");
	if (prefixed(name, out) || !is_id(name))
		return;
	out->engine = CONTAINER_UNKNOWN;
	strcpy(out->id, name);
	for (size_t i = 0; i < sizeof(parents) / sizeof(parents[0]); i++)
		if (strcmp(parent, parents[i].text) == 0)
			out->engine = parents[i].engine;
}

/* Parse "podUID" or "kubepods-burstable-podUID.slice". In the latter the uid has '_' in place of
 * '-'. */
static void pod_of_name(char *name, struct container *out)
{
	const char *at = strncmp(name, "pod", 3) == 0 ? name : strstr(name, "-pod");
	size_t length;

	if (!at)
		return;
	without_tail(name, ".slice");
	at += at == name ? 3 : 4;
	length = strlen(at);
	if (length < 32 || length >= sizeof(out->pod_uid) ||
	    strspn(at, "0123456789abcdef-_") != length)
		return;
	strcpy(out->pod_uid, at);
	for (char *c = out->pod_uid; *c; c++)
		if (*c == '_')
			*c = '-';
}

/* Parse one cgroup path, from its last name to its first, so that the innermost container is found.
 * Modifies the path. */
static bool of_path(char *path, struct container *out)
{
	char *names[NAMES], *rest = path, *name;
	size_t count = 0;
	bool kubernetes = strstr(path, "kubepods") != NULL;

	*out = (struct container){0};
	while ((name = strsep(&rest, "/")) && count < NAMES)
		if (*name)
			names[count++] = name;
	while (count-- > 0) {
		if (!out->id[0])
			of_name(names[count], count > 0 ? names[count - 1] : "", out);
		if (kubernetes && !out->pod_uid[0])
			pod_of_name(names[count], out);
	}
	if (!out->id[0] && !out->pod_uid[0])
		return false;
	if (!out->id[0])
		out->engine = CONTAINER_UNKNOWN;
	out->clue = CONTAINER_CLUE_CGROUP;
	return true;
}

bool container_of_cgroup(const char *text, struct container *out)
{
	struct container found;
	char path[PATH_MAX];
	const char *at;
	size_t length;
	bool unified;

	*out = (struct container){0};
	while ((at = cgroup_next(&text, &length, &unified))) {
		if (length >= sizeof(path))
			continue;
		memcpy(path, at, length);
		path[length] = '\0';
		/* The paths of the controllers can differ. The first path that names an engine is
		 * used. */
		if (of_path(path, &found) &&
		    (out->engine == CONTAINER_NONE || out->engine == CONTAINER_UNKNOWN))
			*out = found;
	}
	return out->engine != CONTAINER_NONE;
}

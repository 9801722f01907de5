// SPDX-License-Identifier: MIT
#include "scheduler/observe/container.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "scheduler/observe/observe.h"

#define TEXT_MAX (1u << 20) /* of a file in /proc: a node of Kubernetes has many mounts */

const char *container_engine_name(enum container_engine engine)
{
	static const char *const names[CONTAINER_ENGINES] = {
		[CONTAINER_NONE] = "-",
		[CONTAINER_UNKNOWN] = "unknown",
		[CONTAINER_DOCKER] = "docker",
		[CONTAINER_PODMAN] = "podman",
		[CONTAINER_CONTAINERD] = "containerd",
		[CONTAINER_CRIO] = "cri-o",
	};

	return (unsigned)engine < CONTAINER_ENGINES ? names[engine] : "-";
}

const char *container_clue_name(enum container_clue clue)
{
	static const char *const names[CONTAINER_CLUES] = {
		[CONTAINER_CLUE_NONE] = "-",
		[CONTAINER_CLUE_CGROUP] = "cgroup",
		[CONTAINER_CLUE_FILE] = "file",
		[CONTAINER_CLUE_MOUNTS] = "mounts",
		[CONTAINER_CLUE_NAMESPACES] = "namespaces",
	};

	return (unsigned)clue < CONTAINER_CLUES ? names[clue] : "-";
}

static bool by_cgroup(pid_t pid, struct container *out)
{
	char path[64], *text = NULL;
	size_t room = 0;
	bool told = false;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/cgroup", (int)pid);
	f = fopen(path, "re");
	if (f && getdelim(&text, &room, '\0', f) > 0)
		told = container_of_cgroup(text, out);
	free(text);
	if (f)
		fclose(f);
	return told;
}

/* Its `what` in /proc is another one than ours. false: not, or hidden from us. */
static bool differs(pid_t pid, const char *what, const char *ours)
{
	char path[64];
	struct stat a, b;

	snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, what);
	return stat(path, &a) == 0 && stat(ours, &b) == 0 &&
	       (a.st_ino != b.st_ino || a.st_dev != b.st_dev);
}

/*
 * Mounts of its own alone make no container: systemd gives them to services, on the same
 * root. Nor does a root of its own (chroot).
 */
static bool by_namespaces(pid_t pid, unsigned depth)
{
	return depth > 1 || !observe_names_match() ||
	       (differs(pid, "ns/mnt", "/proc/self/ns/mnt") && differs(pid, "root", "/"));
}

void container_read(pid_t pid, unsigned depth, struct container *out)
{
	*out = (struct container){0};
	if (by_cgroup(pid, out))
		return;
	if (by_namespaces(pid, depth))
		*out = (struct container){
			.engine = CONTAINER_UNKNOWN,
			.clue = CONTAINER_CLUE_NAMESPACES,
		};
}

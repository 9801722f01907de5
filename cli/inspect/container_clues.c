// SPDX-License-Identifier: MIT
/* Detects a container by the mounts and files that engines create in it, for processes whose cgroup
 * is not visible. */
#include <string.h>

#include "cli/inspect/container.h"
#include "common/cgroup.h"
#include "common/text.h"

/* Ids found in the mounts over a container's /etc and /run. */
struct clues {
	char docker[CONTAINER_ID_MAX];	/* the container, or the one whose network it uses */
	char storage[CONTAINER_ID_MAX]; /* podman: likewise; CRI-O: id of the pod */
	char own[CONTAINER_ID_MAX];	/* podman: always the container itself */
	char nerdctl[CONTAINER_ID_MAX]; /* id in the path of nerdctl's hosts file */
	bool sandbox; /* containerd: directory of the pod, whose id differs from its containers' */
	char pod_uid[sizeof(((struct container *)NULL)->pod_uid)];
};

static void copy_id(char out[static CONTAINER_ID_MAX], const char *text, size_t length)
{
	if (length != CGROUP_ID || strspn(text, "0123456789abcdef") < CGROUP_ID)
		return;
	memcpy(out, text, CGROUP_ID);
	out[CGROUP_ID] = '\0';
}

/* Returns the part of the path between the last `before` and `behind`, which must end the path, and
 * its length. Returns NULL if the path has no such part. */
static const char *between(const char *path, const char *before, const char *behind, size_t *length)
{
	const char *at = NULL, *end = path + strlen(path) - strlen(behind);

	if (end < path || strcmp(end, behind) != 0)
		return NULL;
	for (const char *next = path; (next = strstr(next, before)); next++)
		at = next + strlen(before);
	*length = at && at < end ? (size_t)(end - at) : 0;
	return *length ? at : NULL;
}

static void over_etc(struct clues *clues, const char *root, const char *file)
{
	char behind[64] = "/userdata";
	const char *at, *slash;
	size_t n;

	if (strcmp(file, "/hosts") == 0 && (at = between(root, "/pods/", "/etc-hosts", &n)) &&
	    n < sizeof(clues->pod_uid) && strspn(at, "0123456789abcdef-") == n) {
		memcpy(clues->pod_uid, at, n);
		clues->pod_uid[n] = '\0';
		return;
	}
	if ((at = between(root, "/sandboxes/", file, &n))) {
		clues->sandbox = true;
		return;
	}
	/* nerdctl: .../etchosts/NAMESPACE/ID/hosts */
	if ((at = between(root, "/etchosts/", file, &n)) && (slash = memchr(at, '/', n))) {
		copy_id(clues->nerdctl, slash + 1, (size_t)(at + n - slash - 1));
		return;
	}
	if ((at = between(root, "/containers/", file, &n)))
		copy_id(clues->docker, at, n);
	strcat(behind, file);
	if ((at = between(root, "/overlay-containers/", behind, &n)))
		copy_id(clues->storage, at, n);
}

static void read_mount(struct clues *clues, const char *root, const char *point)
{
	static const char *const files[] = {"/hostname", "/hosts", "/resolv.conf"};
	const char *at;
	size_t n;

	if (strcmp(point, "/run/.containerenv") == 0 &&
	    (at = between(root, "/overlay-containers/", "/userdata/.containerenv", &n)))
		copy_id(clues->own, at, n);
	if (strncmp(point, "/etc/", 5) != 0)
		return;
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++)
		if (strcmp(point + 4, files[i]) == 0)
			over_etc(clues, root, files[i]);
}

/*
 * Choose engine and id from the clues. The containers of a pod share these mounts, so an id found
 * in a pod is that of the pod, not of the container, and is dropped.
 */
static bool decide(const struct clues *clues, struct container *out)
{
	const char *id = "";
	bool pod = clues->pod_uid[0];

	if (clues->docker[0]) {
		out->engine = CONTAINER_DOCKER;
		id = clues->docker;
	} else if (clues->nerdctl[0] || clues->sandbox) {
		out->engine = CONTAINER_CONTAINERD;
		id = clues->nerdctl;
	} else if (clues->own[0] || clues->storage[0]) {
		out->engine = pod ? CONTAINER_CRIO : CONTAINER_PODMAN;
		id = clues->own[0] ? clues->own : clues->storage;
	} else if (pod) {
		out->engine = CONTAINER_UNKNOWN;
	} else {
		return false;
	}
	strcpy(out->pod_uid, clues->pod_uid);
	strcpy(out->id, pod ? "" : id);
	out->clue = CONTAINER_CLUE_MOUNTS;
	return true;
}

bool container_of_mounts(char *text, struct container *out)
{
	struct clues clues = {0};
	char *line;

	*out = (struct container){0};
	while ((line = strsep(&text, "\n"))) {
		/* mountinfo (proc_pid_mountinfo(5)): id parent device ROOT POINT ... */
		char *field[5];
		size_t n = 0;

		while (n < 5 && (field[n] = strsep(&line, " ")))
			n++;
		if (n == 5)
			read_mount(&clues, field[3], field[4]);
	}
	return decide(&clues, out);
}

/* Parse a line KEY="VALUE". */
static bool value_of(const char *line, const char *key, char *out, size_t size)
{
	size_t length = strlen(key), n;
	const char *end;

	if (strncmp(line, key, length) != 0 || strncmp(line + length, "=\"", 2) != 0)
		return false;
	line += length + 2;
	end = strchr(line, '"');
	n = end ? (size_t)(end - line) : size;
	if (n >= size)
		return false;
	memcpy(out, line, n);
	out[n] = '\0';
	plain_ascii(out);
	return true;
}

bool container_of_containerenv(char *text, struct container *out)
{
	char engine[32] = "", id[CONTAINER_ID_MAX] = "", *line;

	*out = (struct container){0};
	while ((line = strsep(&text, "\n"))) {
		value_of(line, "engine", engine, sizeof(engine));
		value_of(line, "name", out->name, sizeof(out->name));
		if (value_of(line, "id", id, sizeof(id)))
			copy_id(out->id, id, strlen(id));
	}
	if (strncmp(engine, "podman", strlen("podman")) != 0) {
		*out = (struct container){0};
		return false;
	}
	out->engine = CONTAINER_PODMAN;
	out->clue = CONTAINER_CLUE_FILE;
	return true;
}

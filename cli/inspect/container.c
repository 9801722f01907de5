// SPDX-License-Identifier: MIT
#include "cli/inspect/process.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "common/allocate.h"
#include "common/proc_file.h"
#include "common/text.h"

/* Maximum number of bytes that are read of a file. It is high, because the mountinfo of a
 * Kubernetes node is long; it is limited, because a container can create any number of mounts. */
#define TEXT_MAX (1u << 20)

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

/* ---- detection by cgroup names ---- */

/* Maximum number of names in a cgroup path that are parsed. The kernel allows deeper paths, but
 * container engines do not create them. */
#define NAMES 64u

struct word {
	const char *text;
	enum container_engine engine;
};

/* Prefixes that engines put before the id of the container in the name of its cgroup. */
static const struct word prefixes[] = {
	{"docker-", CONTAINER_DOCKER},	    {"libpod-payload-", CONTAINER_PODMAN},
	{"libpod-", CONTAINER_PODMAN},	    {"cri-containerd-", CONTAINER_CONTAINERD},
	{"nerdctl-", CONTAINER_CONTAINERD}, {"crio-", CONTAINER_CRIO},
};

/* Names of parent cgroups. They show the engine if the name of the cgroup itself is only the id of
 * the container. The parents that Kubernetes creates are not listed: they name the pod, but not the
 * engine. */
static const struct word parents[] = {
	{"docker", CONTAINER_DOCKER},
	{"default", CONTAINER_CONTAINERD},
	{"k8s.io", CONTAINER_CONTAINERD},
};

static bool is_id(const char *text)
{
	return strspn(text, "0123456789abcdef") == CGROUP_ID && !text[CGROUP_ID];
}

/* Sets engine and id of *out from a cgroup name like "docker-ID" or "SLICE:docker:ID". The latter
 * is created by a runtime that gets a cgroup in systemd's notation and uses it as a plain directory
 * name. Returns false for other names. Modifies `name`. */
static bool prefixed(char *name, struct container *out)
{
	char *colon = strrchr(name, ':');

	if (colon) {
		char *before = memrchr(name, ':', (size_t)(colon - name));

		*colon = '-';
		if (before) {
			*before = '\0'; /* leaves the slice for pod_of_name() */
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

/* Sets the uid of the pod in *out from a cgroup name like "podUID" or
 * "kubepods-burstable-podUID.slice". In the latter the uid has '_' in place of '-'. Does nothing
 * for other names. */
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

/* Parses one cgroup path, from its last name to its first, so that the innermost container is
 * found. Modifies the path. Returns false if the path names no container. */
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

/* ---- detection by mounts and files ---- */

/* Ids found in the mounts over a container's /etc and /run. */
struct clues {
	/* Id of the container, or of another container whose network it uses. */
	char docker[CONTAINER_ID_MAX];
	char storage[CONTAINER_ID_MAX]; /* podman: as `docker` above; CRI-O: id of the pod */
	char own[CONTAINER_ID_MAX];	/* podman: id of the container itself */
	char nerdctl[CONTAINER_ID_MAX]; /* id in the path of nerdctl's hosts file */
	/* True if a mount is in the directory that containerd has for the pod. The id of this
	 * directory is not that of the container. */
	bool sandbox;
	char pod_uid[sizeof(((struct container *)NULL)->pod_uid)];
};

static void copy_id(char out[static CONTAINER_ID_MAX], const char *text, size_t length)
{
	if (length != CGROUP_ID || strspn(text, "0123456789abcdef") < CGROUP_ID)
		return;
	memcpy(out, text, CGROUP_ID);
	out[CGROUP_ID] = '\0';
}

/* Returns the part of `path` between the last `before` and `behind`, which must be the end of the
 * path. Writes its length to *length. Returns NULL if the path has no such part. */
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

/* Sets engine, id and pod of *out from the clues. Returns false if they show no container. In a
 * pod, the id is not used: all containers of the pod share the mounts, so an id found in them is
 * that of the pod. */
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
		/* Fields of a line of mountinfo (proc_pid_mountinfo(5)): id parent device ROOT
		 * POINT ... */
		char *field[5];
		size_t n = 0;

		while (n < 5 && (field[n] = strsep(&line, " ")))
			n++;
		if (n == 5)
			read_mount(&clues, field[3], field[4]);
	}
	return decide(&clues, out);
}

/* Copies VALUE of a line KEY="VALUE" to `out`. Returns false if the line has another form, or if
 * VALUE does not fit. */
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

/* ---- detection for a process ---- */

/* Reads the text of f and closes f. Of a text longer than TEXT_MAX bytes, it returns only the whole
 * lines at the beginning. Returns NULL if f is NULL; the caller frees the text. */
static char *read_text(FILE *f)
{
	char *text, *end;
	size_t n;

	if (!f)
		return NULL;
	text = allocate(TEXT_MAX + 1, 1);
	n = fread(text, 1, TEXT_MAX, f);
	fclose(f);
	end = n == TEXT_MAX ? strrchr(text, '\n') : NULL;
	if (end)
		end[1] = '\0';
	return text;
}

static char *read_proc(pid_t pid, const char *name)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, name);
	return read_text(fopen(path, "re"));
}

static bool by_cgroup(pid_t pid, struct container *out)
{
	char *text = read_proc(pid, "cgroup");
	bool found = text && container_of_cgroup(text, out);

	free(text);
	return found;
}

static bool by_mounts(pid_t pid, struct container *out)
{
	char *text = read_proc(pid, "mountinfo");
	bool found = text && container_of_mounts(text, out);

	free(text);
	return found;
}

/* Opens a file below the root directory of the process. Returns NULL on error. */
static FILE *open_its(pid_t pid, const char *file)
{
	struct proc_files files;
	int fd;

	proc_files_begin(&files, pid);
	fd = proc_files_open_path(&files, file);
	proc_files_end(&files);
	return fd < 0 ? NULL : fdopen(fd, "r");
}

/* Detects podman by its file /run/.containerenv. /.dockerenv is not used: every root file system
 * made from a docker image has it, also that of a virtual machine. */
static bool by_file(pid_t pid, struct container *out)
{
	char *text = read_text(open_its(pid, "/run/.containerenv"));
	bool found = text && container_of_containerenv(text, out);

	free(text);
	return found;
}

/* Returns true if the link `what` in /proc/PID leads to another object than the path `ours`.
 * Returns false also if this user may not read the link. */
static bool differs(pid_t pid, const char *what, const char *ours)
{
	char path[64];
	struct statx a, b;

	snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, what);
	return proc_file_stat(AT_FDCWD, path, &a) == 0 && proc_file_stat(AT_FDCWD, ours, &b) == 0 &&
	       (a.stx_ino != b.stx_ino || a.stx_dev_major != b.stx_dev_major ||
		a.stx_dev_minor != b.stx_dev_minor);
}

/* Returns true if the namespaces of the process show a container: a pid namespace other than the
 * driver's, or both a mount namespace and a root directory of its own. One of these two alone is
 * not enough: systemd gives services a mount namespace, and chroot gives another root directory.
 * depth: as in container_read(). */
static bool by_namespaces(pid_t pid, unsigned depth)
{
	return depth > 1 || !observe_names_match() ||
	       (differs(pid, "ns/mnt", "/proc/self/ns/mnt") && differs(pid, "root", "/"));
}

void container_read(pid_t pid, unsigned depth, struct container *out)
{
	bool found = by_cgroup(pid, out);
	struct container clue;

	if (found && out->engine != CONTAINER_UNKNOWN)
		return;
	if (by_mounts(pid, &clue) || by_file(pid, &clue)) {
		if (!found)
			*out = clue;
		else if (!out->pod_uid[0] == !clue.pod_uid[0])
			out->engine = clue.engine;
	} else if (!found && by_namespaces(pid, depth)) {
		*out = (struct container){
			.engine = CONTAINER_UNKNOWN,
			.clue = CONTAINER_CLUE_NAMESPACES,
		};
	}
}

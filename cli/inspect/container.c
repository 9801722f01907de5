// SPDX-License-Identifier: MIT
#include "cli/inspect/container.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/inspect/inspect.h"
#include "common/proc_file.h"

/* Limit of the bytes that are read: a Kubernetes node has many mounts, and a container could create
 * any number of them. */
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

/* Read at most TEXT_MAX bytes, cut after the last whole line. Closes f. Returns NULL if f is NULL
 * or there is no memory; the caller frees the text. */
static char *read_text(FILE *f)
{
	char *text = f ? malloc(TEXT_MAX + 1) : NULL, *end;
	size_t n = 0;

	if (text)
		n = fread(text, 1, TEXT_MAX, f);
	if (f)
		fclose(f);
	if (!text)
		return NULL;
	text[n] = '\0';
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

/* Open a file in the root directory of the process. */
static FILE *open_its(pid_t pid, const char *file)
{
	struct proc_files files;
	int fd;

	proc_files_begin(&files, pid);
	fd = proc_files_open_path(&files, file);
	proc_files_end(&files);
	return fd < 0 ? NULL : fdopen(fd, "r");
}

/* /.dockerenv is no evidence: every root file system made from a docker image has it, also that of
 * a virtual machine. */
static bool by_file(pid_t pid, struct container *out)
{
	char *text = read_text(open_its(pid, "/run/.containerenv"));
	bool found = text && container_of_containerenv(text, out);

	free(text);
	return found;
}

/* Returns true if the link `what` in /proc/PID leads to another object than `ours`. Returns false
 * if it does not, or if this user may not read it. */
static bool differs(pid_t pid, const char *what, const char *ours)
{
	char path[64];
	struct statx a, b;

	snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, what);
	return proc_file_stat(AT_FDCWD, path, &a) == 0 && proc_file_stat(AT_FDCWD, ours, &b) == 0 &&
	       (a.stx_ino != b.stx_ino || a.stx_dev_major != b.stx_dev_major ||
		a.stx_dev_minor != b.stx_dev_minor);
}

/*
 * A mount namespace alone is no container, because systemd gives services one on the same root. Nor
 * is a root directory alone (chroot). Both together are.
 */
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

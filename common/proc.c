// SPDX-License-Identifier: MIT
#include "common/proc.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/text.h"

#define PF_EXITING 0x00000004u
#define PF_KTHREAD 0x00200000u

/* Numbers of the fields in proc(5). Field 2 is the name in brackets. */
enum {
	STATE = 3,
	PPID = 4,
	FLAGS = 9,
	UTIME = 14,
	STIME = 15,
	CUTIME = 16,
	CSTIME = 17,
	STARTTIME = 22,
	STARTSTACK = 28,
};

/* Writes the path of a file in /proc/PID, in /proc/self if `pid` is 0. */
static const char *path_of(char path[static 64], pid_t pid, const char *name)
{
	if (pid)
		snprintf(path, 64, "/proc/%d/%s", (int)pid, name);
	else
		snprintf(path, 64, "/proc/self/%s", name);
	return path;
}

ssize_t proc_read(pid_t pid, const char *name, char *text, size_t size)
{
	char path[64];

	return proc_read_at(AT_FDCWD, path_of(path, pid, name), text, size);
}

ssize_t proc_read_at(int directory, const char *path, char *text, size_t size)
{
	int fd = openat(directory, path, O_RDONLY | O_CLOEXEC), error;
	ssize_t n = 0, got = 0;

	text[0] = '\0';
	if (fd < 0)
		return -errno;
	while ((size_t)n < size - 1 && (got = read(fd, text + n, size - 1 - (size_t)n)) > 0)
		n += got;
	error = errno;
	close(fd);
	text[n] = '\0';
	return got < 0 && n == 0 ? -error : n;
}

void proc_comm(pid_t pid, char out[static 16])
{
	ssize_t n = proc_read(pid, "comm", out, 16);

	if (n > 0 && out[n - 1] == '\n')
		out[n - 1] = '\0';
	plain_ascii(out);
}

bool proc_stat(pid_t pid, struct proc_stat *out)
{
	unsigned long long field[STARTSTACK + 1];
	char text[1024], *at, *next;

	*out = (struct proc_stat){0};
	if (proc_read(pid, "stat", text, sizeof(text)) <= 0)
		return false;
	at = strrchr(text, ')'); /* end of the name, which can contain any character */
	if (!at || strlen(at) <= 3)
		return false;
	field[STATE] = (unsigned char)at[2];
	at += 3;
	for (int i = PPID; i <= STARTSTACK; i++, at = next) {
		field[i] = strtoull(at, &next, 10);
		if (next == at)
			return false;
	}
	*out = (struct proc_stat){
		.state = (char)field[STATE],
		.parent = (pid_t)field[PPID],
		.kernel_thread = field[FLAGS] & PF_KTHREAD,
		.ending = field[FLAGS] & PF_EXITING,
		.cpu_ticks = field[UTIME] + field[STIME],
		.child_ticks = field[CUTIME] + field[CSTIME],
		.started = field[STARTTIME],
		.stack = field[STARTSTACK],
	};
	return true;
}

int proc_status_read_from(int fd, char *text, size_t size)
{
	static const char groups[] = "Groups:";
	size_t n = 0, line = 0; /* length; begin of the present line */
	char chunk[512];
	ssize_t got;

	while ((got = read(fd, chunk, sizeof(chunk))) > 0)
		for (ssize_t i = 0; i < got; i++) {
			if (n < size - 1)
				text[n++] = chunk[i];
			if (chunk[i] != '\n')
				continue;
			if (n - line >= sizeof(groups) - 1 &&
			    memcmp(text + line, groups, sizeof(groups) - 1) == 0)
				n = line;
			line = n;
		}
	text[n] = '\0';
	return n ? 0 : got < 0 ? -errno : -ESRCH;
}

int proc_status_read(pid_t pid, char *text, size_t size)
{
	char path[64];
	int fd = open(path_of(path, pid, "status"), O_RDONLY | O_CLOEXEC), error;

	text[0] = '\0';
	if (fd < 0)
		return -errno;
	error = proc_status_read_from(fd, text, size);
	close(fd);
	return error;
}

const char *proc_status_field(const char *text, const char *key)
{
	const char *at = strstr(text, key);

	return at ? at + strlen(key) : NULL;
}

pid_t proc_status_number(pid_t pid, const char *key)
{
	char text[PROC_STATUS_BYTES];
	const char *at;

	if (proc_status_read(pid, text, sizeof(text)))
		return 0;
	at = proc_status_field(text, key);
	return at ? atoi(at) : 0;
}

unsigned proc_status_ns_pids(const char *text, pid_t out[static PROC_NS_LEVELS_MAX])
{
	const char *at = proc_status_field(text, "\nNSpid:");
	unsigned n = 0;

	while (at && n < PROC_NS_LEVELS_MAX) {
		char *end;
		long pid = strtol(at, &end, 10);

		if (end == at)
			break;
		out[n++] = (pid_t)pid;
		at = *end == '\t' ? end : NULL;
	}
	return n;
}

uint64_t proc_namespace(pid_t pid, const char *kind)
{
	char path[64];
	struct stat st;

	if (pid)
		snprintf(path, sizeof(path), "/proc/%d/ns/%s", (int)pid, kind);
	else
		snprintf(path, sizeof(path), "/proc/self/ns/%s", kind);
	return stat(path, &st) == 0 ? st.st_ino : 0;
}

const char *cgroup_next(const char **text, size_t *length, bool *unified)
{
	const char *line, *end, *path;

	while (**text) {
		line = *text;
		end = line + strcspn(line, "\n");
		*text = *end ? end + 1 : end;
		/* A line is NUMBER:CONTROLLERS:PATH; that of the unified hierarchy is 0::PATH. */
		path = memchr(line, ':', (size_t)(end - line));
		path = path ? memchr(path + 1, ':', (size_t)(end - path - 1)) : NULL;
		if (!path || path[1] != '/')
			continue;
		*length = (size_t)(end - ++path);
		*unified = strncmp(line, "0::", 3) == 0;
		return path;
	}
	return NULL;
}

void cgroup_path(const char *text, char *out, size_t size)
{
	const char *path;
	size_t length;
	bool unified;

	out[0] = '\0';
	while ((path = cgroup_next(&text, &length, &unified))) {
		if (length >= size)
			continue;
		/* Prefer the path of the unified hierarchy, then the first path of another one. "/"
		 * is used only if all paths are "/". */
		if (length == 1 ? out[0] != '\0' : !unified && out[0] && out[1])
			continue;
		memcpy(out, path, length);
		out[length] = '\0';
		if (unified && length > 1)
			return;
	}
}

void cgroup_container_id(const char *path, char out[static CGROUP_ID + 1])
{
	size_t length;

	out[0] = '\0';
	while (*path) {
		length = strspn(path, "0123456789abcdef");
		if (length == CGROUP_ID) {
			memcpy(out, path, length);
			out[length] = '\0';
		}
		path += length ? length : 1;
	}
}

int proc_maps_find(pid_t pid, const char *name, char *path, size_t size)
{
	char own[32], *line = NULL;
	int found = -ESRCH;
	size_t room = 0;
	FILE *f;

	snprintf(own, sizeof(own), "/proc/%d/maps", (int)pid);
	f = fopen(own, "re");
	if (!f)
		return -errno;
	while (!(found == 1 && !path) && getline(&line, &room, f) > 0) {
		const char *file = strchr(line, '/'), *last = strrchr(line, '/');

		if (found < 0)
			found = 0;
		if (!file || strncmp(last + 1, name, strlen(name)) != 0)
			continue;
		found = 1;
		if (path)
			snprintf(path, size, "%.*s", (int)strcspn(file, "\n"), file);
	}
	free(line);
	fclose(f);
	return found;
}

// SPDX-License-Identifier: MIT
/* Lists processes, and detects the use of a GPU. */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/inspect/inspect.h"
#include "cli/inspect/process.h"
#include "common/own_names.h"

#define DRIVER "/sys/class/kfd/kfd/proc"
#define DEVICE "/dev/kfd"

static int ascending(const void *a, const void *b)
{
	const pid_t *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

ssize_t process_list(pid_t **out)
{
	DIR *dir = opendir("/proc");
	struct dirent *entry;
	size_t count = 0, room = 0;
	pid_t *list = NULL;

	*out = NULL;
	if (!dir)
		return -errno;
	while ((entry = readdir(dir))) {
		if (!isdigit((unsigned char)entry->d_name[0]))
			continue;
		if (count == room) {
			pid_t *more;

			room = room ? 2 * room : 256;
			more = reallocarray(list, room, sizeof(*list));
			if (!more) {
				free(list);
				closedir(dir);
				return -ENOMEM;
			}
			list = more;
		}
		list[count++] = (pid_t)atoi(entry->d_name);
	}
	closedir(dir);
	if (count)
		qsort(list, count, sizeof(*list), ascending);
	*out = list;
	return (ssize_t)count;
}

/* Check for mappings, not for an open fd: a child that only inherited the fd has no mappings of the
 * device (VM_DONTCOPY) and does not use the GPU. */
static enum process_gpu maps_device(pid_t pid)
{
	enum process_gpu out = PROCESS_GPU_NO;
	char path[64], *line = NULL;
	size_t room = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/maps", (int)pid);
	f = fopen(path, "re");
	if (!f)
		return PROCESS_GPU_UNKNOWN;
	while (out == PROCESS_GPU_NO && getline(&line, &room, f) > 0) {
		const char *name = strchr(line, '/');

		if (name && strcmp(name, DEVICE "\n") == 0)
			out = PROCESS_GPU_YES;
	}
	free(line);
	fclose(f);
	return out;
}

enum process_gpu process_gpu(pid_t pid)
{
	char path[64];

	if (access(DRIVER, F_OK) != 0 || !observe_names_match())
		return maps_device(pid);
	snprintf(path, sizeof(path), DRIVER "/%d", (int)pid);
	return access(path, F_OK) == 0 ? PROCESS_GPU_YES : PROCESS_GPU_NO;
}

/* Returns true if /proc shows that the program file is neither kfdsched nor kfdschedd. Returns
 * false if this user may not read the link. */
static bool is_another_program(pid_t pid)
{
	static const char deleted[] = " (deleted)"; /* suffix after an upgrade replaced the file */
	char path[64], program[PATH_MAX];
	const char *name;
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/%d/exe", (int)pid);
	n = readlink(path, program, sizeof(program) - 1);
	if (n <= 0)
		return false;
	program[n] = '\0';
	n -= (ssize_t)strlen(deleted);
	if (n > 0 && strcmp(program + n, deleted) == 0)
		program[n] = '\0';
	name = strrchr(program, '/') ? strrchr(program, '/') + 1 : program;
	return strcmp(name, NAME_COMMAND) != 0 && strcmp(name, NAME_DAEMON) != 0;
}

bool process_is_ours(pid_t pid)
{
	static const char *const names[] = {OWN_NAMES};
	char comm[16];

	process_name(pid, comm);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strcmp(comm, names[i]) == 0)
			return !is_another_program(pid);
	return false;
}

pid_t process_pid_inside(const struct process_identity *identity)
{
	if (identity->container.engine == CONTAINER_NONE && identity->depth == 1)
		return 0;
	return identity->pids[identity->depth - 1];
}

const char *process_state_name(char state)
{
	switch (state) {
	case 'R':
		return "running";
	case 'S':
		return "sleeping";
	case 'D':
		return "uninterruptible";
	case 'T':
		return "stopped";
	case 't':
		return "traced";
	case 'Z':
		return "zombie";
	case 'X':
	case 'x':
		return "dead";
	case 'I':
		return "idle";
	case 'P':
		return "parked";
	default:
		return "-";
	}
}

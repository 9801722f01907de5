// SPDX-License-Identifier: MIT
#include "cli/inspect/gpu_processes.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/inspect/process.h"
#include "cli/inspect/sources.h"
#include "common/allocate.h"
#include "common/own_names.h"
#include "include/kfdsched.h"
#include "kfd/sysfs.h"

#define PROCESSES 4096u /* maximum number read from the daemon, and from sysfs */
#define DEVICE "/dev/kfd"

static int by_pid(const void *a, const void *b)
{
	const pid_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

void gpu_processes_read(unsigned sources, const char *socket, struct gpu_processes *out)
{
	pid_t *pid = allocate(2 * PROCESSES, sizeof(*pid));
	size_t n = 0;

	*out = (struct gpu_processes){.pid = pid};
	if (sources & OBSERVE_BIT(OBSERVE_DAEMON))
		n = source_daemon_processes(socket, pid, PROCESSES);
	if (sources & OBSERVE_BIT(OBSERVE_SYSFS) && observe_names_match())
		n += sysfs_processes(pid + n, PROCESSES);
	qsort(pid, n, sizeof(*pid), by_pid);
	/* Skip duplicates, kfdsched and kfdschedd: the driver lists each process that has the
	 * device open, so also these two programs. */
	for (size_t i = 0; i < n; i++)
		if ((i + 1 == n || pid[i] != pid[i + 1]) && !process_is_ours(pid[i]))
			pid[out->count++] = pid[i];
}

void gpu_processes_of_driver(struct gpu_processes *out)
{
	*out = (struct gpu_processes){.pid = allocate(PROCESSES, sizeof(*out->pid))};
	out->count = sysfs_processes(out->pid, PROCESSES);
}

void gpu_processes_free(struct gpu_processes *list)
{
	free(list->pid);
	*list = (struct gpu_processes){0};
}

bool gpu_processes_has(const struct gpu_processes *list, pid_t pid)
{
	return list->count && bsearch(&pid, list->pid, list->count, sizeof(pid), by_pid);
}

static bool daemon_replies(const char *socket, char why[static OBSERVE_WHY / 2])
{
	struct kfdsched *daemon = allocated(kfdsched_open(socket));
	char *text = NULL;
	int rc = kfdsched_summary(daemon, &text);

	snprintf(why, OBSERVE_WHY / 2, "%s", kfdsched_errmsg(daemon));
	free(text);
	kfdsched_close(daemon);
	return rc == 0;
}

int observe_can_list(const char *socket, char why[static OBSERVE_WHY])
{
	char daemon[OBSERVE_WHY / 2];
	bool driver = access(SYSFS_PROCESSES, F_OK) == 0;

	if ((driver && observe_names_match()) || daemon_replies(socket, daemon))
		return 0;
	if (driver) {
		snprintf(
			why, OBSERVE_WHY,
			"GPU processes cannot be listed here: the driver's pids are of another pid "
			"namespace, and %s (in a container: mount it)",
			daemon);
		return -EXDEV;
	}
	snprintf(why, OBSERVE_WHY,
		 "there is no AMD GPU here: " SYSFS_PROCESSES " does not exist (load amdgpu; start "
		 "a container with --device /dev/kfd and the machine's /sys)");
	return -ENODEV;
}

/* Returns whether the process has the device mapped; PROCESS_GPU_UNKNOWN if this user may not read
 * its mappings. An open fd does not count: a child that only inherited it has no mappings of the
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

	if (access(SYSFS_PROCESSES, F_OK) != 0 || !observe_names_match())
		return maps_device(pid);
	snprintf(path, sizeof(path), SYSFS_PROCESSES "/%d", (int)pid);
	return access(path, F_OK) == 0 ? PROCESS_GPU_YES : PROCESS_GPU_NO;
}

/* Returns true if the program file of the process is neither kfdsched nor kfdschedd. Returns false
 * also if this user may not read the link in /proc. */
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

	proc_comm(pid, comm);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strcmp(comm, names[i]) == 0)
			return !is_another_program(pid);
	return false;
}

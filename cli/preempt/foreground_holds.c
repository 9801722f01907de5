// SPDX-License-Identifier: MIT
#include "cli/preempt/foreground_holds.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Returns the command of a kfdsched (its argv[1]) if that is suspend or preempt; otherwise NULL. */
static const char *command_of(pid_t pid)
{
	static const char *const commands[] = {"suspend", "preempt"};
	char path[64], arguments[256] = "";
	const char *name, *cmd;
	size_t got = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/cmdline", (int)pid);
	f = fopen(path, "re");
	if (f) {
		got = fread(arguments, 1, sizeof(arguments) - 1, f);
		fclose(f);
	}
	name = strrchr(arguments, '/') ? strrchr(arguments, '/') + 1 : arguments;
	cmd = arguments + strlen(arguments) + 1;
	if (strcmp(name, "kfdsched") != 0 || cmd >= arguments + got)
		return NULL;
	for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++)
		if (strcmp(cmd, commands[i]) == 0)
			return commands[i];
	return NULL;
}

/* Returns true if a file in /proc/PID/fdinfo is that of a pidfd of `target`. */
static bool is_pidfd_of(const char *path, pid_t target)
{
	FILE *f = fopen(path, "re");
	char line[128];
	bool is = false;
	int pid;

	while (f && !is && fgets(line, sizeof(line), f))
		is = sscanf(line, "Pid: %d", &pid) == 1 && pid == target;
	if (f)
		fclose(f);
	return is;
}

/* Returns true if the process `pid` has a pidfd of `target` open. False also for processes of other
 * users, whose fdinfo cannot be read. */
static bool has_pidfd_of(pid_t pid, pid_t target)
{
	char directory[64], path[sizeof(directory) + 256];
	const struct dirent *entry;
	bool has = false;
	DIR *dir;

	snprintf(directory, sizeof(directory), "/proc/%d/fdinfo", (int)pid);
	dir = opendir(directory);
	while (dir && !has && (entry = readdir(dir))) {
		snprintf(path, sizeof(path), "%s/%s", directory, entry->d_name);
		has = entry->d_name[0] != '.' && is_pidfd_of(path, target);
	}
	if (dir)
		closedir(dir);
	return has;
}

/* The holding kfdsched is two processes, parent and child, and both have the pidfd. The lower pid
 * is reported, which is nearly always the parent's; killing either ends both. */
bool holder_find(pid_t target, struct holder *out)
{
	DIR *proc = opendir("/proc");
	const struct dirent *entry;

	*out = (struct holder){0};
	while (proc && (entry = readdir(proc))) {
		pid_t pid = (pid_t)atoi(entry->d_name);
		const char *cmd = pid > 0 && pid != getpid() ? command_of(pid) : NULL;

		if (cmd && (!out->pid || pid < out->pid) && has_pidfd_of(pid, target))
			*out = (struct holder){.pid = pid, .cmd = cmd};
	}
	if (proc)
		closedir(proc);
	return out->pid > 0;
}

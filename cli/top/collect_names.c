// SPDX-License-Identifier: MIT
#include "cli/top/collect_names.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/inspect/process.h"
#include "common/proc_stat.h"

#define CHECK_NS 1000000000u  /* 1 s: time between two checks for a reused pid */
#define REREAD_NS 5000000000u /* 5 s: after it the name is read again; an exec changes it */

struct name {
	pid_t pid, inner_pid;
	uint64_t started; /* common/proc_stat.h */
	uint64_t read_ns, checked_ns;
	bool gone;     /* no process has this pid (a thread may have it) */
	uint64_t used; /* names.looks of the last sample that had this process */
	char command[TOP_COMMAND_BYTES];
};

/* Cache of names, mostly in the order of the processes in the state, so that find() is fast. */
struct command_names {
	struct name *name;
	size_t count, room;
	uint64_t samples; /* number of samples */
};

struct command_names *names_open(void)
{
	return calloc(1, sizeof(struct command_names));
}

void names_close(struct command_names *names)
{
	if (names)
		free(names->name);
	free(names);
}

/* Returns the length of the directory part of the program's path, which is not shown. */
static size_t directory(const char *command)
{
	size_t end = strcspn(command, " "), begin = end;

	while (begin && command[begin - 1] != '/')
		begin--;
	return begin < end ? begin : 0;
}

static void read_name(struct name *name, uint64_t now)
{
	struct process_identity identity;
	const char *command;
	int rc;

	name->read_ns = name->checked_ns = now;
	name->command[0] = '\0';
	name->inner_pid = 0;
	name->started = 0;
	rc = process_identify(name->pid, &identity);
	name->gone = rc == -ESRCH || rc == -EINVAL;
	if (rc)
		return;
	name->started = identity.started;
	command = identity.command[0] ? identity.command : identity.comm;
	snprintf(name->command, sizeof(name->command), "%s", command + directory(command));
	if (identity.depth > 1)
		name->inner_pid = identity.pids[identity.depth - 1];
}

/* Update a name if it is due, or if the pid belongs to another process now. */
static void keep_up(struct name *name, uint64_t now)
{
	struct proc_stat stat;

	if (!name->read_ns || now - name->read_ns >= REREAD_NS) {
		read_name(name, now);
	} else if (now - name->checked_ns >= CHECK_NS) {
		name->checked_ns = now;
		proc_stat(name->pid, &stat);
		if (stat.started != name->started)
			read_name(name, now);
	}
}

/* near: index at which the entry probably is. Adds an entry if there is none; NULL: no memory. */
static struct name *find(struct command_names *names, pid_t pid, size_t near)
{
	struct name *grown;

	if (near < names->count && names->name[near].pid == pid)
		return &names->name[near];
	for (size_t i = 0; i < names->count; i++)
		if (names->name[i].pid == pid)
			return &names->name[i];
	if (names->count == names->room) {
		grown = reallocarray(names->name, names->room + 64, sizeof(*grown));
		if (!grown)
			return NULL;
		names->name = grown;
		names->room += 64;
	}
	names->name[names->count] = (struct name){.pid = pid};
	return &names->name[names->count++];
}

int names_add(struct command_names *names, struct top_state *state)
{
	size_t n_valid = 0, there = 0;

	names->samples++;
	for (size_t i = 0; i < state->process_count; i++) {
		struct top_process *process = &state->processes[i];
		struct name *name = find(names, process->pid, i);

		if (!name)
			return -ENOMEM;
		keep_up(name, state->ns);
		name->used = names->samples;
		/* Remove processes that have ended, because sysfs lists them for some time. Not
		 * those of the daemon, because its pids may be of another namespace. */
		if (!process->by_daemon && name->gone)
			continue;
		process->inner_pid = name->inner_pid;
		if (name->command[0])
			memcpy(process->command, name->command, sizeof(process->command));
		if (there != i)
			state->processes[there] = *process;
		there++;
	}
	state->process_count = there;
	for (size_t i = 0; i < names->count; i++)
		if (names->name[i].used == names->samples)
			names->name[n_valid++] = names->name[i];
	names->count = n_valid;
	return 0;
}

// SPDX-License-Identifier: MIT
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "common/array.h"
#include "common/clock.h"
#include "common/proc.h"
#include "sim/host/idle.h"
#include "sim/host/kernel_wait.h"
#include "sim/host/sim_priv.h"

#define LIBRARY "libkfdsim-time.so"
#define PROGRAMS 64u /* programs that are named in the report */
/* The CPU time of bypass_check() is limited to 1/CHECK_SHARE of the real time plus
 * CHECK_FREE_NS. */
#define CHECK_SHARE 50u
#define CHECK_FREE_NS 20000000ull

struct program {
	char command[16];
	bool has_library;
	/* The system call in which the program waited on the machine's clock instead of virtual
	 * time; NULL: no such wait was seen. */
	const char *call;
	pid_t pid; /* pid (inside the simulation) of the first process that ran it */
	unsigned processes;
};

/* A process that has been examined. If it executes another program, it is examined again. */
struct process_seen {
	pid_t pid;
	dev_t device;
	ino_t inode;	  /* of the program that was examined */
	bool has_library; /* it has loaded the time library, or its maps are unreadable */
	bool is_counted;
};

struct bypass {
	pid_t init;
	uint64_t begin_ns; /* real time */
	uint64_t spent_ns; /* CPU time of all checks */
	struct program programs[PROGRAMS];
	size_t n_programs;
	struct process_seen *seen;
	size_t n_seen, cap_seen;
};

struct bypass *bypass_new(pid_t init)
{
	struct bypass *bypass = calloc(1, sizeof(*bypass));

	if (!bypass)
		return NULL;
	bypass->init = init;
	bypass->begin_ns = clock_of(CLOCK_MONOTONIC);
	return bypass;
}

void bypass_free(struct bypass *bypass)
{
	if (!bypass)
		return;
	free(bypass->seen);
	free(bypass);
}

static struct process_seen *find(const struct bypass *bypass, pid_t pid)
{
	for (size_t i = 0; i < bypass->n_seen; i++)
		if (bypass->seen[i].pid == pid)
			return &bypass->seen[i];
	return NULL;
}

static struct process_seen *add(struct bypass *bypass, pid_t pid)
{
	if (ARRAY_GROW(bypass->seen, bypass->cap_seen, bypass->n_seen + 1))
		return NULL;
	bypass->seen[bypass->n_seen] = (struct process_seen){.pid = pid, .has_library = true};
	return &bypass->seen[bypass->n_seen++];
}

/* Returns the entry of the process, and examines its program if that is new; NULL: no memory. */
static struct process_seen *see(struct bypass *bypass, pid_t pid)
{
	struct process_seen *process = find(bypass, pid);
	char path[64];
	struct stat st;

	if (!process)
		process = add(bypass, pid);
	snprintf(path, sizeof(path), "/proc/%d/exe", pid);
	if (!process || stat(path, &st) ||
	    (st.st_dev == process->device && st.st_ino == process->inode))
		return process;
	*process = (struct process_seen){
		.pid = pid,
		.device = st.st_dev,
		.inode = st.st_ino,
		.has_library = proc_maps_find(pid, LIBRARY, NULL, 0) != 0,
	};
	return process;
}

/* Returns the entry of a program, a new one if necessary; NULL if the table is full. */
static struct program *program_of(struct bypass *bypass, const char *command, bool has_library)
{
	struct program *program = bypass->programs;

	for (; program < bypass->programs + bypass->n_programs; program++)
		if (program->has_library == has_library && !strcmp(program->command, command))
			return program;
	if (bypass->n_programs == PROGRAMS)
		return NULL;
	bypass->n_programs++;
	snprintf(program->command, sizeof(program->command), "%s", command);
	program->has_library = has_library;
	return program;
}

/* Records a process that bypasses the time library. Each process counts once for its program. */
static void count(struct bypass *bypass, struct process_seen *process, const char *call)
{
	char command[16];
	struct program *program;

	idle_name(process->pid, command, sizeof(command));
	program = program_of(bypass, command, process->has_library);
	if (!program)
		return;
	if (call && !program->call)
		program->call = call;
	if (process->is_counted)
		return;
	process->is_counted = true;
	if (!program->processes++)
		program->pid = idle_number(process->pid);
}

/* Checks whether a thread bypasses the time library. A stopped process is skipped, because it may
 * not have loaded its libraries yet. */
static void read_thread(void *context, pid_t pid, pid_t tid)
{
	struct bypass *bypass = context;
	struct process_seen *process;
	struct kernel_wait wait;

	if (pid == bypass->init)
		return;
	kernel_wait_read(tid, &wait);
	if (!wait.is_call || kernel_wait_is_stop(&wait))
		return;
	process = see(bypass, pid);
	if (process && (wait.timed || !process->has_library))
		count(bypass, process, wait.timed ? wait.call : NULL);
}

void bypass_check(struct bypass *bypass, const struct idle *idle)
{
	uint64_t real = clock_of(CLOCK_MONOTONIC) - bypass->begin_ns, begin;

	if (bypass->spent_ns > CHECK_FREE_NS + real / CHECK_SHARE)
		return;
	begin = clock_of(CLOCK_THREAD_CPUTIME_ID);
	idle_each(idle, read_thread, bypass);
	bypass->spent_ns += clock_of(CLOCK_THREAD_CPUTIME_ID) - begin;
}

void bypass_end(struct bypass *bypass, pid_t tid)
{
	struct process_seen *process = find(bypass, tid);

	if (process)
		*process = bypass->seen[--bypass->n_seen];
}

static void log_program(const struct program *program)
{
	char others[32] = "";

	if (program->processes > 1)
		snprintf(others, sizeof(others), " and %u more", program->processes - 1);
	if (program->has_library)
		sim_log("%s (process %d%s) waited in %s on this machine's clock, because it called the "
			"kernel directly, bypassing the time library",
			program->command, program->pid, others, program->call);
	else
		sim_log("%s (process %d%s) uses this machine's clock%s%s, because it runs without the "
			"time library: it is linked statically, is for another processor, or has "
			"another /run",
			program->command, program->pid, others,
			program->call ? ", on which it waited in " : "",
			program->call ? program->call : "");
}

void bypass_log(const struct bypass *bypass)
{
	for (size_t i = 0; i < bypass->n_programs; i++)
		log_program(&bypass->programs[i]);
}

json_t *bypass_json(const struct bypass *bypass)
{
	json_t *list = json_array();

	for (size_t i = 0; i < bypass->n_programs; i++) {
		const struct program *program = &bypass->programs[i];

		json_array_append_new(
			list, json_pack("{s:s, s:i, s:i, s:b, s:s?}", "command", program->command,
					"pid", program->pid, "processes", (int)program->processes,
					"library", program->has_library, "call", program->call));
	}
	return list;
}

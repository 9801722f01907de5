// SPDX-License-Identifier: MIT
#include "cli/top/collect.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/inspect/sources.h"
#include "cli/util/read_files.h"
#include "common/allocate.h"
#include "common/clock.h"
#include "include/kfdsched.h"
#include "kfd/sysfs.h"

/* Time for which a daemon that did not reply is not queried again, because a query without a reply
 * takes two seconds. */
#define PATIENCE_NS 5000000000u /* 5 s */
#define TOPOLOGY "/sys/class/kfd/kfd/topology/nodes"
#define PROCESSES_NS 1000000000 /* 1 s: time between two readings of the processes in sysfs */
#define CHECK_NS 1000000000u	/* 1 s: time between two checks for a reused pid */
#define NAME_NS 5000000000u	/* 5 s: time after which a name is read again: exec changes it */

/* ---- names, from /proc ---- */

struct name {
	pid_t pid, inner_pid;
	uint64_t started; /* common/proc.h */
	uint64_t read_ns, checked_ns;
	bool gone;     /* no process has this pid (a thread may have it) */
	uint64_t used; /* value of command_names.samples at the last sample with this process */
	char command[TOP_COMMAND_BYTES];
};

/* Cache of names. Its entries are mostly in the order of the processes in struct top_state, so that
 * find_name() finds most of them without a search. */
struct command_names {
	struct name *name;
	size_t count, room;
	uint64_t samples; /* number of samples */
};

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

/* Reads a name again if it is older than NAME_NS, or if the pid belongs to another process now. */
static void keep_up(struct name *name, uint64_t now)
{
	struct proc_stat stat;

	if (!name->read_ns || now - name->read_ns >= NAME_NS) {
		read_name(name, now);
	} else if (now - name->checked_ns >= CHECK_NS) {
		name->checked_ns = now;
		proc_stat(name->pid, &stat);
		if (stat.started != name->started)
			read_name(name, now);
	}
}

/* Returns the entry of the process, adding it if new. near: index at which it probably is. */
static struct name *find_name(struct command_names *names, pid_t pid, size_t near)
{
	if (near < names->count && names->name[near].pid == pid)
		return &names->name[near];
	for (size_t i = 0; i < names->count; i++)
		if (names->name[i].pid == pid)
			return &names->name[i];
	names->name = allocate_next(names->name, names->count, &names->room, sizeof(*names->name));
	names->name[names->count] = (struct name){.pid = pid};
	return &names->name[names->count++];
}

/* Adds to each process its command and its pid within the container. Removes processes that only
 * sysfs lists and that have ended. */
static void add_names(struct command_names *names, struct top_state *state)
{
	size_t n_valid = 0, there = 0;

	names->samples++;
	for (size_t i = 0; i < state->process_count; i++) {
		struct top_process *process = &state->processes[i];
		struct name *name = find_name(names, process->pid, i);

		keep_up(name, state->ns);
		name->used = names->samples;
		/* Remove a process that has ended, because sysfs lists it for some time. Keep those
		 * that the daemon lists, because their pids may be of another namespace. */
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
}

/* ---- nodes and processes, from sysfs ---- */

struct driver_gpu {
	uint32_t gpu_id;
	char name[24];
	struct gpu_name names; /* gpu_id 0: not known */
	int32_t slots, compute_units;
};

/* Last values of one process in sysfs. */
struct driver_seen {
	pid_t pid;
	bool queues_read; /* the queue counts are valid */
	int32_t queues, compute_queues;
	int32_t compute_on[TOPOLOGY_GPUS];  /* compute queues, by index in driver.gpus[] */
	int32_t occupied_on[TOPOLOGY_GPUS]; /* compute units that hold waves, by the same index */
	int64_t vram_bytes;
};

struct driver {
	struct driver_gpu gpus[TOPOLOGY_GPUS];
	size_t gpu_count;
	uint64_t read_ns; /* time of the last reading of the processes; 0: never */
	struct driver_seen *seen;
	size_t seen_count;
	struct sysfs_queue queue[SYSFS_QUEUES];
};

static void read_gpus(struct driver *driver)
{
	struct topology_gpu gpus[TOPOLOGY_GPUS];
	struct gpu_name names[TOPOLOGY_GPUS];
	size_t named = gpu_names_read("", names, TOPOLOGY_GPUS);

	driver->gpu_count = topology_gpus(gpus, TOPOLOGY_GPUS);
	for (size_t g = 0; g < driver->gpu_count; g++) {
		struct driver_gpu *gpu = &driver->gpus[g];
		const struct gpu_name *name = gpu_name_of(names, named, gpus[g].gpu_id);

		*gpu = (struct driver_gpu){
			.gpu_id = gpus[g].gpu_id,
			.slots = gpus[g].cp_queues ? (int32_t)gpus[g].cp_queues : TOP_UNKNOWN,
			.compute_units = gpus[g].simds && gpus[g].simds_per_cu
						 ? (int32_t)(gpus[g].simds / gpus[g].simds_per_cu)
						 : TOP_UNKNOWN,
		};
		read_text(gpu->name, sizeof(gpu->name), TOPOLOGY "/%u/name", gpus[g].node);
		if (name)
			gpu->names = *name;
	}
}

static void read_queues(struct driver *driver, struct driver_seen *seen)
{
	int n = sysfs_queues(seen->pid, driver->queue, SYSFS_QUEUES);

	if (n < 0)
		return;
	seen->queues_read = true;
	seen->queues = n;
	for (int i = 0; i < n; i++) {
		if (!sysfs_is_compute(&driver->queue[i]))
			continue;
		seen->compute_queues++;
		for (size_t g = 0; g < driver->gpu_count; g++)
			seen->compute_on[g] += driver->gpus[g].gpu_id == driver->queue[i].gpu_id;
	}
}

/* Reads the values of one process from sysfs. queues: read its queues, too. waves: read the number
 * of compute units that the process occupies, too, for which the driver reads registers. */
static void read_process(struct driver *driver, struct driver_seen *seen, bool queues, bool waves)
{
	int64_t bytes, cus;

	seen->vram_bytes = TOP_UNKNOWN;
	for (size_t g = 0; g < driver->gpu_count; g++) {
		unsigned gpu_id = driver->gpus[g].gpu_id;

		if (!read_number(&bytes, SYSFS_PROCESSES "/%d/vram_%u", (int)seen->pid, gpu_id))
			seen->vram_bytes = (seen->vram_bytes < 0 ? 0 : seen->vram_bytes) + bytes;
		seen->occupied_on[g] = TOP_UNKNOWN;
		if (waves && !read_number(&cus, SYSFS_PROCESSES "/%d/stats_%u/cu_occupancy",
					  (int)seen->pid, gpu_id))
			seen->occupied_on[g] = cus < INT32_MAX ? (int32_t)cus : TOP_UNKNOWN;
	}
	if (queues)
		read_queues(driver, seen);
}

static void read_processes(struct driver *driver, const struct top_state *state)
{
	struct driver_seen *seen;
	struct gpu_processes users;

	gpu_processes_read(OBSERVE_BIT(OBSERVE_SYSFS), NULL, &users);
	seen = allocated(reallocarray(driver->seen, users.count + 1, sizeof(*seen)));
	driver->seen = seen;
	driver->seen_count = users.count;
	for (size_t i = 0; i < users.count; i++) {
		bool known = top_find_process(state, users.pid[i]) != NULL;

		seen[i] = (struct driver_seen){.pid = users.pid[i]};
		read_process(driver, &seen[i], !known, !state->by_daemon);
	}
	gpu_processes_free(&users);
}

static void add_nodes(const struct driver *driver, struct top_state *state)
{
	for (size_t g = 0; g < driver->gpu_count; g++) {
		const struct driver_gpu *gpu = &driver->gpus[g];
		struct top_node *node = top_find_node(state, gpu->gpu_id);

		if (!node)
			node = top_state_node(state, gpu->gpu_id);
		memcpy(node->name, gpu->name, sizeof(node->name));
		node->gpu = gpu->names;
		node->slots = gpu->slots;
		node->compute_units = gpu->compute_units;
		if (node->queues < 0)
			node->queues = 0; /* add_process() adds the queues */
	}
}

static void add_process(const struct driver *driver, const struct driver_seen *seen,
			struct top_state *state)
{
	struct top_process *process = top_find_process(state, seen->pid);
	bool by_daemon = process != NULL;

	/* While the daemon listed this process, its queues were not read. Now the daemon does not
	 * list it, so the process has ended: skip it. */
	if (!process && !seen->queues_read)
		return;
	if (!process)
		process = top_state_process(state, seen->pid);
	process->vram_bytes = seen->vram_bytes;
	if (!by_daemon) {
		process->queues = seen->queues;
		process->compute_queues = seen->compute_queues;
	}
	for (size_t g = 0; g < driver->gpu_count; g++) {
		struct top_node *node = top_find_node(state, driver->gpus[g].gpu_id);

		if (!by_daemon)
			node->queues += seen->compute_on[g];
		if (seen->occupied_on[g] >= 0)
			node->occupied =
				(node->occupied < 0 ? 0 : node->occupied) + seen->occupied_on[g];
	}
}

/* Adds the values that the daemon does not report: the nodes and their slots, the processes that
 * the daemon does not list, with their queues, and the VRAM of all processes. */
static void add_driver(struct driver *driver, struct top_state *state)
{
	for (size_t i = 0; i < state->node_count && !driver->gpu_count; i++)
		read_gpus(driver); /* amdgpu was loaded after the first sample */
	add_nodes(driver, state);
	/* Skip the processes if the driver uses the pids of another namespace, because these pids
	 * can be other processes here. */
	if (state->elsewhere || !observe_names_match())
		return;
	if (!driver->read_ns || state->ns - driver->read_ns >= PROCESSES_NS) {
		read_processes(driver, state);
		driver->read_ns = state->ns;
	}
	for (size_t i = 0; i < driver->seen_count; i++)
		add_process(driver, &driver->seen[i], state);
}

/* ---- all sources ---- */

struct gatherer {
	struct kfdsched *daemon;
	uint64_t silent_ns; /* time of the last query without a reply; 0: none */
	const char *socket;
	pid_t queried_worker; /* pid of the daemon's worker for which `elsewhere` is valid */
	bool elsewhere;	      /* the daemon is in another pid namespace */
	struct driver driver;
	struct command_names names;
	struct registers *registers;
};

struct gatherer *collect_open(const char *socket)
{
	struct gatherer *g = allocate(1, sizeof(*g));

	g->socket = socket;
	g->daemon = allocated(kfdsched_open(socket));
	g->registers = registers_open();
	read_gpus(&g->driver);
	return g;
}

void collect_close(struct gatherer *g)
{
	kfdsched_close(g->daemon);
	free(g->driver.seen);
	free(g->names.name);
	registers_close(g->registers);
	free(g);
}

/* Adds the daemon's data to *out. If the format of a reply is wrong, the part that was already
 * added is removed again. */
static void query_daemon(struct gatherer *g, struct top_state *out)
{
	char *text = NULL;
	json_t *status;
	int rc;

	if (g->silent_ns && out->ns < g->silent_ns + PATIENCE_NS) {
		snprintf(out->why, sizeof(out->why), "%s", kfdsched_errmsg(g->daemon));
		return;
	}
	g->silent_ns = 0;
	rc = kfdsched_summary(g->daemon, &text);
	if (rc) {
		snprintf(out->why, sizeof(out->why), "%s", kfdsched_errmsg(g->daemon));
		if (rc == -EAGAIN)
			g->silent_ns = out->ns;
		return;
	}
	status = json_loads(text, 0, NULL);
	free(text);
	rc = top_state_from_daemon(status, out);
	json_decref(status);
	if (rc) {
		uint64_t ns = out->ns;

		top_state_clear(out);
		out->ns = ns;
		snprintf(out->why, sizeof(out->why),
			 "the daemon is not a kfdschedd of this version: use the kfdsched of its "
			 "version");
	}
	/* Determine the daemon's pid namespace only once for each worker, because a process keeps
	 * its namespace. */
	if (out->by_daemon && out->worker_pid != g->queried_worker) {
		g->elsewhere = source_daemon_counts_otherwise(g->socket);
		g->queried_worker = out->worker_pid;
	}
	out->elsewhere = out->by_daemon && g->elsewhere;
}

void collect_sample(struct gatherer *g, bool registers, struct top_state *out)
{
	top_state_clear(out);
	out->ns = clock_ns();
	query_daemon(g, out);
	add_driver(&g->driver, out);
	if (!out->elsewhere)
		add_names(&g->names, out);
	if (registers && !out->elsewhere)
		registers_add(g->registers, out);
}

// SPDX-License-Identifier: MIT
#include "cli/top/collect_driver.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/inspect/gpu_processes.h"
#include "cli/util/read_files.h"
#include "kfd/gpu_name.h"
#include "kfd/sysfs.h"
#include "kfd/topology.h"

#define TOPOLOGY "/sys/class/kfd/kfd/topology/nodes"
#define REREAD_NS 1000000000 /* 1 s: time between two readings of the processes in sysfs */

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

/* ---- nodes ---- */

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

struct driver *driver_open(void)
{
	struct driver *driver = calloc(1, sizeof(*driver));

	if (driver)
		read_gpus(driver);
	return driver;
}

void driver_close(struct driver *driver)
{
	if (driver)
		free(driver->seen);
	free(driver);
}

/* ---- processes ---- */

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

/* queues: read the queues, too. waves: also read the number of compute units that the process
 * occupies, for which the driver reads registers. */
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

static int read_processes(struct driver *driver, const struct top_state *state)
{
	struct driver_seen *seen;
	struct gpu_processes users;
	int rc = gpu_processes_read(OBSERVE_BIT(OBSERVE_SYSFS), NULL, &users);

	driver->seen_count = 0;
	seen = rc ? NULL : reallocarray(driver->seen, users.count + 1, sizeof(*seen));
	if (seen)
		driver->seen = seen;
	for (size_t i = 0; seen && i < users.count; i++) {
		bool known = top_find_process(state, users.pid[i]) != NULL;

		seen[i] = (struct driver_seen){.pid = users.pid[i]};
		read_process(driver, &seen[i], !known, !state->by_daemon);
		driver->seen_count++;
	}
	gpu_processes_free(&users);
	return seen ? 0 : -ENOMEM;
}

/* ---- into the state ---- */

static int add_nodes(const struct driver *driver, struct top_state *state)
{
	for (size_t g = 0; g < driver->gpu_count; g++) {
		const struct driver_gpu *gpu = &driver->gpus[g];
		struct top_node *node = top_find_node(state, gpu->gpu_id);

		if (!node)
			node = top_state_node(state, gpu->gpu_id);
		if (!node)
			return -ENOMEM;
		memcpy(node->name, gpu->name, sizeof(node->name));
		node->gpu = gpu->names;
		node->slots = gpu->slots;
		node->compute_units = gpu->compute_units;
		if (node->queues < 0)
			node->queues = 0; /* add_process() adds the queues */
	}
	return 0;
}

static int add_process(const struct driver *driver, const struct driver_seen *seen,
		       struct top_state *state)
{
	struct top_process *process = top_find_process(state, seen->pid);
	bool by_daemon = process != NULL;

	/* The queues were not read because the daemon knew the process then. Now the daemon does
	 * not know it any more, so the process has ended. */
	if (!process && !seen->queues_read)
		return 0;
	if (!process)
		process = top_state_process(state, seen->pid);
	if (!process)
		return -ENOMEM;
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
	return 0;
}

int driver_add(struct driver *driver, struct top_state *state)
{
	int rc;

	for (size_t i = 0; i < state->node_count && !driver->gpu_count; i++)
		read_gpus(driver); /* amdgpu was loaded after driver_open() */
	rc = add_nodes(driver, state);
	/* If the driver uses the pids of another namespace, a pid in its files may be another
	 * process here. */
	if (rc || state->elsewhere || !observe_names_match())
		return rc;
	if (!driver->read_ns || state->ns - driver->read_ns >= REREAD_NS) {
		rc = read_processes(driver, state);
		driver->read_ns = state->ns;
	}
	for (size_t i = 0; !rc && i < driver->seen_count; i++)
		rc = add_process(driver, &driver->seen[i], state);
	return rc;
}

// SPDX-License-Identifier: MIT
#include "kfd/topology.h"

#include <dirent.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CWSR_ENABLE "/sys/module/amdgpu/parameters/cwsr_enable"
#define NODES "/sys/class/kfd/kfd/topology/nodes"
#define PATH 256

static void property(struct topology_gpu *gpu, const char *name, uint32_t value)
{
	const struct {
		const char *name;
		uint32_t *at;
	} known[] = {
		{"gfx_target_version", &gpu->gfx_target_version},
		{"num_xcc", &gpu->xccs},
		{"num_cp_queues", &gpu->cp_queues},
		{"num_sdma_engines", &gpu->sdma_engines},
		{"num_sdma_xgmi_engines", &gpu->xgmi_engines},
		{"num_sdma_queues_per_engine", &gpu->sdma_queues},
		{"simd_count", &gpu->simds},
		{"simd_per_cu", &gpu->simds_per_cu},
		{"capability", &gpu->capability},
		{"drm_render_minor", &gpu->render_minor},
		{"location_id", &gpu->location_id},
		{"domain", &gpu->domain},
		{"cwsr_size", &gpu->cwsr_bytes},
	};

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (strcmp(known[i].name, name) == 0)
			*known[i].at = value;
}

/* Returns the number in a file; `otherwise` if the file cannot be read. */
static uint32_t read_number(const char *path, uint32_t otherwise)
{
	uint32_t number = otherwise;
	FILE *file = fopen(path, "re");

	if (!file)
		return otherwise;
	if (fscanf(file, "%" SCNu32, &number) != 1)
		number = otherwise;
	fclose(file);
	return number;
}

/* Returns the gpu_id of a node; 0 if the node has no GPU, or if the file cannot be read. */
static uint32_t read_gpu_id(const char *nodes, const char *node)
{
	char path[PATH];

	snprintf(path, sizeof(path), "%s/%.20s/gpu_id", nodes, node);
	return read_number(path, 0);
}

static bool read_gpu(const char *nodes, const char *node, struct topology_gpu *out)
{
	char path[PATH], name[64];
	uint64_t value;
	FILE *file;

	*out = (struct topology_gpu){.node = (uint32_t)strtoul(node, NULL, 10),
				     .gpu_id = read_gpu_id(nodes, node),
				     .cwsr_bytes = CWSR_UNKNOWN};
	if (!out->gpu_id)
		return false;
	snprintf(path, sizeof(path), "%s/%.20s/properties", nodes, node);
	file = fopen(path, "re");
	if (!file)
		return false;
	while (fscanf(file, "%63s %" SCNu64, name, &value) == 2)
		if (value <= UINT32_MAX)
			property(out, name, (uint32_t)value);
	fclose(file);
	if (!out->xccs)
		out->xccs = 1;
	return true;
}

static int by_node(const void *a, const void *b)
{
	uint32_t left = ((const struct topology_gpu *)a)->node;
	uint32_t right = ((const struct topology_gpu *)b)->node;

	return (left > right) - (left < right);
}

size_t topology_gpus_below(const char *root, struct topology_gpu *out, size_t max)
{
	char nodes[PATH / 2];
	struct dirent *entry;
	size_t n = 0;
	DIR *dir;

	if (snprintf(nodes, sizeof(nodes), "%s" NODES, root) >= (int)sizeof(nodes))
		return 0;
	dir = opendir(nodes);
	while (dir && n < max && (entry = readdir(dir)))
		if (entry->d_name[0] != '.' && read_gpu(nodes, entry->d_name, &out[n]))
			n++;
	if (dir)
		closedir(dir);
	if (n)
		qsort(out, n, sizeof(*out), by_node);
	return n;
}

size_t topology_gpus(struct topology_gpu *out, size_t max)
{
	return topology_gpus_below("", out, max);
}

size_t topology_gpu_ids(uint32_t *out, size_t max)
{
	DIR *dir = opendir(NODES);
	struct dirent *entry;
	size_t n = 0;

	while (dir && n < max && (entry = readdir(dir)))
		if (entry->d_name[0] != '.' && (out[n] = read_gpu_id(NODES, entry->d_name)) != 0)
			n++;
	if (dir)
		closedir(dir);
	return n;
}

const struct topology_gpu *topology_find(const struct topology_gpu *gpus, size_t n, uint32_t gpu_id)
{
	for (size_t i = 0; i < n; i++)
		if (gpus[i].gpu_id == gpu_id)
			return &gpus[i];
	return NULL;
}

bool cwsr_is_missing(char why[static CWSR_WHY])
{
	struct topology_gpu gpus[TOPOLOGY_GPUS];
	size_t n;

	if (read_number(CWSR_ENABLE, 1) == 0) {
		snprintf(why, CWSR_WHY, "running waves cannot be saved (amdgpu.cwsr_enable=0)");
		return true;
	}
	n = topology_gpus(gpus, TOPOLOGY_GPUS);
	for (size_t i = 0; i < n; i++) {
		if (gpus[i].cwsr_bytes)
			continue;
		snprintf(why, CWSR_WHY,
			 "running waves cannot be saved by GPU %u (cwsr_size 0 in its topology)",
			 gpus[i].gpu_id);
		return true;
	}
	return false;
}

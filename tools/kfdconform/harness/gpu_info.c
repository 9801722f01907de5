// SPDX-License-Identifier: MIT
/* Reads the properties of the GPUs from the topology. */
#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "tools/kfdconform/harness/harness.h"

#define NODES "/sys/class/kfd/kfd/topology/nodes"
#define SIMULATION "/sys/class/kfd/kfd/simulation.json"
#define NODES_MAX 256u
/* Bytes of debugger memory for each wave. The driver rounds their sum up to 64 bytes
 * (kfd_queue.c). */
#define DEBUGGER_BYTES_A_WAVE 32u

int harness_node_number(unsigned node, const char *file, const char *key, uint64_t *out)
{
	char path[128], line[160];
	int r = -ENOENT;
	FILE *f;

	snprintf(path, sizeof path, NODES "/%u/%s", node, file);
	f = fopen(path, "re");
	if (!f)
		return -errno;
	while (r && fgets(line, sizeof line, f)) {
		const char *at = line;

		if (key && (strncmp(line, key, strlen(key)) || line[strlen(key)] != ' '))
			continue;
		at += key ? strlen(key) : 0;
		*out = strtoull(at, NULL, 10);
		r = 0;
	}
	fclose(f);
	return r;
}

uint64_t harness_property(unsigned node, const char *key)
{
	uint64_t value = 0;

	CHECK_IS(harness_node_number(node, "properties", key, &value), 0);
	return value;
}

static uint32_t property(unsigned node, const char *key)
{
	return (uint32_t)harness_property(node, key);
}

/* Returns the node of the nth GPU, or -1 if there is none. A node without SIMDs is not counted,
 * even if a faulty driver gives it a gpu_id. */
static int gpu_node(unsigned nth)
{
	for (unsigned node = 0; node < NODES_MAX; node++) {
		uint64_t id;

		if (harness_node_number(node, "gpu_id", NULL, &id))
			return -1;
		if (id && property(node, "simd_count") && !nth--)
			return (int)node;
	}
	return -1;
}

int harness_shape(unsigned nth, struct gpu_shape *out)
{
	int node = gpu_node(nth);
	uint32_t waves, most;
	uint64_t id;

	if (node < 0 || harness_node_number((unsigned)node, "gpu_id", NULL, &id))
		return -ENODEV;
	*out = (struct gpu_shape){
		.node = (unsigned)node,
		.gpu_id = (uint32_t)id,
		.gfx_target_version = property((unsigned)node, "gfx_target_version"),
		.render_minor = property((unsigned)node, "drm_render_minor"),
		.cus = property((unsigned)node, "simd_count") /
		       property((unsigned)node, "simd_per_cu"),
		.xccs = property((unsigned)node, "num_xcc"),
		.cwsr_bytes = property((unsigned)node, "cwsr_size"),
		.ctl_stack_bytes = property((unsigned)node, "ctl_stack_size"),
		.cp_queues = property((unsigned)node, "num_cp_queues"),
	};
	if (!out->xccs)
		out->xccs = 1;
	waves = out->cus / out->xccs * 40;
	most = property((unsigned)node, "array_count") /
	       property((unsigned)node, "simd_arrays_per_engine") / out->xccs * 512;
	if (waves > most)
		waves = most;
	/* The save area of each XCC is followed by memory for the debugger, which must be mapped
	 * as well (kfd_queue.c). */
	out->save_mapping =
		((uint64_t)out->cwsr_bytes + (uint64_t)waves * DEBUGGER_BYTES_A_WAVE) * out->xccs;
	return 0;
}

static json_t *simulation(void)
{
	return json_load_file(SIMULATION, 0, NULL);
}

bool harness_simulated(void)
{
	return !access(SIMULATION, F_OK);
}

/* Waits until the value has been the same for 20 reads, 25 ms apart, because the file shows a call
 * up to 100 ms late. Counts sleeps instead of time, because the machine may be stopped during
 * one. */
long long harness_settled(const char *key)
{
	long long value = -1;

	for (int same = 0; same < 20; same++) {
		json_t *file = simulation();
		long long now = json_integer_value(json_object_get(file, key));

		CHECK(file);
		json_decref(file);
		if (now != value)
			same = 0;
		value = now;
		sleep_ms(25);
	}
	return value;
}

double harness_unknown_kernel_us(void)
{
	json_t *file = simulation();
	double us = json_number_value(
		       json_object_get(json_object_get(file, "costs"), "unknown_kernel_us")),
	       scale = json_number_value(json_object_get(file, "time_scale"));

	json_decref(file);
	return us > 0 && scale > 0 ? us / scale : 0;
}

int harness_machine(struct kfdabi_machine *out)
{
	json_t *file = simulation();
	const char *kernel = json_string_value(json_object_get(file, "kernel"));
	struct gpu_shape shape;
	struct utsname name;
	int r = harness_shape(0, &shape), known = kernel ? kfdabi_kernel_find(kernel) : -1;

	json_decref(file);
	if (r)
		return r;
	uname(&name);
	*out = (struct kfdabi_machine){
		.kernel = known >= 0 ? (enum kfdabi_kernel)known
				     : kfdabi_kernel_of_release(name.release),
		.gfx_target_version = shape.gfx_target_version,
		.xccs = shape.xccs,
	};
	while (gpu_node(out->nodes) >= 0)
		out->nodes++;
	return 0;
}

// SPDX-License-Identifier: MIT
/* Reads the properties of the GPUs from the topology. */
#include <elf.h>
#include <jansson.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "common/wait.h"
#include "tools/kernels/code_objects.h"
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

/* Returns kfdsim's wall time in us for a workgroup of an unknown kernel; 0 on hardware. */
static double harness_unknown_kernel_us(void)
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

/* ---- the spin kernel ----
 * Work for a queue: kfdreplay's spin kernel, loaded without a runtime. Its code object is position
 * independent, so loading means copying its segments to memory where the GPU can execute them.
 *
 * On kfdsim such a kernel takes the profile's unknown_kernel_us per workgroup, whatever its
 * arguments are, so the number of workgroups determines the time.
 */

#define KERNEL "kfdreplay_spin.kd"
#define GROUP 256u	     /* work-items, as the kernel requires */
#define GROUPS_A_CU 8u	     /* workgroups of 4 waves that fill a compute unit of gfx9 */
#define TICKS_A_MS 100000u   /* of the 100 MHz counter */
#define SHORT_TICKS 1000u    /* 10 us */
#define KERNARG_OFFSET 1024u /* in the page of the read pointer */
#define BEGUN_OFFSET 3072u   /* a signal in the same page */
#define BEGINS_MS 4000u

static const char *gpu_name(uint32_t version)
{
	return version == 90008	  ? "gfx908"
	       : version == 90010 ? "gfx90a"
	       : version == 90402 ? "gfx942"
				  : "";
}

/* Returns the value of a dynamic symbol of the code object; 0 if it has none. */
static uint64_t find_symbol(const char *image, const char *name)
{
	const Elf64_Ehdr *head = (const void *)image;
	const Elf64_Shdr *sections = (const void *)(image + head->e_shoff);

	for (unsigned i = 0; i < head->e_shnum; i++) {
		const Elf64_Sym *symbols = (const void *)(image + sections[i].sh_offset);
		const char *names = image + sections[sections[i].sh_link].sh_offset;

		if (sections[i].sh_type != SHT_DYNSYM)
			continue;
		for (size_t k = 0; k < sections[i].sh_size / sizeof *symbols; k++)
			if (!strcmp(names + symbols[k].st_name, name))
				return symbols[k].st_value;
	}
	return 0;
}

/* Loads the kernel and returns the GPU address of its kernel descriptor. */
static uint64_t load(const struct gpu_file *gpu)
{
	const struct code_object *object =
		code_object_find(gpu_name(gpu->shape.gfx_target_version));
	const Elf64_Phdr *segments;
	const Elf64_Ehdr *head;
	struct buffer code;
	const char *image;
	uint64_t end = 0;

	if (!object && harness_simulated())
		return 0x1000; /* no kernel was built for this GPU; kfdsim does not execute it */
	if (!object)
		SKIP("no kernel is built for this kind of GPU");
	image = object->data;
	head = (const void *)image;
	segments = (const void *)(image + head->e_phoff);
	for (unsigned i = 0; i < head->e_phnum; i++)
		if (segments[i].p_type == PT_LOAD &&
		    segments[i].p_vaddr + segments[i].p_memsz > end)
			end = segments[i].p_vaddr + segments[i].p_memsz;
	gtt_new(gpu, (end + 4095) & ~4095ull, &code);
	for (unsigned i = 0; i < head->e_phnum; i++)
		if (segments[i].p_type == PT_LOAD)
			memcpy((char *)code.cpu + segments[i].p_vaddr, image + segments[i].p_offset,
			       segments[i].p_filesz);
	return (uint64_t)(uintptr_t)code.cpu + find_symbol(image, KERNEL);
}

/* Submits a dispatch as a grid of two dimensions, of `workgroups` times `times` workgroups. */
static void dispatch(struct raw_queue *queue, uint32_t workgroups, uint32_t times, uint64_t ticks,
		     struct signal *signal)
{
	/* A dispatch with the barrier bit. */
	uint32_t packet[16] = {
		2 | 1u << 8 | 2u << 16, GROUP | 1u << 16, 1, workgroups * GROUP, times, 1};
	uint64_t *kernarg = (void *)((char *)queue->pointers[1].cpu + KERNARG_OFFSET);
	uint64_t at, done = (uint64_t)(uintptr_t)signal;

	CHECK(workgroups && workgroups <= UINT32_MAX / GROUP);
	if (!queue->kernel)
		queue->kernel = load(queue->gpu);
	/* Each slot of the ring has arguments of its own, because earlier dispatches may
	 * still read theirs. */
	kernarg += 2 * (queue->written % RING_PACKETS);
	at = (uint64_t)(uintptr_t)kernarg;
	kernarg[0] = ticks;
	kernarg[1] = 0;
	memcpy(packet + 8, &queue->kernel, 8);
	memcpy(packet + 10, &at, 8);
	memcpy(packet + 14, &done, 8);
	queue_publish(queue, packet);
}

void queue_dispatch(struct raw_queue *queue, uint32_t workgroups, struct signal *signal)
{
	dispatch(queue, workgroups, 1, SHORT_TICKS, signal);
}

void queue_work(struct raw_queue *queue, unsigned ms, struct signal *signal)
{
	uint32_t full = queue->gpu->shape.cus * GROUPS_A_CU;
	double us = harness_unknown_kernel_us();

	if (us > 0)
		dispatch(queue, full, (uint32_t)(ms * 1000.0 / us + 1), SHORT_TICKS, signal);
	else
		dispatch(queue, full, 1, (uint64_t)ms * TICKS_A_MS, signal);
}

void queue_work_begun(struct raw_queue *queue, unsigned ms, struct signal *signal)
{
	struct signal *before = (void *)((char *)queue->pointers[1].cpu + BEGUN_OFFSET);

	before->value = 1;
	queue_barrier(queue, NULL, before);
	queue_work(queue, ms, signal);
	queue_ring(queue);
	CHECK(comes(&before->value, 0, BEGINS_MS));
	sleep_ns(200000); /* until the GPU advances to the next packet */
}

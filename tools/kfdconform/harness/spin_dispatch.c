// SPDX-License-Identifier: MIT
/*
 * Work for a queue: kfdreplay's spin kernel, loaded without a runtime. Its code object is position
 * independent, so loading means copying its segments to memory where the GPU can execute them.
 *
 * On kfdsim such a kernel takes the profile's unknown_kernel_us per workgroup, whatever its
 * arguments are, so the number of workgroups determines the time.
 */
#include <elf.h>
#include <string.h>

#include "common/wait.h"
#include "tools/kernels/code_objects.h"
#include "tools/kfdconform/harness/harness.h"

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

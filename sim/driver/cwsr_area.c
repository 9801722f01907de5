// SPDX-License-Identifier: MIT
/*
 * Writes what the driver leaves in the save areas of compute queues (kfd_mqd_manager_v9.c). An area
 * has one part for each XCC; the parts are the queue's save size apart. The driver writes to each
 * part a header of 16 bytes with offset and size of control stack and wave state. It also writes
 * the control stack, which it copies from the MQD. It does so for every compute queue of a process,
 * after a SUSPEND_QUEUES that suspended at least one queue. GET_QUEUE_WAVE_STATE writes the same
 * data for one queue, into memory of the caller. The GPU would write the wave state, which is not
 * simulated: the header has its size, but its bytes are not written.
 *
 * The control stack grows down towards the header. The wave state begins behind the control stack
 * and grows up.
 */
#include <errno.h>
#include <string.h>

#include "sim/driver/runlist_update.h"

#define STACK_BYTES_A_WAVE 8u /* of gfx9 (kfd_queue.c) */
#define STACK_STATE 0x40000000u

struct cwsr_header {
	uint32_t stack_offset, stack_bytes;
	uint32_t wave_offset, wave_bytes; /* offset: end of the wave state */
};

/* Returns how many of the queue's saved wave slots belong to this XCC. Workgroups are spread over
 * the XCCs evenly; the first XCCs get the remainder. */
static uint64_t wave_slots_of(const struct queue *queue, uint32_t xcc)
{
	uint32_t xccs = queue->process->sim->config.gpu.xccs;

	return queue->saved_wave_slots / xccs + (xcc < queue->saved_wave_slots % xccs);
}

/* Calculates the sizes of control stack and wave state of one XCC, in bytes; each is limited to the
 * space that the save area has for it. */
static void sizes_of(const struct queue *queue, uint32_t xcc, uint32_t *ctl_used,
		     uint32_t *wave_used)
{
	const struct sim_config *config = &queue->process->sim->config;
	uint64_t wave_slots = wave_slots_of(queue, xcc), stack = wave_slots * STACK_BYTES_A_WAVE,
		 waves = wave_slots * config->gpu.save_bytes_unit, stack_room, wave_room;

	if (stack)
		stack += 2 * sizeof(uint32_t); /* state that belongs to no wave */
	stack_room = config->node.ctl_stack_size - sizeof(struct cwsr_header);
	wave_room = queue->save_bytes > config->node.ctl_stack_size
			    ? queue->save_bytes - config->node.ctl_stack_size
			    : 0;
	*ctl_used = (uint32_t)(stack < stack_room ? stack : stack_room & ~3ull);
	*wave_used = (uint32_t)(waves < wave_room ? waves : wave_room);
}

/* Destination of a save area: the queue's own area, or memory that an ioctl's caller has passed. */
struct area_target {
	/* if call is NULL: process whose GPU memory `at` is in */
	const struct process *process;
	const struct call *call; /* if not NULL: `at` is in the caller's memory */
	uint64_t at;
};

static int put(const struct area_target *to, uint64_t offset, const void *from, size_t n)
{
	if (to->call)
		return call_write(to->call, to->at + offset, from, n);
	return access_write(to->process, to->at + offset, from, n) ? -EFAULT : 0;
}

/* Writes a control stack of @bytes bytes; the values of its words are invented. */
static int write_stack(const struct area_target *to, uint64_t at, uint32_t bytes)
{
	uint32_t words[1024], n = bytes / 4;

	while (n) {
		uint32_t part = n < 1024 ? n : 1024;

		for (uint32_t i = 0; i < part; i++)
			words[i] = i < 2 && part == n ? STACK_STATE : i;
		if (put(to, at, words, part * sizeof *words))
			return -EFAULT;
		at += part * sizeof *words;
		n -= part;
	}
	return 0;
}

static int write_xcc(const struct queue *queue, const struct area_target *to, uint32_t xcc)
{
	const struct sim *sim = queue->process->sim;
	uint64_t at = (uint64_t)xcc * queue->save_bytes;
	uint32_t end = sim->config.node.ctl_stack_size;
	struct cwsr_header header = {.wave_offset = end};
	char longer[40] = {0};

	sizes_of(queue, xcc, &header.stack_bytes, &header.wave_bytes);
	header.stack_offset = end - header.stack_bytes;
	header.wave_offset = end + header.wave_bytes;
	if (!rule_holds(sim, RULE_save_area_header_has_16_bytes)) {
		memcpy(longer, &header, sizeof header);
		(void)put(to, at, longer, sizeof longer);
	}
	if (!rule_holds(sim, RULE_save_area_header_tells_the_live_state))
		header.stack_bytes = header.wave_bytes = 0;
	if (put(to, at, &header, sizeof header))
		return -EFAULT;
	return write_stack(to, at + header.stack_offset, header.stack_bytes);
}

int savearea_copy(const struct queue *queue, const struct call *call, uint64_t at,
		  uint32_t *ctl_used, uint32_t *wave_used)
{
	const struct area_target to = {.call = call, .at = at};
	const struct sim *sim = queue->process->sim;
	uint32_t xccs = sim->config.gpu.xccs;
	int r = 0;

	if (!rule_holds(sim, RULE_wave_state_is_copied))
		xccs = 0;
	for (uint32_t xcc = 0; xcc < xccs && !r; xcc++)
		r = write_xcc(queue, &to, xcc);
	sizes_of(queue, 0, ctl_used, wave_used);
	return r;
}

void savearea_write(struct process *process)
{
	const struct sim *sim = process->sim;
	uint32_t xccs =
		rule_holds(sim, RULE_save_area_header_is_per_xcc) ? sim->config.gpu.xccs : 1;
	struct queue *queue;
	struct area_target to;
	bool first = true;

	if (process->dead || !process_mm_alive(process) ||
	    !rule_holds(sim, RULE_save_area_header_after_suspend) ||
	    (process->saved_before && !rule_holds(sim, RULE_save_area_header_at_each_suspend)))
		return;
	process->saved_before = true;
	TAILQ_FOREACH(queue, &process->queues, link)
	{
		if (!is_compute_type(queue->type) || !queue->save_address ||
		    (!first && !rule_holds(sim, RULE_save_area_header_of_every_queue)))
			continue;
		first = false;
		to = (struct area_target){.process = process, .at = queue->save_address};
		/* If a write fails, the rest of this queue's area is left out. As in the driver,
		 * the failure is not reported. */
		for (uint32_t xcc = 0; xcc < xccs && !write_xcc(queue, &to, xcc); xcc++)
			;
	}
}

// SPDX-License-Identifier: MIT
/*
 * Passes packets from a queue's ring to the GPU model, waits for values in memory, and carries out
 * the packets' effects when the model reports events. The formats of packets are in aql.c, sdma.c
 * and pm4.c.
 */
#include <string.h>

#include "sim/driver/files.h"
#include "sim/driver/runlist_update.h"
#include "sim/host/time_slots.h"

/* Returns true if this compute queue must not run. That happens only if --break names this rule:
 * then a node runs only as many compute queues of a process as it has hardware slots. */
static bool beyond_the_slots(const struct queue *queue)
{
	const struct sim *sim = queue->process->sim;
	const struct queue *other;
	uint32_t before = 0;

	if (rule_holds(sim, RULE_oversubscribed_queues_all_run))
		return false;
	TAILQ_FOREACH(other, &queue->process->queues, link)
	before +=
		other->node == queue->node && other->id < queue->id && is_compute_type(other->type);
	return before >= sim->config.node.num_cp_queues;
}

void engine_fetch(struct queue *queue)
{
	queue->process->acting = queue->node;
	if (!queue->ring || !queue->ring_bytes || beyond_the_slots(queue))
		return;
	queue->hw_ring = queue->ring;
	queue->hw_ring_bytes = queue->ring_bytes;
	if (is_aql(queue))
		aql_fetch(queue);
	else if (is_compute_type(queue->type))
		pm4_fetch(queue);
	else
		sdma_fetch(queue);
}

void engine_fault(struct queue *queue)
{
	struct process *process = queue->process;
	uint64_t va = process->sim->fault_va;

	if (process->dead) {
		queue->stopped = true;
		return;
	}
	if (!is_compute_type(queue->type) &&
	    !rule_holds(process->sim, RULE_sdma_fault_tells_where_it_stopped))
		va = queue->hw_ring;
	queue_halt(queue, "memory fault of the simulated GPU %u at address 0x%llx",
		   process->sim->nodes[queue->node].gpu_id, (unsigned long long)va);
	if (!debug_memory_violation(process, queue->node, va))
		fault_passed_on(process, queue->node);
	smi_vm_fault(process, queue->node);
}

int engine_submit(struct queue *queue, const struct packet *packet,
		  const struct gpu_packet *gpu_packet)
{
	struct node *node = &queue->process->sim->nodes[queue->node];
	struct gpu_packet tagged = *gpu_packet;
	int r;

	tagged.tag = queue->submitted;
	r = gpu_submit(node->gpu, (uint32_t)queue->gpu_queue, &tagged);
	if (r)
		return r;
	queue->ahead[queue->submitted % QUEUE_AHEAD] = *packet;
	if (is_aql(queue))
		queue->ahead[queue->submitted % QUEUE_AHEAD].count =
			(uint32_t)(packet->end - packet->at);
	queue->record->submitted += queue->ahead[queue->submitted % QUEUE_AHEAD].count;
	queue->submitted++;
	queue->fetched = packet->end;
	return 0;
}

/* Compares @value with @reference. @function: a code that SDMA and PM4 packets share. */
static bool compare(uint32_t function, uint64_t value, uint64_t reference)
{
	switch (function) {
	case 0:
		return true;
	case 1:
		return value < reference;
	case 2:
		return value <= reference;
	case 3:
		return value == reference;
	case 4:
		return value != reference;
	case 5:
		return value >= reference;
	default:
		return value > reference;
	}
}

static bool packet_ready(struct queue *queue, const struct packet *packet)
{
	const void *direct;
	uint64_t value = 0;
	size_t bytes;

	queue->process->acting = queue->node;
	if (packet->kind != PACKET_POLL)
		return aql_ready(queue, packet);
	bytes = packet->poll.wide ? 8 : 4;
	direct = access_direct(queue->process, packet->poll.address, bytes);
	if (direct)
		value = bytes == 8 ? __atomic_load_n((const uint64_t *)direct, __ATOMIC_ACQUIRE)
				   : __atomic_load_n((const uint32_t *)direct, __ATOMIC_ACQUIRE);
	else if (access_read(queue->process, packet->poll.address, &value, bytes))
		return false; /* a value that cannot be read never matches */
	return compare(packet->poll.function, value & packet->poll.mask, packet->poll.reference);
}

static void release(struct queue *queue)
{
	gpu_release(queue->process->sim->nodes[queue->node].gpu, (uint32_t)queue->gpu_queue);
}

bool packets_check_waiting(struct sim *sim)
{
	struct process *process;
	struct queue *queue;
	bool any = false;

	if (!sim->n_waiting)
		return false;
	TAILQ_FOREACH(process, &sim->processes, link)
	TAILQ_FOREACH(queue, &process->queues, link)
	{
		if (!queue->waiting ||
		    !packet_ready(queue, &queue->ahead[queue->waiting_at % QUEUE_AHEAD]))
			continue;
		queue->waiting = false;
		sim->n_waiting--;
		release(queue);
		any = true;
	}
	return any;
}

/* Handles a packet that waits for a value. If the value is there already, the queue continues at
 * once; otherwise the main loop polls the value (packets_check_waiting()). */
static void packet_waits(struct queue *queue, uint64_t tag)
{
	if (!queue->process->dead && packet_ready(queue, &queue->ahead[tag % QUEUE_AHEAD])) {
		release(queue);
		return;
	}
	queue->waiting = true;
	queue->waiting_at = tag;
	queue->process->sim->n_waiting++;
}

/* Adds 1 to a counter in the program's memory for each finished workgroup of kfdreplay's kernel.
 * Each workgroup has its own counter. */
static void workgroups_ended(struct queue *queue, const struct gpu_event *event)
{
	const struct packet *packet = &queue->ahead[event->tag % QUEUE_AHEAD];

	if (queue->process->dead || queue->stopped)
		return;
	for (uint32_t i = 0; i < event->count; i++) {
		uint64_t cell =
			packet->spin.cells + 4ull * (event->first + (uint64_t)i * event->stride);

		if (access_add(queue->process, cell, 1, sizeof(uint32_t))) {
			engine_fault(queue);
			return;
		}
	}
}

static void packet_started(struct queue *queue, const struct gpu_event *event)
{
	struct packet *packet = &queue->ahead[event->tag % QUEUE_AHEAD];

	if (queue->process->dead || queue->stopped)
		return;
	if (packet->kind == PACKET_PM4)
		pm4_effect(queue, packet, model_to_wall(queue->process->sim, event->t));
	if (is_aql(queue) && queue->process->sim->config.node.rptr_at_consumption)
		aql_consumed(queue, packet);
}

static void complete(struct queue *queue, const struct packet *packet, bool executed)
{
	queue->done++;
	queue->retired = packet->end;
	if (executed)
		queue->record->packets += packet->count;
	else
		queue->record->discarded += packet->count;
}

/* Carries out a retired packet's effects, and completes it. The order is results, ring (slot, read
 * pointer), signal, so that a thread which sees one of them sees the earlier ones, too. */
static void packet_effects(struct queue *queue, const struct gpu_event *event)
{
	struct sim *sim = queue->process->sim;
	struct packet *packet = &queue->ahead[event->tag % QUEUE_AHEAD];
	uint64_t end_ns = model_to_wall(sim, event->t);

	if (queue->process->dead || queue->stopped) {
		complete(queue, packet, false);
		return;
	}
	if (is_aql(queue)) {
		aql_effect(queue, packet, end_ns);
	} else if (is_compute_type(queue->type)) {
		pm4_retired(queue, packet);
	} else {
		sdma_effect(queue, packet, end_ns);
	}
	if (queue->moving.under_way)
		return;
	/* If the packet's own effects stopped the queue, the packet counts as discarded. */
	complete(queue, packet, !queue->stopped);
	if (sim->time)
		time_slots_effect(sim->time);
	engine_fetch(queue);
	packets_check_waiting(sim);
}

static void packet_retired(struct queue *queue, const struct gpu_event *event)
{
	struct sim *sim = queue->process->sim;
	struct packet *packet = &queue->ahead[event->tag % QUEUE_AHEAD];

	packet->start_ns = model_to_wall(sim, event->start_ns);
	if (!queue->process->dead && !queue->stopped &&
	    (packet->kind == PACKET_DISPATCH || packet->kind == PACKET_COPY ||
	     packet->kind == PACKET_FILL || packet->kind == PACKET_BLIT ||
	     packet->kind == PACKET_SPIN)) {
		queue->record->dispatches++;
		queue->record->timed_only += packet->kind == PACKET_DISPATCH;
		report_kernel(sim, packet->kernel);
	}
	packet_effects(queue, event);
}

/* Carries out an event of the queue. @again: the event was carried out before and started a
 * background copy. The copy is over now, and the remaining effects follow. */
static void carry_out(struct queue *queue, const struct gpu_event *event, bool again)
{
	queue->process->acting = queue->node;
	if (event->type == GPU_EVENT_STARTED)
		packet_started(queue, event);
	else if (event->type == GPU_EVENT_WAITING)
		packet_waits(queue, event->tag);
	else if (event->type == GPU_EVENT_WORKGROUPS)
		workgroups_ended(queue, event);
	else if (event->type == GPU_EVENT_RETIRED && again)
		packet_effects(queue, event);
	else if (event->type == GPU_EVENT_RETIRED)
		packet_retired(queue, event);
	if (queue->moving.under_way)
		queue->moving.by = *event;
}

void packets_event(struct node *node, const struct gpu_event *event)
{
	struct queue *queue;

	if (event->type == GPU_EVENT_UNMAPPED || event->type == GPU_EVENT_MAPPED) {
		runlist_update_event(node, event);
		return;
	}
	queue = event->queue < node->n_by_gpu_queue ? node->by_gpu_queue[event->queue] : NULL;
	if (!queue)
		return;
	if (!queue->moving.under_way)
		carry_out(queue, event, false);
	else if (!move_hold(queue, event))
		workgroups_ended(queue, event);
}

bool packets_copy_end(struct sim *sim)
{
	struct queue *queue;
	bool any = false;

	while ((queue = move_next_over(sim))) {
		struct moving *moving = &queue->moving;
		const struct gpu_event by = moving->by;
		unsigned n = 0;

		carry_out(queue, &by, true);
		while (!moving->under_way && n < moving->n_held) {
			const struct gpu_event event = moving->held[n++];

			carry_out(queue, &event, false);
		}
		moving->n_held -= n;
		memmove(moving->held, moving->held + n, moving->n_held * sizeof *moving->held);
		any = true;
	}
	return any;
}

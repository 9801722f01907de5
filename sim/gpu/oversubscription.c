// SPDX-License-Identifier: MIT
/*
 * Decides which mapped queues have a hardware slot.
 *
 * All mapped queues have one, unless there are more clients than VMIDs or more compute queues than
 * slots. In that case the firmware assigns slots for a quantum. When the quantum is over, clients
 * that had a slot go to the end of the list of clients, and queues that had a slot go to the end of
 * their client's list. Then the slots are filled from the front of these lists. Queues with packets
 * come before idle queues, which get the slots that are left. An idle queue gives up its slot at
 * once if a queue with packets can use it.
 */
#include <errno.h>
#include <stdlib.h>

#include "sim/gpu/gpu_priv.h"

int client_join(struct gpu *gpu, struct gpu_queue *queue, uint64_t id)
{
	struct gpu_client *client = NULL;

	FOR_LIST (struct gpu_client, each, &gpu->clients, node)
		if (each->id == id)
			client = each;
	if (!client) {
		client = calloc(1, sizeof(*client));
		if (!client)
			return -ENOMEM;
		client->id = id;
		list_init(&client->queues);
		list_insert(&gpu->clients, &client->node);
		gpu->n_clients++;
	}
	queue->client = client;
	list_insert(&client->queues, &queue->of_client);
	return 0;
}

void client_leave(struct gpu *gpu, struct gpu_queue *queue)
{
	struct gpu_client *client = queue->client;

	list_remove(&queue->of_client);
	if (!list_empty(&client->queues))
		return;
	list_remove(&client->node);
	gpu->n_clients--;
	free(client);
}

/* Returns true if the queue is mapped and has packets that have not retired. */
static bool ready(const struct gpu_queue *queue)
{
	return queue->mapped && queue->head < queue->tail;
}

/* Order in which choose() assigns slots: first to queues that have a slot and packets, then to
 * other queues with packets, then to idle queues. */
enum pass { PASS_KEEP, PASS_READY, PASS_IDLE, PASSES };

/* Returns true if choose() has to give the queue a slot in this pass (enum pass) and has not done
 * so in an earlier pass. */
static bool of_pass(const struct gpu_queue *queue, enum pass pass)
{
	if (!queue->mapped || queue->chosen)
		return false;
	switch (pass) {
	case PASS_KEEP:
		return queue->on && ready(queue);
	case PASS_READY:
		return ready(queue);
	default:
		return true;
	}
}

/* Sets `chosen` for the queues that are to have slots. If `keep` is set, queues that have a slot
 * and use it are chosen first. */
static void choose(struct gpu *gpu, bool keep)
{
	const struct gpu_config *config = &gpu->config;
	uint32_t clients = 0, slots = 0;

	FOR_LIST (struct gpu_client, client, &gpu->clients, node) {
		client->chosen = false;
		FOR_LIST (struct gpu_queue, queue, &client->queues, of_client)
			queue->chosen = false;
	}
	for (enum pass pass = keep ? PASS_KEEP : PASS_READY; pass < PASSES; pass++)
		FOR_LIST (struct gpu_client, client, &gpu->clients, node) {
			if (config->vmids && !client->chosen && clients == config->vmids)
				continue;
			FOR_LIST (struct gpu_queue, queue, &client->queues, of_client) {
				bool compute = !queue->engine;

				if (!of_pass(queue, pass) ||
				    (compute && config->cp_queues && slots == config->cp_queues))
					continue;
				queue->chosen = true;
				slots += compute;
				clients += !client->chosen;
				client->chosen = true;
			}
		}
}

/* Moves the clients and queues that had a slot and used it to the end of their lists. */
static void rotate(struct gpu *gpu)
{
	struct list *c, *next, *q, *next_q;
	uint32_t n = gpu->n_clients;

	for (c = gpu->clients.next; n > 0; n--, c = next) {
		struct gpu_client *client = list_entry(c, struct gpu_client, node);
		struct list *last = client->queues.prev;
		bool served = false, more = true;

		next = c->next;
		for (q = client->queues.next; more; q = next_q) {
			struct gpu_queue *queue = list_entry(q, struct gpu_queue, of_client);

			next_q = q->next;
			more = q != last;
			if (!queue->on || !ready(queue))
				continue;
			served = true;
			list_remove(&queue->of_client);
			list_insert(&client->queues, &queue->of_client);
		}
		if (served) {
			list_remove(&client->node);
			list_insert(&gpu->clients, &client->node);
		}
	}
}

/* Returns the length of a time slice in ns: the quantum of processes if there are more clients than
 * VMIDs, else the quantum of queues. */
static uint64_t quantum(const struct gpu *gpu)
{
	return gpu->config.vmids && gpu->n_clients > gpu->config.vmids
		       ? gpu->config.process_quantum_ns
		       : gpu->config.queue_quantum_ns;
}

void runlist_stop(struct gpu *gpu)
{
	gpu->slice_left = gpu->slice_end > gpu->now ? gpu->slice_end - gpu->now : 0;
	gpu->switching = gpu->fill_slots = false;
	heap_cancel(&gpu->heap, &gpu->slice_timer);
}

void runlist_fill(struct gpu *gpu)
{
	const struct gpu_config *config = &gpu->config;
	uint32_t compute = 0;

	FOR_QUEUES (gpu, queue)
		compute += queue->mapped && !queue->engine;
	gpu->slicing = (config->vmids && gpu->n_clients > config->vmids) ||
		       (config->cp_queues && compute > config->cp_queues);
	if (gpu->slicing)
		choose(gpu, true);
	FOR_QUEUES (gpu, queue)
		queue_set_on(gpu, queue, queue->mapped && (!gpu->slicing || queue->chosen));
}

void runlist_start(struct gpu *gpu)
{
	if (!gpu->slicing) {
		gpu->slice_left = 0;
		return;
	}
	/* Continue with the rest of the quantum. A new quantum after every runlist update would
	 * never end if runlist updates are frequent. */
	gpu->slice_over = false;
	gpu->slice_end = time_add(gpu->now, gpu->slice_left ? gpu->slice_left : quantum(gpu));
	heap_push(&gpu->heap, &gpu->slice_timer, gpu->slice_end);
}

/* Reassigns slots if a queue needs one: saves the queues that lose their slot and sets the timer at
 * which the queues that get one continue. Queues that keep their slot are not disturbed. Returns
 * false if no queue with packets would get a slot. */
static bool change_slots(struct gpu *gpu, bool keep)
{
	uint64_t saved = 0, restored = 0;
	bool any = false;

	choose(gpu, keep);
	FOR_QUEUES (gpu, queue)
		any |= queue->chosen && !queue->on && ready(queue);
	if (!any)
		return false;
	FOR_QUEUES (gpu, queue) {
		if (!queue->mapped)
			continue;
		if (queue->chosen && !queue->on)
			restored += queue->saved_wave_slots;
		if (queue->chosen || !queue->on)
			continue;
		saved += queue->held;
		queue_stop(gpu, queue);
		queue_set_on(gpu, queue, false);
	}
	cp_pick_all(gpu);
	if (restored > gpu->wave_slots)
		restored = gpu->wave_slots;
	gpu->switching = true;
	gpu->switch_save_ns = save_cost(gpu, saved);
	gpu->switch_restore_ns = restore_cost(gpu, restored);
	if (!keep)
		gpu->slice_end = 0; /* start a new quantum when the queues have their slots */
	heap_cancel(&gpu->heap, &gpu->slice_timer);
	heap_push(&gpu->heap, &gpu->slice_timer,
		  time_add(gpu->now,
			   time_add(gpu->config.switch_ns,
				    time_add(gpu->switch_save_ns, gpu->switch_restore_ns))));
	return true;
}

static void slice_ended(struct gpu *gpu)
{
	rotate(gpu);
	/* If no queue waits for a slot, the next one that waits gets a slot at once
	 * (slice_over). */
	gpu->slice_over = !change_slots(gpu, false);
}

void runlist_schedule(struct gpu *gpu)
{
	gpu->fill_slots = false;
	if (!gpu->slicing || gpu->switching || gpu->update_phase != UPDATE_NONE)
		return;
	if (gpu->slice_over)
		slice_ended(gpu);
	else
		change_slots(gpu, true);
}

bool slice_timer_fired(struct gpu *gpu, struct gpu_event *event)
{
	if (!gpu->switching) {
		slice_ended(gpu);
		return false;
	}
	gpu->switching = false;
	gpu->hand_out = true;
	FOR_QUEUES (gpu, queue) {
		if (!queue->mapped || !queue->chosen || queue->on)
			continue;
		queue_set_on(gpu, queue, true);
		queue_restore(gpu, queue, false);
		cp_start(gpu, queue);
	}
	if (gpu->slice_end == 0)
		gpu->slice_end = time_add(gpu->now, quantum(gpu));
	heap_push(&gpu->heap, &gpu->slice_timer,
		  gpu->slice_end > gpu->now ? gpu->slice_end : gpu->now);
	gpu->fill_slots = true; /* a queue may have got packets in the meantime */
	*event = (struct gpu_event){
		.type = GPU_EVENT_SLICED,
		.t = gpu->now,
		.save_ns = gpu->switch_save_ns,
		.restore_ns = gpu->switch_restore_ns,
	};
	return true;
}

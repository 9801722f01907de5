// SPDX-License-Identifier: MIT
/*
 * Simulates runlist updates. An update unmaps all queues and saves their live state, applies the
 * changes, maps the queues that are to run, and restores their live state.
 *
 * An update takes restore time only for the saved state that fits into the wave slots of the GPU at
 * once. There may be more (one queue ran while another was off); the rest stays in memory and is
 * restored later, while other work runs.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "sim/gpu/gpu_priv.h"

/* Returns the time in ns to copy the state of `wave_slots` slots at `bytes_us` bytes per us. */
static uint64_t copy_ns(const struct gpu *gpu, uint64_t wave_slots, uint64_t bytes_us)
{
	unsigned __int128 ns = (unsigned __int128)wave_slots * gpu->config.save_bytes_unit * 1000;

	ns /= bytes_us;
	return ns > UINT64_MAX ? UINT64_MAX : (uint64_t)ns;
}

/* Return the time in ns to save or restore the live state of `wave_slots` wave slots. */
static uint64_t save_cost(const struct gpu *gpu, uint64_t wave_slots)
{
	return copy_ns(gpu, wave_slots, gpu->config.save_bytes_us);
}

static uint64_t restore_cost(const struct gpu *gpu, uint64_t wave_slots)
{
	return copy_ns(gpu, wave_slots, gpu->config.restore_bytes_us);
}

/* ---- assignment of slots ----
 * Decides which mapped queues have a hardware slot.
 *
 * All mapped queues have one, unless there are more clients than VMIDs or more compute queues than
 * slots. In that case the firmware assigns slots for a quantum. When the quantum is over, clients
 * that had a slot go to the end of the list of clients, and queues that had a slot go to the end of
 * their client's list. Then the slots are filled from the front of these lists. Queues with packets
 * come before idle queues, which get the slots that are left. An idle queue gives up its slot at
 * once if a queue with packets can use it.
 */

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

/* Change the slots during a runlist update. runlist_stop() stops time slicing when the update
 * begins. runlist_fill() chooses the queues with a slot when the update's changes are in effect.
 * runlist_start() continues time slicing when the update is over. */
static void runlist_stop(struct gpu *gpu)
{
	gpu->slice_left = gpu->slice_end > gpu->now ? gpu->slice_end - gpu->now : 0;
	gpu->switching = gpu->fill_slots = false;
	heap_cancel(&gpu->heap, &gpu->slice_timer);
}

static void runlist_fill(struct gpu *gpu)
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

static void runlist_start(struct gpu *gpu)
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

/* ---- updates ---- */

/* Returns first_suspend_ns if this runlist update suspends a queue for the first time, else 0. */
static uint64_t first_suspend(struct gpu *gpu, const struct gpu_update *update)
{
	uint64_t extra = 0;

	for (size_t i = 0; i < update->n; i++) {
		const struct gpu_change *change = &update->changes[i];
		struct gpu_queue *queue = gpu->queues[change->queue];

		if (change->map || !change->suspend || queue->suspended_yet)
			continue;
		queue->suspended_yet = true;
		extra = gpu->config.first_suspend_ns;
	}
	return extra;
}

/* Starts the first pending runlist update if none is in progress. */
static void update_start(struct gpu *gpu)
{
	struct gpu_update *update = gpu->updates;

	if (!update || gpu->update_phase != UPDATE_NONE)
		return;
	gpu->update_count++;
	gpu->save_ns = save_cost(gpu, gpu_live_wave_slots(gpu));
	runlist_stop(gpu);
	FOR_QUEUES (gpu, queue)
		queue_stop(gpu, queue);
	update->unmap_ns = time_add(update->unmap_ns, first_suspend(gpu, update));
	gpu->copy_from = time_add(gpu->now, update->unmap_ns);
	gpu->update_phase = UPDATE_UNMAP;
	heap_push(&gpu->heap, &gpu->update_timer, time_add(gpu->copy_from, gpu->save_ns));
}

int gpu_update_runlist(struct gpu *gpu, uint64_t tag, const struct gpu_change *changes, size_t n)
{
	return gpu_update_runlist_within(gpu, tag, changes, n, gpu->config.unmap_ns,
					 gpu->config.map_ns);
}

int gpu_update_runlist_within(struct gpu *gpu, uint64_t tag, const struct gpu_change *changes,
			      size_t n, uint64_t unmap_ns, uint64_t map_ns)
{
	if (n > 0 && !changes)
		return -EINVAL;
	for (size_t i = 0; i < n; i++)
		if (!queue_find(gpu, changes[i].queue))
			return -ENOENT;
	struct gpu_update *update = malloc(sizeof(*update) + n * sizeof(*changes));
	struct gpu_update **end = &gpu->updates;

	if (!update)
		return -ENOMEM;
	*update = (struct gpu_update){.tag = tag, .unmap_ns = unmap_ns, .map_ns = map_ns, .n = n};
	if (n > 0)
		memcpy(update->changes, changes, n * sizeof(*changes));
	while (*end)
		end = &(*end)->next;
	*end = update;
	update_start(gpu);
	return 0;
}

/* Applies the queue's priority class and CU mask that were set since the last runlist update. */
static void adopt(struct gpu *gpu, struct gpu_queue *queue)
{
	bool waits = queue->on && queue->phase == CP_LAUNCH;

	if (queue->class != queue->wanted_class) {
		if (waits)
			dispatch_unwait(gpu, queue);
		queue->class = queue->wanted_class;
		if (waits)
			dispatch_wait(gpu, queue);
	}
	if (queue->wanted_open) {
		for (uint32_t x = 0; x < gpu->config.xccs; x++)
			queue->seats[x].open = queue->wanted_open[x];
		free(queue->wanted_open);
		queue->wanted_open = NULL;
		queue->moved = true;
	}
}

/* Applies the changes of the runlist update and chooses the queues that have a slot. */
static void take_effect(struct gpu *gpu, const struct gpu_update *update)
{
	FOR_QUEUES (gpu, queue)
		adopt(gpu, queue);
	for (size_t i = 0; i < update->n; i++) {
		const struct gpu_change *change = &update->changes[i];
		struct gpu_queue *queue = gpu->queues[change->queue];

		queue->mapped = change->map;
		queue->suspended = !change->map && change->suspend;
		times_queue(gpu, queue);
	}
	runlist_fill(gpu);
}

/* Ends the first half of the runlist update: applies the changes, begins the second half and fills
 * *event with UNMAPPED. */
static void unmapped(struct gpu *gpu, struct gpu_event *event)
{
	const struct gpu_update *update = gpu->updates;
	uint64_t live = 0;

	take_effect(gpu, update);
	FOR_QUEUES (gpu, queue)
		live += queue->on ? queue->saved_wave_slots : 0;
	if (live > gpu->wave_slots)
		live = gpu->wave_slots;
	gpu->update_phase = UPDATE_MAP;
	gpu->copy_from = time_add(gpu->now, update->map_ns);
	gpu->restore_ns = restore_cost(gpu, live);
	heap_push(&gpu->heap, &gpu->update_timer,
		  time_add(gpu->now, time_add(update->map_ns, gpu->restore_ns)));
	*event = (struct gpu_event){
		.type = GPU_EVENT_UNMAPPED,
		.t = gpu->now,
		.tag = update->tag,
		.unmap_ns = update->unmap_ns,
		.map_ns = update->map_ns,
		.save_ns = gpu->save_ns,
	};
}

/* Ends the runlist update: restores state, starts the queues that have a slot, starts the next
 * runlist update, and fills *event with MAPPED. */
static void mapped(struct gpu *gpu, struct gpu_event *event)
{
	struct gpu_update *update = gpu->updates;

	*event = (struct gpu_event){
		.type = GPU_EVENT_MAPPED,
		.t = gpu->now,
		.tag = update->tag,
		.restore_ns = gpu->restore_ns,
	};
	gpu->updates = update->next;
	free(update);
	gpu->update_phase = UPDATE_NONE;
	/* Assign wave slots on every XCC, because masks and priorities may have changed. */
	gpu->hand_out = true;
	for (uint32_t x = 0; x < gpu->config.xccs; x++)
		gpu->xccs[x].hand_out = true;
	runlist_fill(gpu); /* queues may have been removed since UNMAPPED */
	FOR_QUEUES (gpu, queue) {
		if (!queue->on)
			continue;
		queue_restore(gpu, queue, true);
		cp_start(gpu, queue);
	}
	runlist_start(gpu);
	if (gpu->updates) {
		/* The next runlist update begins at this instant, and saves also the workgroups
		 * that dispatch_hand_out() starts now. */
		dispatch_hand_out(gpu);
		update_start(gpu);
	}
}

void update_timer_fired(struct gpu *gpu, struct gpu_event *event)
{
	if (gpu->update_phase == UPDATE_UNMAP)
		unmapped(gpu, event);
	else
		mapped(gpu, event);
}

/* Stops and unmaps the queue, and drops the packets that have begun. */
static void reset_queue(struct gpu *gpu, struct gpu_queue *queue)
{
	cp_stop(gpu, queue);
	for (uint32_t x = 0; x < gpu->config.xccs; x++)
		list_remove(&queue->seats[x].restoring);
	queue_drop_cohorts(gpu, queue);
	queue_set_on(gpu, queue, false);
	queue->mapped = false;
	cp_lose(gpu, queue);
}

int gpu_queue_reset(struct gpu *gpu, uint32_t queue)
{
	struct gpu_queue *found = queue_find(gpu, queue);

	if (!found)
		return -ENOENT;
	if (gpu->update_phase != UPDATE_MAP)
		return -EBUSY;
	reset_queue(gpu, found);
	times_queue(gpu, found);
	return 0;
}

void update_forget(struct gpu *gpu, uint32_t queue)
{
	for (struct gpu_update *update = gpu->updates; update; update = update->next) {
		size_t n_valid = 0;

		for (size_t i = 0; i < update->n; i++)
			if (update->changes[i].queue != queue)
				update->changes[n_valid++] = update->changes[i];
		update->n = n_valid;
	}
}

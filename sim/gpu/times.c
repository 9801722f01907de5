// SPDX-License-Identifier: MIT
/*
 * Counts how the time of the GPU is spent.
 *
 * The state of the model does not change while time passes. So when gpu_step() advances the time,
 * the whole span is added to the counter of the present state (enum gpu_time). The state consists
 * of counts of queues and clients, which times_queue() updates whenever a queue changes.
 *
 * Run time is divided among the clients whose work runs. It is collected in gpu.unshared_ns and
 * divided in whole ns before the set of these clients changes. A rest of less than one ns for each
 * client stays in gpu.unshared_ns. So the shares of all clients and this rest add up to
 * GPU_TIME_RUN.
 */
#include <errno.h>

#include "sim/gpu/gpu_priv.h"

/* Returns the counter for time that passes in the present state, in which nothing runs. */
static enum gpu_time idle_as(const struct gpu *gpu)
{
	if (!gpu->clients_held)
		return GPU_TIME_IDLE;
	return gpu->clients_ready ? GPU_TIME_HELD_READY : GPU_TIME_HELD;
}

/* Counts the time up to `until` in a phase of a runlist update. Time before gpu.copy_from counts as
 * GPU_TIME_RUNLIST_UPDATE; time after it counts as `copy`, the save or restore of live state. */
static void pass_update(struct gpu *gpu, enum gpu_time copy, uint64_t until)
{
	uint64_t from = gpu->now > gpu->copy_from ? gpu->now : gpu->copy_from;

	if (until < from)
		from = until;
	gpu->times.ns[GPU_TIME_RUNLIST_UPDATE] += from - gpu->now;
	gpu->times.ns[copy] += until - from;
}

void times_pass(struct gpu *gpu, uint64_t until)
{
	enum gpu_time as = GPU_TIME_RUN;

	if (gpu->update_phase == UPDATE_UNMAP) {
		pass_update(gpu, GPU_TIME_SAVE, until);
	} else if (gpu->update_phase == UPDATE_MAP) {
		pass_update(gpu, GPU_TIME_RESTORE, until);
	} else {
		if (!gpu->queues_busy)
			as = gpu->switching ? GPU_TIME_RUNLIST_UPDATE : idle_as(gpu);
		gpu->times.ns[as] += until - gpu->now;
		if (as == GPU_TIME_RUN)
			gpu->unshared_ns += until - gpu->now;
	}
	gpu->now = until;
}

/* Divides gpu.unshared_ns, in whole ns, among the clients with running work (share_ns). */
static void share_out(struct gpu *gpu)
{
	uint64_t each = gpu->clients_busy ? gpu->unshared_ns / gpu->clients_busy : 0;

	if (!each)
		return;
	gpu->unshared_ns %= gpu->clients_busy;
	FOR_LIST (struct gpu_client, client, &gpu->clients, node)
		if (client->busy)
			client->share_ns += each;
}

/* Sets queue->busy, and updates the counts of busy queues and clients and the client's run time. */
static void set_busy(struct gpu *gpu, struct gpu_queue *queue, bool busy)
{
	struct gpu_client *client = queue->client;

	if (busy == queue->busy)
		return;
	queue->busy = busy;
	if (busy) {
		gpu->queues_busy++;
		if (client->busy == 0) {
			share_out(gpu);
			gpu->clients_busy++;
			client->busy_since = gpu->now;
		}
		client->busy++;
	} else {
		gpu->queues_busy--;
		if (client->busy == 1) {
			share_out(gpu);
			gpu->clients_busy--;
			client->run_ns += gpu->now - client->busy_since;
		}
		client->busy--;
	}
}

/* Sets queue->ready and queue->held_back, and updates the counts of clients. A client with work in
 * a suspended queue counts as held, even if it has other work. */
static void set_work(struct gpu *gpu, struct gpu_queue *queue, bool ready, bool held)
{
	struct gpu_client *client = queue->client;

	if (ready == queue->ready && held == queue->held_back)
		return;
	gpu->clients_held -= client->held > 0;
	gpu->clients_ready -= !client->held && client->ready > 0;
	client->ready += (uint32_t)ready - queue->ready;
	client->held += (uint32_t)held - queue->held_back;
	gpu->clients_held += client->held > 0;
	gpu->clients_ready += !client->held && client->ready > 0;
	queue->ready = ready;
	queue->held_back = held;
}

void times_queue(struct gpu *gpu, struct gpu_queue *queue)
{
	bool work = queue->head < queue->tail || queue->expected;

	set_busy(gpu, queue, queue->held > 0 || queue->working);
	set_work(gpu, queue, work && !queue->suspended, work && queue->suspended);
}

void times_queue_gone(struct gpu *gpu, struct gpu_queue *queue)
{
	set_busy(gpu, queue, false);
	set_work(gpu, queue, false, false);
}

int gpu_queue_expect(struct gpu *gpu, uint32_t id, bool more)
{
	struct gpu_queue *queue = queue_find(gpu, id);

	if (!queue)
		return -ENOENT;
	queue->expected = more;
	times_queue(gpu, queue);
	return 0;
}

void gpu_times(const struct gpu *gpu, struct gpu_times *out)
{
	*out = gpu->times;
}

struct gpu_client_run gpu_client_run(const struct gpu *gpu, uint64_t id)
{
	struct gpu_client_run run = {0};

	FOR_LIST (const struct gpu_client, client, &gpu->clients, node)
		if (client->id == id) {
			run = (struct gpu_client_run){client->run_ns, client->share_ns};
			if (client->busy) {
				run.ns += gpu->now - client->busy_since;
				run.share_ns += gpu->unshared_ns / gpu->clients_busy;
			}
		}
	return run;
}

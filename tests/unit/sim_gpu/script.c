// SPDX-License-Identifier: MIT
#include "tests/unit/sim_gpu/script.h"

#include <errno.h>
#include <stdlib.h>

#include "tests/unit/sim_gpu/world.h"

#define QUEUES 8u
#define CLIENTS 4u
#define PACKETS_MAX 300u /* per life of a queue */
#define WGS_MAX 600u

/* A submitted packet and what was reported of it. */
struct known_packet {
	struct gpu_packet p;
	bool started, waiting, released;
	uint64_t submitted; /* ns of model time */
	uint8_t seen[WGS_MAX];
	uint32_t ended;
};

/* A queue and what was submitted to it. */
struct known_queue {
	bool exists;
	enum gpu_queue_kind kind;
	uint32_t life; /* number of the life of this id; part of the tags */
	uint32_t n, retired;
	uint64_t wave_slot_ns, wgs; /* of all submitted packets */
	bool copies; /* copies were submitted: the more there are, the longer each takes */
	bool lost;   /* a packet was lost */
	struct known_packet packets[PACKETS_MAX];
};

/* The state of a run. */
struct life {
	const struct script *script;
	struct gpu *gpu;
	uint32_t xccs;
	uint64_t random;
	struct known_queue queues[QUEUES];
	uint64_t updates_wanted, updates_done, wanted_at;
	bool reset;    /* a queue was reset in the current runlist update */
	bool unmapped; /* the current runlist update has reported UNMAPPED */
	uint64_t last_t;
	struct script_result result;
};

static uint64_t below(struct life *life, uint64_t limit)
{
	return model_below(&life->random, limit);
}

/* Adds a value to the hash of all events. */
static void mix(struct life *life, uint64_t value)
{
	life->result.hash = (life->result.hash ^ value) * UINT64_C(0x100000001b3);
	life->result.hash ^= life->result.hash >> 29;
}

static uint64_t tag_of(uint32_t queue, const struct known_queue *known, uint32_t i)
{
	return (uint64_t)known->life << 32 | (uint64_t)queue << 16 | i;
}

static void see_workgroups(struct known_packet *packet, const struct gpu_event *event)
{
	assert_true(packet->started);
	assert_true(packet->p.trace);
	assert_true(event->count > 0 && event->stride > 0);
	assert_true(event->count <= packet->p.wgs);
	assert_true(event->first + (uint64_t)(event->count - 1) * event->stride < packet->p.wgs);
	for (uint32_t i = 0; i < event->count; i++)
		assert_int_equal(packet->seen[event->first + i * event->stride]++, 0);
	packet->ended += event->count;
}

/* Checks an event of a packet. */
static void see_packet(struct life *life, const struct gpu_event *event)
{
	assert_true(event->queue < QUEUES);
	struct known_queue *known = &life->queues[event->queue];
	uint32_t i = event->tag & 0xffff;

	assert_true(known->exists);
	assert_true(i < known->n);
	assert_int_equal(event->tag, tag_of(event->queue, known, i));
	struct known_packet *packet = &known->packets[i];

	if (event->type == GPU_EVENT_LOST) {
		assert_int_equal(i, known->retired++);
		assert_true(packet->started);
		assert_true(life->script->resets);
		assert_true(event->start_ns <= event->t);
		known->lost = true;
		life->result.lost++;
		return;
	}
	if (event->type == GPU_EVENT_RETIRED) {
		assert_int_equal(i, known->retired++);
		assert_true(packet->started);
		assert_true(event->start_ns >= packet->submitted && event->start_ns <= event->t);
		if (packet->p.trace)
			assert_int_equal(packet->ended, packet->p.wgs);
		return;
	}
	/* What ended at the very time at which an update was requested may be reported after the
	 * request. */
	if (event->type != GPU_EVENT_WORKGROUPS || event->t != life->wanted_at) {
		assert_true(gpu_queue_mapped(life->gpu, event->queue));
		assert_int_equal(life->updates_wanted, life->updates_done);
	}
	if (event->type == GPU_EVENT_WORKGROUPS) {
		see_workgroups(packet, event);
	} else if (event->type == GPU_EVENT_STARTED) {
		assert_false(packet->started);
		assert_true(i == 0 || known->packets[i - 1].started);
		if (packet->p.barrier)
			assert_int_equal(known->retired, i);
		packet->started = true;
	} else {
		assert_int_equal(event->type, GPU_EVENT_WAITING);
		assert_int_equal(packet->p.kind, GPU_PACKET_WAIT);
		assert_true(packet->started && !packet->waiting);
		packet->waiting = true;
	}
}

/* Resets a queue, if it exists, while the queues are off. */
static void reset(struct life *life, uint32_t id)
{
	life->reset = id < QUEUES && life->queues[id].exists;
	if (!life->reset)
		return;
	assert_int_equal(gpu_queue_reset(life->gpu, id), 0);
	assert_false(gpu_queue_mapped(life->gpu, id));
	life->result.resets++;
}

/* Checks an event. */
static void see(struct life *life, const struct gpu_event *event)
{
	assert_int_equal(event->t, gpu_now(life->gpu));
	assert_true(event->t >= life->last_t);
	life->last_t = event->t;
	life->result.events++;
	mix(life, event->type);
	mix(life, event->t);
	mix(life, event->queue);
	mix(life, event->tag);
	mix(life, (uint64_t)event->first << 32 | event->count);
	mix(life, event->stride);
	mix(life, event->start_ns);
	mix(life, event->save_ns);
	mix(life, event->restore_ns);
	if (event->type == GPU_EVENT_SLICED) {
		assert_true(life->script->oversubscribed);
		life->result.slices++;
	} else if (event->type == GPU_EVENT_UNMAPPED || event->type == GPU_EVENT_MAPPED) {
		assert_int_equal(event->tag, life->updates_done);
		assert_int_equal(event->type == GPU_EVENT_MAPPED, life->unmapped);
		life->unmapped = !life->unmapped;
		if (event->type == GPU_EVENT_MAPPED)
			life->updates_done++;
		else if (life->script->resets)
			reset(life, (uint32_t)below(life, 2 * QUEUES));
	} else {
		see_packet(life, event);
	}
	assert_true(gpu_live_wave_slots(life->gpu) <= WAVE_SLOTS);
	if (life->updates_wanted > life->updates_done)
		assert_int_equal(gpu_live_wave_slots(life->gpu), 0);
}

static void submit(struct life *life, uint32_t id)
{
	struct known_queue *known = &life->queues[id];

	if (known->n == PACKETS_MAX)
		return;
	struct known_packet *packet = &known->packets[known->n];

	*packet = (struct known_packet){0};
	packet->p.tag = tag_of(id, known, known->n);
	packet->submitted = gpu_now(life->gpu);
	packet->p.barrier = below(life, 3) == 0;
	switch (below(life, 10)) {
	case 0:
		packet->p.kind = GPU_PACKET_WAIT;
		break;
	case 1:
	case 2:
		packet->p.kind = known->kind == GPU_QUEUE_COMPUTE || below(life, 2)
					 ? GPU_PACKET_WORK
					 : GPU_PACKET_COPY;
		packet->p.bytes = below(life, 100000);
		packet->p.link = (uint32_t)below(life, 2);
		packet->p.busy_ns = below(life, 20000);
		break;
	default:
		packet->p.kind = GPU_PACKET_DISPATCH;
		packet->p.trace = below(life, 4) != 0;
		packet->p.wgs = 1 + (uint32_t)below(life, below(life, 4) ? 20 : WGS_MAX);
		packet->p.wave_slots =
			1 + (uint32_t)below(life, below(life, 20) ? 5 : CU_WAVE_SLOTS);
		packet->p.wg_ns = below(life, 10) ? below(life, 30000) : 0;
	}
	if (known->kind != GPU_QUEUE_COMPUTE && packet->p.kind == GPU_PACKET_DISPATCH) {
		assert_int_equal(gpu_submit(life->gpu, id, &packet->p), -EINVAL);
		return;
	}
	assert_int_equal(gpu_submit(life->gpu, id, &packet->p), 0);
	known->n++;
	if (packet->p.kind == GPU_PACKET_DISPATCH) {
		known->wgs += packet->p.wgs;
		known->wave_slot_ns +=
			(uint64_t)packet->p.wgs * packet->p.wave_slots * packet->p.wg_ns;
	} else if (packet->p.kind == GPU_PACKET_COPY) {
		known->copies = true;
	} else if (packet->p.kind == GPU_PACKET_WORK && known->kind != GPU_QUEUE_COMPUTE) {
		known->wave_slot_ns += packet->p.busy_ns;
	}
}

/* Requests a runlist update that maps or unmaps random queues, or maps all. */
static void update(struct life *life, bool map_all)
{
	struct gpu_change changes[QUEUES];
	size_t n = 0;

	for (uint32_t id = 0; id < QUEUES; id++)
		if (life->queues[id].exists && (map_all || below(life, 3) == 0))
			changes[n++] = (struct gpu_change){
				.queue = id,
				.map = map_all || below(life, 3) != 0,
				.suspend = true,
			};
	assert_int_equal(gpu_update_runlist(life->gpu, life->updates_wanted, changes, n), 0);
	life->updates_wanted++;
	life->wanted_at = gpu_now(life->gpu);
	assert_int_equal(gpu_live_wave_slots(life->gpu), 0);
}

/* Changes the priority or the CU mask of a queue. The mask has at least one CU of each XCC, because
 * the workgroups of an XCC without one would never run. */
static void change_share(struct life *life, uint32_t id)
{
	uint32_t mask = (uint32_t)below(life, 1u << (WAVE_SLOTS / CU_WAVE_SLOTS)),
		 all = (1u << life->xccs) - 1;

	if (below(life, 2)) {
		assert_int_equal(gpu_queue_set_priority(life->gpu, id, (uint32_t)below(life, 16)),
				 0);
		return;
	}
	mask |= all << life->xccs * below(life, WAVE_SLOTS / CU_WAVE_SLOTS / life->xccs);
	assert_int_equal(gpu_queue_set_cu_mask(life->gpu, id, &mask, below(life, 3) ? 32 : 0), 0);
}

static void add(struct life *life)
{
	uint32_t n = 0;

	for (uint32_t id = 0; id < QUEUES; id++)
		n += life->queues[id].exists;
	if (n == QUEUES)
		return;
	enum gpu_queue_kind kind = below(life, 3)   ? GPU_QUEUE_COMPUTE
				   : below(life, 3) ? GPU_QUEUE_SDMA
						    : GPU_QUEUE_XGMI;
	struct gpu_queue_config config = {
		.kind = kind, .client = below(life, CLIENTS), .engine = GPU_ENGINE_ANY};
	int id = gpu_queue_add(life->gpu, &config);

	assert_true(id >= 0 && id < (int)QUEUES);
	struct known_queue *known = &life->queues[id];

	assert_false(known->exists);
	*known = (struct known_queue){.exists = true, .kind = kind, .life = known->life + 1};
}

static void remove_queue(struct life *life, uint32_t id)
{
	struct gpu_queue_stats stats = model_stats(life->gpu, id);

	assert_true(life->queues[id].copies || life->queues[id].lost ||
		    stats.wave_slot_ns <= life->queues[id].wave_slot_ns);
	life->result.preempted += stats.preempted;
	assert_int_equal(gpu_queue_remove(life->gpu, id), 0);
	life->queues[id].exists = false;
	life->result.removed++;
}

/* Releases a WAIT packet, because a queue whose packet is never released makes no more progress. */
static void release(struct life *life, uint32_t id)
{
	struct known_queue *known = &life->queues[id];

	for (uint32_t i = known->retired; i < known->n; i++) {
		struct known_packet *packet = &known->packets[i];

		if (packet->waiting && !packet->released && gpu_release(life->gpu, id) == 0) {
			packet->released = true;
			return;
		}
	}
}

/* Returns the sum of the clients' shares of the run time. */
static uint64_t all_shares(const struct life *life)
{
	uint64_t sum = 0;

	for (uint64_t client = 0; client < CLIENTS; client++)
		sum += gpu_client_run(life->gpu, client).share_ns;
	return sum;
}

/* Checks that the GPU's times add up to the time that has passed, that no client ran longer than
 * all together, and that the clients' shares are not more than that. */
static void check_times(const struct life *life)
{
	struct gpu_times times;
	uint64_t sum = 0;

	gpu_times(life->gpu, &times);
	for (unsigned i = 0; i < GPU_TIMES; i++)
		sum += times.ns[i];
	assert_int_equal(sum, gpu_now(life->gpu));
	for (uint64_t client = 0; client < CLIENTS; client++)
		assert_true(gpu_client_run(life->gpu, client).ns <= times.ns[GPU_TIME_RUN]);
	assert_true(all_shares(life) <= times.ns[GPU_TIME_RUN]);
}

/* To be called while all queues exist: the GPU ran for at least as long as each of them, and at
 * most as long as the sum of all; and the clients' shares are the whole but for a rest. */
static void compare_times(struct life *life)
{
	uint64_t longest = 0, all = 0;
	struct gpu_times times;

	gpu_times(life->gpu, &times);
	for (uint32_t id = 0; id < QUEUES; id++)
		if (life->queues[id].exists) {
			uint64_t busy = model_stats(life->gpu, id).busy_ns;

			all += busy;
			longest = busy > longest ? busy : longest;
		}
	assert_true(times.ns[GPU_TIME_RUN] >= longest && times.ns[GPU_TIME_RUN] <= all);
	assert_true(times.ns[GPU_TIME_RUN] - all_shares(life) < CLIENTS);
	for (unsigned i = 0; i < GPU_TIMES; i++)
		life->result.times[i] += times.ns[i];
}

static void step(struct life *life)
{
	uint32_t id = (uint32_t)below(life, QUEUES);
	bool exists = life->queues[id].exists;
	struct gpu_event event;

	switch (below(life, 17)) {
	case 0:
		add(life);
		break;
	case 1:
		if (life->updates_wanted - life->updates_done < 3)
			update(life, false);
		break;
	case 2:
		if (exists && life->script->removals && below(life, 4) == 0)
			remove_queue(life, id);
		break;
	case 3:
	case 4:
	case 5:
		if (exists)
			release(life, id);
		break;
	case 6:
	case 7:
	case 8:
	case 9:
		/* only one event, so that calls come between events of the same time */
		if (gpu_step(life->gpu, gpu_now(life->gpu) + below(life, 40000), &event))
			see(life, &event);
		break;
	case 10:
	case 11: {
		uint64_t until = gpu_now(life->gpu) + below(life, 60000);

		while (gpu_step(life->gpu, until, &event))
			see(life, &event);
		assert_int_equal(gpu_now(life->gpu), until);
		break;
	}
	case 12:
		if (exists && below(life, 3) == 0)
			change_share(life, id);
		break;
	default:
		if (exists)
			submit(life, id);
	}
}

/* Maps all queues, and repeats that if one of them was reset. */
static void map_all(struct life *life)
{
	struct gpu_event event;

	do {
		update(life, true);
		while (life->updates_done < life->updates_wanted) {
			assert_true(gpu_next(life->gpu) != UINT64_MAX);
			if (gpu_step(life->gpu, gpu_next(life->gpu), &event))
				see(life, &event);
		}
	} while (life->reset);
}

static void finish(struct life *life)
{
	struct gpu_event event;

	map_all(life);
	/* Time slices go on while a packet waits, so WAIT packets are released as they appear. */
	for (;;) {
		for (uint32_t id = 0; id < QUEUES; id++)
			if (life->queues[id].exists)
				release(life, id);
		if (gpu_next(life->gpu) == UINT64_MAX)
			break;
		if (gpu_step(life->gpu, gpu_next(life->gpu), &event))
			see(life, &event);
	}
	assert_int_equal(gpu_live_wave_slots(life->gpu), 0);
	for (uint32_t id = 0; id < QUEUES; id++) {
		const struct known_queue *known = &life->queues[id];

		if (!known->exists)
			continue;
		struct gpu_queue_stats stats = model_stats(life->gpu, id);

		assert_int_equal(known->retired, known->n);
		if (known->lost)
			continue;
		assert_int_equal(stats.packets_retired, known->n);
		assert_int_equal(stats.wgs_done, known->wgs);
		assert_true(known->copies || stats.wave_slot_ns == known->wave_slot_ns);
	}
}

struct script_result script_run(const struct script *script)
{
	struct gpu_config config = model_config();
	struct life *life = calloc(1, sizeof(*life));

	assert_non_null(life);
	life->script = script;
	life->random = script->seed;
	/* Runlist updates are short compared with the work, so that a run has many. */
	config.unmap_ns = 3000;
	config.map_ns = 2000;
	config.save_bytes_us = 100;
	config.restore_bytes_us = 200;
	config.xccs = life->xccs = (const uint32_t[]){1, 2, 5}[script->seed % 3];
	config.xgmi_engines = 1;
	config.link_bytes_us[GPU_LINK_HOST] = 25000;
	config.link_bytes_us[GPU_LINK_LOCAL] = 100000;
	if (script->oversubscribed) {
		config.vmids = 2;
		config.cp_queues = 3;
		config.process_quantum_ns = 40000;
		config.queue_quantum_ns = 20000;
		config.switch_ns = 1000;
	}
	if (script->resets)
		config.first_suspend_ns = 5000;
	life->gpu = gpu_new(&config);
	assert_non_null(life->gpu);
	for (uint32_t i = 0; i < script->steps; i++) {
		step(life);
		check_times(life);
	}
	if (script->finish)
		finish(life);
	check_times(life);
	if (!script->removals)
		compare_times(life);
	for (uint32_t id = 0; id < QUEUES; id++)
		if (life->queues[id].exists) {
			struct gpu_queue_stats stats = model_stats(life->gpu, id);

			life->result.preempted += stats.preempted;
			life->result.workgroups += stats.wgs_done;
			mix(life, stats.busy_ns);
			mix(life, stats.wave_slot_ns);
		}
	life->result.updates = life->updates_done;
	struct script_result result = life->result;

	gpu_free(life->gpu);
	free(life);
	return result;
}

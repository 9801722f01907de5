// SPDX-License-Identifier: MIT
/*
 * The GPU side of the main loop: scans the doorbells, advances the GPU model to the clock, carries
 * out what its events mean, and passes it new packets.
 *
 * The order matters for time stamps: doorbells are read before the clock, and the packets that they
 * announce are submitted at that time, so that nothing starts before the CPU rang the doorbell.
 */
#include <errno.h>
#include <string.h>

#include "common/clock.h"
#include "sim/driver/files.h"
#include "sim/driver/memory.h"
#include "sim/driver/runlist_update.h"
#include "sim/host/time_slots.h"

#define CHECK_NS 50000000u /* interval of the checks for an exec that no ioctl shows */
#define ITERATION_NS                                                                               \
	20000000u /* host time per iteration to catch up after the machine was stalled */
/* the same while sim->behind */
#define ITERATION_BEHIND_NS 5000000u
#define REST_NS 200000u	  /* pause while behind, for threads that wait for the lock */
#define CHUNKS 16u	  /* limit of one iteration; the host's clock is read after each */
#define CHUNK_NS 100000u  /* shortest chunk; model time */
#define IDLE_SHARE 10000  /* polling interval: time without doorbells / IDLE_SHARE */
#define ASLEEP_SHARE 1000 /* the same after ASLEEP_NS without doorbells */
#define ASLEEP_NS 2000000000u
#define FAR_NS (30 * 86400 * 1000000000ull)
#define MODEL_FAR (1ull << 62) /* later than any run ends */
/* limit of steps in engine_until() before the tasks are checked again */
#define STEPS 10000u
#define STEP_NS 10000u /* longest step of a GPU after its first event; model time */

/* For --break: returns true if at least as many compute queues as there are slots come before this
 * one. */
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
	return before >= sim->config.chip.cp_queues;
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

/* SDMA and PM4 use the same codes. */
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

/* Releases the queues whose awaited value has come. Returns true if there was one. */
static bool check_waiting(struct sim *sim)
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

/* A packet waits for a value. If the value is there already the queue continues at once; otherwise
 * the main loop polls the value (check_waiting()). */
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

/* Counts finished workgroups of kfdreplay's kernel: each adds 1 to its own cell in memory. */
static void workgroups_ended(struct queue *queue, const struct gpu_event *event)
{
	const struct packet *packet = &queue->ahead[event->tag % QUEUE_AHEAD];

	if (queue->process->dead || queue->stopped)
		return;
	for (uint32_t i = 0; i < event->count; i++) {
		uint64_t cell =
			packet->spin.cells + 4ull * (event->first + (uint64_t)i * event->stride);

		if (access_add32(queue->process, cell, 1)) {
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
	if (is_aql(queue) && queue->process->sim->config.switches.rptr_at_consumption)
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

/* Carries out the effects of a packet that has retired, and completes it. Order: results, then the
 * ring (slot, read pointer), then the signal, so that a thread which sees one of them sees the
 * earlier ones, too. */
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
	/* A packet whose own effects stopped the queue was not completed. */
	complete(queue, packet, !queue->stopped);
	if (sim->time)
		time_slots_effect(sim->time);
	engine_fetch(queue);
	check_waiting(sim);
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

/* @again: a background copy of the packet is over, and its remaining effects follow. */
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

static void handle(struct node *node, const struct gpu_event *event)
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

/* Completes the packets whose background copy is over, and handles the events of their queues that
 * were held back. Returns true if there was one. */
static bool copy_end(struct sim *sim)
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

/* Raises the limit up to which packets can be fetched. It never falls, because doorbell values and
 * write pointers only grow; the signed difference allows for a wrap. */
static void publish(struct queue *queue, uint64_t limit)
{
	if ((int64_t)(limit - queue->limit_seen) > 0)
		queue->limit_seen = limit;
}

/* An AQL doorbell contains the index of the last packet, an SDMA doorbell the end of the packets in
 * bytes, a PM4 doorbell the end in dwords. */
static void notice(struct queue *queue)
{
	uint64_t value = queue->doorbell_last;

	queue->rung_due_ns = 0;
	publish(queue, is_aql(queue) ? value + 1 : value);
}

/* Handles a new doorbell value. In virtual time it is noticed after dispatch_ns; further stores
 * within that time are noticed together with it. */
static void rung(struct queue *queue, uint64_t value)
{
	struct sim *sim = queue->process->sim;
	uint64_t now = clock_ns(), delay = now - queue->doorbell_seen_ns;

	if (sim->time)
		delay = sim->config.dispatch_ns;
	hist_add(&sim->totals.doorbell_delay, delay);
	sim->last_doorbell_ns = now;
	queue->doorbell_last = value;
	if (!sim->time || !delay)
		notice(queue);
	else if (!queue->rung_due_ns)
		queue->rung_due_ns = now + delay;
}

/* Compares every doorbell with its last value. Doorbells are memory, so a store is only noticed
 * here. */
static void scan_doorbells(struct sim *sim)
{
	uint64_t now = clock_ns();
	struct process *process;
	struct queue *queue;

	TAILQ_FOREACH(process, &sim->processes, link)
	TAILQ_FOREACH(queue, &process->queues, link)
	{
		uint64_t value = __atomic_load_n(queue->doorbell, __ATOMIC_ACQUIRE);

		if (value != queue->doorbell_last)
			rung(queue, value);
		if (queue->rung_due_ns && queue->rung_due_ns <= now)
			notice(queue);
		queue->doorbell_seen_ns = now;
	}
}

/* Scans the doorbells if a packet may have rung one. Returns true if it did so. */
static bool read_rung(struct sim *sim)
{
	if (!sim->gpu_rang)
		return false;
	sim->gpu_rang = false;
	scan_doorbells(sim);
	return true;
}

static uint64_t next_doorbell(const struct sim *sim)
{
	uint64_t first = UINT64_MAX;
	const struct process *process;
	const struct queue *queue;

	if (!sim->time || !sim->config.dispatch_ns)
		return first;
	TAILQ_FOREACH(process, &sim->processes, link)
	TAILQ_FOREACH(queue, &process->queues, link)
	if (queue->rung_due_ns && queue->rung_due_ns < first)
		first = queue->rung_due_ns;
	return first;
}

void engine_reread_wptr(struct node *node)
{
	struct process *process;
	struct queue *queue;
	uint64_t value;

	TAILQ_FOREACH(process, &node->sim->processes, link)
	TAILQ_FOREACH(queue, &process->queues, link)
	{
		if (&node->sim->nodes[queue->node] != node || !queue->map_wanted)
			continue;
		process->acting = queue->node;
		if (!access_read(process, queue->wptr_address, &value, sizeof value))
			publish(queue, value);
	}
}

/* Fetches new packets of all mapped queues. Returns true if the GPU model got any. */
static bool feed(struct sim *sim)
{
	struct process *process;
	struct queue *queue;
	bool any = false;

	TAILQ_FOREACH(process, &sim->processes, link)
	TAILQ_FOREACH(queue, &process->queues, link)
	{
		uint64_t before = queue->submitted;

		queue->limit = queue->limit_seen;
		if (queue->fetched == queue->limit)
			continue;
		/* Packets are only fetched while the queue is mapped. */
		gpu_queue_expect(sim->nodes[queue->node].gpu, (uint32_t)queue->gpu_queue,
				 !queue->map_wanted);
		if (!queue->map_wanted)
			continue;
		engine_fetch(queue);
		any |= queue->submitted != before;
	}
	return any;
}

/* Returns true if there is more to do at the present time, after the GPUs have done what was
 * due. */
static bool goes_on(struct sim *sim)
{
	return feed(sim) || check_waiting(sim) || copy_end(sim) || read_rung(sim);
}

/* Runs the GPUs up to sim->model_ns. Returns false (virtual time only) if a thread of the tasks
 * became runnable: it runs before anything else happens. */
static bool advance(struct sim *sim)
{
	uint64_t woken = sim->woken;
	struct gpu_event event;

	for (uint32_t i = 0; i < sim->nodes_n; i++)
		while (gpu_step(sim->nodes[i].gpu, sim->model_ns, &event)) {
			handle(&sim->nodes[i], &event);
			if (sim->time && sim->woken != woken)
				return false;
		}
	return true;
}

/*
 * Advances the GPUs to @now.
 *
 * If this machine cannot simulate the GPUs as fast as they should run, each iteration would take
 * longer than the one before, and every call would wait for it. So an iteration has a time limit.
 * The GPUs lose the time that is left: they are slower than they should be, and lost_ns reports by
 * how much.
 */
static void keep_up(struct sim *sim, uint64_t now)
{
	uint64_t model = model_now(sim, now);
	uint64_t chunk = CHUNK_NS + (sim->behind ? 0 : (model - sim->model_ns) / CHUNKS);
	uint64_t until = now + (sim->behind ? ITERATION_BEHIND_NS : ITERATION_NS);

	while (model - sim->model_ns > chunk && clock_ns() < until) {
		sim->model_ns += chunk;
		advance(sim);
	}
	sim->behind = model - sim->model_ns > chunk;
	if (sim->behind)
		sim->totals.lost_ns += model - sim->model_ns;
	else
		sim->model_ns = model;
	/* New packets belong to the present, not to the time that was caught up with, so fetch them
	 * only now. */
	do
		advance(sim);
	while (goes_on(sim));
}

static void expire(struct sim *sim, uint64_t now)
{
	if (now >= firmware_due(sim))
		firmware_expire(sim, now);
	if (now >= evictions_due(sim))
		evictions_expire(sim, now);
	if (now >= sim->next_deadline_ns)
		events_expire(sim, now);
	if (now >= sim->next_pinned_ns)
		pins_expire(sim, now);
}

/* Updates what files and records show. */
static void keep_house(struct sim *sim, uint64_t now)
{
	if (now >= sim->next_check_ns) {
		sim->next_check_ns = now + CHECK_NS;
		process_check_all(sim);
	}
	live_update(sim, now);
	procfs_update(sim, now);
	debugfs_update(sim, now);
}

void engine_run(struct sim *sim)
{
	uint64_t now;

	scan_doorbells(sim);
	now = sim->driven_ns = clock_ns();
	keep_up(sim, now);
	expire(sim, now);
	keep_house(sim, now);
}

bool engine_settle(struct sim *sim)
{
	uint64_t woken = sim->woken;

	scan_doorbells(sim);
	do
		if (!advance(sim))
			return false;
	while (goes_on(sim));
	expire(sim, clock_ns());
	keep_house(sim, clock_ns());
	return sim->woken == woken;
}

/* Returns when the GPU does something next (wall). */
static uint64_t next_of_gpu(const struct node *node)
{
	uint64_t next = gpu_next(node->gpu);

	return next < MODEL_FAR ? model_to_wall(node->sim, next) : UINT64_MAX;
}

/* Returns the node whose GPU does something first. */
static struct node *first_gpu(struct sim *sim)
{
	struct node *first = &sim->nodes[0];

	for (uint32_t i = 1; i < sim->nodes_n; i++)
		if (gpu_next(sim->nodes[i].gpu) < gpu_next(first->gpu))
			first = &sim->nodes[i];
	return first;
}

/* Returns the time of the first event that happens without a thread of the tasks; UINT64_MAX: none.
 * What GPU @but does is left out (NULL: nothing is). The runtime waits for events with a time-out
 * of 50 days where it means forever, so in virtual time deadlines beyond FAR_NS are left out. */
static uint64_t next_event(const struct sim *sim, const struct node *but)
{
	uint64_t first = UINT64_MAX, at = firmware_due(sim);

	for (uint32_t i = 0; i < sim->nodes_n; i++)
		if (&sim->nodes[i] != but && next_of_gpu(&sim->nodes[i]) < first)
			first = next_of_gpu(&sim->nodes[i]);

	if (at < first)
		first = at;
	at = evictions_due(sim);
	if (at < first)
		first = at;
	at = next_doorbell(sim);
	if (at < first)
		first = at;
	if (sim->next_pinned_ns < first)
		first = sim->next_pinned_ns;
	at = sim->next_deadline_ns;
	if (at < first && (!sim->time || at < clock_ns() + FAR_NS))
		first = at;
	return first;
}

/* Advances the clock of virtual time, and model time with it. */
static void move_clock(struct sim *sim, uint64_t to_ns)
{
	uint64_t model = model_now(sim, to_ns);

	time_slots_set_clock(sim->time, to_ns);
	if (model > sim->model_ns)
		sim->model_ns = model;
}

/* Runs one GPU, and the clock with it, to the first event that the GPU model reports, because most
 * of what a GPU does is not reported. Does not run past @until_ns, when something happens
 * elsewhere. */
static void run_gpu(struct node *node, uint64_t until_ns)
{
	struct sim *sim = node->sim;
	uint64_t first = gpu_next(node->gpu), until = first + STEP_NS;
	struct gpu_event event, none;
	bool any;

	if (until_ns != UINT64_MAX) {
		/* Stop a little before @until_ns, because the conversion to wall time rounds up. */
		uint64_t margin = (uint64_t)(3 * sim->config.time_scale) + 3;
		uint64_t most = model_now(sim, until_ns);

		if (most < until + margin)
			until = most > first + margin ? most - margin : first;
	}
	any = gpu_step(node->gpu, until, &event);
	move_clock(sim, model_to_wall(sim, gpu_now(node->gpu)));
	/* Bring the other GPUs to this time, so that nothing that the event causes there begins
	 * before it. */
	for (uint32_t i = 0; i < sim->nodes_n; i++)
		if (gpu_next(sim->nodes[i].gpu) > gpu_now(node->gpu))
			gpu_step(sim->nodes[i].gpu, gpu_now(node->gpu), &none);
	if (any)
		handle(node, &event);
}

bool engine_until(struct sim *sim, uint64_t until_ns, bool to_effect)
{
	uint64_t effects = time_slots_effects(sim->time), woken = sim->woken;

	for (unsigned steps = 0; steps < STEPS; steps++) {
		struct node *node = first_gpu(sim);
		uint64_t gpu_ns = next_of_gpu(node), next = next_event(sim, node);

		if (gpu_ns >= until_ns && next >= until_ns) {
			if (until_ns != UINT64_MAX)
				move_clock(sim, until_ns);
			return until_ns != UINT64_MAX;
		}
		if (gpu_ns < next)
			run_gpu(node, next < until_ns ? next : until_ns);
		else
			move_clock(sim, next);
		if (sim->woken != woken || !engine_settle(sim) ||
		    (to_effect && time_slots_effects(sim->time) != effects))
			break;
	}
	return true;
}

bool engine_has_work(const struct sim *sim, pid_t pid)
{
	const struct process *process;
	const struct queue *queue;

	TAILQ_FOREACH(process, &sim->processes, link)
	if (process->pid == pid && !process->dead)
		TAILQ_FOREACH(queue, &process->queues, link)
	if (queue->retired != queue->limit_seen || *queue->doorbell != queue->doorbell_last)
		return true;
	return false;
}

void engine_catch_up(struct sim *sim)
{
	if (sim->time) {
		engine_settle(sim);
		return;
	}
	/* If the simulation is behind, calls do not make it catch up more often than the main loop
	 * does. */
	uint64_t enough = sim->behind ? ITERATION_BEHIND_NS : sim->config.poll_ns;

	if (clock_ns() - sim->driven_ns > enough)
		engine_run(sim);
}

static bool any_queue(const struct sim *sim)
{
	const struct process *process;

	TAILQ_FOREACH(process, &sim->processes, link)
	if (!TAILQ_EMPTY(&process->queues))
		return true;
	return false;
}

uint64_t engine_due(const struct sim *sim)
{
	const struct sim_config *config = &sim->config;
	uint64_t now = clock_ns(), until = next_event(sim, NULL), at;

	if (any_queue(sim)) {
		/* Increase the interval gradually: a doorbell after a pause is noticed late in
		 * proportion to the pause. */
		uint64_t quiet = now - sim->last_doorbell_ns, gap = config->poll_ns;
		uint64_t share = quiet / (quiet < ASLEEP_NS ? IDLE_SHARE : ASLEEP_SHARE);

		if (quiet >= config->poll_hold_ns && share > gap)
			gap = share;
		if (gap > config->poll_idle_ns)
			gap = config->poll_idle_ns;
		at = now + gap;
		if (at < until)
			until = at;
	}
	if (!TAILQ_EMPTY(&sim->processes) && sim->next_check_ns < until)
		until = sim->next_check_ns;
	at = live_due(sim);
	if (at < until)
		until = at;
	at = procfs_due(sim);
	if (at < until)
		until = at;
	at = debugfs_due(sim);
	if (at < until)
		until = at;
	if (sim->behind && until < now + REST_NS)
		until = now + REST_NS;
	return until;
}

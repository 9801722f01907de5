// SPDX-License-Identifier: MIT
/*
 * The GPU side of the main loop: scans the doorbells, advances the GPU model to the clock, and
 * passes it new packets. The events that the model reports are carried out by sim/cp/packets.c.
 *
 * The order matters for time stamps: doorbells are read before the clock, and the packets that they
 * announce are submitted at that time, so that nothing starts before the CPU rang the doorbell.
 *
 * Three clocks: wall time (CLOCK_MONOTONIC); model time (wall time since the start, scaled, without
 * what the simulated GPUs have lost); and the GPU's 100 MHz counter. The counter runs at wall
 * speed, so that a program that compares it with the CPU's clock gets consistent values.
 */
#include <time.h>

#include "common/clock.h"
#include "sim/driver/files.h"
#include "sim/driver/memory.h"
#include "sim/driver/runlist_update.h"
#include "sim/host/time/page.h"
#include "sim/host/time_slots.h"

/* Doorbells are polled every POLL_NS until POLL_HOLD_NS after the last doorbell. Then the interval
 * grows, up to POLL_IDLE_NS after 5 s without doorbells. */
#define POLL_NS 20000u
#define POLL_HOLD_NS 100000000u
#define POLL_IDLE_NS 5000000u
#define CHECK_NS 50000000u /* interval of the checks for an exec, which no ioctl reports */
/* Host time that an iteration may take to catch up after the machine stalled. */
#define ITERATION_NS 20000000u
/* ITERATION_NS while sim->behind */
#define ITERATION_BEHIND_NS 5000000u
#define REST_NS 200000u	  /* pause after an iteration while behind; other threads get the lock */
#define CHUNKS 16u	  /* most chunks in one iteration; the host's clock is read after each */
#define CHUNK_NS 100000u  /* shortest chunk; model time */
#define IDLE_SHARE 10000  /* polling interval: time without doorbells / IDLE_SHARE */
#define ASLEEP_SHARE 1000 /* IDLE_SHARE after ASLEEP_NS without doorbells */
#define ASLEEP_NS 2000000000u
#define FAR_NS (30 * 86400 * 1000000000ull)
#define MODEL_FAR (1ull << 62) /* later than any run ends */
/* limit of steps in engine_until(), after which the programs' threads are checked again */
#define STEPS 10000u
#define STEP_NS 10000u /* longest time that a GPU runs beyond its first event; model time */

static uint64_t model_now(const struct sim *sim, uint64_t wall_ns)
{
	if (wall_ns <= sim->start_ns)
		return 0;
	return (uint64_t)((double)(wall_ns - sim->start_ns) * sim->config.time_scale) -
	       sim->totals.lost_ns;
}

/* Converts model time to wall time. Rounds up, so that model_now() of the result is not before
 * model_ns, and a time stamp is not before the CPU's clock at submission. */
uint64_t model_to_wall(const struct sim *sim, uint64_t model_ns)
{
	return sim->start_ns + 1 +
	       (uint64_t)(((double)(model_ns + sim->totals.lost_ns) + 1.0) /
			  sim->config.time_scale);
}

/* Converts wall time to the GPU's counter. Rounds up, so that a time stamp is not before the CPU's
 * clock at submission. */
uint64_t gpu_ticks(uint64_t wall_ns)
{
	return (wall_ns + 9) / 10;
}

uint64_t boot_clock_ns(const struct sim *sim)
{
	return sim->time ? clock_ns() + time_slots_page(sim->time)->boottime_ns
			 : clock_of(CLOCK_BOOTTIME);
}

/* Raises the limit up to which packets can be fetched. It never falls, because doorbell values and
 * write pointers only grow; the signed difference allows for a wrap. */
static void publish(struct queue *queue, uint64_t limit)
{
	if ((int64_t)(limit - queue->limit_seen) > 0)
		queue->limit_seen = limit;
}

/* Makes the packets up to the last doorbell value available. For AQL the value is the index of the
 * last packet. For SDMA it is the end of the packets in bytes, for PM4 in dwords. */
static void notice(struct queue *queue)
{
	uint64_t value = queue->doorbell_last;

	queue->rung_due_ns = 0;
	publish(queue, is_aql(queue) ? value + 1 : value);
}

/* Handles a new doorbell value. In virtual time it takes effect after host_dispatch_us; further
 * stores within that time take effect together with it. */
static void rung(struct queue *queue, uint64_t value)
{
	struct sim *sim = queue->process->sim;
	uint64_t now = clock_ns(), delay = now - queue->doorbell_seen_ns;

	if (sim->time)
		delay = us_ns(sim->config.node.host_dispatch_us);
	hist_add(&sim->totals.doorbell_delay, delay);
	sim->last_doorbell_ns = now;
	queue->doorbell_last = value;
	if (!sim->time || !delay)
		notice(queue);
	else if (!queue->rung_due_ns)
		queue->rung_due_ns = now + delay;
}

/* Compares every doorbell with its last value. A doorbell is plain memory, so nothing reports a
 * store to it. */
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

/* Scans the doorbells if a GPU packet may have written to one. Returns true if it has scanned. */
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

	if (!sim->time || !sim->config.node.host_dispatch_us)
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
		/* Packets are only fetched while the queue is mapped. For an unmapped queue, inform
		 * the model that the queue has more work. */
		gpu_queue_expect(sim->nodes[queue->node].gpu, (uint32_t)queue->gpu_queue,
				 !queue->map_wanted);
		if (!queue->map_wanted)
			continue;
		engine_fetch(queue);
		any |= queue->submitted != before;
	}
	return any;
}

/* Continues the simulation after the GPUs have run: fetches new packets, ends waits and copies, and
 * reads doorbells that packets rang. Returns true as soon as one of these gives the GPUs work that
 * begins now. */
static bool goes_on(struct sim *sim)
{
	return feed(sim) || packets_check_waiting(sim) || packets_copy_end(sim) || read_rung(sim);
}

/* Runs the GPUs up to sim->model_ns. In virtual time, returns false if a program's thread became
 * runnable, because the thread must run before anything else happens. */
static bool advance(struct sim *sim)
{
	uint64_t woken = sim->woken;
	struct gpu_event event;

	for (uint32_t i = 0; i < sim->nodes_n; i++)
		while (gpu_step(sim->nodes[i].gpu, sim->model_ns, &event)) {
			packets_event(&sim->nodes[i], &event);
			if (sim->time && sim->woken != woken)
				return false;
		}
	return true;
}

/*
 * Advances the GPUs to @now.
 *
 * An iteration has a time limit. Without it, a machine that cannot simulate the GPUs as fast as
 * they should run would need more time for each iteration, and every call would wait for that. The
 * GPUs lose the model time that is left at the limit: they are slower than they should be, and
 * lost_ns reports by how much.
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
	/* Fetch new packets only now, because they were submitted now, not during the time that was
	 * just simulated. */
	do
		advance(sim);
	while (goes_on(sim));
}

static void expire(struct sim *sim, uint64_t now)
{
	firmware_expire(sim, now);
	evictions_expire(sim, now);
	if (now >= sim->next_deadline_ns)
		events_expire(sim, now);
	if (now >= sim->next_pinned_ns)
		pins_expire(sim, now);
}

/* Removes processes that have ended, and updates the files that show the simulation's state. */
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

/* Returns the wall time at which the GPU does something next; UINT64_MAX: it has nothing to do. */
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

static void lower(uint64_t *first, uint64_t at)
{
	if (at < *first)
		*first = at;
}

/* Returns the time of the first event that happens without a call of a program; UINT64_MAX: none.
 * Does not count the GPU of @but (may be NULL). In virtual time, does not count deadlines beyond
 * FAR_NS, because the runtime waits for events with a time-out of 50 days where it means
 * forever. */
static uint64_t next_event(const struct sim *sim, const struct node *but)
{
	uint64_t first = firmware_due(sim), at = sim->next_deadline_ns;

	for (uint32_t i = 0; i < sim->nodes_n; i++)
		if (&sim->nodes[i] != but)
			lower(&first, next_of_gpu(&sim->nodes[i]));
	lower(&first, evictions_due(sim));
	lower(&first, next_doorbell(sim));
	lower(&first, sim->next_pinned_ns);
	if (!sim->time || at < clock_ns() + FAR_NS)
		lower(&first, at);
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

/* Runs one GPU to the first event that the GPU model reports, and moves the clock to that time. The
 * model does not report everything that it does, so this can be later than gpu_next(). Stops before
 * @until_ns, the time of the next event outside of this GPU. */
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
	/* Bring the other GPUs to this time, so that nothing that the event causes on them begins
	 * before the event. */
	for (uint32_t i = 0; i < sim->nodes_n; i++)
		if (gpu_next(sim->nodes[i].gpu) > gpu_now(node->gpu))
			gpu_step(sim->nodes[i].gpu, gpu_now(node->gpu), &none);
	if (any)
		packets_event(node, &event);
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
	uint64_t enough = sim->behind ? ITERATION_BEHIND_NS : POLL_NS;

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
	uint64_t now = clock_ns(), until = next_event(sim, NULL);

	if (any_queue(sim)) {
		/* Poll at intervals proportional to the time without doorbells, so that the delay
		 * of the next doorbell is small compared with the pause before it. */
		uint64_t quiet = now - sim->last_doorbell_ns, gap = POLL_NS;
		uint64_t share = quiet / (quiet < ASLEEP_NS ? IDLE_SHARE : ASLEEP_SHARE);

		if (quiet >= POLL_HOLD_NS && share > gap)
			gap = share;
		lower(&gap, POLL_IDLE_NS);
		lower(&until, now + gap);
	}
	if (!TAILQ_EMPTY(&sim->processes))
		lower(&until, sim->next_check_ns);
	lower(&until, live_due(sim));
	lower(&until, procfs_due(sim));
	lower(&until, debugfs_due(sim));
	if (sim->behind && until < now + REST_NS)
		until = now + REST_NS;
	return until;
}

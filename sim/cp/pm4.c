// SPDX-License-Identifier: MIT
/*
 * Fetches PM4 packets as the compute microengine of gfx9 does: from the ring of a PM4 queue, and
 * from the indirect buffer that an AQL vendor packet names. Formats: the driver's gfx_v9_0.c and
 * soc15d.h, and AMD's kfdtest.
 *
 * Packets are passed to the GPU model as units. A unit is a wait, a dispatch, a transfer, or a run
 * of packets that take no time of their own. Registers are set when a unit is fetched. Memory is
 * accessed by pm4_execute.c when the unit takes effect.
 *
 * An indirect buffer is entered when everything before it is complete, because earlier packets may
 * have written into it. Each entry costs the time of a fetch, so that an endless chain of buffers
 * uses model time of its own queue and does not block the simulator.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "sim/cp/pm4.h"

#define LEVELS 2u
#define SH_FIRST 0x200u /* offset of COMPUTE_DISPATCH_INITIATOR in the SH registers, in dwords */
#define SH_COUNT 128u
#define LDS_GRANULE 512u

enum { SH_THREADS_X = 7, SH_RSRC2 = 0x13 };
#define USE_THREAD_DIMENSIONS (1u << 5)
#define SHADER_ENABLE 1u
#define IB_CHAIN (1u << 20)

struct pm4 {
	uint32_t sh[SH_COUNT];
	struct pm4_code levels[LEVELS]; /* stack of indirect buffers; the top one is executed */
	unsigned depth;
	uint64_t ring_end; /* ring position after the packet that enters levels[0] */
};

static int interpreter(struct queue *queue, struct pm4 **out)
{
	if (!queue->pm4)
		queue->pm4 = calloc(1, sizeof *queue->pm4);
	*out = queue->pm4;
	return *out ? 0 : -ENOMEM;
}

/* Successive packets without a time of their own, while they are collected into one unit. */
struct packet_batch {
	struct pm4_code code; /* what is left of the code */
	uint32_t taken;	      /* dwords in the unit so far */
	uint32_t count;	      /* packets, without those that do nothing */
	bool flushes;	      /* a packet waits for all work before it */
};

/* Stores what the packet writes to SH registers that dispatches use; others are not simulated. */
static void set_registers(struct queue *queue, const struct pm4_code *code, uint32_t dwords)
{
	uint32_t offset, value;

	if (pm4_read(queue, code, 1, &offset, 1))
		return;
	offset &= 0xffff;
	for (uint32_t i = 2; i < dwords; i++, offset++)
		if (offset >= SH_FIRST && offset < SH_FIRST + SH_COUNT &&
		    !pm4_read(queue, code, i, &value, 1))
			queue->pm4->sh[offset - SH_FIRST] = value;
}

static int packet_at(const struct queue *queue, const struct pm4_code *code, uint32_t *dwords,
		     uint32_t *op)
{
	return code->dwords ? pm4_packet(queue, code, dwords, op) : -EAGAIN;
}

/* Returns true if packets with this opcode are passed to the GPU model one by one, never several as
 * one unit. */
static bool stands_alone(uint32_t op)
{
	return op == PM4_WAIT_REG_MEM || op == PM4_WAIT_REG_MEM64 || op == PM4_DISPATCH_DIRECT ||
	       op == PM4_INDIRECT_BUFFER || op == PM4_DMA_DATA;
}

static int take_wait(struct queue *queue, const struct pm4_code *code, bool wide,
		     struct packet *packet, struct gpu_packet *to)
{
	uint32_t d[9];

	if (pm4_read(queue, code, 0, d, wide ? 9 : 7))
		return -EFAULT;
	/* A wait for a register ends at once, because registers are not simulated. */
	if ((d[1] >> 4 & 3) != 1)
		return 0;
	packet->kind = PACKET_POLL;
	packet->poll.address = pm4_qword(d + 2) & ~(wide ? 7ull : 3ull);
	packet->poll.reference = wide ? pm4_qword(d + 4) : d[4];
	packet->poll.mask = wide ? pm4_qword(d + 6) : d[5];
	packet->poll.function = d[1] & 7;
	packet->poll.wide = wide;
	to->kind = GPU_PACKET_WAIT;
	return 0;
}

/* Describes a dispatch for the GPU model. The dispatch takes the time of an unknown kernel. Returns
 * 0; -EFAULT: the packet cannot be read; -EBADMSG: bad sizes. */
static int take_dispatch(struct queue *queue, const struct pm4_code *code, struct packet *packet,
			 struct gpu_packet *to)
{
	const struct sim_config *config = &queue->process->sim->config;
	const uint32_t *sh = queue->pm4->sh;
	uint64_t groups = 1, threads = 1;
	int64_t wave_slots;
	uint32_t d[5];

	if (pm4_read(queue, code, 0, d, 5))
		return -EFAULT;
	for (unsigned i = 0; i < 3; i++) {
		uint64_t size = sh[SH_THREADS_X + i] & 0xffff;

		if (!size)
			size = 1;
		threads *= size;
		groups *= d[4] & USE_THREAD_DIMENSIONS ? (d[1 + i] + size - 1) / size : d[1 + i];
		if (groups > UINT32_MAX || threads > UINT32_MAX)
			return -EBADMSG;
	}
	if (!groups || !(d[4] & SHADER_ENABLE))
		return 0; /* nothing is launched */
	wave_slots = aql_wave_slots(config, threads,
				    (sh[SH_RSRC2] >> 15 & 0x1ff) * (uint64_t)LDS_GRANULE);
	if (wave_slots < 0)
		return -EBADMSG;
	packet->kind = PACKET_DISPATCH;
	packet->kernel = report_kernel_index(queue->process->sim, "(PM4 dispatch)", false);
	to->kind = GPU_PACKET_DISPATCH;
	to->barrier = false;
	to->wgs = (uint32_t)groups;
	to->wave_slots = (uint32_t)wave_slots;
	to->wg_ns = us_ns(config->node.unknown_kernel_us);
	return 0;
}

static void take_transfer(struct queue *queue, const struct pm4_code *code, struct gpu_packet *to)
{
	uint32_t d[7] = {0};

	pm4_read(queue, code, 0, d, 7);
	to->busy_ns =
		(uint64_t)((double)(d[6] & PM4_DMA_BYTES) * 1000.0 /
			   (double)gb_bytes_us(queue->process->sim->config.node.blit_gb_per_s));
}

/* Enters the indirect buffer that the three dwords @d of its packet describe. Returns 0, or
 * -EBADMSG: nested too deep. */
static int enter(struct queue *queue, const uint32_t *d)
{
	struct pm4 *pm4 = queue->pm4;
	struct pm4_code code = {.at = pm4_qword(d) & ~3ull, .dwords = d[2] & 0xfffff};

	if (!(d[2] & IB_CHAIN && pm4->depth) && pm4->depth == LEVELS)
		return -EBADMSG;
	if (d[2] & IB_CHAIN && pm4->depth)
		pm4->levels[pm4->depth - 1] = code;
	else
		pm4->levels[pm4->depth++] = code;
	return 0;
}

/* Returns the code to execute next: the rest of the innermost indirect buffer, else of the ring. */
static struct pm4_code current(const struct queue *queue)
{
	if (queue->pm4->depth)
		return queue->pm4->levels[queue->pm4->depth - 1];
	return (struct pm4_code){
		.ring = true, .at = queue->fetched, .dwords = queue->limit - queue->fetched};
}

/* Advances the innermost indirect buffer past @dwords that were passed to the GPU model, and leaves
 * all buffers of which nothing is left. */
static void leave(struct queue *queue, uint32_t dwords)
{
	struct pm4 *pm4 = queue->pm4;

	if (!pm4->depth)
		return; /* engine_submit() advances the ring's position */
	pm4_advance(&pm4->levels[pm4->depth - 1], dwords);
	while (pm4->depth && !pm4->levels[pm4->depth - 1].dwords)
		pm4->depth--;
}

/* Returns true if, after @dwords more of the innermost indirect buffer, no indirect buffer has
 * anything left. */
static bool ends(const struct pm4 *pm4, uint32_t dwords)
{
	for (unsigned i = 0; i < pm4->depth; i++)
		if (pm4->levels[i].dwords != (i + 1 == pm4->depth ? dwords : 0))
			return false;
	return true;
}

/* Collects successive packets that take no time of their own. The caller has checked that the first
 * one is complete. */
static void take_run(struct queue *queue, struct packet_batch *batch)
{
	uint32_t dwords, op;

	while (batch->taken < RUN_DWORDS_MAX && !packet_at(queue, &batch->code, &dwords, &op) &&
	       !stands_alone(op)) {
		/* A packet that synchronises memory or reports an end must not run ahead of packets
		 * before it, so it begins a new unit. */
		if (pm4_flushes(op)) {
			if (batch->taken && !batch->flushes)
				return;
			batch->flushes = true;
		}
		if (op == PM4_SET_SH_REG || op == PM4_SET_SH_REG_INDEX)
			set_registers(queue, &batch->code, dwords);
		batch->taken += dwords;
		batch->count += op != PM4_NOP;
		pm4_advance(&batch->code, dwords);
	}
}

/* Collects the next unit for the GPU model (see the head of this file). Sets *@taken to its length
 * in dwords. If it enters an indirect buffer, sets @enters[] to the three dwords that describe the
 * buffer. Returns 0, -EAGAIN, -EBADMSG or -EFAULT. */
static int take(struct queue *queue, struct packet *packet, struct gpu_packet *to, uint32_t *taken,
		uint32_t *enters)
{
	struct packet_batch batch = {.code = current(queue)};
	uint32_t dwords, op;
	int r = packet_at(queue, &batch.code, &dwords, &op);

	if (r)
		return r;
	packet->kind = PACKET_PM4;
	packet->code = batch.code;
	packet->count = 1;
	to->kind = GPU_PACKET_WORK;
	*taken = dwords;
	if (op == PM4_INDIRECT_BUFFER) {
		packet->code.dwords = 0;
		to->busy_ns = IB_FETCH_NS;
		to->barrier = true;
		if (queue->submitted != queue->done)
			return -EAGAIN;
		return pm4_read(queue, &batch.code, 1, enters, 3);
	}
	packet->code.dwords = dwords;
	if (op == PM4_WAIT_REG_MEM || op == PM4_WAIT_REG_MEM64)
		return take_wait(queue, &batch.code, op == PM4_WAIT_REG_MEM64, packet, to);
	if (op == PM4_DISPATCH_DIRECT)
		return take_dispatch(queue, &batch.code, packet, to);
	if (op == PM4_DMA_DATA) {
		take_transfer(queue, &batch.code, to);
		return 0;
	}
	take_run(queue, &batch);
	*taken = batch.taken;
	packet->code.dwords = batch.taken;
	packet->count = batch.count;
	to->barrier = batch.flushes;
	return 0;
}

/* Passes the next unit (see the head of this file) to the GPU model. If the unit enters an indirect
 * buffer, the next call continues there. Returns 0, or a negative errno without having advanced. */
static int next_batch(struct queue *queue)
{
	struct packet packet = {.at = queue->fetched};
	struct gpu_packet to = {0};
	uint32_t taken = 0, enters[3] = {0};
	struct pm4 *pm4 = queue->pm4;
	bool inside = pm4->depth, enters_one;
	int r = take(queue, &packet, &to, &taken, enters);

	if (r)
		return r;
	enters_one = enters[2] & 0xfffff;
	if (!inside)
		pm4->ring_end = queue->fetched + taken;
	packet.part = enters_one || (inside && !ends(pm4, taken));
	packet.end = packet.part ? queue->fetched : pm4->ring_end;
	if (is_aql(queue) && !packet.part)
		packet.signal = queue->ib_signal;
	if (enters_one) {
		/* Advance the current buffer past this packet: execution continues there after the
		 * new buffer. A chained buffer replaces the current one instead. After an error,
		 * *pm4 is restored from `before`. */
		struct pm4 before = *pm4;
		bool chain = enters[2] & IB_CHAIN && pm4->depth;

		if (!chain && pm4->depth)
			pm4_advance(&pm4->levels[pm4->depth - 1], taken);
		r = enter(queue, enters);
		if (!r)
			r = engine_submit(queue, &packet, &to);
		if (r)
			*pm4 = before;
		return r;
	}
	r = engine_submit(queue, &packet, &to);
	if (!r)
		leave(queue, taken);
	return r;
}

static void fetch_failed(struct queue *queue, int r)
{
	struct pm4_code code = current(queue);

	/* An error takes effect when everything before the bad packet is complete. */
	if (r == -EAGAIN || queue->submitted != queue->done)
		return;
	if (r == -EBADMSG)
		pm4_error(queue, &code);
	else if (r == -EFAULT)
		engine_fault(queue);
	else
		queue_halt(queue, "out of memory for its packets (%s)", strerror(-r));
}

bool pm4_inside(const struct queue *queue)
{
	return queue->pm4 && queue->pm4->depth;
}

int pm4_fetch_inside(struct queue *queue)
{
	int r = next_batch(queue);

	if (r)
		fetch_failed(queue, r);
	return r;
}

/* All positions are those of the AQL packet, because an AQL queue has no PM4 ring. */
int pm4_enter_aql(struct queue *queue, const uint32_t *words, uint64_t completion_signal)
{
	struct packet packet = {
		.at = queue->fetched, .end = queue->fetched, .kind = PACKET_PM4, .part = true};
	struct gpu_packet to = {.kind = GPU_PACKET_WORK, .barrier = true, .busy_ns = IB_FETCH_NS};
	struct pm4 *pm4;
	uint32_t op;
	int r = interpreter(queue, &pm4);

	if (r)
		return r;
	if (pm4_length(words[0], &op) != 4 || op != PM4_INDIRECT_BUFFER)
		return -EBADMSG;
	if (queue->submitted != queue->done)
		return -EAGAIN;
	packet.part = words[3] & 0xfffff;
	if (!packet.part) {
		packet.signal = completion_signal;
		packet.end++;
	}
	r = engine_submit(queue, &packet, &to);
	if (r || !packet.part)
		return r;
	queue->ib_signal = completion_signal;
	pm4->ring_end = packet.at + 1;
	return enter(queue, words + 1);
}

void pm4_fetch(struct queue *queue)
{
	uint64_t dwords = queue->hw_ring_bytes / 4;
	struct pm4 *pm4;
	int r = interpreter(queue, &pm4);

	while (!r && !queue->stopped && queue->submitted - queue->done < QUEUE_AHEAD &&
	       (pm4->depth || ((int64_t)(queue->limit - queue->fetched) > 0 &&
			       queue->fetched - queue->retired < dwords)))
		r = next_batch(queue);
	if (r)
		fetch_failed(queue, r);
}

void pm4_release(struct queue *queue)
{
	free(queue->pm4);
	queue->pm4 = NULL;
}

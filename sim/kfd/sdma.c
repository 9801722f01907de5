// SPDX-License-Identifier: MIT
/*
 * SDMA packets of gfx9 (sdma_registers.h of the runtime tells the formats the
 * runtime writes): copies take their time, waits hold the queue, and the small
 * ones between them go into the GPU model as one.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "sim/kfd/kfd.h"

enum sdma_op {
	OP_NOP = 0,
	OP_COPY = 1,
	OP_WRITE = 2,
	OP_FENCE = 5,
	OP_TRAP = 6,
	OP_POLL = 8,
	OP_ATOMIC = 10,
	OP_FILL = 11,
	OP_TIMESTAMP = 13,
	OP_GCR = 17,
};
enum { COPY_LINEAR = 0, COPY_RECT = 4 };
#define COPY_BROADCAST (1u << 27)
#define COUNT_MASK 0x3fffffffu /* 30 bits; narrower fields have zeros above */
#define POLL_MEMORY (1u << 31)
#define ATOMIC_ADD64 0x2f
#define DWORDS_MAX 13u

struct sdma {
	uint32_t d[DWORDS_MAX];
	uint32_t dwords;
	uint32_t op, sub;
};

static uint64_t qword(const struct sdma *s, unsigned at)
{
	return (uint64_t)s->d[at + 1] << 32 | s->d[at];
}

/* The packet's length in dwords; 0: not known. */
static uint32_t length_of(const struct sdma *s)
{
	switch (s->op) {
	case OP_NOP:
		return 1 + (s->d[0] >> 16 & 0x3fff);
	case OP_COPY:
		if (s->sub == COPY_LINEAR)
			return s->d[0] & COPY_BROADCAST ? 9 : 7;
		return s->sub == COPY_RECT ? 13 : 0;
	case OP_WRITE:
		return s->sub ? 0 : 5 + (s->d[3] & 0xfffff);
	case OP_FENCE:
		return 4;
	case OP_TRAP:
		return 2;
	case OP_POLL:
		return 6;
	case OP_ATOMIC:
		return s->d[0] >> 25 == ATOMIC_ADD64 ? 8 : 0;
	case OP_FILL:
	case OP_GCR:
		return 5;
	case OP_TIMESTAMP:
		return 3;
	default:
		return 0;
	}
}

/* Reads the packet at a ring position. -EAGAIN: it is not all there yet;
 * -EBADMSG: unknown. */
static int read_packet(const struct queue *queue, uint64_t at, struct sdma *s)
{
	uint64_t there = (queue->limit - at) / 4;
	uint32_t have = there < DWORDS_MAX ? (uint32_t)there : DWORDS_MAX;

	memset(s, 0, sizeof *s);
	if (!have)
		return -EAGAIN;
	if (ring_read(queue, at, s->d, have * 4ull))
		return -EFAULT;
	s->op = s->d[0] & 0xff;
	s->sub = s->d[0] >> 8 & 0xff;
	s->dwords = length_of(s);
	if (!s->dwords)
		return -EBADMSG;
	return s->dwords > there ? -EAGAIN : 0;
}

static uint64_t copy_bytes(const struct sdma *s)
{
	uint64_t rows;

	if (s->op == OP_FILL || s->sub == COPY_LINEAR)
		return (s->d[s->op == OP_FILL ? 4 : 1] & COUNT_MASK) + 1ull;
	rows = ((s->d[11] >> 16 & 0x3fff) + 1ull) * ((s->d[12] & 0x7ff) + 1ull);
	return rows * ((s->d[11] & 0x3fff) + 1ull) << (s->d[0] >> 29);
}

static bool takes_time(const struct sdma *s)
{
	return s->op == OP_COPY || s->op == OP_FILL;
}

/* The link that memory at this address lies behind, as the queue's GPU sees it. */
static uint32_t link_to(const struct queue *queue, uint64_t va)
{
	const struct mapping *mapping = memory_find(queue->process, queue->node, va);
	const struct pages *pages = mapping ? mapping->pages : NULL;

	if (!pages || !pages->vram)
		return GPU_LINK_HOST;
	if (pages->node == queue->node)
		return GPU_LINK_LOCAL;
	return GPU_LINK_PEER(pages->node % (GPU_LINKS_MAX - GPU_LINK_PEER(0)));
}

/* What a copy crosses: the farther side's link. A broadcast's second target goes
 * along with its first. */
static uint32_t link_of(const struct queue *queue, const struct sdma *s)
{
	uint32_t from, to;

	if (s->op == OP_FILL)
		return link_to(queue, qword(s, 1));
	from = link_to(queue, qword(s, s->sub == COPY_RECT ? 1 : 3));
	to = link_to(queue, qword(s, s->sub == COPY_RECT ? 6 : 5));
	if (from == GPU_LINK_HOST || to == GPU_LINK_HOST)
		return GPU_LINK_HOST;
	return from == GPU_LINK_LOCAL ? to : from;
}

static bool waits(const struct sdma *s)
{
	return s->op == OP_POLL && s->d[0] & POLL_MEMORY;
}

static int next_packet(struct queue *queue, struct packet *packet, struct gpu_packet *to)
{
	const struct world_config *config = &queue->process->world->config;
	uint64_t at = queue->fetched;
	unsigned small = 0;
	struct sdma s;
	int r = read_packet(queue, at, &s);

	if (r)
		return r;
	to->barrier = true; /* an engine works in order */
	if (waits(&s)) {
		to->kind = GPU_PACKET_WAIT;
		packet->kind = PACKET_POLL;
		packet->poll.address = qword(&s, 1);
		packet->poll.reference = s.d[3];
		packet->poll.mask = s.d[4];
		packet->poll.function = s.d[0] >> 28 & 7;
		packet->end = at + 4ull * s.dwords;
		return 0;
	}
	to->kind = GPU_PACKET_WORK;
	packet->kind = PACKET_EFFECTS;
	if (takes_time(&s)) {
		to->kind = GPU_PACKET_COPY;
		to->busy_ns = config->sdma_packet_ns;
		to->bytes = copy_bytes(&s);
		to->link = link_of(queue, &s);
		packet->end = at + 4ull * s.dwords;
		return 0;
	}
	while (!r && !waits(&s) && !takes_time(&s)) {
		at += 4ull * s.dwords;
		small += s.op != OP_NOP;
		r = read_packet(queue, at, &s);
	}
	packet->end = at;
	to->busy_ns = small * config->sdma_packet_ns;
	return 0;
}

void sdma_fetch(struct queue *queue)
{
	while (!queue->stopped && (int64_t)(queue->limit - queue->fetched) > 0 &&
	       queue->submitted - queue->done < QUEUE_AHEAD &&
	       queue->fetched - queue->retired < queue->hw_ring_bytes) {
		struct packet packet = {.at = queue->fetched};
		struct gpu_packet to = {0};
		int r = next_packet(queue, &packet, &to);

		if (!r)
			r = drive_submit(queue, &packet, &to);
		if (!r)
			continue;
		if (r == -EAGAIN || queue->submitted != queue->done)
			return;
		if (r == -EBADMSG)
			say("unknown SDMA packet at byte %llu of queue %u of pid %d: the queue "
			    "stops",
			    (unsigned long long)queue->fetched, queue->id,
			    queue->process->record->pid);
		drive_fault(queue, queue->hw_ring + queue->fetched % queue->hw_ring_bytes);
		return;
	}
}

static int copy_rect(const struct process *process, const struct sdma *s)
{
	uint64_t src = qword(s, 1), dst = qword(s, 6), element = 1ull << (s->d[0] >> 29);
	uint64_t sx = s->d[3] & 0x3fff, sy = s->d[3] >> 16 & 0x3fff, sz = s->d[4] & 0x7ff;
	uint64_t dx = s->d[8] & 0x3fff, dy = s->d[8] >> 16 & 0x3fff, dz = s->d[9] & 0x7ff;
	uint64_t s_pitch = (s->d[4] >> 13 & 0x7ffff) + 1ull, s_slice = (s->d[5] & 0xfffffff) + 1ull;
	uint64_t d_pitch = (s->d[9] >> 13 & 0x7ffff) + 1ull;
	uint64_t d_slice = (s->d[10] & 0xfffffff) + 1ull;
	uint64_t width = (s->d[11] & 0x3fff) + 1ull, height = (s->d[11] >> 16 & 0x3fff) + 1ull;
	uint64_t depth = (s->d[12] & 0x7ff) + 1ull;

	for (uint64_t z = 0; z < depth; z++)
		for (uint64_t y = 0; y < height; y++) {
			uint64_t from = ((sz + z) * s_slice + (sy + y) * s_pitch + sx) * element;
			uint64_t to = ((dz + z) * d_slice + (dy + y) * d_pitch + dx) * element;
			int r = access_copy(process, dst + to, src + from, width * element);

			if (r)
				return r;
		}
	return 0;
}

static int copy_linear(const struct process *process, const struct sdma *s)
{
	int r = access_copy(process, qword(s, 5), qword(s, 3), copy_bytes(s));

	if (!r && s->d[0] & COPY_BROADCAST)
		r = access_copy(process, qword(s, 7), qword(s, 3), copy_bytes(s));
	return r;
}

static int write_words(const struct queue *queue, uint64_t at, const struct sdma *s)
{
	uint64_t dst = qword(s, 1);
	uint32_t word;

	for (uint32_t i = 4; i < s->dwords; i++, dst += 4) {
		int r = ring_read(queue, at + 4ull * i, &word, sizeof word);

		if (!r)
			r = access_write(queue->process, dst, &word, sizeof word);
		if (r)
			return r;
	}
	return 0;
}

static int effect(struct queue *queue, uint64_t at, const struct sdma *s, uint64_t end_ns)
{
	struct process *process = queue->process;
	uint64_t ticks = gpu_ticks(end_ns);

	switch (s->op) {
	case OP_COPY:
		return s->sub == COPY_RECT ? copy_rect(process, s) : copy_linear(process, s);
	case OP_WRITE:
		return write_words(queue, at, s);
	case OP_FENCE:
		return access_write(process, qword(s, 1), &s->d[3], sizeof s->d[3]);
	case OP_TRAP:
		event_fire(process, s->d[1] & 0xfffffff);
		return 0;
	case OP_ATOMIC:
		return access_add64(process, qword(s, 1), (int64_t)qword(s, 3));
	case OP_FILL: /* bits 30-31: 0 = the low byte, 2 = the dword */
		return access_fill(process, qword(s, 1), copy_bytes(s), &s->d[3],
				   s->d[0] >> 30 ? 4 : 1);
	case OP_TIMESTAMP:
		return access_write(process, qword(s, 1), &ticks, sizeof ticks);
	default:
		return 0;
	}
}

void sdma_effect(struct queue *queue, struct packet *packet, uint64_t end_ns)
{
	uint64_t at = packet->at;
	struct sdma s;

	while (packet->kind == PACKET_EFFECTS && at < packet->end) {
		if (read_packet(queue, at, &s) || effect(queue, at, &s, end_ns)) {
			drive_fault(queue, queue->hw_ring + at % queue->hw_ring_bytes);
			return;
		}
		at += 4ull * s.dwords;
		if (s.op != OP_NOP)
			queue->record->packets++;
	}
	/* The read pointer counts bytes, and goes last: what it passes may be
	 * overwritten. */
	if (access_write(queue->process, queue->rptr_address, &packet->end, sizeof packet->end))
		drive_fault(queue, queue->rptr_address);
}

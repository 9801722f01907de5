// SPDX-License-Identifier: MIT
/*
 * SDMA packets of gfx9; formats as the runtime writes them (its sdma_registers.h). A copy takes the
 * time that its bytes need, and a wait stops the queue until the value in memory has come. The
 * small packets between these are passed to the GPU model as one unit.
 */
#include <errno.h>
#include <string.h>

#include "sim/cp/pm4.h"
#include "sim/driver/memory.h"

enum sdma_op {
	OP_NOP = 0,
	OP_COPY = 1,
	OP_WRITE = 2,
	OP_INDIRECT = 4,
	OP_FENCE = 5,
	OP_TRAP = 6,
	OP_POLL = 8,
	OP_ATOMIC = 10,
	OP_FILL = 11,
	OP_TIMESTAMP = 13,
	OP_SRBM_WRITE = 14,
	OP_GCR = 17,
};
enum { COPY_LINEAR = 0, COPY_RECT = 4 };
#define COPY_BROADCAST (1u << 27)
#define COUNT_MASK 0x3fffffffu /* 30 bits; narrower fields have zeros above */
#define POLL_MEMORY (1u << 31)
#define DWORDS_MAX 13u

struct sdma {
	uint32_t d[DWORDS_MAX];
	uint32_t dwords;
	uint32_t op, sub;
};

static uint64_t qword(const struct sdma *s, unsigned at)
{
	return pm4_qword(&s->d[at]);
}

/* Returns the length of the packet in dwords from its first words; 0: unknown packet. */
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
		return 8;
	case OP_INDIRECT:
		return 6;
	case OP_FILL:
	case OP_GCR:
		return 5;
	case OP_SRBM_WRITE: /* registers do not exist here */
		return 3;
	case OP_TIMESTAMP:
		return s->sub <= 2 ? 3 : 0;
	default:
		return 0;
	}
}

/* Reads the packet at the start of @code. Returns 0; -EAGAIN: not complete yet; -EBADMSG: unknown,
 * or cut off by the end of its buffer; -EFAULT. */
static int read_packet(const struct queue *queue, const struct pm4_code *code, struct sdma *s)
{
	uint32_t have = code->dwords < DWORDS_MAX ? (uint32_t)code->dwords : DWORDS_MAX;

	memset(s, 0, sizeof *s);
	if (!have)
		return -EAGAIN;
	if (pm4_read(queue, code, 0, s->d, have))
		return -EFAULT;
	s->op = s->d[0] & 0xff;
	s->sub = s->d[0] >> 8 & 0xff;
	s->dwords = length_of(s);
	if (!s->dwords)
		return -EBADMSG;
	if (s->dwords <= code->dwords)
		return 0;
	return code->ring && s->dwords <= queue->hw_ring_bytes / 4 ? -EAGAIN : -EBADMSG;
}

/* Returns the number of bytes that a copy or fill writes to its (first) target. */
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

/* Returns the link through which the queue's GPU reaches the memory at this address. */
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

/* Returns the link that a copy or fill uses: that of the more distant one of source and target. The
 * second target of a broadcast uses the link of the first target. */
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

/* Returns the code to execute next: the rest of the indirect buffer, else of the ring. */
static struct pm4_code current(const struct queue *queue)
{
	if (queue->sdma_ib.dwords)
		return queue->sdma_ib;
	return (struct pm4_code){.ring = true,
				 .at = queue->fetched / 4,
				 .dwords = (queue->limit - queue->fetched) / 4};
}

/* Collects successive small packets (no wait, copy, fill or indirect buffer). Advances @code and
 * adds their dwords to *@taken. Returns how many of them are not NOPs. */
static unsigned take_run(const struct queue *queue, struct pm4_code *code, uint32_t *taken)
{
	unsigned small = 0;
	struct sdma s;

	while (*taken < RUN_DWORDS_MAX && !read_packet(queue, code, &s) && !waits(&s) &&
	       !takes_time(&s) && s.op != OP_INDIRECT) {
		small += s.op != OP_NOP;
		*taken += s.dwords;
		pm4_advance(code, s.dwords);
	}
	return small;
}

/* Collects the next packet, or successive small packets, for the GPU model. Sets *@taken to their
 * length in dwords. If the packet enters an indirect buffer, sets *@enters to the buffer. Returns
 * 0, -EAGAIN, -EBADMSG or -EFAULT. */
static int take(struct queue *queue, struct packet *packet, struct gpu_packet *to, uint32_t *taken,
		struct pm4_code *enters)
{
	uint64_t packet_ns = us_ns(queue->process->sim->config.node.sdma_packet_us);
	struct pm4_code code = current(queue);
	struct sdma s;
	int r = read_packet(queue, &code, &s);

	if (r)
		return r;
	to->barrier = true; /* an engine works in order */
	packet->count = 1;
	to->kind = GPU_PACKET_WORK;
	packet->kind = PACKET_EFFECTS;
	packet->code = code;
	packet->code.dwords = *taken = s.dwords;
	if (s.op == OP_INDIRECT) {
		if (queue->sdma_ib.dwords)
			return -EBADMSG;
		/* Wait for the earlier packets, because they may write into the buffer. */
		if (queue->submitted != queue->done)
			return -EAGAIN;
		to->busy_ns = IB_FETCH_NS;
		enters->at = qword(&s, 1) & ~3ull;
		enters->dwords = s.d[3] & 0xfffff;
	} else if (waits(&s)) {
		to->kind = GPU_PACKET_WAIT;
		packet->kind = PACKET_POLL;
		packet->poll.address = qword(&s, 1) & ~3ull;
		packet->poll.reference = s.d[3];
		packet->poll.mask = s.d[4];
		packet->poll.function = s.d[0] >> 28 & 7;
		packet->poll.wide = false;
	} else if (takes_time(&s)) {
		to->kind = GPU_PACKET_COPY;
		to->busy_ns = packet_ns;
		to->bytes = copy_bytes(&s);
		to->link = link_of(queue, &s);
	} else {
		*taken = 0;
		packet->count = take_run(queue, &code, taken);
		to->busy_ns = packet->count * packet_ns;
		packet->code.dwords = *taken;
	}
	return 0;
}

/* Passes what take() collects to the GPU model. If that enters an indirect buffer, the next call
 * continues there. Returns 0 or a negative errno. */
static int next_batch(struct queue *queue)
{
	struct packet packet = {.at = queue->fetched};
	struct gpu_packet to = {0};
	struct pm4_code enters = {0};
	bool inside = queue->sdma_ib.dwords;
	uint32_t taken;
	int r = take(queue, &packet, &to, &taken, &enters);

	if (r)
		return r;
	if (!inside)
		queue->sdma_ib_end = queue->fetched + 4ull * taken;
	packet.part = enters.dwords || (inside && taken < queue->sdma_ib.dwords);
	packet.end = packet.part ? queue->fetched : queue->sdma_ib_end;
	r = engine_submit(queue, &packet, &to);
	if (!r && inside)
		pm4_advance(&queue->sdma_ib, taken);
	else if (!r)
		queue->sdma_ib = enters;
	return r;
}

/* Stops the queue because of error @r in the packet at the start of the code. It is assumed that an
 * unknown packet ends as a memory fault. */
static void failed(struct queue *queue, const struct pm4_code *code, int r)
{
	struct sim *sim = queue->process->sim;
	uint32_t header = 0;

	if (r == -EBADMSG) {
		pm4_read(queue, code, 0, &header, 1);
		queue_halt(queue,
			   "unknown or malformed SDMA packet %u.%u (header 0x%08x at %s0x%llx)",
			   header & 0xff, header >> 8 & 0xff, header,
			   code->ring ? "dword " : "address ", (unsigned long long)code->at);
		sim->fault_va = code->ring ? queue->hw_ring + code->at * 4 % queue->hw_ring_bytes
					   : code->at;
	}
	if (r == -EBADMSG || r == -EFAULT)
		engine_fault(queue);
	else
		queue_halt(queue, "out of memory for its packets (%s)", strerror(-r));
}

void sdma_fetch(struct queue *queue)
{
	struct pm4_code code;
	int r = 0;

	while (!r && !queue->stopped && queue->submitted - queue->done < QUEUE_AHEAD &&
	       (queue->sdma_ib.dwords || ((int64_t)(queue->limit - queue->fetched) > 0 &&
					  queue->fetched - queue->retired < queue->hw_ring_bytes)))
		r = next_batch(queue);
	if (!r || r == -EAGAIN || queue->submitted != queue->done)
		return;
	code = current(queue);
	failed(queue, &code, r);
}

static int copy_rect(struct queue *queue, const struct sdma *s)
{
	uint64_t element = 1ull << (s->d[0] >> 29);
	uint64_t sx = s->d[3] & 0x3fff, sy = s->d[3] >> 16 & 0x3fff, sz = s->d[4] & 0x7ff;
	uint64_t dx = s->d[8] & 0x3fff, dy = s->d[8] >> 16 & 0x3fff, dz = s->d[9] & 0x7ff;
	uint64_t s_pitch = (s->d[4] >> 13 & 0x7ffff) + 1ull, s_slice = (s->d[5] & 0xfffffff) + 1ull;
	uint64_t d_pitch = (s->d[9] >> 13 & 0x7ffff) + 1ull;
	uint64_t d_slice = (s->d[10] & 0xfffffff) + 1ull;

	queue->moving.move = (struct move){
		.src = qword(s, 1) + (sz * s_slice + sy * s_pitch + sx) * element,
		.dst = qword(s, 6) + (dz * d_slice + dy * d_pitch + dx) * element,
		.bytes = ((s->d[11] & 0x3fff) + 1ull) * element,
		.rows = (s->d[11] >> 16 & 0x3fff) + 1ull,
		.slices = (s->d[12] & 0x7ff) + 1ull,
		.src_pitch = s_pitch * element,
		.dst_pitch = d_pitch * element,
		.src_slice = s_slice * element,
		.dst_slice = d_slice * element,
	};
	return move_begin(queue);
}

/* Starts a linear copy. The two targets of a broadcast become two rows with one source. */
static int copy_linear(struct queue *queue, const struct sdma *s)
{
	queue->moving.move = (struct move){
		.src = qword(s, 3),
		.dst = qword(s, 5),
		.bytes = copy_bytes(s),
		.rows = s->d[0] & COPY_BROADCAST ? 2 : 1,
		.slices = 1,
		.dst_pitch = qword(s, 7) - qword(s, 5),
	};
	return move_begin(queue);
}

/* Starts a fill. Bits 31:30 of the header select bytes, words or dwords. */
static int fill(struct queue *queue, const struct sdma *s)
{
	uint32_t fill_bytes = 1u << (s->d[0] >> 30);
	struct move *move = &queue->moving.move;

	*move = (struct move){
		.dst = qword(s, 1),
		.bytes = copy_bytes(s),
		.rows = 1,
		.slices = 1,
		.pattern_bytes = fill_bytes < 4 ? fill_bytes : 4,
	};
	memcpy(move->pattern, &s->d[3], sizeof s->d[3]);
	return move_begin(queue);
}

static int write_words(const struct queue *queue, const struct pm4_code *code, const struct sdma *s)
{
	uint64_t dst = qword(s, 1) & ~3ull;
	uint32_t block[256];

	for (uint32_t i = 4, n; i < s->dwords; i += n, dst += 4ull * n) {
		n = s->dwords - i;
		if (n > sizeof block / 4)
			n = sizeof block / 4;
		if (pm4_read(queue, code, i, block, n) ||
		    access_write(queue->process, dst, block, 4ull * n))
			return -EFAULT;
	}
	return 0;
}

/* Carries out one packet. Returns 0, a negative errno, or 1 if the caller must return because a
 * copy continues in the background or has failed (move_begin()). */
static int effect(struct queue *queue, const struct pm4_code *code, const struct sdma *s,
		  uint64_t end_ns)
{
	struct process *process = queue->process;
	uint64_t ticks = gpu_ticks(end_ns);

	switch (s->op) {
	case OP_COPY:
		return s->sub == COPY_RECT ? copy_rect(queue, s) : copy_linear(queue, s);
	case OP_WRITE:
		return write_words(queue, code, s);
	case OP_FENCE:
		return access_write(process, qword(s, 1) & ~3ull, &s->d[3], sizeof s->d[3]);
	case OP_TRAP:
		event_interrupt(process, s->d[1] & 0xfffffff);
		return 0;
	case OP_ATOMIC:
		return access_atomic(process, qword(s, 1), s->d[0] >> 25, qword(s, 3), qword(s, 5),
				     NULL);
	case OP_FILL:
		return fill(queue, s);
	case OP_TIMESTAMP: /* sub 0 would set the counter, which is not allowed */
		return s->sub ? access_write(process, qword(s, 1) & ~7ull, &ticks, sizeof ticks)
			      : 0;
	default:
		return 0;
	}
}

void sdma_effect(struct queue *queue, struct packet *packet, uint64_t end_ns)
{
	while (packet->kind == PACKET_EFFECTS && packet->code.dwords) {
		const struct pm4_code code = packet->code;
		struct sdma s;
		int r = read_packet(queue, &code, &s);

		if (!r) {
			pm4_advance(&packet->code, s.dwords);
			r = effect(queue, &code, &s, end_ns);
		}
		if (r < 0)
			failed(queue, &code, r);
		if (r)
			return;
	}
	/* The read pointer counts bytes. It is written last, because after that the program may
	 * overwrite the packets. */
	if (!packet->part &&
	    access_write(queue->process, queue->rptr_address, &packet->end, sizeof packet->end))
		engine_fault(queue);
}

// SPDX-License-Identifier: MIT
/*
 * Proves that the packet processors survive arbitrary contents of AQL, PM4 and SDMA rings and of
 * the indirect buffers that packets name: random bytes, packets that are valid but for a few bits,
 * and arbitrary values of doorbells and write pointers.
 */
#include <string.h>

#include "tests/fuzz/fuzz.h"
#include "tests/lib/words.h"

#define BURSTS 40u
#define RING_DWORDS (RING_PACKETS * 16u)
#define IB_DWORDS 256u

static uint32_t any_bits(struct pool *pool)
{
	return (uint32_t)(once_in(&pool->dice, 3) ? any_value(pool) : below(&pool->dice, 64));
}

/* Flips up to two bits. */
static void flip(struct pool *pool, uint32_t *d, unsigned dwords)
{
	for (unsigned i = below(&pool->dice, 3); i; i--)
		d[below(&pool->dice, dwords)] ^= 1u << below(&pool->dice, 32);
}

static void put_address(struct pool *pool, uint32_t *d)
{
	uint64_t at = any_address(pool);

	d[0] = LO(at);
	d[1] = HI(at);
}

/* ---- packets of dwords ---- */

/* Write a packet with random operands and plausible addresses to `d`. Return its length in
 * dwords. */
static unsigned pm4_words(struct pool *pool, uint32_t *d)
{
	static const struct {
		uint8_t op, dwords;
		uint8_t addresses[2]; /* index of the address dwords; 0: none */
	} packets[] = {
		{0x10, 3, {0}}, {0x15, 5, {0}},	   {0x1e, 9, {2}},    {0x37, 6, {2}},
		{0x3c, 7, {2}}, {0x3f, 4, {1}},	   {0x40, 6, {2, 4}}, {0x46, 2, {0}},
		{0x49, 8, {3}}, {0x50, 7, {2, 4}}, {0x58, 7, {0}},    {0x76, 5, {0}},
		{0x93, 9, {2}},
	};
	unsigned which = below(&pool->dice, sizeof packets / sizeof *packets);
	unsigned dwords = packets[which].dwords;

	for (unsigned i = 1; i < dwords; i++)
		d[i] = any_bits(pool);
	d[0] = PM4(packets[which].op, dwords);
	for (unsigned i = 0; i < 2; i++)
		if (packets[which].addresses[i])
			put_address(pool, d + packets[which].addresses[i]);
	if (packets[which].op == 0x3f)
		d[3] = below(&pool->dice, IB_DWORDS) | (uint32_t)below(&pool->dice, 2) << 20;
	return dwords;
}

static unsigned sdma_words(struct pool *pool, uint32_t *d)
{
	static const struct {
		uint32_t header;
		uint8_t dwords;
		uint8_t addresses[3];
	} packets[] = {
		{0x001, 7, {3, 5}},   {0x08000001, 9, {3, 5, 7}},
		{0x401, 13, {1, 6}},  {0x002, 8, {1}},
		{0x004, 6, {1}},      {0x005, 4, {1}},
		{0x006, 2, {0}},      {0xb0000008, 6, {1}},
		{0x1e00000a, 8, {1}}, {0x00b, 5, {1}},
		{0x8000000b, 5, {1}}, {0x20d, 3, {1}},
		{0x00e, 3, {0}},      {0x011, 5, {0}},
		{0x000, 1, {0}},
	};
	unsigned which = below(&pool->dice, sizeof packets / sizeof *packets);
	unsigned dwords = packets[which].dwords;

	for (unsigned i = 1; i < dwords; i++)
		d[i] = any_bits(pool);
	d[0] = packets[which].header;
	for (unsigned i = 0; i < 3; i++)
		if (packets[which].addresses[i])
			put_address(pool, d + packets[which].addresses[i]);
	if ((d[0] & 0xff) == 2)
		d[3] = 3;
	return dwords;
}

static void fill_words(struct pool *pool, uint32_t *at, unsigned dwords, bool pm4)
{
	uint32_t packet[16];
	unsigned n = 0;

	if (once_in(&pool->dice, 6)) {
		noise(&pool->dice, at, 4ull * dwords);
		return;
	}
	while (n < dwords) {
		unsigned more = pm4 ? pm4_words(pool, packet) : sdma_words(pool, packet);

		if (once_in(&pool->dice, 8))
			flip(pool, packet, more);
		/* A packet that does not fit is not truncated: the end of the ring is filled with
		 * NOPs. */
		while (more > dwords - n && n < dwords)
			at[n++] = pm4 ? 2u << 30 : 0;
		if (n == dwords)
			return;
		memcpy(at + n, packet, 4ull * more);
		n += more;
	}
}

/* ---- AQL packets ---- */

static void dispatch(struct pool *pool, uint32_t *d)
{
	struct dice *dice = &pool->dice;

	d[0] = 2 | (uint32_t)below(dice, 2) << 8 | (1 + below(dice, 3)) << 16;
	d[1] = (1 + below(dice, 256)) | (1 + below(dice, 4)) << 16;
	d[2] = 1 + below(dice, 4);
	for (unsigned i = 3; i < 6; i++)
		d[i] = 1 + below(dice, once_in(dice, 8) ? UINT32_MAX : 4096);
	d[6] = any_bits(pool);
	d[7] = below(dice, 70000);
	put_address(pool, d + 8);
	put_address(pool, d + 10);
}

static void aql(struct pool *pool, uint32_t *d)
{
	struct dice *dice = &pool->dice;

	memset(d, 0, 64);
	switch (below(dice, 5)) {
	case 0:
	case 1:
		dispatch(pool, d);
		break;
	case 2:
		d[0] = (once_in(dice, 2) ? 3 : 5) | 1u << 8;
		for (unsigned i = below(dice, 6); i; i--)
			put_address(pool, d + 2 * i);
		break;
	case 3: /* a vendor packet with PM4 in an indirect buffer */
		d[0] = 1u << 16;
		d[1] = PM4(0x3f, 4);
		put_address(pool, d + 2);
		d[4] = below(dice, IB_DWORDS) | 1u << 23;
		d[5] = 10;
		break;
	default: /* a vendor packet that waits for a value */
		d[0] = 2u << 16;
		put_address(pool, d + 2);
		for (unsigned i = 4; i < 9; i++)
			d[i] = any_bits(pool);
		break;
	}
	if (once_in(dice, 2))
		put_address(pool, d + 14);
	if (once_in(dice, 6))
		flip(pool, d, 16);
	if (once_in(dice, 30))
		noise(dice, d, 64);
}

/* ---- queues ---- */

static void burst(struct pool *pool, struct raw_queue *queue, unsigned which)
{
	struct dice *dice = &pool->dice;
	uint32_t *ring = queue->ring.cpu, packet[16];
	unsigned n = 1 + below(dice, 24);
	uint64_t value;

	if (which == 0 || which == 3) {
		for (unsigned i = 0; i < n; i++) {
			aql(pool, packet);
			queue_publish(queue, packet);
		}
		value = queue->written - 1;
	} else {
		unsigned at = (unsigned)(queue->written % RING_DWORDS);
		unsigned room = RING_DWORDS - at < 8 * n ? RING_DWORDS - at : 8 * n;

		fill_words(pool, ring + at, room, which == 1);
		queue->written += room;
		value = queue->written * (which == 2 ? 4 : 1);
		*queue_wptr(queue) = value;
	}
	if (once_in(dice, 12))
		*queue_wptr(queue) = any_value(pool);
	if (once_in(dice, 12))
		value = any_value(pool);
	__atomic_store_n(queue->doorbell, value, __ATOMIC_RELEASE);
}

/* Destroys a queue that may have stopped at an error, and creates a new one in its memory. */
static void renew(struct pool *pool, unsigned which)
{
	struct raw_queue *queue = &pool->queues[which];
	struct kfdabi_create_queue args = {
		.ring_base_address = (uint64_t)(uintptr_t)queue->ring.cpu,
		.write_pointer_address = (uint64_t)(uintptr_t)queue->pointers[0].cpu,
		.read_pointer_address = (uint64_t)(uintptr_t)queue->pointers[1].cpu + 128,
		.ring_size = RING_PACKETS * 64,
		.gpu_id = pool->gpu.gpu_id,
		.queue_type = which == 1   ? KFD_IOC_QUEUE_TYPE_COMPUTE
			      : which == 2 ? KFD_IOC_QUEUE_TYPE_SDMA
					   : KFD_IOC_QUEUE_TYPE_COMPUTE_AQL,
		.queue_percentage = 100,
		.queue_priority = below(&pool->dice, 11),
		.eop_buffer_address = (uint64_t)(uintptr_t)queue->eop.cpu,
		.eop_buffer_size = 4096,
		.ctx_save_restore_address = (uint64_t)(uintptr_t)queue->save.cpu,
		.ctx_save_restore_size = pool->gpu.shape.cwsr_bytes,
		.ctl_stack_size = pool->gpu.shape.ctl_stack_bytes,
	};

	if (queue_destroy(&pool->gpu, queue->id))
		return;
	memset(queue->pointers[0].cpu, 0, 4096);
	memset(queue->ring.cpu, 0, RING_PACKETS * 64);
	for (unsigned i = 0; i < RING_PACKETS; i++)
		((uint16_t *)queue->ring.cpu)[32 * i] = 1;
	queue->written = 0;
	CHECK_IS(queue_create(&pool->gpu, queue, &args), 0);
}

static void round_of_packets(struct pool *pool)
{
	struct dice *dice = &pool->dice;

	CHECK_IS(pool->n_queues, 4);
	for (unsigned i = 0; i < BURSTS; i++) {
		unsigned which = below(dice, 4);
		struct buffer *ib = &pool->buffers[1 + below(dice, 4)];

		fill_words(pool, ib->cpu, IB_DWORDS, once_in(dice, 2));
		burst(pool, &pool->queues[which], which);
		if (once_in(dice, 2))
			sleep_ms(1 + below(dice, 8));
		if (once_in(dice, 4))
			renew(pool, below(dice, 4));
		if (once_in(dice, 8))
			queue_update(&pool->gpu, &pool->queues[which], below(dice, 2) * 100);
	}
}

int main(int argc, char **argv)
{
	return fuzz(argc, argv, round_of_packets);
}

// SPDX-License-Identifier: MIT
/* Proves PM4 queues without a runtime: the effect of each synchronising packet, order at the end of
 * the ring, indirect buffers (also in AQL packets), a timed dispatch, interrupts, errors. Run with
 * unknown_kernel_us = 2000. */
#include <string.h>

#include "tests/lib/words.h"

#define MEMORY (5u << 8)
#define FENCE(address, data_sel, int_sel, value, id)                                               \
	PM4(0x49, 8), 0x14 | 5u << 8, (data_sel) << 29 | (int_sel) << 24, LO(address),             \
		HI(address), (uint32_t)(value), (uint32_t)((uint64_t)(value) >> 32), id
#define WRITE(address, value) PM4(0x37, 5), MEMORY | 1u << 20, LO(address), HI(address), value
#define WAIT(function, address, value)                                                             \
	PM4(0x3c, 7), 1u << 4 | (function), LO(address), HI(address), value, 0xffffffff, 4
#define ATOMIC(op, address, value, compare)                                                        \
	PM4(0x1e, 9), op, LO(address), HI(address), value, 0, compare, 0, 10
#define IB(address, dwords) PM4(0x3f, 4), LO(address), HI(address), (dwords) | 1u << 23

static struct gpu_file gpu;
static volatile uint64_t *cells; /* array of 512 cells */

static bool becomes(unsigned cell, uint64_t wanted, unsigned ms)
{
	return comes((volatile int64_t *)&cells[cell], (int64_t)wanted, ms);
}

/* Waits until the GPU has written its clock into that cell. */
static void stamped(unsigned cell)
{
	for (unsigned i = 0; i < LATE_MS && !cells[cell]; i++)
		sleep_ms(1);
}

static void simple_packets(struct word_queue *queue)
{
	cells[0] = 7;
	cells[1] = 40;
	PUT(queue, PM4(0x10, 3), 0xdead, 0xbeef);
	PUT(queue, 3u << 30 | 0x3fffu << 16 | 0x10 << 8); /* a NOP of one dword */
	PUT(queue, 2u << 30);				  /* a NOP of type 2 */
	PUT(queue, PM4(0x37, 7), MEMORY, LO(&cells[2]), HI(&cells[2]), 11, 12, 13);
	PUT(queue, PM4(0x58, 7), 0, 0xffffffff, 0xff, 0, 0, 10);
	PUT(queue, PM4(0x46, 2), 7 | 4u << 8);
	PUT(queue, PM4(0x40, 6), 1 | MEMORY | 1u << 16, LO(&cells[0]), HI(&cells[0]), LO(&cells[4]),
	    HI(&cells[4]));
	PUT(queue, PM4(0x40, 6), 5 | MEMORY, 99, 0, LO(&cells[5]), HI(&cells[5]));
	PUT(queue, PM4(0x40, 6), 9 | MEMORY | 1u << 16, 0, 0, LO(&cells[6]), HI(&cells[6]));
	PUT(queue, ATOMIC(0x2f, &cells[1], 2, 0));
	PUT(queue, PM4(0x40, 6), 6 | MEMORY | 1u << 16, 0, 0, LO(&cells[7]), HI(&cells[7]));
	PUT(queue, PM4(0x50, 7), 2u << 29, 0x01010101, 0, LO(&cells[8]), HI(&cells[8]), 32);
	PUT(queue, PM4(0x50, 7), 0, LO(&cells[8]), HI(&cells[8]), LO(&cells[16]), HI(&cells[16]),
	    24);
	PUT(queue, FENCE(&cells[20], 2u, 0u, 0x100000002ull, 0));
	words_ring(queue);
	CHECK(becomes(20, 0x100000002ull, LATE_MS));
	CHECK_IS(cells[2], 11 | 12ull << 32);
	CHECK_IS(cells[3], 13);
	CHECK_IS(cells[4], 7);
	CHECK_IS(cells[5], 99);
	CHECK(cells[6] > 0);
	CHECK_IS(cells[1], 42);
	CHECK_IS(cells[7], 40);
	CHECK_IS(cells[11], 0x0101010101010101ull);
	CHECK_IS(cells[12], 0);
	CHECK_IS(cells[18], 0x0101010101010101ull);
	CHECK_IS(cells[19], 0);
	CHECK(comes((volatile int64_t *)queue_rptr(&queue->raw), (int64_t)queue->written, LATE_MS));
}

static void atomics(struct word_queue *queue)
{
	static const struct {
		uint32_t op;
		uint64_t before, after;
	} cases[] = {
		{0x67, 5, 3}, {0x68, 9, 3},
		{0x68, 8, 8}, {0x70, 5, 2},
		{0x71, 5, 3}, {0x74, 2, 3},
		{0x75, 6, 2}, {0x76, 4, 7},
		{0x77, 1, 2}, {0x78, 3, 0},
		{0x78, 1, 2}, {0x79, 0, 3},
		{0x79, 2, 1}, {0x4f, ~0ull, 0xffffffff00000002ull},
	};
	const unsigned n = sizeof cases / sizeof *cases;

	for (unsigned i = 0; i < n; i++) {
		cells[32 + i] = cases[i].before;
		PUT(queue, ATOMIC(cases[i].op, &cells[32 + i], 3, 9));
	}
	cells[20] = 0;
	PUT(queue, FENCE(&cells[20], 1u, 0u, 1, 0));
	words_ring(queue);
	CHECK(becomes(20, 1, LATE_MS));
	for (unsigned i = 0; i < n; i++)
		CHECK_IS(cells[32 + i], cases[i].after);
}

/* A wait holds the packets behind it; the clock stamps are in order. */
static void waits(struct word_queue *queue)
{
	cells[64] = cells[65] = cells[66] = cells[67] = cells[68] = 0;
	PUT(queue, FENCE(&cells[67], 3u, 0u, 0, 0));
	PUT(queue, WAIT(5, &cells[64], 3));
	PUT(queue, WRITE(&cells[65], 1));
	PUT(queue, PM4(0x93, 9), 1u << 4 | 3, LO(&cells[66]), HI(&cells[66]), 0, 5, 0, 0xff, 4);
	PUT(queue, FENCE(&cells[68], 3u, 0u, 0, 0));
	words_ring(queue);
	stamped(67); /* the time is measured from here */
	CHECK(!becomes(65, 1, 50));
	cells[64] = 2;
	CHECK(!becomes(65, 1, 50));
	cells[64] = 4;
	CHECK(becomes(65, 1, LATE_MS));
	CHECK(!becomes(68, 1, 20));
	CHECK_IS(cells[68], 0);
	cells[66] = 5ull << 32 | 77;
	stamped(68);
	CHECK(cells[68] - cells[67] >= 10000000); /* 100 ms at 100 MHz */
}

/* Packets that are written later than the doorbell at the end of the ring are executed, too. */
static void round_the_ring(struct word_queue *queue)
{
	for (unsigned i = 1; i <= 300; i++) {
		PUT(queue, WRITE(&cells[70], i));
		PUT(queue, FENCE(&cells[71], 2u, 0u, i, 0));
		words_ring(queue);
		CHECK(becomes(71, i, LATE_MS));
		CHECK_IS(cells[70], i);
	}
	CHECK(queue->written > RING_PACKETS * 16);
	CHECK(comes((volatile int64_t *)queue_rptr(&queue->raw),
		    (int64_t)(queue->written % (RING_PACKETS * 16)), LATE_MS));
}

/* Two levels of indirect buffers, one of them chained; the first writes the second. */
static unsigned build_indirect(uint32_t *code, uint32_t *inner, uint64_t mark)
{
	const uint32_t first[] = {
		WRITE(&inner[4], 31),
		WRITE(&cells[80], 1),
		IB(inner, 5),
		FENCE(&cells[82], 2u, 0u, mark, 0),
	};
	const uint32_t second[] = {WRITE(&cells[81], 30)};

	memcpy(code, first, sizeof first);
	memcpy(inner, second, sizeof second);
	return sizeof first / 4;
}

static void indirect(struct word_queue *queue, uint32_t *code)
{
	unsigned n = build_indirect(code, code + 256, 77);

	PUT(queue, IB(code, n));
	PUT(queue, FENCE(&cells[83], 2u, 0u, 5, 0));
	words_ring(queue);
	CHECK(becomes(83, 5, LATE_MS));
	CHECK_IS(cells[80], 1);
	CHECK_IS(cells[81], 31);
	CHECK_IS(cells[82], 77);
}

static void in_aql(uint32_t *code, struct signal *signals)
{
	unsigned n = build_indirect(code, code + 256, 78);
	struct raw_queue queue;
	uint32_t *packet;
	const uint32_t jump[] = {IB(code, n), 10};
	uint64_t done = (uint64_t)(uintptr_t)&signals[1];

	queue_new(&gpu, &queue);
	signals[0].value = signals[1].value = signals[2].value = 1;
	queue_dispatch(&queue, 1, &signals[0]);
	packet = queue_packet(&queue);
	memcpy(packet + 1, jump, sizeof jump);
	memcpy(packet + 14, &done, sizeof done);
	__atomic_store_n(packet, 0u | 1u << 8 | 1u << 16, __ATOMIC_RELEASE);
	queue_barrier(&queue, NULL, &signals[2]);
	queue_ring(&queue);
	CHECK(comes(&signals[1].value, 0, LATE_MS));
	CHECK_IS(signals[0].value, 0);
	CHECK_IS(cells[82], 78);
	CHECK(signals[1].start_ts >= signals[0].end_ts);
	CHECK(comes(&signals[2].value, 0, LATE_MS));
	CHECK_IS(*queue_rptr(&queue), 3);
	CHECK_IS(queue_destroy(&gpu, queue.id), 0);
}

/* 3 workgroups of 2 ms each run at once. A fence waits for them, a plain write does not. */
static void dispatch(struct word_queue *queue)
{
	cells[90] = cells[91] = cells[92] = 0;
	PUT(queue, FENCE(&cells[91], 3u, 0u, 0, 0));
	PUT(queue, PM4(0x76, 5), 0x207, 64, 1, 1);
	PUT(queue, PM4(0x15, 5), 3, 1, 1, 1);
	PUT(queue, WRITE(&cells[90], 1));
	PUT(queue, PM4(0x46, 2), 7 | 4u << 8);
	PUT(queue, FENCE(&cells[92], 3u, 0u, 0, 0));
	words_ring(queue);
	CHECK(becomes(90, 1, LATE_MS));
	stamped(92);
	CHECK(cells[92] - cells[91] >= 200000);
	CHECK(cells[92] - cells[91] < 400000);
}

static void interrupt(struct word_queue *queue)
{
	struct kfd_ioctl_create_event_args event = {.event_type = KFD_IOC_EVENT_SIGNAL,
						    .auto_reset = 1};
	struct kfd_event_data data = {0};
	struct kfd_ioctl_wait_events_args wait = {
		.events_ptr = (uint64_t)(uintptr_t)&data, .num_events = 1, .timeout = 2000};
	struct buffer page;

	/* The page of event slots: with it, an interrupt with id 0 makes the driver check all
	 * slots. */
	gtt_new(&gpu, 32768, &page);
	event.event_page_offset = page.handle;
	CHECK_IS(harness_ioctl(gpu.kfd, KFDABI_CREATE_EVENT, &event, sizeof event), 0);
	data.event_id = event.event_id;
	for (unsigned round = 0; round < 2; round++) {
		volatile uint64_t *slot = (volatile uint64_t *)page.cpu + event.event_slot_index;

		CHECK_IS(*slot, ~0ull);
		PUT(queue,
		    FENCE(slot, 2u, 2u, event.event_id, round ? 0 : event.event_trigger_data));
		words_ring(queue);
		CHECK_IS(harness_ioctl(gpu.kfd, KFDABI_WAIT_EVENTS, &wait, sizeof wait), 0);
		CHECK_IS(wait.wait_result, KFD_IOC_WAIT_RESULT_COMPLETE);
	}
	/* No slot was written, so no waiter is woken. */
	PUT(queue, FENCE(&cells[100], 2u, 2u, 1, event.event_trigger_data));
	words_ring(queue);
	CHECK(becomes(100, 1, LATE_MS));
	wait.timeout = 20;
	CHECK_IS(harness_ioctl(gpu.kfd, KFDABI_WAIT_EVENTS, &wait, sizeof wait), 0);
	CHECK_IS(wait.wait_result, KFD_IOC_WAIT_RESULT_TIMEOUT);
}

/* Packets before an unknown packet are executed, those behind it are not. */
static void unknown(struct word_queue *other)
{
	struct word_queue queue;

	words_new(&gpu, &queue, KFD_IOC_QUEUE_TYPE_COMPUTE);
	cells[110] = cells[111] = 0;
	PUT(&queue, FENCE(&cells[110], 2u, 0u, 1, 0));
	PUT(&queue, PM4(0xfe, 4), 1, 2, 3);
	PUT(&queue, FENCE(&cells[111], 2u, 0u, 1, 0));
	words_ring(&queue);
	CHECK(becomes(110, 1, LATE_MS));
	CHECK(!becomes(111, 1, 50));
	CHECK_IS(queue_destroy(&gpu, queue.raw.id), 0);
	PUT(other, FENCE(&cells[112], 2u, 0u, 1, 0));
	words_ring(other);
	CHECK(becomes(112, 1, LATE_MS));
}

int main(void)
{
	struct word_queue queue;
	struct buffer memory, code;

	gpu_open(&gpu);
	gtt_new(&gpu, 4096, &memory);
	CHECK_IS(buffer_new(&gpu, 4096, KFD_IOC_ALLOC_MEM_FLAGS_VRAM, &code), 0);
	cells = memory.cpu;
	words_new(&gpu, &queue, KFD_IOC_QUEUE_TYPE_COMPUTE);
	simple_packets(&queue);
	atomics(&queue);
	waits(&queue);
	round_the_ring(&queue);
	indirect(&queue, code.cpu);
	in_aql(code.cpu, signals_new(&gpu));
	dispatch(&queue);
	interrupt(&queue);
	unknown(&queue);
	CHECK_IS(queue_destroy(&gpu, queue.raw.id), 0);
	return 0;
}

// SPDX-License-Identifier: MIT
/* Proves SDMA queues of each type without a runtime: the effect of each packet, order at the end of
 * the ring, an indirect buffer, interrupts, unknown packets. */
#include <string.h>

#include "tests/lib/words.h"

#define FENCE(address, value) 5u, LO(address), HI(address), value
#define COPY(flags, to, from, bytes) 1u | (flags), (bytes)-1u, 0, LO(from), HI(from), LO(to), HI(to)
#define WRITE(address, value) 2u, LO(address), HI(address), 0, value
#define FILL(size, address, value, bytes)                                                          \
	11u | (uint32_t)(size) << 30, LO(address), HI(address), value, (bytes)-1u
#define POLL(function, address, value, mask)                                                       \
	8u | 1u << 31 | (uint32_t)(function) << 28, LO(address), HI(address), value, mask, 0
#define ATOMIC(op, address, value, compare)                                                        \
	10u | (uint32_t)(op) << 25, LO(address), HI(address), value, 0, compare, 0, 0

static struct gpu_file gpu;
static volatile uint64_t *cells; /* array of 512 cells */

static bool becomes(unsigned cell, uint64_t wanted, unsigned ms)
{
	return comes((volatile int64_t *)&cells[cell], (int64_t)wanted, ms);
}

static void simple_packets(struct word_queue *queue)
{
	memset((void *)(uintptr_t)cells, 0, 4096);
	for (unsigned i = 0; i < 64; i++)
		((volatile uint8_t *)cells)[i] = (uint8_t)i;
	PUT(queue, 2u << 16, 77, 78); /* a NOP of three dwords */
	PUT(queue, COPY(0, &cells[10], &cells[0], 61));
	PUT(queue, COPY(1u << 27, &cells[20], &cells[0], 16), LO(&cells[24]), HI(&cells[24]));
	PUT(queue, 2u, LO(&cells[30]), HI(&cells[30]), 2, 7, 8, 9);
	PUT(queue, FILL(2, &cells[40], 0x01020304, 20));
	PUT(queue, FILL(0, (const char *)&cells[44] + 3, 0xaa, 5));
	PUT(queue, 13u | 2u << 8, LO(&cells[50]), HI(&cells[50]));
	/* 2 rows of 3 bytes, from (1, 1) in rows of 8 bytes to (2, 0) in rows of 16 bytes */
	PUT(queue, 1u | 4u << 8, LO(&cells[0]), HI(&cells[0]), 1 | 1u << 16, 7u << 13, 63,
	    LO(&cells[60]), HI(&cells[60]), 2, 15u << 13, 127, 2 | 1u << 16, 0);
	PUT(queue, 17u, 0, 0, 0, 0); /* GCR */
	PUT(queue, 14u, 0, 0);	     /* SRBM write */
	PUT(queue, FENCE(&cells[70], 5));
	words_ring(queue);
	CHECK(becomes(70, 5, LATE_MS));
	CHECK(!memcmp((void *)(uintptr_t)&cells[10], (void *)(uintptr_t)cells, 61));
	CHECK_IS(((volatile uint8_t *)&cells[10])[61], 0);
	CHECK(!memcmp((void *)(uintptr_t)&cells[20], (void *)(uintptr_t)cells, 16));
	CHECK(!memcmp((void *)(uintptr_t)&cells[24], (void *)(uintptr_t)cells, 16));
	CHECK_IS(cells[30], 7 | 8ull << 32);
	CHECK_IS(cells[31], 9);
	CHECK_IS(cells[41], 0x0102030401020304ull);
	CHECK_IS(cells[42], 0x01020304);
	CHECK_IS(cells[44], 0xaaaaaaaaaa000000ull);
	CHECK(cells[50] > 0);
	CHECK_IS(cells[60], 0x0b0a090000ull);
	CHECK_IS(cells[62], 0x1312110000ull);
	CHECK(comes((volatile int64_t *)queue_rptr(&queue->raw), (int64_t)queue->written * 4,
		    LATE_MS));
}

static void waits_and_atomics(struct word_queue *queue)
{
	cells[80] = cells[81] = 0;
	cells[82] = 40;
	cells[83] = 9;
	cells[84] = 6;
	PUT(queue, POLL(3, &cells[80], 0x10, 0xf0));
	PUT(queue, ATOMIC(0x2f, &cells[82], 2, 0));
	PUT(queue, ATOMIC(0x28, &cells[83], 3, 9));
	PUT(queue, ATOMIC(0x56, &cells[84], 9, 0));
	PUT(queue, FENCE(&cells[81], 1));
	words_ring(queue);
	CHECK(!becomes(81, 1, 30));
	cells[80] = 0x1f;
	CHECK(becomes(81, 1, LATE_MS));
	CHECK_IS(cells[82], 42);
	CHECK_IS(cells[83], 3);
	CHECK_IS(cells[84], 15);
}

static void round_the_ring(struct word_queue *queue)
{
	for (unsigned i = 1; i <= 400; i++) {
		PUT(queue, WRITE(&cells[90], i));
		PUT(queue, FENCE(&cells[91], i));
		words_ring(queue);
		CHECK(becomes(91, i, LATE_MS));
		CHECK_IS(cells[90], i);
	}
	CHECK(queue->written > RING_PACKETS * 16);
}

/* The second half of the indirect buffer is written by the packet in front of it. */
static void indirect(struct word_queue *queue, uint32_t *code)
{
	const uint32_t first[] = {WRITE(&cells[100], 1), POLL(4, &cells[103], 0, ~0u),
				  WRITE(&cells[101], 2)};

	memcpy(code, first, sizeof first);
	cells[103] = 0;
	PUT(queue, WRITE(&code[4], 11));
	PUT(queue, 4u, LO(code), HI(code), sizeof first / 4, 0, 0);
	PUT(queue, FENCE(&cells[102], 1));
	words_ring(queue);
	CHECK(becomes(100, 11, LATE_MS));
	CHECK(!becomes(101, 2, 20));
	CHECK_IS(cells[102], 0);
	cells[103] = 1;
	CHECK(becomes(102, 1, LATE_MS));
	CHECK_IS(cells[101], 2);
}

static void interrupt(struct word_queue *queue)
{
	struct kfd_ioctl_create_event_args event = {.event_type = KFD_IOC_EVENT_SIGNAL,
						    .auto_reset = 1};
	struct kfd_event_data data = {0};
	struct kfd_ioctl_wait_events_args wait = {
		.events_ptr = (uint64_t)(uintptr_t)&data, .num_events = 1, .timeout = 2000};
	static struct buffer page;
	volatile uint64_t *slot;

	if (!page.cpu) {
		gtt_new(&gpu, 32768, &page);
		event.event_page_offset = page.handle;
	}
	CHECK_IS(harness_ioctl(gpu.kfd, KFDABI_CREATE_EVENT, &event, sizeof event), 0);
	data.event_id = event.event_id;
	slot = (volatile uint64_t *)page.cpu + event.event_slot_index;
	PUT(queue, FENCE(slot, event.event_id));
	PUT(queue, 6u, event.event_trigger_data);
	words_ring(queue);
	CHECK_IS(harness_ioctl(gpu.kfd, KFDABI_WAIT_EVENTS, &wait, sizeof wait), 0);
	CHECK_IS(wait.wait_result, KFD_IOC_WAIT_RESULT_COMPLETE);
}

static void unknown(void)
{
	struct word_queue queue;

	words_new(&gpu, &queue, KFD_IOC_QUEUE_TYPE_SDMA);
	cells[110] = cells[111] = 0;
	PUT(&queue, FENCE(&cells[110], 1));
	PUT(&queue, 1u | 1u << 8, 0, 0); /* a tiled copy */
	PUT(&queue, FENCE(&cells[111], 1));
	words_ring(&queue);
	CHECK(becomes(110, 1, LATE_MS));
	CHECK(!becomes(111, 1, 30));
	CHECK_IS(queue_destroy(&gpu, queue.raw.id), 0);
}

int main(void)
{
	static const uint32_t types[] = {KFD_IOC_QUEUE_TYPE_SDMA, KFD_IOC_QUEUE_TYPE_SDMA_XGMI};
	struct buffer memory, code;

	gpu_open(&gpu);
	gtt_new(&gpu, 4096, &memory);
	CHECK_IS(buffer_new(&gpu, 4096, KFD_IOC_ALLOC_MEM_FLAGS_VRAM, &code), 0);
	cells = memory.cpu;
	for (unsigned i = 0; i < 2; i++) {
		struct word_queue queue;

		words_new(&gpu, &queue, types[i]);
		simple_packets(&queue);
		waits_and_atomics(&queue);
		round_the_ring(&queue);
		indirect(&queue, code.cpu);
		interrupt(&queue);
		CHECK_IS(queue_destroy(&gpu, queue.raw.id), 0);
	}
	unknown();
	return 0;
}

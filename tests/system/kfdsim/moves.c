// SPDX-License-Identifier: MIT
/*
 * Proves, for packets that move very many bytes: every byte arrives, in order with the packets
 * before and after; calls of other processes are answered meanwhile; and the copies end with their
 * queue, their memory or their process. Prints "ended" when no copy is in progress any more, and
 * exits when it reads a line.
 */
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/lib/words.h"

#define MIB (1ull << 20)
#define BIG (64 * MIB)
#define FENCE(address, value) 5u, LO(address), HI(address), value
#define COPY(flags, to, from, bytes)                                                               \
	1u | (flags), (uint32_t)(bytes)-1u, 0, LO(from), HI(from), LO(to), HI(to)
#define FILL(address, value, bytes)                                                                \
	11u | 2u << 30, LO(address), HI(address), value, (uint32_t)(bytes)-1u
/* In bytes: rows, slices and width are the values of the fields, that is minus 1. */
#define RECT(to, from, pitch, slice, width, rows, slices)                                          \
	1u | 4u << 8, LO(from), HI(from), 0, (uint32_t)(pitch) << 13, slice, LO(to), HI(to), 0,    \
		(uint32_t)(pitch) << 13, slice, (width) | (uint32_t)(rows) << 16, slices
/* The maximum of rows, all over the same few pages. */
#define HOSTILE(to, from) RECT(to, from, 0, 0, 0, 0x3fff, 0x7ff)
#define CELLS 512u

static struct gpu_file gpu;
static struct buffer from, to, more, small;
static volatile uint64_t *cells; /* array of CELLS cells */

static bool becomes(unsigned cell, uint64_t wanted, unsigned ms)
{
	return comes((volatile int64_t *)&cells[cell], (int64_t)wanted, ms);
}

static void begin(uint64_t bytes)
{
	gpu_open(&gpu);
	CHECK_IS(buffer_new(&gpu, bytes, KFD_IOC_ALLOC_MEM_FLAGS_VRAM, &from), 0);
	CHECK_IS(buffer_new(&gpu, bytes, KFD_IOC_ALLOC_MEM_FLAGS_VRAM, &to), 0);
	gtt_new(&gpu, 8 * CELLS, &small);
	cells = small.cpu;
}

static bool same(const void *a, const void *b, uint64_t bytes)
{
	return !memcmp(a, b, bytes);
}

static void linear(struct word_queue *queue)
{
	char *src = from.cpu, *dst = to.cpu;

	memset(dst, 0, BIG);
	PUT(queue, COPY(0, dst + 5, src + 3, BIG - 9));
	PUT(queue, COPY(0, &cells[1], dst + BIG - 12, 8));
	PUT(queue, FENCE(&cells[0], 1));
	words_ring(queue);
	CHECK(becomes(0, 1, 20000));
	CHECK(same(dst + 5, src + 3, BIG - 9));
	CHECK(same((void *)(uintptr_t)&cells[1], src + BIG - 14, 8));
	CHECK(!dst[4] && !dst[BIG - 4]);
}

static void broadcast_and_fill(struct word_queue *queue)
{
	char *src = from.cpu, *dst = to.cpu, *second = more.cpu;

	memset(dst, 0, BIG);
	PUT(queue, COPY(1u << 27, dst, src, BIG), LO(second), HI(second));
	PUT(queue, FILL(dst + MIB, 0x04030201, 40 * MIB));
	PUT(queue, FENCE(&cells[0], 2));
	words_ring(queue);
	CHECK(becomes(0, 2, 20000));
	CHECK(same(second, src, BIG));
	CHECK(same(dst, src, MIB));
	CHECK(same(dst + 41 * MIB, src + 41 * MIB, BIG - 41 * MIB));
	for (uint64_t i = 0; i < 10 * MIB; i++)
		CHECK(((uint32_t *)(dst + MIB))[i] == 0x04030201);
}

/* 32 slices with 4096 rows of 400 bytes each. */
static void rectangle(struct word_queue *queue)
{
	char *src = from.cpu, *dst = to.cpu;

	memset(dst, 0, BIG);
	PUT(queue, RECT(dst, src, 511, 4096 * 512 - 1, 399, 4095, 31));
	PUT(queue, FENCE(&cells[0], 3));
	words_ring(queue);
	CHECK(becomes(0, 3, 20000));
	for (unsigned i = 0; i < 32 * 4096; i++) {
		CHECK(same(dst + 512ull * i, src + 512ull * i, 400));
		CHECK(!dst[512ull * i + 400]);
	}
}

/* A packet behind a DMA_DATA that does not wait for it is still executed after its bytes. */
static void pm4(void)
{
	enum { RELEASE_MEM = 0x49, DMA_DATA = 0x50, WRITE_DATA = 0x37 };
	const uint32_t bytes = 63 * MIB;
	struct word_queue queue;
	char *src = from.cpu, *dst = to.cpu;

	memset(dst, 0, BIG);
	words_new(&gpu, &queue, KFD_IOC_QUEUE_TYPE_COMPUTE);
	PUT(&queue, PM4(DMA_DATA, 7), 0, LO(src), HI(src), LO(dst), HI(dst), bytes);
	PUT(&queue, PM4(WRITE_DATA, 5), 5u << 8, LO(dst + bytes - 4), HI(dst + bytes - 4), 77);
	PUT(&queue, PM4(RELEASE_MEM, 8), 0, 1u << 29, LO(&cells[0]), HI(&cells[0]), 4, 0, 0);
	words_ring(&queue);
	CHECK(becomes(0, 4, 20000));
	CHECK(same(dst, src, bytes - 4));
	CHECK_IS(*(uint32_t *)(dst + bytes - 4), 77);
	CHECK_IS(queue_destroy(&gpu, queue.raw.id), 0);
}

static void bytes_arrive(void)
{
	struct word_queue queue;

	for (uint64_t i = 0; i < BIG / 8; i++)
		((uint64_t *)from.cpu)[i] = i * 0x9e3779b97f4a7c15ull + 1;
	words_new(&gpu, &queue, KFD_IOC_QUEUE_TYPE_SDMA);
	linear(&queue);
	broadcast_and_fill(&queue);
	rectangle(&queue);
	CHECK_IS(queue_destroy(&gpu, queue.raw.id), 0);
	pm4();
}

/* Starts a queue with several hostile rectangles, waits until the first is in progress, and adds a
 * fence. */
static void begin_hostile(struct word_queue *queue)
{
	char *src = from.cpu;
	volatile char *dst = to.cpu;

	cells[0] = 0;
	*dst = 0;
	*src = 1;
	words_new(&gpu, queue, KFD_IOC_QUEUE_TYPE_SDMA);
	for (unsigned i = 0; i < 8; i++)
		PUT(queue, HOSTILE(dst, src));
	PUT(queue, FENCE(&cells[0], 1));
	words_ring(queue);
	for (unsigned i = 0; i < 20000 && !*dst; i++)
		sleep_ms(1);
	CHECK(*dst);
	CHECK_IS(cells[0], 0);
}

static void destroyed(void)
{
	struct word_queue queue;

	begin_hostile(&queue);
	CHECK_IS(queue_destroy(&gpu, queue.raw.id), 0);
	CHECK_IS(cells[0], 0);
}

/* The fault is reported as any other, with the address. */
static void unmapped(void)
{
	struct kfd_ioctl_create_event_args event = {.event_type = KFD_IOC_EVENT_MEMORY};
	struct kfd_event_data data = {0};
	struct kfd_ioctl_wait_events_args wait = {
		.events_ptr = (uint64_t)(uintptr_t)&data, .num_events = 1, .timeout = 5000};
	struct word_queue queue;

	CHECK_IS(harness_ioctl(gpu.kfd, KFDABI_CREATE_EVENT, &event, sizeof event), 0);
	data.event_id = event.event_id;
	begin_hostile(&queue);
	CHECK_IS(buffer_free(&gpu, &from), 0);
	CHECK_IS(harness_ioctl(gpu.kfd, KFDABI_WAIT_EVENTS, &wait, sizeof wait), 0);
	CHECK_IS(wait.wait_result, KFD_IOC_WAIT_RESULT_COMPLETE);
	CHECK_IS(data.memory_exception_data.va / BIG, (uint64_t)(uintptr_t)from.cpu / BIG);
	CHECK_IS(cells[0], 0);
	CHECK_IS(queue_destroy(&gpu, queue.raw.id), 0);
}

/* The children: the copies that they have started are not finished when the parent checks. */
static void copies_rows(int in, int out)
{
	struct word_queue queue;

	begin(MIB);
	begin_hostile(&queue);
	notify(out);
	hear(in);
	CHECK_IS(cells[0], 0);
	notify(out);
	hear(in);
}

/* 64 copies of 256 MiB, 16 GiB in all. */
static void copies_bytes(int in, int out)
{
	struct word_queue queue;
	volatile char *dst;

	begin(256 * MIB);
	dst = to.cpu;
	*(char *)from.cpu = 1;
	words_new(&gpu, &queue, KFD_IOC_QUEUE_TYPE_SDMA);
	for (unsigned i = 0; i < 64; i++)
		PUT(&queue, COPY(0, dst, from.cpu, 256 * MIB));
	PUT(&queue, FENCE(&cells[0], 1));
	words_ring(&queue);
	while (!*dst)
		sleep_ms(1);
	notify(out);
	hear(in);
	CHECK_IS(cells[0], 0);
	notify(out);
	hear(in);
}

static uint64_t available(void)
{
	struct kfd_ioctl_get_available_memory_args args = {.gpu_id = gpu.gpu_id};

	CHECK_IS(harness_ioctl(gpu.kfd, KFDABI_AVAILABLE_MEMORY, &args, sizeof args), 0);
	return args.available;
}

static void is_replied(unsigned calls, unsigned dispatches)
{
	struct signal *signals = signals_new(&gpu);
	struct raw_queue queue;

	queue_new(&gpu, &queue);
	for (unsigned i = 0; i < calls; i++)
		available();
	for (unsigned i = 0; i < dispatches; i++) {
		signals[0].value = 1;
		queue_dispatch(&queue, 1, &signals[0]);
		queue_ring(&queue);
		CHECK(comes(&signals[0].value, 0, 10000));
	}
	CHECK_IS(queue_destroy(&gpu, queue.id), 0);
}

static void neighbours(void)
{
	struct child children[2];
	uint64_t before = available();

	child_begin(&children[0], copies_rows);
	child_begin(&children[1], copies_bytes);
	for (unsigned i = 0; i < 2; i++)
		hear(children[i].from);
	is_replied(1000, 100);
	for (unsigned i = 0; i < 2; i++) {
		notify(children[i].to);
		hear(children[i].from);
	}
	for (unsigned i = 0; i < 2; i++) {
		CHECK_IS(kill(children[i].pid, SIGKILL), 0);
		CHECK(WIFSIGNALED(child_end(&children[i])));
	}
	/* Part of the memory is in use by this process. */
	for (unsigned i = 0; i < 100 && available() < before - 32 * MIB; i++)
		sleep_ms(50);
	CHECK(available() > before - 32 * MIB);
}

int main(void)
{
	char line[8];

	setvbuf(stdout, NULL, _IOLBF, 0);
	begin(BIG);
	CHECK_IS(buffer_new(&gpu, BIG, KFD_IOC_ALLOC_MEM_FLAGS_VRAM, &more), 0);
	bytes_arrive();
	destroyed();
	neighbours();
	unmapped();
	puts("ended");
	return fgets(line, sizeof line, stdin) ? 0 : 1;
}

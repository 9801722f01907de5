// SPDX-License-Identifier: MIT
/* What the packet processors do with PM4 packets. */
#include <string.h>

#include "conform/checks.h"
#include "conform/desk.h"

/* The header of a PM4 packet with this number of dwords. */
#define PM4(op, dwords) (3u << 30 | ((dwords)-2u) << 16 | (op) << 8)
#define LO(address) ((uint32_t)(uintptr_t)(address))
#define HI(address) ((uint32_t)((uint64_t)(uintptr_t)(address) >> 32))
#define MEMORY (5u << 8)
#define WRITE_DWORDS 5u
/* WRITE_DATA of one dword, with a confirmed write. */
#define WRITE(address, value)                                                                      \
	PM4(0x37, WRITE_DWORDS), MEMORY | 1u << 20, LO(address), HI(address), value
#define PRED_EXEC(xccs, dwords) PM4(0x23, 2u), (xccs) << 24 | (dwords)
#define PUT(queue, ...)                                                                            \
	put(queue, (const uint32_t[]){__VA_ARGS__}, sizeof((const uint32_t[]){__VA_ARGS__}))

static void pm4_queue(struct desk *desk, struct raw_queue *queue)
{
	struct kfdabi_create_queue args;

	queue_args(&desk->gpu, queue, &args);
	memset(queue->ring.cpu, 0, queue->ring.size);
	args.queue_type = KFD_IOC_QUEUE_TYPE_COMPUTE;
	CHECK_IS(queue_create(&desk->gpu, queue, &args), 0);
}

/* Submits PM4 dwords and rings the doorbell. */
static void put(struct raw_queue *queue, const uint32_t *words, size_t bytes)
{
	memcpy((uint32_t *)queue->ring.cpu + queue->written, words, bytes);
	queue->written += bytes / sizeof *words; /* counted in dwords for PM4 */
	__atomic_store_n(queue_wptr(queue), queue->written, __ATOMIC_RELEASE);
	__atomic_store_n(queue->doorbell, queue->written, __ATOMIC_RELEASE);
}

void check_pred_exec_is_for_the_xccs_it_names(void)
{
	volatile int64_t *cells;
	struct raw_queue queue;
	struct desk desk;

	desk_prepare(&desk);
	cells = &desk.signals[0].value;
	pm4_queue(&desk, &queue);
	/* One write for the first XCC, one for no XCC, and one after both. */
	PUT(&queue, PRED_EXEC(1u, WRITE_DWORDS), WRITE(&cells[0], 1), PRED_EXEC(0u, WRITE_DWORDS),
	    WRITE(&cells[1], 1), WRITE(&cells[2], 1));
	CHECK(comes(&cells[2], 1, DESK_RUNS_MS));
	CHECK_IS(cells[0], 1);
	CHECK_IS(cells[1], 0);
}

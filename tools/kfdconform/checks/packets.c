// SPDX-License-Identifier: MIT
/* What the packet processors do with PM4 packets. */
#include <string.h>

#include "tools/kfdconform/checks.h"
#include "tools/kfdconform/harness/self_debug.h"

/* Headers of PM4 packets: type 3, number of dwords less 2, operation. */
#define WRITE_DATA (3u << 30 | 3u << 16 | 0x37u << 8)
#define PRED_EXEC (3u << 30 | 0x23u << 8)
#define MEMORY (5u << 8)
#define CONFIRMED (1u << 20)
#define WRITE_DWORDS 5u

struct packets {
	uint32_t words[32];
	size_t count;
};

static void add(struct packets *packets, uint32_t word)
{
	CHECK(packets->count < sizeof packets->words / sizeof *packets->words);
	packets->words[packets->count++] = word;
}

static void add_write(struct packets *packets, const volatile void *address, uint32_t value)
{
	add(packets, WRITE_DATA);
	add(packets, MEMORY | CONFIRMED);
	add(packets, (uint32_t)(uintptr_t)address);
	add(packets, (uint32_t)((uint64_t)(uintptr_t)address >> 32));
	add(packets, value);
}

/* The XCCs of this mask execute the following dwords. */
static void add_pred_exec(struct packets *packets, uint32_t xccs, uint32_t dwords)
{
	add(packets, PRED_EXEC);
	add(packets, xccs << 24 | dwords);
}

/* Submits the packets and rings the doorbell. */
static void submit(struct raw_queue *queue, const struct packets *packets)
{
	memcpy((uint32_t *)queue->ring.cpu + queue->written, packets->words,
	       packets->count * sizeof *packets->words);
	queue->written += packets->count; /* counted in dwords for PM4 */
	__atomic_store_n(queue_wptr(queue), queue->written, __ATOMIC_RELEASE);
	__atomic_store_n(queue->doorbell, queue->written, __ATOMIC_RELEASE);
}

RULE_CHECK(pred_exec_is_for_the_xccs_it_names, self_debug_prepare())
{
	struct packets packets = {0};
	struct raw_queue queue;
	volatile int64_t *cells = &self.signals[0].value;

	queue_new_of_type(&self.gpu, &queue, KFD_IOC_QUEUE_TYPE_COMPUTE);
	/* One write for the first XCC, one for no XCC, and one after both. */
	add_pred_exec(&packets, 1, WRITE_DWORDS);
	add_write(&packets, &cells[0], 1);
	add_pred_exec(&packets, 0, WRITE_DWORDS);
	add_write(&packets, &cells[1], 1);
	add_write(&packets, &cells[2], 1);
	submit(&queue, &packets);
	CHECK(comes(&cells[2], 1, SELF_DEBUG_RUNS_MS));
	CHECK_IS(cells[0], 1);
	CHECK_IS(cells[1], 0);
}

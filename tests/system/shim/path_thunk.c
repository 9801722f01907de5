// SPDX-License-Identifier: MIT
/*
 * Bursts through AMD's thunk without an HSA runtime: hsaKmtCreateQueue. A library that shim_path
 * opens, so that only this library needs libhsakmt. Its packets are barriers.
 */
#include <hsakmt.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/system/shim/path_work.h"

#define RING_BYTES 65536u
#define PAGE 4096u
#define AQL_BARRIER_AND (3u | 1u << 8) /* type and barrier bit (HSA 1.2, section 2.9) */

struct packet {
	uint32_t header, reserved;
	uint64_t waits_for[5], reserved2, completion;
};

/* Layout of amd_signal_t. */
struct signal {
	int64_t kind;
	volatile int64_t value;
	uint64_t rest[6];
};

/* One page with everything that the queue and its packets refer to. */
static struct {
	uint64_t wptr, pad[7], rptr, pad2[7];
	struct signal done;
} * shared;
static struct packet *ring;
static HsaQueueResource queue;

static void must(HSAKMT_STATUS status, const char *what)
{
	if (status == HSAKMT_STATUS_SUCCESS)
		return;
	fprintf(stderr, "shim_path: %s is %d\n", what, (int)status);
	exit(1);
}

static HSAuint32 find_gpu(void)
{
	HsaSystemProperties system;
	HsaNodeProperties node;

	must(hsaKmtAcquireSystemProperties(&system), "the system");
	for (HSAuint32 i = 0; i < system.NumNodes; i++) {
		must(hsaKmtGetNodeProperties(i, &node), "a node");
		if (node.NumFComputeCores > 0)
			return i;
	}
	must(HSAKMT_STATUS_UNAVAILABLE, "a GPU");
	return 0;
}

static void *memory(size_t size)
{
	const HsaMemFlags flags = {.ui32 = {.HostAccess = 1, .ExecuteAccess = 1}};
	HSAuint64 address;
	void *at;

	must(hsaKmtAllocMemory(0, size, flags, &at), "memory");
	must(hsaKmtMapMemoryToGPU(at, size, &address), "mapping it");
	memset(at, 0, size);
	return at;
}

static void begin(void)
{
	HSAuint32 gpu;

	must(hsaKmtOpenKFD(), "the driver");
	gpu = find_gpu();
	ring = memory(RING_BYTES);
	shared = memory(PAGE);
	shared->done.kind = 1; /* kind of a signal whose value is used */
	for (size_t i = 0; i < RING_BYTES / sizeof(*ring); i++)
		ring[i].header = 1; /* type invalid: the packet is not there yet */
	queue.Queue_write_ptr_aql = &shared->wptr;
	queue.Queue_read_ptr_aql = &shared->rptr;
	must(hsaKmtCreateQueue(gpu, HSA_QUEUE_COMPUTE_AQL, 100, HSA_QUEUE_PRIORITY_NORMAL, ring,
			       RING_BYTES, NULL, &queue),
	     "a queue");
}

static void submit(bool last)
{
	uint64_t at = __atomic_fetch_add(&shared->wptr, 1, __ATOMIC_SEQ_CST);
	struct packet *packet = &ring[at % (RING_BYTES / sizeof(*ring))];

	memset((char *)packet + sizeof(packet->header), 0,
	       sizeof(*packet) - sizeof(packet->header));
	packet->completion = last ? (uint64_t)(uintptr_t)&shared->done : 0;
	__atomic_store_n(&packet->header, AQL_BARRIER_AND, __ATOMIC_RELEASE);
	__atomic_store_n(queue.Queue_DoorBell_aql, at, __ATOMIC_RELEASE);
}

int path_run(const char *path)
{
	struct path_result result = {0};
	struct path_task task;

	(void)path;
	begin();
	while (path_next(&result, &task)) {
		shared->done.value = 1;
		for (unsigned i = 1; i <= task.packets; i++)
			submit(i == task.packets);
		while (__atomic_load_n(&shared->done.value, __ATOMIC_ACQUIRE) > 0)
			sched_yield(); /* the simulator may need this core */
	}
	return 0;
}

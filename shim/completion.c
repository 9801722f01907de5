// SPDX-License-Identifier: MIT
#include "shim/completion.h"

#include <hsa/hsa.h>
#include <string.h>

#include "shim/safe_read.h"

/* Offset of the value in an amd_signal_t, equal in ROCr 5.2 to 7.2. */
#define SIGNAL_VALUE 8u

/* AQL packet formats (HSA 1.2, 2.9). Bits 7:0 of the header are the type. */
#define TYPE_VENDOR 0u
#define TYPE_BARRIER_AND 3u
#define TYPE_BARRIER_OR 5u
#define BARRIER_SIGNALS 5u

/* An hsa_amd_barrier_value_packet_t is a vendor packet with this format byte. */
#define VENDOR_BARRIER_VALUE 2u

/* A barrier packet: types barrier-and and barrier-or use `signals`, barrier-value uses
 * `compare`. */
struct barrier {
	uint16_t header;
	uint8_t format; /* of vendor packets; reserved in barriers */
	uint8_t pad[5];
	union {
		uint64_t signals[BARRIER_SIGNALS];
		struct {
			uint64_t signal;
			int64_t value, mask;
			uint32_t condition; /* hsa_signal_condition_t */
		} compare;
	};
	uint64_t pad2;
	uint64_t completion; /* completion signal, at this offset in every packet */
};
_Static_assert(sizeof(struct barrier) == AQL_PACKET, "an AQL packet");
_Static_assert(offsetof(struct barrier, completion) ==
		       offsetof(hsa_kernel_dispatch_packet_t, completion_signal),
	       "completion signal of a packet");

static bool signal_value(uint64_t signal, int64_t *value)
{
	return memory_read(value, signal + SIGNAL_VALUE, sizeof(*value));
}

bool completion_is_final(uint64_t signal)
{
	int64_t value;

	return memory_read_mapped(&value, signal + SIGNAL_VALUE, sizeof(value)) && value <= 0;
}

uint64_t completion_signal(const struct shim_queue *queue, uint64_t wptr)
{
	uint64_t packets = queue->ring_bytes / AQL_PACKET, at, signal;

	if (queue->type != KFD_IOC_QUEUE_TYPE_COMPUTE_AQL || packets == 0 || wptr == 0 ||
	    __atomic_load_n(&queue->ring_moved, __ATOMIC_RELAXED))
		return 0;
	at = queue->ring + (wptr - 1) % packets * AQL_PACKET + offsetof(struct barrier, completion);
	/* A ring that no HSA runtime made may not be mapped for the CPU. */
	if (queue->hsa_queue && !queue->read_via_kernel)
		return __atomic_load_n((const uint64_t *)(uintptr_t)at, __ATOMIC_RELAXED);
	return memory_read(&signal, at, sizeof(signal)) ? signal : 0;
}

enum completion completion_of(const struct shim_queue *queue, uint64_t wptr, uint64_t *signal_out)
{
	uint64_t signal = completion_signal(queue, wptr);
	int64_t value;

	*signal_out = signal;
	if (!signal || !signal_value(signal, &value))
		return COMPLETION_NONE;
	return value <= 0 ? COMPLETION_DONE : COMPLETION_UNFINISHED;
}

/* Returns true if the condition of a barrier-and (@all) or barrier-or packet is not met.
 * Barrier-and is met when all its signals are 0, barrier-or when one of them is. Null handles are
 * ignored; a signal that cannot be read counts as met. */
static bool signals_unmet(const struct barrier *packet, bool all)
{
	bool named = false, zero;
	int64_t value;

	for (unsigned i = 0; i < BARRIER_SIGNALS; i++) {
		if (!packet->signals[i])
			continue;
		if (!signal_value(packet->signals[i], &value))
			return false;
		zero = value == 0;
		named = true;
		if (zero != all)
			return all;
	}
	return named && !all;
}

/* Returns true if the comparison of a barrier-value packet does not hold. */
static bool compare_unmet(const struct barrier *packet)
{
	int64_t value;

	if (!packet->compare.signal || !signal_value(packet->compare.signal, &value))
		return false;
	value &= packet->compare.mask;
	switch (packet->compare.condition) {
	case 0:
		return value != packet->compare.value;
	case 1:
		return value == packet->compare.value;
	case 2:
		return value >= packet->compare.value;
	case 3:
		return value < packet->compare.value;
	default:
		return false;
	}
}

bool completion_of_barrier(const struct shim_queue *queue, uint64_t rptr)
{
	uint64_t packets = queue->ring_bytes / AQL_PACKET;
	const void *head;
	struct barrier packet;
	uint16_t header;

	/* Only rings of an HSA runtime are known to be readable by the CPU. */
	if (!queue->hsa_queue || queue->read_via_kernel ||
	    __atomic_load_n(&queue->ring_moved, __ATOMIC_RELAXED))
		return false;
	head = (const void *)(uintptr_t)(queue->ring + (rptr % packets) * AQL_PACKET);
	header = __atomic_load_n((const uint16_t *)head, __ATOMIC_ACQUIRE);
	/* Most packets are kernel dispatches: return before the packet is copied. */
	if ((header & 0xff) != TYPE_VENDOR && (header & 0xff) != TYPE_BARRIER_AND &&
	    (header & 0xff) != TYPE_BARRIER_OR)
		return false;
	memcpy(&packet, head, sizeof(packet));
	switch (header & 0xff) {
	case TYPE_BARRIER_AND:
		return signals_unmet(&packet, true);
	case TYPE_BARRIER_OR:
		return signals_unmet(&packet, false);
	case TYPE_VENDOR:
		return packet.format == VENDOR_BARRIER_VALUE && compare_unmet(&packet);
	default:
		return false;
	}
}

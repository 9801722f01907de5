// SPDX-License-Identifier: MIT
/*
 * Carries out PM4 packets: their accesses to memory and the interrupts that they send. The packets
 * are read again when they take effect. The program may have changed them since they were fetched,
 * so every length is checked again here.
 */
#include <errno.h>
#include <string.h>

#include "sim/cp/pm4.h"

#define WORDS_MAX 9u

static const uint8_t lengths[256] = {
#define LENGTH(name, opcode, length) [opcode] = length,
	PM4_PACKETS(LENGTH)};

uint32_t pm4_length(uint32_t header, uint32_t *op)
{
	uint32_t count = header >> 16 & 0x3fff;

	*op = PM4_NOP;
	if (header >> 30 == 2) /* filler */
		return 1;
	if (header >> 30 != 3)
		return 0;
	*op = header >> 8 & 0xff;
	if (*op == PM4_NOP && count == 0x3fff)
		return 1;
	return lengths[*op] && count + 2 >= lengths[*op] ? count + 2 : 0;
}

bool pm4_flushes(uint32_t op)
{
	return op == PM4_RELEASE_MEM || op == PM4_EVENT_WRITE || op == PM4_ACQUIRE_MEM;
}

int pm4_read(const struct queue *queue, const struct pm4_code *code, uint32_t first, uint32_t *to,
	     uint32_t n)
{
	if (code->ring)
		return ring_read(queue, (code->at + first) * 4, to, 4ull * n);
	return access_read(queue->process, code->at + 4ull * first, to, 4ull * n);
}

/* Returns how many dwords after a PRED_EXEC are not executed, because none of the XCCs that the
 * packet names is the node's. @d: second dword of the packet; bits 31:24 name XCCs, bits 13:0 are
 * the number of dwords (PACKET3_PRED_EXEC in soc15d.h). What is meant for one XCC, and what is
 * meant for all, is executed once. */
static uint32_t predicated(const struct queue *queue, uint32_t d)
{
	const struct sim *sim = queue->process->sim;
	const uint32_t mine = (1u << sim->config.gpu.xccs) - 1;

	if (!rule_holds(sim, RULE_pred_exec_is_for_the_xccs_it_names))
		return 0;
	return d >> 24 & mine ? 0 : d & 0x3fff;
}

int pm4_packet(const struct queue *queue, const struct pm4_code *code, uint32_t *dwords,
	       uint32_t *op)
{
	uint32_t d[2] = {0};

	if (pm4_read(queue, code, 0, d, code->dwords < 2 ? 1 : 2))
		return -EFAULT;
	*dwords = pm4_length(d[0], op);
	if (!*dwords)
		return -EBADMSG;
	if (*op == PM4_PRED_EXEC && code->dwords >= *dwords) {
		*dwords += predicated(queue, d[1]);
		*op = PM4_NOP;
	}
	if (*dwords <= code->dwords)
		return 0;
	/* If the packet can fit into the ring, its rest comes with a later doorbell. */
	return code->ring && *dwords <= queue->hw_ring_bytes / 4 ? -EAGAIN : -EBADMSG;
}

void pm4_error(struct queue *queue, const struct pm4_code *code)
{
	enum queue_error_code error = is_aql(queue) ? QUEUE_ERROR_VENDOR : QUEUE_ERROR_UNSUPPORTED;
	uint32_t header = 0;

	pm4_read(queue, code, 0, &header, 1);
	queue_error(queue, error,
		    "unknown or malformed PM4 packet 0x%02x (header 0x%08x at %s0x%llx)",
		    header >> 8 & 0xff, header, code->ring ? "dword " : "address ",
		    (unsigned long long)code->at);
}

static int write_data(const struct queue *queue, const struct pm4_code *code, const uint32_t *d,
		      uint32_t dwords)
{
	enum { TO_REGISTER = 0, TO_GDS = 3 };
	uint32_t to = d[1] >> 8 & 15, block[64];
	uint64_t va = pm4_qword(d + 2) & ~3ull;
	bool stays = d[1] >> 16 & 1;

	if (to == TO_REGISTER || to == TO_GDS)
		return 0; /* neither exists here */
	for (uint32_t i = 4, n; i < dwords; i += n) {
		n = stays ? 1 : dwords - i;
		if (n > sizeof block / 4)
			n = sizeof block / 4;
		if (pm4_read(queue, code, i, block, n) ||
		    access_write(queue->process, va, block, 4ull * n))
			return -EFAULT;
		va += stays ? 0 : 4ull * n;
	}
	return 0;
}

static int release_mem(struct queue *queue, const uint32_t *d, uint32_t dwords, uint64_t now_ns)
{
	enum { DATA_NONE = 0, DATA_32 = 1, DATA_64 = 2, DATA_CLOCK = 3 };
	enum { INTERRUPT_NONE = 0, INTERRUPT_NOT = 3 };
	uint32_t data = d[2] >> 29, interrupt = d[2] >> 24 & 7;
	uint64_t value = data == DATA_CLOCK ? gpu_ticks(now_ns) : pm4_qword(d + 5);
	size_t bytes = data == DATA_32 ? 4 : data == DATA_64 || data == DATA_CLOCK ? 8 : 0;
	uint64_t va = pm4_qword(d + 3) & ~(bytes == 8 ? 7ull : 3ull);

	if (bytes && access_write(queue->process, va, &value, bytes))
		return -EFAULT;
	/* INTERRUPT_NOT only waits for the write; it sends no interrupt. */
	if (interrupt != INTERRUPT_NONE && interrupt != INTERRUPT_NOT)
		event_interrupt(queue->process, dwords > 7 ? d[7] : 0);
	return 0;
}

static int copy_data(struct queue *queue, const uint32_t *d, uint64_t now_ns)
{
	enum { MEMORY = 1, L2 = 2, IMMEDIATE = 5, ATOMIC_RESULT = 6, CLOCK = 9 };
	enum { TO_L2 = 2, TO_MEMORY = 5, TO_MEMORY_SYNC = 1 };
	uint32_t from = d[1] & 15, to = d[1] >> 8 & 15;
	size_t bytes = d[1] >> 16 & 1 ? 8 : 4;
	uint64_t value = 0; /* value of a register */

	if (from == IMMEDIATE)
		value = pm4_qword(d + 2);
	else if (from == CLOCK)
		value = gpu_ticks(now_ns);
	else if (from == ATOMIC_RESULT)
		value = queue->atomic_result;
	else if ((from == MEMORY || from == L2) &&
		 access_read(queue->process, pm4_qword(d + 2) & ~(uint64_t)(bytes - 1), &value,
			     bytes))
		return -EFAULT;
	if (to != TO_L2 && to != TO_MEMORY && to != TO_MEMORY_SYNC)
		return 0;
	return access_write(queue->process, pm4_qword(d + 4) & ~(uint64_t)(bytes - 1), &value,
			    bytes);
}

/* Starts the copy or fill of a DMA_DATA packet. Returns as move_begin(), or 0 if source or target
 * is not memory. */
static int dma_data(struct queue *queue, const uint32_t *d)
{
	enum { ADDRESS = 0, GDS = 1, DATA = 2, L2 = 3 };
	uint32_t from = d[1] >> 29 & 3, to = d[1] >> 20 & 3;
	struct move *move = &queue->moving.move;

	if (to == GDS || from == GDS || to == DATA)
		return 0;
	*move = (struct move){.dst = pm4_qword(d + 4),
			      .src = pm4_qword(d + 2),
			      .bytes = d[6] & PM4_DMA_BYTES,
			      .rows = 1,
			      .slices = 1};
	if (from == DATA) {
		move->pattern_bytes = sizeof d[2];
		memcpy(move->pattern, &d[2], sizeof d[2]);
	}
	return move_begin(queue);
}

/* Carries out one packet. Returns 0, a negative errno, or 1 if the caller must return because a
 * copy continues in the background or has failed (move_begin()). */
static int effect(struct queue *queue, const struct pm4_code *code, uint32_t op, uint32_t dwords,
		  uint64_t now_ns)
{
	uint32_t d[WORDS_MAX] = {0};

	if (pm4_read(queue, code, 0, d, dwords < WORDS_MAX ? dwords : WORDS_MAX))
		return -EFAULT;
	switch (op) {
	case PM4_WRITE_DATA:
		return write_data(queue, code, d, dwords);
	case PM4_RELEASE_MEM:
		return release_mem(queue, d, dwords, now_ns);
	case PM4_COPY_DATA:
		return copy_data(queue, d, now_ns);
	case PM4_DMA_DATA:
		return dma_data(queue, d);
	case PM4_ATOMIC_MEM:
		return access_atomic(queue->process, pm4_qword(d + 2), d[1] & 0x7f,
				     pm4_qword(d + 4), pm4_qword(d + 6), &queue->atomic_result);
	default:
		return 0;
	}
}

void pm4_effect(struct queue *queue, struct packet *packet, uint64_t now_ns)
{
	while (packet->code.dwords) {
		const struct pm4_code code = packet->code;
		uint32_t dwords, op;
		int r = pm4_packet(queue, &code, &dwords, &op);

		if (r == -EAGAIN)
			r = -EBADMSG;
		if (!r) {
			pm4_advance(&packet->code, dwords);
			r = effect(queue, &code, op, dwords, now_ns);
		}
		if (r == -EBADMSG)
			pm4_error(queue, &code);
		else if (r < 0)
			engine_fault(queue);
		if (r)
			return;
	}
}

/* Writes the read pointer, which for a PM4 ring has 32 bits and is the position in dwords. */
void pm4_retired(struct queue *queue, const struct packet *packet)
{
	uint32_t rptr = (uint32_t)(packet->end % (queue->hw_ring_bytes / 4));

	if (!packet->part && access_write(queue->process, queue->rptr_address, &rptr, sizeof rptr))
		engine_fault(queue);
}

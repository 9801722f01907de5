/* SPDX-License-Identifier: MIT */
/*
 * Interface between the two halves of the PM4 interpreter: pm4.c fetches packets, pm4_execute.c
 * carries them out. Opcodes: the driver's soc15d.h.
 *
 * Threads: all functions under sim->lock.
 */
#ifndef KFDSHIM_SIM_CP_PM4_H
#define KFDSHIM_SIM_CP_PM4_H

#include "sim/driver/queue.h"

/* All PM4 packets: name, opcode, and length in dwords of the shortest form. */
#define PM4_PACKETS(X)                                                                             \
	X(NOP, 0x10, 1)                                                                            \
	X(CLEAR_STATE, 0x12, 2)                                                                    \
	X(DISPATCH_DIRECT, 0x15, 5)                                                                \
	X(ATOMIC_MEM, 0x1e, 9)                                                                     \
	X(REG_RMW, 0x21, 4)                                                                        \
	X(PRED_EXEC, 0x23, 2)                                                                      \
	X(CONTEXT_CONTROL, 0x28, 3)                                                                \
	X(WRITE_DATA, 0x37, 4)                                                                     \
	X(WAIT_REG_MEM, 0x3c, 7)                                                                   \
	X(INDIRECT_BUFFER, 0x3f, 4)                                                                \
	X(COPY_DATA, 0x40, 6)                                                                      \
	X(EVENT_WRITE, 0x46, 2)                                                                    \
	X(RELEASE_MEM, 0x49, 7)                                                                    \
	X(DMA_DATA, 0x50, 7)                                                                       \
	X(ACQUIRE_MEM, 0x58, 7)                                                                    \
	X(SET_CONFIG_REG, 0x68, 2)                                                                 \
	X(SET_CONTEXT_REG, 0x69, 2)                                                                \
	X(SET_SH_REG, 0x76, 2)                                                                     \
	X(SET_UCONFIG_REG, 0x79, 2)                                                                \
	X(SET_UCONFIG_REG_INDEX, 0x7a, 2)                                                          \
	X(WAIT_REG_MEM64, 0x93, 9)                                                                 \
	X(SET_SH_REG_INDEX, 0x9b, 2)

enum pm4_op {
#define PM4_OPCODE(name, opcode, length) PM4_##name = opcode,
	PM4_PACKETS(PM4_OPCODE)
};
#define PM4_DMA_BYTES 0x3ffffffu
#define IB_FETCH_NS 2000u /* assumed: time to read an indirect buffer's first lines */
#define RUN_DWORDS_MAX 4096u

/* Returns the 64-bit number in two dwords, the low one first. */
static inline uint64_t pm4_qword(const uint32_t *d)
{
	return (uint64_t)d[1] << 32 | d[0];
}

static inline void pm4_advance(struct pm4_code *code, uint32_t dwords)
{
	code->at += code->ring ? dwords : 4ull * dwords;
	code->dwords -= dwords;
}

/* Returns the length in dwords of the packet with this header and sets *@op; 0: unknown packet. */
uint32_t pm4_length(uint32_t header, uint32_t *op);
/* Sets *@op and *@dwords (length) of the packet at the start of the code, which has at least one
 * dword. If a PRED_EXEC skips the packets after it, all of them are returned as one NOP. Returns 0;
 * -EFAULT; -EBADMSG: unknown packet; -EAGAIN: it is not complete yet. */
int pm4_packet(const struct queue *queue, const struct pm4_code *code, uint32_t *dwords,
	       uint32_t *op);
/* Stops the queue with an error: the packet at the start of the code is unknown or malformed. */
void pm4_error(struct queue *queue, const struct pm4_code *code);
/* Returns true if a packet with this opcode waits until all work launched before it has ended. */
bool pm4_flushes(uint32_t op);
/* Reads @n dwords of the code, beginning with dword @first. Returns 0 or -EFAULT. */
int pm4_read(const struct queue *queue, const struct pm4_code *code, uint32_t first, uint32_t *to,
	     uint32_t n);

#endif

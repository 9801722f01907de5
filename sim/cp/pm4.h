/* SPDX-License-Identifier: MIT */
/*
 * What the two halves of the PM4 interpreter share: pm4.c fetches packets, pm4_execute.c carries
 * them out. Opcodes: the driver's soc15d.h.
 *
 * Threads: all functions under sim->lock.
 */
#ifndef KFDSHIM_SIM_CP_PM4_H
#define KFDSHIM_SIM_CP_PM4_H

#include <stdint.h>

#include "sim/driver/queue.h"

enum pm4_op {
	PM4_NOP = 0x10,
	PM4_CLEAR_STATE = 0x12,
	PM4_DISPATCH_DIRECT = 0x15,
	PM4_ATOMIC_MEM = 0x1e,
	PM4_REG_RMW = 0x21,
	PM4_PRED_EXEC = 0x23,
	PM4_CONTEXT_CONTROL = 0x28,
	PM4_WRITE_DATA = 0x37,
	PM4_WAIT_REG_MEM = 0x3c,
	PM4_INDIRECT_BUFFER = 0x3f,
	PM4_COPY_DATA = 0x40,
	PM4_EVENT_WRITE = 0x46,
	PM4_RELEASE_MEM = 0x49,
	PM4_DMA_DATA = 0x50,
	PM4_ACQUIRE_MEM = 0x58,
	PM4_SET_CONFIG_REG = 0x68,
	PM4_SET_CONTEXT_REG = 0x69,
	PM4_SET_SH_REG = 0x76,
	PM4_SET_UCONFIG_REG = 0x79,
	PM4_SET_UCONFIG_REG_INDEX = 0x7a,
	PM4_WAIT_REG_MEM64 = 0x93,
	PM4_SET_SH_REG_INDEX = 0x9b,
};
#define PM4_DMA_BYTES 0x3ffffffu

/* Returns the length in dwords of the packet with this header and sets *@op; 0: unknown packet. */
uint32_t pm4_length(uint32_t header, uint32_t *op);
/* Parses the packet at the start of the code, which has at least one dword: sets its opcode and its
 * length in dwords. A PRED_EXEC that makes the engine skip the packets behind it is returned with
 * them as one NOP. Returns 0; -EFAULT; -EBADMSG: unknown packet; -EAGAIN: it is not complete
 * yet. */
int pm4_packet(const struct queue *queue, const struct pm4_code *code, uint32_t *dwords,
	       uint32_t *op);
/* Stops the queue because of the packet at the start of the code. */
void pm4_error(struct queue *queue, const struct pm4_code *code);
/* Returns true if the packet waits for the end of everything launched before it. */
bool pm4_flushes(uint32_t op);
/* Reads @n dwords from dword @first of the code on. Returns 0 or -EFAULT. */
int pm4_read(const struct queue *queue, const struct pm4_code *code, uint32_t first, uint32_t *to,
	     uint32_t n);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * What the two halves of the PM4 interpreter share (pm4.c takes packets,
 * pm4_effect.c carries them out). Opcodes: soc15d.h of the driver.
 */
#ifndef KFDSHIM_SIM_KFD_PM4_H
#define KFDSHIM_SIM_KFD_PM4_H

#include <stdint.h>

#include "sim/kfd/kfd.h"

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

/* Dwords of the packet with this header; 0: the engine does not know it. */
uint32_t pm4_length(uint32_t header, uint32_t *op);
/* Of the packet at the start of the code, which has a dword at least: its opcode, and its dwords
 * or, where it makes the engine skip those behind it, all of them as one NOP. -EFAULT, -EBADMSG:
 * the engine does not know it, -EAGAIN: it is not all there yet. */
int pm4_packet(const struct queue *queue, const struct pm4_code *code, uint32_t *dwords,
	       uint32_t *op);
/* The queue stops at the packet at the start of the code. */
void pm4_error(struct queue *queue, const struct pm4_code *code);
/* Does it wait until what was launched before has ended? */
bool pm4_flushes(uint32_t op);
/* n dwords from the code's dword `first` on. */
int pm4_read(const struct queue *queue, const struct pm4_code *code, uint32_t first, uint32_t *to,
	     uint32_t n);

#endif

// SPDX-License-Identifier: MIT
/* Fills in memory queue descriptors (MQDs), as the driver's kfd_mqd_manager_v9.c does. */
#include "sim/driver/mqd.h"

#include <string.h>

#define HEADER_COMPUTE 0xc0310800u
#define GFX_9_4_3 90402u
#define ALL_CUS 0xffffffffu
#define EOP_CONTROL_MAX 10u
#define AQL_PACKET_DW 16u
#define SDMA_DUMMY 0xfu
#define DOORBELL_DW 2u /* length of a 64-bit doorbell */
/* The driver keeps the MQDs in its own GPU memory. These addresses of it are invented. */
#define GART_COMPUTE 0x7fff00000000ull
#define GART_SDMA 0x7ffe00000000ull
#define GART_SHIFT 24 /* room for the MQDs of one queue */

bool image_sdma(uint32_t type)
{
	return !is_compute_type(type);
}

/* Returns the distance from one XCC's MQD to the next, in bytes. An MQD has one page, and its
 * control stack follows. */
static uint64_t image_stride(const struct queue_image *image)
{
	return PAGE_BYTES + page_up(image->ctl_stack_bytes);
}

void image_of(const struct queue *queue, struct queue_image *out)
{
	const struct process *process = queue->process;
	const struct sim *sim = process->sim;
	uint32_t step = is_aql(queue) ? AQL_PACKET_DW : 1;

	*out = (struct queue_image){
		.node = queue->node,
		.gpu_id = sim->nodes[queue->node].gpu_id,
		.type = queue->type,
		.gfx = sim->config.node.gfx_target_version,
		.xccs = sim->config.gpu.xccs,
		.priority = queue->priority,
		.save_bytes = queue->save_bytes,
		.ctl_stack_bytes = sim->config.node.ctl_stack_size,
		.eop_bytes = queue->eop_bytes,
		.doorbell_dw = (uint32_t)((process->slot * sim->nodes_n + queue->node + 1) *
					  (DOORBELL_PAGE / 4)) +
			       DOORBELL_DW * queue->doorbell_index,
		.engine = queue->position.engine,
		.rlc = queue->position.rlc,
		.active = queue->map_wanted,
		.linux_7 = linux_7(sim),
		.ring = queue->ring,
		.ring_bytes = queue->ring_bytes,
		.rptr_address = queue->rptr_address,
		.wptr_address = queue->wptr_address,
		.eop_address = queue->eop_address,
		.save_address = queue->save_address,
		.rptr_dw = queue->retired * step,
		.wptr_dw = queue->limit_seen * step,
		.mqd = GART_COMPUTE + (queue->position.serial << GART_SHIFT),
	};
	if (image_sdma(queue->type)) {
		out->rptr_dw = queue->retired / 4;
		out->wptr_dw = queue->limit_seen / 4;
		out->mqd = GART_SDMA + queue->position.serial * SDMA_MQD_WORDS * 4;
	}
}

static void put64(uint32_t *words, uint64_t value)
{
	words[0] = (uint32_t)value;
	words[1] = (uint32_t)(value >> 32);
}

static uint32_t log2_up(uint64_t value)
{
	uint32_t n = 0;

	while (1ull << n < value)
		n++;
	return n;
}

static uint32_t pq_control(const struct queue_image *image, uint32_t xcc)
{
	uint32_t control = 5u << 8 | ((log2_up(image->ring_bytes / 4) - 1) & 0x3f);

	if (image->type != KFD_IOC_QUEUE_TYPE_COMPUTE_AQL)
		return control;
	/* Set bits: the write pointer counts slots, a full queue is detected, the write pointer is
	 * clamped. */
	control |= 2u << 25 | 1u << 16 | 1u << 14;
	/* Bit 27: no report of the read pointer. From 9.4.3 on only the first XCC reports it. */
	if (image->gfx < GFX_9_4_3 || xcc)
		control |= 1u << 27;
	return control;
}

void image_mqd(const struct queue_image *image, uint32_t xcc, uint32_t words[MQD_WORDS])
{
	static const uint8_t engines[] = {
		MQD_THREAD_MGMT_SE0, MQD_THREAD_MGMT_SE1, MQD_THREAD_MGMT_SE2, MQD_THREAD_MGMT_SE3,
		MQD_THREAD_MGMT_SE4, MQD_THREAD_MGMT_SE5, MQD_THREAD_MGMT_SE6, MQD_THREAD_MGMT_SE7};
	bool aql = image->type == KFD_IOC_QUEUE_TYPE_COMPUTE_AQL;

	memset(words, 0, MQD_WORDS * sizeof *words);
	words[MQD_HEADER] = HEADER_COMPUTE;
	words[MQD_PIPELINESTAT_ENABLE] = 1;
	words[MQD_PGM_RSRC2] = 1u << 6; /* a trap handler is present */
	for (unsigned i = 0; i < sizeof engines; i++)
		words[engines[i]] = ALL_CUS;
	if (image->gfx >= GFX_9_4_3) {
		words[MQD_THREAD_MGMT_SE4] = aql ? xcc : 0;
		words[MQD_THREAD_MGMT_SE6] = aql;
	}
	put64(&words[MQD_BASE], image->mqd + xcc * image_stride(image));
	words[MQD_PERSISTENT_STATE] = 1u << 30 | 0x53u << 8 | 1u;
	words[MQD_PIPE_PRIORITY] = image->priority < 7 ? 0 : image->priority < 11 ? 1 : 2;
	words[MQD_QUEUE_PRIORITY] = image->linux_7 ? 0 : image->priority;
	words[MQD_QUANTUM] = 1u << 8 | 1u << 4 | 1u;
	put64(&words[MQD_PQ_BASE], image->ring >> 8);
	words[MQD_PQ_RPTR] = (uint32_t)image->rptr_dw;
	put64(&words[MQD_RPTR_REPORT], image->rptr_address);
	put64(&words[MQD_WPTR_POLL], image->wptr_address);
	words[MQD_DOORBELL_CONTROL] = image->doorbell_dw << 2 | (uint32_t)aql << 1;
	words[MQD_PQ_CONTROL] = pq_control(image, xcc);
	words[MQD_IB_CONTROL] = 3u << 20 | 1u << 23;
	words[MQD_CONTROL] = 1u << 8;
	put64(&words[MQD_EOP_BASE], image->eop_address >> 8);
	words[MQD_EOP_CONTROL] = image->eop_bytes ? log2_up(image->eop_bytes / 4) - 1 : 0;
	if (words[MQD_EOP_CONTROL] > EOP_CONTROL_MAX)
		words[MQD_EOP_CONTROL] = EOP_CONTROL_MAX;
	words[MQD_AQL_CONTROL] = aql;
	put64(&words[MQD_PQ_WPTR], image->wptr_dw);
	if (!image->save_address)
		return;
	put64(&words[MQD_SAVE_BASE], image->save_address + (uint64_t)xcc * image->save_bytes);
	words[MQD_SAVE_SIZE] = image->save_bytes;
	words[MQD_CNTL_STACK_SIZE] = image->ctl_stack_bytes;
	words[MQD_CNTL_STACK_OFFSET] = image->ctl_stack_bytes;
	words[MQD_WG_STATE_OFFSET] = image->ctl_stack_bytes;
}

void image_sdma_mqd(const struct queue_image *image, uint32_t words[SDMA_MQD_WORDS])
{
	memset(words, 0, SDMA_MQD_WORDS * sizeof *words);
	words[0] = log2_up(image->ring_bytes / 4) << 1 | 1u << 12 | 6u << 16;
	put64(&words[1], image->ring >> 8);
	put64(&words[3], image->rptr_dw * 4);
	put64(&words[5], image->wptr_dw * 4);
	words[8] = (uint32_t)(image->rptr_address >> 32);
	words[9] = (uint32_t)image->rptr_address;
	words[22] = image->doorbell_dw << 2;
	words[27] = SDMA_DUMMY;
	words[126] = image->engine;
	words[127] = image->rlc;
}

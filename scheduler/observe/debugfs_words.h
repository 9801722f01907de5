/* SPDX-License-Identifier: MIT */
/*
 * Words of gfx9's descriptors (struct v9_mqd, v9_sdma_mqd) and of its slots' registers, and
 * what they say of a queue. For debugfs_mqds.c and debugfs_hqds.c alone. Pure.
 */
#ifndef KFDSHIM_OBSERVE_DEBUGFS_WORDS_H
#define KFDSHIM_OBSERVE_DEBUGFS_WORDS_H

#include "scheduler/observe/debugfs.h"
#include "scheduler/observe/debugfs_line.h"

/* Words of struct v9_mqd. */
enum {
	MQD_SE0 = 23, /* CU masks of the shader engines, */
	MQD_SE1 = 24,
	MQD_SE2 = 26,
	MQD_SE3 = 27,
	MQD_SE4 = 39,  /* to 42; since 9.4.3 these are other things */
	MQD_HQD = 128, /* from here on as the registers of a slot */
	MQD_SAVE_BASE = 171,
	MQD_SAVE_BYTES = 177,
	MQD_WORDS = 512,
};

/* Registers of a slot, from CP_MQD_BASE_ADDR on. */
enum {
	HQD_ACTIVE = 2,
	HQD_VMID = 3,
	HQD_PIPE_PRIORITY = 5,
	HQD_QUEUE_PRIORITY = 6,
	HQD_PQ_BASE = 8,
	HQD_RPTR_REPORT = 11,
	HQD_WPTR_POLL = 13,
	HQD_DOORBELL_CONTROL = 15,
	HQD_PQ_CONTROL = 17,
	HQD_WORDS = 56,
};

/* Words of struct v9_sdma_mqd, and registers of an SDMA slot. */
enum {
	SDMA_RB_CNTL = 0,
	SDMA_RB_BASE = 1,
	SDMA_RPTR_ADDRESS_HI = 8,
	SDMA_RPTR_ADDRESS_LO = 9,
	SDMA_DOORBELL_OFFSET = 22,
	SDMA_ENGINE = 126, /* the driver's own notes in the descriptor */
	SDMA_REGISTERS = 42,
	SDMA_WORDS = 128,
};

#define QUEUE_SIZE 0x3fu /* of CP_HQD_PQ_CONTROL: log2 of the dwords, less 1 */
#define SLOT_BASED_WPTR (3u << 25)
#define SLOT_BASED_AQL (2u << 25)
#define DOORBELL_OFFSET 0x0ffffffcu
#define RB_ENABLE 1u
#define RB_SIZE(cntl) ((cntl) >> 1 & 0x1fu) /* log2 of the dwords */
#define RB_VMID(cntl) ((cntl) >> 24 & 15u)
#define ALL_CUS UINT32_MAX
#define GFX_9_4_3 90400u /* as the topology numbers gfx940 to gfx942 */

static inline uint64_t words_pair(const uint32_t *words)
{
	return (uint64_t)words[1] << 32 | words[0];
}

/* Its words are those above. */
bool words_known(const struct topology_gpu *gpu);
/* Sets the value, unless it is 0, which is no address. */
void words_address(struct observe_queue *queue, enum observe_field field, uint64_t value,
		   enum observe_source source);
/* Type, ring, addresses and doorbell of a compute queue. */
void words_compute(struct observe_queue *queue, const uint32_t *hqd, enum observe_source source);
/* Engines are numbered on over the nodes of a card; in a node those for XGMI come last. */
enum observe_type words_engine(const struct topology_gpu *gpu, uint32_t engine);
/* As words_compute(), of one of that SDMA engine. */
void words_sdma(struct observe_queue *queue, const uint32_t *words, const struct topology_gpu *gpu,
		uint32_t engine, enum observe_source source);
/* zero_is_told: the driver writes the queue's priority, so that 0 is one. */
void words_priority(struct observe_queue *queue, const uint32_t *hqd, bool zero_is_told,
		    enum observe_source source);

/* Sentences. `file`: "mqds" or "hqds"; `what`: whose words they are. All return -EBADMSG
 * but the last, -EOPNOTSUPP. */
int words_odd_line(const struct lines *lines, const char *file, char why[static OBSERVE_WHY]);
int words_too_few(const char *file, size_t line, unsigned words, unsigned whole,
		  char why[static OBSERVE_WHY]);
int words_unknown(const struct debugfs_text *text, uint32_t gpu_id, const char *what,
		  char why[static OBSERVE_WHY]);

#endif

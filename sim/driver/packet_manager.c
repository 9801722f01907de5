// SPDX-License-Identifier: MIT
/* Packets for the scheduling firmware, as in the driver's kfd_packet_manager_v9.c. */
#include <string.h>

#include "sim/driver/mqd.h"

#define MAP_PROCESS 0xa1u
#define MAP_QUEUES 0xa2u
#define RUN_LIST 0xa5u
#define GFX_9_4_2 90010u /* gfx90a; the number in the topology */
#define PROCESS_WORDS_OLD 16u
#define QUANTUM_MS 10u
/* LDS and scratch apertures: upper 16 bits of each. */
#define SH_MEM_BASES 0x00010002u
#define SH_MEM_UNALIGNED (3u << 3)

static uint32_t header(uint32_t opcode, uint32_t words)
{
	return 3u << 30 | (words - 2) << 16 | opcode << 8;
}

uint32_t runlist_map_process(uint32_t *words, const struct runlist_process *process, uint32_t gfx)
{
	/* From gfx90a on the packet contains the debug settings of the process. */
	bool per_vmid = gfx >= GFX_9_4_2;
	uint32_t n = per_vmid ? RUNLIST_PROCESS_WORDS : PROCESS_WORDS_OLD;

	memset(words, 0, n * sizeof *words);
	words[0] = header(MAP_PROCESS, n);
	words[1] = QUANTUM_MS << 25 | (process->pasid & 0xffff);
	if (per_vmid && process->debugged)
		words[1] |= 1u << 22;
	words[4] = SH_MEM_BASES;
	words[5] = SH_MEM_UNALIGNED;
	words[13] = process->n_queues << 22 | 1u << 7; /* SDMA is allowed */
	return n;
}

uint32_t runlist_map_queue(uint32_t *words, const struct queue_image *image)
{
	uint32_t select = 1u << 29 | 1u << 4; /* one queue, in a slot that the firmware chooses */

	memset(words, 0, RUNLIST_QUEUE_WORDS * sizeof *words);
	if (image_sdma(image->type) && image->engine < 2)
		select |= (image->engine + 2) << 26;
	else if (image_sdma(image->type)) /* engines by number, in two groups of eight */
		select |= (image->engine % 8) << 26 | (image->engine < 8 ? 1u : 2u) << 2;
	words[0] = header(MAP_QUEUES, RUNLIST_QUEUE_WORDS);
	words[1] = select;
	words[2] = image->doorbell_dw << 2;
	words[3] = (uint32_t)image->mqd;
	words[4] = (uint32_t)(image->mqd >> 32);
	words[5] = (uint32_t)image->wptr_address;
	words[6] = (uint32_t)(image->wptr_address >> 32);
	return RUNLIST_QUEUE_WORDS;
}

uint32_t runlist_chain(uint32_t *words, uint32_t n, uint32_t processes)
{
	words[0] = header(RUN_LIST, RUNLIST_CHAIN_WORDS);
	words[1] = words[2] = 0;
	words[3] = (n & 0xfffff) | 1u << 20 | 1u << 22 | 1u << 23 | (processes & 0xf) << 24;
	return RUNLIST_CHAIN_WORDS;
}

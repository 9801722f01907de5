/* SPDX-License-Identifier: MIT */
/*
 * Parses lines of debugfs kfd/mqds and kfd/hqds, and reads a queue's values from the words of an
 * MQD (struct v9_mqd, v9_sdma_mqd) or from the registers of a hardware slot, in the layouts of
 * gfx9. Used by debugfs_mqds.c and debugfs_hqds.c only. Pure. Threads: any.
 */
#ifndef KFDSHIM_CLI_INSPECT_DEBUGFS_WORDS_H
#define KFDSHIM_CLI_INSPECT_DEBUGFS_WORDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cli/inspect/debugfs.h"

/* ---- lines of a text: headings, and rows of 32-bit words below each ---- */

#define LINE_WORDS 8u /* maximum number of words in a row */

/* A position in a text: the current line, and the rest behind it. */
struct lines {
	const char *next, *end; /* rest of the text */
	const char *at;		/* current line, without its newline */
	size_t length;		/* of the current line, bytes */
	size_t number;		/* of the current line, from 1 */
	bool cut;		/* the text ends in the current line, without a newline */
};

static inline struct lines lines_of(const char *text, size_t bytes)
{
	return (struct lines){.next = text, .end = text + bytes};
}
/* Goes to the next line. Returns false if there is none. */
bool line_next(struct lines *lines);

/* Parses a row like "    0000c914: 00000000 ...". Writes its offset and its words. Returns the
 * number of words, or 0 if the line is no row. */
unsigned line_row(const struct lines *lines, uint32_t *offset, uint32_t words[LINE_WORDS]);

/* Returns true if the whole line matches `form`. In it, "%u" matches a decimal and "%x" a
 * hexadecimal number, which are written to numbers[] in their order. */
bool line_is(const struct lines *lines, const char *form, uint32_t *numbers);
/* Returns true if the line begins with `text`. */
bool line_begins(const struct lines *lines, const char *text);

/* ---- words ---- */

/* Indexes of 32-bit words in struct v9_mqd. */
enum {
	MQD_SE0 = 23, /* CU masks of shader engines 0 to 3 */
	MQD_SE1 = 24,
	MQD_SE2 = 26,
	MQD_SE3 = 27,
	MQD_SE4 = 39, /* CU masks of shader engines 4 to 7: words 39 to 42, only before gfx 9.4.3 */
	MQD_HQD = 128, /* start of the words that match the registers of a slot (HQD_*) */
	MQD_SAVE_BASE = 171,
	MQD_SAVE_BYTES = 177,
	MQD_WORDS = 512,
};

/* Indexes of the registers of a compute slot, counted from CP_MQD_BASE_ADDR. */
enum {
	HQD_ACTIVE = 2,
	HQD_PIPE_PRIORITY = 5,
	HQD_QUEUE_PRIORITY = 6,
	HQD_PQ_BASE = 8,
	HQD_RPTR_REPORT = 11,
	HQD_WPTR_POLL = 13,
	HQD_DOORBELL_CONTROL = 15,
	HQD_PQ_CONTROL = 17,
	HQD_WORDS = 56,
};

/* Indexes of words in struct v9_sdma_mqd, and of the registers of an SDMA slot. */
enum {
	SDMA_RB_CNTL = 0,
	SDMA_RB_BASE = 1,
	SDMA_RPTR_ADDRESS_HI = 8,
	SDMA_RPTR_ADDRESS_LO = 9,
	SDMA_DOORBELL_OFFSET = 22,
	SDMA_ENGINE = 126, /* engine number, only in an MQD; the driver stores it for its own use */
	SDMA_REGISTERS = 42,
	SDMA_WORDS = 128,
};

#define QUEUE_SIZE 0x3fu /* field of CP_HQD_PQ_CONTROL: log2 of the ring's dwords, minus 1 */
#define SLOT_BASED_WPTR (3u << 25)
#define SLOT_BASED_AQL (2u << 25)
#define DOORBELL_OFFSET 0x0ffffffcu
#define RB_ENABLE 1u
#define RB_SIZE(cntl) ((cntl) >> 1 & 0x1fu) /* log2 of the ring's dwords */
#define ALL_CUS UINT32_MAX
#define GFX_9_4_3 90400u /* gfx_target_version of gfx940, the first of gfx940 to gfx942 */

static inline uint64_t words_pair(const uint32_t *words)
{
	return (uint64_t)words[1] << 32 | words[0];
}

/* Returns true if the GPU is gfx9, so that the layout above is valid. gpu may be NULL. */
bool words_known(const struct topology_gpu *gpu);
/* Sets `field` to the address `value`. Does nothing if `value` is 0: then there is no address. */
void words_address(struct observe_queue *queue, enum observe_field field, uint64_t value,
		   enum observe_source source);
/* Sets type, ring, addresses and doorbell of a compute queue. hqd: the registers of a slot, or the
 * words of an MQD from MQD_HQD. */
void words_compute(struct observe_queue *queue, const uint32_t *hqd, enum observe_source source);
/* Returns OBSERVE_XGMI if the SDMA engine with this number is for XGMI, else OBSERVE_SDMA. Engine
 * numbers continue from one node of a card to the next; within a node the engines for XGMI come
 * last. */
enum observe_type words_engine(const struct topology_gpu *gpu, uint32_t engine);
/* Sets type, ring, address of the read pointer and doorbell of a queue of SDMA engine number
 * `engine`. words: its MQD, or the registers of its slot. */
void words_sdma(struct observe_queue *queue, const uint32_t *words, const struct topology_gpu *gpu,
		uint32_t engine, enum observe_source source);
/* Sets the priority of a compute queue. zero_is_known: the driver is known to write the priority,
 * so 0 is a valid one. If false, a 0 counts as not known. */
void words_priority(struct observe_queue *queue, const uint32_t *hqd, bool zero_is_known,
		    enum observe_source source);

/*
 * Write the sentence for an error to `why`, and return the error:
 * words_odd_line()  -EBADMSG: the line is not in the format, or is cut
 * words_too_few()   -EBADMSG: a structure that began in `line` has only `words` of `whole` words
 * words_unknown()   -EOPNOTSUPP: the layout of the GPU's structures is not known
 *
 * file: "mqds" or "hqds". what: name of the structures, plural.
 */
int words_odd_line(const struct lines *lines, const char *file, char why[static OBSERVE_WHY]);
int words_too_few(const char *file, size_t line, unsigned words, unsigned whole,
		  char why[static OBSERVE_WHY]);
int words_unknown(const struct debugfs_copy *text, uint32_t gpu_id, const char *what,
		  char why[static OBSERVE_WHY]);

#endif

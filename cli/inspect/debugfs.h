/* SPDX-License-Identifier: MIT */
/*
 * Parsers for the texts of debugfs kfd/mqds and kfd/hqds.
 *
 * The formats are those of kfd_debugfs_mqds_by_process, pqm_debugfs_mqds,
 * kfd_debugfs_hqds_by_device and dqm_debugfs_hqds in Linux 5.0 to 7.x (before 6.5 the slots had no
 * XCC number).
 * The meaning of the words is that of struct v9_mqd and v9_sdma_mqd, and of the register dumps of
 * amdgpu_amdkfd_gfx_v9.c. So values are reported for gfx9 only (gfx900 to gfx950). For other
 * generations only the existence of a queue is reported, with its GPU and engine.
 *
 * Errors of all functions:
 * -EBADMSG     the text is not in the driver's format or ends early; `why` names the line
 * -EOPNOTSUPP  the text has a GPU of another generation
 * After -EBADMSG and -EOPNOTSUPP the list has the entries that could be read.
 *
 * Pure. Threads: any, one at a time for each list.
 */
#ifndef KFDSHIM_CLI_INSPECT_DEBUGFS_H
#define KFDSHIM_CLI_INSPECT_DEBUGFS_H

#include <sys/types.h>

#include "cli/inspect/queue_view.h"
#include "kfd/topology.h"

struct debugfs_copy {
	const char *at; /* text; it needs no NUL at its end */
	size_t bytes;
	const struct topology_gpu *gpus; /* GPUs of the machine that wrote the text */
	size_t n_gpus;
};

/*
 * Adds the queues of one process from the text of kfd/mqds, without ids, in the order of the text
 * (newest first).
 *
 * pid: of the process, in the pid namespace that the driver uses. OBSERVE_MQDS is the number of
 * MQDs: one for each XCC if it is a compute queue; 1 if it is an SDMA queue, even if the driver
 * dumps its MQD several times. The read and write pointers in an MQD are not reported, because they
 * are from the last unmap of the queue. The priority is reported if the driver writes it, that is
 * before Linux 7.2.
 *
 * Returns 0, the errors above, or -ENOENT if the process is not in the text.
 */
int debugfs_mqds(const struct debugfs_copy *text, pid_t pid, struct observe_list *out,
		 char why[static OBSERVE_WHY]);

/*
 * Adds an entry for each ring that is active in a slot of kfd/hqds, except that of the driver's own
 * queue (HIQ). OBSERVE_HQDS is the number of slots in which the ring is active. The doorbell is
 * reported, too, because it distinguishes rings of two processes that have the same address. Read
 * and write pointers are not reported: those of a slot are of one XCC only and may be cut to the
 * size of the ring. Only the memory of the process has the real ones.
 *
 * Returns 0 or the errors above.
 */
int debugfs_hqds(const struct debugfs_copy *text, struct observe_list *out,
		 char why[static OBSERVE_WHY]);

/* ---- lines and words: debugfs_words.c ---- */

/*
 * Parses lines of debugfs kfd/mqds and kfd/hqds, and reads a queue's values from the words of an
 * MQD (struct v9_mqd, v9_sdma_mqd) or from the registers of a hardware slot, in the layouts of
 * gfx9. Used by debugfs_mqds.c and debugfs_hqds.c only. Pure. Threads: any.
 */

/* ---- lines of a text: headings, and rows of 32-bit words below each ---- */

#define LINE_WORDS 8u /* maximum number of words in a row */

/* A position in a text: the current line, and the rest behind it. */
struct lines {
	const char *next, *end; /* rest of the text */
	const char *at;		/* current line, without its newline */
	size_t length;		/* length of the current line, bytes */
	size_t number;		/* number of the current line, from 1 */
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
/* Sets `field` to the address `value`. Does nothing if `value` is 0, which means that there is no
 * address. */
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
 * `engine`. words: the MQD of the queue, or the registers of the slot of the queue. */
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

// SPDX-License-Identifier: MIT
/* Parses debugfs kfd/mqds. The text has the queues of each process, and below each queue the words
 * of its MQDs. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "cli/inspect/debugfs.h"

enum kind { NO_QUEUE, COMPUTE_QUEUE, SDMA_QUEUE, OTHER_QUEUE };

struct mqds {
	const struct debugfs_copy *text;
	struct observe_list *out;
	char *why;
	/* mine: the current lines belong to the requested process. found: the text has that
	 * process. */
	bool mine, found;
	uint32_t pasid;	 /* 0: not reported */
	int unknown;	 /* -EOPNOTSUPP: a queue has no known MQD layout; 0: no such queue so far */
	bool has_failed; /* the text has an error, see `why` */

	/* The queue whose MQDs are being read. */
	enum kind kind;
	uint32_t gpu_id;
	const struct topology_gpu *gpu; /* GPU of gpu_id; NULL: no MQD layout is known for it */
	unsigned dumps;			/* complete MQDs so far */
	size_t line;			/* line in which the current MQD begins */
	unsigned words;			/* words of the current MQD so far */
	uint32_t now[MQD_WORDS];	/* the current MQD */
	uint32_t first[MQD_WORDS];	/* the first MQD of the queue */
	bool masked;			/* a CU mask excludes at least one CU */
	uint64_t cus;			/* bits set in the CU masks */
};

static unsigned whole_dump(const struct mqds *m)
{
	return m->kind == COMPUTE_QUEUE ? MQD_WORDS : SDMA_WORDS;
}

/* Counts the CUs in the CU masks of the current MQD for its queue. The MQD of each XCC has another
 * part of the queue's mask. */
static void count_cus(struct mqds *m)
{
	static const uint8_t engines[] = {MQD_SE0, MQD_SE1,	MQD_SE2,     MQD_SE3,
					  MQD_SE4, MQD_SE4 + 1, MQD_SE4 + 2, MQD_SE4 + 3};
	unsigned n = m->gpu->gfx_target_version >= GFX_9_4_3 ? 4 : 8;

	for (unsigned i = 0; i < n; i++) {
		m->masked |= m->now[engines[i]] != ALL_CUS;
		m->cus += (unsigned)__builtin_popcount(m->now[engines[i]]);
	}
}

static int end_dump(struct mqds *m)
{
	if (!m->words)
		return 0;
	if (m->words < whole_dump(m)) {
		m->has_failed = true;
		return words_too_few("mqds", m->line, m->words, whole_dump(m), m->why);
	}
	if (!m->dumps)
		memcpy(m->first, m->now, sizeof(m->first));
	if (m->kind == COMPUTE_QUEUE)
		count_cus(m);
	m->dumps++;
	m->words = 0;
	return 0;
}

static void compute_queue(const struct mqds *m, struct observe_queue *queue)
{
	const uint32_t *mqd = m->first;

	words_compute(queue, &mqd[MQD_HQD], OBSERVE_MQD);
	words_priority(queue, &mqd[MQD_HQD], m->pasid != 0, OBSERVE_MQD);
	if (words_pair(&mqd[MQD_SAVE_BASE])) {
		words_address(queue, OBSERVE_CWSR_ADDRESS, words_pair(&mqd[MQD_SAVE_BASE]),
			      OBSERVE_MQD);
		observe_set(queue, OBSERVE_CWSR_BYTES, mqd[MQD_SAVE_BYTES], OBSERVE_MQD);
	}
	if (!m->has_failed)
		observe_set(queue, OBSERVE_CU_BITS, m->masked ? m->cus : 0, OBSERVE_MQD);
}

static void add_queue(struct mqds *m)
{
	bool compute = m->kind == COMPUTE_QUEUE;
	struct observe_queue *queue = observe_list_add(m->out);

	queue->id = OBSERVE_NO_ID;
	queue->gpu_id = m->gpu_id;
	queue->source_mask = OBSERVE_BIT(OBSERVE_MQD);
	if (m->pasid)
		observe_set(queue, OBSERVE_PASID, m->pasid, OBSERVE_MQD);
	if (compute)
		observe_set(queue, OBSERVE_TYPE, OBSERVE_COMPUTE, OBSERVE_MQD);
	if (!m->dumps)
		return;
	if (m->gpu && compute)
		compute_queue(m, queue);
	else if (m->gpu)
		words_sdma(queue, m->first, m->gpu, m->first[SDMA_ENGINE], OBSERVE_MQD);
	/* An SDMA queue has one MQD, even if there are several dumps: after a compute queue, the
	 * driver does not reset its count of XCCs, and dumps the MQD and the memory behind it once
	 * for each XCC. */
	if (!m->has_failed)
		observe_set(queue, OBSERVE_MQDS, compute ? m->dumps : 1, OBSERVE_MQD);
}

static int end_queue(struct mqds *m)
{
	int r = m->has_failed ? 0 : end_dump(m);

	if (m->kind == COMPUTE_QUEUE || m->kind == SDMA_QUEUE)
		add_queue(m);
	m->kind = NO_QUEUE;
	return r;
}

static void begin_queue(struct mqds *m, enum kind kind, uint32_t gpu_id)
{
	const struct topology_gpu *gpu = topology_find(m->text->gpus, m->text->n_gpus, gpu_id);

	m->kind = kind;
	m->gpu_id = gpu_id;
	m->gpu = words_known(gpu) ? gpu : NULL;
	m->dumps = m->words = 0;
	m->cus = 0;
	m->masked = false;
	if (kind != OTHER_QUEUE && !m->gpu && !m->unknown)
		m->unknown = words_unknown(m->text, gpu_id, "queue descriptors", m->why);
}

static int take_row(struct mqds *m, const struct lines *lines, uint32_t offset, const uint32_t *row,
		    unsigned n)
{
	int r = 0;

	if (m->kind == NO_QUEUE)
		return words_odd_line(lines, "mqds", m->why);
	if (m->kind == OTHER_QUEUE)
		return 0;
	if (!m->gpu) {
		m->dumps += offset == 0;
		return 0;
	}
	if (offset == 0) {
		r = end_dump(m);
		m->line = lines->number;
	}
	if (r)
		return r;
	if (offset != 4 * m->words || m->words + n > whole_dump(m))
		return words_odd_line(lines, "mqds", m->why);
	memcpy(&m->now[m->words], row, n * sizeof(*row));
	m->words += n;
	return 0;
}

/* Returns true for the heading of a queue that is not reported: the debugger's queue (DIQ) on old
 * kernels, and queues of a type that the driver does not know. */
static bool is_other_queue(const struct lines *lines)
{
	static const char *const others[] = {
		"  DIQ on device ",	    "  Bad user queue type ",
		"  Bad kernel queue type ", "  Queue node with bad user queue type ",
		"  Weird: Queue node ",
	};

	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		if (line_begins(lines, others[i]))
			return true;
	return false;
}

static bool begins_process(struct mqds *m, const struct lines *lines, pid_t pid)
{
	uint32_t numbers[2];
	bool hex = line_is(lines, "Process %u PASID 0x%x:", numbers);

	if (!hex && !line_is(lines, "Process %u PASID %u:", numbers))
		return false;
	m->mine = numbers[0] == (uint32_t)pid;
	m->found |= m->mine;
	/* Linux 6.14 prints the pid in place of the PASID; later kernels print the pid in decimal
	 * there. In both cases the PASID is not known. */
	m->pasid = hex && numbers[1] != numbers[0] ? numbers[1] : 0;
	return true;
}

static int take_head(struct mqds *m, const struct lines *lines, pid_t pid)
{
	uint32_t gpu_id;
	int r = end_queue(m);

	if (r || begins_process(m, lines, pid))
		return r;
	if (m->mine && line_is(lines, "  Compute queue on device %x", &gpu_id))
		begin_queue(m, COMPUTE_QUEUE, gpu_id);
	else if (m->mine && line_is(lines, "  SDMA queue on device %x", &gpu_id))
		begin_queue(m, SDMA_QUEUE, gpu_id);
	else if (m->mine && is_other_queue(lines))
		begin_queue(m, OTHER_QUEUE, 0);
	else
		return words_odd_line(lines, "mqds", m->why);
	return 0;
}

/* Parses one line. Of other processes it parses only the headings and skips the rest quickly,
 * because that can be megabytes. */
static int take_line(struct mqds *m, const struct lines *lines, pid_t pid)
{
	uint32_t offset, row[LINE_WORDS];
	unsigned n;

	if (lines->cut)
		return words_odd_line(lines, "mqds", m->why);
	if (!m->mine && lines->number > 1 && !line_begins(lines, "Process "))
		return 0;
	n = line_row(lines, &offset, row);
	return n ? take_row(m, lines, offset, row, n) : take_head(m, lines, pid);
}

int debugfs_mqds(const struct debugfs_copy *text, pid_t pid, struct observe_list *out,
		 char why[static OBSERVE_WHY])
{
	struct mqds m = {.text = text, .out = out, .why = why};
	struct lines lines = lines_of(text->at, text->bytes);
	int r = 0, last;

	while (!r && line_next(&lines))
		r = take_line(&m, &lines, pid);
	m.has_failed |= r != 0;
	last = end_queue(&m);
	if (!r)
		r = last;
	if (!r && !m.found) {
		snprintf(why, OBSERVE_WHY, "debugfs kfd/mqds has no process %d", (int)pid);
		r = -ENOENT;
	}
	return r ? r : m.unknown;
}

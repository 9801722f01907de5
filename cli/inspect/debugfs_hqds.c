// SPDX-License-Identifier: MIT
/* Parses debugfs kfd/hqds. The text has the hardware slots of each node and XCC, and below each
 * slot the values of its registers. */
#include <string.h>

#include "cli/inspect/debugfs.h"

#define REGISTERS_MAX 64u

enum kind { NO_SLOT, CP_SLOT, SDMA_SLOT, OTHER_SLOT };

/* A hardware slot (HQD) that KFD uses, as its registers describe it. */
struct hqd_slot {
	uint32_t gpu_id;
	uint32_t xcc;
	enum observe_type type; /* AQL, PM4, SDMA or XGMI; valid only if active */
	uint32_t pipe;		/* SDMA: engine */
	bool active;		/* false: the fields below are not set */
	uint32_t doorbell;	/* offset in the GPU's doorbells, bytes */
	uint64_t ring;		/* address of the ring buffer */
};

struct hqd_reader {
	const struct debugfs_copy *text;
	struct observe_list *out;
	size_t node_first; /* index in `out` of the first entry of the current node */
	char *why;
	int unknown; /* -EOPNOTSUPP: a node has no known register layout; 0: no such node so far */
	bool in_node;
	uint32_t gpu_id;
	const struct topology_gpu *gpu; /* of gpu_id; NULL: no register layout is known for it */

	/* The slot whose registers are being read. line: number of the line with its heading;
	 * words: number of registers read so far; now: their values. */
	enum kind kind;
	struct hqd_slot slot;
	size_t line;
	unsigned words;
	uint32_t now[REGISTERS_MAX];
};

static void cp_slot(struct hqd_slot *slot, const uint32_t *words)
{
	bool aql = (words[HQD_PQ_CONTROL] & SLOT_BASED_WPTR) == SLOT_BASED_AQL;

	slot->active = words[HQD_ACTIVE] & 1;
	slot->type = aql ? OBSERVE_AQL : OBSERVE_PM4;
	slot->doorbell = words[HQD_DOORBELL_CONTROL] & DOORBELL_OFFSET;
	slot->ring = words_pair(&words[HQD_PQ_BASE]) << 8;
}

static void sdma_slot(struct hqd_slot *slot, const uint32_t *words, const struct topology_gpu *gpu)
{
	slot->active = words[SDMA_RB_CNTL] & RB_ENABLE;
	slot->type = words_engine(gpu, slot->pipe);
	slot->doorbell = words[SDMA_DOORBELL_OFFSET] & DOORBELL_OFFSET;
	slot->ring = words_pair(&words[SDMA_RB_BASE]) << 8;
}

static void describe(struct observe_queue *queue, const struct hqd_slot *slot,
		     const uint32_t *words, const struct topology_gpu *gpu)
{
	const enum observe_source by = OBSERVE_HQD;

	queue->id = OBSERVE_NO_ID;
	queue->gpu_id = slot->gpu_id;
	queue->source_mask = OBSERVE_BIT(by);
	if (observe_is_compute(slot->type)) {
		words_compute(queue, words, by);
		words_priority(queue, words, false, by);
	} else {
		words_sdma(queue, words, gpu, slot->pipe, by);
	}
}

/* Returns true if the entry `queue` is the ring in `slot`. Compares the doorbell, too, because the
 * same ring address can occur in two processes. */
static bool is_ring(const struct observe_queue *queue, const struct hqd_slot *slot)
{
	return queue->gpu_id == slot->gpu_id &&
	       queue->field[OBSERVE_RING_ADDRESS].value == slot->ring &&
	       queue->field[OBSERVE_DOORBELL].value == slot->doorbell &&
	       observe_is_compute(queue->field[OBSERVE_TYPE].value) ==
		       observe_is_compute(slot->type);
}

static void count_slot(struct observe_queue *queue, const struct hqd_slot *slot)
{
	observe_set(queue, OBSERVE_HQDS, 0, OBSERVE_HQD);
	queue->field[OBSERVE_HQDS].value++;
	if (!observe_is_compute(slot->type) || slot->xcc >= 64)
		return;
	observe_set(queue, OBSERVE_HQD_XCCS, 0, OBSERVE_HQD);
	queue->field[OBSERVE_HQD_XCCS].value |= UINT64_C(1) << slot->xcc;
}

static void add_slot(struct hqd_reader *h)
{
	const struct hqd_slot *slot = &h->slot;
	struct observe_queue *queue = NULL;

	if (!slot->active)
		return;
	for (size_t i = h->node_first; !queue && i < h->out->count; i++)
		if (is_ring(&h->out->queue[i], slot))
			queue = &h->out->queue[i];
	if (!queue) {
		queue = observe_list_add(h->out);
		describe(queue, slot, h->now, h->gpu);
	}
	count_slot(queue, slot);
}

static int end_slot(struct hqd_reader *h)
{
	unsigned whole = h->kind == CP_SLOT ? HQD_WORDS : SDMA_REGISTERS;

	if (h->kind != CP_SLOT && h->kind != SDMA_SLOT)
		return 0;
	if (h->words < whole) {
		h->kind = NO_SLOT;
		return words_too_few("hqds", h->line, h->words, whole, h->why);
	}
	if (h->kind == CP_SLOT)
		cp_slot(&h->slot, h->now);
	else
		sdma_slot(&h->slot, h->now, h->gpu);
	h->kind = NO_SLOT;
	add_slot(h);
	return 0;
}

static void begin_node(struct hqd_reader *h, uint32_t gpu_id)
{
	const struct topology_gpu *gpu = topology_find(h->text->gpus, h->text->n_gpus, gpu_id);

	h->in_node = true;
	h->node_first = h->out->count;
	h->gpu_id = gpu_id;
	h->gpu = words_known(gpu) ? gpu : NULL;
}

static void begin_slot(struct hqd_reader *h, const struct lines *lines, enum kind kind,
		       uint32_t xcc, uint32_t pipe)
{
	h->kind = h->gpu ? kind : OTHER_SLOT;
	h->line = lines->number;
	h->words = 0;
	h->slot = (struct hqd_slot){.gpu_id = h->gpu_id, .xcc = xcc, .pipe = pipe};
	if (!h->gpu && !h->unknown)
		h->unknown = words_unknown(h->text, h->gpu_id, "hardware slots", h->why);
}

static int take_head(struct hqd_reader *h, const struct lines *lines)
{
	uint32_t n[4];
	int r = end_slot(h);

	if (r)
		return r;
	if (line_is(lines, "Node %u, gpu_id %x:", n)) {
		begin_node(h, n[1]);
		return 0;
	}
	if (!h->in_node)
		return words_odd_line(lines, "hqds", h->why);
	if (line_is(lines, " Inst %u,  CP Pipe %u, Queue %u", n))
		begin_slot(h, lines, CP_SLOT, n[0], n[1]);
	else if (line_is(lines, "  SDMA Engine %u, RLC %u", n))
		begin_slot(h, lines, SDMA_SLOT, 0, n[0]);
	else if (line_is(lines, "  CP Pipe %u, Queue %u", n))
		begin_slot(h, lines, CP_SLOT, 0, n[0]);
	else if (line_is(lines, "   Inst %u, HIQ on MEC %u Pipe %u Queue %u", n) ||
		 line_is(lines, "  HIQ on MEC %u Pipe %u Queue %u", n))
		h->kind = OTHER_SLOT;
	else if (!line_is(lines, " Device is stopped", n))
		return words_odd_line(lines, "hqds", h->why);
	return 0;
}

/* Appends a row of register values to those of the current slot. A row can be short, because the
 * driver begins a new row where the register numbers have a gap. The offsets of the rows are not
 * needed. Returns 0 or -EBADMSG. */
static int take_row(struct hqd_reader *h, const struct lines *lines, const uint32_t *row,
		    unsigned n)
{
	if (h->kind == NO_SLOT)
		return words_odd_line(lines, "hqds", h->why);
	if (h->kind == OTHER_SLOT)
		return 0;
	if (h->words + n > REGISTERS_MAX)
		return words_odd_line(lines, "hqds", h->why);
	memcpy(&h->now[h->words], row, n * sizeof(*row));
	h->words += n;
	return 0;
}

int debugfs_hqds(const struct debugfs_copy *text, struct observe_list *out,
		 char why[static OBSERVE_WHY])
{
	struct hqd_reader h = {.text = text, .out = out, .node_first = out->count, .why = why};
	struct lines lines = lines_of(text->at, text->bytes);
	uint32_t offset, row[LINE_WORDS];
	int r = 0;

	while (!r && line_next(&lines)) {
		unsigned n = lines.cut ? 0 : line_row(&lines, &offset, row);

		if (n)
			r = take_row(&h, &lines, row, n);
		else if (lines.cut)
			r = words_odd_line(&lines, "hqds", why);
		else
			r = take_head(&h, &lines);
	}
	if (!r)
		r = end_slot(&h);
	return r ? r : h.unknown;
}

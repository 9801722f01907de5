// SPDX-License-Identifier: MIT
/*
 * Writes the debugfs file kfd/hqds. It contains the registers of every hardware queue slot that the
 * driver owns, on every XCC, and of every SDMA queue slot.
 *
 * On hardware the registers are read when the file is read. Here the file is mapped, and every
 * number has a fixed width and position in the text. A number that changes is overwritten, so that
 * a change of a queue writes a few hundred bytes of the hundreds of kilobytes.
 *
 * As in hardware a slot keeps its registers when its queue is unmapped; only CP_HQD_ACTIVE (SDMA:
 * the enable bit of RB_CNTL) shows that it is free. The firmware chooses the slot of a queue. Here
 * a queue gets the lowest free slot; slots are numbered row by row across the pipes.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "sim/driver/debugfs_text.h"
#include "sim/driver/files.h"

#define NAME "hqds"
#define PIPES 4u
#define QUEUES_PER_PIPE 8u /* the first ones of each pipe belong to the graphics driver */
#define SLOTS_MAX (PIPES * QUEUES_PER_PIPE)
#define RLCS_MAX 256u
#define XCCS_MAX 16u
#define VMID_FIRST 3u /* on GPU types without graphics; lower VMIDs belong to the driver */
#define WORDS_A_LINE 8u
#define LABEL_BYTES 14u /* "    0000c914: " */
#define WORD_BYTES 9u
#define LINE_BYTES (LABEL_BYTES + WORDS_A_LINE * WORD_BYTES)

/* Register numbers (in dwords) of the compute and of the SDMA engines: bases of gfx9 and offsets of
 * gc_9_0/gc_9_4_3 and sdma_4_2_2/sdma_4_4_2. The bases of XCCs and SDMA engines other than the
 * first two are assumed. */
#define GC_BASE 0x2000u
#define CP_MQD_BASE_ADDR 0x1245u
#define SDMA_BASE(engine) (0x1260u + (engine)*0x600u)
#define SDMA_RLC0 0x130u
#define SDMA_RLC_STRIDE 0x58u
#define RB_ENABLE 1u
#define RB_VMID_SHIFT 24
#define SDMA_DOORBELL 18u
#define DOORBELL_EN (1u << 30)
#define DOORBELL_SDMA_EN (1u << 28)
#define HIQ_PRIV (3u << 30) /* in PQ_CONTROL: a privileged queue of the kernel */

/* Ranges of SDMA registers in a dump: first register and length. From gfx 9.4.3 on the last range
 * has two registers more. */
static const struct {
	uint8_t offset, n;
} sdma_runs[] = {{0x00, 19}, {0x28, 6}, {0x2f, 7}, {0x40, 10}};
#define SDMA_RUNS (sizeof sdma_runs / sizeof *sdma_runs)
#define SDMA_WORDS 42u

struct hqd_node {
	size_t slots[XCCS_MAX][SLOTS_MAX]; /* offsets of the registers in the text */
	size_t rlcs[RLCS_MAX];
	struct queue *by_slot[SLOTS_MAX];
	/* serial number of the queue whose registers the slot shows; 0: none */
	uint64_t serials[SLOTS_MAX];
	uint32_t vmids[SLOTS_MAX];
};

struct hqd_dump {
	char *map;
	size_t bytes;
	uint32_t first_row, rlcs_per_engine, engines;
	struct hqd_node *nodes;
};

static void put_hex(char *at, uint32_t value)
{
	static const char digits[] = "0123456789abcdef";

	for (int i = 7; i >= 0; i--, value >>= 4)
		at[i] = digits[value & 15];
}

/* Writes the text of @n registers with value 0 to @at, in lines of eight; @number is the number of
 * the first register. Returns the end of the text. */
static char *dump(char *at, uint32_t number, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		if (i % WORDS_A_LINE == 0) {
			memcpy(at, "    ", 4);
			put_hex(at + 4, (number + i) << 2);
			memcpy(at + 12, ": ", 2);
			at += LABEL_BYTES;
		}
		put_hex(at, 0);
		at += 8;
		*at++ = i % WORDS_A_LINE == WORDS_A_LINE - 1 || i == n - 1 ? '\n' : ' ';
	}
	return at;
}

static size_t word_at(size_t start, uint32_t word)
{
	return start + word / WORDS_A_LINE * LINE_BYTES + LABEL_BYTES +
	       word % WORDS_A_LINE * WORD_BYTES;
}

static void patch(struct hqd_dump *hqds, size_t start, uint32_t word, uint32_t value)
{
	put_hex(hqds->map + word_at(start, word), value);
}

/* Returns the offset in the text of word @word of an SDMA MQD. @start: offset of the slot's first
 * line. Each range of registers (sdma_runs) begins a line. */
static size_t sdma_word_at(size_t start, uint32_t gfx, uint32_t word)
{
	for (size_t run = 0;; run++) {
		uint32_t n = sdma_runs[run].n;

		if (word < n || run == SDMA_RUNS - 1) {
			/* From 9.4.3 on two more data words precede the last register. */
			if (word == n - 1 && run == SDMA_RUNS - 1 && gfx >= GFX_9_4_3)
				word += 2;
			return word_at(start, word);
		}
		word -= n;
		start += (n + WORDS_A_LINE - 1) / WORDS_A_LINE * LABEL_BYTES +
			 (size_t)n * WORD_BYTES;
	}
}

/* Writes the node's part of the text to @at and stores the offsets of its registers. Returns the
 * end of this part. */
static char *write_node(const struct sim *sim, struct hqd_dump *hqds, uint32_t index, char *at)
{
	struct hqd_node *node = &hqds->nodes[index];
	uint32_t gfx = sim->config.node.gfx_target_version;
	uint32_t rows = QUEUES_PER_PIPE - !rule_holds(sim, RULE_hqds_tell_every_slot);
	char *text = hqds->map;

	/* Node 0 of the topology is the processor, so the first GPU is node 1. */
	at += sprintf(at, "Node %u, gpu_id %x:\n", index + 1, sim->nodes[index].gpu_id);
	for (uint32_t xcc = 0; xcc < sim->config.gpu.xccs; xcc++) {
		size_t hiq;

		at += sprintf(at, "   Inst %u, HIQ on MEC 2 Pipe 0 Queue 0\n", xcc);
		hiq = (size_t)(at - text);
		at = dump(at, GC_BASE + CP_MQD_BASE_ADDR, HQD_WORDS);
		patch(hqds, hiq, MQD_ACTIVE - HQD_FIRST, 1);
		patch(hqds, hiq, MQD_PQ_CONTROL - HQD_FIRST, HIQ_PRIV);
		for (uint32_t pipe = 0; pipe < PIPES; pipe++)
			for (uint32_t row = hqds->first_row; row < rows; row++) {
				at += sprintf(at, " Inst %u,  CP Pipe %u, Queue %u\n", xcc, pipe,
					      row);
				node->slots[xcc][(row - hqds->first_row) * PIPES + pipe] =
					(size_t)(at - text);
				at = dump(at, GC_BASE + CP_MQD_BASE_ADDR, HQD_WORDS);
			}
	}
	for (uint32_t i = 0; i < hqds->engines * hqds->rlcs_per_engine; i++) {
		uint32_t engine = i / hqds->rlcs_per_engine, rlc = i % hqds->rlcs_per_engine;
		uint32_t base = SDMA_BASE(engine) + SDMA_RLC0 + rlc * SDMA_RLC_STRIDE;

		at += sprintf(at, "  SDMA Engine %u, RLC %u\n", engine, rlc);
		node->rlcs[i] = (size_t)(at - text);
		for (size_t run = 0; run < SDMA_RUNS; run++)
			at = dump(at, base + sdma_runs[run].offset,
				  sdma_runs[run].n +
					  (run == SDMA_RUNS - 1 && gfx >= GFX_9_4_3 ? 2 : 0));
	}
	return at;
}

/* Returns an upper bound of the length of the file hqds, in bytes. */
static size_t most_bytes(const struct sim *sim, const struct hqd_dump *hqds)
{
	size_t hqd = 64 + HQD_WORDS / WORDS_A_LINE * LINE_BYTES;
	size_t rlc = 64 + 9 * LINE_BYTES;

	return sim->nodes_n * (64 + sim->config.gpu.xccs * (SLOTS_MAX + 1) * hqd +
			       hqds->engines * hqds->rlcs_per_engine * rlc);
}

static uint32_t first_row(uint32_t cp_queues)
{
	uint32_t rows = cp_queues / PIPES;

	return rows && rows < QUEUES_PER_PIPE ? QUEUES_PER_PIPE - rows : 0;
}

int hqd_start(struct sim *sim)
{
	struct hqd_dump *hqds;
	size_t most;
	int fd;

	if (sim->config.debugfs_dirfd < 0)
		return 0;
	hqds = calloc(1, sizeof *hqds);
	if (!hqds)
		return -ENOMEM;
	sim->hqds = hqds;
	hqds->first_row = first_row(sim->config.node.num_cp_queues);
	hqds->rlcs_per_engine = sim->config.node.num_sdma_queues_per_engine;
	hqds->engines = sim->config.gpu.sdma_engines + sim->config.gpu.xgmi_engines;
	if (hqds->engines * hqds->rlcs_per_engine > RLCS_MAX)
		hqds->engines = RLCS_MAX / hqds->rlcs_per_engine;
	hqds->nodes = calloc(sim->nodes_n, sizeof *hqds->nodes);
	if (!hqds->nodes)
		return -ENOMEM;
	most = most_bytes(sim, hqds);
	fd = openat(sim->config.debugfs_dirfd, NAME, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0444);
	if (fd < 0 || ftruncate(fd, (off_t)most))
		return -errno;
	hqds->map = mmap(NULL, most, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (hqds->map != MAP_FAILED) {
		char *at = hqds->map;

		hqds->bytes = most;
		for (uint32_t i = 0; i < sim->nodes_n; i++)
			at = write_node(sim, hqds, i, at);
		if (ftruncate(fd, at - hqds->map))
			sim_log("the text of %s ends in null bytes", NAME);
	} else {
		hqds->map = NULL;
	}
	close(fd);
	return hqds->map ? 0 : -ENOMEM;
}

void hqd_stop(struct sim *sim)
{
	struct hqd_dump *hqds = sim->hqds;

	if (!hqds)
		return;
	if (hqds->map)
		munmap(hqds->map, hqds->bytes);
	free(hqds->nodes);
	free(hqds);
	sim->hqds = NULL;
}

/* Returns the VMID of the process on the node or, if it has none, the lowest free one. */
static uint32_t vmid_of(const struct hqd_node *node, const struct process *process)
{
	uint32_t taken = 0, vmid = VMID_FIRST;

	for (uint32_t i = 0; i < SLOTS_MAX; i++) {
		if (!node->by_slot[i])
			continue;
		if (node->by_slot[i]->process == process)
			return node->vmids[i];
		taken |= 1u << node->vmids[i];
	}
	while (taken >> vmid & 1)
		vmid++;
	return vmid < 16 ? vmid : VMID_FIRST;
}

/* Overwrites the read and write pointer of a queue on all XCCs. */
static void show_pointers(struct hqd_dump *hqds, const struct queue *queue,
			  const struct queue_image *image)
{
	const struct hqd_node *node = &hqds->nodes[queue->node];

	for (uint32_t xcc = 0; xcc < image->xccs; xcc++) {
		size_t at = node->slots[xcc][queue->position.hqd];

		patch(hqds, at, MQD_PQ_RPTR - HQD_FIRST, (uint32_t)image->rptr_dw);
		patch(hqds, at, MQD_PQ_WPTR - HQD_FIRST, (uint32_t)image->wptr_dw);
		patch(hqds, at, MQD_PQ_WPTR - HQD_FIRST + 1, (uint32_t)(image->wptr_dw >> 32));
	}
}

/* Returns the slot that still shows the queue's registers, if that slot is free. Otherwise returns
 * the lowest free slot that the driver owns and the text shows, or SLOTS_MAX if there is none. */
static uint32_t choose_slot(const struct hqd_dump *hqds, const struct hqd_node *node,
			    const struct queue *queue)
{
	for (uint32_t slot = 0; slot < SLOTS_MAX; slot++)
		if (!node->by_slot[slot] && node->serials[slot] == queue->position.serial)
			return slot;
	for (uint32_t slot = 0; slot < SLOTS_MAX; slot++)
		if (!node->by_slot[slot] && slot / PIPES + hqds->first_row < QUEUES_PER_PIPE &&
		    hqds->nodes->slots[0][slot])
			return slot;
	return SLOTS_MAX;
}

static void show_registers(struct sim *sim, const struct queue *queue, uint32_t slot)
{
	struct hqd_dump *hqds = sim->hqds;
	struct hqd_node *node = &hqds->nodes[queue->node];
	struct queue_image image;
	uint32_t words[MQD_WORDS];

	image_of(queue, &image);
	for (uint32_t xcc = 0; xcc < image.xccs; xcc++) {
		image_mqd(&image, xcc, words);
		words[MQD_VMID] = node->vmids[slot];
		words[MQD_DOORBELL_CONTROL] |= DOORBELL_EN;
		for (uint32_t i = 0; i < HQD_WORDS; i++)
			if (HQD_FIRST + i != MQD_ACTIVE)
				patch(hqds, node->slots[xcc][slot], i, words[HQD_FIRST + i]);
	}
}

static void show_active(struct sim *sim, uint32_t node, uint32_t slot, bool active)
{
	for (uint32_t xcc = 0; xcc < sim->config.gpu.xccs; xcc++) {
		bool is_reported =
			active && (!xcc || rule_holds(sim, RULE_hqds_active_on_every_xcc));

		patch(sim->hqds, sim->hqds->nodes[node].slots[xcc][slot], MQD_ACTIVE - HQD_FIRST,
		      is_reported);
	}
}

static void show_compute(struct sim *sim, struct queue *queue)
{
	struct hqd_node *node = &sim->hqds->nodes[queue->node];
	uint32_t slot = queue->position.hqd >= 0 ? (uint32_t)queue->position.hqd
						 : choose_slot(sim->hqds, node, queue),
		 vmid;

	if (slot == SLOTS_MAX)
		return; /* more queues than slots: the firmware runs them one after another */
	vmid = vmid_of(node, queue->process);
	if (node->serials[slot] != queue->position.serial || node->vmids[slot] != vmid ||
	    queue->position.stale) {
		node->vmids[slot] = vmid;
		show_registers(sim, queue, slot);
	}
	node->serials[slot] = queue->position.serial;
	node->by_slot[slot] = queue;
	queue->position.stale = false;
	queue->position.hqd = (int)slot;
	show_active(sim, queue->node, slot, true);
}

static void hide_compute(struct sim *sim, struct queue *queue)
{
	uint32_t slot = (uint32_t)queue->position.hqd;

	sim->hqds->nodes[queue->node].by_slot[slot] = NULL;
	queue->position.hqd = -1;
	if (rule_holds(sim, RULE_hqds_suspended_queue_is_inactive))
		show_active(sim, queue->node, slot, false);
}

static void show_sdma(struct sim *sim, struct queue *queue, bool mapped)
{
	struct hqd_dump *hqds = sim->hqds;
	uint32_t words[SDMA_MQD_WORDS];
	uint32_t i = queue->position.engine * hqds->rlcs_per_engine + queue->position.rlc;
	struct queue_image image;
	size_t at;

	if (i >= RLCS_MAX || i >= hqds->engines * hqds->rlcs_per_engine)
		return;
	image_of(queue, &image);
	image_sdma_mqd(&image, words);
	if (mapped) {
		words[0] |= RB_ENABLE | vmid_of(&hqds->nodes[queue->node], queue->process)
						<< RB_VMID_SHIFT;
		words[SDMA_DOORBELL] = DOORBELL_SDMA_EN;
	}
	at = hqds->nodes[queue->node].rlcs[i];
	for (uint32_t word = 0; word < SDMA_WORDS; word++)
		put_hex(hqds->map + sdma_word_at(at, image.gfx, word), words[word]);
	queue->position.hqd = mapped ? (int)i : -1;
	queue->position.stale = false;
}

static void show(struct sim *sim, struct queue *queue, bool mapped)
{
	if (mapped == (queue->position.hqd >= 0) && !(mapped && queue->position.stale))
		return;
	if (!is_compute_type(queue->type))
		show_sdma(sim, queue, mapped);
	else if (mapped)
		show_compute(sim, queue);
	else
		hide_compute(sim, queue);
}

void hqd_update(struct process *process, uint32_t node)
{
	struct sim *sim = process->sim;
	struct queue *queue;

	if (!sim->hqds)
		return;
	/* Begin with the unmapped queues, so that their slots are free for those that are
	 * mapped. */
	TAILQ_FOREACH(queue, &process->queues, link)
	if (queue->node == node && !queue->map_wanted)
		show(sim, queue, false);
	TAILQ_FOREACH(queue, &process->queues, link)
	if (queue->node == node && queue->map_wanted)
		show(sim, queue, true);
}

void hqd_gone(struct queue *queue)
{
	struct sim *sim = queue->process->sim;

	if (sim->hqds)
		show(sim, queue, false);
}

void hqd_set_position(struct queue *queue)
{
	queue->position.hqd = -1;
	queue->position.serial = ++queue->process->sim->next_serial;
}

void hqd_pointers(struct sim *sim)
{
	struct queue_image image;

	for (uint32_t i = 0; sim->hqds && i < sim->nodes_n; i++)
		for (uint32_t slot = 0; slot < SLOTS_MAX; slot++) {
			struct queue *queue = sim->hqds->nodes[i].by_slot[slot];

			if (!queue || (queue->position.dump_rptr == queue->retired &&
				       queue->position.dump_wptr == queue->limit_seen))
				continue;
			queue->position.dump_rptr = queue->retired;
			queue->position.dump_wptr = queue->limit_seen;
			image_of(queue, &image);
			show_pointers(sim->hqds, queue, &image);
		}
}

// SPDX-License-Identifier: MIT
/* Formats the texts of the debugfs files like the driver's kfd_debugfs_mqds_by_process,
 * pqm_debugfs_mqds, pm_debugfs_runlist and kfd_debugfs_kfd_mem_limits. */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/array.h"
#include "sim/driver/debugfs_text.h"

/* ---- MQDs ----
 * Fills in memory queue descriptors (MQDs), as the driver's kfd_mqd_manager_v9.c does. */

#define HEADER_COMPUTE 0xc0310800u
#define GFX_9_4_2 90010u /* gfx90a; the number in the topology */
#define ALL_CUS 0xffffffffu
#define EOP_CONTROL_MAX 10u
#define AQL_PACKET_DW 16u
#define SDMA_DUMMY 0xfu
#define DOORBELL_DW 2u /* length of a 64-bit doorbell */
/* The driver keeps the MQDs in its own GPU memory. These addresses of it are invented. */
#define GART_COMPUTE 0x7fff00000000ull
#define GART_SDMA 0x7ffe00000000ull
#define GART_SHIFT 24 /* room for the MQDs of one queue */

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
	if (!is_compute_type(queue->type)) {
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

#define WORDS_A_ROW 8u
#define ROW_BYTES 100u /* upper bound */
#define LINE_BYTES 128u
#define VMIDS 13u /* of a GPU type without graphics */
#define MAP_PROCESS 0xa1u
#define MAP_QUEUES 0xa2u
#define RUN_LIST 0xa5u
#define PROCESS_WORDS_OLD 16u
#define QUANTUM_MS 10u
/* Base addresses of the LDS and scratch apertures: upper 16 bits of each. */
#define SH_MEM_BASES 0x00010002u
#define SH_MEM_UNALIGNED (3u << 3)
#define RUNLIST_PROCESS_WORDS 21u /* longer one of the two formats */
#define RUNLIST_QUEUE_WORDS 7u
#define RUNLIST_CHAIN_WORDS 4u

static bool room(struct debugfs_text *text, size_t bytes)
{
	if (!ARRAY_GROW(text->at, text->cap, text->n + bytes))
		return true;
	text->failed = true;
	return false;
}

static void __attribute__((format(printf, 2, 3)))
line(struct debugfs_text *text, const char *format, ...)
{
	va_list args;

	if (!room(text, LINE_BYTES))
		return;
	va_start(args, format);
	text->n += (size_t)vsnprintf(text->at + text->n, LINE_BYTES, format, args);
	va_end(args);
}

static char *hex(char *at, uint32_t value)
{
	for (int shift = 28; shift >= 0; shift -= 4)
		*at++ = "0123456789abcdef"[value >> shift & 15];
	return at;
}

/* Appends @n words in rows of eight. Each row begins with @margin and its offset in bytes. */
static void words(struct debugfs_text *text, const char *margin, const uint32_t *from, uint32_t n)
{
	if (!room(text, (n / WORDS_A_ROW + 1) * ROW_BYTES))
		return;
	for (uint32_t i = 0; i < n; i += WORDS_A_ROW) {
		char *at = text->at + text->n;

		at = stpcpy(at, margin);
		at = hex(at, i * 4);
		*at++ = ':';
		for (uint32_t k = i; k < n && k < i + WORDS_A_ROW; k++) {
			*at++ = ' ';
			at = hex(at, from[k]);
		}
		*at++ = '\n';
		text->n = (size_t)(at - text->at);
	}
}

/* Writes wrong priorities into the MQD if --break names the driver rule about them. */
static void break_priorities(const struct sim *sim, const struct queue_image *image, uint32_t *mqd)
{
	if (!rule_holds(sim, RULE_mqds_tell_the_pipe_priority))
		mqd[MQD_PIPE_PRIORITY] = image->priority / 5;
	if (!rule_holds(sim, RULE_mqds_tell_the_queue_priority) ||
	    !rule_holds(sim, RULE_mqds_have_no_queue_priority))
		mqd[MQD_QUEUE_PRIORITY] = image->linux_7 ? image->priority : 0;
}

static void compute_mqd(struct debugfs_text *text, const struct sim *sim,
			const struct queue_image *image)
{
	uint32_t mqd[MQD_WORDS], xccs = image->xccs;

	line(text, "  Compute queue on device %x\n", image->gpu_id);
	if (!rule_holds(sim, RULE_mqds_one_for_each_xcc))
		xccs = xccs > 1 ? 1 : 2;
	for (uint32_t xcc = 0; xcc < xccs; xcc++) {
		image_mqd(image, xcc, mqd);
		break_priorities(sim, image, mqd);
		if (!rule_holds(sim, RULE_mqds_tell_the_ring))
			mqd[MQD_PQ_BASE] = mqd[MQD_PQ_BASE + 1] = 0;
		words(text, "    ", mqd, MQD_WORDS);
	}
}

/* Returns the node's SDMA queue whose MQD lies @steps MQDs behind that of @image, or NULL. */
static const struct queue_image *neighbour(const struct debugfs_view *view,
					   const struct queue_image *image, uint32_t steps)
{
	for (size_t i = 0; i < view->n_queues; i++) {
		const struct queue_image *other = &view->queues[i];

		if (!is_compute_type(other->type) && other->node == image->node &&
		    other->mqd == image->mqd + steps * SDMA_MQD_WORDS * 4)
			return other;
	}
	return NULL;
}

/* Dumps the MQD of an SDMA queue and those behind it in memory, @xccs in total: after a compute
 * queue the driver does not reset its count of XCCs. */
static void sdma_mqd(struct debugfs_text *text, const struct debugfs_view *view,
		     const struct queue_image *image, uint32_t xccs)
{
	uint32_t mqd[SDMA_MQD_WORDS];

	line(text, "  SDMA queue on device %x\n", image->gpu_id);
	for (uint32_t i = 0; i < xccs; i++) {
		const struct queue_image *at = i ? neighbour(view, image, i) : image;

		memset(mqd, 0, sizeof mqd);
		if (at)
			image_sdma_mqd(at, mqd);
		words(text, "    ", mqd, SDMA_MQD_WORDS);
	}
}

static void header(struct debugfs_text *text, const struct sim *sim,
		   const struct debugfs_process *process)
{
	/* Releases after Linux 6.12 print the leader's pid in place of the pasid. */
	if (like_linux_7(sim, RULE_mqds_name_pid_and_pasid, RULE_mqds_name_the_pid_twice))
		line(text, "Process %d PASID %d:\n", process->pid, process->pid);
	else
		line(text, "Process %d PASID 0x%x:\n", process->pid, process->pasid);
}

void text_mqds(struct debugfs_text *text, const struct sim *sim, const struct debugfs_view *view)
{
	text->n = 0;
	for (size_t p = 0; p < view->n_processes; p++) {
		const struct debugfs_process *process = &view->processes[p];
		uint32_t xccs = 1;

		header(text, sim, process);
		for (size_t i = 0; i < process->n; i++) {
			bool oldest_first = !rule_holds(sim, RULE_mqds_newest_queue_first);
			size_t at = oldest_first ? process->n - 1 - i : i;
			const struct queue_image *image = &view->queues[process->first + at];

			if (!is_compute_type(image->type)) {
				sdma_mqd(text, view, image, xccs);
				continue;
			}
			xccs = image->xccs;
			compute_mqd(text, sim, image);
		}
	}
}

/* Numbers of processes with a queue, active queues and active compute queues of one node. */
struct counts {
	uint32_t processes, active, active_compute;
};

static uint32_t queues_on(const struct debugfs_view *view, const struct debugfs_process *process,
			  uint32_t node)
{
	uint32_t n = 0;

	for (size_t i = 0; i < process->n; i++)
		n += view->queues[process->first + i].node == node;
	return n;
}

static struct counts count(const struct debugfs_view *view, uint32_t node)
{
	struct counts counts = {0};

	for (size_t p = 0; p < view->n_processes; p++)
		counts.processes += queues_on(view, &view->processes[p], node) > 0;
	for (size_t i = 0; i < view->n_queues; i++) {
		const struct queue_image *image = &view->queues[i];

		counts.active += image->node == node && image->active;
		counts.active_compute +=
			image->node == node && image->active && is_compute_type(image->type);
	}
	return counts;
}

/* ---- packets for the scheduling firmware, as in the driver's kfd_packet_manager_v9.c ----
 * Each function writes one packet and returns its length in words. */

static uint32_t packet_header(uint32_t opcode, uint32_t n)
{
	return 3u << 30 | (n - 2) << 16 | opcode << 8;
}

static uint32_t runlist_map_process(uint32_t *at, const struct debugfs_process *process,
				    uint32_t n_queues, uint32_t gfx)
{
	/* From gfx90a on the packet contains the debug settings of the process. */
	bool per_vmid = gfx >= GFX_9_4_2;
	uint32_t n = per_vmid ? RUNLIST_PROCESS_WORDS : PROCESS_WORDS_OLD;

	memset(at, 0, n * sizeof *at);
	at[0] = packet_header(MAP_PROCESS, n);
	at[1] = QUANTUM_MS << 25 | (process->pasid & 0xffff);
	if (per_vmid && process->debugged)
		at[1] |= 1u << 22;
	at[4] = SH_MEM_BASES;
	at[5] = SH_MEM_UNALIGNED;
	at[13] = n_queues << 22 | 1u << 7; /* SDMA is allowed */
	return n;
}

static uint32_t runlist_map_queue(uint32_t *at, const struct queue_image *image)
{
	uint32_t select = 1u << 29 | 1u << 4; /* one queue, in a slot that the firmware chooses */

	memset(at, 0, RUNLIST_QUEUE_WORDS * sizeof *at);
	if (!is_compute_type(image->type) && image->engine < 2)
		select |= (image->engine + 2) << 26;
	/* number of the engine in its group; there are two groups of eight */
	else if (!is_compute_type(image->type))
		select |= (image->engine % 8) << 26 | (image->engine < 8 ? 1u : 2u) << 2;
	at[0] = packet_header(MAP_QUEUES, RUNLIST_QUEUE_WORDS);
	at[1] = select;
	at[2] = image->doorbell_dw << 2;
	at[3] = (uint32_t)image->mqd;
	at[4] = (uint32_t)(image->mqd >> 32);
	at[5] = (uint32_t)image->wptr_address;
	at[6] = (uint32_t)(image->wptr_address >> 32);
	return RUNLIST_QUEUE_WORDS;
}

/* Writes the packet that chains an oversubscribed runlist to its own start, so that the firmware
 * begins again. @n: length of the list in words; @processes: number of its processes. */
static uint32_t runlist_chain(uint32_t *at, uint32_t n, uint32_t processes)
{
	at[0] = packet_header(RUN_LIST, RUNLIST_CHAIN_WORDS);
	at[1] = at[2] = 0;
	at[3] = (n & 0xfffff) | 1u << 20 | 1u << 22 | 1u << 23 | (processes & 0xf) << 24;
	return RUNLIST_CHAIN_WORDS;
}

/* Appends the node's runlist: newest process first, and newest queue of each process first. */
static void runlist(struct debugfs_text *text, const struct sim *sim,
		    const struct debugfs_view *view, uint32_t node, const struct counts *counts)
{
	bool over = counts->processes > VMIDS ||
		    counts->active_compute > sim->config.node.num_cp_queues;
	bool chained = over != !rule_holds(sim, RULE_oversubscribed_runlist_is_chained);
	uint32_t gfx = sim->config.node.gfx_target_version, n = 0;
	uint32_t *list = malloc(4 * (counts->processes * RUNLIST_PROCESS_WORDS +
				     view->n_queues * RUNLIST_QUEUE_WORDS + RUNLIST_CHAIN_WORDS));

	if (!list) {
		text->failed = true;
		return;
	}
	for (size_t p = view->n_processes; p-- > 0;) {
		const struct debugfs_process *process = &view->processes[p];
		uint32_t n_queues = queues_on(view, process, node);

		if (!n_queues)
			continue;
		n += runlist_map_process(list + n, process, n_queues, gfx);
		for (size_t i = 0; i < process->n; i++) {
			const struct queue_image *image = &view->queues[process->first + i];

			if (image->node == node &&
			    (image->active || !rule_holds(sim, RULE_rls_maps_active_queues)))
				n += runlist_map_queue(list + n, image);
		}
	}
	if (chained)
		n += runlist_chain(list + n, n,
				   counts->processes < VMIDS ? counts->processes : VMIDS);
	words(text, "  ", list, n);
	free(list);
}

void text_rls(struct debugfs_text *text, const struct sim *sim, const struct debugfs_view *view)
{
	text->n = 0;
	for (uint32_t i = 0; i < sim->nodes_n; i++) {
		struct counts counts = count(view, i);

		line(text, "Node %u, gpu_id %x:\n", i + 1, sim->nodes[i].gpu_id);
		if (counts.active)
			runlist(text, sim, view, i, &counts);
		else if (rule_holds(sim, RULE_rls_says_when_there_is_none))
			line(text, "  No active runlist\n");
	}
}

void text_mem_limit(struct debugfs_text *text, const struct sim *sim,
		    const struct debugfs_view *view)
{
	unsigned long long used = view->gtt_used >> 20, most = sim->config.node.gtt_bytes >> 20;

	text->n = 0;
	if (!rule_holds(sim, RULE_mem_limit_counts_system_memory))
		used = 0;
	line(text, "System mem used %lluM out of %lluM\n", used, most);
	line(text, "TTM mem used %lluM out of %lluM\n", used, most);
}

static int write_all(const struct debugfs_text *text, int fd)
{
	for (size_t done = 0; done < text->n;) {
		ssize_t n = write(fd, text->at + done, text->n - done);

		if (n <= 0)
			return n ? -errno : -EIO;
		done += (size_t)n;
	}
	return 0;
}

void text_write(struct debugfs_text *text, int dir, const char *name, unsigned mode)
{
	int fd = -1, r = text->failed ? -ENOMEM : 0;
	char next[32];

	text->failed = false;
	snprintf(next, sizeof next, ".%s.next", name);
	if (!r) {
		fd = openat(dir, next, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, mode);
		r = fd < 0 ? -errno : write_all(text, fd);
	}
	if (fd >= 0)
		close(fd);
	if (!r && renameat(dir, next, dir, name))
		r = -errno;
	if (r && !text->complained)
		sim_log("cannot write %s in debugfs (%s): the file shows an earlier state", name,
			strerror(-r));
	text->complained |= r != 0;
}

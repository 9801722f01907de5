// SPDX-License-Identifier: MIT
/* Implements CREATE_QUEUE. Queue id, SDMA queue slot and doorbell are the lowest free ones. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "common/clock.h"
#include "sim/driver/files.h"
#include "sim/driver/memory.h"
#include "sim/driver/runlist_update.h"

/* ---- checks of the arguments of CREATE_QUEUE and UPDATE_QUEUE (queue.h) ---- */

#define ENOTSUPP_KERNEL 524 /* errno of the kernel without a name in user space */
#define RING_BYTES_MIN 1024u
#define EOP_BYTES 4096u /* gfx8 and later */
#define USER_LIMIT (1ull << 47)
#define DEBUG_BYTES_A_WAVE 32u
#define WAVES_A_CU 40u /* gfx9 */
#define WAVES_AN_ARRAY 512u

static bool user_pointer(uint64_t address)
{
	return address < USER_LIMIT;
}

bool queue_check_buffer(const struct process *process, uint32_t node, uint64_t address,
			uint64_t size)
{
	const struct mapping *bo = memory_find(process, node, address);

	if (!bo || bo->va / PAGE_BYTES != address / PAGE_BYTES)
		return false;
	return size < PAGE_BYTES || page_up(bo->size) / PAGE_BYTES == size / PAGE_BYTES;
}

int queue_check_numbers(const struct sim *sim, uint32_t percent, uint32_t priority, uint64_t ring,
			uint32_t *ring_bytes)
{
	if ((percent & 0xff) > KFD_MAX_QUEUE_PERCENTAGE &&
	    rule_holds(sim, RULE_percent_over_100_is_einval))
		return -EINVAL;
	if (percent > KFD_MAX_QUEUE_PERCENTAGE &&
	    !rule_holds(sim, RULE_bits_above_the_percent_are_no_percent))
		return -EINVAL;
	if (priority > KFD_MAX_QUEUE_PRIORITY && rule_holds(sim, RULE_priority_over_15_is_einval))
		return -EINVAL;
	if (!user_pointer(ring))
		return rule_errno(sim, RULE_ring_outside_user_space_is_efault, -EFAULT, -EINVAL);
	if (*ring_bytes & (*ring_bytes - 1) && rule_holds(sim, RULE_ring_size_is_a_power_of_two))
		return -EINVAL;
	if (*ring_bytes < RING_BYTES_MIN && rule_holds(sim, RULE_short_ring_counts_as_1024))
		*ring_bytes = RING_BYTES_MIN;
	return 0;
}

static int check_pointers(const struct call *call, const struct kfdabi_create_queue *a)
{
	if ((!user_pointer(a->read_pointer_address) || !user_pointer(a->write_pointer_address)) &&
	    rule_holds(call->sim, RULE_pointers_outside_user_space_are_efault))
		return -EFAULT;
	if ((!user_pointer(a->eop_buffer_address) || !user_pointer(a->ctx_save_restore_address)) &&
	    rule_holds(call->sim, RULE_areas_outside_user_space_are_efault))
		return -EFAULT;
	return 0;
}

/* Returns the size of a queue's whole save area as the driver computes it: for each XCC the size
 * that the caller has passed, and space for the debugger (kfd_queue.c). */
static uint64_t save_mapping(const struct call *call, const struct kfdabi_create_queue *a)
{
	const struct sim_config *config = &call->sim->config;
	uint32_t xccs = config->gpu.xccs, waves = config->gpu.cus / xccs * WAVES_A_CU,
		 most = config->node.array_count / xccs / config->node.simd_arrays_per_engine *
			WAVES_AN_ARRAY;
	uint64_t each;

	if (waves > most)
		waves = most;
	each = a->ctx_save_restore_size + ((uint64_t)waves * DEBUG_BYTES_A_WAVE + 63) / 64 * 64;
	return page_up(each * xccs);
}

/* Checks the end-of-pipe buffer and the save area of a compute queue. Returns 0 or -EINVAL. */
static int check_areas(const struct call *call, uint32_t node, const struct kfdabi_create_queue *a)
{
	const struct profile *chip = &call->sim->config.node;
	const struct process *process = call->process;

	if (a->eop_buffer_address && rule_holds(call->sim, RULE_end_of_pipe_buffer_is_checked) &&
	    (a->eop_buffer_size < EOP_BYTES ||
	     !queue_check_buffer(process, node, a->eop_buffer_address, a->eop_buffer_size)))
		return -EINVAL;
	if (a->ctl_stack_size != chip->ctl_stack_size &&
	    rule_holds(call->sim, RULE_control_stack_size_is_the_nodes))
		return -EINVAL;
	if (a->ctx_save_restore_size < chip->cwsr_size &&
	    rule_holds(call->sim, RULE_save_size_is_at_least_the_nodes))
		return -EINVAL;
	/* Newer runtimes have the save area in their own memory, shared by SVM attributes. */
	if (!queue_check_buffer(process, node, a->ctx_save_restore_address,
				save_mapping(call, a)) &&
	    !svm_covers(process, node, a->ctx_save_restore_address, save_mapping(call, a)) &&
	    rule_holds(call->sim, RULE_save_area_is_one_mapping))
		return -EINVAL;
	return 0;
}

static int check_buffers(const struct call *call, uint32_t node,
			 const struct kfdabi_create_queue *a)
{
	const struct process *process = call->process;

	if (rule_holds(call->sim, RULE_pointers_are_one_mapped_page) &&
	    (!queue_check_buffer(process, node, a->write_pointer_address, PAGE_BYTES) ||
	     !queue_check_buffer(process, node, a->read_pointer_address, PAGE_BYTES)))
		return -EINVAL;
	if (rule_holds(call->sim, RULE_ring_is_exactly_mapped) &&
	    !queue_check_buffer(process, node, a->ring_base_address, a->ring_size))
		return -EINVAL;
	return is_compute_type(a->queue_type) ? check_areas(call, node, a) : 0;
}

/* Makes the checks that do not depend on a GPU. Returns 0 or a negative errno. */
static int check_alone(const struct call *call, struct kfdabi_create_queue *a)
{
	int r = queue_check_numbers(call->sim, a->queue_percentage, a->queue_priority,
				    a->ring_base_address, &a->ring_size);

	if (!r)
		r = check_pointers(call, a);
	if (!r && a->queue_type > KFDABI_QUEUE_TYPE_SDMA_BY_ENG_ID)
		r = rule_errno(call->sim, RULE_unknown_queue_type_is_524, -ENOTSUPP_KERNEL,
			       -EINVAL);
	return r;
}

/* Makes all checks of CREATE_QUEUE except its limits. Returns the index of the node, or a negative
 * errno. */
static int queue_check_create(const struct call *call, struct kfdabi_create_queue *a)
{
	const struct gpu_config *gpu = &call->sim->config.gpu;
	int node = node_index(call->sim, a->gpu_id), r = 0;

	if (rule_holds(call->sim, RULE_checks_of_create_are_in_order))
		r = check_alone(call, a);
	if (r)
		return r;
	if (node < 0)
		return rule_errno(call->sim, RULE_unknown_gpu_is_einval, -EINVAL, -ENODEV);
	if (!call->process->vm[node].file)
		return rule_errno(call->sim, RULE_queue_without_a_vm_is_esrch, -ESRCH, -EINVAL);
	if (a->queue_type == KFDABI_QUEUE_TYPE_SDMA_BY_ENG_ID &&
	    a->sdma_engine_id >= gpu->sdma_engines + gpu->xgmi_engines)
		return rule_errno(call->sim, RULE_engine_beyond_the_last_is_einval, -EINVAL,
				  -ENODEV);
	r = check_buffers(call, (uint32_t)node, a);
	if (!r && !rule_holds(call->sim, RULE_checks_of_create_are_in_order))
		r = check_alone(call, a);
	return r ? r : node;
}

#define QUEUES_PER_DEVICE 4096u

/* Doorbells of a process and node that are not for compute queues (SDMA, VCN, interrupts); the same
 * range repeats half a page further on (amdgpu_doorbell.h). */
#define NON_CP_FIRST 0x100u
#define NON_CP_LAST 0x1e7u
#define MIRROR (DOORBELLS_PER_PAGE / 2)
#define SDMA_DOORBELLS_PER_ENGINE 10u
#define SDMA_DOORBELL_BLOCK 4u /* 32 bytes */

/* Returns how many queues a process can have on a node. The hardware scheduler limits it to 127,
 * but 9.4.3 and its successors do not use that scheduler. */
static unsigned queues_per_process(const struct sim *sim)
{
	return sim->config.node.gfx_target_version >= 90402 &&
			       sim->config.node.gfx_target_version < 100000
		       ? QUEUES_PER_PROCESS_NODE
		       : 127;
}

/* Checks the limits of queues. Returns 0; -ENOSPC: the process has too many queues on the node;
 * -EPERM: the node has too many queues. */
static int check_room(const struct sim *sim, const struct process *process, uint32_t node)
{
	const struct process *other;
	const struct queue *queue;
	unsigned here = 0, all = 0;

	TAILQ_FOREACH(other, &sim->processes, link)
	TAILQ_FOREACH(queue, &other->queues, link)
	{
		if (queue->node != node)
			continue;
		here += other == process;
		all++;
	}
	if (here >= queues_per_process(sim) &&
	    rule_holds(sim, RULE_queues_of_a_process_are_limited))
		return -ENOSPC;
	return all >= QUEUES_PER_DEVICE ? -EPERM : 0;
}

static int take_id(struct process *process, uint32_t *id)
{
	const struct sim *sim = process->sim;
	uint32_t first = !rule_holds(sim, RULE_ids_are_counted_from_0);

	for (uint32_t i = first; i < QUEUE_IDS_MAX; i++) {
		if (process->queue_ids[i / 64] >> (i % 64) & 1)
			continue;
		process->queue_ids[i / 64] |= 1ull << (i % 64);
		*id = i;
		return 0;
	}
	return -ENOMEM;
}

static bool position_taken(const struct queue *queue)
{
	const struct process *other;
	const struct queue *each;

	TAILQ_FOREACH(other, &queue->process->sim->processes, link)
	TAILQ_FOREACH(each, &other->queues, link)
	if (each != queue && each->node == queue->node && !is_compute_type(each->type) &&
	    each->position.engine == queue->position.engine &&
	    each->position.rlc == queue->position.rlc)
		return true;
	return false;
}

/* Assigns an engine and a hardware queue in it (rlc) to an SDMA queue: the first free one, going
 * over the engines of its kind in turn. If the queue requests @wanted_engine, only this engine is
 * searched. Returns 0 or -ENOMEM. */
static int take_position(struct queue *queue, uint32_t wanted_engine)
{
	const struct sim *sim = queue->process->sim;
	const struct gpu_config *gpu = &sim->config.gpu;
	bool xgmi = queue->type == KFD_IOC_QUEUE_TYPE_SDMA_XGMI;
	uint32_t engines = xgmi ? gpu->xgmi_engines : gpu->sdma_engines;
	uint32_t first = xgmi ? gpu->sdma_engines : 0;
	uint32_t positions = engines * sim->config.node.num_sdma_queues_per_engine;

	if (engines && !rule_holds(sim, RULE_sdma_queues_are_limited))
		positions = UINT32_MAX;
	for (uint32_t i = 0; i < positions; i++) {
		queue->position.engine = first + i % engines;
		queue->position.rlc = i / engines;
		if ((wanted_engine == GPU_ENGINE_ANY || wanted_engine == queue->position.engine) &&
		    !position_taken(queue))
			return 0;
	}
	return -ENOMEM;
}

/* Returns an SDMA queue's doorbell, which follows from its engine and its number in the engine. */
static uint32_t sdma_doorbell(const struct queue *queue)
{
	uint32_t base = NON_CP_FIRST + SDMA_DOORBELLS_PER_ENGINE * queue->position.engine;
	uint32_t rlc = queue->position.rlc;

	if (queue->process->sim->config.node.gfx_target_version >= 90402)
		base = (base + SDMA_DOORBELL_BLOCK - 1) / SDMA_DOORBELL_BLOCK * SDMA_DOORBELL_BLOCK;
	return (base + (rlc & 1) * MIRROR + (rlc >> 1)) % DOORBELLS_PER_PAGE;
}

/* Gives the queue a doorbell on its node. An SDMA queue gets its fixed one. A compute queue gets
 * the process's lowest free one outside the ranges of other engines. Returns 0 or -EBUSY. */
static int take_doorbell(struct queue *queue)
{
	uint64_t used[DOORBELLS_PER_PAGE / 64] = {0};
	const struct sim *sim = queue->process->sim;
	const struct queue *each;

	if (!is_compute_type(queue->type) && rule_holds(sim, RULE_sdma_doorbells_are_apart)) {
		queue->doorbell_index = sdma_doorbell(queue);
		return 0;
	}
	TAILQ_FOREACH(each, &queue->process->queues, link)
	if (each != queue && each->node == queue->node)
		used[each->doorbell_index / 64] |= 1ull << (each->doorbell_index % 64);
	for (uint32_t i = rule_holds(sim, RULE_doorbells_are_lowest_free) ? 0 : 8;
	     i < DOORBELLS_PER_PAGE; i++) {
		if (i % MIRROR >= NON_CP_FIRST && i % MIRROR <= NON_CP_LAST)
			continue;
		if (used[i / 64] >> (i % 64) & 1)
			continue;
		queue->doorbell_index = i;
		return 0;
	}
	return -EBUSY;
}

/* Records the queue under its id in the GPU model (node.by_gpu_queue). Returns 0 or -ENOMEM. */
static int node_remember(struct node *node, struct queue *queue)
{
	unsigned id = (unsigned)queue->gpu_queue;

	if (ARRAY_GROW(node->by_gpu_queue, node->n_by_gpu_queue, id + 1))
		return -ENOMEM;
	node->by_gpu_queue[id] = queue;
	return 0;
}

static struct queue_record *record_new(struct queue *queue)
{
	struct queue_record *record = calloc(1, sizeof *record);

	if (!record)
		return NULL;
	record->id = queue->id;
	record->type = queue->type;
	record->gpu_id = queue->process->sim->nodes[queue->node].gpu_id;
	record->live = queue;
	STAILQ_INSERT_TAIL(&queue->process->record->queues, record, link);
	return record;
}

static void set_properties(struct queue *queue, const struct kfdabi_create_queue *a)
{
	const struct gpu_config *gpu = &queue->process->sim->config.gpu;

	queue->type = a->queue_type;
	if (a->queue_type == KFDABI_QUEUE_TYPE_SDMA_BY_ENG_ID)
		queue->type = a->sdma_engine_id < gpu->sdma_engines ? KFD_IOC_QUEUE_TYPE_SDMA
								    : KFD_IOC_QUEUE_TYPE_SDMA_XGMI;
	queue->ring = a->ring_base_address;
	queue->ring_bytes = a->ring_size;
	queue->rptr_address = a->read_pointer_address;
	queue->wptr_address = a->write_pointer_address;
	queue->save_address = a->ctx_save_restore_address;
	queue->save_bytes = a->ctx_save_restore_size;
	queue->eop_address = a->eop_buffer_address;
	queue->eop_bytes = (uint32_t)a->eop_buffer_size;
	queue->percent = a->queue_percentage & 0xff;
	queue->target_xcc = a->queue_percentage >> 8 & 0xff;
	queue->priority = a->queue_priority;
	queue->exceptions = NEW_MASK;
	if (!rule_holds(queue->process->sim, RULE_queue_created_after_suspend_runs) &&
	    !TAILQ_EMPTY(&queue->process->queues))
		queue->suspended = TAILQ_FIRST(&queue->process->queues)->suspended;
}

static int into_the_model(struct queue *queue)
{
	struct node *node = &queue->process->sim->nodes[queue->node];
	struct gpu_queue_config config = {
		.kind = is_compute_type(queue->type)		 ? GPU_QUEUE_COMPUTE
			: queue->type == KFD_IOC_QUEUE_TYPE_SDMA ? GPU_QUEUE_SDMA
								 : GPU_QUEUE_XGMI,
		.client = queue->process->token,
		.engine = queue->position.engine,
	};
	int r = gpu_queue_add(node->gpu, &config);

	if (r < 0)
		return r;
	queue->gpu_queue = r;
	r = queue_set_priority(queue);
	return r ? r : node_remember(node, queue);
}

/* Resets the doorbell, because a value that an earlier queue left there would count as a new
 * write. */
static void reset_doorbell(struct queue *queue)
{
	struct process *process = queue->process;
	struct sim *sim = process->sim;

	queue->doorbell = &process->doorbells[queue->node][queue->doorbell_index];
	if (rule_holds(sim, RULE_a_reused_doorbell_is_silent))
		*queue->doorbell = is_aql(queue) ? ~0ull : 0;
	queue->doorbell_last = *queue->doorbell;
	queue->doorbell_seen_ns = clock_ns();
	/* Poll doorbells often, because a new queue's doorbell is usually written soon. */
	sim->last_doorbell_ns = queue->doorbell_seen_ns;
}

/* Creates a queue, also in the GPU model. It is not mapped yet. Returns 0 or a negative errno. */
static int queue_new(struct process *process, const struct kfdabi_create_queue *a, uint32_t node,
		     struct queue **out)
{
	uint32_t engine = a->queue_type == KFDABI_QUEUE_TYPE_SDMA_BY_ENG_ID ? a->sdma_engine_id
									    : GPU_ENGINE_ANY;
	struct queue *queue = calloc(1, sizeof *queue);
	int r;

	if (!queue)
		return -ENOMEM;
	queue->process = process;
	queue->node = node;
	queue->gpu_queue = -1;
	TAILQ_INIT(&queue->destroyers);
	set_properties(queue, a);
	r = take_id(process, &queue->id);
	if (r) {
		free(queue);
		return r;
	}
	TAILQ_INSERT_HEAD(&process->queues, queue, link);
	hqd_set_position(queue);
	if (!is_compute_type(queue->type))
		r = take_position(queue, engine);
	if (!r)
		r = take_doorbell(queue);
	if (!r)
		r = into_the_model(queue);
	if (!r && !(queue->record = record_new(queue)))
		r = -ENOMEM;
	if (r) {
		queue_drop(queue);
		return r;
	}
	reset_doorbell(queue);
	process->record->open_only = false;
	procfs_queue_new(queue);
	*out = queue;
	return 0;
}

/* Raises the exception QUEUE_NEW again, as the driver does after it has released the process's
 * mutex. A snapshot that waited for the mutex may have cleared QUEUE_NEW before, but it is pending
 * again then. */
static void created_released(struct runlist_update *update)
{
	struct queue *queue = queue_by_id(update->process, update->queue_id);

	if (queue && queue == update->queue && rule_holds(update->sim, RULE_new_is_set_twice))
		debug_raise(update->process, queue, NEW_MASK);
}

/* Removes the new queue again, as the driver does, if the firmware did not answer. */
static void created(struct runlist_update *update)
{
	if (!update->error)
		return;
	queue_drop(update->queue);
	update->queue = NULL;
	update->result = update->error;
}

int ioctl_create_queue(struct call *call)
{
	struct kfdabi_create_queue *a = (void *)call->data;
	struct process *process = call->process;
	struct runlist_update *update;
	struct queue *queue;
	int node = queue_check_create(call, a), r;

	if (node < 0)
		return node;
	r = check_room(call->sim, process, (uint32_t)node);
	if (r)
		return r;
	update = runlist_update_new(process, call, created);
	if (!update)
		return -ENOMEM;
	r = queue_new(process, a, (uint32_t)node, &queue);
	if (r) {
		free(update);
		return r;
	}
	a->queue_id = queue->id;
	a->doorbell_offset =
		doorbell_offset(process, (uint32_t)node) + 8ull * queue->doorbell_index;
	if (!rule_holds(call->sim, RULE_queue_of_an_evicted_process_is_off))
		process->evictions[node] = 0;
	update->queue = queue;
	update->queue_id = queue->id;
	update->released = created_released;
	update->nodes = queue_active(queue) ? 1ull << node : 0;
	runlist_update_begin(update);
	return CALL_PENDING;
}

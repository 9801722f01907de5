// SPDX-License-Identifier: MIT
/*
 * Queues: creating, changing and destroying them, with the checks and error
 * numbers of Linux 6.12.95 in their order (kfd-facts 3).
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "sim/kfd/files.h"

#define ENOTSUPP_KERNEL 524 /* no name in user space */
#define RING_BYTES_MIN 1024u
#define EOP_BYTES 4096u /* of gfx8 and later */
#define SDMA_QUEUES_PER_ENGINE 8u
#define USER_LIMIT (1ull << 47)
#define CU_MASK_BITS_MAX 1024u
#define NEW_MASK kfdabi_ec_mask(KFDABI_EC_QUEUE_NEW)

struct queue *queue_by_id(const struct process *process, uint32_t id)
{
	struct queue *queue;

	TAILQ_FOREACH(queue, &process->queues, link)
	if (queue->id == id)
		return queue;
	return NULL;
}

static bool user_pointer(uint64_t address)
{
	return address < USER_LIMIT;
}

/* Is there a buffer of exactly these pages? size 0: whatever starts there. */
static bool exact_buffer(const struct process *process, uint32_t node, uint64_t address,
			 uint64_t size)
{
	const struct mapping *bo = memory_find(process, node, address);

	if (!bo || bo->va / PAGE_BYTES != address / PAGE_BYTES)
		return false;
	return size < PAGE_BYTES || (bo->size + PAGE_BYTES - 1) / PAGE_BYTES == size / PAGE_BYTES;
}

static int check_shape(uint32_t percent, uint32_t priority, uint64_t ring, uint32_t *ring_bytes)
{
	if ((percent & 0xff) > KFD_MAX_QUEUE_PERCENTAGE || priority > KFD_MAX_QUEUE_PRIORITY)
		return -EINVAL;
	if (!user_pointer(ring))
		return -EFAULT;
	if (*ring_bytes & (*ring_bytes - 1))
		return -EINVAL;
	if (*ring_bytes && *ring_bytes < RING_BYTES_MIN)
		*ring_bytes = RING_BYTES_MIN;
	return 0;
}

static int check_create(const struct call *call, struct kfdabi_create_queue *a)
{
	const struct world_chip *chip = &call->world->config.chip;
	const struct process *process = call->process;
	int node, r;

	r = check_shape(a->queue_percentage, a->queue_priority, a->ring_base_address,
			&a->ring_size);
	if (r)
		return r;
	if (!user_pointer(a->read_pointer_address) || !user_pointer(a->write_pointer_address) ||
	    !user_pointer(a->eop_buffer_address) || !user_pointer(a->ctx_save_restore_address))
		return -EFAULT;
	if (a->queue_type > KFD_IOC_QUEUE_TYPE_SDMA_XGMI)
		return -ENOTSUPP_KERNEL;
	node = node_index(call->world, a->gpu_id);
	if (node < 0)
		return node;
	if (!process->vm[node].file)
		return -ESRCH;
	if (!exact_buffer(process, (uint32_t)node, a->write_pointer_address, PAGE_BYTES) ||
	    !exact_buffer(process, (uint32_t)node, a->read_pointer_address, PAGE_BYTES) ||
	    !exact_buffer(process, (uint32_t)node, a->ring_base_address, a->ring_size))
		return -EINVAL;
	if (is_compute_type(a->queue_type)) {
		if (a->eop_buffer_size < EOP_BYTES || a->ctl_stack_size != chip->ctl_stack_bytes ||
		    a->ctx_save_restore_size < chip->cwsr_bytes)
			return -EINVAL;
	}
	return node;
}

static int take_id(struct process *process, uint32_t *id)
{
	for (uint32_t i = 0; i < QUEUE_IDS_MAX; i++) {
		if (process->queue_ids[i / 64] >> (i % 64) & 1)
			continue;
		process->queue_ids[i / 64] |= 1ull << (i % 64);
		*id = i;
		return 0;
	}
	return -ENOMEM;
}

static int take_doorbell(const struct process *process, uint32_t node, uint32_t *index)
{
	uint64_t used[DOORBELLS_PER_PAGE / 64] = {0};
	const struct queue *queue;

	TAILQ_FOREACH(queue, &process->queues, link)
	if (queue->node == node)
		used[queue->doorbell_index / 64] |= 1ull << (queue->doorbell_index % 64);
	for (uint32_t i = 0; i < DOORBELLS_PER_PAGE; i++)
		if (!(used[i / 64] >> (i % 64) & 1)) {
			*index = i;
			return 0;
		}
	return -EBUSY;
}

static int check_room(struct world *world, const struct process *process, uint32_t node, bool sdma)
{
	unsigned here = 0, engines = world->config.gpu.sdma_engines, sdmas = 0;
	const struct process *other;
	const struct queue *queue;

	TAILQ_FOREACH(queue, &process->queues, link)
	here += queue->node == node;
	if (here >= QUEUES_PER_PROCESS_NODE)
		return -ENOSPC;
	TAILQ_FOREACH(other, &world->processes, link)
	TAILQ_FOREACH(queue, &other->queues, link)
	sdmas += queue->node == node && !is_compute_type(queue->type);
	return sdma && sdmas >= engines * SDMA_QUEUES_PER_ENGINE ? -ENOMEM : 0;
}

static int node_remember(struct node *node, struct queue *queue)
{
	unsigned id = (unsigned)queue->gpu_queue;

	if (id >= node->n_by_gpu_queue) {
		unsigned n = id + 64;
		struct queue **more = realloc(node->by_gpu_queue, n * sizeof(*more));

		if (!more)
			return -ENOMEM;
		memset(more + node->n_by_gpu_queue, 0, (n - node->n_by_gpu_queue) * sizeof(*more));
		node->by_gpu_queue = more;
		node->n_by_gpu_queue = n;
	}
	node->by_gpu_queue[id] = queue;
	return 0;
}

static struct queue_record *record_new(const struct queue *queue, struct queue *live)
{
	struct queue_record *record = calloc(1, sizeof *record);

	if (!record)
		return NULL;
	record->id = queue->id;
	record->type = queue->type;
	record->gpu_id = queue->process->world->nodes[queue->node].gpu_id;
	record->live = live;
	STAILQ_INSERT_TAIL(&queue->process->record->queues, record, link);
	return record;
}

void queue_drop(struct queue *queue)
{
	struct process *process = queue->process;
	struct node *node = &process->world->nodes[queue->node];

	if (queue->record) {
		procfs_queue_gone(queue);
		hqd_gone(queue);
		report_queue_gone(queue);
	}
	if (queue->waiting)
		process->world->n_waiting--;
	if (queue->destroyer)
		call_drop(queue->destroyer);
	if (queue->gpu_queue >= 0) {
		if ((unsigned)queue->gpu_queue < node->n_by_gpu_queue)
			node->by_gpu_queue[queue->gpu_queue] = NULL;
		gpu_queue_remove(node->gpu, (uint32_t)queue->gpu_queue);
	}
	process->queue_ids[queue->id / 64] &= ~(1ull << (queue->id % 64));
	TAILQ_REMOVE(&process->queues, queue, link);
	pm4_release(queue);
	free(queue);
}

static int queue_new(struct process *process, const struct kfdabi_create_queue *a, uint32_t index,
		     struct queue **out)
{
	struct node *node = &process->world->nodes[index];
	bool sdma = !is_compute_type(a->queue_type);
	struct queue *queue = calloc(1, sizeof *queue);
	int r = -ENOMEM;

	if (!queue)
		return -ENOMEM;
	queue->process = process;
	queue->node = index;
	queue->gpu_queue = -1;
	queue->type = a->queue_type;
	queue->ring = a->ring_base_address;
	queue->ring_bytes = a->ring_size;
	queue->rptr_address = a->read_pointer_address;
	queue->wptr_address = a->write_pointer_address;
	queue->save_address = a->ctx_save_restore_address;
	queue->save_bytes = a->ctx_save_restore_size;
	queue->eop_address = a->eop_buffer_address;
	queue->eop_bytes = (uint32_t)a->eop_buffer_size;
	queue->percent = a->queue_percentage & 0xff;
	queue->priority = a->queue_priority;
	queue->exceptions = NEW_MASK;
	if (rule_broken(process->world, RULE_queue_created_after_suspend_runs) &&
	    !TAILQ_EMPTY(&process->queues))
		queue->suspended = TAILQ_FIRST(&process->queues)->suspended;
	r = take_doorbell(process, index, &queue->doorbell_index);
	if (r) {
		free(queue);
		return r;
	}
	r = take_id(process, &queue->id);
	if (r) {
		free(queue);
		return r;
	}
	TAILQ_INSERT_HEAD(&process->queues, queue, link);
	hqd_place(queue);
	r = gpu_queue_add(node->gpu, &(struct gpu_queue_config){
					     .kind = sdma ? GPU_QUEUE_SDMA : GPU_QUEUE_COMPUTE,
					     .client = process->token,
					     .engine = sdma ? queue->place.engine : GPU_ENGINE_ANY,
				     });
	queue->gpu_queue = r;
	if (r >= 0)
		r = node_remember(node, queue);
	if (!r && !(queue->record = record_new(queue, queue)))
		r = -ENOMEM;
	if (r) {
		queue_drop(queue);
		return r;
	}
	/* A slot used before would ring at once. */
	queue->doorbell = &process->doorbells[index][queue->doorbell_index];
	*queue->doorbell = is_aql(queue) ? ~0ull : 0;
	queue->doorbell_last = *queue->doorbell;
	queue->doorbell_seen_ns = clock_ns();
	process->world->last_doorbell_ns = queue->doorbell_seen_ns; /* it will ring soon */
	process->record->open_only = false;
	procfs_queue_new(queue);
	*out = queue;
	return 0;
}

/* The driver raises "new" a second time after it has let go of the process: a
 * snapshot that was waiting for that has cleared the first in vain. */
static void created_released(struct bounce *bounce)
{
	struct kfdabi_create_queue *a = (void *)bounce->call->data;
	struct queue *queue = queue_by_id(bounce->process, a->queue_id);

	if (queue && queue == bounce->queue && !rule_broken(bounce->world, RULE_new_is_set_twice))
		debug_raise(bounce->process, queue, NEW_MASK);
}

/* No firmware, no queue: the driver takes it back. */
static void created(struct bounce *bounce)
{
	if (!bounce->error)
		return;
	queue_drop(bounce->queue);
	bounce->queue = NULL;
	bounce->result = bounce->error;
}

int ioctl_create_queue(struct call *call)
{
	struct kfdabi_create_queue *a = (void *)call->data;
	struct process *process = call->process;
	struct bounce *bounce;
	struct queue *queue;
	int node = check_create(call, a), r;

	if (node < 0)
		return node;
	r = check_room(call->world, process, (uint32_t)node, !is_compute_type(a->queue_type));
	if (r)
		return r;
	bounce = bounce_new(process, call, created);
	if (!bounce)
		return -ENOMEM;
	r = queue_new(process, a, (uint32_t)node, &queue);
	if (r) {
		free(bounce);
		return r;
	}
	a->queue_id = queue->id;
	a->doorbell_offset =
		doorbell_offset(process, (uint32_t)node) + 8ull * queue->doorbell_index;
	bounce->queue = queue;
	bounce->released = created_released;
	bounce->nodes = queue_active(queue) ? 1ull << node : 0;
	bounce_begin(bounce);
	return CALL_PENDING;
}

static void destroyed(struct bounce *bounce)
{
	uint32_t node = bounce->queue->node;

	queue_drop(bounce->queue);
	debug_queue_deleted(bounce->process, node);
	if (bounce->error)
		bounce->result = bounce->error; /* it is gone all the same */
}

int ioctl_destroy_queue(struct call *call)
{
	struct kfd_ioctl_destroy_queue_args *a = (void *)call->data;
	struct process *process = call->process;
	struct queue *queue = queue_by_id(process, a->queue_id);
	struct bounce *bounce;

	if (!queue)
		return -EINVAL;
	if (queue->destroyer && call_alive(queue->destroyer))
		return -EBUSY;
	if (queue->destroyer) {
		call_drop(queue->destroyer); /* a signal took it out */
		queue->destroyer = NULL;
	}
	queue->being_destroyed = true;
	if (process->session && queue->suspended) {
		if (call->world->config.switches.destroy_suspended_fails)
			return -EIO;
		queue->destroyer = call;
		return CALL_PENDING;
	}
	bounce = bounce_new(process, call, destroyed);
	if (!bounce)
		return -ENOMEM;
	bounce->queue = queue;
	bounce->nodes = queue_active(queue) ? 1ull << queue->node : 0;
	queue->leaving = true;
	bounce_begin(bounce);
	return CALL_PENDING;
}

void queues_wake_destroyers(struct process *process)
{
	struct queue *queue;

	TAILQ_FOREACH(queue, &process->queues, link)
	{
		struct call *call = queue->destroyer;

		if (!call || queue->suspended)
			continue;
		queue->destroyer = NULL;
		process_block(process, call); /* runs when the process is unlocked */
	}
}

static void changed(struct bounce *bounce)
{
	bounce->result = bounce->error ? -EACCES : bounce->result;
}

static int bounce_after_change(struct call *call, const struct queue *queue)
{
	struct bounce *bounce = bounce_new(call->process, call, changed);

	if (!bounce)
		return -ENOMEM;
	/* The driver takes all queues off before it sees that the process has lost some
	 * to a reset, and then leaves it at that. */
	if (call->process->reset_nodes >> queue->node & 1) {
		bounce->unmap_only = true;
		bounce->result = -EACCES;
	}
	/* Even a change that changes nothing costs one, unless the node is idle. */
	if (queue_active(queue) || nodes_active(call->world) >> queue->node & 1)
		bounce->nodes = 1ull << queue->node;
	bounce_begin(bounce);
	return CALL_PENDING;
}

int ioctl_update_queue(struct call *call)
{
	struct kfd_ioctl_update_queue_args *a = (void *)call->data;
	struct queue *queue;
	int r = check_shape(a->queue_percentage, a->queue_priority, a->ring_base_address,
			    &a->ring_size);

	if (r)
		return r;
	queue = queue_by_id(call->process, a->queue_id);
	if (!queue)
		return -EFAULT;
	if (a->ring_base_address &&
	    !exact_buffer(call->process, queue->node, a->ring_base_address, a->ring_size))
		return -EFAULT;
	if (a->ring_base_address ||
	    !rule_broken(call->world, RULE_resume_maps_only_if_ring_permits))
		queue->ring = a->ring_base_address;
	queue->ring_bytes = a->ring_size;
	queue->percent = a->queue_percentage & 0xff;
	queue->priority = a->queue_priority;
	if (rule_broken(call->world, RULE_update_of_a_suspended_queue_only_stores))
		queue->suspended = false;
	procfs_queue_resized(queue);
	return bounce_after_change(call, queue);
}

/* The mask costs its bounce; the model's pool of units does not know it. */
int ioctl_set_cu_mask(struct call *call)
{
	struct kfd_ioctl_set_cu_mask_args *a = (void *)call->data;
	uint32_t mask[CU_MASK_BITS_MAX / 32], bits = a->num_cu_mask;
	struct queue *queue;

	if (!bits || bits % 32)
		return -EINVAL;
	if (bits > CU_MASK_BITS_MAX)
		bits = CU_MASK_BITS_MAX;
	if (call_read(call, a->cu_mask_ptr, mask, bits / 8))
		return -EFAULT;
	queue = queue_by_id(call->process, a->queue_id);
	return queue ? bounce_after_change(call, queue) : -EFAULT;
}

static void torn_down(struct bounce *bounce)
{
	struct queue *queue;

	while ((queue = TAILQ_FIRST(&bounce->process->queues)))
		queue_drop(queue);
}

void queues_tear_down(struct process *process)
{
	struct bounce *bounce;
	struct queue *queue;

	if (TAILQ_EMPTY(&process->queues))
		return;
	bounce = bounce_new(process, NULL, torn_down);
	if (!bounce) {
		say("no memory to take down the queues of pid %d", process->pid);
		return;
	}
	/* Nodes with queues that are off bounce too: an earlier bounce that names
	 * them may still be under way, and they must outlast it. */
	TAILQ_FOREACH(queue, &process->queues, link)
	{
		if (queue->destroyer)
			call_drop(queue->destroyer);
		queue->destroyer = NULL;
		bounce->nodes |= 1ull << queue->node;
	}
	bounce_begin(bounce);
}

// SPDX-License-Identifier: MIT
/* Checks the arguments of CREATE_QUEUE and UPDATE_QUEUE (queue.h). */
#include <errno.h>

#include "sim/driver/memory.h"
#include "sim/driver/queue.h"

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

int queue_check_create(const struct call *call, struct kfdabi_create_queue *a)
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

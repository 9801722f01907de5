// SPDX-License-Identifier: MIT
/*
 * Dispatches the ioctls of /dev/kfd, like the driver's kfd_ioctl(). Of the command word only number
 * and size count; type and direction are ignored. If the caller's argument struct is shorter than
 * the driver's, it is padded with zeros; if it is longer, the rest is ignored. Results are copied
 * back to the caller even if the ioctl fails.
 */
#include <errno.h>
#include <linux/capability.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/clock.h"
#include "sim/driver/files.h"
#include "sim/driver/memory.h"

#define KFD_MINOR_6_12 17
#define KFD_MINOR_7_3 23
#define TILE_GB_ADDR_CONFIG 0x2a114042u

/* Flags of an ioctl. IN, OUT: arguments are copied from and to the caller. MUTEX: the ioctl waits
 * for the caller's process->mutex. */
enum { IN = 1, OUT = 2, MUTEX = 4 };

static int get_version(struct call *call)
{
	struct kfd_ioctl_get_version_args *a = (void *)call->data;

	a->major_version = rule_holds(call->sim, RULE_version_is_one_dot) ? 1 : 2;
	a->minor_version =
		call->sim->config.kernel == KFDABI_LINUX_7_3 ? KFD_MINOR_7_3 : KFD_MINOR_6_12;
	return 0;
}

/* GET_CLOCK_COUNTERS: returns the clocks of GPU, CPU and system at one instant, because the runtime
 * maps GPU time to system time through them. The system clock is boot time, as in Linux. */
static int get_clock_counters(struct call *call)
{
	struct kfd_ioctl_get_clock_counters_args *a = (void *)call->data;

	if (a->gpu_id && node_index(call->sim, a->gpu_id) < 0)
		return -EINVAL;
	a->cpu_clock_counter = call->sim->time ? clock_ns() : clock_of(CLOCK_MONOTONIC_RAW);
	a->system_clock_counter = boot_clock_ns(call->sim);
	a->gpu_clock_counter = gpu_ticks(clock_ns());
	a->system_clock_freq = 1000000000;
	return 0;
}

static int set_memory_policy(struct call *call)
{
	const struct kfd_ioctl_set_memory_policy_args *a = (void *)call->data;

	if (a->default_policy > 1 || a->alternate_policy > 1)
		return -EINVAL;
	return node_index(call->sim, a->gpu_id) < 0 ? -EINVAL : 0;
}

static int set_scratch(struct call *call)
{
	const struct kfd_ioctl_set_scratch_backing_va_args *a = (void *)call->data;

	return node_index(call->sim, a->gpu_id) < 0 ? -EINVAL : 0;
}

static int set_trap_handler(struct call *call)
{
	const struct kfd_ioctl_set_trap_handler_args *a = (void *)call->data;

	return node_index(call->sim, a->gpu_id) < 0 ? -EINVAL : 0;
}

static int get_tile_config(struct call *call)
{
	struct kfd_ioctl_get_tile_config_args *a = (void *)call->data;

	if (node_index(call->sim, a->gpu_id) < 0)
		return -EINVAL;
	a->gb_addr_config = TILE_GB_ADDR_CONFIG;
	a->num_banks = 4;
	a->num_ranks = 2;
	a->num_tile_configs = 0; /* gfx9 has none */
	a->num_macro_tile_configs = 0;
	return 0;
}

/* Refuses the debugging ioctls from before KFD 1.13 with -EPERM, as the driver does. */
static int retired(struct call *call)
{
	return rule_errno(call->sim, RULE_retired_ioctls_are_eperm, -EPERM, -ENOTTY);
}

/* Refuses a CRIU_OP, because checkpoints are not simulated. Returns the driver's errno if the
 * driver would refuse the call: no capability, unknown operation, or UNPAUSE of a process that is
 * not paused. Returns -EOPNOTSUPP for all other operations. */
static int criu(struct call *call)
{
	const struct kfd_ioctl_criu_args *a = (void *)call->data;
	const uint64_t needed = 1ull << CAP_SYS_ADMIN | 1ull << CAP_CHECKPOINT_RESTORE;

	if (!caller_capable(call, needed) && rule_holds(call->sim, RULE_criu_needs_a_capability))
		return -EACCES;
	if (a->op > KFD_CRIU_OP_RESUME)
		return rule_errno(call->sim, RULE_criu_unknown_op_is_einval, -EINVAL, -ENOTTY);
	if (a->op == KFD_CRIU_OP_UNPAUSE)
		return rule_errno(call->sim, RULE_criu_unpause_of_what_runs_is_einval, -EINVAL, 0);
	report_unknown(call->sim, KFDABI_TYPE, KFDABI_CRIU_OP);
	return -EOPNOTSUPP;
}

static const struct kfd_ioctl {
	const char *name;
	int (*run)(struct call *call); /* NULL: not simulated */
	uint16_t size;
	uint8_t flags;
} entries[KFDABI_NR_END] = {
#define ENTRY(nr, run, type, flags) [KFDABI_##nr] = {#nr, run, sizeof(type), flags}
	ENTRY(GET_VERSION, get_version, struct kfd_ioctl_get_version_args, OUT),
	ENTRY(CREATE_QUEUE, ioctl_create_queue, struct kfdabi_create_queue, IN | OUT | MUTEX),
	ENTRY(DESTROY_QUEUE, ioctl_destroy_queue, struct kfd_ioctl_destroy_queue_args,
	      IN | OUT | MUTEX),
	ENTRY(SET_MEMORY_POLICY, set_memory_policy, struct kfd_ioctl_set_memory_policy_args,
	      IN | MUTEX),
	ENTRY(GET_CLOCK_COUNTERS, get_clock_counters, struct kfd_ioctl_get_clock_counters_args,
	      IN | OUT),
	ENTRY(GET_PROCESS_APERTURES, ioctl_apertures_old,
	      struct kfd_ioctl_get_process_apertures_args, OUT),
	ENTRY(UPDATE_QUEUE, ioctl_update_queue, struct kfd_ioctl_update_queue_args, IN | MUTEX),
	ENTRY(CREATE_EVENT, ioctl_create_event, struct kfd_ioctl_create_event_args, IN | OUT),
	ENTRY(DESTROY_EVENT, ioctl_destroy_event, struct kfd_ioctl_destroy_event_args, IN),
	ENTRY(SET_EVENT, ioctl_set_event, struct kfd_ioctl_set_event_args, IN),
	ENTRY(RESET_EVENT, ioctl_reset_event, struct kfd_ioctl_reset_event_args, IN),
	ENTRY(WAIT_EVENTS, ioctl_wait_events, struct kfd_ioctl_wait_events_args, IN | OUT),
	[0x0d] = {"DBG_REGISTER", retired, sizeof(struct kfd_ioctl_dbg_register_args), IN},
	[0x0e] = {"DBG_UNREGISTER", retired, sizeof(struct kfd_ioctl_dbg_unregister_args), IN},
	[0x0f] = {"DBG_ADDRESS_WATCH", retired, sizeof(struct kfd_ioctl_dbg_address_watch_args),
		  IN},
	[0x10] = {"DBG_WAVE_CONTROL", retired, sizeof(struct kfd_ioctl_dbg_wave_control_args), IN},
	ENTRY(SET_SCRATCH_BACKING_VA, set_scratch, struct kfd_ioctl_set_scratch_backing_va_args,
	      IN | OUT | MUTEX),
	ENTRY(GET_TILE_CONFIG, get_tile_config, struct kfd_ioctl_get_tile_config_args, IN | OUT),
	ENTRY(SET_TRAP_HANDLER, set_trap_handler, struct kfd_ioctl_set_trap_handler_args,
	      IN | MUTEX),
	ENTRY(GET_PROCESS_APERTURES_NEW, ioctl_apertures,
	      struct kfd_ioctl_get_process_apertures_new_args, IN | OUT | MUTEX),
	ENTRY(ACQUIRE_VM, ioctl_acquire_vm, struct kfd_ioctl_acquire_vm_args, IN | MUTEX),
	ENTRY(ALLOC_MEMORY_OF_GPU, ioctl_alloc_memory, struct kfd_ioctl_alloc_memory_of_gpu_args,
	      IN | OUT | MUTEX),
	ENTRY(FREE_MEMORY_OF_GPU, ioctl_free_memory, struct kfd_ioctl_free_memory_of_gpu_args,
	      IN | MUTEX),
	ENTRY(MAP_MEMORY_TO_GPU, ioctl_map_memory, struct kfd_ioctl_map_memory_to_gpu_args,
	      IN | OUT | MUTEX),
	ENTRY(UNMAP_MEMORY_FROM_GPU, ioctl_unmap_memory,
	      struct kfd_ioctl_unmap_memory_from_gpu_args, IN | OUT | MUTEX),
	ENTRY(SET_CU_MASK, ioctl_set_cu_mask, struct kfd_ioctl_set_cu_mask_args, IN | MUTEX),
	ENTRY(GET_QUEUE_WAVE_STATE, ioctl_wave_state, struct kfd_ioctl_get_queue_wave_state_args,
	      IN | OUT | MUTEX),
	ENTRY(GET_DMABUF_INFO, ioctl_dmabuf_info, struct kfd_ioctl_get_dmabuf_info_args, IN | OUT),
	ENTRY(IMPORT_DMABUF, ioctl_import_dmabuf, struct kfd_ioctl_import_dmabuf_args,
	      IN | OUT | MUTEX),
	ENTRY(ALLOC_QUEUE_GWS, ioctl_alloc_queue_gws, struct kfd_ioctl_alloc_queue_gws_args,
	      IN | OUT | MUTEX),
	ENTRY(SMI_EVENTS, ioctl_smi_events, struct kfd_ioctl_smi_events_args, IN | OUT | MUTEX),
	ENTRY(SVM, ioctl_svm, struct kfd_ioctl_svm_args, IN | OUT),
	ENTRY(SET_XNACK_MODE, ioctl_set_xnack_mode, struct kfd_ioctl_set_xnack_mode_args,
	      IN | OUT | MUTEX),
	ENTRY(CRIU_OP, criu, struct kfd_ioctl_criu_args, IN | OUT),
	ENTRY(AVAILABLE_MEMORY, ioctl_available_memory, struct kfd_ioctl_get_available_memory_args,
	      IN | OUT),
	ENTRY(EXPORT_DMABUF, ioctl_export_dmabuf, struct kfdabi_export_dmabuf, IN | OUT | MUTEX),
	ENTRY(RUNTIME_ENABLE, ioctl_runtime_enable, struct kfdabi_runtime_enable, IN | OUT | MUTEX),
	/* No MUTEX: DBG_TRAP waits for the mutex of its target, not of the caller (debug.c). */
	ENTRY(DBG_TRAP, ioctl_dbg_trap, struct kfdabi_dbg_trap, IN | OUT),
	[KFDABI_CREATE_PROCESS] = {"CREATE_PROCESS", ioctl_create_process, 0, MUTEX},
#undef ENTRY
};

const char *ioctl_name(uint32_t nr)
{
	return nr < KFDABI_NR_END ? entries[nr].name : NULL;
}

void ioctl_execute(struct call *call)
{
	const struct kfd_ioctl *entry = &entries[call->nr];
	struct sim *sim = call->sim;
	const struct call *outer;
	int r;

	if (entry->flags & MUTEX && call->process->locked) {
		process_block(call->process, call);
		return;
	}
	if (call_replied_before(call))
		return;
	call->process->acting = NODE_ANY;
	if (call->nr != KFDABI_WAIT_EVENTS)
		svm_get(call->process);
	outer = sim->serving;
	sim->serving = call;
	r = entry->run(call);
	if (r != CALL_PENDING)
		call_reply(call, r);
	sim->serving = outer;
}

static bool has_number(const struct sim *sim, uint32_t nr)
{
	if (nr == KFDABI_CREATE_PROCESS && sim->config.kernel != KFDABI_LINUX_7_3)
		return !rule_holds(sim, RULE_create_process_is_enotty);
	return nr < KFDABI_NR_END && entries[nr].name;
}

/* Reports an ioctl that is not simulated. Returns -ENOTTY if the driver lacks it, else
 * -EOPNOTSUPP. */
static int refuse(struct sim *sim, uint32_t nr)
{
	report_unknown(sim, KFDABI_TYPE, nr);
	if (has_number(sim, nr))
		return -EOPNOTSUPP;
	return rule_errno(sim, RULE_unknown_ioctl_is_enotty, -ENOTTY, -EINVAL);
}

/* Returns true if the option --break makes kfdsim refuse this size or direction, which the driver
 * accepts. @own: size of the driver's argument struct. */
static bool has_bad_form(const struct sim *sim, uint32_t cmd, size_t own)
{
	return (!rule_holds(sim, RULE_short_structure_is_zero_padded) && _IOC_SIZE(cmd) < own) ||
	       (!rule_holds(sim, RULE_long_structure_is_cut) && _IOC_SIZE(cmd) > own) ||
	       (!rule_holds(sim, RULE_direction_does_not_count) && _IOC_DIR(cmd) == _IOC_NONE);
}

static struct call *call_new(struct sim *sim, struct process *process, const struct notif *notif,
			     size_t own)
{
	uint32_t user_size = _IOC_SIZE(notif->cmd);
	struct call *call = calloc(1, sizeof *call + (user_size > own ? user_size : own) + 16);

	if (!call)
		return NULL;
	call->sim = sim;
	call->id = notif->id;
	call->tid = notif->tid;
	call->fd = notif->file.fd;
	call->type = process ? KFDABI_TYPE : 'd';
	call->nr = _IOC_NR(notif->cmd);
	call->user_size = user_size;
	call->user_arg = notif->arg;
	call->process = process;
	if (process)
		process_ref(process);
	return call;
}

static int read_arguments(struct call *call, uint8_t flags)
{
	int r = flags & IN ? call_read(call, call->user_arg, call->data, call->user_size) : 0;

	call->copy_back = flags & OUT;
	if (!rule_holds(call->sim, RULE_update_is_not_copied_back) &&
	    call->nr == KFDABI_UPDATE_QUEUE)
		call->copy_back = true;
	return r && !rule_holds(call->sim, RULE_bad_pointer_is_efault) ? -EINVAL : r;
}

void ioctl_drm(struct sim *sim, uint32_t node, const struct notif *notif)
{
	struct call *call = call_new(sim, NULL, notif, 0);
	uint32_t cmd = notif->cmd;
	int r;

	if (!call) {
		notify_refuse(sim, notif->id, -ENOMEM);
		return;
	}
	call->node = node;
	if (call_replied_before(call))
		return;
	sim->serving = call;
	r = read_arguments(call, (cmd & IOC_IN ? IN : 0) | (cmd & IOC_OUT ? OUT : 0));
	if (r)
		call->copy_back = false;
	call_reply(call, r ? r : drm_ioctl(call));
	sim->serving = NULL;
}

/* Checks, in the driver's order, whether the ioctl exists, whether the process owns the fd, and
 * whether size and direction are accepted. Returns 0 or the negative errno of the refusal. */
static int check_front(struct sim *sim, struct process *process, const struct notif *notif)
{
	bool owner =
		process_owns(process, &notif->file) &&
		!(notif->tid != process->pid && !rule_holds(sim, RULE_threads_share_the_process));
	uint32_t cmd = notif->cmd, nr = _IOC_NR(cmd);

	if (!owner && !rule_holds(sim, RULE_ebadf_comes_after_enotty))
		return -EBADF;
	if (!has_number(sim, nr))
		return refuse(sim, nr);
	if (!owner)
		return rule_errno(sim, RULE_ebadf_comes_before_efault, -EBADF, -EFAULT);
	if (has_bad_form(sim, cmd, entries[nr].size))
		return -EINVAL;
	return entries[nr].run ? 0 : refuse(sim, nr);
}

void ioctl_kfd(struct sim *sim, struct process *process, const struct notif *notif)
{
	const struct kfd_ioctl *entry;
	struct call *call;
	int r;

	process = context_of(process, &notif->file);
	r = check_front(sim, process, notif);
	if (r) {
		notify_refuse(sim, notif->id, r);
		return;
	}
	entry = &entries[_IOC_NR(notif->cmd)];
	call = call_new(sim, process, notif, entry->size);
	if (!call) {
		notify_refuse(sim, notif->id, -ENOMEM);
		return;
	}
	sim->ioctls[call->nr]++;
	if (sim->n_destroyers)
		queues_forget_interrupted(sim);
	r = read_arguments(call, entry->flags);
	if (r) {
		call->copy_back = false;
		sim->serving = call;
		call_reply(call, r);
		sim->serving = NULL;
		return;
	}
	ioctl_execute(call);
}

// SPDX-License-Identifier: MIT
/*
 * DBG_TRAP's operations on waves: launch mode, launch override, address watches and flags
 * (kfd_debug.c). The simulation covers their checks, limits and results, and the runlist update
 * that each causes. Waves neither halt nor trap.
 */
#include <errno.h>

#include "sim/driver/debug.h"
#include "sim/driver/memory.h"

#define TRAPS_9_4_2                                                                                \
	(KFDABI_TRAP_MASK_FP | KFDABI_TRAP_MASK_INT_DIVIDE_BY_ZERO |                               \
	 KFDABI_TRAP_MASK_ADDRESS_WATCH | KFDABI_TRAP_MASK_MEMORY_VIOLATION)
#define TRAPS_9_4_3 (TRAPS_9_4_2 | 3u << 30) /* also traps at the start and end of a wave */

static bool per_vmid(const struct sim *sim)
{
	return kfdabi_per_vmid(sim->config.node.gfx_target_version);
}

/* Starts the runlist update that applies debug settings. Returns CALL_PENDING or -ENOMEM. */
static int refresh(struct call *call, struct process *target, uint64_t nodes)
{
	struct runlist_update *update = runlist_update_new(target, call, NULL);

	if (!update)
		return -ENOMEM;
	update->nodes = nodes;
	update->grace = debug_grace(target->sim, 0);
	runlist_update_begin(update);
	return CALL_PENDING;
}

int debug_launch_mode(struct call *call, struct process *target)
{
	const struct kfdabi_dbg_trap *a = (void *)call->data;
	uint32_t mode = a->u.launch_mode.launch_mode & 0xff; /* the driver passes it on as u8 */

	if (mode != KFDABI_LAUNCH_NORMAL && mode != KFDABI_LAUNCH_HALT &&
	    mode != KFDABI_LAUNCH_DEBUG &&
	    rule_holds(call->sim, RULE_launch_mode_unknown_is_einval))
		return -EINVAL;
	return refresh(call, target, nodes_active(call->sim));
}

/* Checks the override mode and sets *@supported to the traps that can be overridden. Returns 0 or a
 * negative errno. */
static int check_override(const struct sim *sim, uint32_t mode, uint32_t *supported)
{
	if (!per_vmid(sim)) {
		/* The trap mask applies to the waves of all processes on the GPU. Only address
		 * watches are supported, because waves of other processes ignore them. */
		*supported = KFDABI_TRAP_MASK_ADDRESS_WATCH;
		return mode == KFDABI_OVERRIDE_OR || !rule_holds(sim, RULE_launch_override_only_or)
			       ? 0
			       : -EINVAL;
	}
	*supported = sim->config.node.gfx_target_version >= GFX_9_4_3 ? TRAPS_9_4_3 : TRAPS_9_4_2;
	if (mode == KFDABI_OVERRIDE_OR || mode == KFDABI_OVERRIDE_REPLACE)
		return 0;
	return rule_errno(sim, RULE_launch_override_mode_is_eperm, -EPERM, -EINVAL);
}

int debug_launch_override(struct call *call, struct process *target)
{
	struct kfdabi_dbg_trap *a = (void *)call->data;
	uint32_t wanted = a->u.launch_override.support_mask, before = target->trap_mask;
	const struct sim *sim = call->sim;
	int r = check_override(sim, a->u.launch_override.override_mode,
			       &a->u.launch_override.support_mask);

	if (r)
		return r;
	if (wanted & ~a->u.launch_override.support_mask)
		return rule_errno(sim, RULE_launch_override_unsupported_is_eacces, -EACCES,
				  -EINVAL);
	target->trap_mask = (a->u.launch_override.enable_mask & wanted) | (before & ~wanted);
	a->u.launch_override.enable_mask =
		rule_holds(sim, RULE_launch_override_tells_previous) ? before : 0;
	return refresh(call, target, nodes_active(sim));
}

int debug_set_watch(struct call *call, struct process *target)
{
	struct kfdabi_dbg_trap *a = (void *)call->data;
	const struct sim *sim = call->sim;
	uint32_t at = (uint32_t)node_index(sim, a->u.set_watch.gpu_id);
	struct node *node = &call->sim->nodes[at];
	unsigned points = KFDABI_WATCH_POINTS, taken = node->watches;

	if (!rule_holds(sim, RULE_watch_fifth_is_enomem))
		points++;
	if (!rule_holds(sim, RULE_watch_shared_by_all))
		taken = target->watches[at];
	for (unsigned id = !rule_holds(sim, RULE_watch_ids_from_0); id < points; id++) {
		if (taken >> id & 1)
			continue;
		node->watches |= (uint8_t)(1u << id);
		target->watches[at] |= (uint8_t)(1u << id);
		a->u.set_watch.id = id;
		return refresh(call, target, nodes_active(sim) & 1ull << at);
	}
	return -ENOMEM;
}

int debug_clear_watch(struct call *call, struct process *target)
{
	const struct kfdabi_dbg_trap *a = (void *)call->data;
	uint32_t at = (uint32_t)node_index(call->sim, a->u.clear_watch.gpu_id);
	uint32_t id = a->u.clear_watch.id;

	if (id >= KFDABI_WATCH_POINTS || !(target->watches[at] >> id & 1))
		return rule_errno(call->sim, RULE_watch_clear_unset_is_einval, -EINVAL, 0);
	target->watches[at] &= (uint8_t) ~(1u << id);
	call->sim->nodes[at].watches &= (uint8_t) ~(1u << id);
	return refresh(call, target, nodes_active(call->sim) & 1ull << at);
}

unsigned debug_watches_release(struct process *target)
{
	struct sim *sim = target->sim;
	unsigned most = 0;

	if (!rule_holds(sim, RULE_disable_frees_watchpoints) && !target->dead)
		return 0;
	for (uint32_t i = 0; i < sim->nodes_n; i++) {
		unsigned n = (unsigned)__builtin_popcount(target->watches[i]);

		if (n > most)
			most = n;
		sim->nodes[i].watches &= (uint8_t)~target->watches[i];
		target->watches[i] = 0;
	}
	return most;
}

int debug_set_flags(struct call *call, struct process *target)
{
	struct kfdabi_dbg_trap *a = (void *)call->data;
	uint32_t before = target->debug_flags, wanted = a->u.set_flags.flags;
	const struct sim *sim = call->sim;
	uint32_t capability = sim->config.node.capability;

	a->u.set_flags.flags = rule_holds(sim, RULE_flags_tell_previous) ? before : wanted;
	if (wanted & KFDABI_FLAG_SINGLE_MEM_OP && !(capability & KFDABI_CAP_SINGLE_MEM_OP) &&
	    rule_holds(sim, RULE_flags_unsupported_are_eacces))
		return -EACCES;
	if (wanted & KFDABI_FLAG_SINGLE_ALU_OP && !(capability & KFDABI_CAP_SINGLE_ALU_OP) &&
	    rule_holds(sim, RULE_flags_single_alu_is_eacces))
		return -EACCES;
	target->debug_flags = wanted;
	if (!per_vmid(sim))
		return 0;
	return refresh(call, target, nodes_active(sim));
}

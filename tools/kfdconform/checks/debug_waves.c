// SPDX-License-Identifier: MIT
/* Checks of DBG_TRAP: launch mode, launch override, watchpoints and flags. */
#include <unistd.h>

#include "tools/kfdconform/checks.h"

/* Opens a debug session of the process on itself, with the runtime enabled. */
static void session(void)
{
	gpu_open(&gpu);
	CHECK_IS(runtime_enable(&gpu, KFDABI_RUNTIME_MODE_ENABLE), 0);
	session_open(gpu.kfd, getpid(), 0, STDERR_FILENO);
}

static int launch_mode(uint32_t mode)
{
	return DBG_CALL(gpu.kfd, getpid(), KFDABI_TRAP_SET_WAVE_LAUNCH_MODE,
			.u.launch_mode.launch_mode = mode);
}

static RULE_CHECK(launch_mode_unknown_is_einval, session())
{
	CHECK_IS(launch_mode(2), -EINVAL);
	CHECK_IS(launch_mode(4), -EINVAL);
	CHECK_IS(launch_mode(KFDABI_LAUNCH_DEBUG), 0);
	CHECK_IS(launch_mode(KFDABI_LAUNCH_NORMAL), 0);
}

/* Results of the last override(). */
static uint32_t enabled, supported;

static int override(uint32_t mode, uint32_t enable, uint32_t support)
{
	struct kfdabi_dbg_trap a = {.u.launch_override = {.override_mode = mode,
							  .enable_mask = enable,
							  .support_mask = support}};
	int r = dbg_call(gpu.kfd, &a, getpid(), KFDABI_TRAP_SET_WAVE_LAUNCH_OVERRIDE);

	enabled = a.u.launch_override.enable_mask;
	supported = a.u.launch_override.support_mask;
	return r;
}

static RULE_CHECK(launch_override_mode_is_eperm, session())
{
	CHECK_IS(override(2, 0, 0), -EPERM);
	CHECK_IS(override(KFDABI_OVERRIDE_REPLACE, 0, 0), 0);
}

static RULE_CHECK(launch_override_only_or, session())
{
	CHECK_IS(override(KFDABI_OVERRIDE_REPLACE, 0, 0), -EINVAL);
	CHECK_IS(override(KFDABI_OVERRIDE_OR, 0, 0), 0);
}

static RULE_CHECK(launch_override_unsupported_is_eacces, session())
{
	CHECK_IS(override(KFDABI_OVERRIDE_OR, 0, 1u << 29), -EACCES);
	CHECK(supported & KFDABI_TRAP_MASK_ADDRESS_WATCH); /* returned although the call failed */
	CHECK(!(supported & 1u << 29));
}

static RULE_CHECK(launch_override_tells_previous, session())
{
	CHECK_IS(override(KFDABI_OVERRIDE_OR, 0x10, KFDABI_TRAP_MASK_FP), 0);
	CHECK_IS(enabled, 0);
	CHECK_IS(override(KFDABI_OVERRIDE_OR, 0, KFDABI_TRAP_MASK_FP), 0);
	CHECK_IS(enabled, 0x10);
}

/* Sets a watchpoint. Returns its id, or a negative errno. */
static int set_watch(void)
{
	struct kfdabi_dbg_trap a = {.u.set_watch = {.address = (uint64_t)(uintptr_t)&gpu & ~63ull,
						    .mode = 3,
						    .mask = ~63u,
						    .gpu_id = gpu.gpu_id,
						    .id = 99}};
	int r = dbg_call(gpu.kfd, &a, getpid(), KFDABI_TRAP_SET_NODE_ADDRESS_WATCH);

	return r ? r : (int)a.u.set_watch.id;
}

static int clear_watch(uint32_t id)
{
	return DBG_CALL(gpu.kfd, getpid(), KFDABI_TRAP_CLEAR_NODE_ADDRESS_WATCH,
			.u.clear_watch = {.gpu_id = gpu.gpu_id, .id = id});
}

static RULE_CHECK(watch_ids_from_0, session())
{
	CHECK_IS(set_watch(), 0);
	CHECK_IS(set_watch(), 1);
	CHECK_IS(set_watch(), 2);
	CHECK_IS(clear_watch(1), 0);
	CHECK_IS(set_watch(), 1);
}

static RULE_CHECK(watch_fifth_is_enomem, session())
{
	for (unsigned i = 0; i < KFDABI_WATCH_POINTS; i++)
		CHECK(set_watch() >= 0);
	CHECK_IS(set_watch(), -ENOMEM);
	CHECK_IS(clear_watch(3), 0);
	CHECK_IS(set_watch(), 3);
}

/* Body of a child: sets three watchpoints and keeps them until the parent has finished. */
static void take_three(int from, int to)
{
	session();
	for (int i = 0; i < 3; i++)
		CHECK(set_watch() >= 0);
	notify(to);
	hears(from, 5000); /* until the other end is closed */
}

void check_watch_shared_by_all(void)
{
	struct child other;

	child_begin(&other, take_three);
	hear(other.from);
	session();
	CHECK_IS(set_watch(), 3);
	CHECK_IS(set_watch(), -ENOMEM);
	CHECK_IS(clear_watch(0), -EINVAL); /* another process's watchpoint */
	CHECK_IS(child_end(&other), 0);
	CHECK(WITHIN(2000, set_watch() >= 0));
	CHECK_IS(clear_watch(0), 0);
}

static RULE_CHECK(watch_clear_unset_is_einval, session())
{
	CHECK_IS(clear_watch(0), -EINVAL);
	CHECK_IS(set_watch(), 0);
	CHECK_IS(clear_watch(1), -EINVAL);
	CHECK_IS(clear_watch(0), 0);
	CHECK_IS(clear_watch(0), -EINVAL);
}

static RULE_CHECK(disable_frees_watchpoints, session())
{
	for (unsigned i = 0; i < KFDABI_WATCH_POINTS; i++)
		CHECK(set_watch() >= 0);
	CHECK_IS(trap_disable(gpu.kfd, getpid()), 0);
	CHECK_IS(trap_enable(gpu.kfd, getpid(), 0, STDERR_FILENO, NULL), 0);
	CHECK_IS(set_watch(), 0);
}

static uint32_t previous_flags;

static int set_flags(uint32_t flags)
{
	struct kfdabi_dbg_trap a = {.u.set_flags.flags = flags};
	int r = dbg_call(gpu.kfd, &a, getpid(), KFDABI_TRAP_SET_FLAGS);

	previous_flags = a.u.set_flags.flags;
	return r;
}

static RULE_CHECK(flags_tell_previous, session())
{
	CHECK_IS(set_flags(KFDABI_FLAG_SINGLE_MEM_OP), 0);
	CHECK_IS(previous_flags, 0);
	CHECK_IS(set_flags(KFDABI_FLAG_SINGLE_MEM_OP), 0);
	CHECK_IS(previous_flags, KFDABI_FLAG_SINGLE_MEM_OP);
}

static RULE_CHECK(disable_clears_flags, session())
{
	CHECK_IS(set_flags(KFDABI_FLAG_SINGLE_MEM_OP), 0);
	CHECK_IS(trap_disable(gpu.kfd, getpid()), 0);
	CHECK_IS(trap_enable(gpu.kfd, getpid(), 0, STDERR_FILENO, NULL), 0);
	CHECK_IS(set_flags(KFDABI_FLAG_SINGLE_MEM_OP), 0);
	CHECK_IS(previous_flags, 0);
}

static RULE_CHECK(flags_single_alu_is_eacces, session())
{
	if (harness_property(gpu.shape.node, "capability") & KFDABI_CAP_SINGLE_ALU_OP)
		SKIP("this GPU executes single ALU operations");
	CHECK_IS(set_flags(KFDABI_FLAG_SINGLE_ALU_OP), -EACCES);
	CHECK_IS(previous_flags, 0);
}

static RULE_CHECK(flags_unsupported_are_eacces, session())
{
	CHECK_IS(set_flags(KFDABI_FLAG_SINGLE_MEM_OP), -EACCES);
	CHECK_IS(set_flags(previous_flags), 0); /* no flags requested */
}

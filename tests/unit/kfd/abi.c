// SPDX-License-Identifier: MIT
/*
 * Proves that the project's declarations of the KFD ABI agree with the system's header, as far as
 * that header goes: the one of Debian 12 has neither RUNTIME_ENABLE nor DBG_TRAP.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "kfd/uapi.h"

#define SAME(field)                                                                                \
	assert_int_equal(offsetof(struct kfdabi_create_queue, field),                              \
			 offsetof(struct kfd_ioctl_create_queue_args, field))

static void create_queue_agrees(void **state)
{
	(void)state;
	SAME(ring_base_address);
	SAME(write_pointer_address);
	SAME(read_pointer_address);
	SAME(doorbell_offset);
	SAME(ring_size);
	SAME(gpu_id);
	SAME(queue_type);
	SAME(queue_percentage);
	SAME(queue_priority);
	SAME(queue_id);
	SAME(eop_buffer_address);
	SAME(ctx_save_restore_address);
	SAME(ctx_save_restore_size);
	SAME(ctl_stack_size);
}

static void numbers_agree(void **state)
{
	(void)state;
	assert_int_equal(_IOC_NR(AMDKFD_IOC_CREATE_QUEUE), KFDABI_CREATE_QUEUE);
	assert_int_equal(_IOC_NR(AMDKFD_IOC_UPDATE_QUEUE), KFDABI_UPDATE_QUEUE);
	assert_int_equal(_IOC_NR(AMDKFD_IOC_WAIT_EVENTS), KFDABI_WAIT_EVENTS);
	assert_int_equal(_IOC_NR(AMDKFD_IOC_ALLOC_MEMORY_OF_GPU), KFDABI_ALLOC_MEMORY_OF_GPU);
	assert_int_equal(_IOC_NR(AMDKFD_IOC_AVAILABLE_MEMORY), KFDABI_AVAILABLE_MEMORY);
	assert_int_equal(_IOC_TYPE(AMDKFD_IOC_CREATE_QUEUE), KFDABI_TYPE);
}

/* Command words of Linux 6.5 and later. */
static void command_words(void **state)
{
	(void)state;
	assert_int_equal(KFDABI_IOC_RUNTIME_ENABLE, 0xc0104b25u);
	assert_int_equal(KFDABI_IOC_DBG_TRAP, 0xc0204b26u);
}

static void newer_header_agrees(void **state)
{
	(void)state;
#ifdef AMDKFD_IOC_DBG_TRAP
	assert_int_equal(AMDKFD_IOC_DBG_TRAP, KFDABI_IOC_DBG_TRAP);
	assert_int_equal(AMDKFD_IOC_RUNTIME_ENABLE, KFDABI_IOC_RUNTIME_ENABLE);
	assert_int_equal(sizeof(struct kfd_queue_snapshot_entry),
			 sizeof(struct kfdabi_queue_snapshot));
	assert_int_equal(offsetof(struct kfd_queue_snapshot_entry, ctx_save_restore_area_size),
			 offsetof(struct kfdabi_queue_snapshot, ctx_save_restore_area_size));
	assert_int_equal(KFD_IOC_DBG_TRAP_GET_QUEUE_SNAPSHOT, KFDABI_TRAP_GET_QUEUE_SNAPSHOT);
	assert_int_equal(KFD_IOC_DBG_TRAP_SUSPEND_QUEUES, KFDABI_TRAP_SUSPEND_QUEUES);
	assert_int_equal(EC_QUEUE_NEW, KFDABI_EC_QUEUE_NEW);
	assert_int_equal(EC_PROCESS_RUNTIME, KFDABI_EC_PROCESS_RUNTIME);
	assert_int_equal(KFD_EC_MASK_DEVICE, KFDABI_EC_DEVICE_MASK);
	assert_int_equal(KFD_EC_MASK_PROCESS, KFDABI_EC_PROCESS_MASK);
	assert_int_equal(KFD_IOC_DBG_TRAP_SET_WAVE_LAUNCH_OVERRIDE,
			 KFDABI_TRAP_SET_WAVE_LAUNCH_OVERRIDE);
	assert_int_equal(KFD_IOC_DBG_TRAP_SET_FLAGS, KFDABI_TRAP_SET_FLAGS);
	assert_int_equal(KFD_IOC_DBG_TRAP_QUERY_DEBUG_EVENT, KFDABI_TRAP_QUERY_DEBUG_EVENT);
	assert_int_equal(KFD_IOC_DBG_TRAP_GET_DEVICE_SNAPSHOT, KFDABI_TRAP_GET_DEVICE_SNAPSHOT);
	assert_int_equal(EC_DEVICE_MEMORY_VIOLATION, KFDABI_EC_DEVICE_MEMORY_VIOLATION);
	assert_int_equal(EC_QUEUE_PREEMPTION_ERROR, KFDABI_EC_QUEUE_PREEMPTION_ERROR);
	assert_int_equal(offsetof(struct kfd_dbg_device_info_entry, debug_prop),
			 offsetof(struct kfdabi_device_snapshot, debug_prop));
#define SAME_ARGS(theirs, ours)                                                                    \
	assert_int_equal(sizeof(struct kfd_ioctl_dbg_trap_##theirs##_args),                        \
			 sizeof(((struct kfdabi_dbg_trap *)NULL)->u.ours))
	SAME_ARGS(enable, enable);
	SAME_ARGS(send_runtime_event, send_runtime_event);
	SAME_ARGS(set_exceptions_enabled, set_exceptions_enabled);
	SAME_ARGS(set_wave_launch_override, launch_override);
	SAME_ARGS(set_wave_launch_mode, launch_mode);
	SAME_ARGS(suspend_queues, suspend);
	SAME_ARGS(resume_queues, resume);
	SAME_ARGS(set_node_address_watch, set_watch);
	SAME_ARGS(clear_node_address_watch, clear_watch);
	SAME_ARGS(set_flags, set_flags);
	SAME_ARGS(query_debug_event, query_event);
	SAME_ARGS(query_exception_info, query_info);
	SAME_ARGS(queue_snapshot, queue_snapshot);
	SAME_ARGS(device_snapshot, device_snapshot);
	puts("compared with the system's DBG_TRAP declarations");
#else
	puts("the system's header ends before DBG_TRAP: compared what it has");
#endif
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(create_queue_agrees),
		cmocka_unit_test(numbers_agree),
		cmocka_unit_test(command_words),
		cmocka_unit_test(newer_header_agrees),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

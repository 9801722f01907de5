// SPDX-License-Identifier: MIT
#include "kfd/exception.h"

#include <stddef.h>
#include <string.h>

static const char *const names[EXCEPTION_CODES] = {
	[KFDABI_EC_QUEUE_WAVE_ABORT] = "wave_abort",
	[KFDABI_EC_QUEUE_WAVE_TRAP] = "wave_trap",
	[KFDABI_EC_QUEUE_WAVE_MATH_ERROR] = "wave_math_error",
	[KFDABI_EC_QUEUE_WAVE_ILLEGAL_INSTRUCTION] = "wave_illegal_instruction",
	[KFDABI_EC_QUEUE_WAVE_MEMORY_VIOLATION] = "wave_memory_violation",
	[KFDABI_EC_QUEUE_WAVE_APERTURE_VIOLATION] = "wave_aperture_violation",
	[KFDABI_EC_QUEUE_PACKET_DISPATCH_DIM_INVALID] = "packet_dispatch_dim_invalid",
	[KFDABI_EC_QUEUE_PACKET_DISPATCH_GROUP_SEGMENT_SIZE_INVALID] =
		"packet_dispatch_group_segment_size_invalid",
	[KFDABI_EC_QUEUE_PACKET_DISPATCH_CODE_INVALID] = "packet_dispatch_code_invalid",
	[KFDABI_EC_QUEUE_PACKET_RESERVED] = "packet_reserved",
	[KFDABI_EC_QUEUE_PACKET_UNSUPPORTED] = "packet_unsupported",
	[KFDABI_EC_QUEUE_PACKET_DISPATCH_WORK_GROUP_SIZE_INVALID] =
		"packet_dispatch_work_group_size_invalid",
	[KFDABI_EC_QUEUE_PACKET_DISPATCH_REGISTER_INVALID] = "packet_dispatch_register_invalid",
	[KFDABI_EC_QUEUE_PACKET_VENDOR_UNSUPPORTED] = "packet_vendor_unsupported",
	[KFDABI_EC_QUEUE_PREEMPTION_ERROR] = "preemption_error",
};

const char *exception_name(unsigned code)
{
	return code < EXCEPTION_CODES ? names[code] : NULL;
}

uint64_t exception_mask(const char *name)
{
	for (unsigned code = 1; code < EXCEPTION_CODES; code++)
		if (names[code] && strcmp(names[code], name) == 0)
			return kfdabi_ec_mask(code);
	return 0;
}

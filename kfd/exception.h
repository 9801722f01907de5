/* SPDX-License-Identifier: MIT */
/*
 * Names of the exceptions of a queue (kfd/uapi.h, enum kfdabi_exception), for tables and JSON.
 *
 * Pure; nothing is allocated. Threads: any.
 */
#ifndef KFDSHIM_KFD_EXCEPTION_H
#define KFDSHIM_KFD_EXCEPTION_H

#include <jansson.h>

#include "kfd/uapi.h"

/* Mask of all exceptions of a queue that report a fault. KFDABI_EC_QUEUE_NEW is no fault: it means
 * that no debugger has taken a snapshot of the queue yet. */
#define EXCEPTION_FAULTS (KFDABI_EC_QUEUE_MASK & ~(UINT64_C(1) << (KFDABI_EC_QUEUE_NEW - 1)))
#define EXCEPTION_CODES 32u /* the codes of a queue are 1 to 31 */

/* Returns the name of a code in EXCEPTION_FAULTS: "wave_trap", "packet_unsupported", ...; NULL for
 * any other code. */
const char *exception_name(unsigned code);
/* Returns the mask with the bit of the exception of that name; 0: there is none. */
uint64_t exception_mask(const char *name);
/* Returns an array with the names of the exceptions in the mask, owned by the caller. NULL: no
 * memory. */
static inline json_t *exception_json(uint64_t mask)
{
	json_t *list = json_array();

	for (unsigned code = 1; list && code < EXCEPTION_CODES; code++)
		if (mask & kfdabi_ec_mask(code) && exception_name(code))
			json_array_append_new(list, json_string(exception_name(code)));
	return list;
}

#endif

/* SPDX-License-Identifier: MIT */
/* Exceptions of a queue as JSON, for the daemon and kfdsched. Pure. Threads: any. */
#ifndef KFDSHIM_KFD_EXCEPTION_JSON_H
#define KFDSHIM_KFD_EXCEPTION_JSON_H

#include <jansson.h>

#include "kfd/exception.h"

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

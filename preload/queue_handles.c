// SPDX-License-Identifier: MIT
/*
 * The handles that a program has for its queues. The queues themselves are known from the ioctls.
 * These hooks only find out that the program has another handle than the one of the driver's queue:
 * that of a profiler's intercept queue, which is a second hsa_queue_t before the real one.
 *
 * hsa_amd_queue_create, which only runtimes after 7.2 have, is not wrapped. Its queues are known
 * from the ioctl, and a definition here would make programs that search for the name believe that
 * an older runtime has it.
 */
#include "preload/preload_priv.h"

typedef __typeof__(hsa_queue_create) create_fn;
typedef __typeof__(hsa_queue_destroy) destroy_fn;
typedef void event_fn(hsa_status_t status, hsa_queue_t *source, void *data);

static create_fn find_create;
static destroy_fn find_destroy;
static create_fn *next_create = find_create;
static destroy_fn *next_destroy = find_destroy;

NEXT entry_create = {"hsa_queue_create", (void *)hsa_queue_create, (next_pointer *)&next_create,
		     (void *)find_create};
NEXT entry_destroy = {"hsa_queue_destroy", (void *)hsa_queue_destroy, (next_pointer *)&next_destroy,
		      (void *)find_destroy};

static hsa_status_t create_nowhere(hsa_agent_t agent, uint32_t size, hsa_queue_type32_t type,
				   event_fn *callback, void *data, uint32_t private_bytes,
				   uint32_t group_bytes, hsa_queue_t **queue)
{
	(void)agent;
	(void)size;
	(void)type;
	(void)callback;
	(void)data;
	(void)private_bytes;
	(void)group_bytes;
	(void)queue;
	return HSA_STATUS_ERROR;
}

static hsa_status_t destroy_nowhere(hsa_queue_t *queue)
{
	(void)queue;
	return HSA_STATUS_ERROR;
}

static COLD hsa_status_t find_create(hsa_agent_t agent, uint32_t size, hsa_queue_type32_t type,
				     event_fn *callback, void *data, uint32_t private_bytes,
				     uint32_t group_bytes, hsa_queue_t **queue)
{
	return ((create_fn *)next_find(&entry_create, (void *)create_nowhere))(
		agent, size, type, callback, data, private_bytes, group_bytes, queue);
}

static COLD hsa_status_t find_destroy(hsa_queue_t *queue)
{
	return ((destroy_fn *)next_find(&entry_destroy, (void *)destroy_nowhere))(queue);
}

EXPORT hsa_status_t hsa_queue_create(hsa_agent_t agent, uint32_t size, hsa_queue_type32_t type,
				     event_fn *callback, void *data, uint32_t private_bytes,
				     uint32_t group_bytes, hsa_queue_t **queue)
{
	hsa_status_t status = __atomic_load_n(&next_create, __ATOMIC_RELAXED)(
		agent, size, type, callback, data, private_bytes, group_bytes, queue);
	const struct kfdshim_agent *ours = agent_now();

	if (status == HSA_STATUS_SUCCESS && queue && *queue && ours)
		ours->handle_made((uint64_t)(uintptr_t)*queue);
	return status;
}

EXPORT hsa_status_t hsa_queue_destroy(hsa_queue_t *queue)
{
	const struct kfdshim_agent *ours = agent_now();

	if (queue && ours)
		ours->handle_gone((uint64_t)(uintptr_t)queue);
	return __atomic_load_n(&next_destroy, __ATOMIC_RELAXED)(queue);
}

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

#define STATUS_SUCCESS 0

/* hsa_agent_t is passed like a uint64_t. */
typedef int create_fn(uint64_t agent, uint32_t size, uint32_t type, void *callback, void *data,
		      uint32_t private_bytes, uint32_t group_bytes, void **queue);
typedef int destroy_fn(void *queue);

create_fn hsa_queue_create;
destroy_fn hsa_queue_destroy;

static create_fn find_create;
static destroy_fn find_destroy;
static create_fn *next_create = find_create;
static destroy_fn *next_destroy = find_destroy;

NEXT entry_create = {"hsa_queue_create", (void *)hsa_queue_create, (next_pointer *)&next_create,
		     (void *)find_create};
NEXT entry_destroy = {"hsa_queue_destroy", (void *)hsa_queue_destroy, (next_pointer *)&next_destroy,
		      (void *)find_destroy};

static int create_nowhere(uint64_t agent, uint32_t size, uint32_t type, void *callback, void *data,
			  uint32_t private_bytes, uint32_t group_bytes, void **queue)
{
	(void)agent;
	(void)size;
	(void)type;
	(void)callback;
	(void)data;
	(void)private_bytes;
	(void)group_bytes;
	(void)queue;
	return STATUS_ERROR;
}

static int destroy_nowhere(void *queue)
{
	(void)queue;
	return STATUS_ERROR;
}

static COLD int find_create(uint64_t agent, uint32_t size, uint32_t type, void *callback,
			    void *data, uint32_t private_bytes, uint32_t group_bytes, void **queue)
{
	return ((create_fn *)next_find(&entry_create, (void *)create_nowhere))(
		agent, size, type, callback, data, private_bytes, group_bytes, queue);
}

static COLD int find_destroy(void *queue)
{
	return ((destroy_fn *)next_find(&entry_destroy, (void *)destroy_nowhere))(queue);
}

EXPORT int hsa_queue_create(uint64_t agent, uint32_t size, uint32_t type, void *callback,
			    void *data, uint32_t private_bytes, uint32_t group_bytes, void **queue)
{
	int status = __atomic_load_n(&next_create, __ATOMIC_RELAXED)(
		agent, size, type, callback, data, private_bytes, group_bytes, queue);
	const struct kfdshim_agent *ours = agent_now();

	if (status == STATUS_SUCCESS && queue && *queue && ours)
		ours->handle_made((uint64_t)(uintptr_t)*queue);
	return status;
}

EXPORT int hsa_queue_destroy(void *queue)
{
	const struct kfdshim_agent *ours = agent_now();

	if (queue && ours)
		ours->handle_gone((uint64_t)(uintptr_t)queue);
	return __atomic_load_n(&next_destroy, __ATOMIC_RELAXED)(queue);
}

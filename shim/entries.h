/* SPDX-License-Identifier: MIT */
/*
 * Adds and removes queues: the table (queue_table.h), the published state (publish.h) and the
 * activity change together here, under one hold of the agent's lock.
 *
 * Threads: any, but not with the agent's lock held.
 */
#ifndef KFDSHIM_SHIM_ENTRIES_H
#define KFDSHIM_SHIM_ENTRIES_H

#include <stdbool.h>
#include <stdint.h>

#include "shim/queue_table.h"

/* Adds the queue to the table and to the client's shared memory. If the table is full, that is
 * logged and the queue is freed, so that its work is not seen. An older entry with the same context
 * and id is removed first: its end was not seen. Takes ownership of @queue. */
void entry_add_new(struct shim_queue *queue);

/* Removes the queue from the table before DESTROY_QUEUE is forwarded, and waits for readers: after
 * the return the agent reads nothing of its memory, so the runtime may free it.
 * Returns the queue, which belongs to the caller, or NULL if the table has none. The caller then
 * calls shim_queue_free(), or entry_put_back() if the call failed. */
struct shim_queue *entry_take(uint32_t context, uint32_t id);
/* Adds a queue again whose DESTROY_QUEUE failed with the positive errno @err. Takes ownership. */
void entry_put_back(struct shim_queue *queue, int err);

/* Removes and frees all queues of a KFD context that has ended, except the active ones.
 * Returns true if queues of the context are left. */
bool entries_drop_context(uint32_t context);

#endif

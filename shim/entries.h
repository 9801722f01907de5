/* SPDX-License-Identifier: MIT */
/*
 * Queues coming and going: the table (queues.h), what is told of it (link.h) and
 * the activity change together here. Any thread, not under the agent's lock.
 */
#ifndef KFDSHIM_SHIM_ENTRIES_H
#define KFDSHIM_SHIM_ENTRIES_H

#include <stdbool.h>
#include <stdint.h>

#include "shim/queues.h"

/* Into the table and into the lane; if that cannot be, the queue is freed and only
 * unseen. An entry of the same id, whose end nobody saw, goes. */
void entry_add_new(struct queue *queue);

/* Out of it, NULL: there is none. The owner frees the queue's memory when the
 * driver has destroyed it: from here on nothing of ours reads it. The caller frees
 * the entry, or puts it back: the DESTROY_QUEUE failed with this errno. */
struct queue *entry_take(uint32_t context, uint32_t id);
void entry_put_back(struct queue *queue, int err);

/* The context has ended: its entries go, but those that are active. Has it any
 * left? */
bool entries_drop_context(uint32_t context);

#endif

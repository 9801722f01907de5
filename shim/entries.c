// SPDX-License-Identifier: MIT
#include "shim/entries.h"

#include <errno.h>

#include "common/clock.h"
#include "shim/activity.h"
#include "shim/config.h"
#include "shim/hold.h"
#include "shim/links/publish.h"

/* Removes a queue from activity, table and published state. Under the lock; the caller waits for
 * readers before it frees the queue. */
static void take_out(struct shim_queue *q)
{
	activity_queue_removed(q, clock_ns());
	queue_remove(q);
	link_event(CLIENT_SHM_EVENT_QUEUE_DESTROYED, q, 0);
}

struct shim_queue *entry_take(uint32_t context, uint32_t id)
{
	struct shim_queue *q;

	agent_lock();
	q = shim_queue_by_id(context, id);
	if (q)
		take_out(q);
	agent_unlock();
	if (q)
		q->in_use |= !readers_wait();
	return q;
}

static void add(struct shim_queue *q)
{
	/* Once in the table, another thread may destroy and free the queue, so keep a copy of what
	 * is needed afterwards. */
	const struct shim_queue published = {.type = q->type};
	int err;

	agent_lock();
	err = queue_insert(q);
	if (!err) {
		link_event(CLIENT_SHM_EVENT_QUEUE_CREATED, q, q->type);
		activity_queue_added(q, clock_ns());
	}
	agent_unlock();
	hold_queue_created(&published);
	if (!err)
		return;
	kfdshim_log(LOG_ERROR,
		    "queue %u is not observed, and neither is its work: use at most %u queues",
		    q->id, QUEUES_MAX);
	shim_queue_free(q);
}

void entry_add_new(struct shim_queue *q)
{
	struct shim_queue *old = entry_take(q->context, q->id);

	if (old)
		shim_queue_free(old);
	add(q);
}

void entry_put_back(struct shim_queue *q, int err)
{
	/* If the call was interrupted, the thunk repeats it. After any other error ROCr frees the
	 * memory of the queue although the queue still exists. */
	if (err != EINTR && err != EAGAIN)
		q->read_via_kernel = true;
	agent_lock();
	link_event(CLIENT_SHM_EVENT_FAILED, q, (uint64_t)err);
	agent_unlock();
	add(q);
}

bool entries_drop_context(uint32_t context)
{
	struct shim_queue *q, *gone;
	bool left;

	do {
		gone = NULL;
		left = false;
		agent_lock();
		for (uint32_t i = 0; i < queues.end; i++) {
			q = queues.table[i];
			if (!q || q->context != context)
				continue;
			if (q->active || gone)
				left = true;
			else
				gone = q;
		}
		if (gone)
			take_out(gone);
		agent_unlock();
		if (gone) {
			gone->in_use = !readers_wait();
			shim_queue_free(gone);
		}
	} while (gone && left);
	return left;
}

/* SPDX-License-Identifier: MIT */
/*
 * Holding back by UPDATE_QUEUE: level weight (while held, the compute queues have
 * the lowest priority), and level self where KFDSHIM_UPDATE_QUEUE asks for it
 * (they are stopped: percentage 0, by which the driver takes a queue off the GPU,
 * saves its waves and lets DESTROY_QUEUE pass).
 *
 * UPDATE_QUEUE sets ring, percentage and priority together, so ours are merged with
 * the runtime's own: what it says is kept in the table (queues.h), the driver is
 * told something else instead while the process is held, and its last word after.
 * A queue that the runtime has stopped itself therefore stays stopped, and one that
 * it starts again starts when the process is released.
 *
 * Each changed queue costs one bounce of its node (kfd_device_queue_manager.c), so
 * the driver is told only what it was not told last.
 */
#ifndef KFDSHIM_SHIM_UPDATES_H
#define KFDSHIM_SHIM_UPDATES_H

#include <stdbool.h>

#include "preload/agent.h"

struct kfd_ioctl_update_queue_args;

enum updates_as { UPDATES_AS_SAID, UPDATES_LOWEST, UPDATES_STOPPED };

/* For all compute queues of the first context, also those that are new: again with
 * the same `as`, only these are told. Under the lock of hold.c, which a
 * DESTROY_QUEUE takes first: none of the queues can go meanwhile. 0, or the first
 * negative errno; all are tried. A queue that the driver does not know, or that a
 * reset has taken, is said to be so and counts as done. */
int updates_set(const struct kfdshim_host *host, int fd, enum updates_as as);
/* Any thread: queues may be stopped, by the above alone. */
bool updates_stand(void);

/* Around the runtime's own UPDATE_QUEUE, until what it said is in the table.
 * begin: *args becomes what the driver is to be told. Not under the agent's lock. */
void updates_begin(struct kfd_ioctl_update_queue_args *args, bool compute);
void updates_end(void);

/* Fork child. */
void updates_forget(void);

#endif

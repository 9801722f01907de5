/* SPDX-License-Identifier: MIT */
/*
 * Holds the process off the GPU, or lowers its priority, by UPDATE_QUEUE. There are two uses:
 * - CLIENT_SHM_LEVEL_WEIGHT: while held, the compute queues have the lowest priority;
 * - CLIENT_SHM_LEVEL_SELF if KFDSHIM_UPDATE_QUEUE enables it: the compute queues are stopped
 *   (percentage 0). The driver then takes them off the GPU and saves their waves, and
 *   DESTROY_QUEUE does not sleep.
 *
 * UPDATE_QUEUE sets ring, percentage and priority together, so this module changes one value and
 * passes on the runtime's other values, which the table has (queue_table.h). After the release the
 * driver gets the runtime's last values. A queue that the runtime has stopped itself therefore
 * stays stopped, and a queue that the runtime starts meanwhile starts when the process is released.
 *
 * Each changed queue costs one runlist update ("bounce") of its node (kfd_device_queue_manager.c),
 * so a value that the driver has already is not sent again.
 */
#ifndef KFDSHIM_SHIM_QUEUE_OVERRIDE_H
#define KFDSHIM_SHIM_QUEUE_OVERRIDE_H

#include <stdbool.h>

#include "channel/agent_abi.h"

struct kfd_ioctl_update_queue_args;

/* The values that the driver gets: the runtime's own, lowest priority, or percentage 0. */
enum queue_override { OVERRIDE_NONE, OVERRIDE_LOWEST, OVERRIDE_STOPPED };

/*
 * Sends the values that @as selects to the driver for all compute queues of the primary context,
 * except those for which the driver has them already. @fd is the device.
 *
 * A queue that the driver does not have, or that a GPU reset has destroyed, is logged and counts as
 * updated. Called under the lock of hold.c, which each DESTROY_QUEUE takes first, so that no queue
 * is destroyed meanwhile. Returns 0; or, after all queues were tried, the negative errno of the
 * first that failed.
 */
int updates_set(const struct kfdshim_preload_iface *host, int fd, enum queue_override as);
/* Returns true if updates_set() may have stopped queues. Any thread. */
bool updates_stand(void);

/* updates_begin() is to be called before an UPDATE_QUEUE of the runtime is forwarded. It takes the
 * lock of this module and, if @compute, replaces the values in *args by those that the driver is to
 * get. updates_end() is to be called when the runtime's values are in the table. It releases the
 * lock. Neither is to be called under the agent's lock. */
void updates_begin(struct kfd_ioctl_update_queue_args *args, bool compute);
void updates_end(void);

/* Forgets the override in a fork child, because the child has no queues. */
void updates_forget(void);

#endif

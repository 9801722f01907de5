// SPDX-License-Identifier: MIT
#include "shim/queue_override.h"

#include <errno.h>
#include <pthread.h>

#include "kfd/uapi.h"
#include "shim/activity.h"
#include "shim/config.h"
#include "shim/queue_table.h"

#define LOWEST 0u
/* Mask of the percentage in queue_percentage. For a PM4 queue the next byte selects the XCC. */
#define PERCENT 0xffu

/* Lock of this module, taken after the lock of hold.c and before the agent's lock. It is held while
 * the driver gets new values, until they are in the table. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
/* The override in force, which selects the values that the driver gets. */
static enum queue_override override_of;
/* True while queues may be stopped by this module; atomic. */
static bool stand;
static struct kfd_ioctl_update_queue_args updates[QUEUES_MAX];

bool updates_stand(void)
{
	return __atomic_load_n(&stand, __ATOMIC_ACQUIRE);
}

/* Replaces the runtime's values in *args by those that override_of selects. */
static void merge(struct kfd_ioctl_update_queue_args *args)
{
	if (override_of == OVERRIDE_LOWEST)
		args->queue_priority = LOWEST;
	if (override_of == OVERRIDE_STOPPED)
		args->queue_percentage &= ~PERCENT;
}

/* Fills updates[] with the UPDATE_QUEUE arguments of all queues for which the driver does not have
 * the values of override_of yet. Returns their number. */
static uint32_t collect(void)
{
	uint32_t n = 0;

	agent_lock();
	for (uint32_t i = 0; i < queues.end; i++) {
		const struct shim_queue *q = queues.table[i];

		if (!q || queue_is_sdma(q) || q->context != 0)
			continue;
		updates[n] = (struct kfd_ioctl_update_queue_args){
			.ring_base_address = q->update_ring,
			.ring_size = (uint32_t)q->update_bytes,
			.queue_id = q->id,
			.queue_percentage = q->percentage,
			.queue_priority = q->priority,
		};
		merge(&updates[n]);
		if (updates[n].queue_percentage != q->driver_percentage ||
		    updates[n].queue_priority != q->driver_priority)
			n++;
	}
	agent_unlock();
	return n;
}

/* Records in the table the values that the driver has accepted for a queue. */
static void done(const struct kfd_ioctl_update_queue_args *args)
{
	struct shim_queue *q;

	agent_lock();
	q = shim_queue_by_id(0, args->queue_id);
	if (q) {
		q->driver_percentage = args->queue_percentage;
		q->driver_priority = args->queue_priority;
	}
	agent_unlock();
}

static int update_queue(const struct kfdshim_preload_iface *host, int fd,
			struct kfd_ioctl_update_queue_args *args)
{
	int result, err;

	do {
		result = host->ioctl(fd, AMDKFD_IOC_UPDATE_QUEUE, args);
	} while (result != 0 && errno == EINTR);
	err = result != 0 ? errno : 0;
	if (err == EFAULT || err == EACCES) {
		kfdshim_log(LOG_ERROR, "queue %u cannot be held or released: %s", args->queue_id,
			    err == EFAULT ? "it does not exist in the driver"
					  : "the GPU was reset; restart this process");
		err = 0;
	}
	if (!err)
		done(args);
	return -err;
}

int updates_set(const struct kfdshim_preload_iface *host, int fd, enum queue_override as)
{
	int result = 0, err;
	uint32_t n;

	pthread_mutex_lock(&lock);
	override_of = as;
	if (as == OVERRIDE_STOPPED)
		__atomic_store_n(&stand, true, __ATOMIC_RELEASE);
	n = collect();
	for (uint32_t i = 0; i < n; i++) {
		err = update_queue(host, fd, &updates[i]);
		result = result ? result : err;
	}
	if (as != OVERRIDE_STOPPED && !result)
		__atomic_store_n(&stand, false, __ATOMIC_RELEASE);
	pthread_mutex_unlock(&lock);
	return result;
}

void updates_begin(struct kfd_ioctl_update_queue_args *args, bool compute)
{
	pthread_mutex_lock(&lock);
	if (compute)
		merge(args);
}

void updates_end(void)
{
	pthread_mutex_unlock(&lock);
}

void updates_forget(void)
{
	pthread_mutex_init(&lock, NULL);
	override_of = OVERRIDE_NONE;
	stand = false;
}

/* SPDX-License-Identifier: MIT */
/*
 * What the files about queues share: the checks of CREATE_QUEUE and UPDATE_QUEUE (queue_check.c),
 * creation (queue_create.c), changes (queue_update.c) and destruction (queue_destroy.c).
 *
 * Order and error numbers are those of Linux 6.12.95 (kfd_chardev.c, kfd_queue.c,
 * kfd_process_queue_manager.c, kfd_device_queue_manager.c).
 *
 * Threads: all functions under sim->lock.
 */
#ifndef KFDSHIM_SIM_DRIVER_QUEUE_CHECK_H
#define KFDSHIM_SIM_DRIVER_QUEUE_CHECK_H

#include "sim/driver/files.h"

/* Checks the numbers that CREATE_QUEUE and UPDATE_QUEUE share. A ring of less than 1024 bytes is
 * made 1024. Returns 0, -EINVAL or -EFAULT. */
int queue_check_numbers(const struct sim *sim, uint32_t percent, uint32_t priority, uint64_t ring,
			uint32_t *ring_bytes);
/* Returns true if the node has a buffer mapped that begins in the page of @address and has exactly
 * @size bytes. A @size below one page matches any size. */
bool queue_check_buffer(const struct process *process, uint32_t node, uint64_t address,
			uint64_t size);
/* Makes all checks of CREATE_QUEUE except its limits. Returns the index of the node, or a negative
 * errno. */
int queue_check_create(const struct call *call, struct kfdabi_create_queue *a);

/* Passes the queue's priority to the GPU model, where it takes effect at the next runlist update.
 * Returns 0 or a negative errno. */
int queue_set_priority(struct queue *queue);
/* Starts the runlist update that makes a change of the queue effective, and answers the call at its
 * end. Returns CALL_PENDING or -ENOMEM. */
int queue_update_runlist(struct call *call, const struct queue *queue);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * What the files about queues share: the checks of CREATE_QUEUE and UPDATE_QUEUE
 * (queue_check.c), creating (queue_create.c), changing (queue_change.c) and
 * destroying (queue_destroy.c). Order and error numbers are those of Linux
 * 6.12.95 (kfd_chardev.c, kfd_queue.c,
 * kfd_process_queue_manager.c, kfd_device_queue_manager.c).
 */
#ifndef KFDSHIM_SIM_KFD_QUEUES_H
#define KFDSHIM_SIM_KFD_QUEUES_H

#include "sim/kfd/files.h"

/* The numbers that CREATE and UPDATE share; a ring too short is made 1024. */
int queue_check_numbers(const struct world *world, uint32_t percent, uint32_t priority,
			uint64_t ring, uint32_t *ring_bytes);
/* Does the node see a buffer that begins with this page and is of exactly this size?
 * size below a page: of any. */
bool queue_check_buffer(const struct process *process, uint32_t node, uint64_t address,
			uint64_t size);
/* All of CREATE up to its limits: the index of the node, or the error. */
int queue_check_create(const struct call *call, struct kfdabi_create_queue *a);

/* Tells the GPU model, where it takes effect at the next bounce. */
int queue_set_priority(struct queue *queue);
/* A change of the queue that is to take effect; answers the call. */
int queue_bounce(struct call *call, const struct queue *queue);

#endif

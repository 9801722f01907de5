// SPDX-License-Identifier: MIT
/* Reads the driver's queue snapshot, in a debug session that is opened for this purpose only. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "cli/inspect/sources.h"
#include "common/allocate.h"
#include "kfd/debug_target.h"
#include "kfd/exception.h"
#include "kfd/uapi.h"

static void add_queue(struct observe_list *out, const struct kfdabi_queue_snapshot *entry)
{
	enum observe_type type = observe_type_of_kfd(entry->queue_type);
	struct observe_queue *queue = observe_list_add(out);

	queue->id = entry->queue_id;
	queue->gpu_id = entry->gpu_id;
	queue->source_mask = OBSERVE_BIT(OBSERVE_TRAP);
	if (type != OBSERVE_TYPES)
		observe_set(queue, OBSERVE_TYPE, type, OBSERVE_TRAP);
	observe_set(queue, OBSERVE_RING_BYTES, entry->ring_size, OBSERVE_TRAP);
	observe_set(queue, OBSERVE_RING_ADDRESS, entry->ring_base_address, OBSERVE_TRAP);
	observe_set(queue, OBSERVE_WPTR_ADDRESS, entry->write_pointer_address, OBSERVE_TRAP);
	observe_set(queue, OBSERVE_RPTR_ADDRESS, entry->read_pointer_address, OBSERVE_TRAP);
	if (entry->ctx_save_restore_address) {
		observe_set(queue, OBSERVE_CWSR_ADDRESS, entry->ctx_save_restore_address,
			    OBSERVE_TRAP);
		observe_set(queue, OBSERVE_CWSR_BYTES, entry->ctx_save_restore_area_size,
			    OBSERVE_TRAP);
	}
	/* Report faults, but not that there are none: this session has just begun, and a session
	 * reports only the faults that occur during it. */
	if (entry->exception_status & EXCEPTION_FAULTS)
		observe_set(queue, OBSERVE_EXCEPTIONS, entry->exception_status & EXCEPTION_FAULTS,
			    OBSERVE_TRAP);
}

/* Converts errors of trap_list_queues() to those of sources.h: -EBUSY if the process has a session
 * or is traced, -ENOENT if it has ended or does not use the driver. */
static int error_of(int error)
{
	switch (error) {
	case -EAGAIN:
	case -EALREADY:
		return -EBUSY;
	case -ESRCH:
		return -ENOENT;
	default:
		return error;
	}
}

static int read_snapshot(pid_t pid, int pidfd, int kfd_fd, struct observe_list *out, char *why)
{
	struct kfdabi_queue_snapshot *entries = allocate(KFDABI_QUEUE_ARRAY_MAX, sizeof(*entries));
	struct trap *trap = allocated(trap_create(pid, pidfd));
	struct reason reason;
	int n = trap_list_queues(trap, kfd_fd, entries, KFDABI_QUEUE_ARRAY_MAX, &reason);

	_Static_assert(OBSERVE_WHY >= REASON_TEXT, "room for the reason");
	if (n < 0)
		strcpy(why, reason.text);
	if (n > (int)KFDABI_QUEUE_ARRAY_MAX)
		n = KFDABI_QUEUE_ARRAY_MAX;
	for (int i = 0; i < n; i++)
		add_queue(out, &entries[i]);
	trap_destroy(trap);
	free(entries);
	return n < 0 ? error_of(n) : 0;
}

int source_trap(pid_t pid, struct observe_list *out, WHY)
{
	int pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
	struct reason reason;
	int kfd_fd, r;

	if (pidfd < 0) {
		r = -errno;
		snprintf(why, OBSERVE_WHY, "cannot open process %d: %s", (int)pid, strerror(-r));
		return error_of(r);
	}
	kfd_fd = kfd_device_open(&reason);
	if (kfd_fd < 0)
		strcpy(why, reason.text);
	r = kfd_fd < 0 ? kfd_fd : read_snapshot(pid, pidfd, kfd_fd, out, why);
	if (kfd_fd >= 0)
		close(kfd_fd);
	close(pidfd);
	return r;
}

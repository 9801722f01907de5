// SPDX-License-Identifier: MIT
/*
 * Reads write and read pointers, and reported faults, in the memory of the process, by
 * /proc/PID/mem. This does not stop the process. /proc/PID/mem can also read memory that is mapped
 * from a render node, through the driver's access function; process_vm_readv(2) can read ordinary
 * pages only.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/inspect/sources.h"
#include "kfd/exception.h"

#define AQL_PACKET_BYTES 64u
#define DWORD_BYTES 4u
/* Offset of err_payload_addr in struct kfd_context_save_area_header (kfd_ioctl.h), which is at the
 * beginning of the save area. It is the address of a word to which the driver adds the exceptions
 * of the queue that it reports to the runtime, that is those that no debugger has enabled
 * (kfd_dbg_send_exception_to_runtime(), kfd_debug.c). */
#define HEADER_PAYLOAD 24u
#define ALL_EXCEPTIONS (KFDABI_EC_QUEUE_MASK | KFDABI_EC_DEVICE_MASK | KFDABI_EC_PROCESS_MASK)

/* Returns the unit of the queue's read and write pointers in bytes; 0: not known. */
static uint64_t pointer_scale(const struct observe_queue *queue)
{
	if (!observe_known(queue, OBSERVE_TYPE))
		return 0;
	switch (queue->field[OBSERVE_TYPE].value) {
	case OBSERVE_AQL:
		return AQL_PACKET_BYTES;
	case OBSERVE_PM4:
		return DWORD_BYTES;
	case OBSERVE_SDMA:
	case OBSERVE_XGMI:
		return 1;
	default:
		return 0;
	}
}

static bool read_word(int fd, const struct observe_queue *queue, enum observe_field address,
		      uint64_t *out)
{
	return observe_known(queue, address) &&
	       pread(fd, out, sizeof(*out), (off_t)queue->field[address].value) ==
		       (ssize_t)sizeof(*out);
}

static bool read_at(int fd, uint64_t address, uint64_t *out)
{
	return pread(fd, out, sizeof(*out), (off_t)address) == (ssize_t)sizeof(*out);
}

/* Sets the faults that the driver has reported to the runtime. They stay unknown if the runtime has
 * set no address for them, or if the value there has bits that are no exceptions. */
static void read_exceptions(int fd, struct observe_queue *queue)
{
	uint64_t area = queue->field[OBSERVE_CWSR_ADDRESS].value, address, mask;

	if (!observe_known(queue, OBSERVE_CWSR_ADDRESS) ||
	    !read_at(fd, area + HEADER_PAYLOAD, &address) || address == 0 ||
	    !read_at(fd, address, &mask) || mask & ~ALL_EXCEPTIONS)
		return;
	observe_set(queue, OBSERVE_EXCEPTIONS, mask & EXCEPTION_FAULTS, OBSERVE_MEMORY);
}

int source_memory(pid_t pid, struct observe_list *list, WHY)
{
	char path[64];
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/mem", (int)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0) {
		snprintf(why, OBSERVE_WHY,
			 "the memory of process %d cannot be read (%s): run this as its user or "
			 "root",
			 (int)pid, strerror(errno));
		return errno == ENOENT ? -ENOENT : -errno;
	}
	for (size_t i = 0; i < list->count; i++) {
		struct observe_queue *queue = &list->queue[i];
		uint64_t wptr, rptr, bytes = pointer_scale(queue);

		read_exceptions(fd, queue);
		/* Read the read pointer first, so that it is never ahead of the write pointer. */
		if (!bytes || !read_word(fd, queue, OBSERVE_RPTR_ADDRESS, &rptr) ||
		    !read_word(fd, queue, OBSERVE_WPTR_ADDRESS, &wptr))
			continue;
		observe_set(queue, OBSERVE_RPTR, rptr, OBSERVE_MEMORY);
		observe_set(queue, OBSERVE_WPTR, wptr, OBSERVE_MEMORY);
	}
	close(fd);
	return 0;
}

void observe_backlog(struct observe_list *list)
{
	for (size_t i = 0; i < list->count; i++) {
		struct observe_queue *queue = &list->queue[i];
		const struct observe_value *wptr = &queue->field[OBSERVE_WPTR];
		const struct observe_value *rptr = &queue->field[OBSERVE_RPTR];
		uint64_t bytes = pointer_scale(queue);

		/* Calculate the backlog only if both pointers are from the same source: two sources
		 * are read at different times. */
		if (bytes && wptr->source != OBSERVE_NO_SOURCE && wptr->source == rptr->source &&
		    wptr->value >= rptr->value)
			observe_set(queue, OBSERVE_BACKLOG_BYTES,
				    (wptr->value - rptr->value) * bytes, wptr->source);
	}
}

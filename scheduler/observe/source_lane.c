// SPDX-License-Identifier: MIT
/*
 * The lane of a process that runs with the shim and without a daemon. The shim keeps it in
 * a file by which peers meet (shim/peers.h), which it has open, so it is found among the
 * process's descriptors: in whatever container, folder and mount namespace it stands.
 * It is hostile input, copied and checked by channel/lane.c.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "channel/lane.h"
#include "scheduler/observe/sources.h"

#define LANE_END ".lane"
#define TRIES 10 /* of a copy, while queues come and go */

/* A descriptor that is named as a lane; the file behind it, or -1. */
static int open_lane(int folder, const char *name)
{
	char target[512];
	ssize_t n = readlinkat(folder, name, target, sizeof(target) - 1);
	const char *end;
	struct stat file;
	int fd;

	if (n <= 0)
		return -1;
	target[n] = '\0';
	end = strrchr(target, '.');
	if (!end || strncmp(end, LANE_END, strlen(LANE_END)) != 0 || !strstr(target, "/kfdshim"))
		return -1;
	fd = openat(folder, name, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (fd >= 0 && (fstat(fd, &file) != 0 || !S_ISREG(file.st_mode) ||
			file.st_size != (off_t)sizeof(struct lane))) {
		close(fd);
		fd = -1;
	}
	return fd;
}

static int find_lane(pid_t pid, WHY)
{
	struct dirent *entry;
	char path[64];
	int fd = -1;
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%d/fd", (int)pid);
	dir = opendir(path);
	if (!dir) {
		snprintf(why, OBSERVE_WHY,
			 "the descriptors of process %d cannot be read (%s): ask as its user or "
			 "root",
			 (int)pid, strerror(errno));
		return errno == ENOENT ? -ENOENT : -errno;
	}
	while (fd < 0 && (entry = readdir(dir)))
		if (entry->d_name[0] != '.')
			fd = open_lane(dirfd(dir), entry->d_name);
	closedir(dir);
	if (fd >= 0)
		return fd;
	snprintf(why, OBSERVE_WHY,
		 "process %d has no lane: it runs without libkfdshim.so, or without "
		 "KFDSHIM_PRIORITY, or has not used a GPU yet",
		 (int)pid);
	return -ENOENT;
}

static int add(const struct lane_queue *from, struct observe_list *out)
{
	const enum observe_source lane = OBSERVE_LANE;
	enum observe_type type =
		from->type == LANE_TYPE_DRM ? OBSERVE_DRM : observe_type_of_kfd(from->type);
	struct observe_queue *queue = observe_list_add(out);

	if (!queue)
		return -ENOMEM;
	queue->id = from->queue_id;
	queue->context = from->context;
	queue->gpu_id = from->gpu_id;
	queue->told_by = OBSERVE_BIT(lane);
	if (type < OBSERVE_TYPES)
		observe_set(queue, OBSERVE_TYPE, type, lane);
	observe_set(queue, OBSERVE_RING_BYTES, from->ring_bytes, lane);
	observe_set(queue, OBSERVE_PRIORITY, from->priority, lane);
	observe_set(queue, OBSERVE_PERCENT, from->percent, lane);
	observe_set(queue, OBSERVE_CU_BITS, from->cu_bits, lane);
	if (from->ring_address)
		observe_set(queue, OBSERVE_RING_ADDRESS, from->ring_address, lane);
	if (from->rptr_address)
		observe_set(queue, OBSERVE_RPTR_ADDRESS, from->rptr_address, lane);
	if (from->wptr_address)
		observe_set(queue, OBSERVE_WPTR_ADDRESS, from->wptr_address, lane);
	if (from->hsa_queue)
		observe_set(queue, OBSERVE_HSA_QUEUE, from->hsa_queue, lane);
	if (from->cwsr_address) {
		observe_set(queue, OBSERVE_CWSR_ADDRESS, from->cwsr_address, lane);
		observe_set(queue, OBSERVE_CWSR_BYTES, from->cwsr_bytes, lane);
	}
	return 0;
}

static int read_lane(const struct lane *lane, struct observe_list *out, WHY)
{
	struct lane_queue queue;

	if (lane->magic != LANE_MAGIC || lane->version != LANE_VERSION ||
	    lane->size != sizeof(struct lane)) {
		snprintf(why, OBSERVE_WHY,
			 "its lane is of another version of libkfdshim.so: use the kfdsched that "
			 "belongs to it");
		return -EPROTO;
	}
	/* The queues' states are not in this file: only the daemon is told of them. */
	for (uint32_t slot = 0; slot < lane_queue_end(lane); slot++)
		if (lane_queue_read(lane, slot, &queue) == 0 && add(&queue, out) != 0) {
			snprintf(why, OBSERVE_WHY, "no memory");
			return -ENOMEM;
		}
	return 0;
}

/* All of it, as it was between two changes of the queues: who writes it ends a change with
 * another generation. */
static bool copy_lane(int fd, struct lane *copy)
{
	uint32_t generation;

	for (int i = 0; i < TRIES; i++) {
		if (pread(fd, copy, sizeof(*copy), 0) != (ssize_t)sizeof(*copy) ||
		    pread(fd, &generation, sizeof(generation),
			  (off_t)offsetof(struct lane, queue_generation)) !=
			    (ssize_t)sizeof(generation))
			return false;
		if (generation == copy->queue_generation)
			return true;
	}
	return false;
}

int source_lane(pid_t pid, struct observe_list *out, WHY)
{
	struct lane *copy = aligned_alloc(_Alignof(struct lane), sizeof(*copy));
	int fd = find_lane(pid, why), rc;

	if (fd < 0) {
		free(copy);
		return fd;
	}
	if (copy && copy_lane(fd, copy)) {
		rc = read_lane(copy, out, why);
	} else {
		snprintf(why, OBSERVE_WHY, "the lane of process %d cannot be read whole", (int)pid);
		rc = -EIO;
	}
	close(fd);
	free(copy);
	return rc;
}

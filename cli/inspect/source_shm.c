// SPDX-License-Identifier: MIT
/*
 * Reads the shared memory (struct lane) of a process that runs with the shim and without a daemon.
 *
 * Without a daemon, the shim keeps its struct lane in a file, by which processes find each other
 * (shim/links/peers.h), and has that file open. So the file is found among the fds of the process,
 * in any container, directory and mount namespace. The fds are searched once, and the found file is
 * kept open. The process also has the files of other processes open. Its own is the one that it
 * holds a lock on; the lock ends when the fd is closed, at an exec, and with the process.
 *
 * The content is hostile input: it is copied, and checked by channel/client_shm.c.
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

#include "channel/client_shm.h"
#include "cli/inspect/sources.h"
#include "common/clock.h"
#include "common/proc_file.h"

#define LANE_END ".lane"
#define TRIES 10 /* attempts to get a consistent copy while queues are created or destroyed */

/* A process without such a file may have any number of fds. To limit the cost, the next search
 * starts after PAUSE times the duration of the last one, at most PAUSE_MAX_NS. */
#define PAUSE 20u
#define PAUSE_MAX_NS 1000000000u /* 1 s */

struct source_lane {
	int fd;		      /* the file of the process; -1: not found */
	struct lane *copy;    /* copy of the file; NULL: not allocated yet */
	bool copied;	      /* copy is complete, and of this file */
	uint64_t look_due_ns; /* fd is -1: earliest time of the next search */
};

struct source_lane *source_lane_new(void)
{
	struct source_lane *lane = calloc(1, sizeof(*lane));

	if (lane)
		lane->fd = -1;
	return lane;
}

static void forget(struct source_lane *lane)
{
	if (lane->fd >= 0)
		close(lane->fd);
	lane->fd = -1;
	lane->copied = false;
}

void source_lane_free(struct source_lane *lane)
{
	if (!lane)
		return;
	forget(lane);
	free(lane->copy);
	free(lane);
}

/* Check which process holds the lock: the process also has the files of its peers open, and between
 * fork and exec that of its parent. */
static bool is_lane_of(int fd, pid_t pid)
{
	struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};

	return fcntl(fd, F_GETLK, &lock) == 0 && lock.l_type == F_WRLCK && lock.l_pid == pid;
}

static bool is_lane_size(size_t size)
{
	return size == lane_bytes(LANE_VERSION) || size == lane_bytes(LANE_OLDEST);
}

/* Open the file behind an fd of the process, if its name and size are those of a struct lane and
 * the process holds the lock on it. Returns the new fd, or -1. */
static int open_lane(struct proc_files *files, int folder, const char *name)
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
	fd = proc_files_open(files, folder, name);
	if (fd >= 0 && (fstat(fd, &file) != 0 || !is_lane_size((size_t)file.st_size) ||
			!is_lane_of(fd, files->pid))) {
		close(fd);
		fd = -1;
	}
	return fd < 0 ? -1 : fd;
}

static int no_lane(pid_t pid, WHY)
{
	snprintf(why, OBSERVE_WHY,
		 "process %d has no shared memory: it runs without libkfdshim.so, or without "
		 "KFDSHIM_PRIORITY, or has not used a GPU yet",
		 (int)pid);
	return -ENOENT;
}

static int find_lane(struct source_lane *lane, pid_t pid, WHY)
{
	uint64_t began_ns = clock_ns(), ended_ns, pause_ns;
	struct proc_files files;
	struct dirent *entry;
	char path[64];
	DIR *dir;

	if (began_ns < lane->look_due_ns)
		return no_lane(pid, why);
	snprintf(path, sizeof(path), "/proc/%d/fd", (int)pid);
	dir = opendir(path);
	if (!dir) {
		snprintf(why, OBSERVE_WHY,
			 "the file descriptors of process %d cannot be read (%s): run this as its "
			 "user or root",
			 (int)pid, strerror(errno));
		return errno == ENOENT ? -ENOENT : -errno;
	}
	proc_files_begin(&files, pid);
	while (lane->fd < 0 && (entry = readdir(dir)))
		if (entry->d_name[0] != '.')
			lane->fd = open_lane(&files, dirfd(dir), entry->d_name);
	proc_files_end(&files);
	closedir(dir);
	if (lane->fd >= 0)
		return 0;
	ended_ns = clock_ns();
	pause_ns = PAUSE * (ended_ns - began_ns);
	lane->look_due_ns = ended_ns + (pause_ns < PAUSE_MAX_NS ? pause_ns : PAUSE_MAX_NS);
	return no_lane(pid, why);
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

	if (lane->magic != LANE_MAGIC || lane->size == 0 ||
	    lane->size != lane_bytes(lane->version)) {
		snprintf(why, OBSERVE_WHY,
			 "its shared memory is of another version of libkfdshim.so: use the "
			 "kfdsched of that version");
		return -EPROTO;
	}
	/* The state of the queues (active, idle) is not in this file: the shim reports it to the
	 * daemon only. */
	for (uint32_t slot = 0; slot < lane_queue_end(lane); slot++)
		if (lane_queue_read(lane, slot, &queue) == 0 && add(&queue, out) != 0) {
			snprintf(why, OBSERVE_WHY, "out of memory");
			return -ENOMEM;
		}
	return 0;
}

/* Copy the file as it was between two changes of its queues. The shim sets another generation at
 * the end of each change. So the copy is consistent if the generation in the file is that of the
 * copy after copying; and as long as that stays the same, an old copy is still current. */
static bool copy_lane(struct source_lane *lane)
{
	uint32_t generation;

	if (!lane->copy)
		lane->copy = aligned_alloc(_Alignof(struct lane), sizeof(struct lane));
	for (int i = 0; lane->copy && i <= TRIES; i++) {
		if (pread(lane->fd, &generation, sizeof(generation),
			  (off_t)offsetof(struct lane, queue_generation)) !=
		    (ssize_t)sizeof(generation))
			break;
		if (lane->copied && generation == lane->copy->queue_generation)
			return true;
		lane->copied = pread(lane->fd, lane->copy, sizeof(struct lane), 0) >=
			       (ssize_t)lane_bytes(LANE_OLDEST);
		if (!lane->copied)
			break;
	}
	lane->copied = false;
	return false;
}

int source_lane(struct source_lane *lane, pid_t pid, struct observe_list *out, WHY)
{
	int rc;

	if (lane->fd >= 0 && !is_lane_of(lane->fd, pid))
		forget(lane);
	rc = lane->fd < 0 ? find_lane(lane, pid, why) : 0;
	if (rc)
		return rc;
	if (copy_lane(lane))
		return read_lane(lane->copy, out, why);
	snprintf(why, OBSERVE_WHY, "the shared memory of process %d cannot be read completely",
		 (int)pid);
	return -EIO;
}

// SPDX-License-Identifier: MIT
/*
 * Reads the shared memory (struct client_shm) of a process that runs with the shim and without a
 * daemon.
 *
 * Without a daemon, the shim keeps its struct client_shm in a file, by which processes find each
 * other (shim/links/peers.h), and has that file open. So the file is found among the fds of the
 * process, in any container, directory and mount namespace. The fds are searched once, and the
 * found file is kept open. The process also has the files of other processes open. Its own is the
 * one that it holds a lock on; the lock ends when the fd is closed, at an exec, and with the
 * process.
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
#include "common/allocate.h"
#include "common/clock.h"
#include "common/proc_file.h"

#define SHM_END ".lane"
#define TRIES 10 /* attempts to get a consistent copy while queues are created or destroyed */

/* A process without client shared memory may have any number of fds to search. To limit the cost,
 * the next search starts after PAUSE times the duration of the previous search, at the latest after
 * PAUSE_MAX_NS. */
#define PAUSE 20u
#define PAUSE_MAX_NS 1000000000u /* 1 s */

struct source_shm {
	int fd;			 /* the file of the process; -1: not found */
	struct client_shm *copy; /* copy of the file; NULL: not allocated yet */
	bool copied;		 /* copy is complete, and of the file in fd */
	uint64_t read_due_ns;	 /* if fd is -1: earliest time of the next search */
};

struct source_shm *source_shm_new(void)
{
	struct source_shm *shm = allocate(1, sizeof(*shm));

	shm->fd = -1;
	return shm;
}

static void forget(struct source_shm *shm)
{
	if (shm->fd >= 0)
		close(shm->fd);
	shm->fd = -1;
	shm->copied = false;
}

void source_shm_free(struct source_shm *shm)
{
	if (!shm)
		return;
	forget(shm);
	free(shm->copy);
	free(shm);
}

/* Returns true if process `pid` holds the lock on the file, so that the file is its own shared
 * memory. A process can have the files of others open, too (between fork and exec that of its
 * parent), but it holds no lock on them. */
static bool is_shm_of(int fd, pid_t pid)
{
	struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};

	return fcntl(fd, F_GETLK, &lock) == 0 && lock.l_type == F_WRLCK && lock.l_pid == pid;
}

static bool is_shm_size(size_t size)
{
	return size == client_shm_bytes(CLIENT_SHM_VERSION) ||
	       size == client_shm_bytes(CLIENT_SHM_OLDEST);
}

/* Opens the file behind an fd of the process, if its name and size are those of a struct client_shm
 * and the process holds the lock on it. Returns the new fd, or -1. */
static int open_shm(struct proc_files *files, int directory, const char *name)
{
	char target[512];
	ssize_t n = readlinkat(directory, name, target, sizeof(target) - 1);
	const char *end;
	struct stat file;
	int fd;

	if (n <= 0)
		return -1;
	target[n] = '\0';
	end = strrchr(target, '.');
	if (!end || strncmp(end, SHM_END, strlen(SHM_END)) != 0 || !strstr(target, "/kfdshim"))
		return -1;
	fd = proc_files_open(files, directory, name);
	if (fd >= 0 && (fstat(fd, &file) != 0 || !is_shm_size((size_t)file.st_size) ||
			!is_shm_of(fd, files->pid))) {
		close(fd);
		fd = -1;
	}
	return fd < 0 ? -1 : fd;
}

static int no_shm(pid_t pid, WHY)
{
	snprintf(why, OBSERVE_WHY,
		 "process %d has no shared memory: it runs without libkfdshim.so, or without "
		 "KFDSHIM_PRIORITY, or has not used a GPU yet",
		 (int)pid);
	return -ENOENT;
}

static int find_shm(struct source_shm *shm, pid_t pid, WHY)
{
	uint64_t began_ns = clock_ns(), ended_ns, pause_ns;
	struct proc_files files;
	struct dirent *entry;
	char path[64];
	DIR *dir;

	if (began_ns < shm->read_due_ns)
		return no_shm(pid, why);
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
	while (shm->fd < 0 && (entry = readdir(dir)))
		if (entry->d_name[0] != '.')
			shm->fd = open_shm(&files, dirfd(dir), entry->d_name);
	proc_files_end(&files);
	closedir(dir);
	if (shm->fd >= 0)
		return 0;
	ended_ns = clock_ns();
	pause_ns = PAUSE * (ended_ns - began_ns);
	shm->read_due_ns = ended_ns + (pause_ns < PAUSE_MAX_NS ? pause_ns : PAUSE_MAX_NS);
	return no_shm(pid, why);
}

static void add(const struct client_shm_queue *from, struct observe_list *out)
{
	const enum observe_source shm = OBSERVE_SHM;
	enum observe_type type =
		from->type == CLIENT_SHM_TYPE_DRM ? OBSERVE_DRM : observe_type_of_kfd(from->type);
	struct observe_queue *queue = observe_list_add(out);

	queue->id = from->queue_id;
	queue->context = from->context;
	queue->gpu_id = from->gpu_id;
	queue->source_mask = OBSERVE_BIT(shm);
	if (type < OBSERVE_TYPES)
		observe_set(queue, OBSERVE_TYPE, type, shm);
	observe_set(queue, OBSERVE_RING_BYTES, from->ring_bytes, shm);
	observe_set(queue, OBSERVE_PRIORITY, from->priority, shm);
	observe_set(queue, OBSERVE_PERCENT, from->percent, shm);
	observe_set(queue, OBSERVE_CU_BITS, from->cu_bits, shm);
	if (from->ring_address)
		observe_set(queue, OBSERVE_RING_ADDRESS, from->ring_address, shm);
	if (from->rptr_address)
		observe_set(queue, OBSERVE_RPTR_ADDRESS, from->rptr_address, shm);
	if (from->wptr_address)
		observe_set(queue, OBSERVE_WPTR_ADDRESS, from->wptr_address, shm);
	if (from->hsa_queue)
		observe_set(queue, OBSERVE_HSA_QUEUE, from->hsa_queue, shm);
	if (from->cwsr_address) {
		observe_set(queue, OBSERVE_CWSR_ADDRESS, from->cwsr_address, shm);
		observe_set(queue, OBSERVE_CWSR_BYTES, from->cwsr_bytes, shm);
	}
}

static int read_shm(const struct client_shm *shm, struct observe_list *out, WHY)
{
	struct client_shm_queue queue;

	if (shm->magic != CLIENT_SHM_MAGIC || shm->size == 0 ||
	    shm->size != client_shm_bytes(shm->version)) {
		snprintf(why, OBSERVE_WHY,
			 "its shared memory is of another version of libkfdshim.so: use the "
			 "kfdsched of that version");
		return -EPROTO;
	}
	/* The state of the queues (active, idle) is not in this file: the shim reports it to the
	 * daemon only. */
	for (uint32_t slot = 0; slot < client_shm_queue_end(shm); slot++)
		if (client_shm_queue_read(shm, slot, &queue) == 0)
			add(&queue, out);
	return 0;
}

/* Copies the file as it was between two changes of its queues. The shim changes queue_generation at
 * the end of each change. So a copy is consistent if the file has the same generation after
 * copying, and it stays current as long as the generation does not change. Returns false if the
 * file cannot be read, or changed during all TRIES attempts. */
static bool copy_shm(struct source_shm *shm)
{
	uint32_t generation;

	if (!shm->copy)
		shm->copy = allocated(
			aligned_alloc(_Alignof(struct client_shm), sizeof(struct client_shm)));
	for (int i = 0; i <= TRIES; i++) {
		if (pread(shm->fd, &generation, sizeof(generation),
			  (off_t)offsetof(struct client_shm, queue_generation)) !=
		    (ssize_t)sizeof(generation))
			break;
		if (shm->copied && generation == shm->copy->queue_generation)
			return true;
		shm->copied = pread(shm->fd, shm->copy, sizeof(struct client_shm), 0) >=
			      (ssize_t)client_shm_bytes(CLIENT_SHM_OLDEST);
		if (!shm->copied)
			break;
	}
	shm->copied = false;
	return false;
}

int source_shm(struct source_shm *shm, pid_t pid, struct observe_list *out, WHY)
{
	int rc;

	if (shm->fd >= 0 && !is_shm_of(shm->fd, pid))
		forget(shm);
	rc = shm->fd < 0 ? find_shm(shm, pid, why) : 0;
	if (rc)
		return rc;
	if (copy_shm(shm))
		return read_shm(shm->copy, out, why);
	snprintf(why, OBSERVE_WHY, "the shared memory of process %d cannot be read completely",
		 (int)pid);
	return -EIO;
}

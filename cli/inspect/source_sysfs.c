// SPDX-License-Identifier: MIT
/*
 * Reads the driver's list of a process's queues in sysfs.
 *
 * This is fast enough for a thousand samples a second: the directory of the process stays open, and
 * the files of a queue, which never change, are read only if its directory is new. A queue id is
 * reused at once, but its directory then has another inode number, because kernfs and tmpfs (which
 * kfdsim uses) assign inode numbers in sequence.
 */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/inspect/sources.h"
#include "common/allocate.h"
#include "kfd/sysfs.h"

struct sysfs_process {
	ino_t inode; /* inode number of the queue's directory when `queue` was read; 0: not read */
	struct sysfs_queue queue;
};

struct source_sysfs {
	pid_t pid;				  /* process whose directory is open; 0: none */
	DIR *directory;				  /* directory `queues` of `pid`; NULL: not open */
	struct sysfs_process known[SYSFS_QUEUES]; /* cache, by queue id */
};

struct source_sysfs *source_sysfs_new(void)
{
	return allocate(1, sizeof(struct source_sysfs));
}

static void forget(struct source_sysfs *sysfs)
{
	if (sysfs->directory)
		closedir(sysfs->directory);
	memset(sysfs, 0, sizeof(*sysfs));
}

void source_sysfs_free(struct source_sysfs *sysfs)
{
	if (sysfs)
		forget(sysfs);
	free(sysfs);
}

static int open_dir(struct source_sysfs *sysfs, pid_t pid, WHY)
{
	char path[64];

	forget(sysfs);
	snprintf(path, sizeof(path), SYSFS_PROCESSES "/%d/queues", (int)pid);
	sysfs->directory = opendir(path);
	if (sysfs->directory) {
		sysfs->pid = pid;
		return 0;
	}
	if (errno != ENOENT)
		snprintf(why, OBSERVE_WHY, "%s cannot be read: %s", path, strerror(errno));
	else if (access(SYSFS_PROCESSES, F_OK) != 0)
		snprintf(why, OBSERVE_WHY,
			 SYSFS_PROCESSES
			 " does not exist: amdgpu is not loaded, or this container does "
			 "not have the machine's /sys");
	else
		snprintf(why, OBSERVE_WHY, "process %d does not use a GPU", (int)pid);
	return errno ? -errno : -EIO;
}

static void add(const struct sysfs_queue *from, struct observe_list *out)
{
	struct observe_queue *queue = observe_list_add(out);

	queue->id = from->id;
	queue->gpu_id = from->gpu_id;
	queue->source_mask = OBSERVE_BIT(OBSERVE_SYSFS);
	observe_set(queue, OBSERVE_TYPE, observe_type_of(sysfs_type_name(from)), OBSERVE_SYSFS);
	observe_set(queue, OBSERVE_RING_BYTES, from->ring_bytes, OBSERVE_SYSFS);
}

static void read_dir(struct source_sysfs *sysfs, struct observe_list *out)
{
	struct sysfs_queue queue;
	struct dirent *entry;

	rewinddir(sysfs->directory);
	errno = 0;
	while ((entry = readdir(sysfs->directory))) {
		char *end;
		unsigned long id = strtoul(entry->d_name, &end, 10);
		struct sysfs_process *known;

		if (entry->d_name[0] == '.' || *end != '\0' || id >= SYSFS_QUEUES)
			continue;
		known = &sysfs->known[id];
		if (known->inode != entry->d_ino) {
			known->inode = 0;
			/* Skip a directory that is just being created or removed. */
			if (!sysfs_queue_read(dirfd(sysfs->directory), entry->d_name, &queue))
				continue;
			*known = (struct sysfs_process){.inode = entry->d_ino, .queue = queue};
		}
		add(&known->queue, out);
	}
}

int source_sysfs(struct source_sysfs *sysfs, pid_t host_pid, struct observe_list *out, WHY)
{
	int rc = 0;

	if (host_pid == 0) {
		snprintf(why, OBSERVE_WHY,
			 "the driver's pids are those of the machine's initial pid namespace, "
			 "which is not this one: run this on the host");
		return -EXDEV;
	}
	if (sysfs->pid != host_pid || !sysfs->directory)
		rc = open_dir(sysfs, host_pid, why);
	if (rc)
		return rc;
	read_dir(sysfs, out);
	/* An empty list can mean that the directory itself was removed. Check that by opening it
	 * again by its name. */
	if (out->count == 0)
		rc = open_dir(sysfs, host_pid, why);
	return rc;
}

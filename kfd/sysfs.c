// SPDX-License-Identifier: MIT
#include "kfd/sysfs.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "common/parse.h"
#include "common/proc.h"

/* Values of the driver's enum kfd_queue_type. XGMI has no name here, because its number differs: it
 * was 4 until Linux 6.12, and is another one since. So every other value is taken as XGMI. */
#define TYPE_COMPUTE 0u
#define TYPE_SDMA 1u

static bool read_number(int dir, const char *queue, const char *name, unsigned long long *out)
{
	char path[64], text[32], *end;

	snprintf(path, sizeof(path), "%.20s/%s", queue, name);
	if (proc_read_at(dir, path, text, sizeof(text)) <= 0)
		return false;
	*out = strtoull(text, &end, 10);
	return end != text;
}

bool sysfs_queue_read(int dir, const char *name, struct sysfs_queue *out)
{
	unsigned long long gpu_id, type, bytes;
	uint64_t id;

	if (!parse_uint(name, &id) || id >= SYSFS_QUEUES ||
	    !read_number(dir, name, "gpuid", &gpu_id) || !read_number(dir, name, "type", &type) ||
	    !read_number(dir, name, "size", &bytes))
		return false;
	*out = (struct sysfs_queue){
		.id = (uint32_t)id,
		.gpu_id = (uint32_t)gpu_id,
		.type = (uint32_t)type,
		.ring_bytes = bytes,
	};
	return gpu_id != 0;
}

int sysfs_queues(pid_t pid, struct sysfs_queue *out, size_t max)
{
	struct dirent *entry;
	char path[64];
	size_t n = 0;
	DIR *dir;

	snprintf(path, sizeof(path), SYSFS_PROCESSES "/%d/queues", (int)pid);
	dir = opendir(path);
	if (!dir)
		return -ENOENT;
	while (n < max && (entry = readdir(dir)))
		if (sysfs_queue_read(dirfd(dir), entry->d_name, &out[n]))
			n++;
	closedir(dir);
	return (int)n;
}

uint64_t sysfs_dir(pid_t pid)
{
	char path[64];
	struct stat st;

	snprintf(path, sizeof(path), SYSFS_PROCESSES "/%d", (int)pid);
	return stat(path, &st) ? 0 : st.st_ino;
}

size_t sysfs_processes(pid_t *out, size_t max)
{
	DIR *dir = opendir(SYSFS_PROCESSES);
	struct dirent *entry;
	uint64_t pid;
	size_t n = 0;

	while (dir && n < max && (entry = readdir(dir)))
		if (parse_uint(entry->d_name, &pid) && pid < INT_MAX)
			out[n++] = (pid_t)pid;
	if (dir)
		closedir(dir);
	return n;
}

bool sysfs_is_compute(const struct sysfs_queue *queue)
{
	return queue->type == TYPE_COMPUTE;
}

const char *sysfs_type_name(const struct sysfs_queue *queue)
{
	if (queue->type == TYPE_COMPUTE)
		return "compute";
	return queue->type == TYPE_SDMA ? "sdma" : "xgmi";
}

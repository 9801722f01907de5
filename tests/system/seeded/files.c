// SPDX-License-Identifier: MIT
#include "tests/system/seeded/files.h"

#include <stdlib.h>
#include <string.h>

#define FIRST 3
#define MEMORY_FILES 1024
#define SETS 64

static struct file *memory_files[MEMORY_FILES]; /* memory files that stay to the end of the run */
static unsigned memory_file_count;
static struct file *sets[SETS]; /* all epoll files; NULL: free */

static void add_set(struct file *file)
{
	int i = 0;

	while (i < SETS && sets[i])
		i++;
	file->watches = calloc(WATCHES, sizeof(*file->watches));
	if (i == SETS || !file->watches)
		abort();
	sets[i] = file;
}

struct file *file_new(enum kind kind)
{
	struct file *file = calloc(1, sizeof(*file));

	if (!file)
		abort();
	file->kind = kind;
	file->holders = 1;
	file->whose = fiber_process();
	if (kind == EPOLL)
		add_set(file);
	return file;
}

struct file *file_hold(struct file *file)
{
	file->holders++;
	return file;
}

void packet_free(struct packet *packet)
{
	for (size_t i = 0; i < packet->file_count; i++)
		file_drop(packet->files[i]);
	free(packet);
}

/* An epoll file does not hold the files that it watches, so a file that is freed must be removed
 * from all of them. */
static void forget(const struct file *file)
{
	for (int i = 0; i < SETS; i++) {
		if (sets[i] == file)
			sets[i] = NULL;
		for (int k = 0; sets[i] && k < WATCHES; k++)
			if (sets[i]->watches[k].file == file)
				sets[i]->watches[k].file = NULL;
	}
}

void file_drop(struct file *file)
{
	if (--file->holders)
		return;
	if (file->peer) {
		file->peer->peer = NULL;
		file_changes(file->peer);
	}
	while (file->packets) {
		struct packet *packet = file->packets;

		file->packets = packet->next;
		packet_free(packet);
	}
	forget(file);
	free(file->watches);
	free(file->memory);
	free(file);
}

int file_open(struct process *owner, struct file *file)
{
	int fd = FIRST;

	if (!owner) {
		if (memory_file_count == MEMORY_FILES)
			abort();
		memory_files[memory_file_count++] = file;
		return -1;
	}
	while (fd < DESCRIPTORS && owner->files[fd])
		fd++;
	if (fd == DESCRIPTORS) {
		fail("a process has more than %d descriptors", DESCRIPTORS);
		file_drop(file);
		errno = EMFILE;
		return -1;
	}
	owner->files[fd] = file;
	return fd;
}

void files_end(void)
{
	while (memory_file_count)
		file_drop(memory_files[--memory_file_count]);
}

struct file *file_at(int fd, const struct process *owner)
{
	return fd >= FIRST && fd < DESCRIPTORS ? owner->files[fd] : NULL;
}

struct file *file_of(int fd)
{
	struct file *file = file_at(fd, fiber_process());

	if (!file)
		errno = EBADF;
	return file;
}

int file_close(int fd)
{
	struct file *file = file_of(fd);

	if (!file) {
		fail("descriptor %d is closed, and it is not open", fd);
		return -1;
	}
	fiber_process()->files[fd] = NULL;
	file_drop(file);
	return 0;
}

void files_close_of(struct process *owner)
{
	for (int fd = FIRST; fd < DESCRIPTORS; fd++) {
		struct file *file = owner->files[fd];

		owner->files[fd] = NULL;
		if (file)
			file_drop(file);
	}
}

unsigned files_open(const struct process *owner)
{
	unsigned count = 0;

	for (int fd = FIRST; fd < DESCRIPTORS; fd++)
		count += owner->files[fd] != NULL;
	return count;
}

bool file_readable(const struct file *file)
{
	switch (file->kind) {
	case EVENT:
	case PIPE_IN:
	case SIGNALS:
		return file->count;
	case SOCKET:
		return file->packets;
	case PIDFD:
		return file->whose->gone;
	default:
		return false;
	}
}

bool file_hung_up(const struct file *file)
{
	return (file->kind == SOCKET || file->kind == PIPE_IN) && !file->peer;
}

void file_changes(struct file *file)
{
	file->changes++;
	fiber_changed();
}

void file_pair(struct file *ends[2])
{
	ends[0] = file_new(SOCKET);
	ends[1] = file_new(SOCKET);
	ends[0]->peer = ends[1];
	ends[1]->peer = ends[0];
}

int file_send(struct file *file, const void *data, size_t size, struct file *const *files,
	      size_t count)
{
	struct packet *packet, **at;

	if (!file->peer)
		return -EPIPE;
	packet = calloc(1, sizeof(*packet));
	if (!packet || size > PACKET_BYTES || count > PACKET_FILES)
		abort();
	packet->size = size;
	memcpy(packet->bytes, data, size);
	packet->file_count = count;
	for (size_t i = 0; i < count; i++)
		packet->files[i] = file_hold(files[i]);
	at = &file->peer->packets;
	while (*at)
		at = &(*at)->next;
	*at = packet;
	file_changes(file->peer);
	return 0;
}

struct packet *file_receive(struct file *file)
{
	struct packet *packet = file->packets;

	if (packet)
		file->packets = packet->next;
	return packet;
}

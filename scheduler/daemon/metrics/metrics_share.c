// SPDX-License-Identifier: MIT
#include "scheduler/daemon/metrics/metrics_share.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "scheduler/daemon/memory.h"

#define SLOTS 2u
#define READ_TRIES 8 /* more than enough, because one snapshot a second is written */
#define SEALS (F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_FUTURE_WRITE | F_SEAL_SEAL)

struct snapshots {
	uint32_t current; /* worker: 1; watchdog: 0, when that worker has ended */
	/* number of the last complete snapshot, which is in slot[number % SLOTS]; 0: none */
	uint32_t number;
	struct metrics_snapshot slot[SLOTS];
};

static struct snapshots *written;	 /* the memory for writing; NULL in the reader */
static const struct snapshots *readable; /* the same memory, read-only */
static struct metrics_reader *reader;

static void *map(int fd, size_t size, int protection)
{
	void *at = mmap(NULL, size, protection, MAP_SHARED | (fd < 0 ? MAP_ANONYMOUS : 0), fd, 0);

	return at == MAP_FAILED ? NULL : at;
}

int metrics_share_create(void)
{
	int fd = memfd_create("kfdschedd-metrics", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	int error = 0;

	if (fd < 0 || ftruncate(fd, sizeof(*written)) < 0)
		error = -errno;
	if (!error && !(written = map(fd, sizeof(*written), PROT_READ | PROT_WRITE)))
		error = -errno;
	/* From here on the file can only be mapped read-only. */
	if (!error && fcntl(fd, F_ADD_SEALS, SEALS) < 0)
		error = -errno;
	if (!error && (!(readable = map(fd, sizeof(*written), PROT_READ)) ||
		       !(reader = map(-1, sizeof(*reader), PROT_READ | PROT_WRITE))))
		error = -errno;
	if (fd >= 0)
		close(fd);
	if (error)
		written = NULL;
	return error;
}

void metrics_share_worker_ended(void)
{
	if (written)
		__atomic_store_n(&written->current, 0, __ATOMIC_RELEASE);
}

struct metrics_snapshot *metrics_share_room(void)
{
	if (!written)
		return NULL;
	/* The number of the other slot must be visible before writes to this slot, because the
	 * reader would otherwise miss that its copy is torn. */
	__atomic_thread_fence(__ATOMIC_RELEASE);
	return &written->slot[(written->number + 1) % SLOTS];
}

void metrics_share_publish(void)
{
	__atomic_store_n(&written->number, written->number + 1, __ATOMIC_RELEASE);
	__atomic_store_n(&written->current, 1, __ATOMIC_RELEASE);
}

struct metrics_reader *metrics_share_counts(void)
{
	return reader;
}

int metrics_share_read_only(void)
{
	written = NULL;
	return memory_unshare(reader, true);
}

bool metrics_share_current(void)
{
	return readable && __atomic_load_n(&readable->current, __ATOMIC_ACQUIRE);
}

bool metrics_share_read(struct metrics_snapshot *out)
{
	for (int i = 0; readable && i < READ_TRIES; i++) {
		uint32_t number = __atomic_load_n(&readable->number, __ATOMIC_ACQUIRE);

		if (number == 0)
			return false;
		memcpy(out, &readable->slot[number % SLOTS], sizeof(*out));
		__atomic_thread_fence(__ATOMIC_ACQUIRE);
		if (__atomic_load_n(&readable->number, __ATOMIC_RELAXED) == number)
			return true;
	}
	return false;
}

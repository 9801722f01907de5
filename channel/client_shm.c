// SPDX-License-Identifier: MIT
#include "channel/client_shm.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "kfd/uapi.h"

#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL 0x0008u
#endif

#define SEALS_SIZE (F_SEAL_SHRINK | F_SEAL_GROW)
#define SEALS_DAEMON_SHM (SEALS_SIZE | F_SEAL_FUTURE_WRITE)

/* Bound on the tries to read an entry. A client writes an entry within nanoseconds, so only a
 * hostile one changes it this often. */
#define READ_TRIES 64
#define QUEUE_IDS 1024u /* KFD's ids are below this */
#define PRIORITIES 16u
#define QUEUE_TYPES 5u /* number of types in KFD 1.17; the last is "SDMA by engine" */

/* struct client_shm_queue as 32-bit words; word 0 is `seq`. */
#define QUEUE_WORDS (sizeof(struct client_shm_queue) / sizeof(uint32_t))

size_t client_shm_bytes(uint32_t version)
{
	if (version == CLIENT_SHM_OLDEST)
		return offsetof(struct client_shm, more_nodes);
	return version == CLIENT_SHM_VERSION ? sizeof(struct client_shm) : 0;
}

size_t daemon_shm_bytes(uint32_t version)
{
	if (version == CLIENT_SHM_OLDEST)
		return offsetof(struct daemon_shm, nodes[CLIENT_SHM_NODES_2]);
	return version == CLIENT_SHM_VERSION ? sizeof(struct daemon_shm) : 0;
}

/* Maps `size` bytes at *out. The file has only `bytes` of them if it is of an older version. The
 * pages behind the file's last page are private to this process, so such a file needs no special
 * case. */
static int map_file(int fd, size_t bytes, size_t size, int prot, void **out)
{
	bool whole = bytes == size;
	void *map = whole ? mmap(NULL, size, prot, MAP_SHARED, fd, 0)
			  : mmap(NULL, size, prot, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int err;

	if (map == MAP_FAILED)
		return -errno;
	if (!whole && mmap(map, bytes, prot, MAP_SHARED | MAP_FIXED, fd, 0) == MAP_FAILED) {
		err = -errno;
		munmap(map, size);
		return err;
	}
	*out = map;
	return 0;
}

/* Creates a memfd of this size. Returns an fd or a negative errno. */
static int memory_fd(const char *name, size_t bytes)
{
	int fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING | MFD_NOEXEC_SEAL), err;

	if (fd < 0 && errno == EINVAL) /* MFD_NOEXEC_SEAL is new in Linux 6.3 */
		fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (fd < 0)
		return -errno;
	/* Write the last byte to set the size, because the daemon's system call filter does not
	 * allow calls that could shorten a file (ftruncate). */
	if (pwrite(fd, "", 1, (off_t)bytes - 1) == 1)
		return fd;
	err = -errno;
	close(fd);
	return err;
}

/* The first fields of struct client_shm and of struct daemon_shm. */
struct head {
	uint64_t magic;
	uint32_t version, size;
};
_Static_assert(offsetof(struct client_shm, size) == offsetof(struct head, size) &&
		       offsetof(struct daemon_shm, size) == offsetof(struct head, size),
	       "heads");

/* A kind of shared memory. */
struct kind {
	const char *name;
	uint64_t magic;
	size_t (*bytes)(uint32_t version);
	size_t size;	 /* size of the mapping, in bytes */
	int seals, prot; /* seals that the fd must have; PROT_* of a client's mapping */
};
static const struct kind client_kind = {
	.name = "kfdshim-lane",
	.magic = CLIENT_SHM_MAGIC,
	.bytes = client_shm_bytes,
	.size = sizeof(struct client_shm),
	.seals = SEALS_SIZE,
	.prot = PROT_READ | PROT_WRITE,
};
static const struct kind daemon_kind = {
	.name = "kfdshim-board",
	.magic = DAEMON_SHM_MAGIC,
	.bytes = daemon_shm_bytes,
	.size = sizeof(struct daemon_shm),
	.seals = SEALS_DAEMON_SHM,
	.prot = PROT_READ,
};

static int memory_create(const struct kind *kind, uint32_t version, void **out)
{
	size_t bytes = kind->bytes(version);
	int fd = memory_fd(kind->name, bytes), err;

	if (fd < 0)
		return fd;
	err = map_file(fd, bytes, kind->size, PROT_READ | PROT_WRITE, out);
	if (!err) {
		*(struct head *)*out = (struct head){kind->magic, version, (uint32_t)bytes};
		if (fcntl(fd, F_ADD_SEALS, kind->seals | F_SEAL_SEAL) == 0)
			return fd;
		err = -errno;
		munmap(*out, kind->size);
	}
	close(fd);
	return err;
}

static int memory_map(const struct kind *kind, int fd, void **out)
{
	struct head head;
	struct stat st;
	int have;

	if (fstat(fd, &st) != 0)
		return -errno;
	have = fcntl(fd, F_GET_SEALS);
	if (!S_ISREG(st.st_mode) || have < 0 || (have & kind->seals) != kind->seals)
		return -EPROTO;
	if (pread(fd, &head, sizeof(head), 0) != (ssize_t)sizeof(head) ||
	    head.magic != kind->magic || head.size == 0 || head.size != kind->bytes(head.version) ||
	    st.st_size != (off_t)head.size)
		return -EPROTO;
	return map_file(fd, head.size, kind->size, kind->prot, out);
}

int client_shm_create(uint32_t version, struct client_shm **out)
{
	void *map;
	int fd = memory_create(&client_kind, version, &map);

	if (fd >= 0)
		*out = map;
	return fd;
}

int daemon_shm_create(uint32_t version, struct daemon_shm **out)
{
	void *map;
	int fd = memory_create(&daemon_kind, version, &map);

	if (fd >= 0)
		*out = map;
	return fd;
}

int client_shm_map(int fd, struct client_shm **out)
{
	void *map;
	int err = memory_map(&client_kind, fd, &map);

	if (!err)
		*out = map;
	return err;
}

int daemon_shm_map(int fd, const struct daemon_shm **out)
{
	void *map;
	int err = memory_map(&daemon_kind, fd, &map);

	if (!err)
		*out = map;
	return err;
}

void client_shm_unmap(struct client_shm *shm)
{
	munmap(shm, sizeof(*shm));
}

void daemon_shm_unmap(const struct daemon_shm *daemon_shm)
{
	munmap((void *)(uintptr_t)daemon_shm, sizeof(*daemon_shm));
}

/*
 * Copies an entry word by word with atomic accesses, because another process can access the entry
 * at any moment: the daemon reads it, and a hostile client also writes it.
 */
static void entry_load(const struct client_shm_queue *entry, struct client_shm_queue *out)
{
	const uint32_t *from = (const uint32_t *)entry;
	uint32_t *to = (uint32_t *)out;

	for (size_t i = 1; i < QUEUE_WORDS; i++)
		to[i] = __atomic_load_n(&from[i], __ATOMIC_RELAXED);
}

/* Writes an entry under its sequence counter: makes it odd, writes the fields, makes it even. A
 * reader that finds the same even number before and after its copy has a consistent one. */
static void entry_store(struct client_shm_queue *entry, const struct client_shm_queue *queue)
{
	uint32_t *to = (uint32_t *)entry;
	const uint32_t *from = (const uint32_t *)queue;
	uint32_t seq = __atomic_load_n(&entry->seq, __ATOMIC_RELAXED) & ~1u;

	__atomic_store_n(&entry->seq, seq + 1, __ATOMIC_RELAXED);
	__atomic_thread_fence(__ATOMIC_RELEASE);
	for (size_t i = 1; i < QUEUE_WORDS; i++)
		__atomic_store_n(&to[i], from[i], __ATOMIC_RELAXED);
	__atomic_store_n(&entry->seq, seq + 2, __ATOMIC_RELEASE);
}

uint32_t client_shm_queue_end(const struct client_shm *shm)
{
	uint32_t end = __atomic_load_n(&shm->queue_end, __ATOMIC_ACQUIRE);

	return end < CLIENT_SHM_QUEUES ? end : CLIENT_SHM_QUEUES;
}

void client_shm_queue_write(struct client_shm *shm, uint32_t slot,
			    const struct client_shm_queue *queue)
{
	struct client_shm_queue old, new = *queue;
	bool activity_only;

	if (slot >= CLIENT_SHM_QUEUES)
		return;
	/* A change of only `state` is not counted in queue_generation, because it happens with each
	 * burst of work. */
	old.seq = new.seq = 0;
	entry_load(&shm->queues[slot], &old);
	old.state = new.state;
	activity_only = memcmp(&old, &new, sizeof(old)) == 0;
	entry_store(&shm->queues[slot], &new);
	if (new.used && slot >= client_shm_queue_end(shm))
		__atomic_store_n(&shm->queue_end, slot + 1, __ATOMIC_RELEASE);
	if (!activity_only)
		__atomic_add_fetch(&shm->queue_generation, 1, __ATOMIC_RELEASE);
}

void client_shm_queue_clear(struct client_shm *shm, uint32_t slot)
{
	static const struct client_shm_queue none;

	client_shm_queue_write(shm, slot, &none);
}

int client_shm_node_slot(struct client_shm *shm, uint32_t gpu_id)
{
	uint32_t have;

	for (uint32_t i = 0; i < client_shm_nodes(shm->version); i++) {
		have = client_shm_node_id(shm, i);
		if (have == gpu_id)
			return (int)i;
		if (have == 0) {
			__atomic_store_n(&client_shm_node(shm, i)->gpu_id, gpu_id,
					 __ATOMIC_RELEASE);
			return (int)i;
		}
	}
	return -ENOSPC;
}

bool client_shm_node_set(struct client_shm *shm, uint32_t slot, bool active, uint64_t now_ns)
{
	struct client_shm_node *node;
	uint64_t word;
	bool changed;

	if (slot >= CLIENT_SHM_NODES)
		return false;
	node = client_shm_node(shm, slot);
	word = __atomic_load_n(&node->activity, __ATOMIC_RELAXED);
	changed = (word & 1) != active;
	if (changed) {
		__atomic_store_n(active ? &node->active_ns : &node->idle_ns, now_ns,
				 __ATOMIC_RELAXED);
		word = ((word >> 1) + 1) << 1 | active;
		__atomic_store_n(&node->activity, word, __ATOMIC_RELEASE);
	}
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	return changed;
}

/* Returns true if all fields of the copy are within their ranges. Addresses cannot be checked. */
static bool queue_in_range(const struct client_shm_queue *q)
{
	return q->used == 1 && q->queue_id < QUEUE_IDS && q->gpu_id != 0 &&
	       (q->type < QUEUE_TYPES || q->type == CLIENT_SHM_TYPE_DRM) &&
	       q->priority < PRIORITIES && q->percent <= 100 && q->hooked <= 1 &&
	       q->cooperative <= 1 && q->state <= CLIENT_SHM_QUEUE_BLOCKED;
}

int client_shm_queue_read(const struct client_shm *shm, uint32_t slot, struct client_shm_queue *out)
{
	const struct client_shm_queue *entry;
	uint32_t before, after;

	if (slot >= CLIENT_SHM_QUEUES)
		return -ENOENT;
	entry = &shm->queues[slot];
	for (int i = 0; i < READ_TRIES; i++) {
		before = __atomic_load_n(&entry->seq, __ATOMIC_ACQUIRE);
		if (before & 1)
			continue;
		entry_load(entry, out);
		__atomic_thread_fence(__ATOMIC_ACQUIRE);
		after = __atomic_load_n(&entry->seq, __ATOMIC_RELAXED);
		if (before != after)
			continue;
		out->seq = before;
		if (out->used == 0)
			return -ENOENT;
		return queue_in_range(out) ? 0 : -ERANGE;
	}
	return -EAGAIN;
}

int client_shm_node_read(const struct client_shm *shm, uint32_t slot, struct client_shm_node *out)
{
	const struct client_shm_node *node;

	out->gpu_id = client_shm_node_id(shm, slot);
	if (out->gpu_id == 0)
		return -ENOENT;
	node = client_shm_node((struct client_shm *)(uintptr_t)shm, slot);
	out->pad = 0;
	/* Load this word first: the client stores the times before the word. */
	out->activity = __atomic_load_n(&node->activity, __ATOMIC_ACQUIRE);
	out->active_ns = __atomic_load_n(&node->active_ns, __ATOMIC_RELAXED);
	out->idle_ns = __atomic_load_n(&node->idle_ns, __ATOMIC_RELAXED);
	out->vram_bytes = __atomic_load_n(&node->vram_bytes, __ATOMIC_RELAXED);
	return 0;
}

void client_shm_event_add(struct client_shm *shm, const struct client_shm_event *event)
{
	uint64_t number = __atomic_load_n(&shm->events_number, __ATOMIC_RELAXED) + 1;
	struct client_shm_event *to = &shm->events[number % CLIENT_SHM_EVENTS];

	/* The number is 0 while the event is written, so that a reader can detect that it has read
	 * a mixture of the old and the new event. */
	__atomic_store_n(&to->number, 0, __ATOMIC_RELAXED);
	__atomic_thread_fence(__ATOMIC_RELEASE);
	__atomic_store_n(&to->ns, event->ns, __ATOMIC_RELAXED);
	__atomic_store_n(&to->kind, event->kind, __ATOMIC_RELAXED);
	__atomic_store_n(&to->context, event->context, __ATOMIC_RELAXED);
	__atomic_store_n(&to->queue_id, event->queue_id, __ATOMIC_RELAXED);
	__atomic_store_n(&to->gpu_id, event->gpu_id, __ATOMIC_RELAXED);
	__atomic_store_n(&to->value, event->value, __ATOMIC_RELAXED);
	__atomic_store_n(&to->number, number, __ATOMIC_RELEASE);
	__atomic_store_n(&shm->events_number, number, __ATOMIC_RELEASE);
}

int client_shm_event_read(const struct client_shm *shm, uint64_t number,
			  struct client_shm_event *out)
{
	const struct client_shm_event *from = &shm->events[number % CLIENT_SHM_EVENTS];

	if (number == 0 || __atomic_load_n(&from->number, __ATOMIC_ACQUIRE) != number)
		return -ENOENT;
	out->number = number;
	out->ns = __atomic_load_n(&from->ns, __ATOMIC_RELAXED);
	out->kind = __atomic_load_n(&from->kind, __ATOMIC_RELAXED);
	out->context = __atomic_load_n(&from->context, __ATOMIC_RELAXED);
	out->queue_id = __atomic_load_n(&from->queue_id, __ATOMIC_RELAXED);
	out->gpu_id = __atomic_load_n(&from->gpu_id, __ATOMIC_RELAXED);
	out->value = __atomic_load_n(&from->value, __ATOMIC_RELAXED);
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	if (__atomic_load_n(&from->number, __ATOMIC_RELAXED) != number)
		return -EAGAIN;
	return out->kind > CLIENT_SHM_EVENT_NONE && out->kind < CLIENT_SHM_EVENT_KINDS ? 0
										       : -ERANGE;
}

_Static_assert(sizeof(struct client_shm_queue) % sizeof(uint64_t) == 0, "copied in whole words");
_Static_assert(KFD_IOC_QUEUE_TYPE_SDMA_XGMI < QUEUE_TYPES, "queue types");

/* ---- names of values, for the shim's log, the daemon's status and dumps ---- */

static const char *name_of(const char *const *names, uint32_t n, uint32_t value)
{
	return value < n ? names[value] : "?";
}
#define NAME_OF(names, value) name_of(names, sizeof(names) / sizeof(*(names)), value)

const char *client_shm_level_name(uint32_t level)
{
	static const char *const names[] = {
		[CLIENT_SHM_LEVEL_NONE] = "none",
		[CLIENT_SHM_LEVEL_SELF] = "self",
		[CLIENT_SHM_LEVEL_GATE] = "gate",
		[CLIENT_SHM_LEVEL_WEIGHT] = "weight",
	};

	return NAME_OF(names, level);
}

const char *client_shm_state_name(uint32_t state)
{
	static const char *const names[] = {
		[CLIENT_SHM_QUEUE_IDLE] = "idle",
		[CLIENT_SHM_QUEUE_ACTIVE] = "active",
		[CLIENT_SHM_QUEUE_BLOCKED] = "blocked",
	};

	return NAME_OF(names, state);
}

const char *client_shm_event_name(uint32_t kind)
{
	static const char *const names[CLIENT_SHM_EVENT_KINDS] = {
		[CLIENT_SHM_EVENT_NONE] = "none",
		[CLIENT_SHM_EVENT_QUEUE_CREATED] = "created",
		[CLIENT_SHM_EVENT_QUEUE_UPDATED] = "updated",
		[CLIENT_SHM_EVENT_QUEUE_DESTROYED] = "destroyed",
		[CLIENT_SHM_EVENT_QUEUE_ACTIVE] = "active",
		[CLIENT_SHM_EVENT_QUEUE_IDLE] = "idle",
		[CLIENT_SHM_EVENT_QUEUE_BLOCKED] = "blocked",
		[CLIENT_SHM_EVENT_HELD] = "held",
		[CLIENT_SHM_EVENT_RELEASED] = "released",
		[CLIENT_SHM_EVENT_SESSION] = "session",
		[CLIENT_SHM_EVENT_RUNTIME] = "runtime",
		[CLIENT_SHM_EVENT_FAILED] = "failed",
	};

	return NAME_OF(names, kind);
}

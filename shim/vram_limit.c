// SPDX-License-Identifier: MIT
#include "shim/vram_limit.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>

#include "kfd/uapi.h"
#include "shim/activity.h"
#include "shim/config.h"
#include "shim/kfd_context.h"
#include "shim/publish.h"
#include "shim/safe_read.h"

#define PAGE 4096u /* page size of the driver; sizes are rounded up to it */
#define FIRST_ROOM 256u

#define PAGES_BITS 50
/* An allocation. Handle and context identify it, because each context has handles of its own. */
struct vram_buffer {
	uint64_t handle;
	/* bucket_of: index in nodes[] + 1; 0: free entry */
	uint64_t pages : PAGES_BITS, context : 6, bucket_of : 8;
};
_Static_assert(CLIENT_SHM_NODES < 1u << 8 && CONTEXT_UNSEEN < 1u << 6, "they fit");

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* VRAM of each GPU. Protected by `lock`; vram_publish() also reads single fields without it. */
static struct {
	uint32_t gpu_id; /* 0: free entry */
	uint64_t bytes;
} nodes[CLIENT_SHM_NODES];
static struct vram_buffer *buffers; /* hash table with open addressing, key: handle */
static size_t room, used;

static size_t bucket_of(uint64_t handle)
{
	return (size_t)((handle * 0x9e3779b97f4a7c15ull) >> 32) & (room - 1);
}

/* Returns the index in `buffers` of the entry with this context and handle, or, if there is none,
 * of the free entry where it can be inserted. */
static size_t find(uint32_t context, uint64_t handle)
{
	size_t i = bucket_of(handle);

	while (buffers[i].bucket_of &&
	       (buffers[i].handle != handle || buffers[i].context != context))
		i = (i + 1) & (room - 1);
	return i;
}

static bool grow(void)
{
	struct vram_buffer *old = buffers, *wider;
	size_t old_room = room;

	wider = calloc(room ? 2 * room : FIRST_ROOM, sizeof(*wider));
	if (!wider)
		return false;
	buffers = wider;
	room = room ? 2 * room : FIRST_ROOM;
	for (size_t i = 0; i < old_room; i++)
		if (old[i].bucket_of)
			buffers[find(old[i].context, old[i].handle)] = old[i];
	free(old);
	return true;
}

static uint32_t node_in(struct vram_buffer buffer)
{
	return buffer.bucket_of - 1u;
}

static uint64_t bytes_in(struct vram_buffer buffer)
{
	return (uint64_t)buffer.pages * PAGE;
}

static void give_back(struct vram_buffer buffer)
{
	uint64_t *bytes = &nodes[node_in(buffer)].bytes;

	__atomic_store_n(bytes, *bytes - bytes_in(buffer), __ATOMIC_RELAXED);
}

static bool insert(struct vram_buffer buffer)
{
	size_t i;

	if (used + 1 > room / 2 && !grow())
		return false;
	i = find(buffer.context, buffer.handle);
	if (buffers[i].bucket_of) /* the old allocation was freed by a call that no hook saw */
		give_back(buffers[i]);
	else
		used++;
	buffers[i] = buffer;
	return true;
}

/* Removes an entry and returns it; returns all zero if there is none. Moves up the entries behind
 * it that are there because of a collision, so that find() still reaches them. */
static struct vram_buffer take(uint32_t context, uint64_t handle)
{
	struct vram_buffer none = {0}, found;
	size_t hole, i, home;

	if (!room)
		return none;
	hole = find(context, handle);
	found = buffers[hole];
	if (!found.bucket_of)
		return none;
	used--;
	for (i = (hole + 1) & (room - 1); buffers[i].bucket_of; i = (i + 1) & (room - 1)) {
		home = bucket_of(buffers[i].handle);
		if (((i - home) & (room - 1)) < ((i - hole) & (room - 1)))
			continue;
		buffers[hole] = buffers[i];
		hole = i;
	}
	buffers[hole] = none;
	return found;
}

/* Returns the index of a GPU in nodes[]; appends a new GPU. Returns CLIENT_SHM_NODES if nodes[] is
 * full. */
static uint32_t node_of(uint32_t gpu_id)
{
	static bool reported;

	for (uint32_t i = 0; i < CLIENT_SHM_NODES; i++) {
		if (nodes[i].gpu_id == 0)
			__atomic_store_n(&nodes[i].gpu_id, gpu_id, __ATOMIC_RELEASE);
		if (nodes[i].gpu_id == gpu_id)
			return i;
	}
	if (!reported)
		kfdshim_log(
			LOG_ERROR,
			"this process uses more than %u GPUs: its VRAM on the others, %u among them, "
			"is not counted, and KFDSHIM_VRAM_LIMIT does not apply there",
			CLIENT_SHM_NODES, gpu_id);
	reported = true;
	return CLIENT_SHM_NODES;
}

static void publish(uint32_t node)
{
	agent_lock();
	link_vram(nodes[node].gpu_id, nodes[node].bytes);
	agent_unlock();
}

/* Adds @bytes to the count of the node before the call is forwarded, so that two threads cannot
 * both use the last free bytes. Returns false, and adds nothing, if the sum is above the limit. */
static bool reserve(uint32_t node, uint64_t bytes)
{
	uint64_t sum;

	if (__builtin_add_overflow(nodes[node].bytes, bytes, &sum) ||
	    sum > config.vram_limit_bytes || sum / PAGE >> PAGES_BITS)
		return false;
	__atomic_store_n(&nodes[node].bytes, sum, __ATOMIC_RELAXED);
	return true;
}

static void refused(uint32_t gpu_id, uint64_t bytes)
{
	kfdshim_log(
		LOG_INFO,
		"%llu bytes of VRAM on node %u are refused: KFDSHIM_VRAM_LIMIT is %llu, of which %llu "
		"are free; free memory or set a higher limit",
		(unsigned long long)bytes, gpu_id, (unsigned long long)config.vram_limit_bytes,
		(unsigned long long)(config.vram_limit_bytes - nodes[node_of(gpu_id)].bytes));
}

/* Returns the bytes of VRAM that this call allocates, in whole pages; 0: none, or no GPU is
 * named. */
static uint64_t bytes_of(const struct kfd_ioctl_alloc_memory_of_gpu_args *args)
{
	uint64_t bytes = args->size;

	if (!(args->flags & KFD_IOC_ALLOC_MEM_FLAGS_VRAM) || args->gpu_id == 0)
		return 0;
	if (args->flags & KFD_IOC_ALLOC_MEM_FLAGS_AQL_QUEUE_MEM)
		bytes >>= 1;
	return bytes > UINT64_MAX - PAGE ? bytes & -(uint64_t)PAGE
					 : (bytes + PAGE - 1) & -(uint64_t)PAGE;
}

/* Completes a driver call: records the buffer if it exists (@is_there), otherwise subtracts its
 * bytes from the count. Publishes the count. */
static void settle(struct vram_buffer buffer, bool is_there)
{
	pthread_mutex_lock(&lock);
	if (!is_there) {
		give_back(buffer);
	} else if (!insert(buffer)) {
		give_back(buffer);
		kfdshim_log(
			LOG_ERROR,
			"%llu bytes of VRAM are no longer counted, because there is no memory for "
			"that; %s",
			(unsigned long long)bytes_in(buffer), remedy(ENOMEM, ""));
	}
	publish(node_in(buffer));
	pthread_mutex_unlock(&lock);
}

int vram_alloc(const struct kfdshim_preload_iface *host, int fd, unsigned long request, void *arg)
{
	struct kfd_ioctl_alloc_memory_of_gpu_args args;
	struct vram_buffer buffer;
	uint64_t bytes = 0;
	int result, err;
	uint32_t node, context = context_of_fd(fd);
	bool fits = true;

	if (context != CONTEXT_UNSEEN && _IOC_SIZE((unsigned)request) >= sizeof(args) &&
	    memory_read_mapped(&args, (uintptr_t)arg, sizeof(args)))
		bytes = bytes_of(&args);
	if (!bytes)
		return host->ioctl(fd, request, arg);
	err = errno;
	pthread_mutex_lock(&lock);
	node = node_of(args.gpu_id);
	if (node < CLIENT_SHM_NODES)
		fits = reserve(node, bytes);
	if (!fits)
		refused(args.gpu_id, bytes);
	pthread_mutex_unlock(&lock);
	if (!fits) {
		errno = ENOMEM;
		return -1;
	}
	errno = err;
	result = host->ioctl(fd, request, arg);
	err = errno;
	if (result == 0)
		memcpy(&args, arg, sizeof(args));
	buffer = (struct vram_buffer){.handle = args.handle,
				      .pages = bytes / PAGE & ((1ull << PAGES_BITS) - 1),
				      .context = context & 0x3f,
				      .bucket_of = (node + 1) & 0xff};
	if (node < CLIENT_SHM_NODES)
		settle(buffer, result == 0);
	errno = err;
	return result;
}

int vram_free(const struct kfdshim_preload_iface *host, int fd, unsigned long request, void *arg)
{
	struct kfd_ioctl_free_memory_of_gpu_args args;
	struct vram_buffer buffer = {0};
	int result, err;

	/* Remove the entry before the call, because the driver may give the handle to another
	 * thread before this call has returned. The bytes stay counted until it has returned. */
	if (memory_read_mapped(&args, (uintptr_t)arg, sizeof(args))) {
		pthread_mutex_lock(&lock);
		buffer = take(context_of_fd(fd), args.handle);
		pthread_mutex_unlock(&lock);
	}
	result = host->ioctl(fd, request, arg);
	if (!buffer.bucket_of)
		return result;
	err = errno;
	settle(buffer, result != 0);
	errno = err;
	return result;
}

void vram_context_ended(uint32_t context)
{
	struct vram_buffer gone;

	pthread_mutex_lock(&lock);
	/* take() moves later entries up, so the same index is checked again after it. */
	for (size_t i = 0; i < room;) {
		if (!buffers[i].bucket_of || buffers[i].context != context) {
			i++;
			continue;
		}
		gone = take(context, buffers[i].handle);
		give_back(gone);
		publish(node_in(gone));
	}
	pthread_mutex_unlock(&lock);
}

void vram_publish(void)
{
	uint32_t gpu_id;

	for (uint32_t i = 0; i < CLIENT_SHM_NODES; i++) {
		gpu_id = __atomic_load_n(&nodes[i].gpu_id, __ATOMIC_ACQUIRE);
		if (gpu_id)
			link_vram(gpu_id, __atomic_load_n(&nodes[i].bytes, __ATOMIC_RELAXED));
	}
}

void vram_forget(void)
{
	pthread_mutex_init(&lock, NULL);
	memset(nodes, 0, sizeof(nodes));
	buffers = NULL;
	room = used = 0;
}

// SPDX-License-Identifier: MIT
/*
 * Implements the ioctls by which libdrm creates, maps and shares buffers of a render node's open
 * file (amdgpu_gem.c, drm_prime.c of Linux 6.12). The buffers' GPU addresses are valid for the KFD
 * process that has acquired this file's page table.
 */
#include <errno.h>
#include <fcntl.h>
#include <libdrm/amdgpu_drm.h>
#include <libdrm/drm.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <unistd.h>

#include "common/array.h"
#include "sim/driver/drm/drm_file.h"

/* ---- dmabufs ----
 * Simulates dmabufs, which are fds that pass buffers to other processes. The fd belongs to an empty
 * file of the buffer's size. Device and inode of the file identify the buffer's pages in every
 * process to which the fd is sent. The fd is open for writing only, so mapping it fails (EACCES),
 * whereas a real dmabuf can be mapped: the pages are not in this file but in the middle of the
 * render file. inotify reports when the last fd is closed.
 */

struct dmabuf {
	LIST_ENTRY(dmabuf) link;
	struct pages *pages; /* referenced */
	dev_t dev;
	ino_t ino;
	int watch;
};

/* Creates an empty file and returns an fd of it, or a negative errno. Sets *@watch to the inotify
 * watch that reports when the last fd is closed. */
static int file_new(struct sim *sim, uint64_t bytes, int *watch)
{
	int memory = memfd_create("dmabuf", MFD_CLOEXEC), fd, r;
	char path[40];

	if (memory < 0)
		return -errno;
	snprintf(path, sizeof path, "/proc/self/fd/%d", memory);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	*watch = -1;
	if (fd >= 0 && !ftruncate(fd, (off_t)bytes))
		*watch = inotify_add_watch(sim->dmabuf_fd, path, IN_CLOSE_WRITE);
	r = fd >= 0 && *watch >= 0 ? fd : -errno;
	close(memory);
	if (r < 0 && fd >= 0)
		close(fd);
	return r;
}

static void dmabuf_free(struct dmabuf *dmabuf)
{
	LIST_REMOVE(dmabuf, link);
	pages_unref(dmabuf->pages);
	free(dmabuf);
}

/* Gives the caller a new fd, which holds a reference to the pages. Returns the fd's number in the
 * caller, or a negative errno. */
static int dmabuf_give(struct call *call, struct pages *pages, bool cloexec)
{
	struct dmabuf *dmabuf = calloc(1, sizeof *dmabuf);
	struct stat st;
	int fd, given;

	if (!dmabuf)
		return -ENOMEM;
	fd = file_new(call->sim, pages->bytes, &dmabuf->watch);
	if (fd < 0 || fstat(fd, &st)) {
		free(dmabuf);
		return fd < 0 ? fd : -ENOMEM;
	}
	dmabuf->dev = st.st_dev;
	dmabuf->ino = st.st_ino;
	dmabuf->pages = pages_ref(pages);
	LIST_INSERT_HEAD(&call->sim->dmabufs, dmabuf, link);
	given = call_add_fd(call, fd, cloexec ? O_CLOEXEC : 0);
	/* if the caller got no fd, this is the last one, and dmabufs_closed() frees the dmabuf */
	close(fd);
	return given;
}

/* Sets *@out to the pages behind the caller's fd, without a reference. Returns 0; -EBADF: no such
 * fd; -EINVAL: not a dmabuf. */
static int dmabuf_pages(struct call *call, int fd, struct pages **out)
{
	struct dmabuf *dmabuf;
	struct stat st;
	int r = call_stat(call, fd, &st);

	if (r)
		return r;
	LIST_FOREACH(dmabuf, &call->sim->dmabufs, link)
	if (dmabuf->ino == st.st_ino && dmabuf->dev == st.st_dev) {
		*out = dmabuf->pages;
		return 0;
	}
	return -EINVAL;
}

static void watch_gone(struct sim *sim, int watch)
{
	struct dmabuf *dmabuf, *next;

	for (dmabuf = LIST_FIRST(&sim->dmabufs); dmabuf; dmabuf = next) {
		next = LIST_NEXT(dmabuf, link);
		if (dmabuf->watch == watch)
			dmabuf_free(dmabuf);
	}
}

void dmabufs_closed(struct sim *sim)
{
	_Alignas(struct inotify_event) char buffer[4096];
	ssize_t n;

	while ((n = read(sim->dmabuf_fd, buffer, sizeof buffer)) > 0) {
		for (char *at = buffer; at < buffer + n;) {
			const struct inotify_event *event = (const void *)at;

			/* The inode is gone: no process has an fd of it, and no message contains
			 * one. */
			if (event->mask & IN_IGNORED)
				watch_gone(sim, event->wd);
			at += sizeof *event + event->len;
		}
	}
}

int dmabufs_start(struct sim *sim)
{
	LIST_INIT(&sim->dmabufs);
	sim->dmabuf_fd = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
	return sim->dmabuf_fd < 0 ? -errno : 0;
}

void dmabufs_stop(struct sim *sim)
{
	while (!LIST_EMPTY(&sim->dmabufs))
		dmabuf_free(LIST_FIRST(&sim->dmabufs));
	if (sim->dmabuf_fd >= 0)
		close(sim->dmabuf_fd);
	sim->dmabuf_fd = -1;
}

int ioctl_export_dmabuf(struct call *call)
{
	struct kfdabi_export_dmabuf *a = (void *)call->data;
	const struct bo *bo = bo_by_handle(call->process, a->handle);
	int fd;

	if (!bo)
		return rule_errno(call->sim, RULE_export_of_an_unknown_handle_is_einval, -EINVAL,
				  -ENOMEM);
	if (!bo->pages)
		return -EINVAL;
	fd = dmabuf_give(call, bo->pages, a->flags & O_CLOEXEC);
	if (fd < 0)
		return fd;
	a->dmabuf_fd = (uint32_t)fd;
	return 0;
}

int ioctl_import_dmabuf(struct call *call)
{
	struct kfd_ioctl_import_dmabuf_args *a = (void *)call->data;
	int node = node_index(call->sim, a->gpu_id), r;
	struct pages *pages;
	uint64_t handle = 0;

	if (node < 0)
		return -EINVAL;
	if (!call->process->vm[node].file)
		return -ENODEV;
	r = dmabuf_pages(call, (int)a->dmabuf_fd, &pages);
	if (r && !rule_holds(call->sim, RULE_import_of_another_descriptor_is_einval))
		r = r == -EINVAL ? -EBADF : r;
	if (r)
		return r;
	if (!rule_holds(call->sim, RULE_imported_memory_is_the_same)) {
		r = pages_new(call->sim, pages->node, pages->bytes, pages->vram, &pages);
		if (r)
			return r;
	}
	r = bo_import(call->process, (uint32_t)node, pages, a->va_addr, &handle);
	a->handle = handle;
	return r;
}

int ioctl_dmabuf_info(struct call *call)
{
	struct kfd_ioctl_get_dmabuf_info_args *a = (void *)call->data;
	uint32_t room = a->metadata_size;
	struct pages *pages;
	int r = dmabuf_pages(call, (int)a->dmabuf_fd, &pages);

	if (r)
		return r;
	a->size = rule_holds(call->sim, RULE_dmabuf_info_tells_size_and_gpu) ? pages->bytes : 0;
	a->metadata_size = pages->metadata_bytes;
	if (pages->metadata_bytes > room)
		return -EINVAL;
	a->gpu_id = call->sim->nodes[pages->node].gpu_id;
	a->flags = pages->vram ? KFD_IOC_ALLOC_MEM_FLAGS_VRAM : KFD_IOC_ALLOC_MEM_FLAGS_GTT;
	if (pages->vram && pages->public)
		a->flags |= KFD_IOC_ALLOC_MEM_FLAGS_PUBLIC;
	if (a->metadata_ptr && pages->metadata_bytes &&
	    call_write(call, a->metadata_ptr, pages->metadata, pages->metadata_bytes))
		return -EFAULT;
	return 0;
}

#define VA_BOTTOM 0x10000ull   /* the driver maps nothing below */
#define PAGE_NOALLOC (1u << 9) /* newer than some system headers */
#define VA_FLAGS                                                                                   \
	(AMDGPU_VM_DELAY_UPDATE | AMDGPU_VM_PAGE_READABLE | AMDGPU_VM_PAGE_WRITEABLE |             \
	 AMDGPU_VM_PAGE_EXECUTABLE | AMDGPU_VM_MTYPE_MASK | PAGE_NOALLOC)
#define METADATA_MAX 256u

int number_take(struct numbered *numbered, void *thing)
{
	size_t i = 0;

	while (i < numbered->n && numbered->things[i])
		i++;
	if (ARRAY_GROW(numbered->things, numbered->n, i + 1))
		return -ENOMEM;
	numbered->things[i] = thing;
	return (int)i + 1;
}

void *number_find(const struct numbered *numbered, uint64_t number)
{
	return number && number <= numbered->n ? numbered->things[number - 1] : NULL;
}

void *number_give(struct numbered *numbered, uint64_t number)
{
	void *thing = number_find(numbered, number);

	if (thing)
		numbered->things[number - 1] = NULL;
	return thing;
}

void gem_release(struct drm_file *file)
{
	for (uint64_t i = 1; i <= file->gems.n; i++) {
		struct pages *pages = number_give(&file->gems, i);

		if (pages)
			space_unmap_all(&file->space, pages);
		pages_unref(pages);
	}
	free(file->gems.things);
	file->gems = (struct numbered){0};
	free(file->contexts.things);
	file->contexts = (struct numbered){0};
	free(file->lists.things);
	file->lists = (struct numbered){0};
}

/* Creates a handle to the pages. The handle takes over the caller's reference to the pages; on
 * failure the reference is dropped. Returns 0 or a negative errno. */
static int handle_new(struct drm_file *file, struct pages *pages, uint32_t *handle)
{
	int number = number_take(&file->gems, pages);

	if (number < 0) {
		pages_unref(pages);
		return number;
	}
	*handle = (uint32_t)number;
	return 0;
}

int gem_create(struct call *call, struct drm_file *file)
{
	union drm_amdgpu_gem_create *a = (void *)call->data;
	uint64_t domains = a->in.domains, bytes = a->in.bo_size;
	struct pages *pages;
	uint32_t handle;
	int r;

	if (!bytes || domains & ~(uint64_t)AMDGPU_GEM_DOMAIN_MASK ||
	    domains & (AMDGPU_GEM_DOMAIN_GDS | AMDGPU_GEM_DOMAIN_GWS | AMDGPU_GEM_DOMAIN_OA))
		return -EINVAL;
	r = pages_new(call->sim, file->node, bytes, domains & AMDGPU_GEM_DOMAIN_VRAM, &pages);
	if (r && domains & AMDGPU_GEM_DOMAIN_VRAM && domains & AMDGPU_GEM_DOMAIN_GTT)
		r = pages_new(call->sim, file->node, bytes, false, &pages);
	if (r)
		return r;
	pages->public = !(a->in.domain_flags & AMDGPU_GEM_CREATE_NO_CPU_ACCESS);
	pages->gem_flags = a->in.domain_flags;
	r = handle_new(file, pages, &handle);
	if (r)
		return r;
	memset(a, 0, sizeof *a);
	a->out.handle = handle;
	return 0;
}

int gem_userptr(struct call *call, struct drm_file *file)
{
	struct drm_amdgpu_gem_userptr *a = (void *)call->data;
	struct pages *pages;
	char byte;
	int r;

	if ((a->addr | a->size) % PAGE_BYTES || !a->size)
		return -EINVAL;
	if (call_read(call, a->addr, &byte, 1) || call_read(call, a->addr + a->size - 1, &byte, 1))
		return -EFAULT;
	r = pages_new_user(call->sim, file->node, a->addr, a->size, &pages);
	return r ? r : handle_new(file, pages, &a->handle);
}

int gem_close(struct call *call, struct drm_file *file)
{
	const struct drm_gem_close *a = (void *)call->data;
	struct pages *pages = number_give(&file->gems, a->handle);

	if (!pages)
		return rule_errno(call->sim, RULE_gem_close_of_an_unknown_handle_is_einval, -EINVAL,
				  0);
	space_unmap_all(&file->space, pages);
	pages_unref(pages);
	return 0;
}

int gem_mmap(struct call *call, struct drm_file *file)
{
	union drm_amdgpu_gem_mmap *a = (void *)call->data;
	const struct pages *pages = number_find(&file->gems, a->in.handle);

	if (!pages)
		return -ENOENT;
	if (pages->user_va || !pages->public)
		return -EPERM;
	if (pages->node != file->node)
		return -EINVAL; /* pages of another node cannot be mapped through this file */
	a->out.addr_ptr = pages->offset;
	return 0;
}

static int map(struct drm_file *file, const struct pages *pages, const struct drm_amdgpu_gem_va *a)
{
	struct mapping mapping = {
		.va = a->va_address,
		.size = a->map_size,
		.pages = pages->user_va ? NULL : (struct pages *)(uintptr_t)pages,
		.offset = a->offset_in_bo,
		.cpu_va = pages->user_va ? pages->user_va + a->offset_in_bo : 0,
		.owner = pages,
	};

	if (a->offset_in_bo % PAGE_BYTES || a->map_size > pages->bytes ||
	    a->offset_in_bo > pages->bytes - a->map_size)
		return -EINVAL;
	return space_map(&file->space, &mapping);
}

int gem_va(struct call *call, struct drm_file *file)
{
	const struct drm_amdgpu_gem_va *a = (void *)call->data;
	const struct pages *pages = NULL;
	const struct mapping *found;
	int r;

	if (a->va_address < VA_BOTTOM || a->flags & ~(uint32_t)VA_FLAGS ||
	    a->operation < AMDGPU_VA_OP_MAP || a->operation > AMDGPU_VA_OP_REPLACE)
		return -EINVAL;
	if (a->operation != AMDGPU_VA_OP_CLEAR) {
		pages = number_find(&file->gems, a->handle);
		if (!pages)
			return -ENOENT;
	}
	switch (a->operation) {
	case AMDGPU_VA_OP_MAP:
		r = map(file, pages, a);
		return r == -EINVAL && !rule_holds(call->sim, RULE_gem_va_over_another_is_einval)
			       ? 0
			       : r;
	case AMDGPU_VA_OP_UNMAP:
		found = space_find(&file->space, a->va_address);
		if (!found || found->va != a->va_address || found->owner != pages)
			return -ENOENT;
		space_unmap(&file->space, found->va, found->size, pages);
		return 0;
	case AMDGPU_VA_OP_REPLACE:
		r = space_clear(&file->space, a->va_address, a->map_size);
		return r ? r : map(file, pages, a);
	default:
		return space_clear(&file->space, a->va_address, a->map_size);
	}
}

int gem_op(struct call *call, struct drm_file *file)
{
	const struct drm_amdgpu_gem_op *a = (void *)call->data;
	struct drm_amdgpu_gem_create_in info = {.alignment = PAGE_BYTES};
	struct pages *pages = number_find(&file->gems, a->handle);

	if (!pages)
		return -ENOENT;
	if (a->op == AMDGPU_GEM_OP_SET_PLACEMENT)
		return pages->user_va ? -EPERM : 0;
	if (a->op != AMDGPU_GEM_OP_GET_GEM_CREATE_INFO)
		return -EINVAL;
	info.bo_size = pages->bytes;
	info.domains = pages->vram ? AMDGPU_GEM_DOMAIN_VRAM : AMDGPU_GEM_DOMAIN_GTT;
	info.domain_flags = pages->gem_flags;
	return call_write(call, a->value, &info, sizeof info);
}

int gem_metadata(struct call *call, struct drm_file *file)
{
	struct drm_amdgpu_gem_metadata *a = (void *)call->data;
	struct pages *pages = number_find(&file->gems, a->handle);
	char *copy = NULL;

	if (!pages)
		return -ENOENT;
	if (a->op == AMDGPU_GEM_METADATA_OP_GET_METADATA) {
		a->data.flags = pages->metadata_flags;
		a->data.tiling_info = pages->tiling;
		a->data.data_size_bytes = pages->metadata_bytes;
		if (pages->metadata_bytes)
			memcpy(a->data.data, pages->metadata, pages->metadata_bytes);
		return 0;
	}
	if (a->op != AMDGPU_GEM_METADATA_OP_SET_METADATA || a->data.data_size_bytes > METADATA_MAX)
		return -EINVAL;
	if (a->data.data_size_bytes) {
		copy = malloc(a->data.data_size_bytes);
		if (!copy)
			return -ENOMEM;
		memcpy(copy, a->data.data, a->data.data_size_bytes);
	}
	free(pages->metadata);
	pages->metadata = copy;
	pages->metadata_bytes = a->data.data_size_bytes;
	pages->metadata_flags = a->data.flags;
	pages->tiling = a->data.tiling_info;
	return 0;
}

/* Returns at once: no buffer is ever busy, because no command goes through the render node. */
int gem_wait_idle(struct call *call, struct drm_file *file)
{
	union drm_amdgpu_gem_wait_idle *a = (void *)call->data;
	const struct pages *pages = number_find(&file->gems, a->in.handle);

	if (!pages)
		return -ENOENT;
	memset(a, 0, sizeof *a);
	a->out.domain = pages->vram ? AMDGPU_GEM_DOMAIN_VRAM : AMDGPU_GEM_DOMAIN_GTT;
	return 0;
}

int prime_handle_to_fd(struct call *call, struct drm_file *file)
{
	struct drm_prime_handle *a = (void *)call->data;
	struct pages *pages = number_find(&file->gems, a->handle);
	int fd;

	if (a->flags & ~(uint32_t)(DRM_CLOEXEC | DRM_RDWR))
		return -EINVAL;
	if (!pages)
		return -ENOENT;
	if (pages->user_va)
		return -EPERM;
	fd = dmabuf_give(call, pages, a->flags & DRM_CLOEXEC);
	if (fd < 0)
		return fd;
	a->fd = fd;
	return 0;
}

/* Returns the existing handle if the pages were imported before: as in the driver, pages have at
 * most one handle in a file. */
int prime_fd_to_handle(struct call *call, struct drm_file *file)
{
	struct drm_prime_handle *a = (void *)call->data;
	struct pages *pages;
	int r = dmabuf_pages(call, a->fd, &pages);

	if (r)
		return r;
	for (uint64_t i = 1; i <= file->gems.n; i++) {
		if (number_find(&file->gems, i) != pages ||
		    !rule_holds(call->sim, RULE_prime_import_gives_one_handle))
			continue;
		a->handle = (uint32_t)i;
		return 0;
	}
	return handle_new(file, pages_ref(pages), &a->handle);
}

// SPDX-License-Identifier: MIT
/*
 * Simulates dmabufs, which are fds that pass buffers to other processes. The fd belongs to an empty
 * file of the buffer's size. Device and inode of the file identify the buffer's pages in every
 * process to which the fd is sent. The fd is open for writing only, so mapping it fails (EACCES),
 * whereas a real dmabuf can be mapped: the pages are not in this file but in the middle of the
 * render file. inotify reports when the last fd is closed.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <unistd.h>

#include "sim/driver/memory.h"
#include "sim/driver/queue.h"

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

int dmabuf_give(struct call *call, struct pages *pages, bool cloexec)
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

int dmabuf_pages(struct call *call, int fd, struct pages **out)
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

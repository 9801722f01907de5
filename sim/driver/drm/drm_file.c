// SPDX-License-Identifier: MIT
/*
 * Keeps the open files of the render nodes. kfdsim does not see their open() and close(). It
 * identifies an open file by its file position, which a render node does not use. All fds of one
 * open file (made by dup(), fork() or a socket) share this position. A struct drm_file is released
 * when the process that used the file first has ended.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "sim/driver/drm/drm_file.h"

#include "common/proc.h"

/* Sets *@pid to the process of the thread that made the ioctl. Returns a pidfd of it, which has to
 * be closed, or a negative errno. */
static int caller_pidfd(const struct call *call, pid_t *pid)
{
	const struct process *known = process_of_thread(call->sim, call->tid);
	int fd;

	*pid = known ? known->pid : proc_status_number(call->tid, "\nTgid:");
	if (!*pid)
		return -ESRCH;
	fd = (int)syscall(SYS_pidfd_open, *pid, 0);
	if (fd < 0)
		return -errno;
	/* The ids were read from /proc. They are the caller's only if it still waits in the ioctl;
	 * otherwise its thread id may belong to a new thread. */
	if (!notify_alive(call->sim, call->id)) {
		close(fd);
		return -ESRCH;
	}
	return fd;
}

static struct drm_file *file_new(struct sim *sim, uint64_t token, uint32_t node, pid_t pid,
				 int pidfd)
{
	struct epoll_event watch = {.events = EPOLLIN};
	struct drm_file *file = calloc(1, sizeof *file);

	if (!file)
		return NULL;
	file->sim = sim;
	file->token = token;
	file->node = node;
	file->pid = pid;
	file->pidfd = pidfd;
	file->refs = 1;
	watch.data.ptr = file;
	if (epoll_ctl(sim->drm_poll_fd, EPOLL_CTL_ADD, pidfd, &watch)) {
		free(file);
		return NULL;
	}
	LIST_INSERT_HEAD(&sim->drm_files, file, link);
	return file;
}

static struct drm_file *by_token(const struct sim *sim, uint64_t token, uint32_t node)
{
	struct drm_file *file;

	LIST_FOREACH(file, &sim->drm_files, link)
	if (file->token == token && file->node == node)
		return file;
	return NULL;
}

int drm_node(const struct sim *sim, pid_t tid, int fd)
{
	char link[64], path[4096];
	const char *name;
	unsigned minor;
	ssize_t n;

	snprintf(link, sizeof link, "/proc/%d/fd/%d", tid, fd);
	n = readlink(link, path, sizeof path - 1);
	if (n < 0)
		return -EINVAL;
	path[n] = '\0';
	name = strrchr(path, '/');
	if (!name || sscanf(name, "/renderD%u", &minor) != 1 || minor < RENDER_MINOR ||
	    minor - RENDER_MINOR >= sim->nodes_n)
		return -EINVAL;
	return (int)(minor - RENDER_MINOR);
}

int drm_file_find(struct call *call, int fd, uint32_t node, struct drm_file **out)
{
	struct sim *sim = call->sim;
	pid_t pid;
	int pidfd = caller_pidfd(call, &pid), copy, r = -ENOMEM;
	struct stat st;
	bool ours;
	off_t mark;

	if (pidfd < 0)
		return pidfd;
	copy = (int)syscall(SYS_pidfd_getfd, pidfd, fd, 0);
	if (copy < 0) {
		close(pidfd);
		return -EBADF;
	}
	ours = !fstat(copy, &st) && st.st_dev == sim->kfd_dev && st.st_ino == sim->render_ino;
	mark = ours ? lseek(copy, 0, SEEK_CUR) : 0;
	if (ours && mark <= 0)
		mark = lseek(copy, (off_t)++sim->next_token, SEEK_SET);
	close(copy);
	if (mark <= 0) {
		close(pidfd);
		return -EINVAL;
	}
	*out = by_token(sim, (uint64_t)mark, node);
	if (!*out) {
		*out = file_new(sim, (uint64_t)mark, node, pid, pidfd);
		if (*out)
			return 0;
	} else {
		r = 0;
	}
	close(pidfd);
	return r;
}

struct space *vm_space(const struct process *process, uint32_t node)
{
	return process->vm[node].file ? &process->vm[node].file->space : NULL;
}

int drm_file_acquire(struct drm_file *file, const struct process *process)
{
	if (file->computes)
		return -EINVAL;
	file->computes = process;
	file->refs++;
	return 0;
}

void drm_file_unref(struct drm_file *file)
{
	if (--file->refs)
		return;
	space_free(&file->space);
	free(file);
}

/* Frees the handles of a file whose process has ended. The page table stays while it is in use. */
static void file_end(struct drm_file *file)
{
	LIST_REMOVE(file, link);
	epoll_ctl(file->sim->drm_poll_fd, EPOLL_CTL_DEL, file->pidfd, NULL);
	close(file->pidfd);
	gem_release(file);
	drm_file_unref(file);
}

void drm_files_reap(struct sim *sim)
{
	struct epoll_event events[16];
	int n = epoll_wait(sim->drm_poll_fd, events, 16, 0);

	for (int i = 0; i < n; i++) {
		if (events[i].data.ptr == sim)
			dmabufs_closed(sim);
		else
			file_end(events[i].data.ptr);
	}
}

int drm_files_start(struct sim *sim)
{
	struct epoll_event watch = {.events = EPOLLIN, .data.ptr = sim};
	int r = dmabufs_start(sim);

	LIST_INIT(&sim->drm_files);
	if (r)
		return r;
	sim->drm_poll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (sim->drm_poll_fd < 0 ||
	    epoll_ctl(sim->drm_poll_fd, EPOLL_CTL_ADD, sim->dmabuf_fd, &watch) ||
	    epoll_ctl(sim->poll_fd, EPOLL_CTL_ADD, sim->drm_poll_fd, &watch))
		return -errno;
	return 0;
}

void drm_files_stop(struct sim *sim)
{
	struct drm_file *file;

	while ((file = LIST_FIRST(&sim->drm_files)))
		file_end(file);
	dmabufs_stop(sim);
	if (sim->drm_poll_fd >= 0)
		close(sim->drm_poll_fd);
	sim->drm_poll_fd = -1;
}

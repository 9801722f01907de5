// SPDX-License-Identifier: MIT
/*
 * Which file a caller's descriptor is. Looking it up through /proc costs more
 * than the rest of a call, so what was found is kept with a copy of the
 * descriptor: kcmp() then says whether it still is that open file, and tgkill()
 * with no signal whether the thread still is the process's. A descriptor that
 * survives exec would not show that the program behind it has changed; for such
 * ones the address space is looked at, too.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/kcmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "sim/kfd/kfd.h"

/* `known`: the caller's process, if we know the thread; the path then proves
 * that the thread is still that process's. */
static int look_up(pid_t tid, const struct process *known, int fd, struct stat *st)
{
	char path[64];

	if (known)
		snprintf(path, sizeof path, "/proc/%d/task/%d/fd/%d", known->pid, tid, fd);
	else
		snprintf(path, sizeof path, "/proc/%d/fd/%d", tid, fd);
	return stat(path, st) ? -errno : 0;
}

static bool closes_on_exec(pid_t tid, int fd)
{
	char path[64], line[128];
	bool closes = false;
	FILE *file;

	snprintf(path, sizeof path, "/proc/%d/fdinfo/%d", tid, fd);
	file = fopen(path, "re");
	while (file && fgets(line, sizeof line, file))
		if (!strncmp(line, "flags:", 6))
			closes = strtoul(line + 6, NULL, 8) & O_CLOEXEC;
	if (file)
		fclose(file);
	return closes;
}

static bool same_file(pid_t tid, const struct known_file *file)
{
	static pid_t self;

	if (!self)
		self = getpid();
	return !syscall(SYS_kcmp, tid, self, KCMP_FILE, file->fd, file->copy);
}

static void remember(struct process *process, pid_t tid, int fd, const struct stat *st)
{
	struct known_file *file = NULL;
	struct stat copied;

	for (unsigned i = 0; i < KNOWN_FILES && !file; i++)
		if (process->files[i].copy >= 0 && process->files[i].fd == fd)
			file = &process->files[i];
	if (!file)
		file = &process->files[process->next_file++ % KNOWN_FILES];
	if (file->copy >= 0)
		close(file->copy);
	*file = (struct known_file){.fd = fd, .device = st->st_dev, .inode = st->st_ino};
	file->survives_exec = !closes_on_exec(tid, fd);
	file->copy = (int)syscall(SYS_pidfd_getfd, process->pidfd, fd, 0);
	/* It may have become another file meanwhile, and a thread may have a table
	 * of its own. */
	if (file->copy >= 0 && (fstat(file->copy, &copied) || copied.st_dev != st->st_dev ||
				copied.st_ino != st->st_ino || !same_file(tid, file))) {
		close(file->copy);
		file->copy = -1;
	}
}

static bool find(struct process *process, pid_t tid, int fd, struct stat *st)
{
	for (unsigned i = 0; i < KNOWN_FILES; i++) {
		const struct known_file *file = &process->files[i];

		if (file->copy < 0 || file->fd != fd)
			continue;
		if (syscall(SYS_tgkill, process->pid, tid, 0) || !same_file(tid, file) ||
		    (file->survives_exec && !process_mm_alive(process)))
			return false;
		st->st_dev = file->device;
		st->st_ino = file->inode;
		return true;
	}
	return false;
}

int descriptor_file(struct world *world, pid_t tid, int fd, struct process **known, struct stat *st)
{
	int r;

	*known = process_of_thread(world, tid);
	if (*known && find(*known, tid, fd, st))
		return 0;
	r = look_up(tid, *known, fd, st);
	if (r && *known) {
		process_forget_thread(world, tid);
		*known = NULL;
		return look_up(tid, NULL, fd, st);
	}
	if (*known && !process_mm_alive(*known)) {
		process_die(*known); /* it has called exec */
		*known = NULL;
	}
	if (!r && *known && st->st_dev == world->kfd_dev)
		remember(*known, tid, fd, st);
	return r;
}

void descriptors_init(struct process *process)
{
	for (unsigned i = 0; i < KNOWN_FILES; i++)
		process->files[i].copy = -1;
}

void descriptors_release(struct process *process)
{
	for (unsigned i = 0; i < KNOWN_FILES; i++) {
		if (process->files[i].copy >= 0)
			close(process->files[i].copy);
		process->files[i].copy = -1;
	}
}

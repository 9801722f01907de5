// SPDX-License-Identifier: MIT
/*
 * Finds out which process has opened an fd of the device, because the driver refuses all other
 * processes (EBADF). kfdsim does not see open(), but it can mark an open file by its file position,
 * which the device does not use. The position belongs to the open file, not to the fd, so every
 * process that shares the file sees the mark. At its first use the file is marked as that of the
 * oldest process that holds it.
 *
 * What this cannot detect: a process that opened the device, never used it, passed it on, and
 * closed it or ended before the other process used it.
 */
#include <dirent.h>
#include <linux/kcmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/proc.h"
#include "sim/driver/queue.h"

#define ANCESTORS_MAX 256

static pid_t parent_of(pid_t pid)
{
	return proc_status_number(pid, "\nPPid:");
}

/* The caller must be in the simulation's user namespace, which stands for the host's on real
 * hardware. */
bool caller_capable(const struct call *call, uint64_t any_of)
{
	char status[PROC_STATUS_BYTES];
	uint64_t own = proc_namespace(0, "user");
	const char *caps;

	if (!own || own != proc_namespace(call->tid, "user"))
		return false;
	if (proc_status_read(call->tid, status, sizeof status) ||
	    !(caps = strstr(status, "\nCapEff:")))
		return false;
	return (strtoull(caps + strlen("\nCapEff:"), NULL, 16) & any_of) != 0;
}

static bool is_descendant(pid_t pid, pid_t of)
{
	for (int i = 0; i < ANCESTORS_MAX && (pid = parent_of(pid)) > 1; i++)
		if (pid == of)
			return true;
	return false;
}

/* Returns true if @pid started before @than. If both started in the same clock tick, the lower pid
 * is the older one, unless it is a descendant of @than, because pids restart at pid_max. */
static bool is_older(pid_t pid, pid_t than)
{
	struct proc_stat a, b;

	if (!proc_stat(pid, &a) || !proc_stat(than, &b))
		return false;
	return a.started < b.started ||
	       (a.started == b.started && pid < than && !is_descendant(pid, than));
}

/* Returns true if the process has an fd of the device with this file position (mark). */
static bool holds(const struct sim *sim, pid_t pid, off_t mark)
{
	int pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
	struct dirent *entry;
	bool found = false;
	char path[320];
	DIR *dir;

	snprintf(path, sizeof path, "/proc/%d/fd", pid);
	dir = pidfd < 0 ? NULL : opendir(path);
	while (dir && !found && (entry = readdir(dir))) {
		struct stat st;
		int copy;

		snprintf(path, sizeof path, "/proc/%d/fd/%s", pid, entry->d_name);
		if (stat(path, &st) || st.st_dev != sim->kfd_dev || st.st_ino != sim->kfd_ino)
			continue;
		copy = (int)syscall(SYS_pidfd_getfd, pidfd, atoi(entry->d_name), 0);
		if (copy < 0)
			continue;
		found = lseek(copy, 0, SEEK_CUR) == mark;
		close(copy);
	}
	if (dir)
		closedir(dir);
	if (pidfd >= 0)
		close(pidfd);
	return found;
}

/* Returns the pid of the oldest process that has an fd of the file which @process has just marked;
 * 0: none is older than @process. Only ancestors of @process and users of the device are
 * searched. */
static pid_t older_holder(const struct process *process)
{
	const struct process *other;
	pid_t found = 0, pid = process->pid;

	for (int i = 0; i < ANCESTORS_MAX && (pid = parent_of(pid)) > 1 && pid != getpid(); i++)
		if (holds(process->sim, pid, (off_t)process->token))
			found = pid;
	TAILQ_FOREACH(other, &process->sim->processes, link)
	if (other != process && is_older(other->pid, found ? found : process->pid) &&
	    holds(process->sim, other->pid, (off_t)process->token))
		found = other->pid;
	return found;
}

off_t process_seek_fd(const struct process *process, int fd, off_t offset, int whence)
{
	int copy = (int)syscall(SYS_pidfd_getfd, process->pidfd, fd, 0);
	off_t mark = copy < 0 ? -1 : lseek(copy, offset, whence);

	if (copy >= 0)
		close(copy);
	return mark;
}

/* Marks a file at its first use: sets the file position to the token of the process that opened the
 * file. That is the oldest process with an fd of the file, or @process if no older one has an fd.
 * `copy` is a descriptor of the file. Returns the token (the mark). */
static off_t mark_new(struct process *process, int copy)
{
	struct sim *sim = process->sim;
	off_t mark = lseek(copy, (off_t)process->token, SEEK_SET);
	struct process *opener = NULL;
	pid_t holder = 0;

	if (rule_holds(sim, RULE_unused_inherited_descriptor_is_ebadf))
		holder = older_holder(process);
	if (holder)
		opener = process_new(sim, holder);
	if (!TAILQ_EMPTY(&process->queues) &&
	    (!rule_holds(sim, RULE_descriptors_share_the_process) ||
	     !rule_holds(sim, RULE_closing_ends_no_queue)))
		queues_tear_down(process);
	return opener ? lseek(copy, (off_t)opener->token, SEEK_SET) : mark;
}

/* Returns the file position of the fd's file. If it is 0, the file is not marked yet; then marks it
 * (mark_new()). Returns -1 if there is no such fd. Uses one copy of the fd for both steps, because
 * the program can close the fd and reuse its number in between. */
static off_t mark_of(struct process *process, int fd)
{
	int copy = (int)syscall(SYS_pidfd_getfd, process->pidfd, fd, 0);
	off_t mark = copy < 0 ? -1 : lseek(copy, 0, SEEK_CUR);

	if (!mark)
		mark = mark_new(process, copy);
	if (copy >= 0)
		close(copy);
	return mark;
}

bool process_holds_mark(const struct process *process)
{
	return holds(process->sim, process->pid, (off_t)process->token);
}

bool process_owns(struct process *process, const struct caller_file *file)
{
	const struct sim *sim = process->sim;
	off_t mark = file->mark;

	if (file->fd >= 64 && !rule_holds(sim, RULE_duplicated_descriptor_serves))
		return false;
	if (mark <= 0)
		mark = mark_of(process, file->fd);
	if (mark < 0)
		return false;
	return mark == (off_t)process->token ||
	       !rule_holds(sim, RULE_inherited_descriptor_is_ebadf) ||
	       !rule_holds(sim, RULE_passed_descriptor_is_ebadf);
}

/* Detects a child of vfork() by kcmp(2), because it runs in its parent's memory. */
pid_t process_lender(pid_t tid)
{
	pid_t pid = proc_status_number(tid, "\nTgid:"), parent;

	if (!pid)
		return 0;
	parent = parent_of(pid);
	return parent > 1 && !syscall(SYS_kcmp, tid, parent, KCMP_VM, 0, 0) ? parent : 0;
}

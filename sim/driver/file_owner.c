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
#include <errno.h>
#include <fcntl.h>
#include <linux/kcmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/proc.h"
#include "sim/driver/queue.h"

/* ---- which file a fd is ----
 * Finds out which file a caller's fd is. A lookup through /proc costs as much as the rest of a
 * call, so its result is kept together with an open fd of the thread's
 * /proc/PID/task/TID/fdinfo/FD. While the content of that file is the same, the thread is alive (so
 * its id cannot be that of another thread by now), and the fd is a file on the same mount with the
 * same inode and file position. The file position is the mark that identifies the opener
 * (file_owner.c). This check costs one read instead of a kcmp(), a tgkill() and a copy of the fd.
 *
 * If an fd survives exec, its fdinfo does not show that the process now runs another program. For
 * such fds the address space is checked, too.
 */

/* Looks the caller's fd up in /proc and fills in *@file. @known is the caller's process, or NULL.
 * If it is given, the lookup fails unless the thread still belongs to that process. Returns 0 or a
 * negative errno. */
static int find_file(pid_t tid, const struct process *known, struct caller_file *file)
{
	char path[64];
	struct stat st;

	if (known)
		snprintf(path, sizeof path, "/proc/%d/task/%d/fd/%d", known->pid, tid, file->fd);
	else
		snprintf(path, sizeof path, "/proc/%d/fd/%d", tid, file->fd);
	if (stat(path, &st))
		return -errno;
	file->device = st.st_dev;
	file->inode = st.st_ino;
	file->mark = -1;
	return 0;
}

/* Returns the only entry in which this thread's fd can be stored. */
static struct known_file *entry_of(struct sim *sim, pid_t tid, int fd)
{
	return &sim->files[((unsigned)tid * 31 + (unsigned)fd) % KNOWN_FILES];
}

static void forget(struct known_file *known)
{
	if (known->process)
		close(known->info);
	known->process = NULL;
}

/* Reads the number after @key at the start of a line. Returns false if there is no such line. */
static bool number_of(const char *text, const char *key, int base, unsigned long long *out)
{
	const char *at = strstr(text, key);

	if (!at || (at != text && at[-1] != '\n'))
		return false;
	*out = strtoull(at + strlen(key), NULL, base);
	return true;
}

/* Reads the file position from the text of fdinfo. Returns false if the text is of a file with
 * another inode, or has no inode (before Linux 5.14); the result is then not kept. */
static bool parse(struct known_file *known)
{
	unsigned long long pos, flags, mount, inode;
	char text[sizeof known->text + 1] = "";

	memcpy(text, known->text, known->n);
	if (!number_of(text, "pos:", 10, &pos) || !number_of(text, "flags:", 8, &flags) ||
	    !number_of(text, "mnt_id:", 10, &mount) || !number_of(text, "ino:", 10, &inode))
		return false;
	known->file.mark = (off_t)pos;
	known->survives_exec = !(flags & O_CLOEXEC);
	return inode == known->file.inode;
}

static bool same_text(const struct known_file *known)
{
	char text[sizeof known->text];
	ssize_t n = pread(known->info, text, sizeof text, 0);

	return n > 0 && (size_t)n == known->n && !memcmp(text, known->text, (size_t)n);
}

void descriptor_remember(struct process *process, pid_t tid, struct caller_file *file)
{
	struct known_file *known = entry_of(process->sim, tid, file->fd);
	char path[64];
	ssize_t n;

	forget(known);
	snprintf(path, sizeof path, "/proc/%d/task/%d/fdinfo/%d", process->pid, tid, file->fd);
	known->info = open(path, O_RDONLY | O_CLOEXEC);
	if (known->info < 0)
		return;
	known->process = process;
	known->tid = tid;
	n = pread(known->info, known->text, sizeof known->text, 0);
	known->n = n > 0 ? (size_t)n : 0;
	/* The fd may refer to another file since the lookup, so repeat the lookup. */
	known->file = *file;
	if (find_file(tid, process, file) || file->device != known->file.device ||
	    file->inode != known->file.inode || !parse(known) || !same_text(known))
		forget(known);
	else
		file->mark = known->file.mark;
}

/* Returns true, and fills in *@file, if the cache has a result for file->fd that is still valid. */
static bool find(struct process *process, pid_t tid, struct caller_file *file)
{
	struct known_file *known = entry_of(process->sim, tid, file->fd);

	if (known->process != process || known->tid != tid || known->file.fd != file->fd)
		return false;
	if (!same_text(known) || (known->survives_exec && !process_mm_alive(process))) {
		forget(known);
		return false;
	}
	*file = known->file;
	return true;
}

int descriptor_file(struct sim *sim, pid_t tid, struct process **known, struct caller_file *file)
{
	int r;

	*known = process_of_thread(sim, tid);
	if (*known && find(*known, tid, file))
		return 0;
	r = find_file(tid, *known, file);
	if (r && *known) {
		process_forget_thread(sim, tid);
		*known = NULL;
		return find_file(tid, NULL, file);
	}
	if (*known && !process_mm_alive(*known)) {
		process_die(*known); /* it has called exec */
		*known = NULL;
	}
	if (!r && *known && file->device == sim->kfd_dev)
		descriptor_remember(*known, tid, file);
	return r;
}

void descriptors_forget(const struct process *process)
{
	for (unsigned i = 0; i < KNOWN_FILES; i++)
		if (process->sim->files[i].process == process)
			forget(&process->sim->files[i]);
}

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

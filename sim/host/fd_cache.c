// SPDX-License-Identifier: MIT
/*
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
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sim/driver/queue.h"

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

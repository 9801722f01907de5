// SPDX-License-Identifier: MIT
#include "common/proc_file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LOOKUPS_MAX 8u /* largest number of searches in lists of mounts */
/* Largest number of bytes that are read of a list of mounts. Limited, because a user can make very
 * many mounts in a mount namespace of its own. */
#define MOUNTS_MAX (1u << 20)

/* The fields of a line of /proc/PID/mountinfo that are needed here. */
struct mount {
	uint64_t id;
	unsigned major, minor;
	char type[32];
};

int proc_file_stat(int directory, const char *name, struct statx *out)
{
	int rc = statx(directory, name, AT_EMPTY_PATH | AT_NO_AUTOMOUNT | AT_STATX_DONT_SYNC,
		       STATX_BASIC_STATS | STATX_MNT_ID, out);

	return rc == 0 ? 0 : -errno;
}

static bool parse_mount(const char *line, struct mount *out)
{
	const char *type = strstr(line, " - ");
	unsigned long long id;

	if (!type || sscanf(line, "%llu %*u %u:%u", &id, &out->major, &out->minor) != 3 ||
	    sscanf(type, " - %31s", out->type) != 1)
		return false;
	out->id = id;
	return true;
}

/* Searches the file `list` (a mountinfo) for the mount with this number, or, if `like` is not NULL,
 * for a mount of the same file system as `like`. Returns true and fills in *out if there is one. */
static bool find_mount(const char *list, uint64_t id, const struct mount *like, struct mount *out)
{
	FILE *f = fopen(list, "re");
	size_t room = 0, bytes = 0;
	char *line = NULL;
	bool found = false;
	ssize_t n;

	while (f && !found && bytes < MOUNTS_MAX && (n = getline(&line, &room, f)) > 0) {
		bytes += (size_t)n;
		found = parse_mount(line, out) &&
			(like ? out->major == like->major && out->minor == like->minor
			      : out->id == id);
	}
	free(line);
	if (f)
		fclose(f);
	return found;
}

/* Returns true if the kernel serves the file system without a process. An overlay reads files of
 * the file systems below it, which may be served by a process. So it is accepted only if it is
 * mounted in this process's namespace as well, because a user cannot mount there. */
static bool is_served_by_kernel(const struct mount *mount)
{
	static const char *const types[] = {"tmpfs", "ramfs", "ext2",	  "ext3",  "ext4",
					    "xfs",   "btrfs", "f2fs",	  "zfs",   "bcachefs",
					    "vfat",  "erofs", "squashfs", "rootfs"};
	struct mount own;

	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
		if (strcmp(mount->type, types[i]) == 0)
			return true;
	return strcmp(mount->type, "overlay") == 0 &&
	       find_mount("/proc/self/mountinfo", 0, mount, &own);
}

/* Returns true if the file of this fd is on a trusted file system (is_served_by_kernel()). */
static bool is_trusted(struct proc_files *files, int fd, const struct statx *file)
{
	struct mount mount;
	char list[64];

	if (!(file->stx_mask & STATX_MNT_ID))
		return false;
	if (files->pin >= 0 && files->mount == file->stx_mnt_id)
		return true;
	if (files->lookups++ >= LOOKUPS_MAX)
		return false;
	snprintf(list, sizeof(list), "/proc/%d/mountinfo", (int)files->pid);
	/* The file, such as the process's program, may be mounted in a namespace that the process
	 * has left. This process's namespace may be that one, so search its mounts, too. */
	if (!find_mount(list, file->stx_mnt_id, NULL, &mount) &&
	    !find_mount("/proc/self/mountinfo", file->stx_mnt_id, NULL, &mount))
		return false;
	if (!is_served_by_kernel(&mount))
		return false;
	if (files->pin >= 0)
		close(files->pin);
	files->pin = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	files->mount = file->stx_mnt_id;
	return true;
}

/* Opens the file of an O_PATH fd for reading. Returns an fd or a negative errno. Uses O_NONBLOCK: a
 * user may hold a lease (fcntl(2)) on the file, and open would wait until the lease ends. */
static int reopen(int path_fd)
{
	char path[64];
	int fd;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", path_fd);
	fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

/* Opens the regular file of an O_PATH fd for reading, and closes path_fd. If `files` is NULL,
 * accepts any file system. Returns an fd or a negative errno (proc_file.h). */
static int open_regular(struct proc_files *files, int path_fd)
{
	struct statx file;
	int rc = proc_file_stat(path_fd, "", &file);

	if (!rc && !S_ISREG(file.stx_mode))
		rc = -EINVAL;
	if (!rc && files && !is_trusted(files, path_fd, &file))
		rc = -EXDEV;
	if (!rc)
		rc = reopen(path_fd);
	close(path_fd);
	return rc;
}

void proc_files_begin(struct proc_files *files, pid_t pid)
{
	*files = (struct proc_files){.pid = pid, .pin = -1};
}

void proc_files_end(struct proc_files *files)
{
	if (files->pin >= 0)
		close(files->pin);
	files->pin = -1;
}

int proc_files_open(struct proc_files *files, int directory, const char *name)
{
	int fd = openat(directory, name, O_PATH | O_CLOEXEC);

	return fd < 0 ? -errno : open_regular(files, fd);
}

/* Opens with O_PATH the first component of `*path` in the directory `fd`, closes fd, and moves
 * *path behind the component. Searches only a directory on a trusted file system. Returns an fd,
 * -ELOOP if the component is "..", or another negative errno. */
static int step(struct proc_files *files, int fd, const char **path)
{
	size_t length = strcspn(*path, "/");
	char name[NAME_MAX + 1];
	struct statx seen;
	int next, rc = proc_file_stat(fd, "", &seen);

	if (!rc && !S_ISDIR(seen.stx_mode))
		rc = -ENOTDIR;
	if (!rc && !is_trusted(files, fd, &seen))
		rc = -EXDEV;
	if (!rc && length > NAME_MAX)
		rc = -ENAMETOOLONG;
	if (!rc && length == 2 && memcmp(*path, "..", 2) == 0)
		rc = -ELOOP;
	if (!rc) {
		snprintf(name, sizeof(name), "%.*s", (int)length, *path);
		next = openat(fd, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
		rc = next < 0 ? -errno : next;
	}
	close(fd);
	*path += length + strspn(*path + length, "/");
	return rc;
}

/* Opens with O_PATH the file with this path in the process's root directory, without following
 * links. Returns an fd or a negative errno. */
static int walk(struct proc_files *files, const char *path)
{
	char root[64];
	struct statx seen;
	int fd;

	snprintf(root, sizeof(root), "/proc/%d/root", (int)files->pid);
	fd = open(root, O_PATH | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	for (path += strspn(path, "/"); fd >= 0 && *path;)
		fd = step(files, fd, &path);
	if (fd >= 0 && (proc_file_stat(fd, "", &seen) != 0 || S_ISLNK(seen.stx_mode))) {
		close(fd);
		fd = -ELOOP;
	}
	return fd;
}

int proc_files_open_path(struct proc_files *files, const char *path)
{
	int fd = walk(files, path);

	return fd < 0 ? fd : open_regular(files, fd);
}

int proc_files_find(struct proc_files *files, const char *path)
{
	int fd = walk(files, path);

	if (fd < 0)
		return fd;
	close(fd);
	return 0;
}

int plain_file_open(int directory, const char *name)
{
	struct statx seen;
	int fd = openat(directory, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);

	if (fd < 0)
		return -errno;
	if (proc_file_stat(fd, "", &seen) == 0 && S_ISLNK(seen.stx_mode)) {
		close(fd);
		return -ELOOP;
	}
	return open_regular(NULL, fd);
}

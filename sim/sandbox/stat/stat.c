// SPDX-License-Identifier: MIT
/*
 * libkfdsim-stat.so, for LD_PRELOAD in a simulation. stat() and its variants return /dev/kfd and
 * /dev/dri/renderD* as character devices with the driver's numbers, and fstatfs() returns the
 * simulated files below /sys as files of a sysfs.
 *
 * The device files are regular files, because a character device with these numbers leads to the
 * driver. libdrm, and with it nvtop and radeontop, does not accept a regular file as a GPU. libudev
 * does not accept a directory of another file system as a device. The seccomp filter cannot answer
 * stat() as it does ioctl(): it sees no paths, so each stat() of each program would wait for
 * kfdsim, and would return EINTR when a signal arrives, which no program expects of stat().
 *
 * A call costs an additional comparison of two numbers; only for the device files the path is read
 * as well. Each function is as reentrant as the C library's, and keeps errno if it succeeds.
 * Without the simulation's files nothing changes. Programs that are linked statically are not
 * reached.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))

#define DRM_MAJOR 226
/* The kernel gives /dev/kfd a free major number, counting down from 254. This number is an
 * assumption. */
#define KFD_MAJOR 235
#define RENDER "/renderD"

/* The simulation's device files, by device and inode number. All render nodes are names of one
 * file. All zero: there is no such file. */
static struct device_file {
	dev_t dev;
	ino_t ino;
} kfd, render;

static void find(struct device_file *file, const char *path)
{
	struct stat st;

	if (syscall(SYS_newfstatat, AT_FDCWD, path, &st, 0) == 0 && S_ISREG(st.st_mode))
		*file = (struct device_file){.dev = st.st_dev, .ino = st.st_ino};
}

/* Finds the inodes of the device files, before the program can change its root. */
__attribute__((constructor)) static void start(void)
{
	int saved = errno;

	find(&kfd, "/dev/kfd");
	find(&render, "/dev/dri/renderD128");
	errno = saved;
}

static bool is(const struct device_file *file, dev_t dev, ino_t ino)
{
	return file->ino && file->ino == ino && file->dev == dev;
}

/* Writes the path under which @fd was opened; empty if that is unknown. */
static void path_of_fd(int fd, char *path, size_t size)
{
	char link[32];
	ssize_t n;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	n = readlink(link, path, size - 1);
	path[n > 0 ? n : 0] = '\0';
}

/* Returns the minor number in the path of @fd; 0: it has none. */
static unsigned minor_of_fd(int fd)
{
	char path[256];
	const char *name;

	path_of_fd(fd, path, sizeof(path));
	name = strstr(path, RENDER);
	return name ? (unsigned)strtoul(name + strlen(RENDER), NULL, 10) : 0;
}

/* Returns the minor number of the render node that these arguments of fstatat() name; 0: none. */
static unsigned minor_of(int dir, const char *path, int flags)
{
	unsigned number;
	int fd;

	if (flags & AT_EMPTY_PATH && !*path)
		return minor_of_fd(dir);
	fd = openat(dir, path, O_PATH | O_CLOEXEC | (flags & AT_SYMLINK_NOFOLLOW ? O_NOFOLLOW : 0));
	if (fd < 0)
		return 0;
	number = minor_of_fd(fd);
	close(fd);
	return number;
}

/* Returns the device number to report for a regular file; 0: the file is no device. */
static dev_t device(dev_t dev, ino_t ino, int dir, const char *path, int flags)
{
	int saved = errno;
	unsigned number;

	if (is(&kfd, dev, ino))
		return makedev(KFD_MAJOR, 0);
	if (!is(&render, dev, ino))
		return 0;
	number = minor_of(dir, path, flags);
	errno = saved;
	return number ? makedev(DRM_MAJOR, number) : 0;
}

/* Implements all replaced stat functions but statx(). */
static int stat_at(int dir, const char *path, struct stat *st, int flags)
{
	dev_t number;

	if (syscall(SYS_newfstatat, dir, path, st, flags))
		return -1;
	number = S_ISREG(st->st_mode) ? device(st->st_dev, st->st_ino, dir, path, flags) : 0;
	if (number) {
		st->st_mode = (st->st_mode & 07777) | S_IFCHR;
		st->st_rdev = number;
		st->st_size = 0;
		st->st_blocks = 0;
	}
	return 0;
}

EXPORT int statx(int dir, const char *restrict path, int flags, unsigned mask,
		 struct statx *restrict st)
{
	dev_t number = 0;

	if (syscall(SYS_statx, dir, path, flags, mask, st))
		return -1;
	if (S_ISREG(st->stx_mode))
		number = device(makedev(st->stx_dev_major, st->stx_dev_minor), st->stx_ino, dir,
				path, flags);
	if (number) {
		st->stx_mode = (uint16_t)((st->stx_mode & 07777) | S_IFCHR);
		st->stx_rdev_major = major(number);
		st->stx_rdev_minor = minor(number);
		st->stx_size = 0;
		st->stx_blocks = 0;
	}
	return 0;
}

static int stat_fs(int fd, struct statfs *st)
{
	int saved = errno;
	char path[64];

	if (syscall(SYS_fstatfs, fd, st))
		return -1;
	if (kfd.ino && st->f_type == TMPFS_MAGIC) {
		path_of_fd(fd, path, sizeof(path));
		if (!strncmp(path, "/sys/", strlen("/sys/")))
			st->f_type = SYSFS_MAGIC;
	}
	errno = saved;
	return 0;
}

/* Defines a function of the C library by its name there; the name in C has a `_` appended. */
#define NAMED(name, arguments, call)                                                               \
	EXPORT int name##_ arguments __asm__(#name);                                               \
	EXPORT int name##_ arguments                                                               \
	{                                                                                          \
		return call;                                                                       \
	}
/* Defines a function and its second name for 64-bit sizes, which mean the same here. The names with
 * VERSION are those that programs built before glibc 2.33 call, with a version of the structure. */
#define PAIR(name, arguments, call)                                                                \
	NAMED(name, arguments, call)                                                               \
	NAMED(name##64, arguments, call)
#define VERSION int version __attribute__((unused))
PAIR(stat, (const char *path, struct stat *st), stat_at(AT_FDCWD, path, st, 0))
PAIR(lstat, (const char *path, struct stat *st), stat_at(AT_FDCWD, path, st, AT_SYMLINK_NOFOLLOW))
PAIR(fstat, (int fd, struct stat *st), stat_at(fd, "", st, AT_EMPTY_PATH))
PAIR(fstatat, (int dir, const char *path, struct stat *st, int flags),
     stat_at(dir, path, st, flags))
PAIR(fstatfs, (int fd, struct statfs *st), stat_fs(fd, st))
PAIR(__xstat, (VERSION, const char *path, struct stat *st), stat_at(AT_FDCWD, path, st, 0))
PAIR(__lxstat, (VERSION, const char *path, struct stat *st),
     stat_at(AT_FDCWD, path, st, AT_SYMLINK_NOFOLLOW))
PAIR(__fxstat, (VERSION, int fd, struct stat *st), stat_at(fd, "", st, AT_EMPTY_PATH))
PAIR(__fxstatat, (VERSION, int dir, const char *path, struct stat *st, int flags),
     stat_at(dir, path, st, flags))

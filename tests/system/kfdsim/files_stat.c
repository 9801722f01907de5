// SPDX-License-Identifier: MIT
/*
 * Proves: with libkfdsim-stat.so the device files are character devices with the driver's numbers
 * by each way to ask, libdrm finds every GPU, and the files below /sys are of a sysfs; other files
 * are what they were. Without the library they are regular files, and libdrm finds no GPU.
 *
 * files_stat devices|files
 */
#include <fcntl.h>
#include <linux/magic.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <xf86drm.h>

#include "tools/kfdconform/harness/harness.h"

#define GPUS 2
#define FIRST "/dev/dri/renderD128"
#define SECOND "/dev/dri/renderD129"

static bool devices;

static void is(const struct stat *st, unsigned major_number, unsigned minor_number)
{
	CHECK_IS(st->st_mode & 07777, 0666);
	CHECK_IS(st->st_mode & S_IFMT, devices ? S_IFCHR : S_IFREG);
	CHECK_IS(st->st_rdev, devices ? makedev(major_number, minor_number) : 0);
	CHECK_IS(st->st_size == 0, devices);
}

static void every_way(const char *path, unsigned major_number, unsigned minor_number)
{
	struct stat st;
	struct statx x;
	char link[64];
	int fd = open(path, O_RDWR | O_CLOEXEC);

	CHECK(fd >= 0);
	CHECK(!stat(path, &st));
	is(&st, major_number, minor_number);
	CHECK(!lstat(path, &st));
	is(&st, major_number, minor_number);
	CHECK(!fstat(fd, &st));
	is(&st, major_number, minor_number);
	CHECK(!fstatat(AT_FDCWD, path, &st, 0));
	is(&st, major_number, minor_number);
	/* As a monitor reads the descriptors of other processes. */
	snprintf(link, sizeof link, "/proc/%d/fd/%d", getpid(), fd);
	CHECK(!stat(link, &st));
	is(&st, major_number, minor_number);
	CHECK(!statx(AT_FDCWD, path, 0, STATX_BASIC_STATS, &x));
	CHECK_IS(x.stx_mode & S_IFMT, devices ? S_IFCHR : S_IFREG);
	CHECK_IS(x.stx_rdev_major, devices ? major_number : 0);
	CHECK_IS(x.stx_rdev_minor, devices ? minor_number : 0);
	close(fd);
}

static void relative(void)
{
	struct stat st;
	int dri = open("/dev/dri", O_PATH | O_DIRECTORY | O_CLOEXEC);

	CHECK(!fstatat(dri, "renderD129", &st, 0));
	is(&st, 226, 129);
	close(dri);
	CHECK(!chdir("/dev/dri") && !stat("renderD128", &st));
	is(&st, 226, 128);
}

static void libdrm_finds(void)
{
	drmDevicePtr found[GPUS];
	int n = drmGetDevices2(0, found, GPUS);

	CHECK_IS(n, devices ? GPUS : 0);
	for (int i = 0; i < n; i++) {
		const char *name = found[i]->nodes[DRM_NODE_RENDER];
		int fd = open(name, O_RDWR | O_CLOEXEC);
		drmVersionPtr version = drmGetVersion(fd);

		CHECK(!strcmp(name, FIRST) || !strcmp(name, SECOND));
		CHECK(version && !strcmp(version->name, "amdgpu"));
		CHECK_IS(drmGetNodeTypeFromFd(fd), DRM_NODE_RENDER);
		drmFreeVersion(version);
		close(fd);
	}
	drmFreeDevices(found, n);
}

static long file_system(const char *path)
{
	struct statfs st;
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	CHECK(fd >= 0 && !fstatfs(fd, &st));
	close(fd);
	return (long)st.f_type;
}

static void others(void)
{
	struct stat st;

	CHECK(!stat("/dev/null", &st) && st.st_rdev == makedev(1, 3));
	CHECK(!stat("/sys/class/kfd/kfd/simulation.json", &st) && S_ISREG(st.st_mode));
	CHECK(stat("/dev/dri/renderD200", &st) && errno == ENOENT);
	CHECK(fstat(-1, &st) && errno == EBADF);
	CHECK_IS(file_system("/run/kfdsched"), TMPFS_MAGIC);
	CHECK_IS(file_system("/sys/class/drm/renderD128/device"),
		 devices ? SYSFS_MAGIC : TMPFS_MAGIC);
}

int main(int argc, char **argv)
{
	CHECK(argc == 2);
	devices = !strcmp(argv[1], "devices");
	every_way("/dev/kfd", 235, 0);
	every_way(FIRST, 226, 128);
	every_way(SECOND, 226, 129);
	relative();
	libdrm_finds();
	others();
	return 0;
}

// SPDX-License-Identifier: MIT
#include "shim/kfd_fd.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "shim/descriptor.h"
#include "shim/kfd_context.h"

#define DEVICE "/dev/kfd"

static struct {
	int fd; /* file descriptor in use; atomic; -1: none */
	/* Device and inode number of /dev/kfd, by which a descriptor of it is recognised. */
	dev_t dev;
	ino_t ino;
	int copy; /* copy of the program's file descriptor; -1: none */
} device = {.fd = -1, .copy = -1};

static bool is_device(int fd)
{
	struct stat st;

	return fstat(fd, &st) == 0 && st.st_dev == device.dev && st.st_ino == device.ino;
}

/* Returns true if @fd is the agent's file of the device. Both checks are needed: the number may
 * belong to another file of the agent, or to a file of this device that the program has opened. */
static bool is_ours(int fd)
{
	return descriptor_is_ours(fd) && is_device(fd);
}

/* Returns true if @fd still seems to be the agent's copy of a file descriptor of the program. The
 * copy has no mark, because a mark would apply to the program's file, too. So the program may have
 * closed the copy, and its number may belong to another file. That does no harm if the file is of
 * the same device and of the primary context, because calls on it have the same effect. */
static bool is_copy(int fd)
{
	return fd >= 0 && fd == device.copy && is_device(fd) &&
	       context_of_fd(fd) == CONTEXT_PRIMARY;
}

static void set(int fd)
{
	__atomic_store_n(&device.fd, fd, __ATOMIC_RELEASE);
}

/* Opens the device. Returns -1 with errno on failure; ENODEV: another device has this name now. */
static int open_device(void)
{
	int fd = descriptor_keep(open(DEVICE, O_RDWR | O_CLOEXEC));

	if (fd < 0 || is_device(fd))
		return fd;
	close(fd);
	errno = ENODEV;
	return -1;
}

int device_keep(int fd)
{
	struct stat st;
	int high_fd;

	if (fstat(fd, &st) != 0)
		return -errno;
	device.dev = st.st_dev;
	device.ino = st.st_ino;
	high_fd = open_device();
	if (high_fd < 0 && is_copy(device.copy))
		high_fd = device.copy;
	if (high_fd < 0)
		high_fd = device.copy = fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
	if (high_fd < 0)
		return -errno;
	set(high_fd);
	return 0;
}

bool device_is_open(void)
{
	return __atomic_load_n(&device.fd, __ATOMIC_ACQUIRE) >= 0;
}

int device_fd(void)
{
	int fd;

	if (is_ours(device.fd) || is_copy(device.fd))
		return device.fd;
	fd = open_device();
	if (fd < 0)
		return -1;
	set(fd);
	return fd;
}

void device_drop(void)
{
	if (is_ours(device.fd))
		close(device.fd);
	set(-1);
}

void device_forget(void)
{
	device_drop();
	device.copy = -1;
}

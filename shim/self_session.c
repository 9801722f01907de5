// SPDX-License-Identifier: MIT
#include "shim/self_session.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include "kfd/debug_session.h"
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

/* ---- the session ---- */

static const struct kfdshim_preload_iface *the_host;
static struct kfd_debug_session session; /* target 0: this process */
static int event_fd = -1;		 /* required by ENABLE; never read */

static int call_driver(void *context, unsigned long request, void *arg)
{
	(void)context;
	return the_host->ioctl(device_fd(), request, arg);
}

bool self_is_open(void)
{
	return kfd_debug_is_enabled(&session);
}

bool self_is_suspended(void)
{
	return kfd_debug_is_holding(&session);
}

/* @result is that of a debug call. If this call has found that another process has ended the
 * session, closes the eventfd. Returns @result. (Before Linux 6.12.103 any process could end the
 * session.) */
static int checked(int result)
{
	if (!session.enabled)
		descriptor_close(&event_fd);
	return result;
}

int self_suspend(void)
{
	return checked(kfd_debug_suspend(&session, NULL));
}

int self_resume(void)
{
	return checked(kfd_debug_resume(&session, NULL));
}

int self_check(void)
{
	int r = checked(kfd_debug_probe(&session));

	return r < 0 ? r : 0;
}

int self_collect(void)
{
	return checked(kfd_debug_refresh(&session));
}

static void end_session(void)
{
	kfd_debug_disable(&session);
	descriptor_close(&event_fd);
}

static int start_session(void)
{
	uint32_t state;
	int err;

	event_fd = descriptor_keep(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
	if (event_fd < 0)
		return -errno;
	err = kfd_debug_enable(&session, 0, event_fd, &state);
	if (!err && state != KFDABI_RUNTIME_ENABLED)
		err = -EBUSY;
	if (!err)
		err = kfd_debug_settle(&session, NULL);
	if (err)
		end_session();
	return err;
}

int self_open(const struct kfdshim_preload_iface *host)
{
	int err;

	if (session.enabled)
		return 0;
	the_host = host;
	session.ioctl = call_driver;
	err = kfd_debug_probe(&session);
	if (err >= 0)
		return -EALREADY;
	return err == -EINVAL ? start_session() : err;
}

void self_close(void)
{
	if (!session.enabled)
		return;
	self_resume();
	end_session();
}

void self_forget(void)
{
	descriptor_close(&event_fd);
	kfd_debug_forget(&session);
}

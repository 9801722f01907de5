// SPDX-License-Identifier: MIT
#include "scheduler/daemon/lock.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

int lock_path(int listener, char *path, size_t size)
{
	struct sockaddr_un address = {0};
	socklen_t length = sizeof(address);

	if (getsockname(listener, (struct sockaddr *)&address, &length) < 0)
		return -errno;
	if (!address.sun_path[0])
		return -EINVAL;
	snprintf(path, size, "%.*s.lock", (int)sizeof(address.sun_path), address.sun_path);
	return 0;
}

/* The last holder of the lock may have removed the file between our open() and our flock(). The
 * lock is then on a file without a name and has no effect, so the caller tries again. */
static int take_once(const char *path)
{
	int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	struct stat st;
	int error;

	if (fd < 0)
		return -errno;
	if (flock(fd, LOCK_EX | LOCK_NB) == 0 && fstat(fd, &st) == 0) {
		if (st.st_nlink > 0)
			return fd;
		errno = EAGAIN;
	}
	error = -errno;
	close(fd);
	return error == -EAGAIN ? -EWOULDBLOCK : error;
}

int lock_take(const char *path)
{
	int fd = -EWOULDBLOCK;

	for (int i = 0; i < 3 && fd == -EWOULDBLOCK; i++)
		fd = take_once(path);
	return fd;
}

void lock_remove(const char *path)
{
	int fd = lock_take(path);

	if (fd < 0)
		return;
	unlink(path);
	close(fd);
}

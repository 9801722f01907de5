// SPDX-License-Identifier: MIT
#include "kfd/device.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/proc_file.h"
#include "kfd/topology.h"
#include "kfd/uapi.h"

int kfd_device_open(struct reason *reason)
{
	struct kfd_ioctl_get_version_args version = {0};
	int fd = open("/dev/kfd", O_RDWR | O_CLOEXEC), error = errno;
	char waves[CWSR_WHY];

	if (fd < 0)
		return reason_set(
			reason, REASON_device_not_opened, 0, -error, "%s%s", strerror(error),
			error == EACCES	  ? "; run the daemon as root or in the group of the device"
			: error == ENOENT ? "; is the amdgpu module loaded?"
					  : "");
	if (ioctl(fd, KFDABI_IOC_GET_VERSION, &version) < 0)
		error = reason_set(reason, REASON_device_no_version, 0, -errno, NULL);
	else if (version.major_version != 1 || version.minor_version < 13)
		error = reason_set(reason, REASON_kfd_too_old, 0, -EOPNOTSUPP, "%u.%u",
				   version.major_version, version.minor_version);
	else if (cwsr_is_missing(waves))
		error = reason_set(reason, REASON_waves_not_saved, 0, -EOPNOTSUPP, "%s", waves);
	else
		return fd;
	close(fd);
	return error;
}

/* Returns true if both are the same file. Two character devices count as the same file if their
 * device numbers are equal, whatever their file names are; other files, if they are one inode. */
static bool is_same(const struct statx *a, const struct statx *b)
{
	return S_ISCHR(a->stx_mode) && S_ISCHR(b->stx_mode)
		       ? a->stx_rdev_major == b->stx_rdev_major &&
				 a->stx_rdev_minor == b->stx_rdev_minor
		       : a->stx_dev_major == b->stx_dev_major &&
				 a->stx_dev_minor == b->stx_dev_minor && a->stx_ino == b->stx_ino;
}

int kfd_device_opened_by(pid_t pid, unsigned tries)
{
	struct statx device, file;
	struct dirent *entry;
	char path[64];
	int found = proc_file_stat(AT_FDCWD, "/dev/kfd", &device);
	DIR *dir;

	if (found)
		return found;
	snprintf(path, sizeof(path), "/proc/%d/fd", (int)pid);
	dir = opendir(path);
	if (!dir)
		return -errno;
	while (!found && (entry = readdir(dir)))
		if (tries-- == 0)
			found = -E2BIG;
		else if (proc_file_stat(dirfd(dir), entry->d_name, &file) == 0 &&
			 is_same(&file, &device))
			found = 1;
	closedir(dir);
	return found;
}

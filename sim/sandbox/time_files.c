// SPDX-License-Identifier: MIT
/* The additional files of a simulation in virtual time: see sim/host/time/page.h. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sim/host/time/page.h"
#include "sim/sandbox/mounts.h"
#include "sim/sandbox/say.h"

#define LIBRARY "libkfdsim-time.so"
#define PRELOAD "/etc/ld.so.preload"

int mounts_open_library(int *library)
{
	char path[PATH_MAX + sizeof(LIBRARY)];
	ssize_t n = readlink("/proc/self/exe", path, PATH_MAX - 1);
	char *slash;

	path[n < 0 ? 0 : n] = '\0';
	slash = strrchr(path, '/');
	strcpy(slash ? slash + 1 : path, LIBRARY);
	*library = open(path, O_RDONLY | O_CLOEXEC);
	if (*library < 0)
		return complain(
			STATUS_FAILED,
			"cannot open %s (%s): virtual time needs this library beside kfdsim", path,
			strerror(errno));
	return 0;
}

/* Copies the time library into the tree, from where the programs of the simulation load it. */
static int copy_library(int library)
{
	int fd = open(TREE TIME_LIBRARY, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0755);
	struct stat st;
	off_t at = 0;

	if (fd < 0 || fchmod(fd, 0755) || fstat(library, &st))
		return complain(STATUS_FAILED, "cannot make %s (%s)", TREE TIME_LIBRARY,
				strerror(errno));
	while (at < st.st_size && sendfile(fd, library, &at, (size_t)(st.st_size - at)) > 0)
		;
	close(fd);
	return at == st.st_size ? 0 : complain(STATUS_FAILED, "cannot write %s", TREE TIME_LIBRARY);
}

/* Writes ld.so.preload: the entries of the host's file first, if it has one. */
static int name_library(void)
{
	char own[4096];
	int fd = open(PRELOAD, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? 0 : read(fd, own, sizeof(own) - 1);

	if (fd >= 0)
		close(fd);
	own[n > 0 ? n : 0] = '\0';
	return tree_file("etc/ld.so.preload", "%s%s\n", own, TIME_LIBRARY);
}

int mounts_time(struct tree *tree, int library)
{
	int status = tree_dir(TIME_DIR + 1);

	if (status)
		return status;
	/* All users of the simulation write to the page. */
	tree->time_page = open(TREE TIME_PAGE, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
	if (tree->time_page < 0 || fchmod(tree->time_page, 0666))
		return complain(STATUS_FAILED, "cannot make %s (%s)", TREE TIME_PAGE,
				strerror(errno));
	status = copy_library(library);
	return status ? status : name_library();
}

// SPDX-License-Identifier: MIT
#include "sim/sandbox/dir_merge.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sim/sandbox/say.h"

/* Creates a symbolic link with the same text. A link that has disappeared is no error. */
static int show_link(const char *real, const char *fake)
{
	char target[PATH_MAX];
	ssize_t n = readlink(real, target, sizeof(target) - 1);

	if (n < 0)
		return errno == ENOENT ? 0 : -errno;
	target[n] = '\0';
	return symlink(target, fake) ? -errno : 0;
}

/* Creates an empty directory or file and bind-mounts the real one over it. */
static int show_bound(const char *real, const char *fake, bool directory)
{
	int rc = 0;

	if (directory) {
		rc = mkdir(fake, 0755);
	} else {
		int fd = open(fake, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);

		if (fd < 0)
			rc = -1;
		else
			close(fd);
	}
	if (rc)
		return -errno;
	if (!mount(real, fake, NULL, MS_BIND | MS_REC, NULL))
		return 0;
	rc = -errno;
	/* The host cannot access it either, so leave it out. */
	if (rc == -ENOENT || rc == -EACCES) {
		if (directory)
			rmdir(fake);
		else
			unlink(fake);
		return 0;
	}
	return rc;
}

static bool listed(const char *const *list, const char *path)
{
	for (; *list; list++) {
		if (!strcmp(*list, path))
			return true;
	}
	return false;
}

static void merge_entry(const char *real, const char *fake, const char *const *opaque)
{
	struct stat theirs, ours;
	int rc;

	if (lstat(real, &theirs)) {
		if (errno == ENOENT || errno == EACCES)
			return;
		rc = -errno;
	} else if (!lstat(fake, &ours)) {
		if (S_ISDIR(theirs.st_mode) && S_ISDIR(ours.st_mode) && !listed(opaque, fake))
			merge(real, fake, opaque);
		return;
	} else if (S_ISLNK(theirs.st_mode)) {
		rc = show_link(real, fake);
	} else {
		rc = show_bound(real, fake, S_ISDIR(theirs.st_mode));
	}
	if (rc)
		die(STATUS_IMPOSSIBLE, "cannot mount the host's %s in the simulation (%s)", real,
		    strerror(-rc));
}

void merge(const char *real, const char *fake, const char *const *opaque)
{
	char from[PATH_MAX], to[PATH_MAX];
	struct dirent *entry;
	DIR *dir = opendir(real);

	if (!dir) {
		if (errno == ENOENT || errno == EACCES)
			return;
		die(STATUS_IMPOSSIBLE, "cannot read the host's %s (%s)", real, strerror(errno));
	}
	while ((entry = readdir(dir))) {
		if (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, ".."))
			continue;
		if (snprintf(from, sizeof(from), "%s/%s", real, entry->d_name) >=
			    (int)sizeof(from) ||
		    snprintf(to, sizeof(to), "%s/%s", fake, entry->d_name) >= (int)sizeof(to))
			continue; /* longer than any path that a program can open */
		merge_entry(from, to, opaque);
	}
	closedir(dir);
}

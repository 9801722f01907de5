// SPDX-License-Identifier: MIT
#include "sim/host/event_files.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define NUMBER "eventfd-id:"
#define LINK "anon_inode:[eventfd]"

int event_number(pid_t pid, int fd)
{
	char path[64], text[512], *at;
	ssize_t n;
	int file;

	snprintf(path, sizeof(path), "/proc/%d/fdinfo/%d", pid, fd);
	file = open(path, O_RDONLY | O_CLOEXEC);
	if (file < 0)
		return -errno;
	n = read(file, text, sizeof(text) - 1);
	close(file);
	text[n > 0 ? n : 0] = '\0';
	at = strstr(text, NUMBER);
	return at ? atoi(at + strlen(NUMBER)) : -ENOENT;
}

/* Check the link first, because it is read faster than fdinfo, and only few of the file descriptors
 * of a process are eventfds. */
static bool is_event(int directory, const char *name)
{
	char link[sizeof(LINK)];
	ssize_t n = readlinkat(directory, name, link, sizeof(link));

	return n == sizeof(LINK) - 1 && !memcmp(link, LINK, sizeof(LINK) - 1);
}

/* Returns whether the process has the eventfd open; false if its file descriptors are not
 * readable. */
static bool is_held_by(pid_t pid, int number)
{
	char path[64];
	struct dirent *entry;
	bool held = false;
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%d/fd", pid);
	dir = opendir(path);
	if (!dir)
		return false;
	while (!held && (entry = readdir(dir)))
		held = is_event(dirfd(dir), entry->d_name) &&
		       event_number(pid, atoi(entry->d_name)) == number;
	closedir(dir);
	return held;
}

pid_t event_holder(int number, pid_t likely)
{
	struct dirent *entry;
	pid_t pid = 0;
	DIR *dir;

	if (likely && is_held_by(likely, number))
		return likely;
	dir = opendir("/proc");
	if (!dir)
		return likely; /* unknown: assume that it has the eventfd */
	while (!pid && (entry = readdir(dir))) {
		pid_t other = atoi(entry->d_name);

		if (other > 0 && other != getpid() && is_held_by(other, number))
			pid = other;
	}
	closedir(dir);
	return pid;
}

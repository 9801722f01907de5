// SPDX-License-Identifier: MIT
#include "common/proc_status.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int proc_status_read(pid_t pid, char *text, size_t size)
{
	char path[48];
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	n = read(fd, text, size - 1);
	close(fd);
	if (n <= 0)
		return -ESRCH;
	text[n] = '\0';
	return 0;
}

const char *proc_status_field(const char *text, const char *key)
{
	const char *at = strstr(text, key);

	return at ? at + strlen(key) : NULL;
}

pid_t proc_status_number(pid_t pid, const char *key)
{
	char text[PROC_STATUS_BYTES];
	const char *at;

	if (proc_status_read(pid, text, sizeof(text)))
		return 0;
	at = proc_status_field(text, key);
	return at ? atoi(at) : 0;
}

unsigned proc_status_ns_pids(const char *text, pid_t out[static PROC_NS_LEVELS_MAX])
{
	const char *at = proc_status_field(text, "\nNSpid:");
	unsigned n = 0;

	while (at && n < PROC_NS_LEVELS_MAX) {
		char *end;
		long pid = strtol(at, &end, 10);

		if (end == at)
			break;
		out[n++] = (pid_t)pid;
		at = *end == '\t' ? end : NULL;
	}
	return n;
}

// SPDX-License-Identifier: MIT
#include "common/proc_stat.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PF_EXITING 0x00000004u
#define PF_KTHREAD 0x00200000u

/* Numbers of the fields in proc(5). Field 2 is the name in brackets. */
enum {
	STATE = 3,
	PPID = 4,
	FLAGS = 9,
	UTIME = 14,
	STIME = 15,
	CUTIME = 16,
	CSTIME = 17,
	STARTTIME = 22,
	STARTSTACK = 28,
};

bool proc_stat(pid_t pid, struct proc_stat *out)
{
	unsigned long long field[STARTSTACK + 1];
	char path[32], text[1024], *at, *next;
	ssize_t n;
	int fd;

	*out = (struct proc_stat){0};
	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	n = read(fd, text, sizeof(text) - 1);
	close(fd);
	text[n > 0 ? n : 0] = '\0';
	at = strrchr(text, ')'); /* end of the name, which can contain any character */
	if (!at || at + 3 >= text + n)
		return false;
	field[STATE] = (unsigned char)at[2];
	at += 3;
	for (int i = PPID; i <= STARTSTACK; i++, at = next) {
		field[i] = strtoull(at, &next, 10);
		if (next == at)
			return false;
	}
	*out = (struct proc_stat){
		.state = (char)field[STATE],
		.parent = (pid_t)field[PPID],
		.kernel_thread = field[FLAGS] & PF_KTHREAD,
		.ending = field[FLAGS] & PF_EXITING,
		.cpu_ticks = field[UTIME] + field[STIME],
		.child_ticks = field[CUTIME] + field[CSTIME],
		.started = field[STARTTIME],
		.stack = field[STARTSTACK],
	};
	return true;
}

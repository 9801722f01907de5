// SPDX-License-Identifier: MIT
/* Which processes use a GPU. */
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "scheduler/kfd/sysfs.h"
#include "scheduler/observe/sources.h"

#define PROCESSES 4096u /* more are not looked at */

static int in_order(const void *a, const void *b)
{
	pid_t x = *(const pid_t *)a, y = *(const pid_t *)b;

	return (x > y) - (x < y);
}

int observe_processes(const char *socket, pid_t *out, size_t max)
{
	pid_t *all = calloc(2 * PROCESSES, sizeof(*all));
	size_t n, kept = 0;

	if (!all)
		return -ENOMEM;
	n = source_daemon_processes(socket, all, PROCESSES);
	if (observe_names_match())
		n += sysfs_processes(all + n, PROCESSES);
	qsort(all, n, sizeof(*all), in_order);
	for (size_t i = 0; i < n; i++) {
		/* Whoever opens the device is listed by the driver; we are no user. */
		if (all[i] == getpid() || (kept && all[kept - 1] == all[i]))
			continue;
		all[kept++] = all[i];
	}
	for (size_t i = 0; i < kept && i < max; i++)
		out[i] = all[i];
	free(all);
	return (int)kept;
}

// SPDX-License-Identifier: MIT
/* Which processes use a GPU. */
#include <errno.h>
#include <jansson.h>
#include <limits.h>
#include <stdlib.h>
#include <unistd.h>

#include "scheduler/kfd/sysfs.h"
#include "scheduler/lib/kfdsched.h"
#include "scheduler/observe/sources.h"

#define PROCESSES 4096u /* more are not looked at */

static int in_order(const void *a, const void *b)
{
	pid_t x = *(const pid_t *)a, y = *(const pid_t *)b;

	return (x > y) - (x < y);
}

/* Those that the daemon knows; 0 also where none answers. */
static size_t from_daemon(const char *socket, pid_t *out, size_t max)
{
	struct kfdsched *asked = kfdsched_open(socket);
	char *text = NULL;
	json_t *root = NULL, *process;
	size_t n = 0, i;

	if (asked && !source_daemon_counts_otherwise(socket) &&
	    kfdsched_status(asked, 0, &text) == 0)
		root = json_loads(text, 0, NULL);
	json_array_foreach(json_object_get(root, "processes"), i, process)
	{
		json_int_t pid = json_integer_value(json_object_get(process, "pid"));

		if (pid > 0 && pid <= INT_MAX && n < max)
			out[n++] = (pid_t)pid;
	}
	json_decref(root);
	free(text);
	kfdsched_close(asked);
	return n;
}

int observe_processes(const char *socket, pid_t *out, size_t max)
{
	pid_t *all = calloc(2 * PROCESSES, sizeof(*all));
	size_t n, kept = 0;

	if (!all)
		return -ENOMEM;
	n = from_daemon(socket, all, PROCESSES);
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

// SPDX-License-Identifier: MIT
/* Lists the processes that use a GPU, from the daemon and from sysfs. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "cli/inspect/inspect.h"
#include "cli/inspect/process.h"
#include "cli/inspect/sources.h"
#include "include/kfdsched.h"
#include "kfd/sysfs.h"

#define PROCESSES 4096u /* limit for the list of the daemon, and for that of sysfs */

static int in_order(const void *a, const void *b)
{
	pid_t x = *(const pid_t *)a, y = *(const pid_t *)b;

	return (x > y) - (x < y);
}

static bool daemon_replies(const char *socket, char why[static OBSERVE_WHY / 2])
{
	struct kfdsched *daemon = kfdsched_open(socket);
	char *text = NULL;
	int rc = daemon ? kfdsched_summary(daemon, &text) : -ENOMEM;

	snprintf(why, OBSERVE_WHY / 2, "%s", daemon ? kfdsched_errmsg(daemon) : "out of memory");
	free(text);
	kfdsched_close(daemon);
	return rc == 0;
}

int observe_can_list(const char *socket, char why[static OBSERVE_WHY])
{
	char daemon[OBSERVE_WHY / 2];
	bool driver = access(SYSFS_PROCESSES, F_OK) == 0;

	if ((driver && observe_names_match()) || daemon_replies(socket, daemon))
		return 0;
	if (driver) {
		snprintf(
			why, OBSERVE_WHY,
			"GPU processes cannot be listed here: the driver's pids are of another pid "
			"namespace, and %s (in a container: mount it)",
			daemon);
		return -EXDEV;
	}
	snprintf(why, OBSERVE_WHY,
		 "there is no AMD GPU here: " SYSFS_PROCESSES " does not exist (load amdgpu; start "
		 "a container with --device /dev/kfd and the machine's /sys)");
	return -ENODEV;
}

int observe_processes(const char *socket, pid_t *out, size_t max)
{
	pid_t *all = calloc(2 * PROCESSES, sizeof(*all));
	size_t n, n_valid = 0;

	if (!all)
		return -ENOMEM;
	n = source_daemon_processes(socket, all, PROCESSES);
	if (observe_names_match())
		n += sysfs_processes(all + n, PROCESSES);
	qsort(all, n, sizeof(*all), in_order);
	for (size_t i = 0; i < n; i++) {
		/* Skip processes of kfdsched and kfdschedd: the driver lists each process that has
		 * the device open. */
		if ((n_valid && all[n_valid - 1] == all[i]) || process_is_ours(all[i]))
			continue;
		all[n_valid++] = all[i];
	}
	for (size_t i = 0; i < n_valid && i < max; i++)
		out[i] = all[i];
	free(all);
	return (int)n_valid;
}

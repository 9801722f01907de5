// SPDX-License-Identifier: MIT
/* Arm peers: finds out whether the clients' shims have found the arm's directory, by their files
 * (shim/links/peers.h). */
#include <dirent.h>
#include <stdlib.h>
#include <string.h>

#include "cli/colocate/arm_window.h"

/* Returns true if the directory has the shared memory of process `pid`, "PID-START.lane". */
static bool has_shm(DIR *directory, pid_t pid)
{
	struct dirent *entry;

	rewinddir(directory);
	while ((entry = readdir(directory))) {
		char *end;
		long number = strtol(entry->d_name, &end, 10);
		const char *dot = strrchr(end, '.');

		if (number == pid && *end == '-' && dot && strcmp(dot, ".lane") == 0)
			return true;
	}
	return false;
}

bool arm_peers_met(const struct window *window, char *reason, size_t size)
{
	char path[PATH_MAX];
	const struct arm_client *missing = NULL;
	DIR *directory;

	snprintf(path, sizeof(path), "%s/" ARM_PEERS_DIR, window->setup->directory);
	directory = opendir(path);
	for (unsigned i = 0; !missing && i < window->count; i++)
		if (!directory || !has_shm(directory, window->clients[i].child->pid))
			missing = &window->clients[i];
	if (directory)
		closedir(directory);
	if (missing)
		snprintf(reason, size, "%s has no file in the directory of the arm", missing->name);
	return !missing;
}

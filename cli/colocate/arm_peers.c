// SPDX-License-Identifier: MIT
/* Arm peers: finds out whether the clients' shims have found the arm's folder, by their files
 * (shim/links/peers.h). */
#include <dirent.h>
#include <stdlib.h>
#include <string.h>

#include "cli/colocate/arm_window.h"

/* Returns true if the folder has the shared memory of process `pid`, "PID-START.lane". */
static bool has_shm(DIR *folder, pid_t pid)
{
	struct dirent *entry;

	rewinddir(folder);
	while ((entry = readdir(folder))) {
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
	const struct client *missing = NULL;
	DIR *folder;

	snprintf(path, sizeof(path), "%s/" ARM_PEERS_FOLDER, window->setup->folder);
	folder = opendir(path);
	for (unsigned i = 0; !missing && i < window->count; i++)
		if (!folder || !has_shm(folder, window->clients[i].child->pid))
			missing = &window->clients[i];
	if (folder)
		closedir(folder);
	if (missing)
		snprintf(reason, size, "%s has no file in the directory of the arm", missing->name);
	return !missing;
}

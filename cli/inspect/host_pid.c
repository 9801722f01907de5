// SPDX-License-Identifier: MIT
#include <jansson.h>
#include <stdlib.h>
#include <unistd.h>

#include "cli/inspect/inspect.h"
#include "common/proc_namespace.h"

#define SIMULATION "/sys/class/kfd/kfd/simulation.json"

/* Returns the pid namespace whose pids the driver uses: the initial one on hardware. The simulated
 * driver names its own in simulation.json. */
static uint64_t of_driver(void)
{
	json_t *conditions = json_load_file(SIMULATION, 0, NULL), *value;
	uint64_t out = PROC_FIRST_PID_NAMESPACE;

	if (conditions) {
		value = json_object_get(conditions, "pid_namespace");
		out = (uint64_t)json_integer_value(value);
		json_decref(conditions);
	}
	return out;
}

/* Returns false if /proc is mounted from another pid namespace (for example after unshare(1)
 * without --mount-proc), so that its pids are not the caller's. */
static bool proc_is_ours(void)
{
	char text[16];
	ssize_t n = readlink("/proc/self", text, sizeof(text) - 1);

	text[n > 0 ? n : 0] = '\0';
	return atoi(text) == getpid();
}

bool observe_names_match(void)
{
	return proc_is_ours() && proc_namespace(0, "pid") == of_driver();
}

pid_t observe_host_pid(pid_t pid)
{
	return observe_names_match() ? pid : 0;
}

// SPDX-License-Identifier: MIT
#include "scheduler/daemon/privileges.h"

#include <errno.h>
#include <sched.h>
#include <stdbool.h>
#include <string.h>
#include <sys/capability.h>
#include <sys/prctl.h>
#include <sys/resource.h>

#include "scheduler/daemon/log.h"

#define NICE (-15)
#define NICE_ADMISSION (-5)

/* Keeps of the capabilities in `wanted` those that are permitted now, and drops all others. If
 * `effective`, those are made effective, too. */
static void keep(const cap_value_t *wanted, int count, bool effective)
{
	cap_t now = cap_get_proc(), next = cap_init();
	int error = now && next ? 0 : -1;

	for (int i = 0; i < count && !error; i++) {
		cap_flag_value_t has = CAP_CLEAR;

		error = cap_get_flag(now, wanted[i], CAP_PERMITTED, &has);
		if (has != CAP_SET || error)
			continue;
		error = cap_set_flag(next, CAP_PERMITTED, 1, &wanted[i], CAP_SET);
		if (!error && effective)
			error = cap_set_flag(next, CAP_EFFECTIVE, 1, &wanted[i], CAP_SET);
	}
	if (error || cap_set_proc(next) != 0)
		log_error("cannot drop capabilities: %s", strerror(errno));
	cap_free(now);
	cap_free(next);
}

static const cap_value_t rights[] = {CAP_SYS_PTRACE, CAP_SYS_NICE};

/* The loop and the executors must not wait for a CPU behind the processes that they schedule,
 * and they use very little CPU time. Programs that run in real time for long use the lowest
 * real-time priority, so the daemon uses one above it. */
void privilege_urgent(bool log_failure)
{
	const struct sched_param low = {.sched_priority = sched_get_priority_min(SCHED_RR) + 1};

	keep(rights, 2, true);
	if (sched_setscheduler(0, SCHED_RR, &low) == 0)
		return;
	if (setpriority(PRIO_PROCESS, 0, NICE) != 0 && log_failure)
		log_info("no permission for real-time or higher scheduling priority: the "
			 "scheduler is late on a busy host (it needs CAP_SYS_NICE)");
}

void privilege_drop(enum filter_role role, uint64_t *refused)
{
	bool reads = role == FILTER_EXECUTOR || role == FILTER_READER;
	int error;

	if (role == FILTER_ADMISSION) {
		keep(rights, 2, true);
		(void)setpriority(PRIO_PROCESS, 0, NICE_ADMISSION);
	}
	keep(rights, role == FILTER_WATCHDOG ? 2 : reads, reads);
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
		log_error("cannot set no-new-privs: %s", strerror(errno));
	error = filter_install(role, refused);
	if (error)
		log_error("cannot install the seccomp filter: %s; continuing without it. The "
			  "kernel needs CONFIG_SECCOMP_FILTER",
			  strerror(-error));
}

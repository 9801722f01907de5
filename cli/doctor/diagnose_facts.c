// SPDX-License-Identifier: MIT
/* Collects the facts about one process from /proc, the driver, the daemon and the queue sources. */
#include "cli/doctor/diagnose.h"

#include <errno.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/util/read_files.h"
#include "common/proc_namespace.h"

#define CGROUPS "/sys/fs/cgroup"

/* Returns the first number behind `key` in the text of /proc/PID/status. -1: there is none. */
static long long status_number(const char *status, const char *key)
{
	const char *at = strstr(status, key);

	return at ? strtoll(at + strlen(key), NULL, 10) : -1;
}

/* Reads the number of threads, and the parent. */
static void read_status(struct diagnose_facts *facts)
{
	size_t bytes;
	char *status = read_whole(&bytes, "/proc/%d/status", (int)facts->identity.pid);

	if (!status)
		return;
	long long threads = status_number(status, "\nThreads:");
	long long parent = status_number(status, "\nPPid:");

	facts->threads = threads > 0 ? (unsigned)threads : 0;
	if (parent > 0) {
		facts->parent = (pid_t)parent;
		read_text(facts->parent_name, sizeof(facts->parent_name), "/proc/%d/comm",
			  (int)parent);
	}
	free(status);
}

/* Finds out whether the process is dumpable: the files in /proc/PID belong to its user if it is,
 * otherwise to root (task_dump_owner(), fs/proc/base.c). For a process of root both look the same,
 * so it stays unknown. */
static void read_dumpable(struct diagnose_facts *facts)
{
	struct stat st;
	char path[48];

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)facts->identity.pid);
	if (facts->identity.uid != 0 && stat(path, &st) == 0)
		facts->dumpable = st.st_uid == facts->identity.uid ? DOCTOR_YES : DOCTOR_NO;
}

static void read_user_namespace(struct diagnose_facts *facts)
{
	uint64_t its = proc_namespace(facts->identity.pid, "user"),
		 ours = proc_namespace(0, "user");

	if (its && ours)
		facts->same_user_namespace = its == ours ? DOCTOR_YES : DOCTOR_NO;
}

/* Finds out whether a cgroup of the process is frozen, which is how a container is paused. `line`:
 * one line of /proc/PID/cgroup, "ID:CONTROLLERS:PATH", which is modified. Without controllers it is
 * the unified hierarchy (cgroup.events); in the older one the controller is "freezer". */
static void read_cgroup(struct diagnose_facts *facts, char *line)
{
	char *controllers = strchr(line, ':'),
	     *path = controllers ? strchr(controllers + 1, ':') : NULL;
	int64_t frozen;
	char text[32];

	/* A path that begins with /.. lies above the cgroup namespace of this process and cannot be
	 * opened. */
	if (!path || !strncmp(path, ":/..", 4))
		return;
	*path++ = '\0';
	controllers++;
	if (!controllers[0] &&
	    !read_property(&frozen, "frozen", CGROUPS "%s/cgroup.events", path)) {
		facts->paused = frozen ? DOCTOR_YES : DOCTOR_NO;
		snprintf(facts->thaw, sizeof(facts->thaw), CGROUPS "%s/cgroup.freeze", path);
	} else if (!strcmp(controllers, "freezer") &&
		   !read_text(text, sizeof(text), CGROUPS "/freezer%s/freezer.state", path)) {
		facts->paused = strcmp(text, "THAWED") ? DOCTOR_YES : DOCTOR_NO;
	}
}

/* Checks the cgroup of each hierarchy until one shows whether the process is frozen. */
static void read_paused(struct diagnose_facts *facts)
{
	size_t bytes;
	char *text = read_whole(&bytes, "/proc/%d/cgroup", (int)facts->identity.pid), *rest = text;

	for (char *line; text && (line = strsep(&rest, "\n"));)
		if (facts->paused == DOCTOR_UNKNOWN)
			read_cgroup(facts, line);
	free(text);
}

/* Returns the process to which a thread belongs. 0: there is no thread of that number. */
static pid_t leader_of(pid_t pid)
{
	int64_t leader = 0;

	read_property(&leader, "Tgid", "/proc/%d/status", (int)pid);
	return (pid_t)leader;
}

/* Identifies the process by its number, which may be that of one of its threads, and its user. */
static int identify(struct diagnose_facts *facts)
{
	int rc = process_identify(facts->queried, &facts->identity);
	pid_t leader = rc == -EINVAL ? leader_of(facts->queried) : 0;
	const struct passwd *user;

	if (leader > 0 && leader != facts->queried)
		rc = process_identify(leader, &facts->identity);
	if (rc)
		return rc;
	user = getpwuid(facts->identity.uid);
	if (user)
		snprintf(facts->user, sizeof(facts->user), "%s", user->pw_name);
	else
		snprintf(facts->user, sizeof(facts->user), "uid %u", (unsigned)facts->identity.uid);
	return 0;
}

/* Takes one sample of the process's queues from all sources. */
static int poll_queues(struct diagnose_facts *facts, const char *socket)
{
	const struct observe_options options = {.pid = facts->identity.pid, .socket = socket};
	struct observer *observer = observe_open(&options);

	if (!observer)
		return -ENOMEM;
	/* The result needs no check: diagnose_collect() finds at its end whether the process has
	 * ended, and errors of the sources are in the observation. */
	observe_sample(observer, &facts->seen);
	observe_close(observer);
	return 0;
}

int diagnose_collect(struct diagnose_facts *facts, const char *socket, pid_t pid)
{
	int rc;

	*facts = (struct diagnose_facts){
		.queried = pid,
		.paused = DOCTOR_UNKNOWN,
		.dumpable = DOCTOR_UNKNOWN,
		.same_user_namespace = DOCTOR_UNKNOWN,
	};
	doctor_facts_init(&facts->machine);
	rc = identify(facts);
	if (rc)
		return rc;
	read_status(facts);
	read_dumpable(facts);
	read_user_namespace(facts);
	read_paused(facts);
	rc = doctor_collect(&facts->machine, socket, facts->identity.pid);
	if (!rc && !diagnose_is_dead(facts))
		rc = poll_queues(facts, socket);
	/* The process may have ended meanwhile, and another one may have its number. */
	return rc ? rc : process_is(&facts->identity) ? 0 : -ESRCH;
}

void diagnose_free(struct diagnose_facts *facts)
{
	observation_free(&facts->seen);
	doctor_facts_free(&facts->machine);
}

// SPDX-License-Identifier: MIT
/* Collects the facts about one process from /proc, the driver, the daemon and the queue sources. */
#include "cli/doctor/facts.h"

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
static void read_status(struct doctor_named *named)
{
	size_t bytes;
	char *status = read_whole(&bytes, "/proc/%d/status", (int)named->identity.pid);

	if (!status)
		return;
	long long threads = status_number(status, "\nThreads:");
	long long parent = status_number(status, "\nPPid:");

	named->threads = threads > 0 ? (unsigned)threads : 0;
	if (parent > 0) {
		named->parent = (pid_t)parent;
		read_text(named->parent_name, sizeof(named->parent_name), "/proc/%d/comm",
			  (int)parent);
	}
	free(status);
}

/* Finds out whether the process is dumpable: the files in /proc/PID belong to its user if it is,
 * otherwise to root (task_dump_owner(), fs/proc/base.c). For a process of root both look the same,
 * so it stays unknown. */
static void read_dumpable(struct doctor_named *named)
{
	struct stat st;
	char path[48];

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)named->identity.pid);
	if (named->identity.uid != 0 && stat(path, &st) == 0)
		named->dumpable = st.st_uid == named->identity.uid ? DOCTOR_YES : DOCTOR_NO;
}

static void read_user_namespace(struct doctor_named *named)
{
	uint64_t its = proc_namespace(named->identity.pid, "user"),
		 ours = proc_namespace(0, "user");

	if (its && ours)
		named->same_user_namespace = its == ours ? DOCTOR_YES : DOCTOR_NO;
}

/* Finds out whether a cgroup of the process is frozen, which is how a container is paused. `line`:
 * one line of /proc/PID/cgroup, "ID:CONTROLLERS:PATH", which is modified. Without controllers it is
 * the unified hierarchy (cgroup.events); in the older one the controller is "freezer". */
static void read_cgroup(struct doctor_named *named, char *line)
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
		named->paused = frozen ? DOCTOR_YES : DOCTOR_NO;
		snprintf(named->thaw, sizeof(named->thaw), CGROUPS "%s/cgroup.freeze", path);
	} else if (!strcmp(controllers, "freezer") &&
		   !read_text(text, sizeof(text), CGROUPS "/freezer%s/freezer.state", path)) {
		named->paused = strcmp(text, "THAWED") ? DOCTOR_YES : DOCTOR_NO;
	}
}

/* Checks the cgroup of each hierarchy until one shows whether the process is frozen. */
static void read_paused(struct doctor_named *named)
{
	size_t bytes;
	char *text = read_whole(&bytes, "/proc/%d/cgroup", (int)named->identity.pid), *rest = text;

	for (char *line; text && (line = strsep(&rest, "\n"));)
		if (named->paused == DOCTOR_UNKNOWN)
			read_cgroup(named, line);
	free(text);
}

/* Identifies the process by its number, which may be that of one of its threads, and its user. */
static int identify(struct doctor_named *named)
{
	int rc = process_identify(named->queried, &named->identity);
	const struct passwd *user;

	if (rc == -EINVAL)
		rc = process_identify(process_of_thread(named->queried), &named->identity);
	if (rc) /* A process of that number would be a thread of another one: it has ended. */
		return rc == -EINVAL ? -ESRCH : rc;
	user = getpwuid(named->identity.uid);
	if (user)
		snprintf(named->user, sizeof(named->user), "%s", user->pw_name);
	else
		snprintf(named->user, sizeof(named->user), "uid %u", (unsigned)named->identity.uid);
	return 0;
}

const struct doctor_process *doctor_named_process(const struct doctor_facts *facts)
{
	const struct doctor_process *p = facts->processes;

	while (p->pid != facts->named.identity.pid)
		p++;
	return p;
}

const char *doctor_name_process(char text[48], const char *name, int64_t pid, const char *unknown)
{
	snprintf(text, 48, "%s (%lld)", name[0] ? name : "process", (long long)pid);
	return pid > 0 ? text : unknown;
}

bool doctor_is_dead(const struct doctor_named *named)
{
	char state = named->identity.state;

	/* A process whose first thread has ended is a zombie too, while its other threads run. */
	return named->identity.kernel || ((state == 'Z' || state == 'X') && named->threads <= 1);
}

int doctor_collect_named(struct doctor_named *named, pid_t pid)
{
	int rc;

	named->queried = pid;
	rc = identify(named);
	if (rc) {
		named->identity.pid = 0;
		return rc == -EACCES ? 0 : rc;
	}
	read_status(named);
	read_dumpable(named);
	read_user_namespace(named);
	read_paused(named);
	return 0;
}

int doctor_collect_queues(struct doctor_facts *facts, const char *socket)
{
	struct doctor_named *named = &facts->named;
	const struct observe_options options = {.pid = named->identity.pid, .socket = socket};
	struct observer *observer;

	if (!named->identity.pid)
		return -EACCES;
	if (!doctor_is_dead(named)) {
		observer = observe_open(&options);
		if (!observer)
			return -ENOMEM;
		/* The result needs no check: errors of the sources are in the observation. */
		observe_sample(observer, &named->seen);
		observe_close(observer);
	}
	/* The process may have ended meanwhile, and another one may have its number. */
	return process_is(&named->identity) ? 0 : -ESRCH;
}

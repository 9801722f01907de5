// SPDX-License-Identifier: MIT
/* Collects the rights of this user, what the kernel and the container allow, and the facts about
 * the daemon: its reply, and its entries in /proc. */
#include "cli/doctor/facts.h"

#include <dirent.h>
#include <errno.h>
#include <linux/capability.h>
#include <pwd.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/util/daemon_query.h"
#include "cli/util/read_files.h"
#include "common/child.h"
#include "common/clock.h"
#include "common/own_names.h"

int doctor_in_child(int (*function)(const struct doctor_facts *facts),
		    const struct doctor_facts *facts)
{
	pid_t child = child_fork(SIGKILL, false);
	int status;

	if (child == 0)
		_exit(function(facts));
	status = child < 0 ? -1 : child_wait(child);
	if (status < 0)
		return -1;
	return WIFEXITED(status) ? WEXITSTATUS(status) : EPERM;
}

static int try_ptrace(const struct doctor_facts *facts)
{
	(void)facts;
	return ptrace(PTRACE_TRACEME, 0, NULL, NULL) ? errno : 0;
}

/* Reads the option hidepid of the last mount on /proc, which hides the earlier ones. */
static void collect_hidepid(char *out, size_t size)
{
	FILE *file = fopen("/proc/self/mountinfo", "re");
	char *line = NULL;
	size_t room = 0;

	while (file && getline(&line, &room, file) > 0) {
		const char *at;

		if (!strstr(line, " /proc ") || !strstr(line, " - proc "))
			continue;
		out[0] = '\0';
		at = strstr(line, "hidepid=");
		if (!at)
			continue;
		at += strlen("hidepid=");
		snprintf(out, size, "%.*s", (int)strcspn(at, ", \n"), at);
		if (!strcmp(out, "0") || !strcmp(out, "off"))
			out[0] = '\0';
	}
	free(line);
	if (file)
		fclose(file);
}

void doctor_collect_rights(struct doctor_facts *facts)
{
	const struct passwd *user;
	uint64_t capabilities, namespace = proc_namespace(0, "pid");

	facts->uid = geteuid();
	user = getpwuid(facts->uid);
	if (user)
		snprintf(facts->user, sizeof(facts->user), "%s", user->pw_name);
	else
		snprintf(facts->user, sizeof(facts->user), "uid %u", facts->uid);
	if (!read_mask(&capabilities, "CapEff", "/proc/self/status"))
		facts->sys_ptrace = capabilities >> CAP_SYS_PTRACE & 1 ? DOCTOR_YES : DOCTOR_NO;
	read_number(&facts->yama, "/proc/sys/kernel/yama/ptrace_scope");
	facts->ptrace_error = doctor_in_child(try_ptrace, facts);
	if (namespace)
		facts->initial_pid_namespace =
			namespace == PROC_FIRST_PID_NAMESPACE ? DOCTOR_YES : DOCTOR_NO;
	collect_hidepid(facts->hidepid, sizeof(facts->hidepid));
}

/* ---- the daemon ---- */

static bool is_daemon(int64_t pid)
{
	char comm[32];

	return pid > 0 && !read_text(comm, sizeof(comm), "/proc/%lld/comm", (long long)pid) &&
	       !strcmp(comm, NAME_DAEMON);
}

/* Returns true if the process is in another pid namespace, that of a container or a simulation.
 * Returns false also if the namespace cannot be read. */
static bool is_elsewhere(int64_t pid)
{
	uint64_t its = proc_namespace((pid_t)pid, "pid"), ours = proc_namespace(0, "pid");

	return its && ours && its != ours;
}

/* Returns the pid of a kfdschedd that runs in this pid namespace, whatever socket it listens on, or
 * 0 if none is visible. */
static int64_t find_daemon(void)
{
	DIR *dir = opendir("/proc");
	const struct dirent *entry;
	int64_t found = 0;

	while (dir && !found && (entry = readdir(dir))) {
		int64_t pid = atoll(entry->d_name);

		if (is_daemon(pid) && !is_elsewhere(pid))
			found = pid;
	}
	if (dir)
		closedir(dir);
	return found;
}

/* Reads the worker's limit of open files. */
static void collect_limit(struct doctor_daemon *daemon)
{
	char *text, *at;
	size_t bytes;

	text = read_whole(&bytes, "/proc/%lld/limits", (long long)daemon->worker_pid);
	at = text ? strstr(text, "Max open files") : NULL;
	if (at)
		daemon->open_files = strtoll(at + strlen("Max open files"), NULL, 10);
	free(text);
}

/* Copies the facts from the daemon's reply. Reads /proc only if the daemon is in this pid
 * namespace, because otherwise its pids are other processes here. */
static void read_status(struct doctor_daemon *daemon, const json_t *status)
{
	const json_t *about = json_object_get(status, "daemon");
	const json_t *totals = json_object_get(status, "totals");
	const json_t *connections = json_object_get(about, "connections");
	uint64_t capabilities;

	daemon->pid = read_integer(about, "pid");
	daemon->worker_pid = read_integer(about, "worker_pid");
	daemon->uptime_us = read_integer(about, "uptime_us");
	daemon->suspends = read_integer(totals, "suspends");
	daemon->failures = read_integer(totals, "failures");
	daemon->restarts = read_integer(about, "worker_restarts");
	daemon->refused_calls = read_integer(about, "refused_calls");
	daemon->room = read_integer(connections, "room");
	daemon->refused = read_integer(connections, "refused");
	read_word(daemon->version, sizeof(daemon->version), about, "version");
	daemon->here = is_daemon(daemon->pid) ? DOCTOR_YES : DOCTOR_NO;
	if (daemon->here != DOCTOR_YES)
		return;
	/* Read CAP_SYS_PTRACE of the watchdog (daemon->pid), because the processes of the daemon
	 * that need this capability inherit it from the watchdog. */
	if (!read_mask(&capabilities, "CapPrm", "/proc/%lld/status", (long long)daemon->pid))
		daemon->sys_ptrace = capabilities >> CAP_SYS_PTRACE & 1 ? DOCTOR_YES : DOCTOR_NO;
	collect_limit(daemon);
}

void doctor_collect_daemon(struct doctor_facts *facts, const char *socket, json_t **status)
{
	struct doctor_daemon *daemon = &facts->daemon;
	uint64_t began = clock_ns();

	snprintf(daemon->socket, sizeof(daemon->socket), "%s", socket);
	daemon->error = -query_daemon(socket, 0, status);
	if (daemon->error) {
		*status = NULL;
		daemon->other_pid = find_daemon();
		return;
	}
	daemon->reply_us = (int64_t)((clock_ns() - began) / 1000);
	read_status(daemon, *status);
}

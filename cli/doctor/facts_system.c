// SPDX-License-Identifier: MIT
/* Collects the rights of this user, and what the kernel and the container allow. */
#include "cli/doctor/facts.h"

#include <errno.h>
#include <linux/capability.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/util/read_files.h"
#include "common/proc_namespace.h"

int doctor_in_child(int (*function)(const struct doctor_facts *facts),
		    const struct doctor_facts *facts)
{
	int status;
	pid_t child = fork();

	if (child == 0)
		_exit(function(facts));
	if (child < 0)
		return -1;
	while (waitpid(child, &status, 0) < 0)
		if (errno != EINTR)
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

// SPDX-License-Identifier: MIT
#include "cli/inspect/process.h"

#include <errno.h>
#include <jansson.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/text.h"

#define SIMULATION "/sys/class/kfd/kfd/simulation.json"

static void read_pids(const char *status, struct process_identity *out)
{
	out->depth = proc_status_ns_pids(status, out->pids);
	if (out->depth == 0 || out->pids[0] != out->pid) {
		out->pids[0] = out->pid;
		out->depth = 1;
	}
}

static void read_command(pid_t pid, char out[static PROCESS_COMMAND])
{
	ssize_t n = proc_read(pid, "cmdline", out, PROCESS_COMMAND);

	if (n <= 0)
		return;
	while (n > 0 && out[n - 1] == '\0')
		n--;
	for (ssize_t i = 0; i < n; i++)
		if (out[i] == '\0')
			out[i] = ' ';
	plain_ascii(out);
}

/* Returns the error for a process of which /proc shows nothing: kill() distinguishes a hidden
 * process (-EACCES) from a missing one (-ESRCH). */
static int no_such(pid_t pid)
{
	return kill(pid, 0) == 0 || errno == EPERM ? -EACCES : -ESRCH;
}

int process_identify(pid_t pid, struct process_identity *out)
{
	char status[PROC_STATUS_BYTES];
	struct proc_stat stat;
	const char *field;

	*out = (struct process_identity){.pid = pid, .uid = (uid_t)-1};
	if (pid <= 0)
		return -ESRCH;
	if (proc_status_read(pid, status, sizeof(status)) || !proc_stat(pid, &stat))
		return no_such(pid);
	field = proc_status_field(status, "\nTgid:");
	if (field && atoi(field) != pid)
		return -EINVAL;
	out->started = stat.started;
	out->state = stat.state;
	out->kernel = stat.kernel_thread;
	field = proc_status_field(status, "\nTracerPid:");
	out->tracer = field ? atoi(field) : 0;
	sscanf(proc_status_field(status, "\nUid:") ?: "", "%*u %u", &out->uid);
	read_pids(status, out);
	proc_comm(pid, out->comm);
	read_command(pid, out->command);
	if (!out->kernel && out->state != 'Z')
		container_read(pid, out->depth, &out->container);
	out->host_pid = observe_host_pid(pid);
	return process_is(out) ? 0 : -ESRCH;
}

bool process_is(const struct process_identity *identity)
{
	struct proc_stat stat;

	return proc_stat(identity->pid, &stat) && stat.started == identity->started;
}

const char *process_errmsg(char text[static PROCESS_ERRMSG], pid_t pid, int error)
{
	switch (error) {
	case -ESRCH:
		snprintf(text, PROCESS_ERRMSG,
			 "there is no process %d: it has ended, or belongs to another pid "
			 "namespace",
			 (int)pid);
		break;
	case -EINVAL:
		snprintf(text, PROCESS_ERRMSG, "%d is a thread of process %d: use the process id",
			 (int)pid, (int)proc_status_number(pid, "\nTgid:"));
		break;
	case -EACCES:
		snprintf(text, PROCESS_ERRMSG,
			 "process %d is not visible to this user (/proc is mounted with hidepid): "
			 "run this as root",
			 (int)pid);
		break;
	default:
		snprintf(text, PROCESS_ERRMSG, "process %d cannot be read (%s)", (int)pid,
			 strerror(-error));
	}
	return text;
}

pid_t process_pid_inside(const struct process_identity *identity)
{
	if (identity->container.engine == CONTAINER_NONE && identity->depth == 1)
		return 0;
	return identity->pids[identity->depth - 1];
}

const char *process_state_name(char state)
{
	switch (state) {
	case 'R':
		return "running";
	case 'S':
		return "sleeping";
	case 'D':
		return "uninterruptible";
	case 'T':
		return "stopped";
	case 't':
		return "traced";
	case 'Z':
		return "zombie";
	case 'X':
	case 'x':
		return "dead";
	case 'I':
		return "idle";
	case 'P':
		return "parked";
	default:
		return "-";
	}
}

/* ---- pid namespaces ---- */

/* Returns the pid namespace (inode number) whose pids the driver uses. On hardware it is the
 * initial one; the simulated driver writes its own to simulation.json. */
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

/* Returns true if /proc has the pids of the caller's pid namespace, and false if it is mounted from
 * another one (for example after unshare(1) without --mount-proc). */
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

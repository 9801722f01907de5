// SPDX-License-Identifier: MIT
#include "cli/util/select_process.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/wait.h"

#define SHORT_ID 12 /* digits of a container id that engines display */

const struct snapshot *select_read(const struct cli_command *cmd, struct snapshot_reader *reader,
				   const struct snapshot_request *request)
{
	const struct snapshot *snapshot = snapshot_read(reader, request);

	if (!snapshot)
		cli_failed(cmd, "the list of processes cannot be read: %s", strerror(errno));
	return snapshot;
}

void select_warn_hidden(const struct cli_command *cmd, const struct snapshot *snapshot)
{
	if (snapshot->hidden)
		fprintf(stderr,
			"kfdsched %s: the GPU use of %zu processes of other users is not "
			"visible: run this as root\n",
			cmd->name, snapshot->hidden);
}

/* Returns true if the whole process has ended. State 'Z' alone does not show that, because the
 * first thread can end before the others. */
static bool has_ended(pid_t pid)
{
	int pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
	bool ended = pidfd < 0 || poll_now(pidfd, POLLIN) != 0;

	if (pidfd >= 0)
		close(pidfd);
	return ended;
}

int select_process(const struct cli_command *cmd, pid_t pid, struct process_identity *out)
{
	char errmsg[PROCESS_ERRMSG];
	int rc = process_identify(pid, out);

	if (rc)
		return cli_failed(cmd, "%s", process_errmsg(errmsg, pid, rc));
	if (out->kernel)
		return cli_failed(cmd, "%d (%s) is a kernel thread, which has no queues", (int)pid,
				  out->comm);
	if (out->state == 'Z' && has_ended(pid))
		return cli_failed(cmd,
				  "process %d (%s) has ended (a zombie: its parent has not "
				  "collected its exit status)",
				  (int)pid, out->comm);
	return CLI_GO_ON;
}

void select_no_queues(const struct cli_command *cmd, const struct process_identity *identity,
		      const struct observation *seen, enum observe_source last)
{
	const char *before = "";

	fprintf(stderr, "kfdsched %s: process %d (%s): no source reports queues:", cmd->name,
		(int)identity->pid, identity->comm);
	for (enum observe_source s = OBSERVE_DAEMON; s <= last; s++) {
		if (!seen->result[s].queried || !seen->result[s].error)
			continue;
		fprintf(stderr, "%s %s: %s", before, observe_source_name(s), seen->result[s].why);
		before = ";";
	}
	fputs(before[0] ? "\n" : " the process has none\n", stderr);
}

int select_needs_gpu(const struct cli_command *cmd)
{
	if (access("/dev/kfd", F_OK) == 0 || access("/sys/class/kfd/kfd/proc", F_OK) == 0)
		return CLI_DONE;
	cli_failed(cmd, "there is no AMD GPU here: neither /dev/kfd nor /sys/class/kfd exists "
			"(load amdgpu; start a container with --device /dev/kfd)");
	return CLI_IMPOSSIBLE;
}

int select_needs_list(const struct cli_command *cmd, const char *socket)
{
	char why[OBSERVE_WHY];

	if (observe_can_list(socket, why) == 0)
		return CLI_DONE;
	cli_failed(cmd, "%s", why);
	return CLI_IMPOSSIBLE;
}

/* Reports that no container matches `container`. If the names of containers could not be queried,
 * also reports why, because a container whose name is not known may be the one that was meant.
 * Returns CLI_FAILED. */
static int no_container(const struct cli_command *cmd, const char *container,
			struct container_names *names)
{
	const char *problem = container_names_problem(names);

	if (problem[0])
		return cli_failed(cmd,
				  "no process is in a container whose id begins with '%s', and "
				  "names could not be queried (%s): use the beginning of its id",
				  container, problem);
	return cli_failed(
		cmd,
		"no process is in a container with name '%s', with that pod uid, or whose id "
		"begins so",
		container);
}

int select_container(const struct cli_command *cmd, struct snapshot_reader *reader,
		     const char *container, struct container_names *names, pid_t pid,
		     struct snapshot *out)
{
	const struct snapshot_request request = {
		.scope = SNAPSHOT_SEARCH_ALL, .container = container, .names = names};
	const struct snapshot *snapshot = select_read(cmd, reader, &request);
	size_t n_valid = 0;

	*out = snapshot ? *snapshot : (struct snapshot){0};
	if (!snapshot)
		return CLI_FAILED;
	if (snapshot->count == 0)
		return no_container(cmd, container, names);
	for (size_t i = 0; i < snapshot->count; i++)
		if (!pid || process_pid_inside(&out->processes[i]->identity) == pid)
			out->processes[n_valid++] = out->processes[i];
	out->count = n_valid;
	if (n_valid == 0)
		return cli_failed(cmd, "container %s has no process %d", container, (int)pid);
	return CLI_GO_ON;
}

const char *selected_container(char text[static SELECTED_TEXT], const struct container *container)
{
	if (container->engine == CONTAINER_NONE)
		return strcpy(text, "-");
	snprintf(text, SELECTED_TEXT, "%s%s%.*s", container_engine_name(container->engine),
		 container->id[0] ? " " : "", SHORT_ID, container->id);
	return text;
}

const char *selected_command(char text[static SELECTED_TEXT],
			     const struct process_identity *identity, size_t length)
{
	const bool whole = strlen(identity->command) <= length;

	if (!identity->command[0])
		snprintf(text, SELECTED_TEXT, "[%s]", identity->comm);
	else
		snprintf(text, SELECTED_TEXT, "%.*s%s", (int)(whole ? length : length - 3),
			 identity->command, whole ? "" : "...");
	return text;
}

/* ---- the process on which a command acts ---- */

bool target_has_ended(const struct target_process *target)
{
	struct proc_stat stat;

	return poll_now(target->pidfd, POLLIN) != 0 || !proc_stat(target->pid, &stat) ||
	       stat.ending;
}

int target_process_open(const struct cli_command *cmd, pid_t pid, struct target_process *out)
{
	struct process_identity identity;
	int code;

	*out = (struct target_process){.pid = pid, .pidfd = (int)syscall(SYS_pidfd_open, pid, 0)};
	/* pidfd_open(2) fails for a thread with EINVAL, on newer kernels with ENOENT. */
	if (out->pidfd < 0 && (errno == EINVAL || errno == ENOENT))
		return cli_failed(cmd, "%d is a thread: use the id of its process", (int)pid);
	if (out->pidfd < 0)
		return cli_failed(cmd, "process %d: %s", (int)pid,
				  errno == ESRCH ? "there is no such process" : strerror(errno));
	code = select_process(cmd, pid, &identity);
	/* `identity` was read by pid, which may have been reused since the pidfd was opened. It is
	 * that of the process of the pidfd only if this process is still alive now. */
	if (code == CLI_GO_ON && identity.state == 'Z')
		code = cli_failed(cmd,
				  "process %d (%s): its first thread, which would be traced, has "
				  "ended; other threads still run",
				  (int)pid, identity.comm);
	else if (code == CLI_GO_ON && target_has_ended(out))
		code = cli_failed(cmd, "process %d (%s) has just ended", (int)pid, identity.comm);
	if (code == CLI_GO_ON)
		memcpy(out->name, identity.comm, sizeof(identity.comm));
	else
		target_close(out);
	return code;
}

void target_close(struct target_process *target)
{
	if (target->pidfd >= 0)
		close(target->pidfd);
	target->pidfd = -1;
}

// SPDX-License-Identifier: MIT
#include "cli/util/target_process.h"

#include <errno.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "cli/util/select_process.h"
#include "common/proc_stat.h"
#include "common/wait.h"

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
	/* `identity` was read by pid. It describes the pinned process if that process is
	 * still alive now. */
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

// SPDX-License-Identifier: MIT
#include "scheduler/cli/target.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/proc_stat.h"

static void read_name(struct target *target)
{
	char path[64];
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/comm", (int)target->pid);
	f = fopen(path, "re");
	if (!f || !fgets(target->name, sizeof(target->name), f))
		strcpy(target->name, "?");
	if (f)
		fclose(f);
	for (char *c = target->name; *c; c++)
		if (*c < ' ' || *c > '~')
			*c = c[1] ? '?' : '\0';
}

bool target_has_ended(const struct target *target)
{
	struct pollfd p = {.fd = target->pidfd, .events = POLLIN};
	struct proc_stat stat;

	return poll(&p, 1, 0) != 0 || !proc_stat(target->pid, &stat) || stat.ending;
}

/* The number is not another's as long as the pidfd says that it lives. */
static const char *unfit(struct target *target)
{
	struct proc_stat stat;
	bool there = proc_stat(target->pid, &stat);
	struct pollfd whole = {.fd = target->pidfd, .events = POLLIN};

	read_name(target);
	if (there && stat.state == 'Z' && poll(&whole, 1, 0) == 0)
		return "has lost its first thread, by which it would be traced, and others go on";
	if (there && stat.state == 'Z')
		return "has ended, and waits for its parent to notice (a zombie)";
	if (target_has_ended(target))
		return "has just ended";
	if (there && stat.kernel_thread)
		return "is a thread of the kernel, which has no queues";
	return NULL;
}

int target_open(const struct verb *verb, pid_t pid, struct target *out)
{
	const char *why;

	*out = (struct target){.pid = pid, .pidfd = (int)syscall(SYS_pidfd_open, pid, 0)};
	/* The latter is what newer kernels say. */
	if (out->pidfd < 0 && (errno == EINVAL || errno == ENOENT))
		return cli_failed(verb, "%d is a thread: name its process", (int)pid);
	if (out->pidfd < 0)
		return cli_failed(verb, "process %d: %s", (int)pid,
				  errno == ESRCH ? "there is no such process" : strerror(errno));
	why = unfit(out);
	if (!why)
		return CLI_GO_ON;
	cli_failed(verb, "process %d (%s) %s", (int)pid, out->name, why);
	target_close(out);
	return CLI_FAILED;
}

void target_close(struct target *target)
{
	if (target->pidfd >= 0)
		close(target->pidfd);
	target->pidfd = -1;
}

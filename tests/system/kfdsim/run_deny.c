// SPDX-License-Identifier: MIT
/*
 * Runs a command on a system that lacks a feature which kfdsim needs, or (argument "listener")
 * under a seccomp listener, as some container runtimes do:
 *
 *   run_deny notification|sync_wake|namespaces|mount|futex_waitv|listener|ptrace COMMAND ...
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <seccomp.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

/* SECCOMP_IOCTL_NOTIF_SET_FLAGS, which is missing in system headers before Linux 6.6. */
#define NOTIF_SET_FLAGS _IOW('!', 4, uint64_t)
#define FUTEX_WAITV 449 /* missing in system headers before Linux 5.16 */

static int deny(scmp_filter_ctx filter, const char *what)
{
	if (!strcmp(what, "notification"))
		return seccomp_rule_add(filter, SCMP_ACT_ERRNO(EINVAL), SCMP_SYS(seccomp), 1,
					SCMP_A0(SCMP_CMP_EQ, SECCOMP_GET_NOTIF_SIZES));
	if (!strcmp(what, "sync_wake"))
		return seccomp_rule_add(filter, SCMP_ACT_ERRNO(EINVAL), SCMP_SYS(ioctl), 1,
					SCMP_A1(SCMP_CMP_EQ, NOTIF_SET_FLAGS));
	if (!strcmp(what, "namespaces"))
		return seccomp_rule_add(filter, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(unshare), 0);
	if (!strcmp(what, "mount"))
		return seccomp_rule_add(filter, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(mount), 0);
	if (!strcmp(what, "futex_waitv"))
		return seccomp_rule_add(filter, SCMP_ACT_ERRNO(ENOSYS), FUTEX_WAITV, 0);
	if (!strcmp(what, "ptrace"))
		return seccomp_rule_add(filter, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(ptrace), 0);
	if (!strcmp(what, "listener"))
		return seccomp_rule_add(filter, SCMP_ACT_NOTIFY, SCMP_SYS(acct), 0);
	return -EINVAL;
}

int main(int argc, char **argv)
{
	scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ALLOW);

	if (argc < 3 || !filter || deny(filter, argv[1]) || seccomp_load(filter)) {
		fprintf(stderr,
			"usage: run_deny notification|sync_wake|namespaces|mount|futex_waitv|"
			"listener|ptrace COMMAND ...\n");
		return 2;
	}
	/* The listener exists as long as its descriptor is open. */
	if (!strcmp(argv[1], "listener") && fcntl(seccomp_notify_fd(filter), F_SETFD, 0))
		return 1;
	execvp(argv[2], argv + 2);
	perror(argv[2]);
	return 127;
}

// SPDX-License-Identifier: MIT
/*
 * Runs a command as on a kernel without SO_PASSRIGHTS (before Linux 6.16).
 *
 *   attack_without_passrights COMMAND ARGUMENT...
 */
#include <errno.h>
#include <seccomp.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#define PASSRIGHTS 83 /* value of SO_PASSRIGHTS */

int main(int argc, char **argv)
{
	scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ALLOW);

	if (argc < 2) {
		fprintf(stderr, "usage: attack_without_passrights COMMAND ARGUMENT...\n");
		return 2;
	}
	if (!filter || seccomp_attr_set(filter, SCMP_FLTATR_CTL_NNP, geteuid() != 0) ||
	    seccomp_rule_add(filter, SCMP_ACT_ERRNO(ENOPROTOOPT), SCMP_SYS(setsockopt), 2,
			     SCMP_A1(SCMP_CMP_EQ, SOL_SOCKET), SCMP_A2(SCMP_CMP_EQ, PASSRIGHTS)) ||
	    seccomp_load(filter)) {
		fprintf(stderr, "attack_without_passrights: no filter\n");
		return 1;
	}
	execvp(argv[1], argv + 1);
	perror(argv[1]);
	return 127;
}

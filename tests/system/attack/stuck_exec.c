// SPDX-License-Identifier: MIT
/*
 * Starts PROCESSES processes one after the other. Each executes another program while it has a FUSE
 * file open whose close() is never answered: the exec does not finish, and a read of some of the
 * process's files in /proc (stat, exe, ns) waits for it. The daemon reads these files when a
 * workload closes its connection, and when a connection sends its hello. Therefore every second
 * process is a workload whose connection is then shut down by a child, and for every other process
 * a child sends a hello on its connection.
 *
 *   attack_stuck_exec SOCKET DEVICE PROCESSES
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/clock.h"
#include "tests/system/attack/attack.h"
#include "tests/system/attack/fuse.h"

#define SECOND_NS 1000000000u
#define BEGIN_MS 300 /* until the exec blocks */
#define HIGH_FD 300  /* a number that is closed after the others */

static const char *path;

/* Returns the socket of a workload, or of a connection without a hello. */
static int begin(bool workload)
{
	struct attack_shim shim;
	int error;

	if (!workload)
		return attack_connect(path, clock_ns() + SECOND_NS);
	error = attack_register(&shim, path, PRIORITY_OFFLINE, PROTOCOL_LEVEL_GATE, 4711);
	return error ? error : shim.sock;
}

static _Noreturn void never_execute(struct fuse *fuse, bool workload)
{
	const struct protocol_hello hello = attack_hello(PROTOCOL_SHIM, PRIORITY_OFFLINE);
	int fd = fuse_file(fuse), sock;

	/* The FUSE server leaves requests of other process groups unanswered. */
	setpgid(0, 0);
	if (fd < 0 || fcntl(fd, F_DUPFD_CLOEXEC, HIGH_FD) < 0)
		attack_fail("no file that blocks", fd < 0 ? fd : -errno);
	fcntl(fd, F_SETFD, 0);
	sock = begin(workload); /* the daemon refuses it for a while after a read has blocked */
	if (fork() == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		attack_sleep_ms(BEGIN_MS);
		if (sock >= 0 && workload)
			shutdown(sock, SHUT_RDWR);
		else if (sock >= 0)
			attack_send(sock, &hello, sizeof(hello), NULL, 0);
		attack_sleep_ms(BEGIN_MS);
		_exit(0);
	}
	execl("/bin/sleep", "sleep", "100", (char *)NULL);
	attack_fail("cannot begin another program", -errno);
}

int main(int argc, char **argv)
{
	unsigned long processes = argc == 4 ? strtoul(argv[3], NULL, 10) : 0;
	struct fuse fuse;
	pid_t pids[64];
	int error;

	if (processes < 1 || processes > 64) {
		fprintf(stderr, "usage: attack_stuck_exec SOCKET DEVICE PROCESSES\n");
		return 2;
	}
	attack_begin();
	path = argv[1];
	error = fuse_start(&fuse, argv[2], FUSE_NEVER_FLUSH);
	if (error)
		return 1;
	for (unsigned long i = 0; i < processes; i++) {
		pids[i] = fork();
		if (pids[i] == 0) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			never_execute(&fuse, i % 2 == 0);
		}
		attack_sleep_ms(2 * BEGIN_MS);
	}
	for (unsigned long i = 0; i < processes; i++)
		kill(pids[i], SIGKILL);
	printf("%lu programs that do not begin\n", processes);
	return 0;
}

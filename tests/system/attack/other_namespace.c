// SPDX-License-Identifier: MIT
/*
 * Orders the daemon to suspend and to change a process outside of this program's namespaces, of
 * which it has a pidfd. KIND is where the orders come from:
 *
 *   container      root in a PID namespace of its own
 *   user           any user, as root of a user and PID namespace of its own
 *   mapped_group   any user, in a user namespace in which its group has the number GROUP
 *   lent_group     a process in a user namespace that was given GROUP itself, as newgidmap
 *                  gives a user the groups of /etc/subgid (run as root, which acts as newgidmap)
 *
 * Prints one line an order, with the daemon's reply. Exit code: 0 if each was refused, 3 if one was
 * not.
 *
 *   attack_other_namespace SOCKET PID KIND GROUP
 */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/clock.h"
#include "tests/system/attack/attack.h"

static const char *path;
static pid_t victim; /* PID in the outer namespace */
static int victim_fd;

/* ---- orders ---- */

/* Returns the status of the reply; > 0: there was none. */
static int control(const struct protocol_hello *hello, bool sends_pidfd)
{
	int sock = attack_connect(path, clock_ns() + 5000000000u), error, status;

	if (sock < 0)
		attack_fail("not connected", sock);
	error = attack_send(sock, hello, sizeof(*hello), &victim_fd, sends_pidfd ? 1 : 0);
	status = error ? -error : attack_status(sock, 5000);
	close(sock);
	return status;
}

/* Returns whether the daemon has executed the order. */
static bool try_control(const char *name, const struct protocol_hello *hello, bool sends_pidfd)
{
	int status = control(hello, sends_pidfd);

	printf("%s%s: %s%s\n", name, sends_pidfd ? " by pidfd" : "",
	       status == 0  ? "obeyed"
	       : status > 0 ? "no answer: "
			    : "",
	       status ? strerror(abs(status)) : "");
	return status == 0;
}

static unsigned try_named(const char *name, struct protocol_hello hello)
{
	unsigned obeyed = try_control(name, &hello, true);
#if PROTOCOL_VERSION >= 4
	const pid_t pids[] = {victim, 1, 0, -1};
	struct stat st;

	fstat(victim_fd, &st);
	for (size_t i = 0; i < 2 * sizeof(pids) / sizeof(*pids); i++) {
		hello.target_pid = pids[i / 2];
		hello.target_inode = i % 2 ? st.st_ino : 0;
		obeyed += try_control(name, &hello, false);
	}
#endif
	return obeyed;
}

static int send_requests(void)
{
	struct protocol_hello hello = attack_hello(PROTOCOL_CONTROL, 0);
	unsigned obeyed;

	hello.op = PROTOCOL_SUSPEND;
	hello.lease_s = 2;
	obeyed = try_named("suspend for 2 s", hello);
	hello.lease_s = 0;
	obeyed += try_named("suspend", hello);
	hello.op = PROTOCOL_PRIORITY;
	hello.priority = 7;
	obeyed += try_named("priority 7", hello);
	hello.op = PROTOCOL_RESUME;
	obeyed += try_named("resume", hello);
	hello.op = PROTOCOL_POLICY;
	obeyed += try_control("policy strict", &hello, false);
	return obeyed ? 3 : 0;
}

/* ---- namespaces ---- */

static void write_text(const char *file, const char *text)
{
	int fd = open(file, O_WRONLY | O_CLOEXEC);

	if (fd < 0 || write(fd, text, strlen(text)) != (ssize_t)strlen(text))
		attack_fail(file, errno);
	close(fd);
}

/* Maps the id `outside` to the number `inside`. */
static void map_id(pid_t pid, const char *file, unsigned inside, unsigned outside)
{
	char name[64], map[64];

	snprintf(name, sizeof(name), "/proc/%d/%s", (int)pid, file);
	snprintf(map, sizeof(map), "%u %u 1", inside, outside);
	write_text(name, map);
}

static void enter(int namespaces)
{
	prctl(PR_SET_DUMPABLE, 1);
	if (unshare(namespaces) != 0)
		attack_fail("no namespace", errno);
}

/* Enters a user namespace in which its own group has the number `group`. */
static void enter_with_group(gid_t group)
{
	uid_t uid = geteuid();
	gid_t gid = getegid();

	enter(CLONE_NEWUSER);
	write_text("/proc/self/setgroups", "deny");
	map_id(getpid(), "uid_map", 0, uid);
	map_id(getpid(), "gid_map", group, gid);
}

/* Lets another process, which has the right, write the id maps of this one. */
static void be_lent(gid_t group, uid_t user)
{
	int ready[2], mapped[2], status;
	pid_t helper, pid = getpid();
	char any;

	if (pipe(ready) != 0 || pipe(mapped) != 0)
		attack_fail("no pipe", errno);
	helper = fork();
	if (helper == 0) {
		if (read(ready[0], &any, 1) != 1)
			_exit(1);
		map_id(pid, "uid_map", 0, user);
		map_id(pid, "gid_map", group, group);
		_exit(write(mapped[1], "", 1) == 1 ? 0 : 1);
	}
	if (setresgid(group, group, group) || setgroups(1, &group) || setresuid(user, user, user))
		attack_fail("cannot become another user", errno);
	enter(CLONE_NEWUSER);
	if (write(ready[1], "", 1) != 1 || read(mapped[0], &any, 1) != 1 ||
	    waitpid(helper, &status, 0) != helper)
		attack_fail("the ids are not mapped", EPERM);
}

/* Sends the orders from a child, because only a new process is in the entered PID namespace. */
static int in_child(void)
{
	int status;
	pid_t pid = fork();

	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		exit(send_requests());
	}
	waitpid(pid, &status, 0);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

int main(int argc, char **argv)
{
	gid_t group;

	if (argc != 5) {
		fprintf(stderr, "usage: attack_other_namespace SOCKET PID "
				"container|user|mapped_group|lent_group GROUP\n");
		return 2;
	}
	attack_begin();
	path = argv[1];
	victim = atoi(argv[2]);
	group = (gid_t)strtoul(argv[4], NULL, 10);
	victim_fd = (int)syscall(SYS_pidfd_open, victim, 0);
	if (victim_fd < 0)
		attack_fail("no such process", errno);
	if (strcmp(argv[3], "container") == 0) {
		enter(CLONE_NEWPID);
	} else if (strcmp(argv[3], "user") == 0) {
		enter_with_group(0);
		enter(CLONE_NEWPID);
	} else if (strcmp(argv[3], "mapped_group") == 0) {
		enter_with_group(group);
	} else if (strcmp(argv[3], "lent_group") == 0) {
		be_lent(group, 65534);
	} else {
		return 2;
	}
	return in_child();
}

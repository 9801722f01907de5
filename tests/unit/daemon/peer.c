// SPDX-License-Identifier: MIT
/*
 * Proves, for a kernel without SO_PEERPIDFD (simulated by a replaced getsockopt()): a client is
 * accepted by its PID only if the process with that PID has the user of the connection and started
 * before the connection. The daemon refuses a process of another user that has got the PID, a
 * process that started later, and a process that has ended; no descriptor stays open.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h needs the four headers above */
#include <cmocka.h>
#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/clock.h"
#include "scheduler/daemon/peer.h"
#include "tests/lib/processes.h"

#ifndef SO_PEERPIDFD
#define SO_PEERPIDFD 77
#endif

static struct ucred credentials; /* reply of the replaced getsockopt() */

int __real_getsockopt(int fd, int level, int name, void *value, socklen_t *size);
int __wrap_getsockopt(int fd, int level, int name, void *value, socklen_t *size);

int __wrap_getsockopt(int fd, int level, int name, void *value, socklen_t *size)
{
	if (level == SOL_SOCKET && name == SO_PEERPIDFD) {
		errno = ENOPROTOOPT;
		return -1;
	}
	if (level == SOL_SOCKET && name == SO_PEERCRED) {
		*(struct ucred *)value = credentials;
		return 0;
	}
	return __real_getsockopt(fd, level, name, value, size);
}

static int identify(uint64_t accepted_ns, struct socket_peer *out)
{
	int ends[2], error;

	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
	error = peer_identify(ends[0], accepted_ns, peer_read, out);
	close(ends[0]);
	close(ends[1]);
	return error;
}

static void refused(pid_t pid, uid_t uid, uint64_t accepted_ns)
{
	unsigned before = open_files();
	struct socket_peer peer = {.pidfd = -1};

	credentials = (struct ucred){.pid = pid, .uid = uid, .gid = getegid()};
	assert_int_equal(identify(accepted_ns, &peer), -ESRCH);
	assert_int_equal(open_files(), before);
}

static void the_client_itself_is_taken(void **state)
{
	pid_t child = start_child();
	struct socket_peer peer = {.pidfd = -1};

	(void)state;
	credentials = (struct ucred){.pid = child, .uid = geteuid(), .gid = getegid()};
	assert_int_equal(identify(clock_ns(), &peer), 0);
	assert_int_equal(peer.pid, child);
	assert_int_equal(peer.uid, geteuid());
	close(peer.pidfd);
	end_child(child);
}

/* The credentials name a user whose process has ended. A process of the test's user now has that
 * PID, and started before `accepted_ns` as far as the resolution of clock ticks can show. */
static void a_number_of_another_user_is_refused(void **state)
{
	pid_t child = start_child();

	(void)state;
	refused(child, geteuid() + 1, clock_ns());
	end_child(child);
}

static void a_later_process_is_refused(void **state)
{
	uint64_t accepted_ns = clock_ns() - UINT64_C(1000000000);
	pid_t child = start_child();

	(void)state;
	refused(child, geteuid(), accepted_ns);
	end_child(child);
}

static void an_ended_process_is_refused(void **state)
{
	pid_t child = start_child();

	(void)state;
	end_child(child);
	refused(child, geteuid(), clock_ns());
	refused(0, geteuid(), clock_ns()); /* PID 0: a peer of another PID namespace */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_client_itself_is_taken),
		cmocka_unit_test(a_number_of_another_user_is_refused),
		cmocka_unit_test(a_later_process_is_refused),
		cmocka_unit_test(an_ended_process_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

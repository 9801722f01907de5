// SPDX-License-Identifier: MIT
/*
 * Proves, against the real daemon ($BUILD), as root: no user can take all connections; a daemon
 * without free descriptors still replies and does not spin; and the log neither blocks on a reader
 * that does not read nor can be flooded by a client.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h needs the four headers above */
#include <cmocka.h>
#include <errno.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include "tests/lib/real.h"

#define NO_USER 65534
#define MANY 1100
#define REFUSED 10 /* minimum of refused connections */

/* Returns the status in one received packet; 0 also if there is none or the connection has
 * ended. */
static int reply_of(int fd)
{
	struct protocol_welcome welcome = {0};

	return recv(fd, &welcome, sizeof(welcome), MSG_DONTWAIT) == sizeof(welcome) ? welcome.status
										    : 0;
}

static bool *counted; /* set when the crowd's connections have been counted at least once */

/* Runs as another user: connects as often as it can and reads nothing until some connections
 * were refused and the others were counted. Its exit code is the number of refused ones divided
 * by 10. */
static void crowd(void)
{
	const struct protocol_hello h = hello_of(PROTOCOL_QUERY, PRIORITY_UNSET);
	static int fds[MANY];
	int refused = 0;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (setgid(NO_USER) || setuid(NO_USER))
		_exit(255);
	for (int i = 0; i < MANY; i++) {
		fds[i] = protocol_connect(path);
		for (int tries = 0; fds[i] == -EAGAIN && tries < 1000; tries++) {
			sleep_ms(1);
			fds[i] = protocol_connect(path);
		}
		if (fds[i] >= 0)
			protocol_send(fds[i], &h, sizeof(h), NULL, 0);
	}
	for (int tries = 0; tries < 100 && (refused < REFUSED || !is_set(counted)); tries++) {
		sleep_ms(300);
		for (int i = 0; i < MANY; i++)
			if (fds[i] >= 0)
				refused += reply_of(fds[i]) == -ENOSPC;
	}
	_exit(refused / 10);
}

/* Returns a number of the daemon's status by three keys. */
static json_int_t state_of(const char *a, const char *b, const char *c)
{
	json_t *all = query();
	json_int_t value;

	assert_non_null(all);
	value = json_integer_value(json_object_get(json_object_get(json_object_get(all, a), b), c));
	json_decref(all);
	return value;
}

static void a_user_has_half_at_most(void **state)
{
	json_int_t room = state_of("daemon", "connections", "room"), most = 0, open_now;
	int status = 0;
	pid_t pid;

	(void)state;
	counted = shared_flag();
	pid = fork();
	if (pid == 0)
		crowd();
	while (waitpid(pid, &status, WNOHANG) == 0) {
		/* root can connect all the time */
		open_now = state_of("daemon", "connections", "open");
		most = open_now > most ? open_now : most;
		if (most > 1)
			set(counted);
	}
	assert_true(WIFEXITED(status) && WEXITSTATUS(status) != 255);
	assert_in_range(WEXITSTATUS(status) * 10, 1, MANY);
	assert_in_range(most, 2, room / 2 + 4);
	EVENTUALLY(log_lines("refused: the user already has half of all connections") > 0);
	/* The lines about one user do not fill the log. */
	assert_true(log_lines("is refused") < 400);
}

/* Returns the worker's highest descriptor plus one, ignoring the descriptor of its log. */
static rlim_t free_file(void)
{
	rlim_t free = 0;
	char name[64];
	struct stat st;

	for (rlim_t fd = 0; fd < 200; fd++) {
		snprintf(name, sizeof(name), "/proc/%d/fd/%d", (int)worker, (int)fd);
		if (lstat(name, &st) == 0)
			free = fd + 1;
	}
	return free;
}

static void out_of_descriptors(void **state)
{
	const struct protocol_hello h = hello_of(PROTOCOL_QUERY, PRIORITY_UNSET);
	json_int_t turns = state_of("totals", "loop_ns", "count");
	int fds[40], refused = 0;
	struct rlimit before, none;

	(void)state;
	assert_int_equal(prlimit((pid_t)worker, RLIMIT_NOFILE, NULL, &before), 0);
	none = (struct rlimit){.rlim_cur = free_file(), .rlim_max = before.rlim_max};
	assert_int_equal(prlimit((pid_t)worker, RLIMIT_NOFILE, &none, NULL), 0);
	for (int i = 0; i < 40; i++) {
		fds[i] = connect_daemon();
		protocol_send(fds[i], &h, sizeof(h), NULL, 0);
	}
	sleep_ms(900);
	assert_int_equal(prlimit((pid_t)worker, RLIMIT_NOFILE, &before, NULL), 0);
	for (int i = 0; i < 40; i++) {
		refused += reply_of(fds[i]) == -EMFILE;
		close(fds[i]);
	}
	assert_in_range(refused, 1, 40);
	/* one try to accept every 0.1 s, heartbeats, and what followed */
	assert_in_range(state_of("totals", "loop_ns", "count") - turns, 1, 1000);
	assert_true(log_lines("a connection cannot be accepted: Too many open files") > 0);
}

/* Changes its priority all the time. */
static void fickle(struct client_shm *shm, int wake)
{
	const uint64_t one = 1;

	for (int i = 0; i < 300; i++) {
		__atomic_store_n(&shm->priority, i % 15, __ATOMIC_SEQ_CST);
		(void)!write(wake, &one, sizeof(one));
		sleep_ms(2);
	}
}

static void a_client_has_its_share_of_the_log(void **state)
{
	pid_t pid;
	char name[64];

	(void)state;
	pid = client(2, fickle);
	ended_well(pid);
	snprintf(name, sizeof(name), "process %d (", (int)pid);
	EVENTUALLY(log_lines(name) > 10);
	assert_in_range(log_lines(name), 10, 60);
	EVENTUALLY(log_lines("log lines suppressed by the rate limit") == 1);
}

static void the_log_is_not_read(void **state)
{
	char bytes[4096] = {0};
	struct pollfd p = {.events = POLLIN};
	int ends[2];
	size_t lines = 0;
	ssize_t n;

	(void)state;
	assert_int_equal(stop(NULL), 0);
	assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
	fcntl(ends[1], F_SETPIPE_SZ, 4096);
	fcntl(ends[1], F_SETFL, O_NONBLOCK);
	while (write(ends[1], bytes, sizeof(bytes)) > 0)
		continue;
	fcntl(ends[1], F_SETFL, 0); /* every write blocks from now on */
	assert_int_equal(start_with(ends[1]), 0);
	for (int i = 0; i < 5; i++)
		ended_well(client(2, fickle));
	assert_int_equal(query_worker(), worker);
	/* The log is read again: it contains the number of missing lines. */
	p.fd = ends[0];
	while (poll(&p, 1, 0) > 0 && read(ends[0], bytes, sizeof(bytes)) > 0)
		continue;
	ended_well(client(2, fickle));
	fcntl(ends[0], F_SETFL, O_NONBLOCK);
	while ((n = read(ends[0], bytes, sizeof(bytes) - 1)) > 0) {
		bytes[n] = '\0';
		lines += strstr(bytes, "lines are missing here, because the log") != NULL;
	}
	assert_int_equal(lines, 1);
	close(ends[0]);
	close(ends[1]);
}

#define HERE(f) cmocka_unit_test_teardown(f, unharmed)

int main(void)
{
	const struct CMUnitTest tests[] = {
		HERE(a_user_has_half_at_most),
		HERE(out_of_descriptors),
		HERE(a_client_has_its_share_of_the_log),
		HERE(the_log_is_not_read),
	};

	if (!getenv("BUILD") || geteuid() != 0) {
		fprintf(stderr, "usage: BUILD=folder-of-kfdschedd daemon_door    as root\n");
		return 2;
	}
	return cmocka_run_group_tests(tests, start, stop);
}

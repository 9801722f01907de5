// SPDX-License-Identifier: MIT
/*
 * Proves the packets of the handshake: exact sizes; file descriptors are counted and never leaked.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cmocka.h>

#include "channel/protocol.h"

static int pair[2];

static int setup(void **state)
{
	(void)state;
	return socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair);
}

static int teardown(void **state)
{
	(void)state;
	close(pair[0]);
	close(pair[1]);
	return 0;
}

static int open_fds(void)
{
	DIR *dir = opendir("/proc/self/fd");
	int n = 0;

	assert_non_null(dir);
	while (readdir(dir))
		n++;
	closedir(dir);
	return n;
}

/* A sender supports the versions from `oldest` to `newest`. One of version 4 has no range: its
 * `newest` is 0. */
static void version_in_common(void **state)
{
	static const struct {
		uint32_t oldest, newest, common;
	} of[] = {
		{0, 0, 0},
		{PROTOCOL_OLDEST, 0, PROTOCOL_OLDEST},
		{PROTOCOL_VERSION, 0, PROTOCOL_VERSION},
		{PROTOCOL_OLDEST, PROTOCOL_VERSION, PROTOCOL_VERSION},
		{PROTOCOL_VERSION, PROTOCOL_VERSION + 1, PROTOCOL_VERSION},
		{1, UINT32_MAX, PROTOCOL_VERSION},
		{1, PROTOCOL_OLDEST, PROTOCOL_OLDEST},
		{1, PROTOCOL_OLDEST - 1, 0},
		{PROTOCOL_OLDEST - 1, 0, 0},
		{PROTOCOL_VERSION + 1, 0, 0},
		{PROTOCOL_VERSION + 1, PROTOCOL_VERSION + 2, 0},
		{PROTOCOL_VERSION, PROTOCOL_VERSION - 1, 0},
		{UINT32_MAX, 0, 0},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(of) / sizeof(of[0]); i++) {
		struct protocol_hello hello = {
			.magic = PROTOCOL_MAGIC, .version = of[i].oldest, .newest = of[i].newest};
		struct protocol_welcome welcome = {.magic = PROTOCOL_MAGIC,
						   .version = of[i].common};

		assert_int_equal(protocol_common(&hello), of[i].common);
		assert_int_equal(protocol_is_welcome(&welcome), of[i].common != 0);
		hello.magic++;
		assert_int_equal(protocol_common(&hello), 0);
	}
}

static void packet_and_descriptors(void **state)
{
	struct protocol_hello in = {.magic = PROTOCOL_MAGIC, .priority = 15}, out;
	int null = open("/dev/null", O_RDONLY), fds[3];
	int sent[3] = {null, null, null};
	size_t n = 3;

	(void)state;
	assert_int_equal(protocol_send(pair[0], &in, sizeof(in), sent, 3), 0);
	assert_int_equal(protocol_receive(pair[1], &out, sizeof(out), fds, &n, 1000), 0);
	assert_memory_equal(&in, &out, sizeof(in));
	assert_int_equal(n, 3);
	for (int i = 0; i < 3; i++) {
		assert_int_equal(fcntl(fds[i], F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
		close(fds[i]);
	}
	close(null);
}

/* Sends `size` bytes and `sent` file descriptors to a receiver that expects a hello and has room
 * for `room` file descriptors. Asserts that it refuses the packet. */
static void refused(size_t size, size_t sent, size_t room)
{
	int null = open("/dev/null", O_RDONLY), before, fds[16], got[4] = {-1, -1, -1, -1};
	struct protocol_hello out;
	char data[1024] = {0};

	for (size_t i = 0; i < sent; i++)
		fds[i] = null;
	before = open_fds();
	assert_int_equal(protocol_send(pair[0], data, size, fds, sent), 0);
	assert_int_equal(protocol_receive(pair[1], &out, sizeof(out), got, &room, 1000), -EPROTO);
	assert_int_equal(room, 0);
	assert_int_equal(open_fds(), before);
	close(null);
}

static void wrong_packets_leak_nothing(void **state)
{
	const size_t right = sizeof(struct protocol_hello);

	(void)state;
	refused(right - 1, 0, 3);
	refused(right + 1, 0, 3);
	refused(right - 1, 3, 3);
	refused(right + 1, 2, 3);
	refused(right, 4, 3);
	refused(right, 16, 3);
	refused(right, 1, 0);
}

/* More file descriptors than the receiver's buffer holds: the kernel truncates, and the receiver
 * refuses the packet. */
static void flood_of_descriptors(void **state)
{
	struct protocol_hello out;
	char data[sizeof(struct protocol_hello)] = {0};
	char control[CMSG_SPACE(200 * sizeof(int))] = {0};
	struct iovec iov = {data, sizeof(data)};
	struct msghdr msg = {.msg_iov = &iov,
			     .msg_iovlen = 1,
			     .msg_control = control,
			     .msg_controllen = sizeof(control)};
	struct cmsghdr *header = CMSG_FIRSTHDR(&msg);
	int got[3], before = open_fds();
	size_t room = 3;

	(void)state;
	header->cmsg_level = SOL_SOCKET;
	header->cmsg_type = SCM_RIGHTS;
	header->cmsg_len = CMSG_LEN(200 * sizeof(int));
	assert_int_equal(sendmsg(pair[0], &msg, 0), (ssize_t)sizeof(data));
	assert_int_equal(protocol_receive(pair[1], &out, sizeof(out), got, &room, 1000), -EPROTO);
	assert_int_equal(open_fds(), before);
}

/* No fd number is free for the file descriptors: the error must not be that of a packet of another
 * version. */
static void no_room_for_descriptors(void **state)
{
	int null = open("/dev/null", O_RDONLY), fds[3] = {null, null, null}, got[3], before;
	char data[sizeof(struct protocol_hello)] = {0};
	struct protocol_hello out;
	struct rlimit old, none;
	size_t room = 3;

	(void)state;
	before = open_fds();
	assert_int_equal(protocol_send(pair[0], data, sizeof(data), fds, 3), 0);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &old), 0);
	none = old;
	none.rlim_cur = 3;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
	assert_int_equal(protocol_receive(pair[1], &out, sizeof(out), got, &room, 0), -EMFILE);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &old), 0);
	assert_int_equal(open_fds(), before);
	close(null);
}

static void silence_and_hang_up(void **state)
{
	struct protocol_hello out;
	size_t room = 0;

	(void)state;
	assert_int_equal(protocol_receive(pair[1], &out, sizeof(out), NULL, NULL, 0), -EAGAIN);
	assert_int_equal(protocol_receive(pair[1], &out, sizeof(out), NULL, &room, 20), -EAGAIN);
	close(pair[0]);
	assert_int_equal(protocol_receive(pair[1], &out, sizeof(out), NULL, &room, 1000),
			 -ECONNRESET);
	/* An error, and no SIGPIPE. */
	assert_int_equal(protocol_send(pair[1], &out, sizeof(out), NULL, 0), -EPIPE);
	pair[0] = dup(pair[1]);
}

static void connects(void **state)
{
	char directory[] = "/tmp/kfdshim-channel-XXXXXX", path[64], other[64], text[256];
	struct sockaddr_un addr = {.sun_family = AF_UNIX};
	int server, client;

	(void)state;
	assert_non_null(mkdtemp(directory));
	snprintf(path, sizeof(path), "%s/s", directory);
	snprintf(other, sizeof(other), "%s/stream", directory);
	assert_int_equal(protocol_connect(path), -ENOENT);
	memset(text, 'x', sizeof(text));
	text[255] = '\0';
	assert_int_equal(protocol_connect(text), -ENAMETOOLONG);
	strcpy(addr.sun_path, path);
	server = socket(AF_UNIX, SOCK_SEQPACKET, 0);
	assert_int_equal(bind(server, (struct sockaddr *)&addr, sizeof(addr)), 0);
	assert_int_equal(protocol_connect(path), -ECONNREFUSED);
	assert_int_equal(listen(server, 0), 0);
	client = protocol_connect(path);
	assert_true(client >= 0);
	assert_int_equal(fcntl(client, F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
	/* No process accepts the connection: protocol_connect() does not wait. */
	assert_int_equal(protocol_connect(path), -EAGAIN);
	close(client);
	close(server);
	strcpy(addr.sun_path, other);
	server = socket(AF_UNIX, SOCK_STREAM, 0);
	assert_int_equal(bind(server, (struct sockaddr *)&addr, sizeof(addr)), 0);
	assert_int_equal(listen(server, 1), 0);
	assert_int_equal(protocol_connect(other), -ENOTSOCK);
	close(server);
	unlink(path);
	unlink(other);
	rmdir(directory);
}

static void priorities(void **state)
{
	const char *const bad[] = {"", "16", "-1", "1x", "x", "Online", "007", " 1", "99", "on"};
	int p = 77;

	(void)state;
	assert_int_equal(protocol_priority("online", &p), 0);
	assert_int_equal(p, PRIORITY_ONLINE);
	assert_int_equal(protocol_priority("offline", &p), 0);
	assert_int_equal(p, PRIORITY_OFFLINE);
	assert_int_equal(protocol_priority("0", &p), 0);
	assert_int_equal(p, 0);
	assert_int_equal(protocol_priority("15", &p), 0);
	assert_int_equal(p, 15);
	p = 77;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(protocol_priority(bad[i], &p), -EINVAL);
	assert_int_equal(p, 77);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(version_in_common),
		cmocka_unit_test_setup_teardown(packet_and_descriptors, setup, teardown),
		cmocka_unit_test_setup_teardown(wrong_packets_leak_nothing, setup, teardown),
		cmocka_unit_test_setup_teardown(flood_of_descriptors, setup, teardown),
		cmocka_unit_test_setup_teardown(no_room_for_descriptors, setup, teardown),
		cmocka_unit_test_setup_teardown(silence_and_hang_up, setup, teardown),
		cmocka_unit_test(connects),
		cmocka_unit_test(priorities),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

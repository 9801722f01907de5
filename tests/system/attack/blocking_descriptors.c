// SPDX-License-Identifier: MIT
/*
 * Sends descriptors whose close() blocks the closing process, with every kind of message that the
 * daemon may receive or discard, for SECONDS. The last line reports how many descriptors were sent,
 * and how many the kernel refused to send.
 *
 *   attack_blocking_descriptors SOCKET SECONDS flush FUSE_DEVICE
 *   attack_blocking_descriptors SOCKET SECONDS linger
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/clock.h"
#include "tests/system/attack/attack.h"
#include "tests/system/attack/fuse.h"

#define SECOND_NS 1000000000u
#define LINGER_S 30
#define SINK_ROOM 1000u
#define ENOUGH 100 /* number of descriptors that make a valid test */
#define PATIENCE_NS (60 * SECOND_NS)
#define CONNECTIONS 8u /* of each kind of message before the next round */

static struct fuse fuse;
/* a listening socket that accepts nothing, so that no connection to it is ever read */
static int sink = -1;
static struct sockaddr_in sink_address;
static unsigned sink_room; /* number of connections for which its backlog has room */
static unsigned long sent, refused;

/* ---- descriptors ---- */

static void make_sink(void)
{
	socklen_t size = sizeof(sink_address);
	int least = 1;

	sink_address = (struct sockaddr_in){.sin_family = AF_INET,
					    .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	sink_room = SINK_ROOM;
	/* The previous socket stays open, because its connections are still in use. */
	sink = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	setsockopt(sink, SOL_SOCKET, SO_RCVBUF, &least, sizeof(least));
	if (bind(sink, (const struct sockaddr *)&sink_address, sizeof(sink_address)) ||
	    listen(sink, SINK_ROOM + 8) ||
	    getsockname(sink, (struct sockaddr *)&sink_address, &size))
		attack_fail("no listener on loopback", errno);
}

/* Opens a connection with data that cannot be sent, so that its last close() waits LINGER_S. */
static int lingering(void)
{
	const struct linger on = {.l_onoff = 1, .l_linger = LINGER_S};
	static const char bytes[65536];
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), least = 1;

	if (fd < 0)
		return -errno;
	setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &least, sizeof(least));
	if (connect(fd, (const struct sockaddr *)&sink_address, sizeof(sink_address)) != 0) {
		close(fd);
		return -errno;
	}
	while (send(fd, bytes, sizeof(bytes), MSG_DONTWAIT | MSG_NOSIGNAL) > 0)
		continue;
	setsockopt(fd, SOL_SOCKET, SO_LINGER, &on, sizeof(on));
	return fd;
}

/* ---- messages ---- */

/* Sends other packets right before the descriptors, so that the accepting process finds all of them
 * at once. */
static void (*send_before)(int sock);

static void send_hello_and_nothing(int sock)
{
	const struct protocol_hello hello = attack_hello(PROTOCOL_EVENTS, 0);

	attack_send(sock, &hello, sizeof(hello), NULL, 0);
	attack_send(sock, "", 0, NULL, 0);
}

static void send_nothing_twice(int sock)
{
	attack_send(sock, "", 0, NULL, 0);
	attack_send(sock, "", 0, NULL, 0);
}

/* Returns 0 or a negative errno. */
static int send_new(int sock, const void *data, size_t size, size_t n)
{
	int fds[ATTACK_FDS], error = 0;
	size_t made = 0;

	while (made < n && !error) {
		fds[made] = sink >= 0 ? lingering() : fuse_file(&fuse);
		if (fds[made] < 0)
			error = fds[made];
		else
			made++;
	}
	if (send_before)
		send_before(sock);
	if (!error)
		error = attack_send(sock, data, size, fds, n);
	if (sink >= 0)
		_exit(-error);
	for (size_t i = 0; i < made; i++)
		close(fds[i]);
	return error;
}

/* Lingering descriptors are sent from a child: at the end of a process they are closed without the
 * wait, so the attacker itself never waits if the daemon was faster. */
static int send_from_child(int sock, const void *data, size_t size, size_t n)
{
	int status = 0;
	pid_t pid;

	if (sink_room < n)
		make_sink();
	sink_room -= (unsigned)n;
	pid = fork();
	if (pid == 0)
		send_new(sock, data, size, n);
	waitpid(pid, &status, 0);
	return -WEXITSTATUS(status);
}

static void send_with(int sock, const void *data, size_t size, size_t n)
{
	int error =
		sink >= 0 ? send_from_child(sock, data, size, n) : send_new(sock, data, size, n);

	sent += error ? 0 : n;
	refused += error == -EPERM ? n : 0;
	/* If the kernel refuses the descriptors, the daemon gets the message alone. */
	if (error == -EPERM)
		attack_send(sock, data, size, NULL, 0);
}

static void request_with_one(int sock)
{
	struct protocol_hello hello = attack_hello(PROTOCOL_CONTROL, 2);

	hello.op = PROTOCOL_SUSPEND;
	send_with(sock, &hello, sizeof(hello), 1);
}

static void question_with_some(int sock)
{
	const struct protocol_hello hello = attack_hello(PROTOCOL_QUERY, 0);

	send_with(sock, &hello, sizeof(hello), 16);
}

static void workload_with_many(int sock)
{
	const struct protocol_hello hello = attack_hello(PROTOCOL_SHIM, 2);

	send_with(sock, &hello, sizeof(hello), ATTACK_FDS);
}

/* The messages wait behind the hello, whose reply may end the connection. */
static void messages_behind(int sock)
{
	const struct protocol_hello hello = attack_hello(PROTOCOL_EVENTS, 0);

	attack_send(sock, &hello, sizeof(hello), NULL, 0);
	for (int i = 0; i < 4; i++)
		send_with(sock, &hello, sizeof(hello), 8);
}

/* An empty packet does not mean that the connection has ended. */
static void behind_an_empty_packet(int sock)
{
	send_before = send_hello_and_nothing;
	send_with(sock, "", 1, 8);
	send_before = NULL;
}

static void behind_two_empty_packets(int sock)
{
	send_before = send_nothing_twice;
	send_with(sock, "", 1, 8);
	send_before = NULL;
}

static void a_byte_with_some(int sock)
{
	send_with(sock, "", 1, 16);
}

static void attack(const char *path, uint64_t until)
{
	static void (*const kinds[])(int) = {request_with_one,	     question_with_some,
					     workload_with_many,     messages_behind,
					     behind_an_empty_packet, behind_two_empty_packets,
					     a_byte_with_some};

	/* Without a free core the attack continues until enough descriptors were sent. */
	for (size_t kind = 0;
	     clock_ns() < until || (sent + refused < ENOUGH && clock_ns() < until + PATIENCE_NS);
	     kind = (kind + 1) % (sizeof(kinds) / sizeof(*kinds))) {
		int socks[CONNECTIONS];

		for (size_t i = 0; i < CONNECTIONS; i++) {
			socks[i] = attack_connect(path, until + PATIENCE_NS);
			if (socks[i] >= 0)
				kinds[kind](socks[i]);
		}
		attack_sleep_ms(20);
		for (size_t i = 0; i < CONNECTIONS; i++)
			if (socks[i] >= 0)
				close(socks[i]);
	}
}

int main(int argc, char **argv)
{
	bool linger = argc == 4 && strcmp(argv[3], "linger") == 0;
	bool flush = argc == 5 && strcmp(argv[3], "flush") == 0;
	int error;

	if (!linger && !flush) {
		fprintf(stderr,
			"usage: attack_blocking_descriptors SOCKET SECONDS linger\n"
			"       attack_blocking_descriptors SOCKET SECONDS flush FUSE_DEVICE\n");
		return 2;
	}
	attack_begin();
	if (linger)
		make_sink();
	error = linger ? 0 : fuse_start(&fuse, argv[4], FUSE_NEVER_FLUSH);
	if (error)
		attack_fail("no file that blocks", error);
	puts("begins");
	attack(argv[1], clock_ns() + strtoull(argv[2], NULL, 10) * SECOND_NS);
	printf("%lu descriptors sent, %lu refused by the kernel\n", sent, refused);
	return sent + refused >= ENOUGH ? 0 : 1;
}

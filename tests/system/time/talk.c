// SPDX-License-Identifier: MIT
/* Proves, for two processes that exchange bytes, each with a timeout: what was written arrives
 * before any time passes. */
#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>

#include "tests/lib/time_check.h"

#define ROUNDS 300u

struct line {
	int in, out;
	double pause; /* in units, before each answer */
};

static bool hear(int fd)
{
	struct pollfd one = {.fd = fd, .events = POLLIN};
	char byte;

	return poll(&one, 1, (int)(AMPLE(100) * STEP_NS / MS_NS)) == 1 && read(fd, &byte, 1) == 1;
}

static void reply(void *arg)
{
	const struct line *line = arg;

	for (unsigned i = 0; i < ROUNDS; i++) {
		CHECK(hear(line->in));
		if (line->pause > 0)
			sleep_steps(line->pause);
		CHECK(write(line->out, "a", 1) == 1);
	}
}

static void talk(struct line here, struct line there)
{
	uint64_t begin = mono();
	pid_t pid = start_process(reply, &there);

	for (unsigned i = 0; i < ROUNDS && !failed; i++) {
		CHECK(write(here.out, "q", 1) == 1);
		CHECK(hear(here.in));
	}
	TOOK(begin, ROUNDS * there.pause);
	CHECK(!ended(pid));
}

/* Once with immediate answers, and once with answers that take time. */
static void both(int fds[4])
{
	struct line here = {fds[0], fds[1], 0}, there = {fds[2], fds[3], 0};

	talk(here, there);
	there.pause = 0.01;
	talk(here, there);
	for (int i = 0; i < 4; i++)
		close(fds[i]);
}

static void pipes(void)
{
	int question[2], replies[2];

	CHECK(!pipe(question) && !pipe(replies));
	both((int[]){replies[0], question[1], question[0], replies[1]});
}

static void local(int type)
{
	int fds[2];

	CHECK(!socketpair(AF_UNIX, type, 0, fds));
	both((int[]){fds[0], dup(fds[0]), fds[1], dup(fds[1])});
}

static void stream_sockets(void)
{
	local(SOCK_STREAM);
}

static void datagram_sockets(void)
{
	local(SOCK_DGRAM);
}

static void tcp(void)
{
	struct sockaddr_in address = {.sin_family = AF_INET,
				      .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	int listener = socket(AF_INET, SOCK_STREAM, 0), near, far, on = 1;
	socklen_t length = sizeof(address);

	CHECK(!bind(listener, (struct sockaddr *)&address, sizeof(address)));
	CHECK(!listen(listener, 1));
	CHECK(!getsockname(listener, (struct sockaddr *)&address, &length));
	near = socket(AF_INET, SOCK_STREAM, 0);
	CHECK(!connect(near, (struct sockaddr *)&address, sizeof(address)));
	far = accept(listener, NULL, NULL);
	CHECK(far >= 0);
	CHECK(!setsockopt(near, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on)));
	CHECK(!setsockopt(far, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on)));
	both((int[]){near, dup(near), far, dup(far)});
	close(listener);
}

static const struct time_case cases[] = {
	{"pipes", pipes},
	{"stream_sockets", stream_sockets},
	{"datagram_sockets", datagram_sockets},
	{"tcp", tcp},
};

TIME_MAIN(cases)

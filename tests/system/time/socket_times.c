// SPDX-License-Identifier: MIT
/* Proves timeouts of sockets: SO_RCVTIMEO and SO_SNDTIMEO in each call that they apply to. */
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/un.h>

#include "tests/lib/time_check.h"

/* Sets the timeout and checks that it reads back. The kernel counts it in ticks of at most 10
 * ms. */
static void set(int fd, int option, double steps)
{
	struct timespec t = timespec_of((uint64_t)(steps * (double)STEP_NS));
	struct timeval time = {t.tv_sec, t.tv_nsec / 1000}, read_value = {0};
	socklen_t size = sizeof(read_value);

	CHECK(!setsockopt(fd, SOL_SOCKET, option, &time, sizeof(time)));
	CHECK(!getsockopt(fd, SOL_SOCKET, option, &read_value, &size) &&
	      size == sizeof(read_value));
	CHECK(read_value.tv_sec == time.tv_sec && read_value.tv_usec == time.tv_usec);
}

static void pair(int type, int fds[2])
{
	CHECK(!socketpair(AF_UNIX, type, 0, fds));
	set(fds[0], SO_RCVTIMEO, 2);
	set(fds[0], SO_SNDTIMEO, 1);
}

static void close_pair(const int fds[2])
{
	close(fds[0]);
	close(fds[1]);
}

static char buffer[1 << 20];
static struct iovec parts[2] = {{buffer, 100}, {buffer + 100, 200}};

#define TIMES_OUT(call, steps)                                                                     \
	do {                                                                                       \
		uint64_t begin_ns = mono();                                                        \
		CHECK((call) == -1 && errno == EAGAIN);                                            \
		TOOK(begin_ns, steps);                                                             \
	} while (0)

static void receiving(void)
{
	struct msghdr message = {.msg_iov = parts, .msg_iovlen = 2};
	socklen_t length = 0;
	int fds[2];

	pair(SOCK_STREAM, fds);
	TIMES_OUT(recv(fds[0], buffer, 10, 0), 2);
	TIMES_OUT(recvfrom(fds[0], buffer, 10, 0, NULL, &length), 2);
	TIMES_OUT(recvmsg(fds[0], &message, 0), 2);
	TIMES_OUT(read(fds[0], buffer, 10), 2);
	TIMES_OUT(readv(fds[0], parts, 2), 2);
	TIMES_OUT(recv(fds[0], buffer, 10, MSG_DONTWAIT), 0);
	CHECK(!fcntl(fds[0], F_SETFL, O_NONBLOCK));
	TIMES_OUT(read(fds[0], buffer, 10), 0);
	CHECK(!fcntl(fds[0], F_SETFL, 0));
	/* Available data is received at once, and so is the end of the stream. */
	CHECK(write(fds[1], "abc", 3) == 3);
	CHECK(recv(fds[0], buffer, 10, 0) == 3 && !memcmp(buffer, "abc", 3));
	close(fds[1]);
	CHECK(read(fds[0], buffer, 10) == 0);
	close(fds[0]);
}

struct sender {
	int fd;
	double steps;
	size_t bytes;
	unsigned times;
};

static void *send_later(void *arg)
{
	const struct sender *sender = arg;

	for (unsigned i = 0; i < sender->times; i++) {
		sleep_steps(sender->steps);
		CHECK(send(sender->fd, "0123456789", sender->bytes, 0) == (ssize_t)sender->bytes);
	}
	return NULL;
}

static pthread_t sending(struct sender *sender)
{
	pthread_t thread;

	CHECK(!pthread_create(&thread, NULL, send_later, sender));
	return thread;
}

/* Sends two messages after one unit; in real time the thread can be later. */
static void *send_two_later(void *fd)
{
	struct mmsghdr two[2] = {{{.msg_iov = &parts[0], .msg_iovlen = 1}, 0},
				 {{.msg_iov = &parts[1], .msg_iovlen = 1}, 0}};

	sleep_steps(1);
	CHECK(sendmmsg(*(int *)fd, two, 2, 0) == 2 && two[1].msg_len == 200);
	return NULL;
}

/* recvmmsg(2): after the first message a timeout ends it with the messages so far; its own timeout
 * is checked after each message. */
static void several_messages(void)
{
	struct mmsghdr some[3] = {{{.msg_iov = &parts[0], .msg_iovlen = 1}, 0},
				  {{.msg_iov = &parts[1], .msg_iovlen = 1}, 0},
				  {{.msg_iov = &parts[0], .msg_iovlen = 1}, 0}};
	struct timespec half = timespec_of(STEP_NS / 2);
	uint64_t begin;
	pthread_t thread;
	int fds[2];

	pair(SOCK_DGRAM, fds);
	TIMES_OUT(recvmmsg(fds[0], some, 3, 0, NULL), 2);
	begin = mono();
	CHECK(!pthread_create(&thread, NULL, send_two_later, &fds[1]));
	CHECK(recvmmsg(fds[0], some, 3, 0, NULL) == 2 && some[1].msg_len == 200);
	TOOK(begin, 3);
	CHECK(!pthread_join(thread, NULL));
	begin = mono();
	CHECK(!pthread_create(&thread, NULL, send_two_later, &fds[1]));
	CHECK(recvmmsg(fds[0], some, 3, MSG_WAITFORONE, NULL) >= 1);
	TOOK(begin, 1);
	CHECK(!pthread_join(thread, NULL));
	while (recv(fds[0], buffer, 1, MSG_DONTWAIT) > 0)
		;
	begin = mono();
	CHECK(!pthread_create(&thread, NULL, send_two_later, &fds[1]));
	CHECK(recvmmsg(fds[0], some, 3, 0, &half) == 1);
	TOOK(begin, 1);
	CHECK(!pthread_join(thread, NULL));
	/* The other end reads nothing. */
	TIMES_OUT(({
			  int r;
			  while ((r = sendmmsg(fds[0], some, 1, 0)) == 1)
				  begin_ns = mono();
			  r;
		  }),
		  1);
	close_pair(fds);
}

static void data_comes(void)
{
	struct sockaddr_un from;
	socklen_t length = sizeof(from);
	struct sender sender = {.steps = 1.5, .bytes = 5, .times = 1};
	uint64_t begin;
	pthread_t thread;
	int fds[2];

	pair(SOCK_DGRAM, fds);
	set(fds[0], SO_RCVTIMEO, is_virtual ? 2 : 1000);
	sender.fd = fds[1];
	begin = mono();
	thread = sending(&sender);
	CHECK(recvfrom(fds[0], buffer, 10, 0, (struct sockaddr *)&from, &length) == 5);
	CHECK(length == 0 || length == sizeof(sa_family_t));
	TOOK(begin, 1.5);
	CHECK(!pthread_join(thread, NULL));
	close_pair(fds);
}

/* MSG_WAITALL receives all bytes, or those that have come before the timeout. */
static void all_of_it(void)
{
	struct msghdr message = {.msg_iov = (struct iovec[]){{buffer, 4}, {buffer + 4, 8}},
				 .msg_iovlen = 2};
	struct sender sender = {.steps = 0.5, .bytes = 5, .times = 2};
	uint64_t begin;
	pthread_t thread;
	int fds[2];

	if (!is_virtual)
		return;
	pair(SOCK_STREAM, fds);
	sender.fd = fds[1];
	begin = mono();
	thread = sending(&sender);
	CHECK(recv(fds[0], buffer, 10, MSG_WAITALL) == 10);
	TOOK(begin, 1);
	CHECK(!pthread_join(thread, NULL));
	begin = mono();
	thread = sending(&sender);
	CHECK(recvmsg(fds[0], &message, MSG_WAITALL) == 10);
	CHECK(!memcmp(buffer, "0123401234", 10));
	TOOK(begin, 2);
	CHECK(!pthread_join(thread, NULL));
	close_pair(fds);
}

static void fill(int fd)
{
	while (send(fd, buffer, sizeof(buffer), MSG_DONTWAIT) > 0)
		;
	while (send(fd, buffer, 1, MSG_DONTWAIT) > 0)
		;
	CHECK(errno == EAGAIN);
}

static void sending_fails(void)
{
	const struct msghdr message = {.msg_iov = parts, .msg_iovlen = 2};
	int fds[2], types[] = {SOCK_STREAM, SOCK_DGRAM};

	for (int i = 0; i < 2; i++) {
		pair(types[i], fds);
		fill(fds[0]);
		TIMES_OUT(send(fds[0], buffer, 100, 0), 1);
		TIMES_OUT(sendto(fds[0], buffer, 100, 0, NULL, 0), 1);
		TIMES_OUT(sendmsg(fds[0], &message, 0), 1);
		TIMES_OUT(write(fds[0], buffer, 100), 1);
		TIMES_OUT(writev(fds[0], parts, 2), 1);
		close_pair(fds);
	}
}

/* A stream accepts a part of the data, and the result is the size of that part. */
static void sent_in_part(void)
{
	struct iovec two[2] = {{buffer, sizeof(buffer)}, {buffer, sizeof(buffer)}};
	uint64_t begin;
	ssize_t n;
	int fds[2];

	pair(SOCK_STREAM, fds);
	begin = mono();
	n = write(fds[0], buffer, sizeof(buffer));
	CHECK(n > 0 && n < (ssize_t)sizeof(buffer));
	TOOK(begin, 1);
	close_pair(fds);
	pair(SOCK_STREAM, fds);
	begin = mono();
	n = writev(fds[0], two, 2);
	CHECK(n > 0 && n < (ssize_t)sizeof(buffer));
	TOOK(begin, 1);
	close_pair(fds);
}

static void *drain(void *arg)
{
	const int *fd = arg;
	size_t n = 0;

	sleep_steps(0.5);
	while (n < 2 * sizeof(buffer)) {
		ssize_t r = recv(*fd, buffer, sizeof(buffer), 0);

		CHECK(r > 0);
		if (r <= 0)
			break;
		n += (size_t)r;
	}
	return NULL;
}

static void sent_whole(void)
{
	struct iovec two[2] = {{buffer, sizeof(buffer)}, {buffer, sizeof(buffer)}};
	uint64_t begin = mono();
	pthread_t thread;
	int fds[2];

	pair(SOCK_STREAM, fds);
	set(fds[0], SO_SNDTIMEO, is_virtual ? 1 : 1000);
	CHECK(!pthread_create(&thread, NULL, drain, &fds[1]));
	CHECK(writev(fds[0], two, 2) == 2 * sizeof(buffer));
	CHECK(!pthread_join(thread, NULL));
	TOOK(begin, 0.5);
	close_pair(fds);
}

static void accepting(void)
{
	struct sockaddr_in at = {.sin_family = AF_INET};
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	CHECK(!bind(fd, (struct sockaddr *)&at, sizeof(at)) && !listen(fd, 5));
	set(fd, SO_RCVTIMEO, 3);
	TIMES_OUT(accept(fd, NULL, NULL), 3);
	TIMES_OUT(accept4(fd, NULL, NULL, SOCK_CLOEXEC), 3);
	close(fd);
}

/* A local socket whose backlog is full. */
static void connecting(void)
{
	struct sockaddr_un at = {.sun_family = AF_UNIX};
	socklen_t size = sizeof(sa_family_t); /* the kernel chooses the name */
	int fd = socket(AF_UNIX, SOCK_STREAM, 0), clients[3], accepted;

	CHECK(!bind(fd, (struct sockaddr *)&at, size));
	size = sizeof(at);
	CHECK(!getsockname(fd, (struct sockaddr *)&at, &size) && !listen(fd, 0));
	for (int i = 0; i < 3; i++) {
		clients[i] = socket(AF_UNIX, SOCK_STREAM, 0);
		set(clients[i], SO_SNDTIMEO, 1);
	}
	CHECK(!connect(clients[0], (struct sockaddr *)&at, size));
	TIMES_OUT(connect(clients[1], (struct sockaddr *)&at, size), 1);
	accepted = accept(fd, NULL, NULL);
	CHECK(accepted >= 0);
	CHECK(!connect(clients[2], (struct sockaddr *)&at, size));
	CHECK(!(fcntl(clients[2], F_GETFL) & O_NONBLOCK));
	for (int i = 0; i < 3; i++)
		close(clients[i]);
	close(accepted);
	close(fd);
}

/* A listening socket that does not accept: the kernel drops connections when its backlog is
 * full. */
static void connecting_by_network(void)
{
	struct sockaddr_in at = {.sin_family = AF_INET};
	socklen_t size = sizeof(at);
	int fd = socket(AF_INET, SOCK_STREAM, 0), clients[3];
	uint64_t begin;

	at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	CHECK(!bind(fd, (struct sockaddr *)&at, sizeof(at)) && !listen(fd, 0));
	CHECK(!getsockname(fd, (struct sockaddr *)&at, &size));
	for (int i = 0; i < 3; i++) {
		clients[i] = socket(AF_INET, SOCK_STREAM, 0);
		set(clients[i], SO_SNDTIMEO, 1);
	}
	CHECK(!connect(clients[0], (struct sockaddr *)&at, size));
	begin = mono();
	if (connect(clients[1], (struct sockaddr *)&at, size) == -1) {
		CHECK(errno == EINPROGRESS);
		TOOK(begin, 1);
	}
	begin = mono();
	CHECK(connect(clients[2], (struct sockaddr *)&at, size) == -1 && errno == EINPROGRESS);
	TOOK(begin, 1);
	for (int i = 0; i < 3; i++)
		close(clients[i]);
	close(fd);
}

/* The timeout belongs to the socket: a child and a duplicate have it, another socket does not. */
static void receive_in_child(void *arg)
{
	TIMES_OUT(recv(*(int *)arg, buffer, 10, 0), 2);
}

static void of_the_socket(void)
{
	int fds[2], copy, other[2];

	pair(SOCK_STREAM, fds);
	CHECK(ended(start_process(receive_in_child, &fds[0])) == 0);
	copy = dup(fds[0]);
	TIMES_OUT(read(copy, buffer, 10), 2);
	close(copy);
	close(fds[0]);
	CHECK(!socketpair(AF_UNIX, SOCK_STREAM, 0, other));
	CHECK(dup2(other[0], fds[0]) == fds[0]);
	struct sender sender = {.fd = other[1], .steps = 5, .bytes = 5, .times = 1};
	uint64_t begin = mono();
	pthread_t thread = sending(&sender);

	CHECK(recv(fds[0], buffer, 10, 0) == 5);
	TOOK(begin, 5);
	CHECK(!pthread_join(thread, NULL));
	close_pair(fds);
	close_pair(other);
}

static void count(int signal)
{
	(void)signal;
}

/* A handler ends the call even if it is installed with SA_RESTART. */
static void interrupted(void)
{
	struct caller caller;
	uint64_t begin = mono();
	int fds[2];

	pair(SOCK_STREAM, fds);
	set(fds[0], SO_RCVTIMEO, is_virtual ? 2 : 1000);
	on_signal(SIGUSR1, count, SA_RESTART);
	/* In real time the signal must not come before the call. */
	signal_later(&caller, SIGUSR1, is_virtual ? 1 : 10);
	CHECK(recv(fds[0], buffer, 10, 0) == -1 && errno == EINTR);
	TOOK(begin, 1);
	signal_joined(&caller);
	close_pair(fds);
}

static void *receive_for_long(void *arg)
{
	recv(*(int *)arg, buffer, 10, 0);
	return NULL;
}

static void cancelled(void)
{
	uint64_t begin = mono();
	pthread_t thread;
	void *result;
	int fds[2];

	pair(SOCK_STREAM, fds);
	for (int times = 1; times >= 0; times--) {
		set(fds[0], SO_RCVTIMEO, times ? 100 : 0);
		begin = mono();
		CHECK(!pthread_create(&thread, NULL, receive_for_long, &fds[0]));
		sleep_steps(1);
		CHECK(!pthread_cancel(thread));
		CHECK(!pthread_join(thread, &result) && result == PTHREAD_CANCELED);
		TOOK(begin, 1);
	}
	close_pair(fds);
}

static const struct time_case cases[] = {
	{"receiving", receiving},	  {"several_messages", several_messages},
	{"data_comes", data_comes},	  {"all_of_it", all_of_it},
	{"sending_fails", sending_fails}, {"sent_in_part", sent_in_part},
	{"sent_whole", sent_whole},	  {"accepting", accepting},
	{"connecting", connecting},	  {"connecting_by_network", connecting_by_network},
	{"of_the_socket", of_the_socket}, {"interrupted", interrupted},
	{"cancelled", cancelled},
};

TIME_MAIN(cases)

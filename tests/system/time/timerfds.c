// SPDX-License-Identifier: MIT
/* Proves timer descriptors: when they expire, what a read returns, and which processes have
 * them. */
#include <fcntl.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/timerfd.h>

#include "tests/lib/time_check.h"

static int timer(clockid_t clock, int flags, double value, double interval)
{
	struct itimerspec new = timer_spec(value, interval);
	int fd = timerfd_create(clock, flags);

	CHECK(fd >= 0);
	CHECK(!timerfd_settime(fd, 0, &new, NULL));
	return fd;
}

static uint64_t count_of(int fd)
{
	uint64_t count = 0;

	CHECK(read(fd, &count, sizeof(count)) == sizeof(count));
	return count;
}

/* In real time a reader may be late for some expirations, which are then counted together. */
static void periodic(void)
{
	uint64_t begin = mono(), count = 0, reads = 0;
	int fd = timer(CLOCK_MONOTONIC, 0, 0.01, 0.01);

	while (count < 100) {
		count += count_of(fd);
		reads++;
	}
	CHECK(!is_virtual || reads == 100);
	TOOK(begin, 1);
	close(fd);
}

static void once(void)
{
	static const clockid_t clocks[] = {CLOCK_MONOTONIC, CLOCK_REALTIME, CLOCK_BOOTTIME};

	for (size_t i = 0; i < sizeof(clocks) / sizeof(*clocks); i++) {
		uint64_t begin = mono();
		int fd = timer(clocks[i], 0, 1.5, 0);
		struct pollfd ready = {.fd = fd, .events = POLLIN};

		CHECK(poll(&ready, 1, 0) == 0 || !is_virtual);
		CHECK(count_of(fd) == 1);
		TOOK(begin, 1.5);
		/* a timer without an interval expires once */
		CHECK(poll(&ready, 1, (int)(STEP_NS / MS_NS)) == 0);
		TOOK(begin, 2.5);
		close(fd);
	}
}

static void absolute(void)
{
	static const clockid_t clocks[] = {CLOCK_MONOTONIC, CLOCK_REALTIME, CLOCK_BOOTTIME};

	for (size_t i = 0; i < sizeof(clocks) / sizeof(*clocks); i++) {
		int fd = timerfd_create(clocks[i], TFD_CLOEXEC);
		uint64_t begin = mono();
		struct itimerspec at = {.it_value = after(clocks[i], 2)};

		CHECK(!timerfd_settime(fd, TFD_TIMER_ABSTIME, &at, NULL));
		CHECK(count_of(fd) == 1);
		TOOK(begin, 2);
		/* A time in the past: the timer expires at once, and counts all expirations until
		 * now. */
		begin = mono();
		at = (struct itimerspec){timespec_of(STEP_NS),
					 timespec_of(clock_now(clocks[i]) - 7 * STEP_NS / 2)};
		CHECK(!timerfd_settime(fd, TFD_TIMER_ABSTIME, &at, NULL));
		CHECK(count_of(fd) == 4 || !is_virtual);
		TOOK(begin, 0);
		CHECK(count_of(fd) == 1 || !is_virtual);
		TOOK(begin, 0.5);
		close(fd);
	}
}

/* Expirations that were not read add up; setting the timer clears them. */
static void late(void)
{
	uint64_t begin = mono(), count;
	struct itimerspec none = {0}, old;
	int fd = timer(CLOCK_MONOTONIC, TFD_NONBLOCK, 1, 1);

	if (is_virtual)
		CHECK(read(fd, &count, sizeof(count)) == -1 && errno == EAGAIN);
	sleep_steps(3.5);
	CHECK(count_of(fd) == 3 || !is_virtual);
	if (is_virtual)
		CHECK(read(fd, &count, sizeof(count)) == -1 && errno == EAGAIN);
	sleep_steps(1);
	CHECK(!timerfd_settime(fd, 0, &none, &old));
	CHECK(ns_of(&old.it_interval) == STEP_NS);
	CHECK(ns_of(&old.it_value) <= STEP_NS && ns_of(&old.it_value) > 0);
	if (is_virtual)
		CHECK(ns_of(&old.it_value) / MS_NS == 499 || ns_of(&old.it_value) == STEP_NS / 2);
	CHECK(read(fd, &count, sizeof(count)) == -1 && errno == EAGAIN);
	CHECK(!timerfd_gettime(fd, &old) && !ns_of(&old.it_value) && !ns_of(&old.it_interval));
	TOOK(begin, 4.5);
	close(fd);
}

static void waits(void)
{
	uint64_t begin = mono();
	int fd = timer(CLOCK_MONOTONIC, 0, 1, 0), epoll = epoll_create1(0);
	struct epoll_event event = {.events = EPOLLIN};
	struct itimerspec again = timer_spec(1, 0);
	struct pollfd ready = {.fd = fd, .events = POLLIN};

	CHECK(poll(&ready, 1, -1) == 1 && ready.revents == POLLIN);
	TOOK(begin, 1);
	CHECK(count_of(fd) == 1);
	begin = mono();
	CHECK(!timerfd_settime(fd, 0, &again, NULL));
	CHECK(!epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event));
	CHECK(epoll_wait(epoll, &event, 1, (int)(10 * STEP_NS / MS_NS)) == 1);
	TOOK(begin, 1);
	close(epoll);
	close(fd);
}

struct shared {
	int fd;
	uint64_t begin_ns;
};

static void read_in_child(void *arg)
{
	const struct shared *shared = arg;

	CHECK(count_of(shared->fd) == 1 || !is_virtual);
	CHECK(count_of(shared->fd) == 1 || !is_virtual);
	TOOK(shared->begin_ns, 2);
}

static void set_and_leave(void *arg)
{
	const struct shared *shared = arg;
	const struct itimerspec new = timer_spec(1, 1);

	CHECK(!timerfd_settime(shared->fd, 0, &new, NULL));
}

/* A child inherits the timer and can set it, and the timer continues after the child's end. */
static void inherited(void)
{
	struct shared shared = {.begin_ns = mono()};

	shared.fd = timer(CLOCK_MONOTONIC, 0, 1, 1);
	CHECK(ended(start_process(read_in_child, &shared)) == 0);
	shared.begin_ns = mono();
	CHECK(ended(start_process(set_and_leave, &shared)) == 0);
	CHECK(count_of(shared.fd) == 1 || !is_virtual);
	TOOK(shared.begin_ns, 1);
	close(shared.fd);
}

/* The process that has created the timer ends, and another process has its descriptor. */
static void make_and_send(void *arg)
{
	int fd = timer(CLOCK_MONOTONIC, 0, 2, 0);
	union {
		struct cmsghdr align;
		char bytes[CMSG_SPACE(sizeof(fd))];
	} control = {0};
	char byte = 0;
	struct iovec part = {&byte, 1};
	struct msghdr message = {.msg_iov = &part,
				 .msg_iovlen = 1,
				 .msg_control = control.bytes,
				 .msg_controllen = sizeof(control.bytes)};
	struct cmsghdr *head = CMSG_FIRSTHDR(&message);

	*head = (struct cmsghdr){CMSG_LEN(sizeof(fd)), SOL_SOCKET, SCM_RIGHTS};
	memcpy(CMSG_DATA(head), &fd, sizeof(fd));
	CHECK(sendmsg(*(int *)arg, &message, 0) == 1);
	sleep_steps(1);
}

static void passed_on(void)
{
	union {
		struct cmsghdr align;
		char bytes[CMSG_SPACE(sizeof(int))];
	} control;
	char byte;
	struct iovec part = {&byte, 1};
	struct msghdr message = {.msg_iov = &part,
				 .msg_iovlen = 1,
				 .msg_control = control.bytes,
				 .msg_controllen = sizeof(control.bytes)};
	int pair[2], fd = -1;
	uint64_t begin;
	pid_t child;

	CHECK(!socketpair(AF_UNIX, SOCK_STREAM, 0, pair));
	begin = mono();
	child = start_process(make_and_send, &pair[1]);
	CHECK(recvmsg(pair[0], &message, 0) == 1);
	memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&message)), sizeof(fd));
	CHECK(ended(child) == 0);
	TOOK(begin, 1);
	CHECK(count_of(fd) == 1);
	TOOK(begin, 2);
	close(fd);
	close(pair[0]);
	close(pair[1]);
}

/* Many timers that are closed do not change other deadlines of the simulation. */
static void closed(void)
{
	uint64_t begin = mono();

	for (int i = 0; i < 100; i++)
		close(timer(CLOCK_MONOTONIC, 0, 0.01, 0.01));
	sleep_steps(2);
	TOOK(begin, 2);
}

static void refused(void)
{
	struct itimerspec bad = {.it_value = {0, 1000000000}}, good = timer_spec(1, 0);
	int fd = timerfd_create(CLOCK_MONOTONIC, 0), other = open("/dev/null", O_RDONLY);

	CHECK(timerfd_create(CLOCK_PROCESS_CPUTIME_ID, 0) == -1 && errno == EINVAL);
	CHECK(timerfd_create(CLOCK_MONOTONIC, 1) == -1 && errno == EINVAL);
	CHECK(timerfd_settime(fd, 0, &bad, NULL) == -1 && errno == EINVAL);
	CHECK(timerfd_settime(fd, 64, &good, NULL) == -1 && errno == EINVAL);
	CHECK(timerfd_settime(other, 0, &good, NULL) == -1 && errno == EINVAL);
	CHECK(timerfd_settime(-1, 0, &good, NULL) == -1 && errno == EBADF);
	CHECK(timerfd_gettime(-1, &good) == -1 && errno == EBADF);
	CHECK(!(fcntl(fd, F_GETFD) & FD_CLOEXEC) && !(fcntl(fd, F_GETFL) & O_NONBLOCK));
	close(fd);
	fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	CHECK(fcntl(fd, F_GETFD) & FD_CLOEXEC && fcntl(fd, F_GETFL) & O_NONBLOCK);
	close(fd);
	close(other);
}

static const struct time_case cases[] = {
	{"periodic", periodic},	  {"once", once},     {"absolute", absolute},
	{"late", late},		  {"waits", waits},   {"inherited", inherited},
	{"passed_on", passed_on}, {"closed", closed}, {"refused", refused},
};

TIME_MAIN(cases)

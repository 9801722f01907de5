// SPDX-License-Identifier: MIT
/* Proves waits for one descriptor with a timeout, by each function that Linux has. */
#include <poll.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/socket.h>

#include "tests/lib/time_check.h"

extern int __poll_chk(struct pollfd *fds, nfds_t n, int ms, size_t bytes);
extern int __ppoll_chk(struct pollfd *fds, nfds_t n, const struct timespec *t, const sigset_t *mask,
		       size_t bytes);

/* Waits until @fd is readable. Returns 1, 0 after @ns, or -1. @mask may be NULL. */
typedef int wait_function(int fd, uint64_t ns, const sigset_t *mask);

static int ms_of(uint64_t ns)
{
	return (int)(ns / MS_NS);
}

static int by_poll(int fd, uint64_t ns, const sigset_t *mask)
{
	struct pollfd one = {.fd = fd, .events = POLLIN};

	(void)mask;
	return poll(&one, 1, ms_of(ns));
}

static int by_poll_chk(int fd, uint64_t ns, const sigset_t *mask)
{
	struct pollfd one = {.fd = fd, .events = POLLIN};

	(void)mask;
	return __poll_chk(&one, 1, ms_of(ns), sizeof(one));
}

static int by_ppoll(int fd, uint64_t ns, const sigset_t *mask)
{
	struct pollfd one = {.fd = fd, .events = POLLIN};
	struct timespec t = timespec_of(ns);

	return ppoll(&one, 1, &t, mask);
}

static int by_ppoll_chk(int fd, uint64_t ns, const sigset_t *mask)
{
	struct pollfd one = {.fd = fd, .events = POLLIN};
	struct timespec t = timespec_of(ns);

	return __ppoll_chk(&one, 1, &t, mask, sizeof(one));
}

static int by_select(int fd, uint64_t ns, const sigset_t *mask)
{
	struct timeval t = {(time_t)(ns / S_NS), (suseconds_t)(ns % S_NS / 1000)};
	fd_set set;

	(void)mask;
	FD_ZERO(&set);
	FD_SET(fd, &set);
	return select(fd + 1, &set, NULL, NULL, &t);
}

static int by_pselect(int fd, uint64_t ns, const sigset_t *mask)
{
	struct timespec t = timespec_of(ns);
	fd_set set;

	FD_ZERO(&set);
	FD_SET(fd, &set);
	return pselect(fd + 1, &set, NULL, NULL, &t, mask);
}

static int with_epoll(int fd, int (*wait)(int, struct epoll_event *, uint64_t, const sigset_t *),
		      uint64_t ns, const sigset_t *mask)
{
	struct epoll_event event = {.events = EPOLLIN, .data.u32 = 77}, out = {0};
	int set = epoll_create1(EPOLL_CLOEXEC), r, saved;

	CHECK(set >= 0 && !epoll_ctl(set, EPOLL_CTL_ADD, fd, &event));
	r = wait(set, &out, ns, mask);
	saved = errno;
	CHECK(r != 1 || out.data.u32 == 77);
	close(set);
	errno = saved;
	return r;
}

static int epoll_plain(int set, struct epoll_event *out, uint64_t ns, const sigset_t *mask)
{
	(void)mask;
	return epoll_wait(set, out, 1, ms_of(ns));
}

static int epoll_masked(int set, struct epoll_event *out, uint64_t ns, const sigset_t *mask)
{
	return epoll_pwait(set, out, 1, ms_of(ns), mask);
}

static int epoll_fine(int set, struct epoll_event *out, uint64_t ns, const sigset_t *mask)
{
	struct timespec t = timespec_of(ns);

	return epoll_pwait2(set, out, 1, &t, mask);
}

static int by_epoll_wait(int fd, uint64_t ns, const sigset_t *mask)
{
	return with_epoll(fd, epoll_plain, ns, mask);
}

static int by_epoll_pwait(int fd, uint64_t ns, const sigset_t *mask)
{
	return with_epoll(fd, epoll_masked, ns, mask);
}

static int by_epoll_pwait2(int fd, uint64_t ns, const sigset_t *mask)
{
	return with_epoll(fd, epoll_fine, ns, mask);
}

static const struct way {
	const char *name;
	wait_function *wait;
	bool has_mask;
} ways[] = {
	{"poll", by_poll, false},
	{"poll_chk", by_poll_chk, false},
	{"ppoll", by_ppoll, true},
	{"ppoll_chk", by_ppoll_chk, true},
	{"select", by_select, false},
	{"pselect", by_pselect, true},
	{"epoll_wait", by_epoll_wait, false},
	{"epoll_pwait", by_epoll_pwait, true},
	{"epoll_pwait2", by_epoll_pwait2, true},
};

static void in_each_way(void (*run)(const struct way *))
{
	const char *name = current;
	char text[64];

	for (size_t i = 0; i < sizeof(ways) / sizeof(*ways); i++) {
		snprintf(text, sizeof(text), "%s %s", name, ways[i].name);
		current = text;
		run(&ways[i]);
	}
	current = name;
}

struct writer {
	pthread_t thread;
	int fd;
	double steps;
};

static void *write_later(void *arg)
{
	const struct writer *writer = arg;

	sleep_steps(writer->steps);
	CHECK(write(writer->fd, "x", 1) == 1);
	return NULL;
}

static void one_of_each(const struct way *way)
{
	struct writer writer = {.steps = 1};
	uint64_t begin = mono();
	int fds[2];

	CHECK(!pipe(fds));
	CHECK(way->wait(fds[0], 3 * STEP_NS, NULL) == 0);
	TOOK(begin, 3);
	CHECK(way->wait(fds[0], 0, NULL) == 0);
	begin = mono();
	writer.fd = fds[1];
	CHECK(!pthread_create(&writer.thread, NULL, write_later, &writer));
	CHECK(way->wait(fds[0], AMPLE(3) * STEP_NS, NULL) == 1);
	TOOK(begin, 1);
	CHECK(!pthread_join(writer.thread, NULL));
	begin = mono();
	CHECK(way->wait(fds[0], AMPLE(3) * STEP_NS, NULL) == 1); /* it is still readable */
	CHECK(!is_virtual || mono() == begin);
	close(fds[1]);
	close(fds[0]);
}

static void ready_or_not(void)
{
	in_each_way(one_of_each);
}

static void nothing(int signal)
{
	(void)signal;
}

static void nap(int signal)
{
	(void)signal;
	sleep_steps(1);
}

static void by_signal(const struct way *way)
{
	static void (*const handlers[])(int) = {nothing, nap};
	struct caller caller;
	int fds[2];

	CHECK(!pipe(fds));
	for (int i = 0; i < 4; i++) {
		uint64_t begin = mono();

		on_signal(SIGUSR1, handlers[i / 2], i % 2 ? SA_RESTART : 0);
		signal_later(&caller, SIGUSR1, 1);
		CHECK(way->wait(fds[0], AMPLE(4) * STEP_NS, NULL) == -1 && errno == EINTR);
		TOOK(begin, 1 + i / 2);
		signal_joined(&caller);
		begin = mono();
		/* no wake of the interrupted wait is left */
		CHECK(way->wait(fds[0], STEP_NS, NULL) == 0);
		TOOK(begin, 1);
	}
	close(fds[0]);
	close(fds[1]);
}

static void interrupted(void)
{
	in_each_way(by_signal);
}

static void one_mask(const struct way *way)
{
	sigset_t blocked, old, open;
	uint64_t begin = mono();
	struct caller caller;
	int fds[2];

	if (!way->has_mask)
		return;
	CHECK(!pipe(fds));
	on_signal(SIGUSR1, nothing, 0);
	sigemptyset(&open);
	sigemptyset(&blocked);
	sigaddset(&blocked, SIGUSR1);
	pthread_sigmask(SIG_BLOCK, &blocked, &old);
	raise(SIGUSR1);
	CHECK(way->wait(fds[0], STEP_NS, NULL) == 0); /* the signal stays blocked */
	TOOK(begin, 1);
	begin = mono();
	CHECK(way->wait(fds[0], AMPLE(3) * STEP_NS, &open) == -1 && errno == EINTR);
	TOOK(begin, 0);
	begin = mono();
	signal_later(&caller, SIGUSR1, 1);
	CHECK(way->wait(fds[0], AMPLE(3) * STEP_NS, &open) == -1 && errno == EINTR);
	TOOK(begin, 1);
	signal_joined(&caller);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	close(fds[0]);
	close(fds[1]);
}

static void masks(void)
{
	in_each_way(one_mask);
}

static void end_of_file(const struct way *way)
{
	int fds[2];

	CHECK(!pipe(fds));
	close(fds[1]);
	CHECK(way->wait(fds[0], STEP_NS, NULL) == 1);
	close(fds[0]);
}

static void hung_up(void)
{
	in_each_way(end_of_file);
}

/* Properties of select() only: it returns the remaining time, and a hang-up does not end every
 * set. */
static void select_details(void)
{
	struct timeval t = {(time_t)(AMPLE(4) * STEP_NS / S_NS), 0};
	struct writer writer = {.steps = 1};
	fd_set read_set, write_set, other;
	uint64_t begin = mono();
	int fds[2], ended_fds[2];

	CHECK(!pipe(fds) && !pipe(ended_fds));
	writer.fd = fds[1];
	CHECK(!pthread_create(&writer.thread, NULL, write_later, &writer));
	FD_ZERO(&read_set);
	FD_SET(fds[0], &read_set);
	write_set = other = read_set;
	CHECK(select(fds[1] + 1, &read_set, NULL, &other, &t) == 1);
	TOOK(begin, 1);
	CHECK(FD_ISSET(fds[0], &read_set) && !FD_ISSET(fds[0], &other));
	CHECK((uint64_t)t.tv_sec * S_NS + (uint64_t)t.tv_usec * 1000 <= (AMPLE(4) - 1) * STEP_NS);
	CHECK(!pthread_join(writer.thread, NULL));
	FD_SET(fds[1], &write_set);
	CHECK(select(fds[1] + 1, &read_set, &write_set, NULL, &t) == 2);

	close(ended_fds[1]);
	FD_ZERO(&other);
	FD_SET(ended_fds[0], &other);
	begin = mono();
	t = (struct timeval){0, (suseconds_t)(STEP_NS / 2000)};
	CHECK(select(ended_fds[0] + 1, NULL, NULL, &other, &t) == 0);
	TOOK(begin, 0.5);
	close(ended_fds[0]);
	t = (struct timeval){1, 0};
	FD_SET(ended_fds[0], &other);
	CHECK(select(ended_fds[0] + 1, &other, NULL, NULL, &t) == -1 && errno == EBADF);
	close(fds[0]);
	close(fds[1]);
}

static void errors(void)
{
	struct pollfd one = {.fd = 0x7fff, .events = POLLIN};
	const struct timespec bad = {0, 1000000000}, negative = {-1, 0};
	struct epoll_event event;

	CHECK(poll(&one, 1, 1000) == 1 && one.revents == POLLNVAL);
	CHECK(ppoll(&one, 1, &bad, NULL) == -1 && errno == EINVAL);
	CHECK(ppoll(&one, 1, &negative, NULL) == -1 && errno == EINVAL);
	CHECK(pselect(0, NULL, NULL, NULL, &bad, NULL) == -1 && errno == EINVAL);
	CHECK(epoll_wait(0x7fff, &event, 1, 1000) == -1 && errno == EBADF);
	CHECK(epoll_wait(0, &event, 0, 1000) == -1 && errno == EINVAL);
}

/* sigtimedwait() with signals of its set, and with another one. */
static void sigtimedwait_kinds(void)
{
	struct timespec t = timespec_of(AMPLE(3) * STEP_NS), short_time = timespec_of(3 * STEP_NS);
	struct timespec bad = {0, -1};
	struct caller caller;
	sigset_t set, old;
	uint64_t begin;
	siginfo_t info;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	pthread_sigmask(SIG_BLOCK, &set, &old);
	begin = mono();
	CHECK(sigtimedwait(&set, &info, &short_time) == -1 && errno == EAGAIN);
	TOOK(begin, 3);
	begin = mono();
	signal_later(&caller, SIGUSR1, 1);
	CHECK(sigtimedwait(&set, &info, &t) == SIGUSR1 && info.si_signo == SIGUSR1);
	TOOK(begin, 1);
	signal_joined(&caller);
	on_signal(SIGUSR2, nothing, SA_RESTART);
	begin = mono();
	signal_later(&caller, SIGUSR2, 1);
	CHECK(sigtimedwait(&set, NULL, &t) == -1 && errno == EINTR);
	TOOK(begin, 1);
	signal_joined(&caller);
	CHECK(sigtimedwait(&set, NULL, &bad) == -1 && errno == EINVAL);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
}

static const struct time_case cases[] = {
	{"ready_or_not", ready_or_not},
	{"interrupted", interrupted},
	{"masks", masks},
	{"hung_up", hung_up},
	{"select_details", select_details},
	{"errors", errors},
	{"sigtimedwait", sigtimedwait_kinds},
};

TIME_MAIN(cases)

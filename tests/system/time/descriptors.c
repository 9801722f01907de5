// SPDX-License-Identifier: MIT
/* Proves: waits for descriptors work in a process that has many descriptors, has no free one, or
 * has closed all of them. */
#include <fcntl.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "tests/lib/time_check.h"

#define MANY 300

static void wait_for_none(void)
{
	struct pollfd none = {.fd = -1};
	uint64_t begin = mono();

	CHECK(poll(&none, 1, (int)(2 * STEP_NS / MS_NS)) == 0);
	TOOK(begin, 2);
}

struct writer {
	pthread_t thread;
	int fd;
};

static void *write_later(void *arg)
{
	const struct writer *writer = arg;
	const uint64_t one = 1;

	sleep_steps(1);
	CHECK(write(writer->fd, &one, sizeof(one)) == sizeof(one));
	return NULL;
}

/* A thread writes to the descriptor after one unit, and the wait must find it. @late_ns: maximum
 * duration of the search. */
static void find_in(struct pollfd *fds, nfds_t n, nfds_t at, uint64_t late_ns)
{
	struct writer writer = {.fd = fds[at].fd};
	uint64_t begin = mono();

	CHECK(!pthread_create(&writer.thread, NULL, write_later, &writer));
	CHECK(poll(fds, n, (int)(AMPLE(5) * STEP_NS / MS_NS)) == 1 && fds[at].revents == POLLIN);
	took_within(begin, 1, late_ns, __LINE__);
	CHECK(!pthread_join(writer.thread, NULL));
}

static void many(void *unused)
{
	static struct pollfd fds[MANY];
	struct rlimit limit = {MANY + 8, MANY + 8};

	(void)unused;
	CHECK(!setrlimit(RLIMIT_NOFILE, &limit));
	for (unsigned i = 0; i < MANY; i++)
		fds[i] = (struct pollfd){.fd = eventfd(0, 0), .events = POLLIN};
	find_in(fds, MANY, MANY - 1, MS_NS);
	CHECK(fds[0].revents == 0);
	wait_for_none();
}

/* As many entries as the process can have descriptors. */
static void many_entries(void *unused)
{
	static struct pollfd fds[MANY];
	struct rlimit limit = {MANY, MANY};
	uint64_t begin;

	(void)unused;
	CHECK(!setrlimit(RLIMIT_NOFILE, &limit));
	for (unsigned i = 0; i < MANY; i++)
		fds[i] = (struct pollfd){.fd = -1};
	begin = mono();
	CHECK(poll(fds, MANY, (int)(2 * STEP_NS / MS_NS)) == 0);
	TOOK(begin, 2);
	fds[7] = (struct pollfd){.fd = eventfd(0, 0), .events = POLLIN};
	find_in(fds, MANY, 7, 2 * MS_NS);
}

/* No descriptor is free for the time library. */
static void no_more(void *unused)
{
	struct rlimit limit = {16, 16};
	struct pollfd one = {.fd = eventfd(0, 0), .events = POLLIN};

	(void)unused;
	CHECK(!setrlimit(RLIMIT_NOFILE, &limit));
	while (eventfd(0, 0) >= 0)
		;
	CHECK(errno == EMFILE);
	wait_for_none();
	find_in(&one, 1, 0, 2 * MS_NS);
	CHECK(eventfd(0, 0) == -1);
}

/* Between two waits the program closes all descriptors that it has not opened. */
static void all_closed(void *unused)
{
	struct pollfd one = {.events = POLLIN};

	(void)unused;
	wait_for_none();
	closefrom(3);
	wait_for_none();
	CHECK(!close_range(3, ~0u, 0));
	one.fd = eventfd(0, 0);
	find_in(&one, 1, 0, MS_NS);
	CHECK(one.fd == 3);
	wait_for_none();
	for (int fd = 3; fd < 1024; fd++)
		close(fd);
	wait_for_none();
}

/* The program closes them while another thread waits. */
static void *close_later(void *unused)
{
	sleep_steps(1);
	closefrom(3);
	return unused;
}

static void closed_meanwhile(void *unused)
{
	uint64_t begin = mono();
	struct pollfd none = {.fd = -1};
	pthread_t thread;

	(void)unused;
	CHECK(!pthread_create(&thread, NULL, close_later, NULL));
	CHECK(poll(&none, 1, (int)(3 * STEP_NS / MS_NS)) == 0);
	TOOK(begin, 3);
	CHECK(!pthread_join(thread, NULL));
	wait_for_none();
}

/* The program has opened every number of the table, and each of its files is readable. */
static void numbers_taken(void *unused)
{
	struct pollfd one = {.fd = eventfd(0, 0), .events = POLLIN};
	struct rlimit limit = {64, 64};
	uint64_t begin;
	int readable;

	(void)unused;
	CHECK(!setrlimit(RLIMIT_NOFILE, &limit));
	wait_for_none();
	closefrom(one.fd + 1);
	readable = eventfd(1, 0);
	for (int fd = readable + 1; fd < 64; fd++)
		CHECK(dup2(readable, fd) == fd);
	begin = mono();
	CHECK(poll(&one, 1, (int)(2 * STEP_NS / MS_NS)) == 0);
	took_within(begin, 2, MS_NS, __LINE__);
	find_in(&one, 1, 0, 2 * MS_NS);
}

/* The program replaces the time library's own descriptor, of which it is not aware, between two
 * waits. In real time there is no such descriptor, and another one takes its place. */
static void replaced(void *unused)
{
	int ends[2], files[2], top;
	struct stat own, there;

	(void)unused;
	CHECK(!pipe(ends));
	files[0] = ends[0];
	files[1] = eventfd(0, 0);
	CHECK(is_virtual || fcntl(files[0], F_DUPFD, 1023) == 1023);
	for (int i = 0; i < 2; i++) {
		wait_for_none();
		for (top = 1023; fcntl(top, F_GETFD) < 0;)
			top--;
		CHECK(top > files[1]);
		CHECK(dup2(files[i], top) == top);
		wait_for_none();
		CHECK(!fstat(files[i], &own) && !fstat(top, &there) && own.st_ino == there.st_ino);
	}
	/* The program's files are still at the numbers where it has put them. */
	CHECK(write(files[1], &(uint64_t){5}, 8) == 8);
	CHECK(read(top, &(uint64_t){0}, 8) == 8);
}

/* A child does not receive its parent's wake, nor the parent the child's. */
static void two_processes(void *unused)
{
	pid_t pid;

	(void)unused;
	wait_for_none();
	fflush(stdout);
	pid = fork();
	if (!pid) {
		wait_for_none();
		sleep_steps(0.5);
		wait_for_none();
		_exit(failed);
	}
	wait_for_none();
	wait_for_none();
	CHECK(!ended(pid));
}

static void not_inherited(void *unused)
{
	struct rlimit limit = {64, 64};

	(void)unused;
	CHECK(!setrlimit(RLIMIT_NOFILE, &limit));
	wait_for_none();
	/* The time library's own descriptor has the last number. */
	execl("/bin/sh", "sh", "-c", "[ ! -e /proc/$$/fd/63 ]", NULL);
	CHECK(!"exec");
}

static void apart(void (*run)(void *))
{
	CHECK(!ended(start_process(run, NULL)));
}

#define APART(name)                                                                                \
	static void case_##name(void)                                                              \
	{                                                                                          \
		apart(name);                                                                       \
	}
APART(many)
APART(many_entries)
APART(no_more)
APART(all_closed)
APART(closed_meanwhile)
APART(numbers_taken)
APART(replaced)
APART(two_processes)
APART(not_inherited)

static const struct time_case cases[] = {
	{"many", case_many},
	{"many_entries", case_many_entries},
	{"no_more", case_no_more},
	{"all_closed", case_all_closed},
	{"closed_meanwhile", case_closed_meanwhile},
	{"numbers_taken", case_numbers_taken},
	{"replaced", case_replaced},
	{"two_processes", case_two_processes},
	{"not_inherited", case_not_inherited},
};

TIME_MAIN(cases)

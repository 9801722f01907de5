// SPDX-License-Identifier: MIT
/*
 * Sends the daemon every kind of request and never reads a reply, for SECONDS:
 *  - processes that keep their connections;
 *  - processes that pass their connections on in messages which are never received;
 *  - processes that leave their connections to another process and end;
 *  - workloads that register, leave their connections to another process with the welcome unread,
 *    and end.
 *
 * The last line reports how many requests were sent.
 *
 *   attack_unread_replies SOCKET SECONDS
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/clock.h"
#include "tests/system/attack/attack.h"

#define SECOND_NS 1000000000u
#define KEEPERS 4u
#define HEIRS 2u
#define SPARE 32u /* descriptors of a process besides its connections */

static const char *path;
static uint64_t until;
static unsigned long *wanted; /* shared by all processes */

/* Sends a request of the next kind on a connection of its own. */
static int query(unsigned kind)
{
	struct protocol_hello hello = attack_hello(PROTOCOL_QUERY, 0);
	int sock = attack_connect(path, until);

	switch (kind % 5) {
	case 1:
		hello.op = PROTOCOL_BRIEF;
		break;
	case 2:
		hello.pid = getpid();
		break;
	case 3:
		hello.kind = PROTOCOL_RECENT;
		break;
	case 4:
		hello.kind = PROTOCOL_EVENTS;
		break;
	}
	if (sock < 0)
		return sock;
	if (attack_send(sock, &hello, sizeof(hello), NULL, 0) == 0)
		__atomic_add_fetch(wanted, 1, __ATOMIC_RELAXED);
	return sock;
}

static void wait_for_the_end(void)
{
	while (clock_ns() < until)
		attack_sleep_ms(10);
}

/* Opens as many connections as the process can have, and keeps them. */
static void keep(unsigned kind)
{
	struct rlimit files;

	getrlimit(RLIMIT_NOFILE, &files);
	for (rlim_t n = SPARE; n < files.rlim_cur && clock_ns() < until; n++)
		query(kind++);
	wait_for_the_end();
}

/* The process's own end lies in a queue that is never read. */
static void pass_on(unsigned kind)
{
	int ends[2] = {-1, -1}, sock;

	for (; clock_ns() < until; close(sock)) {
		sock = query(kind++);
		if (sock < 0)
			continue;
		if (ends[0] < 0 || attack_send(ends[0], "", 1, &sock, 1) != 0) {
			if (socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends) != 0)
				break;
			attack_send(ends[0], "", 1, &sock, 1);
		}
	}
	wait_for_the_end();
}

/* A workload that ends and leaves its connection to `heir`. */
static void register_and_leave(int heir)
{
	const struct protocol_hello hello = attack_hello(PROTOCOL_SHIM, PRIORITY_OFFLINE);
	int sock = attack_connect(path, until);

	if (sock >= 0 && attack_send(sock, &hello, sizeof(hello), NULL, 0) == 0) {
		__atomic_add_fetch(wanted, 1, __ATOMIC_RELAXED);
		attack_send(heir, "", 1, &sock, 1);
		attack_sleep_ms(5); /* time for the welcome */
	}
	_exit(0);
}

static void inherit(unsigned kind)
{
	int ends[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends) != 0)
		return;
	for (; clock_ns() < until; kind++) {
		size_t room = 1;
		int sock = -1;
		char any;
		pid_t pid = fork();

		if (pid == 0)
			register_and_leave(ends[1]);
		if (protocol_receive(ends[0], &any, 1, &sock, &room, 100) != 0 || room != 1)
			/* without a free descriptor it keeps those that it has */
			attack_sleep_ms(1);
		waitpid(pid, NULL, 0);
	}
}

static void leave_to_child(unsigned kind)
{
	while (clock_ns() < until) {
		pid_t pid = fork();

		if (pid == 0) {
			for (int i = 0; i < 100 && clock_ns() < until; i++)
				query(kind++);
			if (fork() == 0) {
				prctl(PR_SET_PDEATHSIG, 0);
				wait_for_the_end();
			}
			_exit(0);
		}
		waitpid(pid, NULL, 0);
		attack_sleep_ms(100);
	}
}

static void start(void (*act)(unsigned kind), unsigned kind)
{
	if (fork() != 0)
		return;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	act(kind);
	_exit(0);
}

int main(int argc, char **argv)
{
	if (argc != 3) {
		fprintf(stderr, "usage: attack_unread_answers SOCKET SECONDS\n");
		return 2;
	}
	attack_begin();
	path = argv[1];
	until = clock_ns() + strtoull(argv[2], NULL, 10) * SECOND_NS;
	wanted = mmap(NULL, sizeof(*wanted), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		      0);
	if (wanted == MAP_FAILED)
		attack_fail("no memory", errno);
	for (unsigned i = 0; i < KEEPERS; i++)
		start(keep, i);
	for (unsigned i = 0; i < HEIRS; i++)
		start(inherit, i);
	start(pass_on, 0);
	start(leave_to_child, 1);
	while (wait(NULL) > 0)
		continue;
	printf("%lu questions and registrations, no answer read\n", *wanted);
	return *wanted >= 1000 ? 0 : 1;
}

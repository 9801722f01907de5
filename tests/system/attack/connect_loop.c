// SPDX-License-Identifier: MIT
/*
 * Eight processes connect as fast as they can, for SECONDS: half of them close at once, the others
 * send a hello first. With FIRST_ID, which needs root: silent connections of IDS users, from that
 * uid on, EACH of each user. The last line reports how many connections were made.
 *
 *   attack_connect_loop SOCKET SECONDS [FIRST_ID]
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/clock.h"
#include "tests/system/attack/attack.h"

#define SECOND_NS 1000000000u
#define PROCESSES 8u
#define IDS 64u
#define EACH 15u

static const char *path;
static uint64_t until;
static unsigned long *connected; /* shared by all processes */

static void loop(bool sends_hello)
{
	const struct protocol_hello hello = attack_hello(PROTOCOL_QUERY, 0);

	while (clock_ns() < until) {
		int sock = protocol_connect(path);

		if (sock < 0)
			continue;
		if (sends_hello)
			attack_send(sock, &hello, sizeof(hello), NULL, 0);
		close(sock);
		__atomic_add_fetch(connected, 1, __ATOMIC_RELAXED);
	}
}

/* A connection belongs to the user that the process has while it connects. */
static void connect_as(uid_t id, int *socks)
{
	if (setegid(id) || seteuid(id))
		attack_fail("cannot become another user", errno);
	for (unsigned i = 0; i < EACH; i++) {
		socks[i] = attack_connect(path, until);
		__atomic_add_fetch(connected, socks[i] >= 0, __ATOMIC_RELAXED);
	}
	if (seteuid(0) || setegid(0))
		attack_fail("cannot be root again", errno);
}

/* The daemon closes silent connections after a second, so they are renewed. */
static void occupy(uid_t first)
{
	static int socks[IDS][EACH];

	while (clock_ns() < until) {
		for (unsigned i = 0; i < IDS; i++)
			connect_as(first + i, socks[i]);
		attack_sleep_ms(900);
		for (unsigned i = 0; i < IDS * EACH; i++)
			if (socks[i / EACH][i % EACH] >= 0)
				close(socks[i / EACH][i % EACH]);
	}
}

static void start(bool sends_hello)
{
	if (fork() != 0)
		return;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	loop(sends_hello);
	_exit(0);
}

int main(int argc, char **argv)
{
	uid_t first = argc == 4 ? (uid_t)strtoul(argv[3], NULL, 10) : 0;

	if (argc != 3 && argc != 4) {
		fprintf(stderr, "usage: attack_connect_loop SOCKET SECONDS [FIRST_ID]\n");
		return 2;
	}
	attack_begin();
	path = argv[1];
	until = clock_ns() + strtoull(argv[2], NULL, 10) * SECOND_NS;
	connected = mmap(NULL, sizeof(*connected), PROT_READ | PROT_WRITE,
			 MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (connected == MAP_FAILED)
		attack_fail("no memory", errno);
	if (first)
		occupy(first);
	for (unsigned i = 0; i < PROCESSES && !first; i++)
		start(i % 2);
	while (wait(NULL) > 0)
		continue;
	printf("%lu connections\n", *connected);
	return *connected < 100;
}

// SPDX-License-Identifier: MIT
/*
 * Eight processes that connect as fast as they can, for SECONDS: half of them close at once,
 * the others say hello before. Or with FIRST_ID, as root: IDS processes, each as a user of its
 * own from that one on, which together have more silent connections than the daemon has room
 * for. The last line says how often.
 *
 *   attack_connect_loop SOCKET SECONDS [FIRST_ID]
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/clock.h"
#include "tests/attack/attack.h"

#define SECOND_NS 1000000000u
#define PROCESSES 8u
#define IDS 64u

static const char *path;
static uint64_t until;
static unsigned long *connected; /* shared by all processes */

static void loop(bool says_hello)
{
	const struct protocol_hello hello = attack_hello(PROTOCOL_ASK, 0);

	while (clock_ns() < until) {
		int sock = protocol_connect(path);

		if (sock < 0)
			continue;
		if (says_hello)
			attack_send(sock, &hello, sizeof(hello), NULL, 0);
		close(sock);
		__atomic_add_fetch(connected, 1, __ATOMIC_RELAXED);
	}
}

/* Has silent connections, which the daemon drops after a second. */
static void occupy(void)
{
	while (clock_ns() < until) {
		int socks[64];

		for (size_t i = 0; i < 64; i++)
			socks[i] = attack_connect(path, until);
		__atomic_add_fetch(connected, 64, __ATOMIC_RELAXED);
		attack_sleep_ms(900);
		for (size_t i = 0; i < 64; i++)
			if (socks[i] >= 0)
				close(socks[i]);
	}
}

static void start(unsigned number, uid_t id)
{
	if (fork() != 0)
		return;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (id && (setgid(id) || setuid(id) || setpriority(PRIO_PROCESS, 0, 19)))
		attack_fail("cannot become another user", errno);
	if (id)
		occupy();
	else
		loop(number % 2);
	_exit(0);
}

int main(int argc, char **argv)
{
	uid_t first = argc == 4 ? (uid_t)strtoul(argv[3], NULL, 10) : 0;
	int status, failed = 0;

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
	for (unsigned i = 0; i < (first ? IDS : PROCESSES); i++)
		start(i, first ? first + i : 0);
	while (wait(&status) > 0)
		failed += !WIFEXITED(status) || WEXITSTATUS(status) != 0;
	printf("%lu connections\n", *connected);
	return failed || *connected < 100;
}

// SPDX-License-Identifier: MIT
/*
 * Clients that do everything wrong without bad intent. WHAT:
 *
 *   packets   each kind of bad packet in turn; a line for each that was not refused
 *   stopped   one client for each phase in which it can be stopped, all at once, for SECONDS
 *   few       a client that has no room for the descriptors of its welcome, repeatedly
 *   obedient  a workload that executes the daemon's orders, until it is killed
 *
 * The last line reports how many clients there were. Exit code: 0 if the daemon refused what is
 * wrong within WAIT_MS, 1 if it did not.
 *
 *   attack_clumsy SOCKET WHAT [SECONDS]
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/clock.h"
#include "tests/system/attack/attack.h"

#define SECOND_NS 1000000000u
#define WAIT_MS 5000
#define GPU 4711u
#define HUGE_PACKET 65536u

static const char *path;
static unsigned clients, wrong;

static int enter(void)
{
	int sock = attack_connect(path, clock_ns() + 5 * SECOND_NS);

	if (sock < 0)
		attack_fail("not connected", sock);
	clients++;
	return sock;
}

/* ---- packets ---- */

static void send_bad(const char *what, unsigned value, const void *data, size_t size)
{
	int sock = enter(), status = -EMSGSIZE;

	/* -EMSGSIZE, -ENOBUFS: the kernel itself refuses such a packet */
	if (attack_send(sock, data, size, NULL, 0) == 0)
		status = attack_status(sock, WAIT_MS);
	if (status == 0 || status == ETIMEDOUT) {
		printf("not refused within %d ms: %s %u\n", WAIT_MS, what, value);
		wrong++;
	}
	close(sock);
}

static void sizes(void)
{
	static unsigned char bytes[HUGE_PACKET];
	struct protocol_hello hello = attack_hello(PROTOCOL_QUERY, 0);

	memcpy(bytes, &hello, sizeof(hello));
	for (size_t size = 0; size < sizeof(hello); size++)
		send_bad("bytes", (unsigned)size, bytes, size);
	for (size_t size = PROTOCOL_HELLO_MAX + 1; size <= HUGE_PACKET; size *= 2)
		send_bad("bytes", (unsigned)size, bytes, size);
	send_bad("bytes", HUGE_PACKET, bytes, HUGE_PACKET);
}

static void numbers(void)
{
	static const uint32_t versions[] = {0, 2, 99, UINT32_MAX}, kinds[] = {0, 6, 99, UINT32_MAX},
			      ops[] = {0, 5, 99, UINT32_MAX};
	struct protocol_hello hello;

	for (size_t i = 0; i < 4; i++) {
		hello = attack_hello(PROTOCOL_SHIM, 2);
		hello.version = versions[i];
		send_bad("version", versions[i], &hello, sizeof(hello));
		hello = attack_hello(kinds[i], 2);
		send_bad("kind", kinds[i], &hello, sizeof(hello));
		hello = attack_hello(PROTOCOL_CONTROL, 2);
		hello.op = ops[i];
		send_bad("verb", ops[i], &hello, sizeof(hello));
	}
	hello = attack_hello(PROTOCOL_SHIM, 2);
	hello.magic++;
	send_bad("magic", hello.magic, &hello, sizeof(hello));
}

static void packets(void)
{
	struct protocol_hello hello;

	sizes();
	numbers();
	srandom(1);
	for (unsigned i = 0; i < 30; i++) {
		for (size_t at = 0; at < sizeof(hello); at++)
			((unsigned char *)&hello)[at] = (unsigned char)random();
		send_bad("garbage", i, &hello, sizeof(hello));
	}
}

/* ---- too few descriptors ---- */

static void few(void)
{
	const struct protocol_hello hello = attack_hello(PROTOCOL_SHIM, PRIORITY_OFFLINE);
	struct protocol_welcome welcome;
	struct rlimit files;
	int fds[8], sock;

	getrlimit(RLIMIT_NOFILE, &files);
	for (int i = 0; i < 20; i++) {
		size_t room = 8;

		files.rlim_cur = files.rlim_max;
		setrlimit(RLIMIT_NOFILE, &files);
		sock = enter();
		files.rlim_cur = (rlim_t)sock + 2; /* room for one descriptor of the welcome */
		setrlimit(RLIMIT_NOFILE, &files);
		attack_send(sock, &hello, sizeof(hello), NULL, 0);
		if (protocol_receive(sock, &welcome, sizeof(welcome), fds, &room, WAIT_MS) ==
		    -EAGAIN)
			wrong++;
		close(sock);
	}
}

/* ---- stopped ---- */

static void before_hello(void)
{
	enter();
}

static void hello_of(uint32_t kind)
{
	const struct protocol_hello hello = attack_hello(kind, PRIORITY_OFFLINE);

	attack_send(enter(), &hello, sizeof(hello), NULL, 0);
}

static void before_welcome(void)
{
	hello_of(PROTOCOL_SHIM);
}

static void while_asking(void)
{
	hello_of(PROTOCOL_QUERY);
}

static void while_listening(void)
{
	hello_of(PROTOCOL_EVENTS);
}

static void register_as(struct attack_shim *shim, int priority, enum protocol_level level)
{
	int error = attack_register(shim, path, priority, level, GPU);

	if (error)
		attack_fail("cannot register", error);
	attack_active(shim, true);
}

/* A client that is stopped before it gets an order, and below the client for which it is held. */
static void before_a_command(void)
{
	struct attack_shim shim;

	register_as(&shim, PRIORITY_OFFLINE, PROTOCOL_LEVEL_GATE);
}

static void while_active(void)
{
	struct attack_shim shim;

	attack_sleep_ms(500);
	register_as(&shim, PRIORITY_ONLINE, PROTOCOL_LEVEL_AUTO);
}

static void stopped(unsigned seconds)
{
	static void (*const phases[])(void) = {before_hello,	before_welcome,	  while_asking,
					       while_listening, before_a_command, while_active};
	pid_t pids[6];

	for (size_t i = 0; i < 6; i++) {
		pids[i] = fork();
		if (pids[i] == 0) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			phases[i]();
			raise(SIGSTOP);
			_exit(1);
		}
		clients++;
	}
	attack_sleep_ms(seconds * 1000);
	for (size_t i = 0; i < 6; i++) {
		int status;

		wrong += waitpid(pids[i], &status, WUNTRACED | WNOHANG) != pids[i] ||
			 !WIFSTOPPED(status);
		kill(pids[i], SIGKILL);
	}
}

/* ---- a workload without errors ---- */

static void obedient(void)
{
	struct attack_shim shim;

	register_as(&shim, PRIORITY_OFFLINE, PROTOCOL_LEVEL_GATE);
	for (;; attack_sleep_ms(1)) {
		uint32_t hold_cmd = __atomic_load_n(&shim.shm->hold_cmd, __ATOMIC_ACQUIRE);

		if (hold_cmd == shim.shm->hold_cmd_done)
			continue;
		__atomic_store_n(&shim.shm->hold_cmd_done, hold_cmd, __ATOMIC_RELEASE);
		attack_wake(&shim);
	}
}

int main(int argc, char **argv)
{
	if (argc < 3) {
		fprintf(stderr,
			"usage: attack_clumsy SOCKET packets|stopped|few|obedient [SECONDS]\n");
		return 2;
	}
	attack_begin();
	path = argv[1];
	if (strcmp(argv[2], "packets") == 0)
		packets();
	else if (strcmp(argv[2], "stopped") == 0 && argc == 4)
		stopped((unsigned)strtoul(argv[3], NULL, 10));
	else if (strcmp(argv[2], "few") == 0)
		few();
	else if (strcmp(argv[2], "obedient") == 0)
		obedient();
	else
		return 2;
	printf("%u clients\n", clients);
	return wrong != 0;
}

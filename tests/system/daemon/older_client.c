// SPDX-License-Identifier: MIT
/*
 * A client that acts as a shim of version 4 of the protocol, without any definition of the current
 * version: it sends the bytes of version 4 and refuses what a library of version 4 would refuse. It
 * executes the commands on standard input, one a line, on its shared memory, and prints the same
 * word when the command is done; at first it prints "ready".
 *
 *   older_client SOCKET PRIORITY GPU_ID...
 *
 *   on N, off N   the Nth of the named nodes becomes active, idle
 *   holds N       waits until the daemon publishes that work is held for that node
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "common/clock.h"
#include "tests/lib/protocol_4.h"

#define WAIT_NS 10000000000u

static struct v4_client_shm *shm;
static const struct v4_daemon_shm *daemon_shm;
static int wake_fd;

static void must(bool ok, const char *what)
{
	if (ok)
		return;
	fprintf(stderr, "older_client: %s: %s\n", what, strerror(errno));
	exit(1);
}

static void greet(int sock, int priority)
{
	const struct v4_hello hello = {
		.magic = 0x4453464bu, .version = V4_PROTOCOL, .kind = 1, .priority = priority};

	must(send(sock, &hello, sizeof(hello), MSG_NOSIGNAL) == sizeof(hello), "hello");
}

static void take_welcome(int sock, int fds[3])
{
	char control[CMSG_SPACE(3 * sizeof(int))];
	struct v4_welcome welcome;
	struct iovec iov = {.iov_base = &welcome, .iov_len = sizeof(welcome)};
	struct msghdr msg = {.msg_iov = &iov,
			     .msg_iovlen = 1,
			     .msg_control = control,
			     .msg_controllen = sizeof(control)};

	must(recvmsg(sock, &msg, MSG_TRUNC) == sizeof(welcome), "welcome");
	must(welcome.magic == 0x4453464bu && welcome.version == V4_PROTOCOL, "its version");
	must(welcome.status == 0, "its status");
	must(CMSG_FIRSTHDR(&msg) && CMSG_FIRSTHDR(&msg)->cmsg_len == CMSG_LEN(3 * sizeof(int)),
	     "its descriptors");
	memcpy(fds, CMSG_DATA(CMSG_FIRSTHDR(&msg)), 3 * sizeof(int));
}

static void *map(int fd, size_t size, int prot, int seals)
{
	struct stat st;
	void *at;

	must(fstat(fd, &st) == 0 && st.st_size == (off_t)size, "a size");
	must((fcntl(fd, F_GET_SEALS) & seals) == seals, "its seals");
	at = mmap(NULL, size, prot, MAP_SHARED, fd, 0);
	must(at != MAP_FAILED, "mmap");
	return at;
}

static void register_with(const char *path, int priority)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int sock = socket(AF_UNIX, SOCK_SEQPACKET, 0), fds[3];

	snprintf(address.sun_path, sizeof(address.sun_path), "%s", path);
	must(connect(sock, (struct sockaddr *)&address, sizeof(address)) == 0, "connect");
	greet(sock, priority);
	take_welcome(sock, fds);
	shm = map(fds[0], sizeof(*shm), PROT_READ | PROT_WRITE, F_SEAL_SHRINK | F_SEAL_GROW);
	must(shm->magic == 0x31454e414c44464bull && shm->version == V4_CLIENT_SHM &&
		     shm->size == sizeof(*shm),
	     "the lane");
	daemon_shm = map(fds[1], sizeof(*daemon_shm), PROT_READ,
			 F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_FUTURE_WRITE);
	must(daemon_shm->magic == 0x3144524f4244464bull && daemon_shm->version == V4_CLIENT_SHM &&
		     daemon_shm->size == sizeof(*daemon_shm),
	     "the board");
	wake_fd = fds[2];
}

static void wake(void)
{
	const uint64_t one = 1;

	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	if (__atomic_load_n(&daemon_shm->asleep, __ATOMIC_RELAXED))
		must(write(wake_fd, &one, sizeof(one)) == sizeof(one), "wake");
}

static void set(unsigned n, bool active)
{
	struct v4_client_shm_node *node = &shm->nodes[n];
	uint64_t word = node->activity;

	__atomic_store_n(active ? &node->active_ns : &node->idle_ns, clock_ns(), __ATOMIC_RELAXED);
	__atomic_store_n(&node->activity, ((word >> 1) + 1) << 1 | active, __ATOMIC_RELEASE);
	wake();
}

static bool is_held_for(uint32_t gpu_id)
{
	uint32_t n = __atomic_load_n(&daemon_shm->node_count, __ATOMIC_RELAXED);

	must(n <= V4_NODES, "the board's nodes");
	for (uint32_t i = 0; i < n; i++)
		if (daemon_shm->nodes[i].gpu_id == gpu_id)
			return __atomic_load_n(&daemon_shm->nodes[i].suspended, __ATOMIC_RELAXED) >
			       0;
	return false;
}

static void wait_for_hold(unsigned n)
{
	uint64_t end = clock_ns() + WAIT_NS;

	while (!is_held_for(shm->nodes[n].gpu_id)) {
		must(clock_ns() < end, "no work is held");
		poll(NULL, 0, 1);
	}
	must(daemon_shm->heartbeat_ns + 1000000000u > clock_ns(), "a heartbeat");
}

int main(int argc, char **argv)
{
	char line[64];
	unsigned n;

	must(argc >= 4 && argc <= 3 + (int)V4_NODES, "usage: SOCKET PRIORITY GPU_ID...");
	register_with(argv[1], atoi(argv[2]));
	for (int i = 3; i < argc; i++)
		__atomic_store_n(&shm->nodes[i - 3].gpu_id, (uint32_t)strtoul(argv[i], NULL, 0),
				 __ATOMIC_RELEASE);
	wake();
	setvbuf(stdout, NULL, _IOLBF, 0);
	puts("ready");
	while (fgets(line, sizeof(line), stdin)) {
		line[strcspn(line, "\n")] = '\0';
		if (sscanf(line, "on %u", &n) == 1)
			set(n, true);
		else if (sscanf(line, "off %u", &n) == 1)
			set(n, false);
		else if (sscanf(line, "holds %u", &n) == 1)
			wait_for_hold(n);
		else
			must(false, line);
		printf("%.*s\n", (int)strcspn(line, " "), line);
	}
	return 0;
}

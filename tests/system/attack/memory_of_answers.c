// SPDX-License-Identifier: MIT
/*
 * PROCESSES workloads with full tables of queues and events. Each requests the status of every
 * other one, repeatedly, and reads no reply, for SECONDS. The last line reports how many requests
 * were sent, and how many KiB of replies lay unread at the end.
 *
 *   attack_memory_of_replies SOCKET SECONDS
 */
#include <errno.h>
#include <linux/sockios.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/clock.h"
#include "tests/system/attack/attack.h"

#define SECOND_NS 1000000000u
#define PROCESSES 100u
#define CONNECTIONS 100u /* per process; the oldest one is closed for the next */
#define GPU 4711u
#define FILES 65536u

/* Memory that all processes share. */
static struct {
	pid_t pids[PROCESSES];
	unsigned registered;
	unsigned long wanted, unread_bytes;
	ino_t counted[FILES]; /* files whose size was added */
} * all;

static const char *path;
static uint64_t until;

static void fill(struct attack_shim *shim)
{
	for (uint32_t i = 0; i < CLIENT_SHM_QUEUES; i++)
		client_shm_queue_write(shim->shm, i,
				       &(struct client_shm_queue){.used = 1,
								  .queue_id = i,
								  .gpu_id = GPU,
								  .type = 2,
								  .priority = 7,
								  .percent = 100,
								  .ring_address = UINT64_MAX - i,
								  .ring_bytes = 1 << 20,
								  .rptr_address = UINT64_MAX - i,
								  .wptr_address = UINT64_MAX - i,
								  .hsa_queue = UINT64_MAX - i,
								  .cwsr_address = UINT64_MAX - i});
	for (uint32_t i = 0; i < CLIENT_SHM_EVENTS; i++)
		client_shm_event_add(
			shim->shm, &(struct client_shm_event){.ns = clock_ns(),
							      .kind = CLIENT_SHM_EVENT_QUEUE_ACTIVE,
							      .gpu_id = GPU,
							      .value = UINT64_MAX});
	attack_wake(shim);
}

static int query(pid_t pid)
{
	struct protocol_hello hello = attack_hello(PROTOCOL_QUERY, 0);
	int sock = attack_connect(path, until);

	hello.pid = pid;
	if (sock >= 0 && attack_send(sock, &hello, sizeof(hello), NULL, 0) == 0)
		__atomic_add_fetch(&all->wanted, 1, __ATOMIC_RELAXED);
	return sock;
}

/* Returns whether the file is counted for the first time: one reply can be sent on several
 * connections. */
static bool is_new(ino_t inode)
{
	for (size_t at = inode % FILES, tries = 0; tries < FILES; at = (at + 1) % FILES, tries++) {
		ino_t none = 0;

		if (__atomic_compare_exchange_n(&all->counted[at], &none, inode, false,
						__ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST))
			return true;
		if (none == inode)
			return false;
	}
	return false;
}

/* Adds the bytes that wait in a connection and in files that were sent with them. */
static void count_unread(int sock)
{
	unsigned char packet[4096];
	union {
		char bytes[CMSG_SPACE(4 * sizeof(int))];
		struct cmsghdr align;
	} control;
	struct iovec iov = {.iov_base = packet, .iov_len = sizeof(packet)};
	struct msghdr msg = {.msg_iov = &iov,
			     .msg_iovlen = 1,
			     .msg_control = &control,
			     .msg_controllen = sizeof(control)};
	struct cmsghdr *header;
	unsigned long bytes = 0;
	struct stat st;
	int waiting = 0;

	if (ioctl(sock, SIOCINQ, &waiting) == 0)
		bytes = (unsigned long)waiting;
	if (recvmsg(sock, &msg, MSG_DONTWAIT) > 0 && (header = CMSG_FIRSTHDR(&msg)) != NULL &&
	    header->cmsg_type == SCM_RIGHTS && fstat(*(int *)CMSG_DATA(header), &st) == 0 &&
	    is_new(st.st_ino))
		bytes += (unsigned long)st.st_size;
	__atomic_add_fetch(&all->unread_bytes, bytes, __ATOMIC_RELAXED);
}

static void act(unsigned self)
{
	int socks[CONNECTIONS], error;
	struct attack_shim shim;
	unsigned n = 0;

	error = attack_register(&shim, path, PRIORITY_OFFLINE, PROTOCOL_LEVEL_GATE, GPU);
	if (error)
		attack_fail("cannot register", error);
	fill(&shim);
	all->pids[self] = getpid();
	__atomic_add_fetch(&all->registered, 1, __ATOMIC_SEQ_CST);
	while (__atomic_load_n(&all->registered, __ATOMIC_SEQ_CST) < PROCESSES)
		attack_sleep_ms(10);
	for (until += clock_ns(); clock_ns() < until; n++) {
		if (n >= CONNECTIONS)
			close(socks[n % CONNECTIONS]);
		socks[n % CONNECTIONS] = query(all->pids[(self + n) % PROCESSES]);
	}
	for (unsigned i = 0; i < n && i < CONNECTIONS; i++)
		if (socks[i] >= 0)
			count_unread(socks[i]);
}

int main(int argc, char **argv)
{
	int status, failed = 0;

	if (argc != 3) {
		fprintf(stderr, "usage: attack_memory_of_answers SOCKET SECONDS\n");
		return 2;
	}
	attack_begin();
	path = argv[1];
	until = strtoull(argv[2], NULL, 10) * SECOND_NS;
	all = mmap(NULL, sizeof(*all), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (all == MAP_FAILED)
		attack_fail("no memory", errno);
	for (unsigned i = 0; i < PROCESSES; i++) {
		if (fork() != 0)
			continue;
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		act(i);
		_exit(0);
	}
	while (wait(&status) > 0)
		failed += !WIFEXITED(status) || WEXITSTATUS(status) != 0;
	printf("%lu questions, %lu KiB of answers unread\n", all->wanted, all->unread_bytes / 1024);
	return failed || all->wanted < PROCESSES;
}

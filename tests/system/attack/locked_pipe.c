// SPDX-License-Identifier: MIT
/*
 * Registers as a workload that can be held by orders, and then reads and writes each descriptor
 * that it has received, and its connection, with a buffer whose pages never arrive: what the kernel
 * locks for such a read or write stays locked. A second process of the same user is active and idle
 * in turn, so that the daemon has orders to send. After SECONDS the last line says how many orders
 * came.
 *
 *   attack_locked_pipe SOCKET SECONDS FUSE_DEVICE
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/clock.h"
#include "tests/system/attack/attack.h"
#include "tests/system/attack/fuse.h"

#define SECOND_NS 1000000000u
#define PAGE 4096u
/* on no real node, so that this client does not affect the test's own online client */
#define GPU 4711u

struct lock {
	int fd;
	void *page;
	bool writes, is_socket;
};

static void *hold_locked(void *arg)
{
	const struct lock *lock = arg;

	for (;;) {
		ssize_t n = lock->writes      ? write(lock->fd, lock->page, PAGE)
			    : lock->is_socket ? recv(lock->fd, lock->page, PAGE, 0)
					      : read(lock->fd, lock->page, PAGE);

		if (n <= 0)
			attack_sleep_ms(10);
	}
	return NULL;
}

static void lock_all(const struct attack_shim *shim, char *pages)
{
	static struct lock locks[2 * 9];
	size_t n = 0;

	for (size_t i = 0; i <= shim->nfds; i++) {
		bool is_socket = i == shim->nfds;
		int fd = is_socket ? shim->sock : shim->fds[i];

		/* O_NONBLOCK of a socket concerns this end only */
		fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) & ~O_NONBLOCK);
		for (int writes = 0; writes < (is_socket ? 1 : 2); writes++) {
			pthread_t thread;

			locks[n] = (struct lock){fd, pages + n * PAGE, writes, is_socket};
			if (pthread_create(&thread, NULL, hold_locked, &locks[n]) != 0)
				attack_fail("no thread", EAGAIN);
			n++;
		}
	}
}

/* The more urgent client, for which this workload is held. */
static void rival(const char *path)
{
	struct attack_shim shim;
	int error;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	error = attack_register(&shim, path, PRIORITY_ONLINE, PROTOCOL_LEVEL_AUTO, GPU);
	if (error)
		attack_fail("the rival cannot register", error);
	for (bool active = true;; active = !active) {
		attack_active(&shim, active);
		attack_sleep_ms(200);
	}
}

/* Acknowledges all orders, so that more of them come. Returns how many came. */
static unsigned obey(struct attack_shim *shim, uint64_t until)
{
	unsigned commands = 0;

	attack_active(shim, true);
	while (clock_ns() < until) {
		uint32_t hold_cmd = __atomic_load_n(&shim->shm->hold_cmd, __ATOMIC_ACQUIRE);

		if (hold_cmd != shim->shm->hold_cmd_done) {
			__atomic_store_n(&shim->shm->hold_cmd_done, hold_cmd, __ATOMIC_RELEASE);
			attack_wake(shim);
			commands++;
		}
		attack_sleep_ms(1);
	}
	return commands;
}

int main(int argc, char **argv)
{
	struct attack_shim shim;
	struct fuse fuse;
	unsigned commands;
	int error, file;
	char *pages;

	if (argc != 4) {
		fprintf(stderr, "usage: attack_locked_pipe SOCKET SECONDS FUSE_DEVICE\n");
		return 2;
	}
	attack_begin();
	error = fuse_start(&fuse, argv[3], FUSE_NEVER_READ);
	file = error ? error : fuse_file(&fuse);
	if (file < 0)
		attack_fail("no memory that blocks", file);
	pages = mmap(NULL, FUSE_FILE_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE, file, 0);
	if (pages == MAP_FAILED)
		attack_fail("no memory that blocks", errno);
	if (fork() == 0)
		rival(argv[1]);
	error = attack_register(&shim, argv[1], PRIORITY_OFFLINE, PROTOCOL_LEVEL_GATE, GPU);
	if (error)
		attack_fail("cannot register", error);
	lock_all(&shim, pages);
	commands = obey(&shim, clock_ns() + strtoull(argv[2], NULL, 10) * SECOND_NS);
	printf("%zu descriptors with the welcome, %u orders came\n", shim.nfds, commands);
	return commands > 0 ? 0 : 1;
}

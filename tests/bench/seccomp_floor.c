// SPDX-License-Identifier: MIT
#include "tests/bench/seccomp_floor.h"

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/clock.h"
#include "tests/bench/wake.h"

/* SECCOMP_IOCTL_NOTIF_SET_FLAGS, since Linux 6.6; missing in the headers of Debian 12. */
#define SET_FLAGS SECCOMP_IOW(4, uint64_t)
#define SYNC_WAKE_UP 1ull

struct shared_page {
	int listener; /* the fd number of the listener in the child; -1: none */
	double us[];
};

/* From now on getppid() is forwarded to another process. Returns the listener's fd, or -1. */
static int trap_getppid(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_getppid, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = {sizeof code / sizeof *code, code};

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		return -1;
	return (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER,
			    &program);
}

/* The child: makes n trapped calls, and measures each. */
static void call(struct shared_page *page, unsigned n, int ready, int go)
{
	char byte = 0;

	page->listener = trap_getppid();
	if (write(ready, &byte, 1) != 1 || read(go, &byte, 1) != 1)
		_exit(1);
	for (unsigned i = 0; i < n; i++) {
		uint64_t start = clock_ns();

		syscall(SYS_getppid);
		page->us[i] = (double)(clock_ns() - start) / 1000.0;
	}
	_exit(0);
}

/* Replies to n trapped calls. */
static int reply(int listener, unsigned n)
{
	/* fails on an older kernel, which has no such flag */
	ioctl(listener, SET_FLAGS, SYNC_WAKE_UP);
	for (unsigned i = 0; i < n; i++) {
		struct seccomp_notif request = {0};
		struct seccomp_notif_resp response = {0};

		if (ioctl(listener, SECCOMP_IOCTL_NOTIF_RECV, &request))
			return -1;
		response.id = request.id;
		if (ioctl(listener, SECCOMP_IOCTL_NOTIF_SEND, &response))
			return -1;
	}
	return 0;
}

/* Duplicates file descriptor `fd` of the child into this process. */
static int fetch(pid_t child, int fd)
{
	int pidfd = (int)syscall(SYS_pidfd_open, child, 0);
	int copy = pidfd < 0 ? -1 : (int)syscall(SYS_pidfd_getfd, pidfd, fd, 0);

	if (pidfd >= 0)
		close(pidfd);
	return copy;
}

int bare_round_trips(double *us, unsigned n)
{
	size_t bytes = sizeof(struct shared_page) + n * sizeof *us;
	struct shared_page *page =
		mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	int ready[2], go[2], listener, r = -1;
	char byte = 0;
	pid_t child;

	if (page == MAP_FAILED || pipe(ready) || pipe(go))
		return -1;
	child = fork();
	if (!child)
		call(page, n, ready[1], go[0]);
	if (child > 0 && read(ready[0], &byte, 1) == 1 && page->listener >= 0) {
		listener = fetch(child, page->listener);
		if (listener >= 0 && write(go[1], &byte, 1) == 1 && !reply(listener, n)) {
			memcpy(us, page->us, n * sizeof *us);
			r = 0;
		}
		if (listener >= 0)
			close(listener);
	}
	if (child > 0) {
		if (r)
			kill(child, SIGKILL);
		waitpid(child, NULL, 0);
	}
	for (int i = 0; i < 2; i++) {
		close(ready[i]);
		close(go[i]);
	}
	munmap(page, bytes);
	return r;
}

struct wake_slot {
	uint64_t awake_ns; /* ns; atomic; 0: not yet */
};

/* The process that is woken. It lives until its parent ends. */
static void sleep_and_wake(struct wake_slot *slot, int fd)
{
	uint64_t count;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	wake_stand_on(1);
	while (read(fd, &count, sizeof count) == sizeof count)
		__atomic_store_n(&slot->awake_ns, clock_ns(), __ATOMIC_RELEASE);
	_exit(1);
}

static int wake_once(struct wake_slot *slot, int fd, double *us)
{
	uint64_t one = 1, written_ns, awake_ns;

	usleep(250 + (useconds_t)random() % 750);
	__atomic_store_n(&slot->awake_ns, 0, __ATOMIC_RELEASE);
	written_ns = clock_ns();
	if (write(fd, &one, sizeof one) != sizeof one)
		return -1;
	while (!(awake_ns = __atomic_load_n(&slot->awake_ns, __ATOMIC_ACQUIRE)))
		usleep(100);
	*us = (double)(awake_ns - written_ns) / 1000.0;
	return 0;
}

int bare_wakes(double *us, unsigned n)
{
	struct wake_slot *slot =
		mmap(NULL, sizeof *slot, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	int fd = eventfd(0, EFD_CLOEXEC), r = 0;
	cpu_set_t before;
	pid_t child;

	if (slot == MAP_FAILED || fd < 0 || sched_getaffinity(0, sizeof before, &before))
		return -1;
	child = fork();
	if (!child)
		sleep_and_wake(slot, fd);
	wake_stand_on(0);
	for (unsigned i = 0; child > 0 && !r && i < n; i++)
		r = wake_once(slot, fd, &us[i]);
	sched_setaffinity(0, sizeof before, &before);
	if (child > 0) {
		kill(child, SIGKILL);
		waitpid(child, NULL, 0);
	}
	close(fd);
	munmap(slot, sizeof *slot);
	return child > 0 ? r : -1;
}

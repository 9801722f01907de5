// SPDX-License-Identifier: MIT
/*
 * Proves, for a program that opens the device, creates queues, and then hides the name of the
 * device from itself (chroot, another root, a sandbox): libkfdshim.so still recognises the device
 * by its descriptor. Here a seccomp filter answers every stat by name with ENOENT. This program is
 * both workload and daemon.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "tests/lib/shim_stub_daemon.h"
#include "tools/kfdconform/harness/harness.h"

static struct fake_daemon daemon_;

static bool has_queues(int wanted)
{
	for (int i = 0; i < 1000 && fake_daemon_queue_count(&daemon_) != wanted; i++)
		sleep_ms(1);
	return fake_daemon_queue_count(&daemon_) == wanted;
}

/* fstat is the same system call with a descriptor as first argument. */
static void hide_names(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_stat, 4, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_statx, 1, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_newfstatat, 0, 3),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[0])),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)AT_FDCWD, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOENT),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = {.len = sizeof(code) / sizeof(code[0]), .filter = code};
	struct stat st;

	CHECK_IS(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
	CHECK_IS(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program), 0);
	CHECK(stat("/dev/kfd", &st) == -1 && errno == ENOENT);
}

int main(void)
{
	struct raw_queue first, second;
	struct gpu_file gpu;

	fake_daemon_open(&daemon_);
	gpu_open(&gpu);
	queue_new(&gpu, &first);
	CHECK_IS(fake_daemon_accept(&daemon_, MEETS_MS), 0);
	fake_daemon_remove(&daemon_);
	CHECK(has_queues(1));
	hide_names();
	queue_new(&gpu, &second);
	CHECK(has_queues(2));
	CHECK_IS(queue_destroy(&gpu, first.id), 0);
	CHECK(has_queues(1));
	CHECK_IS(queue_destroy(&gpu, second.id), 0);
	CHECK(has_queues(0));
	puts("ok");
	return 0;
}

// SPDX-License-Identifier: MIT
/*
 * Proves, for a sandbox that is closed when the program has started and has queues, and that
 * forbids the system calls which read the process's own memory: what the program passes to the
 * driver after that is still seen.
 */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cmocka.h>

#include "kfd/uapi.h"
#include "tests/lib/mock_debug.h"
#include "tests/lib/mock_kfd.h"
#include "tests/lib/shim_stub_daemon.h"

#define AQL KFD_IOC_QUEUE_TYPE_COMPUTE_AQL

static struct fake_daemon daemon_;
static struct fake_queue q;

static void forbid(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_process_vm_readv, 1, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_process_vm_writev, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = {.len = 5, .filter = code};

	CHECK(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
	CHECK(syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &program) ==
	      0);
}

static void begin(const char *level)
{
	setenv("KFDSHIM_LEVEL", level, 1);
	fake_daemon_open(&daemon_);
	fake_start();
	CHECK(fake_runtime(1) == 0);
	CHECK(fake_queue_create(&q, AQL) == 0);
	CHECK(fake_daemon_accept(&daemon_, MEETS_MS) == 0);
	fake_daemon_remove(&daemon_);
	EVENTUALLY(fake_daemon_queue_count(&daemon_) == 1, 1000);
	forbid();
}

/* The agent reads the new queue's pointers by plain loads. */
static void a_new_queue_is_seen(void)
{
	struct fake_signal last = {.kind = 1};
	struct client_shm_queue entry;

	fake_daemon_open(&daemon_);
	fake_start();
	forbid();
	CHECK(fake_queue_create(&q, AQL) == 0);
	CHECK(fake_daemon_accept(&daemon_, MEETS_MS) == 0);
	fake_daemon_remove(&daemon_);
	EVENTUALLY(fake_daemon_queue(&daemon_, q.id, &entry) == 0, 1000);
	CHECK(entry.hsa_queue == q.hsa_queue);
	fake_ring(&q, &last);
	EVENTUALLY(fake_daemon_active(&daemon_, FAKE_GPU) == 1, 1000);
	fake_drain(&q);
	fake_waited(&last);
	EVENTUALLY(fake_daemon_active(&daemon_, FAKE_GPU) == 0, 1000);
	CHECK(fake_queue_create(&q, KFD_IOC_QUEUE_TYPE_SDMA) == 0);
	fake_submit(&q, NULL);
	EVENTUALLY(fake_daemon_active(&daemon_, FAKE_GPU) == 1, 1000);
}

/* The sampler must have stopped reading a queue before its memory is unmapped. */
static void queues_are_still_seen(void)
{
	begin("auto");
	fake_submit(&q, NULL); /* the doorbell is not seen by a hook */
	EVENTUALLY(fake_daemon_transitions(&daemon_, FAKE_GPU) == 1, 1000);
	CHECK(fake_queue_destroy(&q) == 0);
	fake_queue_unmap(&q);
	CHECK(fake_daemon_queue_count(&daemon_) == 0);
	fake_sleep_us(30000);
}

static void the_session_ends_with_the_runtime(void)
{
	begin("self");
	CHECK(fake_queue_destroy(&q) == 0);
	CHECK(fake_runtime(0) == 0);
	CHECK(fake_trap.slept == 0 && !fake_trap.session);
}

static void memory_is_counted(void)
{
	uint64_t handle;

	begin("auto");
	CHECK(fake_alloc(FAKE_GPU, 4096, KFD_IOC_ALLOC_MEM_FLAGS_VRAM, &handle) == 0);
	CHECK(daemon_.shm->nodes[0].vram_bytes == 4096);
	CHECK(fake_free(handle) == 0);
	CHECK(daemon_.shm->nodes[0].vram_bytes == 0);
}

IN_CHILD(queues_are_still_seen)
IN_CHILD(a_new_queue_is_seen)
IN_CHILD(the_session_ends_with_the_runtime)
IN_CHILD(memory_is_counted)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_queues_are_still_seen),
		cmocka_unit_test(test_a_new_queue_is_seen),
		cmocka_unit_test(test_the_session_ends_with_the_runtime),
		cmocka_unit_test(test_memory_is_counted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

// SPDX-License-Identifier: MIT
/*
 * Proves: the agent works when main has called pthread_exit() and the process continues in its
 * other threads. The kernel then finds neither memory nor descriptors under the process's own PID.
 */
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cmocka.h>

#include "common/clock.h"
#include "kfd/uapi.h"
#include "tests/lib/mock_debug.h"
#include "tests/lib/mock_kfd.h"
#include "tests/lib/shim_stub_daemon.h"

#define AQL KFD_IOC_QUEUE_TYPE_COMPUTE_AQL

static struct fake_daemon daemon_;
static struct fake_queue q, other;
static unsigned number;

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
	__atomic_store_n(&daemon_.daemon_shm->heartbeat_ns, clock_ns() + 60000000000u,
			 __ATOMIC_RELAXED);
}

/* Sends an order to the client and waits until it is acknowledged. Returns the client's errno. */
static int send_hold_cmd(enum client_shm_level level, bool hold)
{
	uint32_t word = HOLD_CMD(level, hold, ++number);

	__atomic_store_n(&daemon_.shm->hold_cmd, word, __ATOMIC_RELEASE);
	fake_daemon_wake(&daemon_);
	EVENTUALLY(__atomic_load_n(&daemon_.shm->hold_cmd_done, __ATOMIC_ACQUIRE) == word, 1000);
	return daemon_.shm->hold_cmd_errno;
}

static bool leader_is_gone(void)
{
	char from = 0, to;
	struct iovec local = {&to, 1}, remote = {&from, 1};

	return process_vm_readv(getpid(), &local, 1, &remote, 1, 0) == -1 && errno == ESRCH;
}

static void (*the_rest)(void);

static void *outlive(void *arg)
{
	(void)arg;
	EVENTUALLY(leader_is_gone(), 5000);
	the_rest();
	_exit(0);
}

/* Ends this thread, the first of the process; another thread continues with `rest`. */
static void without_main(void (*rest)(void))
{
	pthread_t thread;

	the_rest = rest;
	CHECK(pthread_create(&thread, NULL, outlive, NULL) == 0);
	pthread_exit(NULL);
}

/* The packet has been read but has not finished, as its completion signal shows, which the agent
 * reads by a system call. The queue therefore counts as active for 100 ms. Returns false if this
 * thread checked too late. */
static bool stays_active(void)
{
	static struct fake_signal done = {.kind = 1};
	uint64_t before = fake_daemon_transitions(&daemon_, FAKE_GPU), drained;
	bool active;

	fake_submit(&other, &done); /* the doorbell is not seen by a hook */
	EVENTUALLY(fake_daemon_transitions(&daemon_, FAKE_GPU) > before, 1000);
	drained = clock_ns();
	fake_drain(&other);
	fake_sleep_us(30000);
	active = fake_daemon_transitions(&daemon_, FAKE_GPU) == before + 1;
	CHECK(active || clock_ns() - drained >= 100000000u);
	__atomic_store_n(&done.value, 0, __ATOMIC_RELEASE);
	EVENTUALLY(fake_daemon_transitions(&daemon_, FAKE_GPU) == before + 2, 1000);
	return active;
}

/* The sampler polls both queues until each is destroyed and its memory is unmapped. */
static void destroy_both(void)
{
	bool seen = false;

	CHECK(fake_queue_create(&other, AQL) == 0);
	CHECK(fake_daemon_queue_count(&daemon_) == 2);
	for (int i = 0; i < 10 && !seen; i++)
		seen = stays_active();
	CHECK(seen);
	CHECK(fake_queue_destroy(&q) == 0);
	CHECK(fake_queue_destroy(&other) == 0);
	fake_queue_unmap(&q);
	fake_queue_unmap(&other);
	CHECK(fake_daemon_queue_count(&daemon_) == 0);
	fake_sleep_us(30000);
}

static void queues_are_still_seen(void)
{
	begin("auto");
	without_main(destroy_both);
}

static void end_the_runtime(void)
{
	CHECK(fake_queue_destroy(&q) == 0);
	CHECK(fake_runtime(0) == 0);
	CHECK(fake_trap.slept == 0 && !fake_trap.session);
}

static void the_session_ends_with_the_runtime(void)
{
	begin("self");
	without_main(end_the_runtime);
}

static void hold_and_release(void)
{
	CHECK(send_hold_cmd(CLIENT_SHM_LEVEL_SELF, false) == 0);
	CHECK(fake_trap_attached() == 0);
	CHECK(send_hold_cmd(CLIENT_SHM_LEVEL_SELF, true) == 0);
	CHECK(fake_trap_attached() == 1);
	CHECK(send_hold_cmd(CLIENT_SHM_LEVEL_SELF, false) == 0);
	CHECK(fake_trap_attached() == 0);
}

static void held_and_released(void)
{
	begin("self");
	CHECK(send_hold_cmd(CLIENT_SHM_LEVEL_SELF, true) == 0);
	CHECK(fake_trap_attached() == 1);
	without_main(hold_and_release);
}

static void update_while_held(void)
{
	CHECK(fake_queue_update(&q, 11, 100) == 0);
	CHECK(fake.priorities[q.id] == 0);
	CHECK(send_hold_cmd(CLIENT_SHM_LEVEL_WEIGHT, false) == 0);
	CHECK(fake.priorities[q.id] == 11);
}

static void updates_are_merged(void)
{
	begin("weight");
	CHECK(send_hold_cmd(CLIENT_SHM_LEVEL_WEIGHT, true) == 0);
	without_main(update_while_held);
}

static void alloc_and_free(void)
{
	uint64_t handle;

	CHECK(fake_alloc(FAKE_GPU, 4096, KFD_IOC_ALLOC_MEM_FLAGS_VRAM, &handle) == 0);
	CHECK(daemon_.shm->nodes[0].vram_bytes == 4096);
	CHECK(fake_free(handle) == 0);
	CHECK(daemon_.shm->nodes[0].vram_bytes == 0);
}

static void memory_is_counted(void)
{
	begin("auto");
	without_main(alloc_and_free);
}

/* The agent scans for contexts once a second, and forgets a context after two scans without it. */
static void find_contexts(void)
{
	fake_sleep_us(2300000);
	CHECK(fake_daemon_queue_count(&daemon_) == 2);
}

static void contexts_are_found(void)
{
	begin("auto");
	fake.fd = memfd_create("kfd", MFD_CLOEXEC);
	CHECK(fake_ioctl(fake.fd, _IO('K', KFDABI_CREATE_PROCESS), NULL) == 0);
	CHECK(fake_queue_create(&other, AQL) == 0);
	without_main(find_contexts);
}

IN_CHILD(queues_are_still_seen)
IN_CHILD(the_session_ends_with_the_runtime)
IN_CHILD(held_and_released)
IN_CHILD(updates_are_merged)
IN_CHILD(memory_is_counted)
IN_CHILD(contexts_are_found)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_queues_are_still_seen),
		cmocka_unit_test(test_the_session_ends_with_the_runtime),
		cmocka_unit_test(test_held_and_released),
		cmocka_unit_test(test_updates_are_merged),
		cmocka_unit_test(test_memory_is_counted),
		cmocka_unit_test(test_contexts_are_found),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

// SPDX-License-Identifier: MIT
/*
 * Proves when RUNTIME_ENABLE is issued, and by which side, and what the shared memory then
 * contains. Runs on a machine with a (simulated) node with debug capability in sysfs, with a mock
 * driver.
 */
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "kfd/uapi.h"
#include "tests/lib/mock_kfd.h"
#include "tests/lib/shim_stub_daemon.h"

#define AQL KFD_IOC_QUEUE_TYPE_COMPUTE_AQL

static struct fake_daemon daemon_;
static struct fake_queue q, other;

static unsigned polls;

/* The linker's --wrap defines the names. */
uint32_t __wrap_topology_capability(uint32_t gpu_id);
uint32_t __real_topology_capability(uint32_t gpu_id);

/* Counts the calls, because each makes several reads of sysfs. */
uint32_t __wrap_topology_capability(uint32_t gpu_id)
{
	polls++;
	return __real_topology_capability(gpu_id);
}

/* Returns the gpu_id of the first GPU in sysfs. */
static int first_gpu(void)
{
	char path[128];
	int id = 0;
	FILE *f;

	for (int i = 0; i < 16 && id == 0; i++) {
		snprintf(path, sizeof(path), "/sys/class/kfd/kfd/topology/nodes/%d/gpu_id", i);
		f = fopen(path, "r");
		if (!f)
			break;
		CHECK(fscanf(f, "%d", &id) == 1);
		fclose(f);
	}
	CHECK(id != 0);
	return id;
}

static void begin(void)
{
	fake_daemon_open(&daemon_);
	fake_start();
	fake.other_gpu = first_gpu();
}

/* Accepts the agent's connection and returns `runtime` of its shared memory. */
static uint32_t client_shm_runtime(void)
{
	CHECK(fake_daemon_accept(&daemon_, MEETS_MS) == 0);
	fake_daemon_remove(&daemon_);
	EVENTUALLY(daemon_.shm->runtime != CLIENT_SHM_RUNTIME_UNKNOWN, 1000);
	return daemon_.shm->runtime;
}

static void enabled_before_the_first_queue(void)
{
	begin();
	CHECK(fake_queue_create(&q, AQL) == 0);
	CHECK(fake_queue_create(&other, AQL) == 0);
	CHECK(strcmp(fake.calls, "VECC") == 0);
	CHECK(client_shm_runtime() == CLIENT_SHM_RUNTIME_ENABLED);
	CHECK(polls == 1);
}

static void not_if_the_runtime_does(void)
{
	begin();
	CHECK(fake_runtime(1) == 0);
	CHECK(fake_queue_create(&q, AQL) == 0);
	CHECK(strcmp(fake.calls, "EC") == 0);
	CHECK(client_shm_runtime() == CLIENT_SHM_RUNTIME_ENABLED);
}

/* The runtime has tried and failed, so the agent must try. */
static void also_if_the_runtime_failed(void)
{
	begin();
	fake.enable_errno = EINVAL;
	CHECK(fake_runtime(1) == -1 && errno == EINVAL);
	fake.enable_errno = 0;
	CHECK(fake_queue_create(&q, AQL) == 0);
	CHECK(strcmp(fake.calls, "EVEC") == 0);
	fake_daemon_remove(&daemon_);
}

static void busy_is_enabled(void)
{
	begin();
	fake.enable_errno = EBUSY;
	CHECK(fake_queue_create(&q, AQL) == 0);
	CHECK(client_shm_runtime() == CLIENT_SHM_RUNTIME_ENABLED);
}

static void exists_is_never(void)
{
	begin();
	fake.enable_errno = EEXIST;
	CHECK(fake_queue_create(&q, AQL) == 0);
	CHECK(client_shm_runtime() == CLIENT_SHM_RUNTIME_NEVER);
	CHECK(daemon_.shm->runtime_errno == EEXIST);
}

static void old_driver_is_not_queried(void)
{
	begin();
	fake.kfd_minor = 12;
	CHECK(fake_queue_create(&q, AQL) == 0);
	CHECK(strcmp(fake.calls, "VC") == 0);
	CHECK(client_shm_runtime() == CLIENT_SHM_RUNTIME_NEVER);
	CHECK(daemon_.shm->runtime_errno == EOPNOTSUPP);
}

static void node_without_debugging_is_not_queried(void)
{
	begin();
	fake.other_gpu = 1; /* a node that does not exist */
	CHECK(fake_queue_create(&q, AQL) == 0);
	CHECK(strcmp(fake.calls, "VC") == 0);
	CHECK(client_shm_runtime() == CLIENT_SHM_RUNTIME_NEVER);
	fake.other_gpu = first_gpu(); /* the previous node did not decide this one */
	CHECK(fake_queue_create(&other, AQL) == 0);
	CHECK(strcmp(fake.calls, "VCVEC") == 0);
}

/* A newer runtime beside an older one: its hsa_init must not fail because the agent has enabled the
 * runtime. */
static void runtime_after_us_succeeds(void)
{
	begin();
	CHECK(fake_queue_create(&q, AQL) == 0);
	fake.enable_errno = EBUSY;
	CHECK(fake_runtime(1) == 0);
	CHECK(client_shm_runtime() == CLIENT_SHM_RUNTIME_ENABLED);
}

/* But the runtime's own second call fails as it would without the shim. */
static void busy_by_itself_stays_busy(void)
{
	begin();
	CHECK(fake_runtime(1) == 0);
	fake.enable_errno = EBUSY;
	CHECK(fake_runtime(1) == -1 && errno == EBUSY);
	fake_daemon_remove(&daemon_);
}

static void disable_and_again(void)
{
	begin();
	CHECK(fake_queue_create(&q, AQL) == 0);
	CHECK(client_shm_runtime() == CLIENT_SHM_RUNTIME_ENABLED);
	CHECK(fake_queue_destroy(&q) == 0);
	CHECK(fake_runtime(0) == 0);
	CHECK(daemon_.shm->runtime == CLIENT_SHM_RUNTIME_UNKNOWN);
	CHECK(fake_queue_create(&q, AQL) == 0);
	CHECK(daemon_.shm->runtime == CLIENT_SHM_RUNTIME_ENABLED);
	CHECK(strcmp(fake.calls, "VECDOVEC") == 0);
}

static void failed_disable_changes_nothing(void)
{
	begin();
	CHECK(fake_queue_create(&q, AQL) == 0);
	CHECK(client_shm_runtime() == CLIENT_SHM_RUNTIME_ENABLED);
	fake.enable_errno = EINTR;
	CHECK(fake_runtime(0) == -1 && errno == EINTR);
	CHECK(daemon_.shm->runtime == CLIENT_SHM_RUNTIME_ENABLED);
}

static pthread_barrier_t both;

static void slow_enable(void)
{
	fake_sleep_us(30000);
}

static void *create_other(void *arg)
{
	(void)arg;
	pthread_barrier_wait(&both);
	fake_sleep_us(5000);
	CHECK(fake_queue_create(&other, AQL) == 0);
	return NULL;
}

/* Two threads create a first queue at the same time: neither queue is created before RUNTIME_ENABLE
 * has returned. */
static void first_queues_race(void)
{
	pthread_t thread;

	begin();
	fake.on_runtime = slow_enable;
	pthread_barrier_init(&both, NULL, 2);
	CHECK(pthread_create(&thread, NULL, create_other, NULL) == 0);
	pthread_barrier_wait(&both);
	CHECK(fake_queue_create(&q, AQL) == 0);
	pthread_join(thread, NULL);
	CHECK(strcmp(fake.calls, "VECC") == 0);
	fake_daemon_remove(&daemon_);
}

IN_CHILD(enabled_before_the_first_queue)
IN_CHILD(not_if_the_runtime_does)
IN_CHILD(also_if_the_runtime_failed)
IN_CHILD(busy_is_enabled)
IN_CHILD(exists_is_never)
IN_CHILD(old_driver_is_not_queried)
IN_CHILD(node_without_debugging_is_not_queried)
IN_CHILD(runtime_after_us_succeeds)
IN_CHILD(busy_by_itself_stays_busy)
IN_CHILD(disable_and_again)
IN_CHILD(failed_disable_changes_nothing)
IN_CHILD(first_queues_race)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_enabled_before_the_first_queue),
		cmocka_unit_test(test_not_if_the_runtime_does),
		cmocka_unit_test(test_also_if_the_runtime_failed),
		cmocka_unit_test(test_busy_is_enabled),
		cmocka_unit_test(test_exists_is_never),
		cmocka_unit_test(test_old_driver_is_not_queried),
		cmocka_unit_test(test_node_without_debugging_is_not_queried),
		cmocka_unit_test(test_runtime_after_us_succeeds),
		cmocka_unit_test(test_busy_by_itself_stays_busy),
		cmocka_unit_test(test_disable_and_again),
		cmocka_unit_test(test_failed_disable_changes_nothing),
		cmocka_unit_test(test_first_queues_race),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

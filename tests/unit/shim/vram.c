// SPDX-License-Identifier: MIT
/* Proves: device memory is counted as the driver counts it, and the limit is enforced; the daemon
 * sees the calls that can hold the mutex of the process. */
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "kfd/uapi.h"
#include "tests/lib/mock_kfd.h"
#include "tests/lib/shim_stub_daemon.h"

#define VRAM KFD_IOC_ALLOC_MEM_FLAGS_VRAM
#define OTHER_GPU 777u
#define MIB (1ull << 20)

static struct fake_daemon daemon_;

static void begin_with(const char *limit, bool remove)
{
	struct fake_queue q;

	setenv("KFDSHIM_VRAM_LIMIT", limit, 1);
	fake_daemon_open(&daemon_);
	fake_start();
	CHECK(fake_queue_create(&q, KFD_IOC_QUEUE_TYPE_COMPUTE_AQL) == 0);
	CHECK(fake_daemon_accept(&daemon_, MEETS_MS) == 0);
	EVENTUALLY(fake_daemon_queue_count(&daemon_) == 1, 1000);
	if (remove)
		fake_daemon_remove(&daemon_);
	memset(fake.calls, 0, sizeof(fake.calls));
}

static void begin(const char *limit)
{
	begin_with(limit, true);
}

static uint64_t published(uint32_t gpu_id)
{
	struct client_shm_node node;

	for (uint32_t i = 0; client_shm_node_read(daemon_.shm, i, &node) == 0; i++)
		if (node.gpu_id == gpu_id)
			return node.vram_bytes;
	return UINT64_MAX;
}

static void beyond_the_limit_is_enomem(void)
{
	uint64_t a, b;

	begin("3M");
	CHECK(fake_alloc(FAKE_GPU, 2 * MIB, VRAM, &a) == 0);
	CHECK(published(FAKE_GPU) == 2 * MIB);
	errno = 0;
	CHECK(fake_alloc(FAKE_GPU, MIB + 1, VRAM, &b) == -1 && errno == ENOMEM);
	CHECK(strcmp(fake.calls, "A") == 0); /* the driver was not called */
	CHECK(published(FAKE_GPU) == 2 * MIB);
	CHECK(fake_alloc(FAKE_GPU, MIB, VRAM, &b) == 0); /* exactly up to the limit */
	CHECK(fake_alloc(FAKE_GPU, 1, VRAM, &b) == -1 && errno == ENOMEM);
	CHECK(fake_free(a) == 0);
	CHECK(published(FAKE_GPU) == MIB);
	CHECK(fake_alloc(FAKE_GPU, 2 * MIB, VRAM, &a) == 0);
	CHECK(fake_alloc(FAKE_GPU, UINT64_MAX, VRAM, &b) == -1 && errno == ENOMEM);
	CHECK(fake_alloc(FAKE_GPU, UINT64_MAX - MIB, VRAM, &b) == -1 && errno == ENOMEM);
}

static void each_node_has_its_own(void)
{
	uint64_t a;

	begin("3M");
	CHECK(fake_alloc(FAKE_GPU, 3 * MIB, VRAM, &a) == 0);
	CHECK(fake_alloc(OTHER_GPU, 3 * MIB, VRAM, &a) == 0);
	CHECK(published(FAKE_GPU) == 3 * MIB && published(OTHER_GPU) == 3 * MIB);
	CHECK(fake_alloc(OTHER_GPU, 4096, VRAM, &a) == -1 && errno == ENOMEM);
}

static void system_memory_is_not_limited(void)
{
	uint64_t a;

	begin("1M");
	CHECK(fake_alloc(FAKE_GPU, 64 * MIB, KFD_IOC_ALLOC_MEM_FLAGS_GTT, &a) == 0);
	CHECK(fake_alloc(FAKE_GPU, 64 * MIB, KFD_IOC_ALLOC_MEM_FLAGS_USERPTR, &a) == 0);
	CHECK(fake_free(a) == 0);
	CHECK(published(FAKE_GPU) == 0 || published(FAKE_GPU) == UINT64_MAX);
	/* A handle from IMPORT_DMABUF is not counted: the memory belongs to the process that
	 * allocated it. */
	CHECK(fake_alloc(FAKE_GPU, MIB, VRAM, &a) == 0);
	CHECK(fake_free(a + 1000) == 0);
	CHECK(published(FAKE_GPU) == MIB);
}

/* Sizes are rounded up to whole pages. AQL queue memory is mapped twice but counted once. */
static void counted_as_the_driver_does(void)
{
	uint64_t a;

	begin("");
	CHECK(fake_alloc(FAKE_GPU, 1, VRAM, &a) == 0);
	CHECK(published(FAKE_GPU) == 4096);
	CHECK(fake_alloc(FAKE_GPU, 2 * MIB, VRAM | KFD_IOC_ALLOC_MEM_FLAGS_AQL_QUEUE_MEM, &a) == 0);
	CHECK(published(FAKE_GPU) == 4096 + MIB);
	CHECK(fake_free(a) == 0);
	CHECK(published(FAKE_GPU) == 4096);
}

static void failed_calls_change_nothing(void)
{
	uint64_t a, b;

	begin("2M");
	CHECK(fake_alloc(FAKE_GPU, MIB, VRAM, &a) == 0);
	fake.alloc_errno = EINTR;
	CHECK(fake_alloc(FAKE_GPU, MIB, VRAM, &b) == -1 && errno == EINTR);
	fake.alloc_errno = 0;
	CHECK(published(FAKE_GPU) == MIB);
	CHECK(fake_alloc(FAKE_GPU, MIB, VRAM, &b) == 0);
	fake.free_errno = EBUSY;
	CHECK(fake_free(a) == -1 && errno == EBUSY);
	CHECK(published(FAKE_GPU) == 2 * MIB);
	fake.free_errno = 0;
	CHECK(fake_free(a) == 0 && fake_free(b) == 0);
	CHECK(published(FAKE_GPU) == 0);
	CHECK(fake_ioctl(FAKE_FD, AMDKFD_IOC_FREE_MEMORY_OF_GPU, (void *)8) == 0);
}

/* Thousands of buffers are freed in another order: the sum stays exact. */
static void many_buffers(void)
{
	static uint64_t handles[5000];
	uint64_t sum = 0, other;
	unsigned j;

	begin("");
	srand(4);
	for (unsigned i = 0; i < 5000; i++) {
		CHECK(fake_alloc(FAKE_GPU, (i + 1) * 4096ull, VRAM, &handles[i]) == 0);
		sum += (i + 1) * 4096ull;
		if (i % 3 == 0) {
			CHECK(fake_free(handles[i]) == 0);
			handles[i] = 0;
			sum -= (i + 1) * 4096ull;
		}
	}
	CHECK(published(FAKE_GPU) == sum);
	for (unsigned i = 4999; i > 0; i--) {
		j = (unsigned)rand() % (i + 1);
		other = handles[i];
		handles[i] = handles[j];
		handles[j] = other;
	}
	for (unsigned i = 0; i < 5000; i++)
		if (handles[i])
			CHECK(fake_free(handles[i]) == 0);
	CHECK(published(FAKE_GPU) == 0);
}

static uint32_t taken;

static void *take_until_full(void *arg)
{
	uint64_t handle;

	(void)arg;
	while (fake_alloc(FAKE_GPU, 4096, VRAM, &handle) == 0)
		__atomic_add_fetch(&taken, 1, __ATOMIC_RELAXED);
	CHECK(errno == ENOMEM);
	return NULL;
}

static void threads_share_the_limit(void)
{
	pthread_t threads[4];

	begin("4M");
	for (int i = 0; i < 4; i++)
		CHECK(pthread_create(&threads[i], NULL, take_until_full, NULL) == 0);
	for (int i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	CHECK(taken == 1024 && published(FAKE_GPU) == 4 * MIB);
}

static void late_daemon_is_informed(void)
{
	uint64_t a;

	begin("");
	CHECK(fake_alloc(OTHER_GPU, 5 * MIB, VRAM, &a) == 0);
	fake_daemon_die(&daemon_);
	CHECK(mkdir(daemon_.directory, 0700) == 0);
	fake_daemon_listen(&daemon_);
	CHECK(fake_daemon_accept(&daemon_, MEETS_MS) == 0);
	EVENTUALLY(published(OTHER_GPU) == 5 * MIB, 1000);
	fake_daemon_remove(&daemon_);
}

static void fork_child_has_none(void)
{
	uint64_t a;
	int status;
	pid_t pid;

	begin("1M");
	CHECK(fake_alloc(FAKE_GPU, MIB, VRAM, &a) == 0);
	pid = fork();
	if (pid == 0) {
		CHECK(fake_alloc(FAKE_GPU, MIB, VRAM, &a) == 0);
		CHECK(fake_alloc(FAKE_GPU, 1, VRAM, &a) == -1 && errno == ENOMEM);
		_exit(0);
	}
	CHECK(waitpid(pid, &status, 0) == pid && status == 0);
	CHECK(published(FAKE_GPU) == MIB);
}

static unsigned published_in_call;

static void poll_in_call(void)
{
	published_in_call += __atomic_load_n(&daemon_.shm->pinning, __ATOMIC_ACQUIRE);
}

/* Issues a call of which the agent evaluates no argument. */
static int call(unsigned long request)
{
	char arguments[64] = {0};

	return fake_ioctl(fake.fd, request, arguments);
}

/* The daemon can see that a call is in progress for which a suspend would have to wait; also of
 * memory that is not counted, and of a call that fails. */
static void calls_that_hold_the_mutex_are_published(void)
{
	uint64_t a;

	begin("");
	fake.on_memory = poll_in_call;
	CHECK(fake_alloc(FAKE_GPU, MIB, KFD_IOC_ALLOC_MEM_FLAGS_USERPTR, &a) == 0);
	CHECK(published_in_call == 1 && daemon_.shm->pinning == 0);
	CHECK(fake_free(a) == 0);
	CHECK(published_in_call == 2 && daemon_.shm->pinning == 0);
	fake.alloc_errno = ENOMEM;
	CHECK(fake_alloc(FAKE_GPU, MIB, VRAM, &a) == -1 && errno == ENOMEM);
	CHECK(published_in_call == 3 && daemon_.shm->pinning == 0);
	published_in_call = 0;
	CHECK(call(AMDKFD_IOC_MAP_MEMORY_TO_GPU) == 0 && published_in_call == 1);
	CHECK(call(AMDKFD_IOC_UNMAP_MEMORY_FROM_GPU) == 0 && published_in_call == 2);
	CHECK(call(AMDKFD_IOC_IMPORT_DMABUF) == 0 && published_in_call == 3);
	fake.other_errno = EINVAL;
	CHECK(call(AMDKFD_IOC_MAP_MEMORY_TO_GPU) == -1 && errno == EINVAL &&
	      published_in_call == 4);
	CHECK(daemon_.shm->pinning == 0);
}

/* The daemon is replaced while a call is in progress. */
static void replace_daemon(void)
{
	fake_daemon_die(&daemon_);
	fake_daemon_listen(&daemon_);
	CHECK(fake_daemon_accept(&daemon_, MEETS_MS) == 0);
	EVENTUALLY(__atomic_load_n(&daemon_.shm->pinning, __ATOMIC_ACQUIRE) == 1, 1000);
	published_in_call++;
}

/* A call in progress does not keep the process from its next daemon, which gets the call, too. */
static void calls_in_progress_survive_the_daemon(void)
{
	begin_with("", false);
	fake.on_memory = replace_daemon;
	CHECK(call(AMDKFD_IOC_MAP_MEMORY_TO_GPU) == 0 && published_in_call == 1);
	CHECK(daemon_.shm->pinning == 0);
	fake_daemon_remove(&daemon_);
}

static pid_t forked = -1;

static void fork_in_call(void)
{
	fake.on_memory = NULL;
	forked = fork();
}

/* A child that is forked during the call, as from a signal handler, has no call in progress and no
 * shared memory: it returns from the call, too, and its own calls work. */
static void child_of_a_call_goes_on(void)
{
	uint64_t a;
	int status;

	begin("");
	fake.on_memory = fork_in_call;
	CHECK(call(AMDKFD_IOC_MAP_MEMORY_TO_GPU) == 0 && forked >= 0);
	CHECK(forked == 0 || daemon_.shm->pinning == 0);
	if (forked == 0) {
		CHECK(fake_alloc(FAKE_GPU, MIB, VRAM, &a) == 0);
		_exit(0);
	}
	CHECK(waitpid(forked, &status, 0) == forked && status == 0);
}

IN_CHILD(calls_that_hold_the_mutex_are_published)
IN_CHILD(calls_in_progress_survive_the_daemon)
IN_CHILD(child_of_a_call_goes_on)
IN_CHILD(beyond_the_limit_is_enomem)
IN_CHILD(each_node_has_its_own)
IN_CHILD(system_memory_is_not_limited)
IN_CHILD(counted_as_the_driver_does)
IN_CHILD(failed_calls_change_nothing)
IN_CHILD(many_buffers)
IN_CHILD(threads_share_the_limit)
IN_CHILD(late_daemon_is_informed)
IN_CHILD(fork_child_has_none)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_calls_that_hold_the_mutex_are_published),
		cmocka_unit_test(test_calls_in_progress_survive_the_daemon),
		cmocka_unit_test(test_child_of_a_call_goes_on),
		cmocka_unit_test(test_beyond_the_limit_is_enomem),
		cmocka_unit_test(test_each_node_has_its_own),
		cmocka_unit_test(test_system_memory_is_not_limited),
		cmocka_unit_test(test_counted_as_the_driver_does),
		cmocka_unit_test(test_failed_calls_change_nothing),
		cmocka_unit_test(test_many_buffers),
		cmocka_unit_test(test_threads_share_the_limit),
		cmocka_unit_test(test_late_daemon_is_informed),
		cmocka_unit_test(test_fork_child_has_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

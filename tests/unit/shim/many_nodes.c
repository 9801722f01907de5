// SPDX-License-Identifier: MIT
/*
 * Proves, for a process that uses 128 GPUs (as two machines with eight MI300X in mode CPX have):
 * the work on each GPU is reported to the daemon, and KFDSHIM_VRAM_LIMIT applies on each. One more
 * GPU is reported once in the log. A daemon of the previous version gets 16.
 */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "common/clock.h"
#include "kfd/uapi.h"
#include "shim/activity.h"
#include "shim/links/peer_files.h"
#include "tests/lib/mock_kfd.h"
#include "tests/lib/protocol_4.h"
#include "tests/lib/shim_stub_daemon.h"

#define GPUS 128u
#define FIRST 1000u
#define MIB (1ull << 20)

static struct fake_daemon daemon_;
static struct fake_queue made[GPUS + 2];
static int log_fd;

static void queue_on(uint32_t i)
{
	struct kfdabi_create_queue args;
	struct shim_queue *q;

	fake_queue_memory(&made[i], KFD_IOC_QUEUE_TYPE_COMPUTE_AQL, &args);
	args.queue_id = made[i].id = i + 1;
	args.gpu_id = FIRST + i;
	q = shim_queue_new(0, &args, sizeof(args));
	CHECK(q != NULL);
	agent_lock();
	CHECK(queue_insert(q) == 0);
	activity_queue_added(q, clock_ns());
	agent_unlock();
}

/* Only the first queue is created through the driver: it makes the agent connect to the daemon. */
static void begin(uint32_t version)
{
	struct fake_queue first;

	log_fd = memfd_create("said", MFD_CLOEXEC);
	CHECK(log_fd >= 0 && dup2(log_fd, STDERR_FILENO) >= 0);
	setenv("KFDSHIM_LOG", "error", 1);
	setenv("KFDSHIM_VRAM_LIMIT", "3M", 1);
	fake_daemon_open(&daemon_);
	daemon_.version = version;
	fake_start();
	CHECK(fake_queue_create(&first, KFD_IOC_QUEUE_TYPE_COMPUTE_AQL) == 0);
	CHECK(fake_daemon_accept(&daemon_, MEETS_MS) == 0);
	EVENTUALLY(fake_daemon_queue_count(&daemon_) == 1, 1000);
	fake_daemon_remove(&daemon_);
}

/* Returns how often the log contains a text. */
static unsigned count_logged(const char *what)
{
	static char text[1 << 16];
	ssize_t n = pread(log_fd, text, sizeof(text) - 1, 0);
	unsigned times = 0;

	text[n > 0 ? n : 0] = '\0';
	for (const char *at = text; (at = strstr(at, what)); at++)
		times++;
	return times;
}

static void work(uint32_t i, int while_it_works, int after)
{
	struct fake_signal last = {.kind = 1};

	fake_ring(&made[i], &last);
	/* A hook that meets the agent's thread leaves the update to it. */
	EVENTUALLY(fake_daemon_active(&daemon_, FIRST + i) == while_it_works, 1000);
	fake_drain(&made[i]);
	fake_waited(&last);
	EVENTUALLY(fake_daemon_active(&daemon_, FIRST + i) == after, 1000);
}

/* The GPU of the first queue is one of the 128. */
static void work_is_published_of_128(void)
{
	begin(PROTOCOL_VERSION);
	for (uint32_t i = 0; i < GPUS - 1; i++)
		queue_on(i);
	for (uint32_t i = GPUS - 1; i-- > 0;)
		work(i, 1, 0);
	CHECK(count_logged("GPUs") == 0);
	queue_on(GPUS - 1);
	queue_on(GPUS);
	work(GPUS - 1, -1, -1);
	CHECK(count_logged("uses more than 128 GPUs") == 1);
	EVENTUALLY(fake_daemon_queue_count(&daemon_) == GPUS + 2, 1000);
}

static void limit_binds_on_128(void)
{
	uint64_t handle;

	begin(PROTOCOL_VERSION);
	for (uint32_t i = 0; i < GPUS; i++) {
		CHECK(fake_alloc(FIRST + i, 2 * MIB, KFD_IOC_ALLOC_MEM_FLAGS_VRAM, &handle) == 0);
		errno = 0;
		CHECK(fake_alloc(FIRST + i, 2 * MIB, KFD_IOC_ALLOC_MEM_FLAGS_VRAM, &handle) == -1 &&
		      errno == ENOMEM);
	}
	CHECK(count_logged("does not apply") == 0);
	for (uint32_t i = 0; i < 3; i++)
		CHECK(fake_alloc(FIRST + GPUS + i, 4 * MIB, KFD_IOC_ALLOC_MEM_FLAGS_VRAM,
				 &handle) == 0);
	CHECK(count_logged("does not apply") == 1);
}

static void older_daemon_gets_16(void)
{
	begin(V4_PROTOCOL);
	for (uint32_t i = 0; i < 20; i++)
		queue_on(i);
	for (uint32_t i = 0; i < V4_NODES - 1; i++)
		work(i, 1, 0);
	CHECK(count_logged("supports 16 GPUs of a process, because its version is older") == 1);
	CHECK(count_logged("upgrade kfdschedd") == 1);
	for (uint32_t i = V4_NODES - 1; i < 20; i++)
		work(i, -1, -1);
	EVENTUALLY(fake_daemon_queue_count(&daemon_) == 21, 1000);
	CHECK(count_logged("GPUs") == 1);
}

/* The same for the files by which processes without a daemon meet. */
static void peers_shms_have_128(void)
{
	static struct client_shm own = {
		.magic = CLIENT_SHM_MAGIC, .version = CLIENT_SHM_VERSION, .size = sizeof(own)};
	static struct v4_client_shm older = {.magic = CLIENT_SHM_MAGIC,
					     .version = V4_CLIENT_SHM,
					     .size = sizeof(older),
					     .priority = 15};
	static struct client_shm copy;
	struct client_shm_node node;
	int fd = memfd_create("lane", MFD_CLOEXEC);

	for (uint32_t i = 0; i < GPUS; i++)
		CHECK(client_shm_node_slot(&own, FIRST + i) == (int)i &&
		      client_shm_node_set(&own, i, true, 1));
	CHECK(pwrite(fd, &own, sizeof(own), 0) == sizeof(own) && peers_read(fd, &copy) == 0);
	for (uint32_t i = 0; i < GPUS; i++)
		CHECK(client_shm_node_read(&copy, i, &node) == 0 && node.gpu_id == FIRST + i &&
		      (node.activity & 1));
	for (uint32_t i = 0; i < V4_NODES; i++)
		older.nodes[i].gpu_id = 10 + i;
	CHECK(ftruncate(fd, sizeof(older)) == 0);
	CHECK(pwrite(fd, &older, sizeof(older), 0) == sizeof(older) && peers_read(fd, &copy) == 0);
	CHECK(copy.priority == 15);
	CHECK(client_shm_node_read(&copy, V4_NODES - 1, &node) == 0 && node.gpu_id == 25);
	CHECK(client_shm_node_read(&copy, V4_NODES, &node) == -ENOENT);
	older.version = V4_CLIENT_SHM - 1;
	CHECK(pwrite(fd, &older, sizeof(older), 0) == sizeof(older) &&
	      peers_read(fd, &copy) == -EPROTO);
}

IN_CHILD(work_is_published_of_128)
IN_CHILD(peers_shms_have_128)
IN_CHILD(limit_binds_on_128)
IN_CHILD(older_daemon_gets_16)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_work_is_published_of_128),
		cmocka_unit_test(test_limit_binds_on_128),
		cmocka_unit_test(test_peers_shms_have_128),
		cmocka_unit_test(test_older_daemon_gets_16),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

// SPDX-License-Identifier: MIT
/*
 * Proves: DRM user queues are seen and named. kfdsim has no AMDGPU_USERQ, so only its render node
 * and topology are used, and this test plays the driver's part.
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

#include "kfd/uapi.h"
#include "shim/queue_table.h"
#include "tests/lib/mock_kfd.h"
#include "tests/lib/shim_stub_daemon.h"

#define USERQ _IOWR('d', 0x56, struct render_userq)

static struct fake_daemon daemon_;

static int find(uint32_t type, uint32_t id, struct client_shm_queue *out)
{
	for (uint32_t i = 0; i < CLIENT_SHM_QUEUES; i++)
		if (fake_daemon_entry(&daemon_, i, out) == 0 && out->type == type &&
		    out->queue_id == id)
			return 0;
	return -ENOENT;
}

static void seen_and_named(void)
{
	struct render_userq args = {.op = RENDER_CREATE,
				    .ring = 0x1000000,
				    .ring_bytes = 65536,
				    .rptr = 0x2000000,
				    .wptr = 0x2000008};
	int node = open("/dev/dri/renderD128", O_RDWR | O_CLOEXEC);
	int log = memfd_create("said", MFD_CLOEXEC), own = dup(STDERR_FILENO);
	struct client_shm_queue entry;
	struct fake_queue q;
	char text[4096] = "", *named;

	CHECK(node >= 0 && log >= 0 && own >= 0);
	setenv("KFDSHIM_LOG", "info", 1);
	CHECK(dup2(log, STDERR_FILENO) >= 0);
	fake_daemon_open(&daemon_);
	fake_start();
	CHECK(fake_queue_create(&q, KFD_IOC_QUEUE_TYPE_SDMA) == 0);
	CHECK(fake_daemon_accept(&daemon_, MEETS_MS) == 0);
	EVENTUALLY(fake_daemon_queue_count(&daemon_) == 1, 1000);
	fake.userq_id = q.id; /* the same id as a queue of another kind */
	CHECK(fake.agent->ioctl(node, USERQ, &args) == 0 && args.op == q.id);
	CHECK(dup2(own, STDERR_FILENO) >= 0);
	CHECK(pread(log, text, sizeof(text) - 1, 0) > 0);
	named = strstr(text, "is a DRM user queue");
	CHECK(named && !strstr(named + 1, "is a DRM user queue"));
	CHECK(fake_daemon_queue_count(&daemon_) == 2);
	CHECK(find(CLIENT_SHM_TYPE_DRM, q.id, &entry) == 0 && entry.gpu_id != 0);
	CHECK(entry.ring_address == 0x1000000 && entry.wptr_address == 0x2000008);
	CHECK(entry.context != 0 && entry.hsa_queue == 0);
	/* time in which a read of the GPU's addresses by the agent would crash */
	fake_sleep_us(10000);
	args = (struct render_userq){.op = RENDER_FREE, .queue_id = q.id};
	fake.other_errno = EBUSY;
	CHECK(fake.agent->ioctl(node, USERQ, &args) == -1 && errno == EBUSY);
	CHECK(find(CLIENT_SHM_TYPE_DRM, q.id, &entry) == 0);
	fake.other_errno = 0;
	CHECK(fake.agent->ioctl(node, USERQ, &args) == 0);
	CHECK(find(CLIENT_SHM_TYPE_DRM, q.id, &entry) == -ENOENT);
	CHECK(find(KFD_IOC_QUEUE_TYPE_SDMA, q.id, &entry) == 0);
	/* The call on another device creates no queue. */
	args = (struct render_userq){.op = RENDER_CREATE};
	CHECK(fake.agent->ioctl(open("/dev/null", O_RDWR), USERQ, &args) == 0);
	CHECK(fake_daemon_queue_count(&daemon_) == 1);
	fake_daemon_remove(&daemon_);
}

/* The queue is also listed if the process has no other. */
static void the_only_queue(void)
{
	struct render_userq args = {.op = RENDER_CREATE};
	int node = open("/dev/dri/renderD128", O_RDWR | O_CLOEXEC);
	struct client_shm_queue entry;

	CHECK(node >= 0);
	fake_daemon_open(&daemon_);
	fake_start();
	fake.userq_id = 3;
	CHECK(fake.agent->ioctl(node, USERQ, &args) == 0);
	CHECK(fake_daemon_accept(&daemon_, MEETS_MS) == 0);
	EVENTUALLY(fake_daemon_queue_count(&daemon_) == 1, 1000);
	CHECK(find(CLIENT_SHM_TYPE_DRM, 3, &entry) == 0);
	fake_daemon_remove(&daemon_);
}

IN_CHILD(seen_and_named)
IN_CHILD(the_only_queue)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_seen_and_named),
		cmocka_unit_test(test_the_only_queue),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

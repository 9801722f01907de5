// SPDX-License-Identifier: MIT
/*
 * Proves libkfdshim.so in a process that calls the driver without a runtime and has several KFD
 * contexts. This program is both workload and daemon.
 */
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "tests/lib/shim_stub_daemon.h"
#include "tools/kfdconform/harness/harness.h"

static struct fake_daemon daemon_;

static bool listed(uint32_t context, const struct raw_queue *queue)
{
	struct client_shm_queue q;

	for (uint32_t i = 0; i < CLIENT_SHM_QUEUES; i++)
		if (fake_daemon_entry(&daemon_, i, &q) == 0 && q.context == context &&
		    q.queue_id == queue->id)
			return q.wptr_address == (uint64_t)(uintptr_t)queue_wptr(queue);
	return false;
}

static void open_context(struct gpu_file *context)
{
	*context = (struct gpu_file){.kfd = open("/dev/kfd", O_RDWR | O_CLOEXEC)};
	CHECK(context->kfd >= 0);
	CHECK_IS(harness_ioctl(context->kfd, KFDABI_CREATE_PROCESS, NULL, 0), 0);
	CHECK_IS(harness_shape(0, &context->shape), 0);
	gpu_open_too(context, &(struct gpu_file){.kfd = context->kfd}, 0);
}

static uint32_t gpu_id(void)
{
	return daemon_.shm->nodes[0].gpu_id;
}

static bool is_active(void)
{
	return fake_daemon_active(&daemon_, gpu_id()) == 1;
}

int main(void)
{
	struct gpu_file own, again, contexts[2];
	struct raw_queue first, other, queues[2];
	uint64_t changes;

	fake_daemon_open(&daemon_);
	gpu_open(&own);
	again = own;
	again.kfd = open("/dev/kfd", O_RDWR | O_CLOEXEC); /* the same KFD process */
	CHECK(again.kfd >= 0);
	queue_new(&own, &first);
	CHECK_IS(fake_daemon_accept(&daemon_, MEETS_MS), 0);
	queue_new(&again, &other);
	for (unsigned i = 0; i < 2; i++) {
		open_context(&contexts[i]);
		queue_new(&contexts[i], &queues[i]);
		CHECK_IS(queues[i].id, first.id);
	}
	for (int i = 0; i < 1000 && fake_daemon_queue_count(&daemon_) < 4; i++)
		sleep_ms(1);
	CHECK_IS(fake_daemon_queue_count(&daemon_), 4);
	CHECK(listed(0, &first) && listed(0, &other));
	CHECK(listed(1, &queues[0]) && listed(2, &queues[1]));

	/* Work in a secondary context is work of the process. */
	for (int i = 0; i < 1000 && is_active(); i++)
		sleep_ms(1);
	CHECK(!is_active());
	changes = fake_daemon_transitions(&daemon_, gpu_id());
	queue_work(&queues[1], 30, NULL);
	queue_ring(&queues[1]);
	/* The work may be over before this thread checks, so the transitions are checked. */
	for (int i = 0; i < 5000 && fake_daemon_transitions(&daemon_, gpu_id()) == changes; i++)
		sleep_ms(1);
	CHECK(fake_daemon_transitions(&daemon_, gpu_id()) > changes);
	for (int i = 0; i < 3000 && is_active(); i++)
		sleep_ms(1);
	CHECK(!is_active());

	CHECK_IS(queue_destroy(&contexts[0], queues[0].id), 0);
	CHECK(!listed(1, &queues[0]) && listed(2, &queues[1]) && listed(0, &first));
	CHECK_IS(queue_destroy(&own, other.id), 0); /* through the other descriptor */
	CHECK(!listed(0, &other) && listed(0, &first));
	CHECK_IS(queue_destroy(&again, first.id), 0);
	CHECK(!listed(0, &first) && listed(2, &queues[1]));
	CHECK_IS(fake_daemon_queue_count(&daemon_), 1);
	fake_daemon_remove(&daemon_);
	puts("ok");
	return 0;
}

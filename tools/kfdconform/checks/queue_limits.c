// SPDX-License-Identifier: MIT
/* CREATE_QUEUE: ids, doorbells and limits. */
#include "tools/kfdconform/checks.h"
#include "tools/kfdconform/harness/harness.h"

#define DOORBELL_PAGE 8192u
#define NON_CP_FIRST 0x100u
#define NON_CP_LAST 0x1e7u
#define HALF (DOORBELL_PAGE / 8 / 2)
#define TOO_MANY 600u

static struct raw_queue queue;

static struct gpu_file gpu;
static struct raw_queue good;
static struct kfdabi_create_queue plain;

static void begin(void)
{
	gpu_open(&gpu);
	queue_args(&gpu, &good, &plain);
	plain.queue_percentage = 0; /* needs no runlist update; queues can share buffers */
}

/* Of the queue that create() has created. doorbell: its index in the process's doorbells, in units of
 * 8 bytes. */
static uint32_t id, doorbell;

static int create(uint32_t type)
{
	struct kfdabi_create_queue args = plain;
	int r;

	args.queue_type = type;
	r = harness_ioctl(gpu.kfd, KFDABI_CREATE_QUEUE, &args, sizeof args);
	id = args.queue_id;
	doorbell = (uint32_t)(args.doorbell_offset % DOORBELL_PAGE / 8);
	return r;
}

RULE_CHECK(ids_are_counted_from_0, begin())
{
	struct gpu_file second;
	struct gpu_shape shape;

	for (uint32_t i = 0; i < 3; i++) {
		CHECK_IS(create(i % 2 ? KFD_IOC_QUEUE_TYPE_SDMA : KFD_IOC_QUEUE_TYPE_COMPUTE_AQL),
			 0);
		CHECK_IS(id, i);
	}
	if (harness_shape(1, &shape))
		return;
	gpu_open_too(&second, &gpu, 1);
	queue_args(&second, &good, &plain);
	CHECK_IS(create(KFD_IOC_QUEUE_TYPE_COMPUTE_AQL), 0);
	CHECK_IS(id, 3);
}

RULE_CHECK(ids_are_used_again_at_once, begin())
{
	for (uint32_t i = 0; i < 4; i++)
		CHECK_IS(create(KFD_IOC_QUEUE_TYPE_COMPUTE_AQL), 0);
	CHECK_IS(queue_destroy(&gpu, 1), 0);
	CHECK_IS(queue_destroy(&gpu, 2), 0);
	for (uint32_t i = 1; i < 3; i++) {
		CHECK_IS(create(KFD_IOC_QUEUE_TYPE_COMPUTE_AQL), 0);
		CHECK_IS(id, i);
	}
	/* A call that fails uses no id. */
	plain.ring_size = 2;
	plain.ring_base_address = 0x10000;
	CHECK_IS(create(KFD_IOC_QUEUE_TYPE_COMPUTE_AQL), -EINVAL);
	plain.ring_base_address = (uint64_t)(uintptr_t)good.ring.cpu;
	CHECK_IS(create(KFD_IOC_QUEUE_TYPE_COMPUTE_AQL), 0);
	CHECK_IS(id, 4);
}

RULE_CHECK(doorbells_are_lowest_free, begin())
{
	for (uint32_t i = 0; i < 4; i++) {
		CHECK_IS(create(KFD_IOC_QUEUE_TYPE_COMPUTE_AQL), 0);
		CHECK_IS(doorbell, i);
	}
	CHECK_IS(queue_destroy(&gpu, 1), 0);
	CHECK_IS(create(KFD_IOC_QUEUE_TYPE_SDMA), 0);
	CHECK_IS(id, 1); /* it gets the id, but not the doorbell */
	CHECK_IS(create(KFD_IOC_QUEUE_TYPE_COMPUTE_AQL), 0);
	CHECK_IS(id, 4);
	CHECK_IS(doorbell, 1);
}

RULE_CHECK(sdma_doorbells_are_apart, begin())
{
	uint32_t doorbells[3];

	for (uint32_t i = 0; i < 3; i++) {
		CHECK_IS(create(KFD_IOC_QUEUE_TYPE_SDMA), 0);
		doorbells[i] = doorbell;
		CHECK(doorbells[i] % HALF >= NON_CP_FIRST && doorbells[i] % HALF <= NON_CP_LAST);
		for (uint32_t k = 0; k < i; k++)
			CHECK(doorbells[i] != doorbells[k]);
	}
}

RULE_CHECK(a_reused_doorbell_is_silent, gpu_open(&gpu))
{
	struct signal *signals = signals_new(&gpu);

	/* Each queue writes the same doorbell value as the one before; the driver must not ignore
	 * that as unchanged. The driver reads the write pointer when it maps a queue, so wait until
	 * the queue is mapped before writing. */
	for (int i = 0; i < 4; i++) {
		signals[i].value = 1;
		queue_new(&gpu, &queue);
		sleep_ms(i < 3 ? 3 : 30); /* a busy machine needs more time */
		queue_barrier(&queue, NULL, &signals[i]);
		queue_ring(&queue);
		CHECK(comes(&signals[i].value, 0, 1000));
		CHECK_IS(queue_destroy(&gpu, queue.id), 0);
	}
}

/* Creates queues until that fails with the error. Returns how many there were. */
static uint32_t count_until(uint32_t type, int error)
{
	uint32_t n = 0;
	int r;

	while (n < TOO_MANY && !(r = create(type)))
		n++;
	CHECK(n < TOO_MANY);
	CHECK_IS(r, error);
	return n;
}

RULE_CHECK(queues_of_a_process_are_limited, begin())
{
	uint32_t version = gpu.shape.gfx_target_version;

	CHECK_IS(count_until(KFD_IOC_QUEUE_TYPE_COMPUTE_AQL, -ENOSPC),
		 version >= 90402 && version < 100000 ? 255 : 127);
	CHECK_IS(queue_destroy(&gpu, 7), 0);
	CHECK_IS(create(KFD_IOC_QUEUE_TYPE_COMPUTE_AQL), 0);
	CHECK_IS(id, 7);
}

RULE_CHECK(sdma_queues_are_limited, begin())
{
	uint64_t engines = 0, each = 0;

	harness_node_number(gpu.shape.node, "properties", "num_sdma_engines", &engines);
	harness_node_number(gpu.shape.node, "properties", "num_sdma_queues_per_engine", &each);
	CHECK_IS(count_until(KFD_IOC_QUEUE_TYPE_SDMA, -ENOMEM), engines * each);
	CHECK_IS(queue_destroy(&gpu, 0), 0);
	CHECK_IS(create(KFD_IOC_QUEUE_TYPE_SDMA), 0);
}

/* ---- more compute queues than the node has slots ---- */

#define MORE 2u
#define QUEUES_MAX 120u /* fewer than the limit of a process */
#define LATE_MS 4000u

RULE_CHECK(oversubscribed_queues_all_run, gpu_open(&gpu))
{
	static struct raw_queue queues[QUEUES_MAX];
	struct signal *signals;
	uint32_t n = gpu.shape.cp_queues + MORE;

	if (n > QUEUES_MAX)
		SKIP("this GPU has more slots than a process is given queues here");
	signals = signals_new(&gpu);
	for (uint32_t i = 0; i < n; i++) {
		queue_new(&gpu, &queues[i]);
		signals[i % 64].value++;
		queue_barrier(&queues[i], NULL, &signals[i % 64]);
	}
	for (uint32_t i = 0; i < n; i++)
		queue_ring(&queues[i]);
	for (uint32_t i = 0; i < n; i++)
		CHECK(comes(&signals[i % 64].value, 0, LATE_MS));
}

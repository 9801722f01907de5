// SPDX-License-Identifier: MIT
/*
 * The workload of random_queues by ioctl, as the thunk makes queues, over two descriptors of the
 * device.
 */
#include <fcntl.h>
#include <stddef.h>
#include <unistd.h>

#include "tests/system/shim/random_work.h"
#include "tools/kfdconform/harness/harness.h"

#define SHORT_CREATE offsetof(struct kfdabi_create_queue, sdma_engine_id)
#define NO_QUEUE 1023u /* an id that is not used before a thousand others */

#define GPUS 2u

static struct gpu_file gpus[GPUS];
static int other_kfd;
/* The memory of the queues is reused, so that an address does not identify a queue. */
static struct raw_queue memory[WORK_THREADS][WORK_QUEUES];
static struct kfdabi_create_queue plain[WORK_THREADS][WORK_QUEUES];

static void begin(struct work_truth *truth)
{
	struct gpu_shape shape;
	unsigned n = 1;

	(void)truth;
	gpu_open(&gpus[0]);
	for (; n < GPUS && harness_shape(n, &shape) == 0; n++)
		gpu_open_too(&gpus[n], &gpus[0], n);
	other_kfd = open("/dev/kfd", O_RDWR | O_CLOEXEC);
	CHECK(other_kfd >= 0);
	for (unsigned t = 0; t < WORK_THREADS; t++)
		for (unsigned i = 0; i < WORK_QUEUES; i++)
			queue_args(&gpus[(t + i) % n], &memory[t][i], &plain[t][i]);
}

static unsigned below(unsigned short *random, unsigned n)
{
	return (unsigned)nrand48(random) % n;
}

static int any_kfd(unsigned short *random)
{
	return below(random, 2) ? gpus[0].kfd : other_kfd;
}

static void create(struct work_truth *truth, struct work_queue *q,
		   const struct kfdabi_create_queue *model, unsigned short *random)
{
	struct kfdabi_create_queue args = *model;
	size_t size = below(random, 2) ? sizeof(args) : SHORT_CREATE;
	bool sdma = below(random, 4) == 0;

	args.queue_priority = below(random, 16);
	if (sdma) {
		args.queue_type = KFD_IOC_QUEUE_TYPE_SDMA;
		args.eop_buffer_address = args.eop_buffer_size = 0;
		args.ctx_save_restore_address = args.ctx_save_restore_size = 0;
		args.ctl_stack_size = 0;
	}
	CHECK_IS(harness_ioctl(any_kfd(random), KFDABI_CREATE_QUEUE, &args, size), 0);
	*q = (struct work_queue){
		.there = true,
		.id = args.queue_id,
		.gpu_id = args.gpu_id,
		.type = args.queue_type,
		.priority = args.queue_priority,
		.percent = args.queue_percentage,
		.ring = args.ring_base_address,
		.ring_bytes = args.ring_size,
		.rptr = args.read_pointer_address,
		.wptr = args.write_pointer_address,
	};
	work_count(&truth->creates);
}

static int update(int kfd, const struct work_queue *q, uint32_t priority, uint32_t percent)
{
	struct kfd_ioctl_update_queue_args args = {
		.ring_base_address = q->ring,
		.queue_id = q->id,
		.ring_size = (uint32_t)q->ring_bytes,
		.queue_percentage = percent,
		.queue_priority = priority,
	};

	return harness_ioctl(kfd, KFDABI_UPDATE_QUEUE, &args, sizeof(args));
}

static void update_at_random(struct work_truth *truth, struct work_queue *q, unsigned short *random)
{
	uint32_t priority = below(random, 16),
		 percent = below(random, 4) ? 100 : 1 + below(random, 100);

	CHECK_IS(update(any_kfd(random), q, priority, percent), 0);
	q->priority = priority;
	q->percent = percent;
	work_count(&truth->updates);
}

static void destroy(struct work_truth *truth, struct work_queue *q, int kfd)
{
	struct kfd_ioctl_destroy_queue_args args = {.queue_id = q->id};

	/* From now on the queue must not be found by any reader. */
	CHECK_IS(harness_ioctl(kfd, KFDABI_DESTROY_QUEUE, &args, sizeof(args)), 0);
	q->there = false;
	work_count(&truth->destroys);
}

/* Makes a call that the driver refuses, which must change nothing. */
static void try_what_cannot_be(struct work_truth *truth, struct work_queue *q,
			       const struct kfdabi_create_queue *model, unsigned short *random)
{
	struct kfd_ioctl_destroy_queue_args unused_uid = {.queue_id = NO_QUEUE};
	struct kfdabi_create_queue args = *model;
	int kfd = any_kfd(random);

	if (q->there && below(random, 2)) {
		CHECK(update(kfd, q, 16, 50) < 0);
	} else if (below(random, 2)) {
		CHECK(harness_ioctl(kfd, KFDABI_DESTROY_QUEUE, &unused_uid, sizeof(unused_uid)) <
		      0);
	} else {
		args.queue_percentage = 101;
		CHECK(harness_ioctl(kfd, KFDABI_CREATE_QUEUE, &args, sizeof(args)) < 0);
	}
	work_count(&truth->refused);
}

static void step(struct work_truth *truth, unsigned thread, unsigned short *random)
{
	unsigned i = below(random, WORK_QUEUES), dice = below(random, 100);
	struct work_queue *q = &truth->queues[thread][i];

	if (dice < 5)
		try_what_cannot_be(truth, q, &plain[thread][i], random);
	else if (!q->there)
		create(truth, q, &plain[thread][i], random);
	else if (dice < 50)
		update_at_random(truth, q, random);
	else
		destroy(truth, q, any_kfd(random));
}

static void end(struct work_truth *truth)
{
	for (unsigned t = 0; t < WORK_THREADS; t++)
		for (unsigned i = 0; i < WORK_QUEUES; i++)
			if (truth->queues[t][i].there)
				destroy(truth, &truth->queues[t][i], gpus[0].kfd);
}

const struct work_kind work_kind = {.complete = true, .begin = begin, .step = step, .end = end};

// SPDX-License-Identifier: MIT
/* CREATE, UPDATE and DESTROY_QUEUE: ids, doorbells and error numbers. */
#include "conform/lab.h"

static const struct gpu_file *gpu;

/* CREATE with one argument changed. */
#define REFUSED(field, value, error)                                                               \
	do {                                                                                       \
		struct raw_queue queue_;                                                           \
		struct kfdabi_create_queue args_;                                                  \
		queue_args(gpu, &queue_, &args_);                                                  \
		args_.field = (value);                                                             \
		CHECK_IS(queue_create(gpu, &queue_, &args_), -(error));                            \
	} while (0)

int main(void)
{
	struct kfd_ioctl_update_queue_args update = {0};
	struct raw_queue queues[4];
	struct kfdabi_create_queue args;
	struct gpu_file opened;

	gpu = &opened;
	gpu_open(&opened);

	REFUSED(queue_percentage, 101, EINVAL);
	REFUSED(queue_priority, 16, EINVAL);
	REFUSED(ring_base_address, 1ull << 60, EFAULT);
	REFUSED(ring_size, 4097, EINVAL);
	REFUSED(read_pointer_address, 1ull << 60, EFAULT);
	REFUSED(queue_type, 9, 524);
	REFUSED(gpu_id, 0, EINVAL);
	REFUSED(gpu_id, gpu->gpu_id + 1, EINVAL);
	REFUSED(ring_base_address, 0x10000, EINVAL); /* no buffer there */
	REFUSED(write_pointer_address, 0x10000, EINVAL);
	REFUSED(eop_buffer_size, 2048, EINVAL);
	REFUSED(ctl_stack_size, 4096, EINVAL);
	REFUSED(ctx_save_restore_size, 4096, EINVAL);

	/* Lowest free id, from 0, used again at once; each its own doorbell. */
	for (unsigned i = 0; i < 3; i++) {
		queue_new(gpu, &queues[i]);
		CHECK_IS(queues[i].id, i);
		CHECK_IS(*queues[i].doorbell, ~0ull);
	}
	CHECK(queues[0].doorbell != queues[1].doorbell);
	*queues[1].doorbell = 5;
	CHECK_IS(queue_destroy(gpu, 1), 0);
	CHECK_IS(queue_destroy(gpu, 1), -EINVAL);
	queue_new(gpu, &queues[3]);
	CHECK_IS(queues[3].id, 1);
	CHECK_IS(*queues[3].doorbell, ~0ull); /* no phantom ring from the last user */

	update.queue_id = 1023;
	update.queue_percentage = 100;
	CHECK_IS(lab_ioctl(gpu->kfd, KFDABI_UPDATE_QUEUE, &update, sizeof update), -EFAULT);
	update.queue_id = 0;
	update.queue_percentage = 101;
	CHECK_IS(lab_ioctl(gpu->kfd, KFDABI_UPDATE_QUEUE, &update, sizeof update), -EINVAL);
	CHECK_IS(queue_destroy(gpu, 1023), -EINVAL);

	/* A queue that may not run yet is a queue. */
	queue_args(gpu, &queues[1], &args);
	args.queue_percentage = 0;
	CHECK_IS(queue_create(gpu, &queues[1], &args), 0);
	CHECK_IS(queues[1].id, 3);
	return 0;
}

// SPDX-License-Identifier: MIT
/* GET_QUEUE_WAVE_STATE of a queue that is not on the GPU. */
#include <string.h>
#include <sys/mman.h>

#include "tools/kfdconform/checks.h"
#include "tools/kfdconform/harness/self_debug.h"

#define FILL 0x5a
#define HEADER_BYTES 16u

static struct sizes sizes;

struct sizes {
	uint32_t stack, waves;
};

/* GET_QUEUE_WAVE_STATE: copies the saved state to `to` and returns its sizes. */
static int wave_state(const struct raw_queue *queue, void *to, struct sizes *out)
{
	struct kfd_ioctl_get_queue_wave_state_args args = {
		.ctl_stack_address = (uint64_t)(uintptr_t)to, .queue_id = queue->id};
	int r = harness_ioctl(queue->gpu->kfd, KFDABI_GET_QUEUE_WAVE_STATE, &args, sizeof args);

	*out = (struct sizes){args.ctl_stack_used_size, args.save_area_used_size};
	return r;
}

void check_wave_state_tells_the_live_state(void)
{
	struct raw_queue *queue;
	struct signal *work;
	double left;

	self_debug_open(1);
	queue = &self.queues[0];
	self_debug_suspend_one(queue);
	CHECK_IS(wave_state(queue, queue->save.cpu, &sizes), 0);
	CHECK_IS(sizes.stack, 0);
	CHECK_IS(sizes.waves, 0);
	self_debug_resume_one(queue);
	work = self_debug_suspend_at_work(queue, &left);
	CHECK_IS(wave_state(queue, queue->save.cpu, &sizes), 0);
	CHECK(sizes.stack > 0 && sizes.stack <= self.gpu.shape.ctl_stack_bytes);
	CHECK(sizes.waves > 0 && sizes.waves <= self.gpu.shape.cwsr_bytes);
	self_debug_resume_one(queue);
	CHECK(self_debug_done(work));
}

/* The target can be any memory. The parts of the XCCs are one save area size of the queue apart. */
void check_wave_state_is_copied(void)
{
	const struct gpu_shape *shape;
	uint32_t header[HEADER_BYTES / 4];
	char *to;

	self_debug_open(1);
	shape = &self.gpu.shape;
	to = pages_new(shape->save_mapping);
	for (uint32_t xcc = 0; xcc < shape->xccs; xcc++)
		memset(to + (uint64_t)xcc * shape->cwsr_bytes, FILL, HEADER_BYTES);
	self_debug_suspend_one(&self.queues[0]);
	CHECK_IS(wave_state(&self.queues[0], to, &sizes), 0);
	for (uint32_t xcc = 0; xcc < shape->xccs; xcc++) {
		memcpy(header, to + (uint64_t)xcc * shape->cwsr_bytes, sizeof header);
		CHECK_IS(header[0] + header[1], shape->ctl_stack_bytes); /* offset and size */
		CHECK_IS(header[2] - header[3], shape->ctl_stack_bytes);
	}
}

void check_wave_state_into_nothing_is_efault(void)
{
	self_debug_open(1);
	self_debug_suspend_one(&self.queues[0]);
	CHECK_IS(wave_state(&self.queues[0], NULL, &sizes), -EFAULT);
}

// SPDX-License-Identifier: MIT
/* Checks of what SUSPEND writes to the save areas. */
#include <string.h>

#include "tools/kfdconform/checks.h"

#define FILL 0x5a
/* Length of the header: 16 bytes for the driver's fields, then the runtime's fields. */
#define RUNTIMES_PART 40u

/* The driver's part of the header of a save area, in bytes from the start of the area. */
struct area_header {
	uint32_t stack_offset, stack_bytes;
	uint32_t wave_offset, wave_bytes;
};

static struct area_header header_of(const struct raw_queue *queue, uint32_t xcc)
{
	struct area_header header;

	memcpy(&header, (char *)queue->save.cpu + (uint64_t)xcc * queue->gpu->shape.cwsr_bytes,
	       sizeof header);
	return header;
}

/* Fills the header on every XCC, so that written() detects a write. */
static void fill(const struct raw_queue *queue)
{
	for (uint32_t xcc = 0; xcc < queue->gpu->shape.xccs; xcc++)
		memset((char *)queue->save.cpu + (uint64_t)xcc * queue->gpu->shape.cwsr_bytes, FILL,
		       RUNTIMES_PART);
}

static bool written(const struct raw_queue *queue, uint32_t xcc)
{
	struct area_header filled, now = header_of(queue, xcc);

	memset(&filled, FILL, sizeof filled);
	return memcmp(&filled, &now, sizeof now) != 0;
}

/* Checks that the control stack ends and the wave state begins at ctl_stack_bytes. */
static void check_shape(const struct raw_queue *queue, uint32_t xcc)
{
	const struct gpu_shape *shape = &queue->gpu->shape;
	struct area_header h = header_of(queue, xcc);

	CHECK(h.stack_offset >= sizeof h && h.stack_offset <= shape->ctl_stack_bytes);
	CHECK_IS(h.stack_offset + h.stack_bytes, shape->ctl_stack_bytes);
	CHECK(h.wave_offset >= shape->ctl_stack_bytes && h.wave_offset <= shape->cwsr_bytes);
	CHECK_IS(h.wave_offset - h.wave_bytes, shape->ctl_stack_bytes);
}

static RULE_CHECK(save_area_header_after_suspend, self_debug_open(1))
{
	fill(&self.queues[0]);
	self_debug_suspend_one(&self.queues[0]);
	CHECK(written(&self.queues[0], 0));
	check_shape(&self.queues[0], 0);
}

static RULE_CHECK(save_area_header_has_16_bytes, self_debug_open(1))
{
	const char *bytes;

	fill(&self.queues[0]);
	self_debug_suspend_one(&self.queues[0]);
	CHECK(written(&self.queues[0], 0));
	bytes = self.queues[0].save.cpu;
	for (unsigned i = sizeof(struct area_header); i < RUNTIMES_PART; i++)
		CHECK_IS(bytes[i], FILL);
}

static RULE_CHECK(save_area_header_at_each_suspend, self_debug_open(1))
{
	for (int i = 0; i < 3; i++) {
		fill(&self.queues[0]);
		self_debug_suspend_one(&self.queues[0]); /* also if it is suspended already */
		CHECK(written(&self.queues[0], 0));
	}
}

static RULE_CHECK(save_area_header_of_every_queue, self_debug_open(2))
{
	fill(&self.queues[0]);
	fill(&self.queues[1]);
	self_debug_suspend_one(&self.queues[0]);
	CHECK(written(&self.queues[0], 0));
	CHECK(written(&self.queues[1], 0));
}

static RULE_CHECK(save_area_header_needs_a_success, self_debug_open(1))
{
	uint32_t id = 900;

	fill(&self.queues[0]);
	CHECK_IS(self_debug_suspend(&id, 1), 0);
	CHECK(!written(&self.queues[0], 0));
}

static RULE_CHECK(save_area_header_is_per_xcc, self_debug_open(1))
{
	fill(&self.queues[0]);
	self_debug_suspend_one(&self.queues[0]);
	for (uint32_t xcc = 0; xcc < self.gpu.shape.xccs; xcc++) {
		CHECK(written(&self.queues[0], xcc));
		check_shape(&self.queues[0], xcc);
	}
}

static RULE_CHECK(save_area_header_tells_the_live_state, self_debug_open(1))
{
	struct signal *work;
	struct area_header h;
	double left;
	struct raw_queue *queue = &self.queues[0];

	self_debug_suspend_one(queue);
	h = header_of(queue, 0);
	CHECK_IS(h.stack_bytes, 0);
	CHECK_IS(h.wave_bytes, 0);
	self_debug_resume_one(queue);
	work = self_debug_suspend_at_work(queue, &left);
	h = header_of(queue, 0);
	CHECK(h.stack_bytes > 0);
	CHECK(h.wave_bytes > 0);
	check_shape(queue, 0);
	self_debug_resume_one(queue);
	CHECK(self_debug_done(work));
}

/* ---- GET_QUEUE_WAVE_STATE ---- */

#define HEADER_BYTES 16u

/* Sizes that the last GET_QUEUE_WAVE_STATE has returned. */
static struct {
	uint32_t stack, waves;
} sizes;

/* Calls GET_QUEUE_WAVE_STATE, which copies the saved state to `to`. */
static int wave_state(uint32_t id, void *to)
{
	struct kfd_ioctl_get_queue_wave_state_args args = {
		.ctl_stack_address = (uint64_t)(uintptr_t)to, .queue_id = id};
	int r = harness_ioctl(self.gpu.kfd, KFDABI_GET_QUEUE_WAVE_STATE, &args, sizeof args);

	sizes.stack = args.ctl_stack_used_size;
	sizes.waves = args.save_area_used_size;
	return r;
}

static RULE_CHECK(wave_state_tells_the_live_state, self_debug_open(1))
{
	struct signal *work;
	double left;
	struct raw_queue *queue = &self.queues[0];

	self_debug_suspend_one(queue);
	CHECK_IS(wave_state(queue->id, queue->save.cpu), 0);
	CHECK_IS(sizes.stack, 0);
	CHECK_IS(sizes.waves, 0);
	self_debug_resume_one(queue);
	work = self_debug_suspend_at_work(queue, &left);
	CHECK_IS(wave_state(queue->id, queue->save.cpu), 0);
	CHECK(sizes.stack > 0 && sizes.stack <= self.gpu.shape.ctl_stack_bytes);
	CHECK(sizes.waves > 0 && sizes.waves <= self.gpu.shape.cwsr_bytes);
	self_debug_resume_one(queue);
	CHECK(self_debug_done(work));
}

/* Checks that the state can be copied to any memory. The parts of two successive XCCs in it are
 * cwsr_bytes apart. */
static RULE_CHECK(wave_state_is_copied, self_debug_open(1))
{
	uint32_t header[HEADER_BYTES / 4];
	const struct gpu_shape *shape = &self.gpu.shape;
	char *to = map_pages(shape->save_mapping);

	for (uint32_t xcc = 0; xcc < shape->xccs; xcc++)
		memset(to + (uint64_t)xcc * shape->cwsr_bytes, FILL, HEADER_BYTES);
	self_debug_suspend_one(&self.queues[0]);
	CHECK_IS(wave_state(self.queues[0].id, to), 0);
	for (uint32_t xcc = 0; xcc < shape->xccs; xcc++) {
		memcpy(header, to + (uint64_t)xcc * shape->cwsr_bytes, sizeof header);
		CHECK_IS(header[0] + header[1], shape->ctl_stack_bytes); /* offset and size */
		CHECK_IS(header[2] - header[3], shape->ctl_stack_bytes);
	}
}

static RULE_CHECK(wave_state_into_nothing_is_efault, self_debug_open(1))
{
	self_debug_suspend_one(&self.queues[0]);
	CHECK_IS(wave_state(self.queues[0].id, NULL), -EFAULT);
}

RULE_IS(wave_state_of_unknown_queue_is_efault, self_debug_open(1),
	wave_state(NO_QUEUE, self.queues[0].save.cpu), -EFAULT)
RULE_IS(wave_state_is_of_stopped_queues, self_debug_open(1),
	wave_state(self.queues[0].id, self.queues[0].save.cpu), -EINVAL)

static RULE_CHECK(wave_state_is_of_compute_queues, self_debug_open(1))
{
	struct kfdabi_create_queue create;
	struct raw_queue sdma;

	queue_args(&self.gpu, &sdma, &create);
	create.queue_type = KFD_IOC_QUEUE_TYPE_SDMA;
	create.queue_percentage = 0;
	CHECK_IS(harness_ioctl(self.gpu.kfd, KFDABI_CREATE_QUEUE, &create, sizeof create), 0);
	CHECK_IS(wave_state(create.queue_id, sdma.save.cpu), -EINVAL);
}

// SPDX-License-Identifier: MIT
/* Checks of UPDATE_QUEUE, SET_CU_MASK and ALLOC_QUEUE_GWS. */
#include <string.h>
#include <sys/mman.h>

#include "tools/kfdconform/checks.h"

#define WORK_MS 20u
#define LATE_MS 2000u
#define TRIES 5

static struct raw_queue queue;

/* Arguments of UPDATE_QUEUE; begin() sets them to values that change nothing. */
static struct kfd_ioctl_update_queue_args change;

static void begin(void)
{
	gpu_open(&gpu);
	queue_new(&gpu, &queue);
	change = queue_unchanged(&queue);
}

static int update(const struct kfd_ioctl_update_queue_args *args)
{
	struct kfd_ioctl_update_queue_args copy = *args;

	return harness_ioctl(gpu.kfd, KFDABI_UPDATE_QUEUE, &copy, sizeof copy);
}

#define UPDATE_IS(field, value, wanted)                                                            \
	do {                                                                                       \
		struct kfd_ioctl_update_queue_args args_ = queue_unchanged(&queue);                \
		args_.field = (value);                                                             \
		check_is(__FILE__, __LINE__, "UPDATE_QUEUE with " #field " " #value,               \
			 update(&args_), wanted);                                                  \
	} while (0)

static RULE_CHECK(update_checks_its_numbers, begin())
{
	UPDATE_IS(queue_percentage, 101, -EINVAL);
	UPDATE_IS(queue_percentage, 100 | 1u << 8, 0);
	UPDATE_IS(queue_priority, 16, -EINVAL);
	UPDATE_IS(queue_priority, 15, 0);
	UPDATE_IS(ring_base_address, NOBODYS, -EFAULT);
	UPDATE_IS(ring_size, 4097, -EINVAL);
}

static RULE_CHECK(update_of_unknown_queue_is_efault, begin())
{
	UPDATE_IS(queue_id, NO_QUEUE, -EFAULT);
	CHECK_IS(queue_destroy(&gpu, queue.id), 0);
	UPDATE_IS(queue_id, queue.id, -EFAULT);
}

static RULE_CHECK(update_to_an_unmapped_ring_is_efault, begin())
{
	UPDATE_IS(ring_base_address, UNMAPPED, -EFAULT);
	UPDATE_IS(ring_size, 2 * PAGE, -EFAULT);
	UPDATE_IS(ring_size, PAGE, 0);
}

/* Stops the queue in the middle of a kernel, by UPDATE_QUEUE with `change`. If the kernel ends
 * before it is stopped, because the machine is busy, tries again with a kernel of twice the length.
 * Sets *ms to the length of the stopped kernel and returns its signal. */
static struct signal *stop_work(unsigned *ms)
{
	struct signal *signal = signals_new(&gpu);

	for (*ms = WORK_MS; *ms <= WORK_MS << TRIES; *ms *= 2) {
		signal->value = 1;
		queue_work_begun(&queue, *ms, signal);
		CHECK_IS(update(&change), 0);
		if (signal->value)
			return signal;
		CHECK_IS(queue_update(&gpu, &queue, 100), 0);
		TRY_AGAIN("the kernel had ended before the queue was stopped");
		signal++;
	}
	CHECK(!"stopped in the middle of a kernel");
	return NULL;
}

/* Checks that UPDATE_QUEUE with `change` stops a running kernel: its signal does not come. */
static void stops(void)
{
	unsigned ms;
	struct signal *signal = stop_work(&ms);

	CHECK(!comes(&signal->value, 0, ms + 10));
}

static RULE_CHECK(percent_0_stops_the_queue, begin())
{
	change.queue_percentage = 0;
	stops();
}

static RULE_CHECK(no_ring_stops_the_queue, begin())
{
	change.ring_base_address = 0;
	stops();
}

static RULE_CHECK(update_starts_a_stopped_queue, begin())
{
	struct signal *signal;
	unsigned ms;

	change.queue_percentage = 0;
	signal = stop_work(&ms);
	UPDATE_IS(queue_percentage, 100, 0);
	CHECK(comes(&signal->value, 0, LATE_MS));
}

/* Calls SET_CU_MASK with a mask of `bits` bits. */
static int mask(uint32_t id, uint32_t bits, const void *at)
{
	return HARNESS_CALL(gpu.kfd, KFDABI_SET_CU_MASK, struct kfd_ioctl_set_cu_mask_args,
			    .queue_id = id, .num_cu_mask = bits,
			    .cu_mask_ptr = (uint64_t)(uintptr_t)at);
}

static RULE_CHECK(cu_mask_is_whole_words, begin())
{
	uint32_t all[4];

	memset(all, 0xff, sizeof all);
	CHECK_IS(mask(queue.id, 0, all), -EINVAL);
	CHECK_IS(mask(queue.id, 33, all), -EINVAL);
	CHECK_IS(mask(queue.id, 31, all), -EINVAL);
	CHECK_IS(mask(queue.id, 128, all), 0);
}

/* Returns the address `bytes` before a page that cannot be read. */
static char *before_the_end(size_t bytes)
{
	char *pages = map_pages(2 * PAGE);

	CHECK(!munmap(pages + PAGE, PAGE));
	memset(pages, 0xff, PAGE);
	return pages + PAGE - bytes;
}

static RULE_CHECK(long_cu_mask_is_cut, begin())
{
	CHECK_IS(mask(queue.id, 2048, before_the_end(128)), 0);
	CHECK_IS(mask(queue.id, 2048, before_the_end(124)), -EFAULT);
}

static RULE_CHECK(unreadable_cu_mask_is_efault, begin())
{
	CHECK_IS(mask(queue.id, 64, before_the_end(4)), -EFAULT);
	CHECK_IS(mask(NO_QUEUE, 64, before_the_end(4)), -EFAULT);
}

RULE_IS(cu_mask_of_unknown_queue_is_efault, begin(), mask(NO_QUEUE, 32, &(uint32_t){~0u}), -EFAULT)

/* Calls ALLOC_QUEUE_GWS; number 0 releases the queue's GWS. */
static int gws(uint32_t id, uint32_t number)
{
	struct kfd_ioctl_alloc_queue_gws_args args = {
		.queue_id = id, .num_gws = number, .first_gws = 77};
	int r = harness_ioctl(gpu.kfd, KFDABI_ALLOC_QUEUE_GWS, &args, sizeof args);

	if (!r)
		CHECK_IS(args.first_gws, 0);
	return r;
}

static struct raw_queue other;
static uint32_t all_gws;

static void begin_gws(void)
{
	begin();
	queue_new(&gpu, &other);
	all_gws = (uint32_t)harness_property(gpu.shape.node, "num_gws");
	if (!all_gws)
		SKIP("this GPU has no global wave sync");
}

static RULE_CHECK(gws_of_unknown_queue_is_einval, begin_gws())
{
	CHECK_IS(gws(NO_QUEUE, all_gws), -EINVAL);
	CHECK_IS(gws(NO_QUEUE, 0), -EINVAL);
}

static RULE_CHECK(gws_is_for_one_queue, begin_gws())
{
	CHECK_IS(gws(queue.id, all_gws), 0);
	CHECK_IS(gws(other.id, all_gws), -EBUSY);
	CHECK_IS(gws(queue.id, all_gws), -EBUSY);
}

static RULE_CHECK(gws_can_be_given_up, begin_gws())
{
	CHECK_IS(gws(queue.id, all_gws), 0);
	CHECK_IS(gws(queue.id, 0), 0);
	CHECK_IS(gws(other.id, all_gws), 0);
}

static RULE_CHECK(gws_cannot_be_given_up_twice, begin_gws())
{
	CHECK_IS(gws(queue.id, 0), -EINVAL);
	CHECK_IS(gws(queue.id, all_gws), 0);
	CHECK_IS(gws(queue.id, 0), 0);
	CHECK_IS(gws(queue.id, 0), -EINVAL);
}

static RULE_CHECK(gws_goes_with_its_queue, begin_gws())
{
	CHECK_IS(gws(queue.id, all_gws), 0);
	CHECK_IS(queue_destroy(&gpu, queue.id), 0);
	CHECK_IS(gws(other.id, all_gws), 0);
}

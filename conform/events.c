// SPDX-License-Identifier: MIT
/* Events and waiting for them. */
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>

#include "conform/checks.h"
#include "conform/lab.h"

static struct gpu_file gpu;

static int create(uint32_t type, bool auto_reset, uint64_t page, uint32_t *id)
{
	struct kfd_ioctl_create_event_args a = {
		.event_type = type, .auto_reset = auto_reset, .event_page_offset = page};
	int r = lab_ioctl(gpu.kfd, KFDABI_CREATE_EVENT, &a, sizeof a);

	*id = a.event_id;
	return r;
}

static uint32_t event_new(bool auto_reset)
{
	uint32_t id;

	CHECK_IS(create(KFD_IOC_EVENT_SIGNAL, auto_reset, 0, &id), 0);
	return id;
}

static int on(unsigned nr, uint32_t id) /* SET, RESET, DESTROY */
{
	uint32_t a[2] = {id, 0};

	return lab_ioctl(gpu.kfd, nr, a, sizeof a);
}

void check_event_ids_lowest_free_first(void)
{
	uint32_t first, second, other;

	gpu_open(&gpu);
	first = event_new(true);
	second = event_new(true);
	CHECK_IS(first, 1);
	CHECK_IS(second, 2);
	CHECK_IS(on(KFDABI_DESTROY_EVENT, first), 0);
	CHECK_IS(event_new(true), first);
	/* Those the GPU cannot signal have numbers of their own. */
	CHECK_IS(create(KFD_IOC_EVENT_MEMORY, false, 0, &other), 0);
	CHECK(other >= KFD_SIGNAL_EVENT_LIMIT);
}

void check_signal_events_end_with_the_page(void)
{
	uint32_t id;

	gpu_open(&gpu);
	for (uint32_t i = 1; i < 256; i++)
		CHECK_IS(create(KFD_IOC_EVENT_SIGNAL, true, 0, &id), 0);
	CHECK_IS(create(KFD_IOC_EVENT_SIGNAL, true, 0, &id), -ENOSPC);
}

void check_event_page_is_set_once(void)
{
	struct buffer page;
	uint32_t id;

	gpu_open(&gpu);
	CHECK_IS(buffer_new(&gpu, KFD_SIGNAL_EVENT_LIMIT * 8, KFD_IOC_ALLOC_MEM_FLAGS_GTT, &page),
		 0);
	CHECK_IS(create(KFD_IOC_EVENT_SIGNAL, true, page.handle, &id), 0);
	CHECK_IS(((uint64_t *)page.cpu)[id], UINT64_MAX); /* the driver's "not signalled" */
	CHECK_IS(create(KFD_IOC_EVENT_SIGNAL, true, page.handle, &id), -EINVAL);
	for (uint32_t i = 2; i < 300; i++)
		CHECK_IS(create(KFD_IOC_EVENT_SIGNAL, true, 0, &id), 0);
}

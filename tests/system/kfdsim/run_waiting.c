// SPDX-License-Identifier: MIT
/* Used by run_killed.sh: four threads that sleep in calls which nothing ends. */
#include <pthread.h>
#include <string.h>
#include <unistd.h>

#include "tools/kfdconform/harness/harness.h"

static struct gpu_file gpu;
static uint32_t event;

static void *wait_for_ever(void *arg)
{
	struct kfd_event_data data = {.event_id = event};
	struct kfd_ioctl_wait_events_args a = {
		.events_ptr = (uint64_t)(uintptr_t)&data, .num_events = 1, .timeout = UINT32_MAX};

	/* When there is no server any more, the kernel returns an error, which is expected. */
	if (!harness_ioctl(gpu.kfd, KFDABI_WAIT_EVENTS, &a, sizeof a)) {
		puts("a wait was answered");
		fflush(stdout);
	}
	return arg;
}

int main(void)
{
	struct kfd_ioctl_create_event_args create = {.event_type = KFD_IOC_EVENT_SIGNAL};
	pthread_t threads[4];
	struct buffer page;

	gpu_open(&gpu);
	gtt_new(&gpu, 32768, &page);
	create.event_page_offset = page.handle;
	CHECK_IS(harness_ioctl(gpu.kfd, KFDABI_CREATE_EVENT, &create, sizeof create), 0);
	event = create.event_id;
	for (unsigned i = 0; i < 4; i++)
		CHECK(!pthread_create(&threads[i], NULL, wait_for_ever, NULL));
	sleep_ms(100);
	puts("waiting");
	fflush(stdout);
	for (unsigned i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	return 1;
}

// SPDX-License-Identifier: MIT
/* Events: auto reset, manual reset, ages, waiting for all, time-outs, destroying
 * what somebody waits for, and a signal in the middle of a wait. */
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <time.h>

#include "conform/lab.h"

struct awaited { /* struct kfd_event_data with the age of KFD 1.14 */
	uint64_t age, rest[3], ext;
	uint32_t id, pad;
};
_Static_assert(sizeof(struct awaited) == sizeof(struct kfd_event_data), "event data");

static struct gpu_file gpu;

static uint32_t event_new(bool auto_reset)
{
	struct kfd_ioctl_create_event_args a = {.event_type = KFD_IOC_EVENT_SIGNAL,
						.auto_reset = auto_reset};

	CHECK_IS(lab_ioctl(gpu.kfd, KFDABI_CREATE_EVENT, &a, sizeof a), 0);
	CHECK(a.event_page_offset); /* or the runtime's blocked waits hang */
	CHECK_IS(a.event_trigger_data, a.event_id);
	return a.event_id;
}

static int on(unsigned nr, uint32_t id) /* SET, RESET, DESTROY */
{
	uint32_t a[2] = {id, 0};

	return lab_ioctl(gpu.kfd, nr, a, sizeof a);
}

static int wait_for(struct awaited *events, uint32_t n, bool all, uint32_t ms, uint32_t *result)
{
	struct kfd_ioctl_wait_events_args a = {.events_ptr = (uint64_t)(uintptr_t)events,
					       .num_events = n,
					       .wait_for_all = all,
					       .timeout = ms};
	int r = lab_ioctl(gpu.kfd, KFDABI_WAIT_EVENTS, &a, sizeof a);

	*result = a.wait_result;
	return r;
}

#define WAITS(events, n, all, ms, wanted)                                                          \
	do {                                                                                       \
		uint32_t result_;                                                                  \
		CHECK_IS(wait_for(events, n, all, ms, &result_), 0);                               \
		CHECK_IS(result_, wanted);                                                         \
	} while (0)

static uint32_t later_id;
static unsigned later_nr;

static void *later(void *none)
{
	sleep_ms(100);
	CHECK_IS(on(later_nr, later_id), 0);
	return none;
}

static pthread_t do_later(unsigned nr, uint32_t id)
{
	pthread_t thread;

	later_nr = nr;
	later_id = id;
	CHECK_IS(pthread_create(&thread, NULL, later, NULL), 0);
	return thread;
}

static void nothing(int number)
{
	(void)number;
}

static pthread_t main_thread;

static void *interrupt(void *none)
{
	sleep_ms(100);
	CHECK(!pthread_kill(main_thread, SIGUSR1));
	return none;
}

int main(void)
{
	struct awaited events[2];
	struct sigaction action = {.sa_handler = nothing};
	uint32_t automatic, manual, result;
	pthread_t thread;

	gpu_open(&gpu);
	automatic = event_new(true);
	manual = event_new(false);
	memset(events, 0, sizeof events);
	events[0].id = automatic;
	events[1].id = manual;

	WAITS(events, 2, false, 0, KFD_IOC_WAIT_RESULT_TIMEOUT);
	WAITS(events, 2, false, 20, KFD_IOC_WAIT_RESULT_TIMEOUT);
	CHECK_IS(on(KFDABI_SET_EVENT, automatic), 0);
	WAITS(events, 1, false, 0, KFD_IOC_WAIT_RESULT_COMPLETE);
	WAITS(events, 1, false, 0, KFD_IOC_WAIT_RESULT_TIMEOUT);
	CHECK_IS(on(KFDABI_SET_EVENT, manual), 0);
	WAITS(events + 1, 1, false, 0, KFD_IOC_WAIT_RESULT_COMPLETE);
	WAITS(events + 1, 1, false, 0, KFD_IOC_WAIT_RESULT_COMPLETE);
	WAITS(events, 2, true, 20, KFD_IOC_WAIT_RESULT_TIMEOUT);

	/* For all: the second comes while it waits. */
	thread = do_later(KFDABI_SET_EVENT, automatic);
	WAITS(events, 2, true, 5000, KFD_IOC_WAIT_RESULT_COMPLETE);
	pthread_join(thread, NULL);
	/* The waiter that was woken has reset it. */
	WAITS(events, 1, false, 0, KFD_IOC_WAIT_RESULT_TIMEOUT);
	CHECK_IS(on(KFDABI_RESET_EVENT, manual), 0);
	WAITS(events + 1, 1, false, 0, KFD_IOC_WAIT_RESULT_TIMEOUT);

	/* Ages: who knows an older one is not made to wait, and learns the new. */
	events[0].age = 1;
	WAITS(events, 1, false, 0, KFD_IOC_WAIT_RESULT_COMPLETE);
	CHECK_IS(events[0].age, 3);
	WAITS(events, 1, false, 0, KFD_IOC_WAIT_RESULT_TIMEOUT);
	events[0].age = 0;

	/* A signal handler interrupts the wait; what happens meanwhile is not lost. */
	main_thread = pthread_self();
	CHECK(!sigaction(SIGUSR1, &action, NULL));
	CHECK_IS(pthread_create(&thread, NULL, interrupt, NULL), 0);
	CHECK_IS(wait_for(events, 1, false, 5000, &result), -EINTR);
	pthread_join(thread, NULL);
	CHECK_IS(on(KFDABI_SET_EVENT, automatic), 0);
	WAITS(events, 1, false, 1000, KFD_IOC_WAIT_RESULT_COMPLETE);

	thread = do_later(KFDABI_DESTROY_EVENT, automatic);
	CHECK_IS(wait_for(events, 1, false, 5000, &result), -EIO);
	CHECK_IS(result, KFD_IOC_WAIT_RESULT_FAIL);
	pthread_join(thread, NULL);
	CHECK_IS(wait_for(events, 1, false, 0, &result), -EINVAL);
	CHECK_IS(on(KFDABI_SET_EVENT, automatic), -EINVAL);
	CHECK_IS(event_new(true), automatic); /* ids are used again */
	return 0;
}

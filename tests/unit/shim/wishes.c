// SPDX-License-Identifier: MIT
/* Proves the agent's side of kfdshim.h: requests, priority and SLO that change at run time. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "kfd/uapi.h"
#include "shim/activity.h"
#include "tests/lib/mock_kfd.h"
#include "tests/lib/shim_stub_daemon.h"

#define AQL KFD_IOC_QUEUE_TYPE_COMPUTE_AQL

static struct fake_daemon daemon_;

static void begin(struct fake_queue *q)
{
	fake_daemon_open(&daemon_);
	fake_start();
	CHECK(fake_queue_create(q, AQL) == 0);
	CHECK(fake_daemon_accept(&daemon_, MEETS_MS) == 0);
	EVENTUALLY(fake_daemon_queue_count(&daemon_) == 1, 1000);
}

static void requests(int64_t n)
{
	fake.app_settings.requests = n;
	fake.agent->app_settings_changed();
}

static void a_request_is_activity(void)
{
	struct fake_queue q, far;

	begin(&q);
	CHECK(fake_daemon_active(&daemon_, FAKE_GPU) == 0);
	requests(1);
	CHECK(fake_daemon_active(&daemon_, FAKE_GPU) == 1);
	/* Work of a queue within the request changes nothing. */
	fake_ring(&q, NULL);
	fake_drain(&q);
	fake_sleep_us(30000);
	CHECK(fake_daemon_active(&daemon_, FAKE_GPU) == 1);
	CHECK(fake_daemon_transitions(&daemon_, FAKE_GPU) == 1);
	/* A node that is new during the request is active, too. */
	fake.other_gpu = 777;
	CHECK(fake_queue_create(&far, AQL) == 0);
	CHECK(fake_daemon_active(&daemon_, 777) == 1);
	requests(0);
	/* Only the end of the queue's work can still delay this. */
	EVENTUALLY(fake_daemon_active(&daemon_, FAKE_GPU) == 0, 1000);
	CHECK(fake_daemon_active(&daemon_, 777) == 0);
	fake_daemon_remove(&daemon_);
}

static void a_queue_outlasts_the_request(void)
{
	struct fake_queue q;

	begin(&q);
	requests(1);
	fake_ring(&q, NULL);
	requests(0);
	CHECK(fake_daemon_active(&daemon_, FAKE_GPU) == 1);
	fake_drain(&q);
	EVENTUALLY(fake_daemon_active(&daemon_, FAKE_GPU) == 0, 1000);
	fake_daemon_remove(&daemon_);
}

/* The change is published in the shared memory, which stays, so all that the daemon does for the
 * process continues. */
static void the_daemon_is_informed(void)
{
	struct fake_queue q;

	setenv("KFDSHIM_PRIORITY", "3", 1);
	begin(&q);
	CHECK(daemon_.hello.priority == 3 && daemon_.hello.slo_us == 0);
	EVENTUALLY(daemon_.shm->priority == 3, 1000);
	fake_ring(&q, NULL);
	daemon_.daemon_shm->asleep = 1;
	fake_daemon_wakes(&daemon_);
	fake.app_settings.priority = 12;
	fake.app_settings.slo_us = 7000;
	fake.agent->app_settings_changed();
	CHECK(daemon_.shm->priority == 12 && daemon_.shm->slo_us == 7000);
	CHECK(fake_daemon_wakes(&daemon_) > 0);
	CHECK(fake_daemon_active(&daemon_, FAKE_GPU) == 1);
	/* The same values once more are not a change. */
	fake.agent->app_settings_changed();
	CHECK(fake_daemon_wakes(&daemon_) == 0);
	/* The connection stays the same all the time. */
	CHECK(fake_daemon_accept(&daemon_, 1500) != 0);
	CHECK(fake_daemon_queue_count(&daemon_) == 1);
	fake_daemon_remove(&daemon_);
}

/* The values change while there is no daemon: the next one gets them. */
static void the_next_daemon_is_informed(void)
{
	struct fake_queue q;

	setenv("KFDSHIM_PRIORITY", "3", 1);
	begin(&q);
	fake_daemon_die(&daemon_);
	fake.app_settings.priority = 12;
	fake.app_settings.slo_us = 7000;
	fake.agent->app_settings_changed();
	fake_daemon_listen(&daemon_);
	CHECK(fake_daemon_accept(&daemon_, MEETS_MS) == 0);
	CHECK(daemon_.hello.priority == 12 && daemon_.hello.slo_us == 7000);
	EVENTUALLY(daemon_.shm->priority == 12 && daemon_.shm->slo_us == 7000, 1000);
	fake_daemon_remove(&daemon_);
}

static void *change(void *arg)
{
	(void)arg;
	fake.agent->app_settings_changed();
	return NULL;
}

/* A thread that had to wait for another applies the values that are the newest at that time, not
 * the earlier ones. */
static void the_last_word_counts(void)
{
	struct fake_queue q;
	pthread_t thread;

	begin(&q);
	__atomic_store_n(&fake.app_settings.priority, 3, __ATOMIC_SEQ_CST);
	agent_lock();
	CHECK(pthread_create(&thread, NULL, change, NULL) == 0);
	fake_sleep_us(20000);
	__atomic_store_n(&fake.app_settings.priority, 9, __ATOMIC_SEQ_CST);
	agent_unlock();
	CHECK(pthread_join(thread, NULL) == 0);
	CHECK(daemon_.shm->priority == 9);
	fake_daemon_remove(&daemon_);
}

IN_CHILD(a_request_is_activity)
IN_CHILD(a_queue_outlasts_the_request)
IN_CHILD(the_daemon_is_informed)
IN_CHILD(the_next_daemon_is_informed)
IN_CHILD(the_last_word_counts)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_request_is_activity),
		cmocka_unit_test(test_a_queue_outlasts_the_request),
		cmocka_unit_test(test_the_daemon_is_informed),
		cmocka_unit_test(test_the_next_daemon_is_informed),
		cmocka_unit_test(test_the_last_word_counts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

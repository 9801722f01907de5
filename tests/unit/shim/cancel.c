// SPDX-License-Identifier: MIT
/*
 * Proves: a cancelled thread that runs through the agent's hooks is not cancelled in them, because
 * for the program they are no cancellation points. The thread returns from each hook, and no lock
 * of the agent stays taken.
 */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#include "kfd/uapi.h"
#include "shim/readers.h"
#include "tests/lib/mock_kfd.h"
#include "tests/lib/shim_stub_daemon.h"

#define AQL KFD_IOC_QUEUE_TYPE_COMPUTE_AQL

static struct fake_daemon daemon_;
static struct fake_queue q;
static bool came_out;

/* The daemon is asleep, so that each change that is published for it also writes its eventfd. */
static void begin(void)
{
	fake_begin(&daemon_, &q);
	fake_daemon_remove(&daemon_);
	__atomic_store_n(&daemon_.daemon_shm->asleep, 1, __ATOMIC_SEQ_CST);
	fake_daemon_wakes(&daemon_);
}

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/asan_interface.h>
/* The unwinding of a cancelled thread leaves the red zones of its frames behind, on which the
 * destructor of liburcu, which is not instrumented, then has its own frame. */
static void clear_stack(void *unused)
{
	enum { DEPTH = 65536 }; /* more than the hooks use */
	char *frame = __builtin_frame_address(0);

	(void)unused;
	__asan_unpoison_memory_region(frame - DEPTH, DEPTH);
}
#else
static void clear_stack(void *unused)
{
	(void)unused;
}
#endif

static void run(void *hook)
{
	int state;

	CHECK(pthread_cancel(pthread_self()) == 0);
	((void (*)(void))hook)();
	__atomic_store_n(&came_out, true, __ATOMIC_SEQ_CST);
	CHECK(pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, &state) == 0);
	CHECK(state == PTHREAD_CANCEL_ENABLE);
	pthread_testcancel();
	CHECK(!"here it is cancelled");
}

static void *run_cancelled(void *hook)
{
	pthread_cleanup_push(clear_stack, NULL);
	run(hook);
	pthread_cleanup_pop(0);
	return NULL;
}

static void cancelled_in(void (*hook)(void))
{
	pthread_t thread;
	void *result;

	CHECK(pthread_create(&thread, NULL, run_cancelled, (void *)hook) == 0);
	CHECK(pthread_join(thread, &result) == 0);
	CHECK(result == PTHREAD_CANCELED && came_out);
}

static void ring(void)
{
	CHECK(fake_ring(&q, NULL));
}

static void in_a_doorbell(void)
{
	begin();
	cancelled_in(ring);
	EVENTUALLY(fake_daemon_active(&daemon_, FAKE_GPU) == 1, 1000);
	/* the wake is written after the change */
	EVENTUALLY(fake_daemon_wakes(&daemon_) > 0, 1000);
}

static void change_setting(void)
{
	fake.app_settings.priority = 4;
	fake.agent->app_settings_changed();
}

static void in_a_setting(void)
{
	begin();
	cancelled_in(change_setting);
	CHECK(daemon_.shm->priority == 4);
}

static bool reads;

static void *read_table(void *arg)
{
	CHECK(readers_begin());
	__atomic_store_n(&reads, true, __ATOMIC_SEQ_CST);
	fake_sleep_us(20000);
	readers_end();
	return arg;
}

/* DESTROY_QUEUE sleeps, because a reader of the table has not finished. */
static void destroy(void)
{
	CHECK(fake_queue_destroy(&q) == 0);
}

static void in_a_destroy(void)
{
	struct fake_queue other;
	pthread_t reader;

	begin();
	CHECK(pthread_create(&reader, NULL, read_table, NULL) == 0);
	EVENTUALLY(__atomic_load_n(&reads, __ATOMIC_SEQ_CST), 1000);
	cancelled_in(destroy);
	pthread_join(reader, NULL);
	CHECK(fake_daemon_queue_count(&daemon_) == 0);
	CHECK(fake_queue_create(&other, AQL) == 0);
	CHECK(fake_queue_destroy(&other) == 0);
}

static void create(void)
{
	struct fake_queue other;

	CHECK(fake_queue_create(&other, AQL) == 0);
}

/* The first CREATE_QUEUE reads in sysfs whether the node can be debugged. */
static void in_the_first_create(void)
{
	fake_daemon_open(&daemon_);
	fake_start();
	cancelled_in(create);
	CHECK(fake_queue_create(&q, AQL) == 0);
	CHECK(fake_daemon_accept(&daemon_, MEETS_MS) == 0);
	fake_daemon_remove(&daemon_);
	EVENTUALLY(fake_daemon_queue_count(&daemon_) == 2, 1000);
}

IN_CHILD(in_a_doorbell)
IN_CHILD(in_a_setting)
IN_CHILD(in_a_destroy)
IN_CHILD(in_the_first_create)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_in_a_doorbell),
		cmocka_unit_test(test_in_a_setting),
		cmocka_unit_test(test_in_a_destroy),
		cmocka_unit_test(test_in_the_first_create),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

// SPDX-License-Identifier: MIT
/* Proves how the agent meets its daemon: a daemon that starts late, dies, restarts, sends wrong
 * data or nothing; and how long DESTROY_QUEUE and a runtime disable wait while the process is
 * suspended. */
#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cmocka.h>

#include "common/clock.h"
#include "kfd/uapi.h"
#include "tests/lib/mock_kfd.h"
#include "tests/lib/shim_stub_daemon.h"

#define AQL KFD_IOC_QUEUE_TYPE_COMPUTE_AQL

static struct fake_daemon daemon_;

static void begin(struct fake_queue *q)
{
	fake_begin(&daemon_, q);
}

static void sends_its_identity(void)
{
	struct fake_queue q;

	setenv("KFDSHIM_PRIORITY", "offline", 1);
	setenv("KFDSHIM_GROUP", "ranks", 1);
	begin(&q);
	CHECK(daemon_.hello.magic == PROTOCOL_MAGIC && daemon_.hello.version == PROTOCOL_OLDEST);
	CHECK(daemon_.hello.newest == PROTOCOL_VERSION);
	CHECK(daemon_.hello.kind == PROTOCOL_SHIM);
	CHECK(daemon_.hello.priority == PRIORITY_OFFLINE);
	CHECK(strcmp(daemon_.hello.group, "ranks") == 0);
	fake_daemon_remove(&daemon_);
}

static void observe_is_never_scheduled(void)
{
	struct fake_queue q;

	setenv("KFDSHIM_PRIORITY", "online", 1);
	setenv("KFDSHIM_LEVEL", "observe", 1);
	begin(&q);
	CHECK(daemon_.hello.priority == PRIORITY_UNSET);
	/* the agent makes no RUNTIME_ENABLE, and none of the calls before it */
	CHECK(strcmp(fake.calls, "C") == 0);
	CHECK(fake_runtime(1) == 0);
	CHECK(daemon_.shm->runtime == CLIENT_SHM_RUNTIME_UNKNOWN);
	fake_daemon_remove(&daemon_);
}

static void late_daemon_gets_everything(void)
{
	struct fake_queue q, other;

	fake_daemon_open(&daemon_);
	close(daemon_.listener);
	unlink(daemon_.path);
	fake_start();
	CHECK(fake_queue_create(&q, AQL) == 0 && fake_queue_create(&other, AQL) == 0);
	fake_ring(&q, NULL);
	fake_sleep_us(50000);
	fake_daemon_listen(&daemon_);
	CHECK(fake_daemon_accept(&daemon_, MEETS_MS) == 0);
	EVENTUALLY(fake_daemon_queue_count(&daemon_) == 2, 1000);
	EVENTUALLY(fake_daemon_active(&daemon_, FAKE_GPU) == 1, 1000);
	fake_daemon_remove(&daemon_);
}

static void restart_is_adopted(void)
{
	struct fake_queue q;

	begin(&q);
	CHECK(fake_runtime(1) == 0);
	fake_ring(&q, NULL);
	for (int i = 0; i < 3; i++) {
		fake_daemon_die(&daemon_);
		fake_sleep_us(20000);
		fake_ring(&q, NULL); /* without a daemon a doorbell has no effect */
		fake_daemon_listen(&daemon_);
		CHECK(fake_daemon_accept(&daemon_, MEETS_MS) == 0);
		EVENTUALLY(fake_daemon_queue_count(&daemon_) == 1, 1000);
		EVENTUALLY(fake_daemon_active(&daemon_, FAKE_GPU) == 1, 1000);
		EVENTUALLY(daemon_.shm->runtime == CLIENT_SHM_RUNTIME_ENABLED, 1000);
	}
	fake_daemon_remove(&daemon_);
}

/* Accepts one client and answers its hello with `data` and `fds`. Returns the connection. */
static int reply(const void *data, size_t size, const int *fds, size_t nfds)
{
	struct protocol_hello hello;
	int client = accept(daemon_.listener, NULL, NULL);

	CHECK(client >= 0);
	CHECK(protocol_receive(client, &hello, sizeof(hello), NULL, NULL, MEETS_MS) == 0);
	CHECK(protocol_send(client, data, size, fds, nfds) == 0);
	return client;
}

static void liars_are_refused(void)
{
	struct protocol_welcome welcome = {.magic = PROTOCOL_MAGIC, .version = PROTOCOL_VERSION};
	int fds[4], client;
	struct fake_queue q;

	fake_daemon_open(&daemon_);
	fake_start();
	CHECK(fake_queue_create(&q, AQL) == 0);
	fds[0] = fds[1] = fds[2] = fds[3] = daemon_.event_fd;
	/* an eventfd is not the client's shared memory */
	client = reply(&welcome, sizeof(welcome), fds, 3);
	close(client);
	fds[0] = daemon_.daemon_shm_fd;
	client = reply(&welcome, sizeof(welcome), fds, 2);
	close(client);
	client = reply(&welcome, sizeof(welcome), fds, 4);
	close(client);
	client = reply(&welcome, sizeof(welcome) - 1, fds, 3);
	close(client);
	welcome.status = -EACCES;
	client = reply(&welcome, sizeof(welcome), NULL, 0);
	/* The client was refused each time, still runs, and connects again. */
	CHECK(fake_ring(&q, NULL));
	CHECK(fake_daemon_accept(&daemon_, MEETS_MS) == 0);
	EVENTUALLY(fake_daemon_active(&daemon_, FAKE_GPU) == 1, 1000);
	close(client);
	fake_daemon_remove(&daemon_);
}

/* A daemon that accepts the connection and never sends anything. */
static void silent_daemon(void)
{
	struct fake_queue q;
	int client;

	fake_daemon_open(&daemon_);
	fake_start();
	CHECK(fake_queue_create(&q, AQL) == 0);
	client = accept(daemon_.listener, NULL, NULL);
	CHECK(client >= 0);
	CHECK(fake_ring(&q, NULL));
	/* the client connects again, because it has a queue */
	CHECK(fake_daemon_accept(&daemon_, MEETS_MS) == 0);
	CHECK(fake_queue_destroy(&q) == 0);
	close(client);
	fake_daemon_remove(&daemon_);
}

static uint64_t entered_ns;

static void note_entry(void)
{
	entered_ns = clock_ns();
	CHECK(daemon_.shm->teardown_begin == daemon_.shm->teardown_end + 1);
}

static void *release_soon(void *arg)
{
	(void)arg;
	while (__atomic_load_n(&daemon_.shm->teardown_begin, __ATOMIC_SEQ_CST) == 0)
		fake_sleep_us(100);
	daemon_.shm->suspended = 0;
	__atomic_store_n(&daemon_.shm->teardown_granted, daemon_.shm->teardown_begin,
			 __ATOMIC_SEQ_CST);
	syscall(SYS_futex, &daemon_.shm->teardown_granted, FUTEX_WAKE, 1, NULL, NULL, 0);
	return NULL;
}

static void destroy_waits_for_the_resume(void)
{
	struct fake_queue q;
	pthread_t thread;

	begin(&q);
	fake.on_destroy = note_entry;
	daemon_.shm->suspended = 1;
	fake_daemon_wakes(&daemon_);
	CHECK(pthread_create(&thread, NULL, release_soon, NULL) == 0);
	CHECK(fake_queue_destroy(&q) == 0);
	CHECK(entered_ns != 0 && daemon_.shm->teardown_end == 1 &&
	      daemon_.shm->teardown_begin == 1);
	CHECK(fake_daemon_wakes(&daemon_) > 0);
	pthread_join(thread, NULL);
	fake_daemon_remove(&daemon_);
}

static void destroy_waits_10_ms_at_most(void)
{
	struct fake_queue q, next;
	uint64_t t, shortest = UINT64_MAX;

	begin(&q);
	fake.on_destroy = note_entry;
	daemon_.shm->suspended = 1; /* and no resume follows */
	for (int i = 0; i < 5; i++) {
		CHECK(fake_queue_create(&next, AQL) == 0);
		t = clock_ns();
		CHECK(fake_queue_destroy(&next) == 0);
		CHECK(entered_ns - t >= 9900000u);
		if (entered_ns - t < shortest)
			shortest = entered_ns - t;
	}
	CHECK(shortest < 100000000u); /* the rest is the noise of this machine */
	CHECK(daemon_.shm->teardown_end == daemon_.shm->teardown_begin);
	fake_daemon_remove(&daemon_);
}

static void destroy_does_not_wait_if_running(void)
{
	struct fake_queue q, next;
	uint64_t t, shortest = UINT64_MAX;

	begin(&q);
	fake.on_destroy = note_entry;
	for (int i = 0; i < 10; i++) {
		CHECK(fake_queue_create(&next, AQL) == 0);
		t = clock_ns();
		CHECK(fake_queue_destroy(&next) == 0);
		if (entered_ns - t < shortest)
			shortest = entered_ns - t;
	}
	CHECK(shortest < 5000000u);
	fake_daemon_remove(&daemon_);
}

static void runtime_disable_waits_too(void)
{
	struct fake_queue q;

	begin(&q);
	CHECK(fake_runtime(1) == 0);
	CHECK(daemon_.shm->runtime == CLIENT_SHM_RUNTIME_ENABLED);
	fake.on_runtime = note_entry;
	daemon_.shm->suspended = 1;
	CHECK(fake_runtime(0) == 0);
	CHECK(daemon_.shm->teardown_end == 1);
	CHECK(daemon_.shm->runtime == CLIENT_SHM_RUNTIME_UNKNOWN);
	fake_daemon_remove(&daemon_);
}

/* The daemon dies while a thread waits for its resume. */
static void daemon_dies_during_the_wait(void)
{
	struct fake_queue q, other;

	begin(&q);
	CHECK(fake_queue_create(&other, AQL) == 0);
	daemon_.shm->suspended = 1;
	close(daemon_.client);
	daemon_.client = -1;
	CHECK(fake_queue_destroy(&q) == 0);
	CHECK(fake_daemon_accept(&daemon_, MEETS_MS) == 0);
	EVENTUALLY(fake_daemon_queue_count(&daemon_) == 1, 1000);
	fake_daemon_remove(&daemon_);
}

IN_CHILD(sends_its_identity)
IN_CHILD(observe_is_never_scheduled)
IN_CHILD(late_daemon_gets_everything)
IN_CHILD(restart_is_adopted)
IN_CHILD(liars_are_refused)
IN_CHILD(silent_daemon)
IN_CHILD(destroy_waits_for_the_resume)
IN_CHILD(destroy_waits_10_ms_at_most)
IN_CHILD(destroy_does_not_wait_if_running)
IN_CHILD(runtime_disable_waits_too)
IN_CHILD(daemon_dies_during_the_wait)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sends_its_identity),
		cmocka_unit_test(test_observe_is_never_scheduled),
		cmocka_unit_test(test_late_daemon_gets_everything),
		cmocka_unit_test(test_restart_is_adopted),
		cmocka_unit_test(test_liars_are_refused),
		cmocka_unit_test(test_silent_daemon),
		cmocka_unit_test(test_destroy_waits_for_the_resume),
		cmocka_unit_test(test_destroy_waits_10_ms_at_most),
		cmocka_unit_test(test_destroy_does_not_wait_if_running),
		cmocka_unit_test(test_runtime_disable_waits_too),
		cmocka_unit_test(test_daemon_dies_during_the_wait),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

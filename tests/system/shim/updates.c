// SPDX-License-Identifier: MIT
/*
 * Proves level self by UPDATE_QUEUE (KFDSHIM_UPDATE_QUEUE) under libkfdshim.so on the simulated
 * driver: updates of queues by the runtime while they are held neither start them nor get lost.
 * This program is workload, runtime and daemon. The checks use whether work is done, and the
 * driver's own list of mapped queues.
 */
#include <string.h>
#include <unistd.h>

#include "common/clock.h"
#include "tests/lib/shim_stub_daemon.h"
#include "tests/matrix/driver_files.h"
#include "tools/kfdconform/harness/harness.h"

#define STANDS_MS 150 /* ms; work of 5 ms that has not finished by then is not running */
#define RUNS_MS 5000

static struct fake_daemon daemon_;
static struct gpu_file gpu;
static struct raw_queue q, other;
static struct signal *signals;
static unsigned used;
static unsigned number;

static bool waits_for(const uint32_t *word, uint32_t wanted)
{
	for (int i = 0; i < 3000; i++) {
		if (__atomic_load_n(word, __ATOMIC_ACQUIRE) == wanted)
			return true;
		sleep_ms(1);
	}
	return false;
}

static void send_hold_cmd(bool hold)
{
	uint32_t word = HOLD_CMD(CLIENT_SHM_LEVEL_SELF, hold, ++number);

	__atomic_store_n(&daemon_.shm->hold_cmd, word, __ATOMIC_RELEASE);
	fake_daemon_wake(&daemon_);
	CHECK(waits_for(&daemon_.shm->hold_cmd_done, word));
	CHECK_IS(daemon_.shm->hold_cmd_errno, 0);
}

/* Submits work of `ms` milliseconds and returns its completion signal. */
static struct signal *submit(struct raw_queue *queue, unsigned ms)
{
	struct signal *signal = &signals[used++ % 32];

	signal->value = 1;
	queue_work(queue, ms, signal);
	queue_ring(queue);
	return signal;
}

static bool stands(struct signal *signal)
{
	return !comes(&signal->value, 0, STANDS_MS);
}

static bool runs(struct signal *signal)
{
	return comes(&signal->value, 0, RUNS_MS);
}

static int update(const struct raw_queue *queue, uint32_t percent, uint32_t priority)
{
	struct kfd_ioctl_update_queue_args args = {
		.ring_base_address = (uint64_t)(uintptr_t)queue->ring.cpu,
		.queue_id = queue->id,
		.ring_size = RING_PACKETS * 64,
		.queue_percentage = percent,
		.queue_priority = priority,
	};

	return harness_ioctl(gpu.kfd, KFDABI_UPDATE_QUEUE, &args, sizeof(args));
}

static struct client_shm_queue listed(const struct raw_queue *queue)
{
	struct client_shm_queue entry;

	CHECK_IS(fake_daemon_queue(&daemon_, queue->id, &entry), 0);
	return entry;
}

static void held_and_released(void)
{
	struct signal *work;

	CHECK(runs(submit(&q, 5)));
	/* Holds the process in the middle of a kernel. On a busy machine the kernel may end before;
	 * then it is tried again. */
	for (int i = 0;; i++) {
		work = submit(&q, 300);
		sleep_ms(20);
		send_hold_cmd(true);
		if (work->value != 0)
			break;
		CHECK(i < 10);
		fprintf(stderr, "tried again: the kernel had ended before it was held\n");
		send_hold_cmd(false);
	}
	CHECK_IS(hqds_active(), 0);
	CHECK(!comes(&work->value, 0, 600));
	send_hold_cmd(false);
	CHECK_IS(hqds_active(), 2);
	CHECK(runs(work));
}

static void no_session(void)
{
	uint32_t n = 0;

	CHECK_IS(daemon_.shm->own_session, CLIENT_SHM_OWN_UPDATES);
	CHECK_IS(daemon_.shm->runtime, CLIENT_SHM_RUNTIME_UNKNOWN);
	CHECK_IS(trap_snapshot(gpu.kfd, getpid(), 0, NULL, &n), -EINVAL);
}

/* ROCr's SetPriority passes percentage 100. */
static void priority_is_set(void)
{
	struct signal *work;

	send_hold_cmd(true);
	work = submit(&q, 5);
	CHECK_IS(update(&q, 100, 11), 0);
	CHECK(stands(work));
	CHECK_IS(hqds_active(), 0);
	CHECK(listed(&q).priority == 11 && listed(&q).percent == 100);
	send_hold_cmd(false);
	CHECK(runs(work));
	CHECK(listed(&q).priority == 11);
}

/* A Suspend after a fault is not undone by the release, and a Resume is not undone by the hold. */
static void stopped_by_the_runtime(void)
{
	struct signal *work;

	send_hold_cmd(true);
	work = submit(&q, 5);
	CHECK_IS(update(&q, 0, 7), 0);
	send_hold_cmd(false);
	CHECK(stands(work));
	CHECK_IS(hqds_active(), 1);
	send_hold_cmd(true);
	send_hold_cmd(false);
	CHECK(stands(work));
	send_hold_cmd(true);
	CHECK_IS(update(&q, 100, 7), 0);
	CHECK(stands(work));
	send_hold_cmd(false);
	CHECK(runs(work));

	/* The same if the runtime has stopped the queue before the hold. */
	CHECK_IS(update(&q, 0, 7), 0);
	work = submit(&q, 5);
	send_hold_cmd(true);
	send_hold_cmd(false);
	CHECK(stands(work));
	CHECK_IS(update(&q, 100, 7), 0);
	CHECK(runs(work));
}

/* Scratch reclaim: Suspend and Resume, both during the hold. */
static void stopped_and_started(void)
{
	struct signal *work;

	send_hold_cmd(true);
	CHECK_IS(update(&q, 0, 7), 0);
	CHECK_IS(update(&q, 100, 7), 0);
	work = submit(&q, 5);
	CHECK(stands(work));
	send_hold_cmd(false);
	CHECK(runs(work));
}

static void destroyed_while_held(void)
{
	struct raw_queue third;
	struct signal *work;
	uint64_t begun;

	queue_new(&gpu, &third);
	send_hold_cmd(true);
	work = submit(&other, 5);
	begun = clock_ns();
	CHECK_IS(queue_destroy(&gpu, third.id), 0);
	CHECK(clock_ns() - begun < 5000000000u); /* at once, and not only after the release */
	CHECK(stands(work));
	CHECK_IS(hqds_active(), 0);
	send_hold_cmd(false);
	CHECK(runs(work));
}

static void created_while_held(void)
{
	struct raw_queue third;
	struct signal *work;

	send_hold_cmd(true);
	queue_new(&gpu, &third);
	for (int i = 0; i < 2000 && hqds_active() > 0; i++)
		sleep_ms(1);
	CHECK_IS(hqds_active(), 0);
	work = submit(&third, 5);
	CHECK(stands(work));
	send_hold_cmd(false);
	CHECK(runs(work));
	CHECK_IS(queue_destroy(&gpu, third.id), 0);
}

/* The end of the runtime releases the queues, although the order still stands. */
static void runtime_ends_while_held(void)
{
	struct signal *work;

	send_hold_cmd(true);
	work = submit(&q, 5);
	CHECK_IS(runtime_enable(&gpu, 0), 0);
	CHECK(runs(work));
	CHECK_IS(hqds_active(), 2);
	CHECK(waits_for(&daemon_.shm->own_session, CLIENT_SHM_OWN_NONE));
	CHECK_IS(daemon_.shm->hold_cmd_errno, 0);
}

int main(void)
{
	fake_daemon_open(&daemon_);
	gpu_open(&gpu);
	signals = signals_new(&gpu);
	queue_new(&gpu, &q);
	queue_new(&gpu, &other);
	CHECK_IS(fake_daemon_accept(&daemon_, MEETS_MS), 0);
	__atomic_store_n(&daemon_.daemon_shm->heartbeat_ns, clock_ns() + 600000000000u,
			 __ATOMIC_RELAXED);
	CHECK(waits_for(&daemon_.shm->own_session, CLIENT_SHM_OWN_UPDATES));

	no_session();
	held_and_released();
	priority_is_set();
	stopped_by_the_runtime();
	stopped_and_started();
	destroyed_while_held();
	created_while_held();
	no_session();
	runtime_ends_while_held();
	fake_daemon_remove(&daemon_);
	puts("ok");
	return 0;
}

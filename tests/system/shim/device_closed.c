// SPDX-License-Identifier: MIT
/*
 * Proves, for level self under libkfdshim.so on the simulated driver: a program that closes all
 * descriptors which it has not opened, including the agent's descriptor of the device, while it is
 * held, is still released, even if that number belongs to another file by then. What the program
 * has opened under that number itself stays open, even if it is the device.
 *
 * This program is the workload, the runtime and the daemon.
 */
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/clock.h"
#include "tests/lib/shim_stub_daemon.h"
#include "tools/kfdconform/harness/harness.h"

#define STANDS_MS 150 /* ms; work of 5 ms that has not finished by then is not running */
#define RUNS_MS 5000

static struct fake_daemon daemon_;
static struct gpu_file gpu;
static struct raw_queue q;
static struct signal *signals;
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

/* Closes all descriptors of the device except the program's own. Returns one of those that it has
 * closed. */
static int close_device(void)
{
	struct stat own, st;
	int closed = -1;

	CHECK(fstat(gpu.kfd, &own) == 0);
	for (int fd = 3; fd < 256; fd++) {
		if (fd == gpu.kfd || fstat(fd, &st) != 0 || st.st_dev != own.st_dev ||
		    st.st_ino != own.st_ino)
			continue;
		CHECK(close(fd) == 0);
		closed = fd;
	}
	CHECK(closed >= 0);
	return closed;
}

static struct signal *held_with_work(struct signal *signal)
{
	send_hold_cmd(true);
	signal->value = 1;
	queue_work(&q, 5, signal);
	queue_ring(&q);
	CHECK(!comes(&signal->value, 0, STANDS_MS));
	return signal;
}

int main(void)
{
	struct signal *work;
	int fd, other, device;

	fake_daemon_open(&daemon_);
	gpu_open(&gpu);
	CHECK_IS(runtime_enable(&gpu, 1), 0);
	signals = signals_new(&gpu);
	queue_new(&gpu, &q);
	CHECK_IS(fake_daemon_accept(&daemon_, MEETS_MS), 0);
	fake_daemon_remove(&daemon_);
	__atomic_store_n(&daemon_.daemon_shm->heartbeat_ns, clock_ns() + 600000000000u,
			 __ATOMIC_RELAXED);
	CHECK(waits_for(&daemon_.shm->own_session, CLIENT_SHM_OWN_SESSION));

	work = held_with_work(&signals[0]);
	close_device();
	send_hold_cmd(false);
	CHECK(comes(&work->value, 0, RUNS_MS));

	work = held_with_work(&signals[1]);
	fd = close_device();
	other = open("/dev/null", O_RDWR | O_CLOEXEC);
	CHECK(other == fd || dup3(other, fd, O_CLOEXEC) == fd);
	send_hold_cmd(false);
	CHECK(comes(&work->value, 0, RUNS_MS));

	CHECK_IS(queue_destroy(&gpu, q.id), 0);
	device = close_device();
	CHECK(dup3(gpu.kfd, device, O_CLOEXEC) == device);
	CHECK_IS(runtime_enable(&gpu, 0), 0);
	/* these are the program's own */
	CHECK(fcntl(fd, F_GETFD) >= 0 && fcntl(device, F_GETFD) >= 0);
	CHECK_IS(runtime_enable(&gpu, 1), 0);
	CHECK_IS(runtime_enable(&gpu, 0), 0);
	CHECK(fcntl(device, F_GETFD) >= 0);
	puts("ok");
	return 0;
}

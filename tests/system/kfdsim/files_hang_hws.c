// SPDX-License-Identifier: MIT
/*
 * Proves debugfs hang_hws: after a gpu_id is written to it, that GPU's firmware fails at the next
 * preemption, and SMI events report the eviction and the reset. Any other number has no effect.
 */
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

#include "tools/kfdconform/harness/harness.h"

#define HANG_HWS "/sys/kernel/debug/kfd/hang_hws"
#define LATE_MS 5000

/* Returns whether a read returns the usage text. It does not while kfdsim has a written number that
 * it has not processed yet. */
static bool reports_its_use(void)
{
	char text[5] = "";
	int fd = open(HANG_HWS, O_RDONLY | O_CLOEXEC);

	CHECK(fd >= 0 && read(fd, text, sizeof text - 1) >= 0);
	close(fd);
	return !strcmp(text, "echo");
}

/* Writes a number and waits until kfdsim has processed it, which it does some time after the
 * write. */
static void write_id(uint32_t id)
{
	int fd = open(HANG_HWS, O_WRONLY | O_TRUNC | O_CLOEXEC);

	CHECK(fd >= 0);
	CHECK(dprintf(fd, "%u\n", id) > 0);
	close(fd);
	for (unsigned i = 0; i < LATE_MS && !reports_its_use(); i++)
		sleep_ms(1);
	CHECK(reports_its_use());
}

/* Reads until the given line has come. */
static void expect(int fd, const char *line)
{
	static char text[4096];
	static size_t n;
	struct pollfd p = {.fd = fd, .events = POLLIN};

	while (!strstr(text, line)) {
		ssize_t got;

		CHECK_IS(poll(&p, 1, LATE_MS), 1);
		got = read(fd, text + n, sizeof text - 1 - n);
		CHECK(got > 0);
		n += (size_t)got;
		text[n] = '\0';
	}
}

int main(void)
{
	struct kfd_ioctl_smi_events_args smi = {0};
	uint64_t all = ~0ull;
	struct raw_queue queue;
	struct gpu_file gpu;
	char line[64];

	gpu_open(&gpu);
	queue_new(&gpu, &queue);
	smi.gpuid = gpu.gpu_id;
	CHECK_IS(harness_ioctl(gpu.kfd, KFDABI_SMI_EVENTS, &smi, sizeof smi), 0);
	CHECK_IS(write((int)smi.anon_fd, &all, sizeof all), sizeof all);
	write_id(gpu.gpu_id + 1);
	CHECK_IS(queue_update(&gpu, &queue, 100), 0);
	write_id(gpu.gpu_id);
	CHECK(queue_update(&gpu, &queue, 100) < 0);
	expect((int)smi.anon_fd, "3 1 HWS hang\n");
	snprintf(line, sizeof line, " -%d %x 3\n", getpid(), gpu.gpu_id);
	expect((int)smi.anon_fd, line);
	expect((int)smi.anon_fd, "\n4 1 ");
	return 0;
}

// SPDX-License-Identifier: MIT
/* RUNTIME_ENABLE under an open session tells the debugger and sleeps until it
 * has answered; an answer may be given ahead. Disabling does the same. */
#include <fcntl.h>
#include <unistd.h>

#include "conform/lab.h"

static void body(int from, int to)
{
	struct kfd_ioctl_get_version_args version = {0};
	struct gpu_file gpu;

	gpu_open(&gpu);
	CHECK_IS(lab_ioctl(gpu.kfd, KFDABI_GET_VERSION, &version, sizeof version), 0);
	tell(to);
	for (uint32_t i = 0; i < 4; i++) {
		hear(from);
		CHECK_IS(runtime_enable(&gpu, i % 2 ? 0 : KFDABI_RUNTIME_MODE_ENABLE), 0);
		tell(to);
	}
	hear(from);
}

int main(void)
{
	struct kfdabi_runtime_info info;
	struct gpu_file gpu;
	struct child child;
	int events[2];

	gpu_open(&gpu);
	child_start(&child, body);
	CHECK(!pipe2(events, O_CLOEXEC | O_NONBLOCK));
	hear(child.from);
	seize(child.pid);
	CHECK_IS(trap_enable(gpu.kfd, child.pid, RUNTIME_MASK, events[1], &info), 0);
	CHECK_IS(info.runtime_state, KFDABI_RUNTIME_DISABLED);
	for (int i = 0; i < 2; i++) {
		tell(child.to);
		CHECK(hears(events[0], 1000));
		CHECK(!hears(child.from, 100));
		CHECK_IS(trap_send(gpu.kfd, child.pid, RUNTIME_MASK), 0);
		CHECK(hears(child.from, 1000));
	}
	for (int i = 0; i < 2; i++) {
		CHECK_IS(trap_send(gpu.kfd, child.pid, RUNTIME_MASK), 0);
		tell(child.to);
		CHECK(hears(child.from, 1000));
	}
	/* The end of the session can be seen at the pipe. */
	close(events[1]);
	CHECK_IS(trap_disable(gpu.kfd, child.pid), 0);
	CHECK(hears(events[0], 100) && hears(events[0], 100)); /* the two later events */
	{
		char byte;

		CHECK_IS(read(events[0], &byte, 1), 0);
	}
	tell(child.to);
	CHECK_IS(child_end(&child), 0);
	return 0;
}

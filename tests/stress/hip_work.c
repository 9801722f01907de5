// SPDX-License-Identifier: MIT
/*
 * A short program that uses HIP: streams, kernels whose workgroups are counted, and copies and
 * fills whose bytes are checked. Argument: the directory of the code objects.
 */
#include <string.h>

#include "tests/matrix/hip.h"
#include "tests/matrix/step.h"

#define STREAMS 3u
#define ROUNDS 8u
#define BYTES (1u << 20)
#define GROUPS 104u
#define SPINS 5u
#define SPIN_TICKS 20000u /* 200 us of the 100 MHz counter */

/* One stream and its buffers. */
struct stream_work {
	void *stream;
	unsigned char *in, *out, *device;
	uint32_t *cells;
};

static void begin(struct stream_work *one, void *kernel, unsigned round)
{
	for (uint32_t i = 0; i < BYTES; i++)
		one->in[i] = (unsigned char)(i * (2 * round + 1) + i / 4096);
	memset(one->out, 0, BYTES);
	hip_copy(one->device, one->in, BYTES, HIP_TO_DEVICE, one->stream);
	HIP(hipMemsetAsync, (void *, int, size_t, void *), one->device + 4096, (int)round, 8192,
	    one->stream);
	for (unsigned i = 0; i < SPINS; i++)
		hip_spin(kernel, GROUPS, SPIN_TICKS, one->cells, one->stream);
	hip_copy(one->out, one->device, BYTES, HIP_TO_HOST, one->stream);
}

static void end(struct stream_work *one, unsigned round)
{
	hip_synchronize(one->stream);
	memset(one->in + 4096, (int)round, 8192);
	if (memcmp(one->in, one->out, BYTES))
		step_fail("what came back in round %u is not what went", round);
	hip_check_cells(one->cells, GROUPS, (round + 1) * SPINS);
}

int main(int argc, char **argv)
{
	struct stream_work streams[STREAMS];
	void *kernel;

	step("hip");
	if (argc != 2)
		step_fail("the folder with the code objects is to be the argument");
	hip_open();
	kernel = hip_spin_kernel(argv[1]);
	for (unsigned i = 0; i < STREAMS; i++) {
		streams[i] = (struct stream_work){hip_stream(), hip_host_memory(BYTES),
						  hip_host_memory(BYTES), hip_device_memory(BYTES),
						  hip_device_memory(GROUPS * sizeof(uint32_t))};
		HIP(hipMemset, (void *, int, size_t), streams[i].cells, 0,
		    GROUPS * sizeof(uint32_t));
	}
	for (unsigned round = 0; round < ROUNDS; round++) {
		for (unsigned i = 0; i < STREAMS; i++)
			begin(&streams[i], kernel, round);
		for (unsigned i = 0; i < STREAMS; i++)
			end(&streams[i], round);
	}
	for (unsigned i = 0; i < STREAMS; i++) {
		HIP(hipStreamDestroy, (void *), streams[i].stream);
		HIP(hipFree, (void *), streams[i].device);
	}
	return step_end();
}

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
struct lane {
	void *stream;
	unsigned char *in, *out, *device;
	uint32_t *cells;
};

static void begin(struct lane *lane, void *kernel, unsigned round)
{
	for (uint32_t i = 0; i < BYTES; i++)
		lane->in[i] = (unsigned char)(i * (2 * round + 1) + i / 4096);
	memset(lane->out, 0, BYTES);
	hip_copy(lane->device, lane->in, BYTES, HIP_TO_DEVICE, lane->stream);
	HIP(hipMemsetAsync, (void *, int, size_t, void *), lane->device + 4096, (int)round, 8192,
	    lane->stream);
	for (unsigned i = 0; i < SPINS; i++)
		hip_spin(kernel, GROUPS, SPIN_TICKS, lane->cells, lane->stream);
	hip_copy(lane->out, lane->device, BYTES, HIP_TO_HOST, lane->stream);
}

static void end(struct lane *lane, unsigned round)
{
	hip_synchronize(lane->stream);
	memset(lane->in + 4096, (int)round, 8192);
	if (memcmp(lane->in, lane->out, BYTES))
		step_fail("what came back in round %u is not what went", round);
	hip_check_cells(lane->cells, GROUPS, (round + 1) * SPINS);
}

int main(int argc, char **argv)
{
	struct lane lanes[STREAMS];
	void *kernel;

	step("hip");
	if (argc != 2)
		step_fail("the folder with the code objects is to be the argument");
	hip_open();
	kernel = hip_spin_kernel(argv[1]);
	for (unsigned i = 0; i < STREAMS; i++) {
		lanes[i] = (struct lane){hip_stream(), hip_host_memory(BYTES),
					 hip_host_memory(BYTES), hip_device_memory(BYTES),
					 hip_device_memory(GROUPS * sizeof(uint32_t))};
		HIP(hipMemset, (void *, int, size_t), lanes[i].cells, 0, GROUPS * sizeof(uint32_t));
	}
	for (unsigned round = 0; round < ROUNDS; round++) {
		for (unsigned i = 0; i < STREAMS; i++)
			begin(&lanes[i], kernel, round);
		for (unsigned i = 0; i < STREAMS; i++)
			end(&lanes[i], round);
	}
	for (unsigned i = 0; i < STREAMS; i++) {
		HIP(hipStreamDestroy, (void *), lanes[i].stream);
		HIP(hipFree, (void *), lanes[i].device);
	}
	return step_end();
}

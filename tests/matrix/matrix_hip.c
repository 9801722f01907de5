// SPDX-License-Identifier: MIT
/*
 * Proves that the common operations of HIP work on the first GPU, in the generation that is
 * installed: module, launch, streams, events, copies, fill, memory shared with another process.
 * Argument: the directory of the code objects.
 */
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/matrix/hip.h"
#include "tests/matrix/step.h"

#define BYTES (3u << 20)
#define GROUPS 120u
#define KERNEL_US 1000u
#define TICKS_PER_US 100 /* of the 100 MHz counter */
#define TIMED_KERNELS 10
#define IPC_LAZY 1u

struct ipc_handle {
	char reserved[64];
};

static void pattern(unsigned char *to, uint32_t seed)
{
	for (uint32_t i = 0; i < BYTES; i++)
		to[i] = (unsigned char)(i * seed + i / 4096);
}

static void fill(void *device, unsigned char *host, void *stream)
{
	HIP(hipMemset, (void *, int, size_t), device, 0x5a, BYTES);
	HIP(hipMemsetAsync, (void *, int, size_t, void *), (char *)device + 1000, 0x33, 12345,
	    stream);
	hip_synchronize(stream);
	HIP(hipMemcpy, (void *, const void *, size_t, int), host, device, BYTES, HIP_TO_HOST);
	for (uint32_t i = 0; i < BYTES; i++) {
		unsigned char want = i >= 1000 && i < 1000 + 12345 ? 0x33 : 0x5a;

		if (host[i] != want)
			step_fail("byte %u is 0x%x after hipMemset, not 0x%x", i, host[i], want);
	}
}

/* One stream copies to the device; a second one copies back after an event of the first. */
static void streams(const unsigned char *one, unsigned char *back)
{
	void *a = hip_stream(), *b = hip_stream(), *event = NULL,
	     *device = hip_device_memory(BYTES);

	HIP(hipEventCreate, (void **), &event);
	memset(back, 0, BYTES);
	hip_copy(device, one, BYTES, HIP_TO_DEVICE, a);
	HIP(hipEventRecord, (void *, void *), event, a);
	HIP(hipStreamWaitEvent, (void *, void *, unsigned), b, event, 0);
	hip_copy(back, device, BYTES, HIP_TO_HOST, b);
	hip_synchronize(b);
	if (memcmp(one, back, BYTES))
		step_fail("the second stream read what the first had not yet written");
	HIP(hipStreamDestroy, (void *), a);
	HIP(hipStreamDestroy, (void *), b);
	HIP(hipFree, (void *), device);
}

static void spin(void *kernel, uint32_t *cells, void *stream)
{
	hip_spin(kernel, GROUPS, (uint64_t)step_kernel_us(KERNEL_US) * TICKS_PER_US, cells, stream);
}

static void events(void *kernel, uint32_t *cells, void *stream)
{
	void *start = NULL, *stop = NULL;
	float ms = -1, least = 0.95f * TIMED_KERNELS * (float)step_kernel_us(KERNEL_US) / 1000;

	HIP(hipEventCreate, (void **), &start);
	HIP(hipEventCreate, (void **), &stop);
	HIP(hipEventRecord, (void *, void *), start, stream);
	for (int i = 0; i < TIMED_KERNELS; i++)
		spin(kernel, cells, stream);
	HIP(hipEventRecord, (void *, void *), stop, stream);
	HIP(hipEventSynchronize, (void *), stop);
	HIP(hipEventElapsedTime, (float *, void *, void *), &ms, start, stop);
	/* The kernels run one after the other. */
	if (!(ms >= least && ms < 2000 + 10 * least))
		step_fail("kernels of %g ms in all took %g ms by their events",
			  (double)least / 0.95, (double)ms);
	hip_check_cells(cells, GROUPS, 1 + TIMED_KERNELS);
}

/* The other process: opens the shared memory, checks it, and writes its own pattern to it. */
static int other_process(int in)
{
	struct ipc_handle handle;
	unsigned char *host, *want = malloc(BYTES);
	void *device = NULL;

	step("ipc");
	if (!want || read(in, &handle, sizeof(handle)) != sizeof(handle))
		_exit(1); /* the first process has failed and printed the reason */
	hip_open();
	host = hip_host_memory(BYTES);
	HIP(hipIpcOpenMemHandle, (void **, struct ipc_handle, unsigned), &device, handle, IPC_LAZY);
	HIP(hipMemcpy, (void *, const void *, size_t, int), host, device, BYTES, HIP_TO_HOST);
	pattern(want, 11);
	if (memcmp(host, want, BYTES))
		step_fail("the other process reads something else in the shared memory");
	pattern(host, 13);
	HIP(hipMemcpy, (void *, const void *, size_t, int), device, host, BYTES, HIP_TO_DEVICE);
	HIP(hipDeviceSynchronize, (void));
	HIP(hipIpcCloseMemHandle, (void *), device);
	return 0;
}

/* To be called before hip_open(): a process that was forked with HIP open cannot use it. */
static pid_t start_other(const char *program, int *to)
{
	int pipes[2];
	char in[16];
	pid_t pid;

	if (pipe(pipes))
		step_fail("pipe: %s", strerror(errno));
	pid = fork();
	if (pid < 0)
		step_fail("fork: %s", strerror(errno));
	if (!pid) {
		close(pipes[1]);
		snprintf(in, sizeof(in), "%d", pipes[0]);
		execl(program, program, "--other", in, NULL);
		_exit(127);
	}
	close(pipes[0]);
	*to = pipes[1];
	return pid;
}

static void ipc(pid_t other, int to, void *device, unsigned char *host)
{
	unsigned char *want = malloc(BYTES);
	struct ipc_handle handle;
	int status, error;

	pattern(host, 11);
	HIP(hipMemcpy, (void *, const void *, size_t, int), device, host, BYTES, HIP_TO_DEVICE);
	error = ((int (*)(struct ipc_handle *, void *))hip_find("hipIpcGetMemHandle"))(&handle,
										       device);
	if (error && hip_generation() == 5) {
		step_not_applicable(
			"Linux's own driver has no IPC_EXPORT_HANDLE (ioctl 0x81; AMD's "
			"has), and this generation knows no other way");
		return;
	}
	hip_check(error, "hipIpcGetMemHandle");
	if (!want || write(to, &handle, sizeof(handle)) != sizeof(handle))
		step_fail("the handle cannot be sent: %s", strerror(errno));
	close(to);
	if (waitpid(other, &status, 0) != other || WIFSIGNALED(status))
		step_fail("the other process failed (status 0x%x)", status);
	if (status)
		_exit(1); /* the other process has printed the reason */
	HIP(hipMemcpy, (void *, const void *, size_t, int), host, device, BYTES, HIP_TO_HOST);
	pattern(want, 13);
	if (memcmp(host, want, BYTES))
		step_fail("what the other process wrote is not in the shared memory");
}

int main(int argc, char **argv)
{
	unsigned char *one, *back;
	void *device, *stream, *kernel;
	uint32_t *cells;
	int to, devices = 0;
	pid_t other;

	if (argc == 3 && !strcmp(argv[1], "--other"))
		return other_process(atoi(argv[2]));
	step("init");
	if (argc != 2)
		step_fail("the folder with the code objects is to be the argument");
	other = start_other("/proc/self/exe", &to);
	hip_open();
	HIP(hipGetDeviceCount, (int *), &devices);
	if (devices < 1)
		step_fail("HIP finds no device");
	step("copy");
	one = hip_host_memory(BYTES);
	back = hip_host_memory(BYTES);
	device = hip_device_memory(BYTES);
	stream = hip_stream();
	pattern(one, 7);
	memset(back, 0, BYTES);
	hip_copy(device, one, BYTES, HIP_TO_DEVICE, stream);
	hip_copy(back, device, BYTES, HIP_TO_HOST, stream);
	hip_synchronize(stream);
	if (memcmp(one, back, BYTES))
		step_fail("what came back from the GPU is not what went there");
	step("memset");
	fill(device, back, stream);
	step("module");
	kernel = hip_spin_kernel(argv[1]);
	step("launch");
	cells = hip_device_memory(BYTES);
	HIP(hipMemset, (void *, int, size_t), cells, 0, BYTES);
	spin(kernel, cells, stream);
	hip_synchronize(stream);
	hip_check_cells(cells, GROUPS, 1);
	step("streams");
	streams(one, back);
	step("events");
	events(kernel, cells, stream);
	step("ipc");
	ipc(other, to, device, back);
	return step_end();
}

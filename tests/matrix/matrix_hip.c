// SPDX-License-Identifier: MIT
/*
 * What every program does through HIP, whichever generation is there, on the
 * first GPU: module, launch, streams, events, copies, fill, memory shared with
 * another process. Argument: the folder with the code objects. Nothing of HIP
 * is needed to build it: names and numbers are those that all generations share.
 */
#include <dlfcn.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/matrix/step.h"

#define BYTES (3u << 20)
#define GROUPS 120u
#define GROUP_SIZE 256u
#define SPIN_TICKS 100000u /* 1 ms of the 100 MHz counter */
#define TO_DEVICE 1
#define TO_HOST 2
#define IPC_LAZY 1u

struct ipc_handle {
	char reserved[64];
};

typedef void (*function)(void); /* any: cast before it is called */
static void *hip;
static int generation; /* of the library */
static const char *(*error_name)(int);

static function find(const char *name)
{
	void *symbol = dlsym(hip, name);
	function out;

	if (!symbol)
		step_fail("the library has no %s", name);
	memcpy(&out, &symbol, sizeof(out));
	return out;
}

static void check(int error, const char *what)
{
	if (error)
		step_fail("%s: %s", what, error_name(error));
}
/* Calls NAME, a function of these parameters, with the values. */
#define CALL(name, types, ...) check(((int(*) types)find(#name))(__VA_ARGS__), #name)

static void open_library(void)
{
	char name[32];

	for (generation = 7; generation >= 5 && !hip; generation--) {
		snprintf(name, sizeof(name), "libamdhip64.so.%d", generation);
		hip = dlopen(name, RTLD_NOW);
		if (hip)
			break;
	}
	if (!hip)
		step_fail("no libamdhip64: %s", dlerror());
	error_name = (const char *(*)(int))find("hipGetErrorName");
}

static void *device_memory(void)
{
	void *p = NULL;

	CALL(hipMalloc, (void **, size_t), &p, BYTES);
	return p;
}

static void *host_memory(void)
{
	void *p = NULL;

	CALL(hipHostMalloc, (void **, size_t, unsigned), &p, BYTES, 0);
	return p;
}

static void *new_stream(void)
{
	void *stream = NULL;

	CALL(hipStreamCreate, (void **), &stream);
	return stream;
}

static void pattern(unsigned char *to, uint32_t seed)
{
	for (uint32_t i = 0; i < BYTES; i++)
		to[i] = (unsigned char)(i * seed + i / 4096);
}

static void synchronize(void *stream)
{
	CALL(hipStreamSynchronize, (void *), stream);
}

static void copy(void *dst, const void *src, int kind, void *stream)
{
	CALL(hipMemcpyAsync, (void *, const void *, size_t, int, void *), dst, src, BYTES, kind,
	     stream);
}

static void launch(void *kernel, uint32_t *cells, void *stream)
{
	uint64_t ticks = SPIN_TICKS;
	void *args[] = {&ticks, &cells};

	CALL(hipModuleLaunchKernel,
	     (void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *,
	      void **, void **),
	     kernel, GROUPS, 1, 1, GROUP_SIZE, 1, 1, 0, stream, args, NULL);
}

static void check_cells(const uint32_t *device, uint32_t times)
{
	uint32_t cells[GROUPS];

	CALL(hipMemcpy, (void *, const void *, size_t, int), cells, device, sizeof(cells), TO_HOST);
	for (uint32_t i = 0; i < GROUPS; i++) {
		if (cells[i] != times)
			step_fail("workgroup %u ran %u times, not %u", i, cells[i], times);
	}
}

static void fill(void *device, unsigned char *host, void *stream)
{
	CALL(hipMemset, (void *, int, size_t), device, 0x5a, BYTES);
	CALL(hipMemsetAsync, (void *, int, size_t, void *), (char *)device + 1000, 0x33, 12345,
	     stream);
	synchronize(stream);
	CALL(hipMemcpy, (void *, const void *, size_t, int), host, device, BYTES, TO_HOST);
	for (uint32_t i = 0; i < BYTES; i++) {
		unsigned char want = i >= 1000 && i < 1000 + 12345 ? 0x33 : 0x5a;

		if (host[i] != want)
			step_fail("byte %u is 0x%x after hipMemset, not 0x%x", i, host[i], want);
	}
}

/* Two streams: each copies there, and the second comes back after an event of
 * the first. */
static void streams(const unsigned char *one, unsigned char *back)
{
	void *a = new_stream(), *b = new_stream(), *event = NULL, *device = device_memory();

	CALL(hipEventCreate, (void **), &event);
	memset(back, 0, BYTES);
	copy(device, one, TO_DEVICE, a);
	CALL(hipEventRecord, (void *, void *), event, a);
	CALL(hipStreamWaitEvent, (void *, void *, unsigned), b, event, 0);
	copy(back, device, TO_HOST, b);
	synchronize(b);
	if (memcmp(one, back, BYTES))
		step_fail("the second stream read what the first had not yet written");
	CALL(hipStreamDestroy, (void *), a);
	CALL(hipStreamDestroy, (void *), b);
	CALL(hipFree, (void *), device);
}

static void events(void *kernel, uint32_t *cells, void *stream)
{
	void *start = NULL, *stop = NULL;
	float ms = -1;

	CALL(hipEventCreate, (void **), &start);
	CALL(hipEventCreate, (void **), &stop);
	CALL(hipEventRecord, (void *, void *), start, stream);
	for (int i = 0; i < 10; i++)
		launch(kernel, cells, stream);
	CALL(hipEventRecord, (void *, void *), stop, stream);
	CALL(hipEventSynchronize, (void *), stop);
	CALL(hipEventElapsedTime, (float *, void *, void *), &ms, start, stop);
	/* Ten kernels of 1 ms each, one after the other. */
	if (!(ms >= 9.5f && ms < 2000))
		step_fail("ten kernels of 1 ms took %g ms by their events", (double)ms);
	check_cells(cells, 11);
}

/* The other process: opens the memory, checks it and writes its own there. */
static int other_process(int in)
{
	struct ipc_handle handle;
	unsigned char *host, *want = malloc(BYTES);
	void *device = NULL;

	step("ipc");
	if (!want || read(in, &handle, sizeof(handle)) != sizeof(handle))
		_exit(1); /* the first process has failed, and said why */
	open_library();
	host = host_memory();
	CALL(hipIpcOpenMemHandle, (void **, struct ipc_handle, unsigned), &device, handle,
	     IPC_LAZY);
	CALL(hipMemcpy, (void *, const void *, size_t, int), host, device, BYTES, TO_HOST);
	pattern(want, 11);
	if (memcmp(host, want, BYTES))
		step_fail("the other process reads something else in the shared memory");
	pattern(host, 13);
	CALL(hipMemcpy, (void *, const void *, size_t, int), device, host, BYTES, TO_DEVICE);
	CALL(hipDeviceSynchronize, (void));
	CALL(hipIpcCloseMemHandle, (void *), device);
	return 0;
}

/* Started before HIP is: a fork of a process that has it open is of no use. */
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
	CALL(hipMemcpy, (void *, const void *, size_t, int), device, host, BYTES, TO_DEVICE);
	error = ((int (*)(struct ipc_handle *, void *))find("hipIpcGetMemHandle"))(&handle, device);
	if (error && generation == 5) {
		step_not_applicable(
			"Linux's own driver has no IPC_EXPORT_HANDLE (ioctl 0x81; AMD's "
			"has), and this generation knows no other way");
		return;
	}
	check(error, "hipIpcGetMemHandle");
	if (!want || write(to, &handle, sizeof(handle)) != sizeof(handle))
		step_fail("the handle cannot be sent: %s", strerror(errno));
	close(to);
	if (waitpid(other, &status, 0) != other || WIFSIGNALED(status))
		step_fail("the other process failed (status 0x%x)", status);
	if (status)
		_exit(1); /* it has said why */
	CALL(hipMemcpy, (void *, const void *, size_t, int), host, device, BYTES, TO_HOST);
	pattern(want, 13);
	if (memcmp(host, want, BYTES))
		step_fail("what the other process wrote is not in the shared memory");
}

int main(int argc, char **argv)
{
	unsigned char *one, *back;
	void *device, *stream, *module = NULL, *kernel = NULL;
	uint32_t *cells;
	int to, devices = 0;
	size_t bytes;
	pid_t other;

	if (argc == 3 && !strcmp(argv[1], "--other"))
		return other_process(atoi(argv[2]));
	step("init");
	if (argc != 2)
		step_fail("the folder with the code objects is to be the argument");
	other = start_other("/proc/self/exe", &to);
	open_library();
	CALL(hipInit, (unsigned), 0);
	CALL(hipGetDeviceCount, (int *), &devices);
	if (devices < 1)
		step_fail("HIP finds no device");
	step("copy");
	one = host_memory();
	back = host_memory();
	device = device_memory();
	stream = new_stream();
	pattern(one, 7);
	memset(back, 0, BYTES);
	copy(device, one, TO_DEVICE, stream);
	copy(back, device, TO_HOST, stream);
	synchronize(stream);
	if (memcmp(one, back, BYTES))
		step_fail("what came back from the GPU is not what went there");
	step("memset");
	fill(device, back, stream);
	step("module");
	CALL(hipModuleLoadData, (void **, const void *), &module,
	     step_code_object(argv[1], &bytes));
	CALL(hipModuleGetFunction, (void **, void *, const char *), &kernel, module,
	     "kfdreplay_spin");
	step("launch");
	cells = device_memory();
	CALL(hipMemset, (void *, int, size_t), cells, 0, BYTES);
	launch(kernel, cells, stream);
	synchronize(stream);
	check_cells(cells, 1);
	step("streams");
	streams(one, back);
	step("events");
	events(kernel, cells, stream);
	step("ipc");
	ipc(other, to, device, back);
	return step_end();
}

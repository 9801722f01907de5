// SPDX-License-Identifier: MIT
/*
 * Implements struct rt_api with HIP: one stream, hipModuleLaunchKernel for a dispatch,
 * hipMemcpyAsync for a copy.
 *
 * The library is loaded at run time, in the newest version that is installed, and called without
 * its headers: handles are pointers, and the functions used here have the same parameters from HIP
 * 5 to 7.
 *
 * HIP has no wait with a timeout. So a thread of this module (the waiter) waits in
 * hipStreamSynchronize and posts a semaphore. That costs two thread wake-ups for each request.
 */
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <string.h>
#include <time.h>

#include "common/clock.h"
#include "tools/kernels/code_objects.h"
#include "tools/kfdreplay/rt.h"

#define NEWEST 7
#define OLDEST 5
#define ATTRIBUTE_COMPUTE_UNITS 63 /* hipDeviceAttributeMultiprocessorCount */
#define BUFFER_BYTES_MIN 4096u
#define COPY_TO_DEVICE 1
#define COPY_TO_HOST 2
#define COPY_ON_DEVICE 3

struct rt_hip {
	void *library;
	void *module, *kernel, *stream;
	void *host_buffer, *device_buffer[2];
	pthread_t waiter;
	bool waits;	   /* the waiter thread is running */
	bool promised;	   /* true: the waiter is to wait for the stream; false: it is to end */
	sem_t query, done; /* query: starts the waiter; done: the waiter has finished */
	int wait_error;	   /* HIP's error of the last wait; 0: none */
	/* Functions that are called for every operation. */
	int (*launch)(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
		      void *, void **, void **);
	int (*copy)(void *, const void *, size_t, int, void *);
	int (*synchronize)(void *);
	const char *(*error_name)(int);
};

static void check(struct rt *rt, int error, const char *what)
{
	if (error)
		fail(EXIT_FAILURE, "%s failed: %s", what, rt->hip->error_name(error));
}

/* Finds a function of the library. out: address of a pointer to a function. status: exit status of
 * the program if there is none. */
static void find(struct rt *rt, const char *name, void *out, int status)
{
	void *symbol = dlsym(rt->hip->library, name);

	if (!symbol)
		fail(status, "the HIP library has no %s", name);
	memcpy(out, &symbol, sizeof(symbol));
}

/* Finds and calls the function `name` with these parameter types. Value: HIP's error or 0. */
#define HIP_ERROR(rt, name, types, ...)                                                            \
	({                                                                                         \
		int(*function) types = NULL;                                                       \
		find(rt, #name, &function, EXIT_FAILURE);                                          \
		function(__VA_ARGS__);                                                             \
	})
#define HIP(rt, name, types, ...) check(rt, HIP_ERROR(rt, name, types, __VA_ARGS__), #name)

/* Releases `what` by HIP's function `name` and ignores errors. Does nothing if `what` is NULL or
 * the library has no such function. */
static void release(struct rt *rt, const char *name, void *what)
{
	void *symbol = what ? dlsym(rt->hip->library, name) : NULL;
	int (*function)(void *);

	memcpy(&function, &symbol, sizeof(symbol));
	if (symbol)
		function(what);
}

static void open_library(struct rt *rt)
{
	struct rt_hip *hip = rt->hip;
	char name[32];

	for (int generation = NEWEST; generation >= OLDEST && !hip->library; generation--) {
		snprintf(name, sizeof(name), "libamdhip64.so.%d", generation);
		hip->library = dlopen(name, RTLD_NOW);
	}
	if (!hip->library)
		fail(EXIT_NOT_HERE,
		     "no libamdhip64.so.%d to .%d can be loaded: install HIP, or play with "
		     "--api hsa",
		     OLDEST, NEWEST);
	find(rt, "hipGetErrorName", &hip->error_name, EXIT_NOT_HERE);
	find(rt, "hipModuleLaunchKernel", &hip->launch, EXIT_NOT_HERE);
	find(rt, "hipMemcpyAsync", &hip->copy, EXIT_NOT_HERE);
	find(rt, "hipStreamSynchronize", &hip->synchronize, EXIT_NOT_HERE);
}

/* Loads the first code object that HIP accepts. This also gives the name of the GPU, which HIP has
 * only in a struct whose layout changes between versions. */
static void load_kernel(struct rt *rt)
{
	char list[64];

	for (size_t i = 0; i < CODE_OBJECTS; i++) {
		if (HIP_ERROR(rt, hipModuleLoadData, (void **, const void *), &rt->hip->module,
			      code_objects[i].data))
			continue;
		snprintf(rt->gpu_name, sizeof(rt->gpu_name), "%s", code_objects[i].gpu);
		HIP(rt, hipModuleGetFunction, (void **, void *, const char *), &rt->hip->kernel,
		    rt->hip->module, "kfdreplay_spin");
		return;
	}
	fail(EXIT_NOT_HERE, "no code object for this GPU in this build: there are %s",
	     code_object_list(list, sizeof(list)));
}

static void open_by_hip(struct rt *rt, unsigned device)
{
	const char *what = "hipInit";
	int error, devices = 0, cus = 0;

	*rt = (struct rt){.api = &rt_by_hip};
	rt->hip = calloc(1, sizeof(*rt->hip));
	if (!rt->hip)
		fail(EXIT_FAILURE, "out of memory");
	open_library(rt);
	error = HIP_ERROR(rt, hipInit, (unsigned), 0);
	if (!error) {
		what = "hipGetDeviceCount";
		error = HIP_ERROR(rt, hipGetDeviceCount, (int *), &devices);
	}
	if (error)
		fail(EXIT_NOT_HERE, "%s failed: %s; check that /dev/kfd exists and can be opened",
		     what, rt->hip->error_name(error));
	rt_check_device(device, (unsigned)devices);
	HIP(rt, hipSetDevice, (int), (int)device);
	HIP(rt, hipDeviceGetAttribute, (int *, int, int), &cus, ATTRIBUTE_COMPUTE_UNITS,
	    (int)device);
	rt->compute_units = (uint32_t)cus;
	load_kernel(rt);
}

static void *wait_for_stream(void *arg)
{
	struct rt_hip *hip = arg;

	for (;;) {
		while (sem_wait(&hip->query) != 0)
			;
		if (!hip->promised)
			return NULL;
		hip->wait_error = hip->synchronize(hip->stream);
		sem_post(&hip->done);
	}
}

static void start_waiter(struct rt *rt)
{
	struct rt_hip *hip = rt->hip;

	sem_init(&hip->query, 0, 0);
	sem_init(&hip->done, 0, 0);
	if (pthread_create(&hip->waiter, NULL, wait_for_stream, hip) != 0)
		fail(EXIT_FAILURE, "a thread cannot be started");
	hip->waits = true;
}

static void copy(struct rt *rt, enum plan_kind kind, uint64_t bytes)
{
	struct rt_hip *hip = rt->hip;
	const void *from = kind == PLAN_H2D ? hip->host_buffer : hip->device_buffer[0];
	void *to = kind == PLAN_D2H ? hip->host_buffer : hip->device_buffer[kind == PLAN_D2D];
	int direction = kind == PLAN_H2D ? COPY_TO_DEVICE : COPY_ON_DEVICE;

	if (kind == PLAN_D2H)
		direction = COPY_TO_HOST;
	check(rt, hip->copy(to, from, bytes, direction, hip->stream), "hipMemcpyAsync");
}

static void make_buffers(struct rt *rt, const struct plan *plan)
{
	size_t bytes = plan->max_bytes < BUFFER_BYTES_MIN ? BUFFER_BYTES_MIN : plan->max_bytes;
	struct rt_hip *hip = rt->hip;

	if (!plan->uses[PLAN_H2D] && !plan->uses[PLAN_D2H] && !plan->uses[PLAN_D2D])
		return;
	HIP(rt, hipHostMalloc, (void **, size_t, unsigned), &hip->host_buffer, bytes, 0);
	for (unsigned i = 0; i < 2; i++)
		HIP(rt, hipMalloc, (void **, size_t), &hip->device_buffer[i], bytes);
	memset(hip->host_buffer, 0, bytes);
	/* The runtime creates its copy queues at the first copy of a kind, which must not happen
	 * during the measurement. */
	for (enum plan_kind kind = PLAN_H2D; kind <= PLAN_D2D; kind++)
		if (plan->uses[kind])
			copy(rt, kind, sizeof(uint32_t));
	check(rt, hip->synchronize(hip->stream), "a first copy");
}

static void prepare_by_hip(struct rt *rt, const struct plan *plan, bool count)
{
	size_t bytes;
	void *cells;

	rt->plan = plan;
	HIP(rt, hipStreamCreate, (void **), &rt->hip->stream);
	if (count) {
		bytes = rt_cells_bytes(plan);
		HIP(rt, hipHostMalloc, (void **, size_t, unsigned), &cells, bytes, 0);
		memset(cells, 0, bytes);
		rt->cells = cells;
	}
	make_buffers(rt, plan);
	start_waiter(rt);
}

static void begin_by_hip(struct rt *rt, const struct plan_request *request)
{
	rt->request = request;
	rt->submitted = 0;
	rt->ended = false;
	rt->hip->promised = false;
}

static void launch(struct rt *rt, const struct plan_op *op)
{
	uint32_t *cells = rt->cells ? rt->cells + op->cell : NULL;
	uint64_t ticks = op->ticks;
	void *arguments[] = {&ticks, &cells};

	check(rt,
	      rt->hip->launch(rt->hip->kernel, op->workgroups, 1, 1, PLAN_THREADS, 1, 1,
			      PLAN_LDS_BYTES, rt->hip->stream, arguments, NULL),
	      "hipModuleLaunchKernel");
}

/* Makes the waiter thread wait for everything that was submitted. */
static bool end_by_hip(struct rt *rt)
{
	if (!rt->ended) {
		rt->ended = true;
		rt->hip->promised = true;
		sem_post(&rt->hip->query);
	}
	return true;
}

static bool submit_by_hip(struct rt *rt)
{
	const struct plan_op *op = &rt->plan->ops[rt->request->first + rt->submitted];

	if (op->kind == PLAN_SPIN)
		launch(rt, op);
	else
		copy(rt, op->kind, op->bytes);
	rt->submitted++;
	return rt->submitted < rt->request->count || end_by_hip(rt);
}

static bool wait_by_hip(struct rt *rt, uint64_t timeout_ns)
{
	const struct timespec until = clock_timespec(clock_ns() + timeout_ns);

	while (sem_clockwait(&rt->hip->done, CLOCK_MONOTONIC, &until) != 0)
		if (errno != EINTR)
			return false;
	check(rt, rt->hip->wait_error, "hipStreamSynchronize");
	return true;
}

static double finished_share_by_hip(const struct rt *rt)
{
	(void)rt;
	return 0;
}

static void stop_by_hip(struct rt *rt)
{
	rt->given_up = true;
}

static void close_by_hip(struct rt *rt)
{
	struct rt_hip *hip = rt->hip;

	/* After stop_queue(), release nothing: the waiter may still be in the runtime, and the GPU
	 * may still use the buffers. Both end with the process. */
	if (rt->given_up || !hip)
		return;
	if (hip->waits) {
		hip->promised = false;
		sem_post(&hip->query);
		pthread_join(hip->waiter, NULL);
	}
	release(rt, "hipStreamDestroy", hip->stream);
	for (int i = 0; i < 2; i++)
		release(rt, "hipFree", hip->device_buffer[i]);
	release(rt, "hipHostFree", hip->host_buffer);
	release(rt, "hipHostFree", rt->cells);
	release(rt, "hipModuleUnload", hip->module);
	free(hip);
	*rt = (struct rt){0};
}

const struct rt_api rt_by_hip = {
	.name = "hip",
	.open = open_by_hip,
	.prepare = prepare_by_hip,
	.close = close_by_hip,
	.stop_queue = stop_by_hip,
	.request_begin = begin_by_hip,
	.submit = submit_by_hip,
	.request_end = end_by_hip,
	.wait = wait_by_hip,
	.finished_share = finished_share_by_hip,
};

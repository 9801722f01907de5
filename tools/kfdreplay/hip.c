// SPDX-License-Identifier: MIT
/*
 * struct rt_api through HIP: a stream, hipModuleLaunchKernel for a dispatch, hipMemcpyAsync for a
 * copy.
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
#include <inttypes.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
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
	bool promised;	   /* the waiter shall wait for the stream; false: it shall end */
	sem_t query, done; /* ask: starts the waiter. done: the waiter has finished */
	int wait_error;	   /* HIP's error of the last wait; 0: none */
	/* Functions that are called for every operation. */
	int (*launch)(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
		      void *, void **, void **);
	int (*copy)(void *, const void *, size_t, int, void *);
	int (*synchronize)(void *);
	const char *(*error_name)(int);
};

static int check(struct rt *rt, int error, const char *what)
{
	if (!error)
		return 0;
	snprintf(rt->why, sizeof(rt->why), "%s failed: %s", what, rt->hip->error_name(error));
	return -EIO;
}

/* Find a function of the library. out: address of a pointer to a function. */
static int find(struct rt *rt, const char *name, void *out)
{
	void *symbol = dlsym(rt->hip->library, name);

	if (!symbol) {
		snprintf(rt->why, sizeof(rt->why), "the HIP library has no %s", name);
		return -ENODEV;
	}
	memcpy(out, &symbol, sizeof(symbol));
	return 0;
}

/* Find and call the function `name` with parameters of these types. Value: 0 or a negative
 * errno. */
#define HIP(rt, name, types, ...)                                                                  \
	({                                                                                         \
		int(*function) types = NULL;                                                       \
		int result = find(rt, #name, &function);                                           \
		result ? result : check(rt, function(__VA_ARGS__), #name);                         \
	})

static int open_library(struct rt *rt)
{
	struct rt_hip *hip = rt->hip;
	char name[32];
	int rc;

	for (int generation = NEWEST; generation >= OLDEST && !hip->library; generation--) {
		snprintf(name, sizeof(name), "libamdhip64.so.%d", generation);
		hip->library = dlopen(name, RTLD_NOW);
	}
	if (!hip->library) {
		snprintf(rt->why, sizeof(rt->why),
			 "no libamdhip64.so.%d to .%d can be loaded: install HIP, or play with "
			 "--api hsa",
			 OLDEST, NEWEST);
		return -ENODEV;
	}
	if ((rc = find(rt, "hipGetErrorName", &hip->error_name)) ||
	    (rc = find(rt, "hipModuleLaunchKernel", &hip->launch)) ||
	    (rc = find(rt, "hipMemcpyAsync", &hip->copy)) ||
	    (rc = find(rt, "hipStreamSynchronize", &hip->synchronize)))
		return rc;
	return 0;
}

/* Load the first code object that HIP accepts. This also gives the name of the GPU, which HIP has
 * only in a struct whose layout changes between versions. */
static int load_kernel(struct rt *rt)
{
	int (*load)(void **, const void *) = NULL;
	int rc = find(rt, "hipModuleLoadData", &load);
	char list[64];

	for (size_t i = 0; rc == 0 && i < CODE_OBJECTS; i++) {
		if (load(&rt->hip->module, code_objects[i].data) != 0)
			continue;
		snprintf(rt->gpu_name, sizeof(rt->gpu_name), "%s", code_objects[i].gpu);
		return HIP(rt, hipModuleGetFunction, (void **, void *, const char *),
			   &rt->hip->kernel, rt->hip->module, "kfdreplay_spin");
	}
	if (rc)
		return rc;
	snprintf(rt->why, sizeof(rt->why),
		 "no code object for this GPU in this build: there are %s",
		 code_object_list(list, sizeof(list)));
	return -ENODEV;
}

static int open_by_hip(struct rt *rt, unsigned device)
{
	int rc, devices = 0, cus = 0;

	*rt = (struct rt){.api = &rt_by_hip};
	rt->hip = calloc(1, sizeof(*rt->hip));
	if (!rt->hip) {
		snprintf(rt->why, sizeof(rt->why), "out of memory");
		return -ENOMEM;
	}
	rc = open_library(rt);
	if (rc)
		return rc;
	if (HIP(rt, hipInit, (unsigned), 0) || HIP(rt, hipGetDeviceCount, (int *), &devices)) {
		snprintf(rt->why + strlen(rt->why), sizeof(rt->why) - strlen(rt->why),
			 "; check that /dev/kfd exists and can be opened");
		return -ENODEV;
	}
	rt->opened = true;
	if (device >= (unsigned)devices) {
		snprintf(rt->why, sizeof(rt->why),
			 "no device %u: there %s %d GPU%s, counted from 0", device,
			 devices == 1 ? "is" : "are", devices, devices == 1 ? "" : "s");
		return -ERANGE;
	}
	if ((rc = HIP(rt, hipSetDevice, (int), (int)device)) ||
	    (rc = HIP(rt, hipDeviceGetAttribute, (int *, int, int), &cus, ATTRIBUTE_COMPUTE_UNITS,
		      (int)device)))
		return rc;
	rt->compute_units = (uint32_t)cus;
	return load_kernel(rt);
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

static int start_waiter(struct rt *rt)
{
	struct rt_hip *hip = rt->hip;

	sem_init(&hip->query, 0, 0);
	sem_init(&hip->done, 0, 0);
	if (pthread_create(&hip->waiter, NULL, wait_for_stream, hip) != 0) {
		snprintf(rt->why, sizeof(rt->why), "a thread cannot be started");
		return -EAGAIN;
	}
	hip->waits = true;
	return 0;
}

static int copy(struct rt *rt, enum plan_kind kind, uint64_t bytes)
{
	struct rt_hip *hip = rt->hip;
	const void *from = kind == PLAN_H2D ? hip->host_buffer : hip->device_buffer[0];
	void *to = kind == PLAN_D2H ? hip->host_buffer : hip->device_buffer[kind == PLAN_D2D];
	int direction = kind == PLAN_H2D ? COPY_TO_DEVICE : COPY_ON_DEVICE;

	if (kind == PLAN_D2H)
		direction = COPY_TO_HOST;
	return check(rt, hip->copy(to, from, bytes, direction, hip->stream), "hipMemcpyAsync");
}

static int make_buffers(struct rt *rt, const struct plan *plan)
{
	size_t bytes = plan->max_bytes < BUFFER_BYTES_MIN ? BUFFER_BYTES_MIN : plan->max_bytes;
	struct rt_hip *hip = rt->hip;
	int rc = 0;

	if (!plan->uses[PLAN_H2D] && !plan->uses[PLAN_D2H] && !plan->uses[PLAN_D2D])
		return 0;
	if ((rc = HIP(rt, hipHostMalloc, (void **, size_t, unsigned), &hip->host_buffer, bytes,
		      0)) ||
	    (rc = HIP(rt, hipMalloc, (void **, size_t), &hip->device_buffer[0], bytes)) ||
	    (rc = HIP(rt, hipMalloc, (void **, size_t), &hip->device_buffer[1], bytes)))
		return rc;
	memset(hip->host_buffer, 0, bytes);
	/* The runtime creates its copy queues at the first copy of a kind, which must not happen
	 * during the measurement. */
	for (enum plan_kind kind = PLAN_H2D; rc == 0 && kind <= PLAN_D2D; kind++)
		if (plan->uses[kind])
			rc = copy(rt, kind, sizeof(uint32_t));
	return rc ? rc : check(rt, hip->synchronize(hip->stream), "a first copy");
}

static int prepare_by_hip(struct rt *rt, const struct plan *plan, bool count)
{
	size_t bytes = (plan->max_cells ? plan->max_cells : 1) * sizeof(*rt->cells);
	void *cells = NULL;
	int rc;

	rt->plan = plan;
	rc = HIP(rt, hipStreamCreate, (void **), &rt->hip->stream);
	if (rc)
		return rc;
	if (count) {
		rc = rt_check_cells(rt, bytes);
		if (rc)
			return rc;
		rc = HIP(rt, hipHostMalloc, (void **, size_t, unsigned), &cells, bytes, 0);
		if (rc)
			return rc;
		memset(cells, 0, bytes);
		rt->cells = cells;
	}
	rc = make_buffers(rt, plan);
	return rc ? rc : start_waiter(rt);
}

static void begin_by_hip(struct rt *rt, const struct plan_request *request)
{
	rt->request = request;
	rt->submitted = 0;
	rt->ended = false;
	rt->hip->promised = false;
}

static int launch(struct rt *rt, const struct plan_op *op)
{
	uint32_t *cells = rt->cells ? rt->cells + op->cell : NULL;
	uint64_t ticks = op->ticks;
	void *arguments[] = {&ticks, &cells};

	return check(rt,
		     rt->hip->launch(rt->hip->kernel, op->workgroups, 1, 1, PLAN_THREADS, 1, 1,
				     PLAN_LDS_BYTES, rt->hip->stream, arguments, NULL),
		     "hipModuleLaunchKernel");
}

/* Start the waiter, which waits for everything that was submitted. */
static int end_by_hip(struct rt *rt)
{
	if (rt->ended)
		return 0;
	rt->ended = true;
	rt->hip->promised = true;
	sem_post(&rt->hip->query);
	return 0;
}

static int submit_by_hip(struct rt *rt)
{
	const struct plan_op *op = &rt->plan->ops[rt->request->first + rt->submitted];
	int rc = op->kind == PLAN_SPIN ? launch(rt, op) : copy(rt, op->kind, op->bytes);

	if (rc)
		return rc;
	rt->submitted++;
	return rt->submitted == rt->request->count ? end_by_hip(rt) : 0;
}

static int wait_by_hip(struct rt *rt, uint64_t timeout_ns)
{
	const struct timespec until = clock_timespec(clock_ns() + timeout_ns);

	while (sem_clockwait(&rt->hip->done, CLOCK_MONOTONIC, &until) != 0)
		if (errno != EINTR)
			return 0;
	return rt->hip->wait_error ? check(rt, rt->hip->wait_error, "hipStreamSynchronize") : 1;
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
	if (hip->stream)
		(void)HIP(rt, hipStreamDestroy, (void *), hip->stream);
	for (int i = 0; i < 2; i++)
		if (hip->device_buffer[i])
			(void)HIP(rt, hipFree, (void *), hip->device_buffer[i]);
	if (hip->host_buffer)
		(void)HIP(rt, hipHostFree, (void *), hip->host_buffer);
	if (rt->cells)
		(void)HIP(rt, hipHostFree, (void *), rt->cells);
	if (hip->module)
		(void)HIP(rt, hipModuleUnload, (void *), hip->module);
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

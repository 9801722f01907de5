// SPDX-License-Identifier: MIT
#include "tests/matrix/hip.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include "tests/matrix/step.h"

#define GROUP_SIZE 256u
#define GROUPS_MAX 1024u

static void *library;
static int generation;
static const char *(*error_name)(int);

hip_function hip_find(const char *name)
{
	void *symbol = dlsym(library, name);
	hip_function out;

	if (!symbol)
		step_fail("the library has no %s", name);
	memcpy(&out, &symbol, sizeof(out));
	return out;
}

void hip_check(int error, const char *what)
{
	if (error)
		step_fail("%s: %s", what, error_name(error));
}

void hip_open(void)
{
	char name[32];

	for (generation = 7; generation >= 5; generation--) {
		snprintf(name, sizeof(name), "libamdhip64.so.%d", generation);
		library = dlopen(name, RTLD_NOW);
		if (library)
			break;
	}
	if (!library)
		step_fail("no libamdhip64: %s", dlerror());
	error_name = (const char *(*)(int))hip_find("hipGetErrorName");
	HIP(hipInit, (unsigned), 0);
}

int hip_generation(void)
{
	return generation;
}

void *hip_device_memory(size_t bytes)
{
	void *p = NULL;

	HIP(hipMalloc, (void **, size_t), &p, bytes);
	return p;
}

void *hip_host_memory(size_t bytes)
{
	void *p = NULL;

	HIP(hipHostMalloc, (void **, size_t, unsigned), &p, bytes, 0);
	return p;
}

void *hip_stream(void)
{
	void *stream = NULL;

	HIP(hipStreamCreate, (void **), &stream);
	return stream;
}

void hip_synchronize(void *stream)
{
	HIP(hipStreamSynchronize, (void *), stream);
}

void hip_copy(void *dst, const void *src, size_t bytes, int kind, void *stream)
{
	HIP(hipMemcpyAsync, (void *, const void *, size_t, int, void *), dst, src, bytes, kind,
	    stream);
}

void *hip_spin_kernel(const char *directory)
{
	void *module = NULL, *kernel = NULL;
	size_t bytes;

	HIP(hipModuleLoadData, (void **, const void *), &module,
	    step_code_object(directory, &bytes));
	HIP(hipModuleGetFunction, (void **, void *, const char *), &kernel, module,
	    "kfdreplay_spin");
	return kernel;
}

void hip_spin(void *kernel, unsigned groups, uint64_t ticks, uint32_t *cells, void *stream)
{
	void *args[] = {&ticks, &cells};

	HIP(hipModuleLaunchKernel,
	    (void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *,
	     void **, void **),
	    kernel, groups, 1, 1, GROUP_SIZE, 1, 1, 0, stream, args, NULL);
}

void hip_check_cells(const uint32_t *device, unsigned groups, uint32_t times)
{
	uint32_t cells[GROUPS_MAX];

	if (groups > GROUPS_MAX)
		step_fail("%u workgroups are too many to check", groups);
	HIP(hipMemcpy, (void *, const void *, size_t, int), cells, device, groups * sizeof(*cells),
	    HIP_TO_HOST);
	for (uint32_t i = 0; i < groups; i++) {
		if (cells[i] != times)
			step_fail("workgroup %u ran %u times, not %u", i, cells[i], times);
	}
}

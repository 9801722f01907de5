// SPDX-License-Identifier: MIT
/*
 * Proves how API tables are hooked that a runtime passes to a tools library: tables of two copies
 * of the runtime in one process, of one whose functions are also called by symbol, and where
 * hooking is disabled. The runtimes are simulated.
 *
 *   test_shim_tables RUNTIME
 *   test_shim_tables RUNTIME disabled    with KFDSHIM_DISABLE=1
 *
 * Runs with libkfdshim.so preloaded, on a machine with a (simulated) device. RUNTIME is the fake
 * runtime, whose functions are found when the device is opened.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <sys/ioctl.h>

#include "kfd/uapi.h"
#include "tools/kfdconform/harness/harness.h"

/* Layout of hsa_api_trace.h: a version, whose minor number is the size, and functions. */
enum {
	INIT = 0,
	LOAD_RELAXED = 39,
	LOAD_SCACQUIRE,
	STORE_RELAXED,
	STORE_SCRELEASE,
	WAIT_RELAXED,
	WAIT_SCACQUIRE,
	END = 125
};

typedef void any_fn(void);
typedef int64_t get_fn(uint64_t signal);
typedef void store_fn(uint64_t signal, int64_t value);
typedef int64_t wait_fn(uint64_t signal, unsigned condition, int64_t compare, uint64_t timeout,
			unsigned state);
typedef bool load_fn(void *table, uint64_t version, uint64_t failed_count,
		     const char *const *failed);
typedef void unload_fn(void);

struct core {
	uint32_t major, minor, step, reserved;
	any_fn *functions[END];
};

struct root {
	uint32_t major, minor, step, reserved;
	struct core *core;
};

static int called; /* 1, 2: the copy whose function was called */

static int64_t get_1(uint64_t signal)
{
	(void)signal;
	called = 1;
	return 0;
}

static int64_t get_2(uint64_t signal)
{
	(void)signal;
	called = 2;
	return 0;
}

static void store_1(uint64_t signal, int64_t value)
{
	(void)signal;
	(void)value;
	called = 1;
}

static void store_2(uint64_t signal, int64_t value)
{
	(void)signal;
	(void)value;
	called = 2;
}

static int64_t wait_1(uint64_t signal, unsigned condition, int64_t compare, uint64_t timeout,
		      unsigned state)
{
	(void)signal;
	(void)condition;
	(void)timeout;
	(void)state;
	called = 1;
	return compare;
}

static int64_t wait_2(uint64_t signal, unsigned condition, int64_t compare, uint64_t timeout,
		      unsigned state)
{
	(void)signal;
	(void)condition;
	(void)timeout;
	(void)state;
	called = 2;
	return compare;
}

static struct core cores[3]; /* indexed by copy, 1 and 2 */
static struct core bare[3];  /* the original tables */
static load_fn *load;
static unload_fn *unload;

static void core_fill(int copy, get_fn *get, store_fn *store, wait_fn *wait)
{
	struct core *core = &cores[copy];

	core->major = 2;
	core->minor = sizeof(*core);
	core->functions[INIT] = (any_fn *)core_fill;
	core->functions[LOAD_RELAXED] = core->functions[LOAD_SCACQUIRE] = (any_fn *)get;
	core->functions[STORE_RELAXED] = core->functions[STORE_SCRELEASE] = (any_fn *)store;
	core->functions[WAIT_RELAXED] = core->functions[WAIT_SCACQUIRE] = (any_fn *)wait;
	bare[copy] = *core;
}

/* Calls OnLoad as hsa_init does. */
static void begin(int copy)
{
	struct root root = {.major = 3, .minor = sizeof(root), .core = &cores[copy]};

	CHECK(load(&root, 3, 0, NULL));
}

/* Returns whether the six functions of the table are hooked. Either all or none must be. */
static bool hooked(int copy)
{
	int n = 0;

	for (int f = LOAD_RELAXED; f <= WAIT_SCACQUIRE; f++)
		n += cores[copy].functions[f] != bare[copy].functions[f];
	CHECK(n == 0 || n == 6);
	return n == 6;
}

/* Checks that each call through a table reaches the copy that the table belongs to. */
static void call(int copy)
{
	static int64_t signal[8] __attribute__((aligned(64))) = {1};
	const uint64_t handle = (uint64_t)(uintptr_t)signal;
	any_fn **functions = cores[copy].functions;

	for (int f = LOAD_RELAXED; f <= LOAD_SCACQUIRE; f++) {
		called = 0;
		CHECK_IS(((get_fn *)functions[f])(handle), 0);
		CHECK_IS(called, copy);
	}
	for (int f = STORE_RELAXED; f <= STORE_SCRELEASE; f++) {
		called = 0;
		((store_fn *)functions[f])(handle, 7);
		CHECK_IS(called, copy);
	}
	for (int f = WAIT_RELAXED; f <= WAIT_SCACQUIRE; f++) {
		called = 0;
		CHECK_IS(((wait_fn *)functions[f])(handle, 0, 7, 0, 0), 7);
		CHECK_IS(called, copy);
	}
}

static void open_device(void)
{
	struct kfd_ioctl_get_version_args version;
	int fd = open("/dev/kfd", O_RDWR | O_CLOEXEC);

	CHECK(fd >= 0 && ioctl(fd, AMDKFD_IOC_GET_VERSION, &version) == 0);
}

static void two_runtimes(void)
{
	begin(1);
	CHECK(hooked(1));
	call(1);
	begin(2);
	CHECK(hooked(1) && !hooked(2));
	call(1);
	call(2);
	begin(1); /* newer runtimes call OnLoad twice, because libkfdshim.so is named twice */
	CHECK(hooked(1));
	call(1);
	unload();
	CHECK(!hooked(1));
	begin(2);
	CHECK(hooked(2) && !hooked(1));
	call(1);
	call(2);
	unload();
	CHECK(!hooked(2));
}

static void store_by_another_tool(uint64_t signal, int64_t value)
{
	(void)signal;
	(void)value;
	called = 3;
}

/* A call by symbol leaves the table's hooks in place, because other code of the process calls
 * through the table. It skips the hook of the runtime that it reaches, but no other tool's. */
static void called_by_symbol(void *runtime)
{
	/* a doorbell of a queue that is unknown to the agent */
	static int64_t signal[8] __attribute__((aligned(64))) = {-1};
	const uint64_t handle = (uint64_t)(uintptr_t)signal;
	any_fn **now = cores[1].functions;
	store_fn *store;

	*(void **)&store = dlsym(RTLD_DEFAULT, "hsa_signal_store_screlease");
	CHECK(store);
	begin(1); /* the table of another copy */
	store(handle, 7);
	CHECK_IS(signal[1], 7); /* the call reached the fake runtime */
	CHECK(hooked(1));
	unload();

	*(void **)&now[INIT] = dlsym(runtime, "hsa_signal_store_screlease");
	begin(1); /* the table of the fake runtime itself */
	called = 0;
	store(handle, 8);
	CHECK(called == 1 && signal[1] == 7);
	CHECK(hooked(1));
	call(1);

	/* The fake runtime does not call through a table, so the call must reach it directly. */
	now[STORE_SCRELEASE] = (any_fn *)store_by_another_tool;
	store(handle, 9);
	CHECK_IS(signal[1], 9);
	now[STORE_SCRELEASE] = bare[1].functions[STORE_SCRELEASE];
	unload();
	CHECK(!hooked(1));
}

int main(int argc, char **argv)
{
	bool disabled = argc > 2 && strcmp(argv[2], "disabled") == 0;
	void *runtime;

	CHECK(argc > 1 && (runtime = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL)));
	*(void **)&load = dlsym(RTLD_DEFAULT, "OnLoad");
	*(void **)&unload = dlsym(RTLD_DEFAULT, "OnUnload");
	CHECK(load && unload);
	core_fill(1, get_1, store_1, wait_1);
	core_fill(2, get_2, store_2, wait_2);
	begin(1);
	CHECK(!hooked(1)); /* the agent is not loaded yet */
	open_device();
	if (disabled) {
		begin(1);
		CHECK(!hooked(1));
	} else {
		two_runtimes();
		called_by_symbol(runtime);
	}
	puts("ok");
	return 0;
}

// SPDX-License-Identifier: MIT
/*
 * Proves when libkfdshim.so looks up the functions that it wraps: the next ioctl before main, those
 * of HSA when the device is first used, if a runtime is loaded. So the first ioctl, the first queue
 * and the first doorbell look up, load and allocate nothing. This program counts: its dlsym, dlopen
 * and malloc precede libc's.
 *
 *   test_shim_lookups CASE DIRECTORY    DIRECTORY contains the fake libraries
 *
 * Runs with libkfdshim.so preloaded, on a machine with a (simulated) device.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/membarrier.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <termios.h>
#include <unistd.h>

#include "kfd/uapi.h"
#include "tools/kfdconform/harness/harness.h"

typedef int64_t framework_fn(int64_t kind, int64_t value);
typedef void store_fn(uint64_t signal, int64_t value);

/* Per thread, because the agent has a thread of its own. Volatile, because libc's headers declare
 * that ioctl does not call back (leaf). */
static _Thread_local volatile bool counting;
static _Thread_local volatile unsigned lookups, loads, allocations;

void *__libc_malloc(size_t size);
static void *(*real_dlsym)(void *handle, const char *name);
static void *(*real_dlopen)(const char *path, int flags);

void *dlsym(void *handle, const char *name)
{
	lookups += counting;
	if (!real_dlsym) /* called before main */
		*(void **)&real_dlsym = dlvsym(RTLD_NEXT, "dlsym", "GLIBC_2.34");
	return real_dlsym(handle, name);
}

void *dlopen(const char *path, int flags)
{
	loads += counting;
	if (!real_dlopen)
		*(void **)&real_dlopen = dlvsym(RTLD_NEXT, "dlopen", "GLIBC_2.34");
	return real_dlopen(path, flags);
}

void *malloc(size_t size)
{
	allocations += counting;
	return __libc_malloc(size);
}

static void count(bool on)
{
	counting = on;
	if (on)
		lookups = loads = allocations = 0;
}

static void nothing_counted(void)
{
	CHECK_IS(lookups, 0);
	CHECK_IS(loads, 0);
	CHECK_IS(allocations, 0);
}

/* Checks that the counters count. */
static void counts(void)
{
	count(true);
	CHECK(!dlopen("/nonexistent", RTLD_NOW) && dlsym(RTLD_DEFAULT, "ioctl"));
	count(false);
	CHECK_IS(lookups, 1);
	CHECK_IS(loads, 1);
	CHECK(allocations > 0);
}

/* Checks the program's first ioctl, and one of the console, whose type is KFD's, too. A dlerror()
 * message that the program has not read yet must still be there. */
static void first_ioctl(void)
{
	struct winsize size;
	char byte[8];
	int pipes[2];

	CHECK(pipe(pipes) == 0);
	CHECK(!dlopen("/nonexistent", RTLD_NOW));
	count(true);
	CHECK(ioctl(pipes[0], TIOCGWINSZ, &size) < 0 && errno == ENOTTY);
	CHECK(ioctl(pipes[0], 0x4b33, byte) < 0 && errno == ENOTTY);
	count(false);
	nothing_counted();
	CHECK(dlerror());
	CHECK(!dlerror());
}

/* Makes an ioctl before any library's constructor: it is forwarded, and the next one needs no
 * lookup. */
static int before_constructors = -1; /* errno of that call */
static unsigned lookups_before;

static void before(int argc, char **argv, char **environment)
{
	struct winsize size;

	(void)environment;
	if (argc < 2 || strcmp(argv[1], "preinit") != 0)
		return;
	count(true);
	errno = 0;
	(void)ioctl(-1, TIOCGWINSZ, &size);
	before_constructors = errno;
	count(false);
	lookups_before = lookups;
}

static void (*before_all)(int argc, char **argv, char **environment)
	__attribute__((section(".preinit_array"), used)) = before;

static int open_device(void)
{
	struct kfd_ioctl_get_version_args version;
	int fd = open("/dev/kfd", O_RDWR | O_CLOEXEC);

	CHECK(fd >= 0 && ioctl(fd, AMDKFD_IOC_GET_VERSION, &version) == 0);
	CHECK(!dlerror());
	return fd;
}

/* A runtime holds locks of its own around CREATE_QUEUE, which a library that another thread loads
 * may need. Therefore the runtime must be enabled without a lookup before CREATE_QUEUE is
 * forwarded. (The driver refuses this queue; that happens later.) */
static void first_queue(int fd)
{
	struct kfdabi_create_queue args = {.queue_type = KFD_IOC_QUEUE_TYPE_COMPUTE_AQL};
	char path[128];
	FILE *file;

	for (int node = 0; args.gpu_id == 0; node++) {
		snprintf(path, sizeof(path), "/sys/class/kfd/kfd/topology/nodes/%d/gpu_id", node);
		file = fopen(path, "re");
		CHECK(file && fscanf(file, "%" SCNu32, &args.gpu_id) == 1);
		fclose(file);
	}
	count(true);
	CHECK(ioctl(fd, _IOWR('K', KFDABI_CREATE_QUEUE, struct kfdabi_create_queue), &args) != 0);
	count(false);
	CHECK_IS(lookups, 0);
	CHECK_IS(loads, 0);
}

static framework_fn *open_framework(const char *directory, int flags)
{
	framework_fn *call;
	char path[600];
	void *handle;

	snprintf(path, sizeof(path), "%s/libfake_framework.so", directory);
	handle = dlopen(path, RTLD_NOW | flags);
	CHECK(handle);
	*(void **)&call = dlsym(handle, "framework_store_and_wait");
	CHECK(call);
	return call;
}

/* The doorbell's store and its wait reach the runtime, at the first call and later. */
static void call_twice(framework_fn *call)
{
	int64_t values[2];

	count(true);
	values[0] = call(-1, 42);
	values[1] = call(-1, 43);
	count(false);
	CHECK_IS(values[0], 1042);
	CHECK_IS(values[1], 1043);
}

/* A function that no loaded runtime has does nothing and leaves no dlerror() message. */
static void call_what_is_nowhere(void)
{
	int64_t signal[8] = {1};
	store_fn *store;

	*(void **)&store = dlsym(RTLD_DEFAULT, "hsa_signal_store_relaxed");
	CHECK(store);
	count(true);
	store((uint64_t)(uintptr_t)signal, 1);
	count(false);
	CHECK(lookups > 0);
	CHECK_IS(signal[1], 0);
	CHECK(!dlerror());
}

int main(int argc, char **argv)
{
	framework_fn *call;
	const char *name;

	CHECK(argc == 3);
	name = argv[1];
	if (strcmp(name, "ioctl") == 0) {
		first_ioctl();
		counts();
		/* Registered while the process had one thread; EPERM if not. */
		CHECK_IS(syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0), 0);
	} else if (strcmp(name, "preinit") == 0) {
		CHECK_IS(before_constructors, EBADF);
		CHECK_IS(lookups_before, 1);
		first_ioctl();
	} else if (strcmp(name, "global") == 0 || strcmp(name, "local") == 0) {
		call = open_framework(argv[2], name[0] == 'g' ? RTLD_GLOBAL : RTLD_LOCAL);
		first_queue(open_device());
		call_twice(call);
		nothing_counted();
		call_what_is_nowhere();
	} else {
		/* The device is used before a runtime is loaded. The runtime is then found at its
		 * first call, even if another library wraps the same functions before
		 * libkfdshim.so: that library is not the runtime. */
		CHECK(strcmp(name, "late") == 0 || strcmp(name, "beside") == 0);
		open_device();
		call = open_framework(argv[2], RTLD_LOCAL);
		call_twice(call);
		CHECK(lookups > 0);
	}
	puts("ok");
	return 0;
}

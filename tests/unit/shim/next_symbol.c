// SPDX-License-Identifier: MIT
/*
 * Proves that libkfdshim.so finds the next symbol of a wrapped function. This program starts itself
 * again with libkfdshim.so preloaded, and loads a runtime in the ways that programs do.
 *
 *   test_shim_next_symbol DIRECTORY    directory of the fake libraries
 *
 * BUILD in the environment names the directory of libkfdshim.so.
 */
#include <dlfcn.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static const char *directory;
static char self[512];

typedef int64_t framework_fn(int64_t kind, int64_t value);

/* Runs in the preloaded process. RTLD_NEXT finds nothing, because the runtime is in no global
 * scope. */
static int through_framework(int flags)
{
	framework_fn *call;
	char path[600];
	void *handle;

	snprintf(path, sizeof(path), "%s/libfake_framework.so", directory);
	handle = dlopen(path, RTLD_NOW | flags);
	if (!handle)
		return 10;
	call = (framework_fn *)dlsym(handle, "framework_store_and_wait");
	if (!call)
		return 11;
	if (call(1, 42) != 1042) /* an ordinary signal */
		return 12;
	if (call(-1, 43) != 1043) /* a doorbell; no agent is loaded that it would be reported to */
		return 13;
	return call(1, -5) == 995 ? 0 : 14;
}

/* No loaded library defines the symbol: no crash and no endless recursion. */
static int nothing_loaded(void)
{
	int64_t signal[8] = {1};
	void (*store)(uint64_t, int64_t) =
		(void (*)(uint64_t, int64_t))dlsym(RTLD_DEFAULT, "hsa_signal_store_relaxed");

	if (!store) /* libkfdshim.so is not preloaded */
		return 20;
	store((uint64_t)(uintptr_t)signal, 1);
	return signal[1] == 0 ? 0 : 21;
}

/* The program closes the runtime after its first use. The runtime's code must stay mapped. */
static int unloaded_again(void)
{
	framework_fn *call;
	char path[600];
	void *handle;

	for (int i = 0; i < 3; i++) {
		snprintf(path, sizeof(path), "%s/libfake_framework.so", directory);
		handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
		if (!handle)
			return 30;
		call = (framework_fn *)dlsym(handle, "framework_store_and_wait");
		if (!call || call(1, i) != 1000 + i)
			return 31;
		dlclose(handle);
		handle = dlopen("libhsa-runtime64.so.1", RTLD_NOW | RTLD_NOLOAD);
		if (!handle)
			return 32;
		dlclose(handle);
	}
	return 0;
}

static int run(const char *what)
{
	char preload[600];
	int status;
	pid_t pid;

	snprintf(preload, sizeof(preload), "%s/libkfdshim.so", getenv("BUILD"));
	pid = fork();
	if (pid == 0) {
		setenv("LD_PRELOAD", preload, 1);
		execl(self, self, directory, what, (char *)NULL);
		_exit(127);
	}
	if (waitpid(pid, &status, 0) != pid)
		return -1;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static void local_runtime(void **state)
{
	(void)state;
	assert_int_equal(run("local"), 0);
}

static void global_runtime(void **state)
{
	(void)state;
	assert_int_equal(run("global"), 0);
}

static void no_runtime(void **state)
{
	(void)state;
	assert_int_equal(run("none"), 0);
}

static void runtime_that_goes(void **state)
{
	(void)state;
	assert_int_equal(run("unloaded"), 0);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(local_runtime),
		cmocka_unit_test(global_runtime),
		cmocka_unit_test(no_runtime),
		cmocka_unit_test(runtime_that_goes),
	};

	if (argc < 2 || !getenv("BUILD"))
		return 2;
	directory = argv[1];
	if (argc == 3) {
		if (strcmp(argv[2], "none") == 0)
			return nothing_loaded();
		if (strcmp(argv[2], "unloaded") == 0)
			return unloaded_again();
		return through_framework(strcmp(argv[2], "global") == 0 ? RTLD_GLOBAL : RTLD_LOCAL);
	}
	if (readlink("/proc/self/exe", self, sizeof(self) - 1) < 0)
		return 2;
	return cmocka_run_group_tests(tests, NULL, NULL);
}

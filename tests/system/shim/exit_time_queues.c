// SPDX-License-Identifier: MIT
/*
 * A program that still uses the GPU at its end: a library's destructor rings a doorbell and
 * destroys a queue.
 *
 *   last_words ORDER DESTROYER
 *
 * DESTROYER is the library. ORDER: early (it is loaded before the HSA runtime), late (after it),
 * thread (late, and a second thread calls exit).
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void *must(void *p, const char *what)
{
	if (p)
		return p;
	fprintf(stderr, "last_words: %s: %s\n", what, dlerror());
	exit(3);
}

static void *leave(void *arg)
{
	(void)arg;
	exit(0);
}

int main(int argc, char **argv)
{
	void (*begin)(void *runtime);
	void *library = NULL, *runtime;
	pthread_t thread;

	if (argc != 3)
		return 2;
	if (strcmp(argv[1], "early") == 0)
		library = must(dlopen(argv[2], RTLD_NOW), argv[2]);
	runtime = must(dlopen("libhsa-runtime64.so.1", RTLD_NOW | RTLD_GLOBAL), "the runtime");
	if (!library)
		library = must(dlopen(argv[2], RTLD_NOW), argv[2]);
	*(void **)&begin = must(dlsym(library, "begin"), "begin");
	begin(runtime);
	if (strcmp(argv[1], "thread") == 0) {
		if (pthread_create(&thread, NULL, leave, NULL) != 0)
			return 3;
		pthread_join(thread, NULL);
	}
	return 0;
}

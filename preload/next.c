// SPDX-License-Identifier: MIT
#include <dlfcn.h>
#include <limits.h>
#include <link.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "preload/internal.h"

struct nth_object {
	size_t left;
	bool found;
	char name[PATH_MAX];
};

static int nth_object(struct dl_phdr_info *info, size_t size, void *data)
{
	struct nth_object *nth = data;

	(void)size;
	if (nth->left-- > 0)
		return 0;
	snprintf(nth->name, sizeof(nth->name), "%s", info->dlpi_name ? info->dlpi_name : "");
	nth->found = true;
	return 1;
}

static bool is_hsa_runtime(const char *path)
{
	const char *base = strrchr(path, '/');

	base = base ? base + 1 : path;
	return strncmp(base, "libhsa-runtime64", strlen("libhsa-runtime64")) == 0;
}

/*
 * Looks in one loaded library after the other. Names are taken one at a time,
 * because dlopen inside dl_iterate_phdr takes the linker's locks in the wrong
 * order. A handle that yields something keeps its reference.
 */
static void *search(const char *name, void *self, bool runtime_only)
{
	struct nth_object nth;
	void *handle, *f;

	for (size_t i = 0;; i++) {
		nth.left = i;
		nth.found = false;
		dl_iterate_phdr(nth_object, &nth);
		if (!nth.found)
			return NULL;
		if (!nth.name[0] || (runtime_only && !is_hsa_runtime(nth.name)))
			continue;
		handle = dlopen(nth.name, RTLD_LAZY | RTLD_NOLOAD);
		if (!handle)
			continue;
		f = dlsym(handle, name);
		if (f && f != self)
			return f;
		dlclose(handle);
	}
}

/* The pointer is kept for ever, so the library must be. */
static void pin(void *f)
{
	Dl_info info;

	if (dladdr(f, &info) && info.dli_fname && info.dli_fname[0])
		(void)dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
}

void *next_symbol(const char *name, void *self)
{
	void *f = dlsym(RTLD_NEXT, name);

	if (f && f != self) {
		pin(f);
		return f;
	}
	/* A host program that loads HIP with RTLD_LOCAL (Python does) keeps the
	 * runtime out of the scope that RTLD_NEXT searches. The runtime's own
	 * library first: another one could be a wrapper that leads back to us. */
	f = search(name, self, true);
	return f ? f : search(name, self, false);
}

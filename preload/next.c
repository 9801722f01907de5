// SPDX-License-Identifier: MIT
#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <link.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "preload/internal.h"

/*
 * Each dlsym and dlopen, also one that succeeds, drops the calling thread's pending
 * dlerror() message (glibc 2.36). We cannot put a program's back; but hot calls make
 * none of them, and ioctl none at all, so it is lost only when its first call of a
 * name, or its first ioctl on the device, stands between its failure and its question.
 * Messages of our own failures are never left behind.
 */

extern const struct next __start_kfdshim_next[] HIDDEN;
extern const struct next __stop_kfdshim_next[] HIDDEN;

struct nth_object {
	size_t left;
	bool runtime_only, found;
	char name[PATH_MAX];
};

static bool is_hsa_runtime(const char *path)
{
	const char *base = strrchr(path, '/');

	base = base ? base + 1 : path;
	return strncmp(base, "libhsa-runtime64", strlen("libhsa-runtime64")) == 0;
}

static int nth_object(struct dl_phdr_info *info, size_t size, void *data)
{
	struct nth_object *nth = data;
	const char *name = info->dlpi_name ? info->dlpi_name : "";

	(void)size;
	if (!name[0] || (nth->runtime_only && !is_hsa_runtime(name)))
		return 0;
	if (nth->left-- > 0)
		return 0;
	snprintf(nth->name, sizeof(nth->name), "%s", name);
	nth->found = true;
	return 1;
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
		nth.runtime_only = runtime_only;
		nth.found = false;
		dl_iterate_phdr(nth_object, &nth);
		if (!nth.found)
			return NULL;
		handle = dlopen(nth.name, RTLD_LAZY | RTLD_NOLOAD);
		if (!handle)
			continue;
		f = dlsym(handle, name);
		if (f && f != self)
			return f;
		dlclose(handle);
	}
}

struct owner {
	uintptr_t f, begin, end; /* end 0: not found */
	char name[PATH_MAX];
};

static int is_owner(struct dl_phdr_info *info, size_t size, void *data)
{
	struct owner *owner = data;
	uintptr_t begin, end;

	(void)size;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		begin = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr;
		end = begin + info->dlpi_phdr[i].p_memsz;
		if (info->dlpi_phdr[i].p_type != PT_LOAD || owner->f < begin || owner->f >= end)
			continue;
		owner->begin = begin;
		owner->end = end;
		snprintf(owner->name, sizeof(owner->name), "%s",
			 info->dlpi_name ? info->dlpi_name : "");
		return 1;
	}
	return 0;
}

/* The pointer is kept for ever, so the library must be: it may have been loaded after
 * the program's start, and be closed. Not by dladdr, which looks through all its symbols;
 * and who comes next is most often of the same library. */
static void pin(void *f, struct owner *last)
{
	if ((uintptr_t)f >= last->begin && (uintptr_t)f < last->end)
		return;
	*last = (struct owner){.f = (uintptr_t)f};
	if (dl_iterate_phdr(is_owner, last) && last->name[0])
		(void)dlopen(last->name, RTLD_LAZY | RTLD_NOLOAD);
}

/* A host program that loads HIP with RTLD_LOCAL (Python does) keeps the runtime out
 * of the scope that RTLD_NEXT searches. The runtime's own library first: another one
 * could be a wrapper that leads back to us. */
static void *find(const char *name, void *self, bool runtime_only, struct owner *last)
{
	void *f = dlsym(RTLD_NEXT, name);

	if (f && f != self) {
		pin(f, last);
		return f;
	}
	f = search(name, self, true);
	return f || runtime_only ? f : search(name, self, false);
}

void *next_or(const char *name, void *self, void *none)
{
	struct owner none_yet = {0};
	int saved = errno;
	void *f = find(name, self, false, &none_yet);

	(void)dlerror(); /* left only if the last library could not be opened */
	errno = saved;
	return f ? f : none;
}

void next_resolve(void)
{
	struct owner last = {0};
	const struct next *next;
	int saved = errno;
	void *f, *unfound;

	for (next = __start_kfdshim_next; next != __stop_kfdshim_next; next++) {
		unfound = next->unfound;
		if (__atomic_load_n(next->pointer, __ATOMIC_RELAXED) != unfound)
			continue;
		f = find(next->name, next->self, true, &last);
		if (f)
			__atomic_compare_exchange_n(next->pointer, &unfound, f, false,
						    __ATOMIC_RELAXED, __ATOMIC_RELAXED);
	}
	errno = saved;
}

// SPDX-License-Identifier: MIT
#include <dlfcn.h>
#include <limits.h>
#include <link.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "preload/preload_priv.h"

/*
 * Begin and end of the table of wrapped functions (struct next_symbol), which the linker collects.
 *
 * Each dlsym and dlopen, also one that succeeds, drops the calling thread's pending dlerror()
 * message (glibc 2.36), and this library cannot restore a message of the program. But this library
 * calls them only at the first call of a wrapped function, and at the first ioctl on the device. So
 * a message of the program is lost only if one of these comes between the failure and the program's
 * dlerror(). This library never leaves messages of its own failures behind.
 */

extern const struct next_symbol __start_kfdshim_next[] HIDDEN;
extern const struct next_symbol __stop_kfdshim_next[] HIDDEN;

/* State of a search for the n-th loaded library, or the n-th HSA runtime, by dl_iterate_phdr(). */
struct nth_object {
	size_t left; /* number of libraries still to be skipped */
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
 * Searches the loaded libraries one after the other (with runtime_only: only the HSA runtimes) for
 * a definition of `name` that is not `self`. Returns it, or NULL. The libraries' names are fetched
 * one at a time, because a dlopen inside of dl_iterate_phdr would take the dynamic linker's locks
 * in the wrong order. The handle of the library with the definition is not closed, so that it stays
 * loaded.
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

/* The segment that contains the address `f`, and the name of the segment's library. */
struct symbol_owner {
	uintptr_t f, begin, end; /* end 0: not found */
	char name[PATH_MAX];
};

static int is_owner(struct dl_phdr_info *info, size_t size, void *data)
{
	struct symbol_owner *owner = data;
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

/* Keeps the library of function `f` loaded, because the pointer to `f` is kept for ever, and a
 * library that was loaded after the program's start could be unloaded. Does not use dladdr, which
 * searches all symbols. *last is a cache: the next symbol is most often in the same library. */
static void pin(void *f, struct symbol_owner *last)
{
	if ((uintptr_t)f >= last->begin && (uintptr_t)f < last->end)
		return;
	*last = (struct symbol_owner){.f = (uintptr_t)f};
	if (dl_iterate_phdr(is_owner, last) && last->name[0])
		(void)dlopen(last->name, RTLD_LAZY | RTLD_NOLOAD);
}

/* Finds the next definition of @name, which is not @self. Searches where RTLD_NEXT searches. This
 * does not find the runtime if a program loads HIP with RTLD_LOCAL (as Python does). So then
 * searches the loaded HSA runtimes and, unless @runtime_only, all loaded libraries. The runtimes
 * come first, because another library could be a wrapper that leads back to this one. */
static void *find(const char *name, void *self, bool runtime_only, struct symbol_owner *last)
{
	void *f = dlsym(RTLD_NEXT, name);

	if (f && f != self) {
		pin(f, last);
		return f;
	}
	f = search(name, self, true);
	return f || runtime_only ? f : search(name, self, false);
}

void *next_find(const struct next_symbol *entry, void *none)
{
	struct symbol_owner none_yet = {0};
	int saved = errno;
	void *f = find(entry->name, entry->self, false, &none_yet);

	if (!f)
		f = none;
	__atomic_store_n(entry->pointer, f, __ATOMIC_RELAXED);
	(void)dlerror(); /* drop the message about a library that could not be opened */
	errno = saved;
	return f;
}

void next_resolve(void)
{
	struct symbol_owner last = {0};
	const struct next_symbol *next;
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

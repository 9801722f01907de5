// SPDX-License-Identifier: MIT
/*
 * Finds which kernel is at an address. The runtime keeps a list of loaded code objects for
 * debuggers (_amdgpu_r_debug, with the layout of the dynamic linker's list). Each code object is an
 * ELF file with a symbol NAME.kd for every kernel. All of it is memory or files of the process, so
 * nothing in it is trusted.
 */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "sim/driver/queue.h"

#define RUNTIME_LIBRARY "libhsa-runtime64.so"
#define R_DEBUG_SYMBOL "_amdgpu_r_debug"
#define IMAGE_BYTES_MAX (256u << 20)
#define OBJECTS_MAX 4096

/* The bytes of one code object. */
struct image {
	char *bytes;
	size_t size;
	bool mapped; /* bytes are in `map`; else from malloc() */
	size_t map_size;
	char *map;
};

static int peek(const struct process *process, uint64_t va, void *to, size_t n)
{
	return task_memory(process->pid, va, to, n, false);
}

/* Reads a string of unknown length from the process, page by page, because the next page may not be
 * mapped. Returns 0 or -EFAULT. */
static int peek_string(const struct process *process, uint64_t va, char *to, size_t size)
{
	size_t have = 0;

	while (have + 1 < size) {
		size_t part = PAGE_BYTES - (va + have) % PAGE_BYTES;

		if (part > size - 1 - have)
			part = size - 1 - have;
		if (peek(process, va + have, to + have, part))
			return -EFAULT;
		if (memchr(to + have, '\0', part))
			return 0;
		have += part;
	}
	to[have] = '\0';
	return 0;
}

static void image_free(struct image *image)
{
	if (image->mapped)
		munmap(image->map, image->map_size);
	else
		free(image->bytes);
	image->bytes = NULL;
}

/* Maps a file that the process sees as @path. *@image gets @size bytes from @offset on; @size 0: up
 * to the end. Returns 0 or a negative errno. */
static int image_of_file(const struct process *process, const char *path, uint64_t offset,
			 uint64_t size, struct image *image)
{
	char full[4200];
	struct stat st;
	int fd;

	snprintf(full, sizeof full, "/proc/%d/root%s", process->pid, path);
	fd = open(full, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	if (fstat(fd, &st) || !S_ISREG(st.st_mode) || offset > (uint64_t)st.st_size) {
		close(fd);
		return -EINVAL;
	}
	if (!size || size > (uint64_t)st.st_size - offset)
		size = (uint64_t)st.st_size - offset;
	image->map_size = (size_t)st.st_size;
	image->map = mmap(NULL, image->map_size, PROT_READ, MAP_PRIVATE, fd, 0);
	close(fd);
	if (image->map == MAP_FAILED)
		return -errno;
	image->mapped = true;
	image->bytes = image->map + offset;
	image->size = (size_t)size;
	return 0;
}

static int image_of_memory(const struct process *process, uint64_t va, uint64_t size,
			   struct image *image)
{
	if (!size || size > IMAGE_BYTES_MAX)
		return -EINVAL;
	image->mapped = false;
	image->size = (size_t)size;
	image->bytes = malloc(image->size);
	if (!image->bytes)
		return -ENOMEM;
	if (!peek(process, va, image->bytes, image->size))
		return 0;
	image_free(image);
	return -EFAULT;
}

/* Loads the code object that a URI names: file://PATH[#offset=N&size=N], with %XX in the path, or
 * memory://PID#offset=N&size=N. */
static int image_of_uri(const struct process *process, char *uri, struct image *image)
{
	char *fragment = strchr(uri, '#'), *found;
	uint64_t offset = 0, size = 0;
	char *in, *out;

	if (fragment) {
		*fragment++ = '\0';
		found = strstr(fragment, "offset=");
		offset = found ? strtoull(found + 7, NULL, 0) : 0;
		found = strstr(fragment, "size=");
		size = found ? strtoull(found + 5, NULL, 0) : 0;
	}
	if (!strncmp(uri, "memory://", 9))
		return image_of_memory(process, offset, size, image);
	if (strncmp(uri, "file://", 7))
		return -EINVAL;
	for (in = out = uri + 7; *in; in++) {
		char hex[3] = {in[0] == '%' ? in[1] : '\0', 0, 0};

		if (hex[0] && in[2]) {
			hex[1] = in[2];
			*out++ = (char)strtoul(hex, NULL, 16);
			in += 2;
		} else {
			*out++ = *in;
		}
	}
	*out = '\0';
	return image_of_file(process, uri + 7, offset, size, image);
}

/* Returns a pointer into the code object, or NULL if [offset, offset + size) is not in it. */
static const char *part(const struct image *image, uint64_t offset, uint64_t size)
{
	return offset <= image->size && size <= image->size - offset ? image->bytes + offset : NULL;
}

/* Copies bytes of the code object, because its structures need not be aligned. Returns false if
 * [offset, offset + n) is not in it. */
static bool take(const struct image *image, uint64_t offset, void *to, size_t n)
{
	const char *from = part(image, offset, n);

	if (from)
		memcpy(to, from, n);
	return from;
}

/* Calls @symbol for each named symbol of the code object until @symbol returns true. */
static void symbols(const struct image *image,
		    bool (*symbol)(void *arg, const char *name, uint64_t value), void *arg)
{
	Elf64_Ehdr header;

	if (!take(image, 0, &header, sizeof header) || memcmp(header.e_ident, ELFMAG, SELFMAG))
		return;
	for (unsigned i = 0; i < header.e_shnum; i++) {
		Elf64_Shdr table, strings;
		const char *names;
		Elf64_Sym s;

		if (!take(image, header.e_shoff + i * sizeof table, &table, sizeof table) ||
		    (table.sh_type != SHT_DYNSYM && table.sh_type != SHT_SYMTAB) ||
		    !take(image, header.e_shoff + table.sh_link * sizeof strings, &strings,
			  sizeof strings))
			continue;
		names = part(image, strings.sh_offset, strings.sh_size);
		if (!names || !strings.sh_size || names[strings.sh_size - 1])
			continue;
		for (uint64_t k = 0; k < table.sh_size / sizeof s; k++) {
			if (!take(image, table.sh_offset + k * sizeof s, &s, sizeof s))
				break;
			if (s.st_name && s.st_name < strings.sh_size &&
			    symbol(arg, names + s.st_name, s.st_value))
				return;
		}
	}
}

struct wanted {
	uint64_t value;
};

static bool is_r_debug(void *arg, const char *name, uint64_t value)
{
	struct wanted *wanted = arg;

	if (strcmp(name, R_DEBUG_SYMBOL))
		return false;
	wanted->value = value;
	return true;
}

/* Returns the address of _amdgpu_r_debug in the process: the symbol's value in the runtime's
 * library file plus the address at which the process has mapped the library. Returns 0 if it has no
 * such library. */
uint64_t codeobj_r_debug(struct process *process)
{
	char path[48], line[4200], *at;
	struct wanted wanted = {0};
	struct image image;
	uint64_t base = 0;
	FILE *maps;

	snprintf(path, sizeof path, "/proc/%d/maps", process->pid);
	maps = fopen(path, "re");
	if (!maps)
		return 0;
	while (fgets(line, sizeof line, maps)) {
		at = strchr(line, '/');
		if (!at || !strstr(at, RUNTIME_LIBRARY))
			continue;
		at[strcspn(at, "\n")] = '\0';
		base = strtoull(line, NULL, 16);
		if (!image_of_file(process, at, 0, 0, &image)) {
			symbols(&image, is_r_debug, &wanted);
			image_free(&image);
		}
		break;
	}
	fclose(maps);
	return wanted.value ? base + wanted.value : 0;
}

struct finding {
	uint64_t load_address;
	void (*found)(void *arg, uint64_t kernel_object, const char *name);
	void *arg;
};

/* Calls finding->found for a symbol that ends in ".kd", with its name without that ending. Returns
 * false, so that the search continues. */
static bool is_kernel(void *arg, const char *name, uint64_t value)
{
	struct finding *finding = arg;
	size_t n = strlen(name);
	char kernel[256];

	if (n <= 3 || n - 3 >= sizeof kernel || strcmp(name + n - 3, ".kd"))
		return false;
	memcpy(kernel, name, n - 3);
	kernel[n - 3] = '\0';
	finding->found(finding->arg, finding->load_address + value, kernel);
	return false;
}

int codeobj_walk(struct process *process, uint64_t r_debug,
		 bool (*seen)(void *arg, uint64_t load_address),
		 void (*found)(void *arg, uint64_t kernel_object, const char *name), void *arg)
{
	struct {
		uint64_t version, map;
	} list;
	struct {
		uint64_t address, name, dynamic, next, previous;
	} object;

	if (peek(process, r_debug, &list, sizeof list))
		return -EFAULT;
	for (unsigned i = 0; list.map && i < OBJECTS_MAX; i++, list.map = object.next) {
		struct finding finding = {.found = found, .arg = arg};
		struct image image;
		char uri[4200];

		if (peek(process, list.map, &object, sizeof object))
			return -EFAULT;
		if (seen(arg, object.address) ||
		    peek_string(process, object.name, uri, sizeof uri) ||
		    image_of_uri(process, uri, &image))
			continue;
		finding.load_address = object.address;
		symbols(&image, is_kernel, &finding);
		image_free(&image);
	}
	return 0;
}

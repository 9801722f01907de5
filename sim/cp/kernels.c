// SPDX-License-Identifier: MIT
/*
 * Finds out what a dispatched kernel is. Kernels are timed, not executed, except those whose effect
 * a program needs for correct results: the copy and fill kernels of the runtimes, and kfdreplay's
 * counting kernel.
 *
 * The copy and fill kernels of ROCr are in no code object. Each is recognised by its arguments,
 * which repeat the grid size and contain ranges of equal length. Those of HIP are in a code object
 * (blit_kernels.c).
 */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "common/array.h"
#include "sim/driver/queue.h"

/*
 * Finds which kernel is at an address. The runtime keeps a list of loaded code objects for
 * debuggers (_amdgpu_r_debug, with the layout of the dynamic linker's list). Each code object is an
 * ELF file with a symbol NAME.kd for every kernel. All of it is memory or files of the process, so
 * nothing in it is trusted.
 */

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
/* Returns the address of the runtime's list of code objects; 0: the process has no runtime. */
static uint64_t codeobj_r_debug(struct process *process)
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

/* Calls @found for each kernel symbol of each code object for which @seen returns false. @r_debug:
 * address of the list. Returns 0 or -EFAULT. */
static int codeobj_walk(struct process *process, uint64_t r_debug,
			bool (*seen)(void *arg, uint64_t load_address),
			void (*found)(void *arg, uint64_t kernel_object, const char *name),
			void *arg)
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

#define SPIN_NAME "kfdreplay_spin"
#define NS_PER_TICK 10u /* period of the 100 MHz counter that the kernel spins on */
/* Limits of a kernel's arguments, so that its time cannot overflow even with hostile values. */
#define TICKS_MAX (1ull << 50)
#define BYTES_MAX (1ull << 47)

/* One kernel of a process. */
struct kernel {
	uint64_t object; /* 0: entry is free */
	uint32_t record; /* index in world.kernels */
	bool named, spin;
	enum blit blit;
	bool logged; /* the missing effect was logged */
};

struct kernel_map {
	struct process *process;
	struct kernel *slots; /* hash table with open addressing; the size is a power of two */
	size_t size, used;
	uint64_t *loaded; /* load addresses of the code objects that were read */
	size_t n_loaded, cap_loaded;
	uint64_t r_debug;
};

/* Returns the entry of this kernel object, or the free entry where it belongs. */
static struct kernel *slot_of(const struct kernel_map *map, uint64_t object)
{
	size_t at = (size_t)(object * 0x9e3779b97f4a7c15ull >> 20) & (map->size - 1);

	while (map->slots[at].object && map->slots[at].object != object)
		at = (at + 1) & (map->size - 1);
	return &map->slots[at];
}

static int grow(struct kernel_map *map)
{
	size_t old_size = map->size, size = old_size ? 2 * old_size : 256;
	struct kernel *old = map->slots, *slots = calloc(size, sizeof *slots);

	if (!slots)
		return -ENOMEM;
	map->slots = slots;
	map->size = size;
	for (size_t i = 0; i < old_size; i++)
		if (old[i].object)
			*slot_of(map, old[i].object) = old[i];
	free(old);
	return 0;
}

static struct kernel *insert(struct kernel_map *map, uint64_t object)
{
	struct kernel *kernel;

	if (map->used * 2 >= map->size && grow(map))
		return NULL;
	kernel = slot_of(map, object);
	if (!kernel->object)
		map->used++;
	kernel->object = object;
	return kernel;
}

/* Returns true if the code object at this address was read already, and records it otherwise. */
static bool loaded_before(void *arg, uint64_t load_address)
{
	struct kernel_map *map = arg;

	for (size_t i = 0; i < map->n_loaded; i++)
		if (map->loaded[i] == load_address)
			return true;
	/* If there is no memory, the code object is read again later: slower, but correct. */
	if (!ARRAY_GROW(map->loaded, map->cap_loaded, map->n_loaded + 1))
		map->loaded[map->n_loaded++] = load_address;
	return false;
}

static void found_kernel(void *arg, uint64_t object, const char *name)
{
	struct kernel_map *map = arg;
	struct kernel *kernel = object ? insert(map, object) : NULL;

	if (!kernel)
		return;
	kernel->named = true;
	kernel->spin = !strcmp(name, SPIN_NAME);
	kernel->blit = blit_of_name(name);
	kernel->record = report_kernel_index(
		map->process->sim, name,
		kernel->spin || (kernel->blit != BLIT_NONE && kernel->blit != BLIT_UNKNOWN));
}

/* Returns the kernel at this address. If it is unknown, reads the code objects that were loaded
 * since the last call; a kernel that is in none of them is unnamed. NULL: no memory. */
static struct kernel *lookup(struct process *process, uint64_t object)
{
	struct kernel_map *map = process->kernels;
	struct kernel *kernel;

	if (!map) {
		map = process->kernels = calloc(1, sizeof *map);
		if (!map)
			return NULL;
		map->process = process;
	}
	if (!map->size && grow(map))
		return NULL;
	kernel = slot_of(map, object);
	if (kernel->object)
		return kernel;
	if (process->r_debug)
		map->r_debug = process->r_debug;
	if (!map->r_debug)
		map->r_debug = codeobj_r_debug(process);
	if (map->r_debug)
		codeobj_walk(process, map->r_debug, loaded_before, found_kernel, map);
	kernel = slot_of(map, object);
	if (kernel->object)
		return kernel;
	kernel = insert(map, object);
	if (kernel)
		kernel->record = report_kernel_index(process->sim, "(unnamed)", false);
	return kernel;
}

/* Arguments of ROCr's kernels: aligned copy, misaligned copy and fill. */
union blit_args {
	struct {
		uint64_t src, dst, edges[6], src_end, dst_end;
		uint32_t workitems;
	} aligned;
	struct {
		uint64_t src, dst, edges[2], src_end, dst_end;
		uint32_t workitems;
	} misaligned;
	struct {
		uint64_t dst, edge, end;
		uint32_t value, workitems;
	} fill;
};

/* Recognises ROCr's copy and fill kernels by their arguments, and fills in the packet. Returns
 * false for other kernels. */
static bool recognise_blit(const struct process *process, const struct dispatch *dispatch,
			   struct packet *packet)
{
	union blit_args a;
	uint32_t grid = dispatch->grid[0];

	memset(&a, 0, sizeof a);
	if (access_read(process, dispatch->kernarg, &a, sizeof a.aligned) &&
	    access_read(process, dispatch->kernarg, &a, sizeof a.fill))
		return false;
	if (a.aligned.workitems == grid && a.aligned.dst_end >= a.aligned.dst &&
	    a.aligned.dst_end - a.aligned.dst == a.aligned.src_end - a.aligned.src) {
		packet->kind = PACKET_COPY;
		packet->move.src = a.aligned.src;
		packet->move.dst = a.aligned.dst;
		packet->move.bytes = a.aligned.dst_end - a.aligned.dst;
	} else if (a.misaligned.workitems == grid && a.misaligned.dst_end >= a.misaligned.dst &&
		   a.misaligned.dst_end - a.misaligned.dst ==
			   a.misaligned.src_end - a.misaligned.src) {
		packet->kind = PACKET_COPY;
		packet->move.src = a.misaligned.src;
		packet->move.dst = a.misaligned.dst;
		packet->move.bytes = a.misaligned.dst_end - a.misaligned.dst;
	} else if (a.fill.workitems == grid && a.fill.edge >= a.fill.dst &&
		   a.fill.end >= a.fill.edge) {
		packet->kind = PACKET_FILL;
		packet->move.dst = a.fill.dst;
		packet->move.bytes = a.fill.end - a.fill.dst;
		packet->move.value = a.fill.value;
		packet->move.element = 4;
	} else {
		return false;
	}
	return true;
}

/* Returns the time of one workgroup of a copy or fill of @bytes. Workgroups that run at the same
 * time share the copy bandwidth. */
static uint64_t transfer_ns(const struct sim_config *config, const struct dispatch *dispatch,
			    uint64_t bytes)
{
	uint64_t threads = (uint64_t)dispatch->group[0] * dispatch->group[1] * dispatch->group[2];
	uint64_t wave_slots = (uint64_t)config->gpu.cus * config->gpu.wave_slots_per_cu;
	uint64_t at_once = wave_slots / ((threads + 63) / 64);
	uint64_t rounds = at_once ? (dispatch->workgroups + at_once - 1) / at_once : 1;

	return (uint64_t)((double)bytes * 1000.0 / (double)gb_bytes_us(config->node.blit_gb_per_s) /
			  (double)rounds);
}

int kernels_classify(struct process *process, const struct dispatch *dispatch,
		     struct packet *packet, uint64_t *wg_ns)
{
	const struct sim_config *config = &process->sim->config;
	struct kernel *kernel = lookup(process, dispatch->kernel_object);
	struct {
		uint64_t ticks, cells;
	} spin;

	if (!kernel)
		return -ENOMEM;
	packet->kind = PACKET_DISPATCH;
	packet->kernel = kernel->record;
	*wg_ns = us_ns(config->node.unknown_kernel_us);
	if (kernel->spin) {
		if (access_read(process, dispatch->kernarg, &spin, sizeof spin))
			return -EFAULT;
		if (spin.ticks > TICKS_MAX)
			spin.ticks = TICKS_MAX;
		packet->kind = PACKET_SPIN;
		packet->spin.cells = spin.cells;
		*wg_ns = spin.ticks * NS_PER_TICK;
	} else if (kernel->blit == BLIT_UNKNOWN) {
		if (!kernel->logged)
			sim_log("%s of pid %d is timed, not executed: the data that it moves is "
				"missing",
				process->sim->kernels[kernel->record].name, process->record->pid);
		kernel->logged = true;
	} else if (kernel->blit != BLIT_NONE) {
		uint64_t bytes;

		packet->kind = PACKET_BLIT;
		packet->blit = (struct blit_call){.which = kernel->blit,
						  .kernarg = dispatch->kernarg,
						  .items = dispatch->grid[0]};
		if (blit_bytes(process, &packet->blit, &bytes))
			return -EFAULT;
		*wg_ns = transfer_ns(config, dispatch, bytes);
	} else if (!kernel->named && recognise_blit(process, dispatch, packet)) {
		packet->kernel = report_kernel_index(
			process->sim,
			packet->kind == PACKET_COPY ? "(runtime copy)" : "(runtime fill)", true);
		if (packet->move.bytes > BYTES_MAX)
			return -EFAULT;
		*wg_ns = transfer_ns(config, dispatch, packet->move.bytes);
	}
	return 0;
}

/* Forgets the kernels in freed memory: a kernel that is loaded there later needs a new lookup. */
void kernels_forget(struct process *process, uint64_t va, uint64_t bytes)
{
	struct kernel_map *map = process->kernels;
	struct kernel *old;
	size_t old_size, n_valid = 0;
	bool hit = false;

	if (!map || !map->size)
		return;
	for (size_t i = 0; i < map->n_loaded; i++)
		if (map->loaded[i] - va >= bytes)
			map->loaded[n_valid++] = map->loaded[i];
	map->n_loaded = n_valid;
	for (size_t i = 0; i < map->size && !hit; i++)
		hit = map->slots[i].object && map->slots[i].object - va < bytes;
	if (!hit)
		return;
	old = map->slots;
	old_size = map->size;
	map->slots = calloc(old_size, sizeof *old);
	map->used = 0;
	if (!map->slots) {
		map->size = 0; /* all code objects are read again */
		map->n_loaded = 0;
	}
	for (size_t i = 0; map->slots && i < old_size; i++) {
		if (!old[i].object || old[i].object - va < bytes)
			continue;
		*slot_of(map, old[i].object) = old[i];
		map->used++;
	}
	free(old);
}

void kernels_release(struct process *process)
{
	if (!process->kernels)
		return;
	free(process->kernels->slots);
	free(process->kernels->loaded);
	free(process->kernels);
	process->kernels = NULL;
}

// SPDX-License-Identifier: MIT
/*
 * Allocates buffer objects in the render file. All render nodes are one sparse file on a tmpfs,
 * from which the processes map what they allocate. Each node has its own part of the file, so that
 * an offset means the same memory through every node's fd. Sizes are accounted as in the driver.
 * The host's own free memory is checked only where a buffer is certain to use it.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/statvfs.h>
#include <sys/sysinfo.h>
#include <unistd.h>

#include "common/array.h"
#include "common/clock.h"
#include "sim/driver/files.h"
#include "sim/driver/memory.h"

#define HEAP_START (1ull << 20)
#define BIG_ALIGN (2ull << 20)
#define HOST_LEFT_MIN (16ull << 20) /* below this the host counts as full */
#define HOST_READ_NS 10000000u	    /* time for which a reading of the host's free memory is used */
#define LOST_MAX 256u

/* amdgpu_amdkfd_gpuvm.c */
#define VRAM_STEP (2ull << 20)
#define PT_RESERVED_MIN (8ull << 20)
#define SYSTEM_RESERVED (3ull << 29)

/* Returns the offset at which the node's part of the render file begins. */
static uint64_t first_of(const struct node *node)
{
	return (uint64_t)(node - node->sim->nodes) * NODE_MEMORY_BYTES;
}

static uint64_t up(uint64_t bytes, uint64_t to)
{
	return (bytes + to - 1) & ~(to - 1);
}

/* Addresses of anonymous pages that were mapped where the host could not supply a page. */
static struct {
	volatile sig_atomic_t n;
	void *at[LOST_MAX];
} lost;
static struct sim *guarded;

/* Handles SIGBUS. If the address is in a node's memory, maps an anonymous page there and records it
 * in `lost`. Otherwise restores the default action. */
static void on_bus_error(int number, siginfo_t *info, void *context)
{
	uintptr_t page = (uintptr_t)info->si_addr & ~(uintptr_t)(PAGE_BYTES - 1);

	(void)context;
	for (uint32_t i = 0; guarded && i < guarded->nodes_n; i++) {
		uintptr_t start = (uintptr_t)guarded->nodes[i].memory;

		if (!start || page < start || page - start >= NODE_MEMORY_BYTES)
			continue;
		if (mmap((void *)page, PAGE_BYTES, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == MAP_FAILED)
			break;
		lost.at[(unsigned)lost.n % LOST_MAX] = (void *)page;
		lost.n++;
		return;
	}
	signal(number, SIG_DFL);
}

unsigned heap_lost(void)
{
	return (unsigned)lost.n;
}

void heap_mend(struct sim *sim)
{
	unsigned n = (unsigned)lost.n < LOST_MAX ? (unsigned)lost.n : LOST_MAX;

	for (unsigned k = 0; k < n; k++) {
		for (uint32_t i = 0; i < sim->nodes_n; i++) {
			struct node *node = &sim->nodes[i];
			uint64_t offset = (uint64_t)((char *)lost.at[k] - node->memory);

			if ((char *)lost.at[k] < node->memory || offset >= NODE_MEMORY_BYTES)
				continue;
			if (mmap(lost.at[k], PAGE_BYTES, PROT_READ | PROT_WRITE,
				 MAP_SHARED | MAP_NORESERVE | MAP_FIXED,
				 node->sim->config.render_fd,
				 (off_t)(first_of(node) + offset)) == MAP_FAILED)
				sim_log("cannot map a page of simulated memory again");
		}
	}
	sim->host_full += (unsigned)lost.n;
	lost.n = 0;
}

int heap_init(struct node *node)
{
	struct sigaction action = {.sa_sigaction = on_bus_error, .sa_flags = SA_SIGINFO};

	node->memory =
		mmap(NULL, NODE_MEMORY_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE,
		     node->sim->config.render_fd, (off_t)first_of(node));
	if (node->memory == MAP_FAILED) {
		node->memory = NULL;
		return -errno;
	}
	node->heap_end = HEAP_START;
	guarded = node->sim;
	return sigaction(SIGBUS, &action, NULL) ? -errno : 0;
}

void heap_done(struct node *node)
{
	if (node->memory)
		munmap(node->memory, NODE_MEMORY_BYTES);
	node->memory = NULL;
	free(node->holes);
	if (guarded == node->sim)
		guarded = NULL;
}

/* Allocates a range of the node's part of the file: from a hole that is large enough and aligned,
 * else at the end. Returns its offset in the part; 0: no room. */
static uint64_t heap_take(struct node *node, uint64_t bytes)
{
	uint64_t align = bytes >= BIG_ALIGN ? BIG_ALIGN : PAGE_BYTES, at;

	for (size_t i = 0; i < node->n_holes; i++) {
		struct extent *hole = &node->holes[i];

		if (hole->bytes < bytes || hole->offset & (align - 1))
			continue;
		at = hole->offset;
		hole->offset += bytes;
		hole->bytes -= bytes;
		if (!hole->bytes)
			*hole = node->holes[--node->n_holes];
		return at;
	}
	at = up(node->heap_end, align);
	if (bytes > NODE_MEMORY_BYTES - at)
		return 0;
	node->heap_end = at + bytes;
	return at;
}

/* Frees a range of the node's part of the file. Merges its hole with one neighbouring hole if there
 * is one. If the hole cannot be recorded, the range is not used again, but no memory is lost. */
static void heap_give(struct node *node, uint64_t offset, uint64_t bytes)
{
	fallocate(node->sim->config.render_fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
		  (off_t)(first_of(node) + offset), (off_t)bytes);
	for (size_t i = 0; i < node->n_holes; i++) {
		struct extent *hole = &node->holes[i];

		if (hole->offset + hole->bytes != offset && offset + bytes != hole->offset)
			continue;
		if (hole->offset > offset)
			hole->offset = offset;
		hole->bytes += bytes;
		return;
	}
	if (ARRAY_GROW(node->holes, node->cap_holes, node->n_holes + 1))
		return;
	node->holes[node->n_holes++] = (struct extent){offset, bytes};
}

/* Returns the memory that the kernel can supply without swapping; UINT64_MAX: not known. */
static uint64_t host_available(void)
{
	FILE *f = fopen("/proc/meminfo", "re");
	unsigned long long kib = 0;
	char line[128];
	bool found = false;

	while (f && !found && fgets(line, sizeof line, f))
		found = sscanf(line, "MemAvailable: %llu kB", &kib) == 1;
	if (f)
		fclose(f);
	return found ? kib * 1024 : UINT64_MAX;
}

/* Returns true if the host can supply @bytes. Programs touch memory some time after its allocation,
 * perhaps never. So allocations are subtracted from the last reading of the host's free memory only
 * until the next reading. If a program fills what it allocates, the readings fall and this returns
 * false in the end. */
static bool host_has(struct sim *sim, uint64_t bytes)
{
	uint64_t now = clock_ns();
	struct statvfs st;

	if (now - sim->host_read_ns >= HOST_READ_NS || bytes > sim->host_left) {
		sim->host_read_ns = now;
		sim->host_left = host_available();
		if (!fstatvfs(sim->config.render_fd, &st) && st.f_blocks &&
		    (uint64_t)st.f_bavail * st.f_frsize < sim->host_left)
			sim->host_left = (uint64_t)st.f_bavail * st.f_frsize;
	}
	if (bytes > sim->host_left)
		return false;
	sim->host_left -= bytes;
	return true;
}

uint64_t vram_reserved(const struct sim *sim)
{
	uint64_t all = sim->config.node.vram_bytes * sim->nodes_n, share = all >> 14;

	return share > PT_RESERVED_MIN ? share : PT_RESERVED_MIN;
}

uint64_t vram_available(const struct sim *sim, uint32_t node)
{
	uint64_t gone = sim->nodes[node].vram_aligned + vram_reserved(sim);

	if (!rule_holds(sim, RULE_available_memory_falls_in_2_mib_steps))
		gone = sim->nodes[node].vram_used;
	if (gone >= sim->config.node.vram_bytes)
		return 0;
	gone = sim->config.node.vram_bytes - gone;
	return rule_holds(sim, RULE_available_memory_falls_in_2_mib_steps) ? gone & ~(VRAM_STEP - 1)
									   : gone;
}

/* Returns the driver's limit of system memory for GPUs, computed from the machine's memory. */
static uint64_t system_limit(void)
{
	static uint64_t limit;
	struct sysinfo info;

	if (limit || sysinfo(&info))
		return limit ? limit : UINT64_MAX;
	limit = (uint64_t)info.totalram * info.mem_unit;
	limit -= limit >> 6;
	if (limit < 2 * SYSTEM_RESERVED)
		limit >>= 1;
	else
		limit -= SYSTEM_RESERVED;
	return limit;
}

int system_take(struct sim *sim, uint64_t bytes)
{
	if (bytes > system_limit() || sim->system_used > system_limit() - bytes)
		return -ENOMEM;
	sim->system_used += bytes;
	debugfs_changed(sim);
	return 0;
}

void system_give(struct sim *sim, uint64_t bytes)
{
	sim->system_used -= bytes;
	debugfs_changed(sim);
}

/* Writes mem_info_vram_used of the GPU to which the node belongs, if there is such a file. */
static void write_used(const struct sim *sim, const struct node *node)
{
	uint32_t bus = sim->config.locations[node - sim->nodes] >> 8 & 0xff;
	uint64_t used = 0;
	char text[96];
	int fd, n;

	snprintf(text, sizeof text, "../../../pci0000:00/0000:%02x:00.0/mem_info_vram_used", bus);
	fd = openat(sim->config.sim_json_dirfd, text, O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return;
	for (uint32_t i = 0; i < sim->nodes_n; i++)
		if ((sim->config.locations[i] >> 8 & 0xff) == bus)
			used += sim->nodes[i].vram_used;
	n = snprintf(text, sizeof text, "%llu\n", (unsigned long long)used);
	/* A reader between the two calls finds the new number in the first line. */
	if (pwrite(fd, text, (size_t)n, 0) == n && ftruncate(fd, n))
		sim_log("cannot cut mem_info_vram_used (%s)", strerror(errno));
	close(fd);
}

/* Adds a buffer of @bytes to the memory in use, if the driver's limits and the host allow it.
 * Returns 0 or -ENOMEM. */
static int account(struct sim *sim, struct node *node, uint64_t bytes, bool vram)
{
	uint64_t limit = sim->config.node.vram_bytes, reserved = vram_reserved(sim);

	if (vram) {
		limit = limit > reserved ? limit - reserved : 0;
		if (rule_holds(sim, RULE_alloc_beyond_vram_is_enomem) &&
		    (bytes > limit || node->vram_used > limit - bytes))
			return -ENOMEM;
		if (!host_has(sim, bytes < HOST_LEFT_MIN ? bytes : HOST_LEFT_MIN))
			return -ENOMEM;
		node->vram_used += bytes;
		node->vram_aligned += up(bytes, VRAM_STEP);
		write_used(sim, node);
		return 0;
	}
	if (bytes > sim->config.node.gtt_bytes ||
	    sim->gtt_used > sim->config.node.gtt_bytes - bytes || !host_has(sim, bytes) ||
	    system_take(sim, bytes))
		return -ENOMEM;
	sim->gtt_used += bytes;
	return 0;
}

static void unaccount(struct sim *sim, struct node *node, uint64_t bytes, bool vram)
{
	if (vram) {
		node->vram_used -= bytes;
		node->vram_aligned -= up(bytes, VRAM_STEP);
		write_used(sim, node);
	} else {
		sim->gtt_used -= bytes;
		system_give(sim, bytes);
	}
}

int pages_new(struct sim *sim, uint32_t node, uint64_t bytes, bool vram, struct pages **out)
{
	struct pages *pages;
	int r;

	if (!bytes || bytes > NODE_MEMORY_BYTES)
		return -ENOMEM;
	bytes = up(bytes, PAGE_BYTES);
	r = account(sim, &sim->nodes[node], bytes, vram);
	if (r)
		return r;
	pages = calloc(1, sizeof *pages);
	if (pages)
		pages->at = heap_take(&sim->nodes[node], bytes);
	if (!pages || !pages->at) {
		free(pages);
		unaccount(sim, &sim->nodes[node], bytes, vram);
		return -ENOMEM;
	}
	pages->sim = sim;
	pages->offset = first_of(&sim->nodes[node]) + pages->at;
	pages->node = node;
	pages->bytes = bytes;
	pages->vram = vram;
	pages->refs = 1;
	*out = pages;
	return 0;
}

int pages_new_user(struct sim *sim, uint32_t node, uint64_t va, uint64_t bytes, struct pages **out)
{
	struct pages *pages;
	int r = system_take(sim, bytes);

	if (r)
		return r;
	pages = calloc(1, sizeof *pages);
	if (!pages) {
		system_give(sim, bytes);
		return -ENOMEM;
	}
	*pages = (struct pages){.sim = sim, .node = node, .bytes = bytes, .user_va = va, .refs = 1};
	*out = pages;
	return 0;
}

struct pages *pages_ref(struct pages *pages)
{
	pages->refs++;
	return pages;
}

void pages_unref(struct pages *pages)
{
	struct sim *sim;

	if (!pages || --pages->refs)
		return;
	sim = pages->sim;
	if (pages->user_va) {
		system_give(sim, pages->bytes);
	} else {
		heap_give(&sim->nodes[pages->node], pages->at, pages->bytes);
		unaccount(sim, &sim->nodes[pages->node], pages->bytes, pages->vram);
	}
	free(pages->metadata);
	free(pages);
}

char *pages_at(const struct pages *pages, uint64_t offset)
{
	return pages->sim->nodes[pages->node].memory + pages->at + offset;
}

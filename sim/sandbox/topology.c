// SPDX-License-Identifier: MIT
/*
 * Writes the KFD topology. The files and properties that the runtimes need were found by leaving
 * each of them out. Layout and names: the kernel's kfd_topology.c (6.12). Directory 0 is the CPU;
 * node i of the machine is directory i + 1.
 */
#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

#include "sim/sandbox/mounts.h"
#include "sim/sandbox/profile.h"

/* ---- PCI and DRM devices ----
 * Writes the sysfs files of the nodes' PCI and DRM devices, as libdrm, libpci and management
 * libraries expect them, and of the driver's module.
 *
 * The DRM nodes of a GPU's first node are below its PCI device. Those of the other nodes, in mode
 * CPX, are below platform devices named amdgpu_xcp_0, 1, ..., numbered over the whole machine (the
 * driver's amdgpu_xcp_drv.c).
 */

#define CLASS_DISPLAY_OTHER 0x038000u
#define DRM_MAJOR 226

/* Returns the path of a file of a PCI device, valid as long as a result of tree_name(). */
static const char *pci_path(unsigned bus, const char *name)
{
	return tree_name("sys/devices/pci0000:00/0000:%02x:00.0/%s", bus, name);
}

/* Writes a DRM node: its directory below the device (a path below /sys) and the links to it. */
static void drm_node(const char *device, const char *name, unsigned minor)
{
	const char *target = tree_name("../../%s/drm/%s", device, name);

	tree_link(tree_name("sys/class/drm/%s", name), target);
	tree_link(tree_name("sys/dev/char/%d:%u", DRM_MAJOR, minor), target);
	tree_link(tree_name("sys/%s/drm/%s/device", device, name), "../..");
	tree_file(tree_name("sys/%s/drm/%s/dev", device, name), "%d:%u\n", DRM_MAJOR, minor);
	tree_file(tree_name("sys/%s/drm/%s/uevent", device, name),
		  "MAJOR=%d\nMINOR=%u\nDEVNAME=dri/%s\nDEVTYPE=drm_minor\n", DRM_MAJOR, minor,
		  name);
}

/* Writes the render node and the card of one node. */
static void drm_device(const char *device, unsigned node)
{
	char name[32];

	snprintf(name, sizeof(name), "renderD%u", RENDER_MINOR + node);
	drm_node(device, name, RENDER_MINOR + node);
	snprintf(name, sizeof(name), "card%u", node);
	drm_node(device, name, node);
}

static void pci_text(unsigned bus, const char *name, const char *text)
{
	tree_file(pci_path(bus, name), "%s\n", text);
}

/* Writes the ids of a PCI device. */
static void pci_identity(const struct machine *m, const struct machine_gpu *gpu)
{
	const struct profile *p = m->profile;
	const struct {
		const char *name;
		unsigned value;
		int digits;
	} numbers[] = {
		{"vendor", VENDOR_AMD, 4},
		{"device", p->device_id, 4},
		{"revision", p->pci_revision, 2},
		{"subsystem_vendor", VENDOR_AMD, 4},
		{"subsystem_device", p->device_id, 4},
		{"class", CLASS_DISPLAY_OTHER, 6},
	};

	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
		tree_file(pci_path(gpu->bus, numbers[i].name), "0x%0*x\n", numbers[i].digits,
			  numbers[i].value);
	tree_file(pci_path(gpu->bus, "uevent"),
		  "DRIVER=amdgpu\nPCI_CLASS=%X\nPCI_ID=%04X:%04X\n"
		  "PCI_SUBSYS_ID=%04X:%04X\nPCI_SLOT_NAME=0000:%02x:00.0\n",
		  CLASS_DISPLAY_OTHER, VENDOR_AMD, p->device_id, VENDOR_AMD, p->device_id,
		  gpu->bus);
	tree_file(pci_path(gpu->bus, "unique_id"), "%016" PRIx64 "\n", gpu->unique_id);
}

/* Writes the header of the configuration space for lspci and libpciaccess (type 0 of the PCI
 * specification), without capabilities. */
static void pci_config(const struct machine *m, const struct machine_gpu *gpu)
{
	const struct profile *p = m->profile;
	uint8_t header[64] = {
		[0x00] = VENDOR_AMD & 0xff,
		[0x01] = VENDOR_AMD >> 8,
		[0x02] = p->device_id & 0xff,
		[0x03] = (uint8_t)(p->device_id >> 8),
		[0x04] = 0x06, /* memory space, bus master */
		[0x08] = (uint8_t)p->pci_revision,
		[0x0a] = CLASS_DISPLAY_OTHER >> 8 & 0xff,
		[0x0b] = CLASS_DISPLAY_OTHER >> 16,
		[0x2c] = VENDOR_AMD & 0xff,
		[0x2d] = VENDOR_AMD >> 8,
		[0x2e] = p->device_id & 0xff,
		[0x2f] = (uint8_t)(p->device_id >> 8),
	};

	tree_bytes(pci_path(gpu->bus, "config"), header, sizeof(header));
}

/* Writes the GPU's memory sizes and its NUMA node: 0, because the topology has one CPU node.
 * mem_info_vram_used is updated later by allocations (sim/host/pages.c). */
static void pci_memory(const struct machine *m, const struct machine_gpu *gpu)
{
	tree_file(pci_path(gpu->bus, "mem_info_vram_total"), "%" PRIu64 "\n",
		  m->profile->vram_bytes);
	pci_text(gpu->bus, "mem_info_vram_used", "0");
	pci_text(gpu->bus, "numa_node", "0");
}

/* Writes the partition mode. Only GPUs with several XCCs have modes (amdgpu_gfx.c). */
static void partition_mode(const struct machine *m, const struct machine_gpu *gpu)
{
	if (m->profile->num_xcc == 1)
		return;
	pci_text(gpu->bus, "current_compute_partition", m->profile->partitions > 1 ? "CPX" : "SPX");
	pci_text(gpu->bus, "available_compute_partition", "SPX, CPX");
}

/*
 * Writes the IP blocks that the driver reads from the discovery table of the chip. Parts before
 * MI300 have no table that the driver reads. Numbers and names: the kernel's soc15_hw_ip.h and
 * amdgpu_discovery.c; versions: those by which the driver identifies MI300.
 */
static void ip_discovery(const struct machine *m, const struct machine_gpu *gpu)
{
	static const struct {
		const char *name;
		unsigned id, major, minor, revision;
	} ips[] = {
		{"MP1", 1, 13, 0, 6},	 {"GC", 11, 9, 4, 3},	 {"MMHUB", 34, 1, 8, 0},
		{"OSSSYS", 40, 4, 4, 2}, {"HDP", 41, 4, 4, 2},	 {"SDMA0", 42, 4, 4, 2},
		{"NBIF", 108, 7, 9, 0},	 {"MP0", 255, 13, 0, 6},
	};
	char name[64];

	if (m->profile->gfx_target_version < GFX942)
		return;
	for (size_t i = 0; i < sizeof(ips) / sizeof(ips[0]); i++) {
		const struct {
			const char *name;
			unsigned value;
		} files[] = {{"hw_id", ips[i].id},
			     {"instance_number", 0},
			     {"major", ips[i].major},
			     {"minor", ips[i].minor},
			     {"revision", ips[i].revision}};

		for (size_t j = 0; j < sizeof(files) / sizeof(files[0]); j++) {
			snprintf(name, sizeof(name), "ip_discovery/die/0/%u/0/%s", ips[i].id,
				 files[j].name);
			tree_file(pci_path(gpu->bus, name), "%u\n", files[j].value);
		}
		snprintf(name, sizeof(name), "ip_discovery/die/0/%s", ips[i].name);
		tree_link(pci_path(gpu->bus, name), tree_name("%u", ips[i].id));
	}
}

static void pci_device(const struct machine *m, const struct machine_gpu *gpu)
{
	pci_identity(m, gpu);
	pci_config(m, gpu);
	pci_memory(m, gpu);
	partition_mode(m, gpu);
	ip_discovery(m, gpu);
	tree_link(pci_path(gpu->bus, "subsystem"), "../../../bus/pci");
	tree_link(tree_name("sys/bus/pci/devices/0000:%02x:00.0", gpu->bus),
		  tree_name("../../../devices/pci0000:00/0000:%02x:00.0", gpu->bus));
}

/* Writes the files of the driver's module. */
static void module(const struct machine *m)
{
	tree_file("sys/module/amdgpu/initstate", "live\n");
	tree_file("sys/module/amdgpu/refcnt", "%u\n", m->n_gpus);
	tree_file("sys/module/amdgpu/version", "%s\n", kfdabi_kernel_name(m->kernel));
	tree_dir("sys/module/amdgpu/holders");
	/* The parameters with which the simulated driver was loaded. */
	tree_file("sys/module/amdgpu/parameters/cwsr_enable", "%u\n", m->node_profile.cwsr_enable);
	tree_file("sys/module/amdgpu/parameters/sched_policy", "0\n");
}

static void pci_write(const struct machine *m)
{
	char device[64];
	unsigned xcp = 0;

	for (unsigned i = 0; i < m->n_gpus; i++)
		pci_device(m, &m->gpus[i]);
	for (unsigned i = 0; i < m->n_nodes; i++) {
		if (!m->nodes[i].partition) {
			snprintf(device, sizeof(device), "devices/pci0000:00/0000:%02x:00.0",
				 m->gpus[m->nodes[i].gpu].bus);
		} else {
			/* the platform device of a partition in mode CPX */
			snprintf(device, sizeof(device), "devices/platform/amdgpu_xcp_%u", xcp++);
			tree_link(tree_name("sys/%s/subsystem", device), "../../../bus/platform");
		}
		drm_device(device, i);
	}
	module(m);
}

#define TOPOLOGY "sys/devices/virtual/kfd/kfd/topology"
#define NODES TOPOLOGY "/nodes"
#define UNUSED_MINOR 64 /* beyond the number of nodes */
/* Types of heaps and links, as in the kernel's kfd_crat.h. */
#define HEAP_SYSTEM 0
#define HEAP_FB_PUBLIC 1 /* the CPU can map all of VRAM */
#define LINK_PCIE 2
#define LINK_XGMI 11
#define LINK_ENABLED 1
/* Number of CUs of an array before the gap of those that are fused off (see the caches below). */
#define GAP_AT 5u
#define CACHE_DATA 9 /* data 1 + SIMD 8 (kfd_crat.h) */
/* Type of an instruction cache: sum of the flags 2 (instruction) and 8 (SIMD) of kfd_crat.h. */
#define CACHE_INST 10
#define ARRAYS_MAX 64u /* most arrays in a sibling map; further ones are left out */
#define MAP_WORD 32u   /* flags per array in a sibling map */
/* Weight and bandwidth of links between the partitions of one GPU (SAME), and weight of links
 * between partitions of two GPUs (OTHER), which have no bandwidth. The values are from the sysfs of
 * real machines in mode CPX (named in sim/profiles/mi300x.ini). */
#define CPX_SAME_WEIGHT 13
#define CPX_SAME_MB_PER_S 819200
#define CPX_OTHER_WEIGHT 41

struct io_link {
	int type;
	uint32_t weight, min_mb_per_s, max_mb_per_s;
	uint32_t engines; /* mask of the SDMA engines for this link */
};

/* Returns the mask of the SDMA engines for copies with the host. */
static uint32_t host_engines(const struct profile *p)
{
	return (1u << p->num_sdma_engines) - 1;
}

/* Returns the mask of the SDMA engines for copies to peers: all, if there are no XGMI engines. */
static uint32_t peer_engines(const struct profile *p)
{
	uint32_t all = (uint32_t)((1ull << (p->num_sdma_engines + p->num_sdma_xgmi_engines)) - 1);

	return p->num_sdma_xgmi_engines ? all & ~host_engines(p) : all;
}

/* Fills in *link with the direct link from node @a to node @b. Returns false if they are connected
 * only through the CPU. */
static bool direct_link(const struct machine *m, unsigned a, unsigned b, struct io_link *link)
{
	const struct profile *whole = m->profile;
	unsigned gpu_a = m->nodes[a].gpu, gpu_b = m->nodes[b].gpu;
	unsigned hive = whole->hive_gpus;

	*link = (struct io_link){.type = LINK_XGMI, .engines = peer_engines(&m->node_profile)};
	if (gpu_a == gpu_b) {
		link->weight = CPX_SAME_WEIGHT;
		link->min_mb_per_s = link->max_mb_per_s = CPX_SAME_MB_PER_S;
		return true;
	}
	if (gpu_a / hive != gpu_b / hive)
		return false;
	if (whole->partitions > 1) {
		link->weight = CPX_OTHER_WEIGHT;
		return true;
	}
	link->weight = whole->xgmi_weight;
	link->min_mb_per_s = link->max_mb_per_s = whole->xgmi_mb_per_s;
	return true;
}

static unsigned count_links(const struct machine *m, unsigned node, bool direct)
{
	struct io_link link;
	unsigned n = 0;

	for (unsigned i = 0; i < m->n_nodes; i++)
		n += i != node && direct_link(m, node, i, &link) == direct;
	return n;
}

static void write_link(const char *kind, unsigned index, unsigned from, unsigned to,
		       const struct io_link *link)
{
	tree_file(tree_name(NODES "/%u/%s/%u/properties", from, kind, index),
		  "type %d\nversion_major 0\nversion_minor 0\nnode_from %u\nnode_to %u\n"
		  "weight %u\nmin_latency 0\nmax_latency 0\n"
		  "min_bandwidth %u\nmax_bandwidth %u\n"
		  "recommended_transfer_size 0\nrecommended_sdma_engine_id_mask %u\n"
		  "flags %d\n",
		  link->type, from, to, link->weight, link->min_mb_per_s, link->max_mb_per_s,
		  link->engines, LINK_ENABLED);
}

static struct io_link host_link(const struct machine *m)
{
	const struct profile *p = &m->node_profile;

	return (struct io_link){LINK_PCIE, p->link_weight, p->link_min_mb_per_s,
				p->link_max_mb_per_s, host_engines(p)};
}

/* Writes the links of a GPU node: io_links to the CPU and to nodes with a direct link, p2p_links to
 * the others, through the CPU. */
static void gpu_links(const struct machine *m, unsigned node)
{
	struct io_link link = host_link(m);
	const struct io_link over_cpu = {.type = LINK_PCIE, .weight = 2 * m->profile->link_weight};
	unsigned direct = 0, indirect = 0;

	write_link("io_links", direct++, node + 1, 0, &link);
	for (unsigned i = 0; i < m->n_nodes; i++) {
		if (i == node)
			continue;
		if (direct_link(m, node, i, &link))
			write_link("io_links", direct++, node + 1, i + 1, &link);
		else
			write_link("p2p_links", indirect++, node + 1, i + 1, &over_cpu);
	}
	if (!indirect)
		tree_dir(tree_name(NODES "/%u/p2p_links", node + 1));
}

/*
 * The caches of a GPU node, in the driver's order (kfd_fill_cache_non_crat_info()): an L1 data
 * cache for every compute unit (CU) in use; an instruction cache and a scalar L1 cache for every
 * group of CUs that share them; one L2 cache and, if the GPU has one, one L3 cache for the whole
 * node. Which CUs of an array are fused off differs from card to card. Here the gap always follows
 * the fifth CU, which results in the same number of caches as on real machines.
 */

/* An array has `slots` places for CUs, of which `gap` are fused off; the first `fuller` arrays
 * have one more CU. */
struct shape {
	unsigned arrays, slots, gap, fuller;
};

/* Distributes the CUs of the node over its arrays. */
static struct shape shape_of(const struct profile *node)
{
	unsigned cus = (unsigned)(node->simd_count / node->simd_per_cu);
	struct shape s = {
		.arrays = node->array_count,
		.slots = node->cu_per_simd_array,
	};

	s.fuller = cus % s.arrays;
	s.gap = s.slots - cus / s.arrays;
	return s;
}

static bool cu_in_use(const struct shape *s, unsigned array, unsigned slot)
{
	unsigned gap = s->gap - (array < s->fuller);
	unsigned at = GAP_AT + gap > s->slots ? s->slots - gap : GAP_AT;

	return slot < at || slot >= at + gap;
}

/* Searches the `n` CUs from number `from` on. Returns the first one in use, or -1. Sets in *flags
 * one bit for each CU in use; bit 0 is the returned CU. */
static int group_flags(const struct shape *s, unsigned array, unsigned from, unsigned n,
		       unsigned *flags)
{
	int first = -1;

	*flags = 0;
	for (unsigned slot = from; slot < from + n && slot < s->slots; slot++) {
		if (!cu_in_use(s, array, slot))
			continue;
		if (first < 0)
			first = (int)slot;
		*flags |= 1u << (slot - (unsigned)first);
	}
	return first;
}

static unsigned caches_count(const struct machine *machine)
{
	const struct profile *node = &machine->node_profile;
	struct shape s = shape_of(node);
	unsigned cus = 0, groups = 0, flags;

	for (unsigned array = 0; array < s.arrays; array++) {
		for (unsigned slot = 0; slot < s.slots; slot++)
			cus += cu_in_use(&s, array, slot);
		for (unsigned slot = 0; slot < s.slots; slot += node->cus_per_inst_cache)
			groups +=
				group_flags(&s, array, slot, node->cus_per_inst_cache, &flags) >= 0;
	}
	return cus + 2 * groups + 1 + (node->l3_size_in_kb > 0);
}

struct cache {
	unsigned first, level;
	int type;
	uint32_t kib, line;
	const char *siblings;
};

static void write_cache(unsigned directory, unsigned *index, const struct cache *cache)
{
	tree_file(tree_name(NODES "/%u/caches/%u/properties", directory, (*index)++),
		  "processor_id_low %u\nlevel %u\nsize %u\ncache_line_size %u\n"
		  "cache_lines_per_tag 1\nassociation 0\nlatency 0\n"
		  "type %d\nsibling_map %s\n",
		  SIMD_ID_BASE + cache->first, cache->level, cache->kib, cache->line, cache->type,
		  cache->siblings);
}

/* Appends MAP_WORD flags as "0," or "1,". The caller replaces the last comma. */
static char *put_flags(char *to, unsigned flags)
{
	for (unsigned bit = 0; bit < MAP_WORD; bit++) {
		*to++ = flags >> bit & 1 ? '1' : '0';
		*to++ = ',';
	}
	return to;
}

/* Writes one cache for every group of `share` CUs. */
static void write_groups(const struct machine *machine, unsigned directory, unsigned *index,
			 struct cache cache, unsigned share)
{
	struct shape s = shape_of(&machine->node_profile);
	char map[2 * MAP_WORD + 1];
	unsigned flags;
	int first;

	cache.siblings = map;
	for (unsigned array = 0; array < s.arrays; array++) {
		for (unsigned slot = 0; slot < s.slots; slot += share) {
			first = group_flags(&s, array, slot, share, &flags);
			if (first < 0)
				continue;
			put_flags(map, flags)[-1] = '\0';
			cache.first = array * s.slots + (unsigned)first;
			write_cache(directory, index, &cache);
		}
	}
}

/* Writes a cache that all CUs of the node share. */
static void write_whole(const struct machine *machine, unsigned directory, unsigned *index,
			struct cache cache)
{
	struct shape s = shape_of(&machine->node_profile);
	char map[ARRAYS_MAX * 2 * MAP_WORD], *to = map;
	unsigned flags;

	for (unsigned array = 0; array < s.arrays && array < ARRAYS_MAX; array++) {
		group_flags(&s, array, 0, s.slots, &flags);
		to = put_flags(to, flags);
	}
	to[-1] = '\0';
	cache.siblings = map;
	write_cache(directory, index, &cache);
}

static void caches_write(const struct machine *machine, unsigned directory)
{
	const struct profile *p = &machine->node_profile;
	const unsigned share = p->cus_per_inst_cache;
	const struct cache own = {0, 1, CACHE_DATA, p->l1_size_in_kb, p->l1_line_bytes, NULL};
	const struct cache inst = {0, 1, CACHE_INST, p->inst_size_in_kb, p->l1_line_bytes, NULL};
	const struct cache scalar = {0,	  1, CACHE_DATA, p->scalar_size_in_kb, p->l1_line_bytes,
				     NULL};
	const struct cache l2 = {0, 2, CACHE_DATA, p->l2_size_in_kb, p->l2_line_bytes, NULL};
	const struct cache l3 = {0, 3, CACHE_DATA, p->l3_size_in_kb, p->l2_line_bytes, NULL};
	unsigned index = 0;

	write_groups(machine, directory, &index, own, 1);
	write_groups(machine, directory, &index, inst, share);
	write_groups(machine, directory, &index, scalar, share);
	write_whole(machine, directory, &index, l2);
	if (p->l3_size_in_kb)
		write_whole(machine, directory, &index, l3);
}

static void cpu_properties(const struct machine *m)
{
	tree_file(NODES "/0/properties",
		  "cpu_cores_count %ld\nsimd_count 0\nmem_banks_count 1\n"
		  "caches_count 0\nio_links_count %u\np2p_links_count 0\n"
		  "cpu_core_id_base 0\nsimd_id_base 0\nmax_waves_per_simd 0\n"
		  "lds_size_in_kb 0\ngds_size_in_kb 0\nnum_gws 0\n"
		  "wave_front_size 0\narray_count 0\nsimd_arrays_per_engine 0\n"
		  "cu_per_simd_array 0\nsimd_per_cu 0\nmax_slots_scratch_cu 0\n"
		  "gfx_target_version 0\nvendor_id 0\ndevice_id 0\nlocation_id 0\n"
		  "domain 0\ndrm_render_minor 0\nhive_id 0\nnum_sdma_engines 0\n"
		  "num_sdma_xgmi_engines 0\nnum_sdma_queues_per_engine 0\n"
		  "num_cp_queues 0\nmax_engine_clk_ccompute %u\n",
		  sysconf(_SC_NPROCESSORS_ONLN), m->n_nodes, m->profile->max_engine_clk_ccompute);
}

static void cpu_node(const struct machine *m)
{
	uint64_t memory = (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE);
	struct io_link link = host_link(m);

	tree_file(NODES "/0/gpu_id", "%d\n", m->broken_rule == RULE_topology_cpu_has_no_gpu_id);
	tree_file(NODES "/0/name", "\n");
	cpu_properties(m);
	tree_file(NODES "/0/mem_banks/0/properties",
		  "heap_type %d\nsize_in_bytes %" PRIu64 "\nflags 0\nwidth 64\nmem_clk_max 3200\n",
		  HEAP_SYSTEM, memory);
	tree_dir(NODES "/0/caches");
	tree_dir(NODES "/0/p2p_links");
	for (unsigned i = 0; i < m->n_nodes; i++)
		write_link("io_links", i, 0, i + 1, &link);
}

static void gpu_properties(const struct machine *m, unsigned node)
{
	const struct profile *p = &m->node_profile;
	const struct machine_gpu *gpu = &m->gpus[m->nodes[node].gpu];
	unsigned far = m->broken_rule == RULE_topology_gpu_names_its_render_node ? UNUSED_MINOR : 0;

	tree_file(tree_name(NODES "/%u/properties", node + 1),
		  "cpu_cores_count 0\nsimd_count %u\nmem_banks_count 1\ncaches_count %u\n"
		  "io_links_count %u\np2p_links_count %u\ncpu_core_id_base 0\nsimd_id_base %u\n"
		  "max_waves_per_simd %u\nlds_size_in_kb %u\ngds_size_in_kb 0\nnum_gws %u\n"
		  "wave_front_size %u\narray_count %u\nsimd_arrays_per_engine %u\n"
		  "cu_per_simd_array %u\nsimd_per_cu %u\nmax_slots_scratch_cu %u\n"
		  "gfx_target_version %u\nvendor_id %u\ndevice_id %u\nlocation_id %u\n"
		  "domain 0\ndrm_render_minor %u\nhive_id %" PRIu64 "\nnum_sdma_engines %u\n"
		  "num_sdma_xgmi_engines %u\nnum_sdma_queues_per_engine %u\nnum_cp_queues %u\n"
		  "cwsr_size %u\nctl_stack_size %u\nmax_engine_clk_fcompute %u\n"
		  "local_mem_size 0\nfw_version %u\ncapability %u\ndebug_prop %" PRIu64 "\n"
		  "sdma_fw_version %u\nunique_id %" PRIu64
		  "\nnum_xcc %u\nmax_engine_clk_ccompute %u\n",
		  p->simd_count, caches_count(m), 1 + count_links(m, node, true),
		  count_links(m, node, false), SIMD_ID_BASE, p->max_waves_per_simd,
		  p->lds_size_in_kb, p->num_gws, p->wave_front_size, p->array_count,
		  p->simd_arrays_per_engine, p->cu_per_simd_array, p->simd_per_cu,
		  p->max_slots_scratch_cu, p->gfx_target_version, VENDOR_AMD, p->device_id,
		  m->nodes[node].location, RENDER_MINOR + node + far, gpu->hive_id,
		  p->num_sdma_engines, p->num_sdma_xgmi_engines, p->num_sdma_queues_per_engine,
		  p->num_cp_queues, p->cwsr_size, p->ctl_stack_size, p->max_engine_clk_fcompute,
		  p->fw_version, machine_capability(m), p->debug_prop, p->sdma_fw_version,
		  gpu->unique_id, p->num_xcc, p->max_engine_clk_ccompute);
}

static void gpu_node(const struct machine *m, unsigned node)
{
	const struct profile *p = &m->node_profile;
	unsigned directory = node + 1;

	tree_file(tree_name(NODES "/%u/gpu_id", directory), "%u\n", m->nodes[node].gpu_id);
	tree_file(tree_name(NODES "/%u/name", directory), "%s\n", p->asic);
	gpu_properties(m, node);
	tree_file(tree_name(NODES "/%u/mem_banks/0/properties", directory),
		  "heap_type %d\nsize_in_bytes %" PRIu64 "\nflags 0\n"
		  "width %u\nmem_clk_max %u\n",
		  HEAP_FB_PUBLIC, p->vram_bytes, p->mem_width, p->mem_clk_max);
	caches_write(m, directory);
	gpu_links(m, node);
}

void topology_write(const struct machine *m)
{
	tree_file(TOPOLOGY "/generation_id", "%u\n", 1 + m->n_nodes);
	tree_file(TOPOLOGY "/system_properties", "platform_oem 0\nplatform_id 0\nplatform_rev 0\n");
	tree_link("sys/class/kfd/kfd", "../../devices/virtual/kfd/kfd");
	cpu_node(m);
	for (unsigned i = 0; i < m->n_nodes; i++)
		gpu_node(m, i);
	pci_write(m);
}

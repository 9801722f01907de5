// SPDX-License-Identifier: MIT
/*
 * Which files and properties the runtimes read and miss: found by leaving each
 * out. Layout and names: the kernel's kfd_topology.c (6.12).
 */
#include "sim/run/topology.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

#include "sim/run/mounts.h"
#include "sim/run/say.h"

#define NODES "sys/devices/virtual/kfd/kfd/topology/nodes"
#define VENDOR_AMD 0x1002u
#define FIRST_BUS 0x03u /* the first PCI bus to try */
#define CLASS_DISPLAY_OTHER 0x038000u
/* Types of heaps, caches and links, as in the kernel's kfd_crat.h. */
#define HEAP_SYSTEM 0
#define HEAP_FB_PUBLIC 1 /* all of VRAM can be mapped by the CPU */
#define CACHE_DATA_GPU 9 /* data 1 + SIMD 8 */
#define LINK_PCIE 2
#define LINK_ENABLED 1
#define SIMD_ID_BASE 2147487744u

static int cpu_node(const struct profile *p)
{
	uint64_t memory = (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE);
	int status = tree_file(NODES "/0/gpu_id", "0\n");

	if (!status)
		status = tree_file(NODES "/0/name", "\n");
	if (!status)
		status = tree_file(NODES "/0/properties",
				   "cpu_cores_count %ld\nsimd_count 0\nmem_banks_count 1\n"
				   "caches_count 0\nio_links_count 1\np2p_links_count 0\n"
				   "cpu_core_id_base 0\nsimd_id_base 0\nmax_waves_per_simd 0\n"
				   "lds_size_in_kb 0\ngds_size_in_kb 0\nnum_gws 0\n"
				   "wave_front_size 0\narray_count 0\nsimd_arrays_per_engine 0\n"
				   "cu_per_simd_array 0\nsimd_per_cu 0\nmax_slots_scratch_cu 0\n"
				   "gfx_target_version 0\nvendor_id 0\ndevice_id 0\nlocation_id 0\n"
				   "domain 0\ndrm_render_minor 0\nhive_id 0\nnum_sdma_engines 0\n"
				   "num_sdma_xgmi_engines 0\nnum_sdma_queues_per_engine 0\n"
				   "num_cp_queues 0\nmax_engine_clk_ccompute %" PRIu64 "\n",
				   sysconf(_SC_NPROCESSORS_ONLN), p->max_engine_clk_ccompute);
	if (!status)
		status = tree_file(NODES "/0/mem_banks/0/properties",
				   "heap_type %d\nsize_in_bytes %" PRIu64
				   "\nflags 0\nwidth 64\nmem_clk_max 3200\n",
				   HEAP_SYSTEM, memory);
	if (!status)
		status = tree_folder(NODES "/0/caches");
	if (!status)
		status = tree_folder(NODES "/0/p2p_links");
	return status;
}

static int gpu_properties(const struct profile *p, unsigned location)
{
	return tree_file(
		NODES "/1/properties",
		"cpu_cores_count 0\nsimd_count %" PRIu64 "\nmem_banks_count 1\ncaches_count 2\n"
		"io_links_count 1\np2p_links_count 0\ncpu_core_id_base 0\nsimd_id_base %u\n"
		"max_waves_per_simd %" PRIu64 "\nlds_size_in_kb %" PRIu64 "\ngds_size_in_kb 0\n"
		"num_gws %" PRIu64 "\nwave_front_size %" PRIu64 "\narray_count %" PRIu64 "\n"
		"simd_arrays_per_engine %" PRIu64 "\ncu_per_simd_array %" PRIu64 "\n"
		"simd_per_cu %" PRIu64 "\nmax_slots_scratch_cu %" PRIu64 "\n"
		"gfx_target_version %" PRIu64 "\nvendor_id %u\ndevice_id %" PRIu64 "\n"
		"location_id %u\ndomain 0\ndrm_render_minor %d\nhive_id 0\n"
		"num_sdma_engines %" PRIu64 "\nnum_sdma_xgmi_engines %" PRIu64 "\n"
		"num_sdma_queues_per_engine %" PRIu64 "\nnum_cp_queues %" PRIu64 "\n"
		"cwsr_size %" PRIu64 "\nctl_stack_size %" PRIu64 "\n"
		"max_engine_clk_fcompute %" PRIu64 "\nlocal_mem_size 0\nfw_version %" PRIu64 "\n"
		"capability %" PRIu64 "\ndebug_prop %" PRIu64 "\nsdma_fw_version %" PRIu64 "\n"
		"unique_id %" PRIu64 "\nnum_xcc %" PRIu64 "\nmax_engine_clk_ccompute %" PRIu64 "\n",
		p->simd_count, SIMD_ID_BASE, p->max_waves_per_simd, p->lds_size_in_kb, p->num_gws,
		p->wave_front_size, p->array_count, p->simd_arrays_per_engine, p->cu_per_simd_array,
		p->simd_per_cu, p->max_slots_scratch_cu, p->gfx_target_version, VENDOR_AMD,
		p->device_id, location, RENDER_MINOR, p->num_sdma_engines, p->num_sdma_xgmi_engines,
		p->num_sdma_queues_per_engine, p->num_cp_queues, p->cwsr_size, p->ctl_stack_size,
		p->max_engine_clk_fcompute, p->fw_version, p->capability, p->debug_prop,
		p->sdma_fw_version, p->unique_id, p->num_xcc, p->max_engine_clk_ccompute);
}

/* One of each level stands for all that are alike. */
static int cache(unsigned index, unsigned level, uint64_t kib, uint64_t line)
{
	char path[128];

	snprintf(path, sizeof(path), NODES "/1/caches/%u/properties", index);
	return tree_file(path,
			 "processor_id_low %u\nlevel %u\nsize %" PRIu64 "\ncache_line_size %" PRIu64
			 "\ncache_lines_per_tag 1\nassociation 0\nlatency 0\n"
			 "type %d\nsibling_map 1,0,0,0\n",
			 SIMD_ID_BASE, level, kib, line, CACHE_DATA_GPU);
}

static int link_between(const struct profile *p, unsigned from, unsigned to)
{
	char path[128];

	snprintf(path, sizeof(path), NODES "/%u/io_links/0/properties", from);
	return tree_file(path,
			 "type %d\nversion_major 0\nversion_minor 0\nnode_from %u\nnode_to %u\n"
			 "weight %" PRIu64 "\nmin_latency 0\nmax_latency 0\n"
			 "min_bandwidth %" PRIu64 "\nmax_bandwidth %" PRIu64 "\n"
			 "recommended_transfer_size 0\nrecommended_sdma_engine_id_mask %u\n"
			 "flags %d\n",
			 LINK_PCIE, from, to, p->link_weight, p->link_min_mb_per_s,
			 p->link_max_mb_per_s, (1u << p->num_sdma_engines) - 1, LINK_ENABLED);
}

static int gpu_node(const struct profile *p, unsigned location)
{
	int status = tree_file(NODES "/1/gpu_id", "%" PRIu64 "\n", p->gpu_id);

	if (!status)
		status = tree_file(NODES "/1/name", "%s\n", p->asic);
	if (!status)
		status = gpu_properties(p, location);
	if (!status)
		status = tree_file(NODES "/1/mem_banks/0/properties",
				   "heap_type %d\nsize_in_bytes %" PRIu64 "\nflags 0\n"
				   "width %" PRIu64 "\nmem_clk_max %" PRIu64 "\n",
				   HEAP_FB_PUBLIC, p->vram_bytes, p->mem_width, p->mem_clk_max);
	if (!status)
		status = cache(0, 1, p->l1_size_in_kb, p->l1_line_bytes);
	if (!status)
		status = cache(1, 2, p->l2_size_in_kb, p->l2_line_bytes);
	if (!status)
		status = tree_folder(NODES "/1/p2p_links");
	if (!status)
		status = link_between(p, 0, 1);
	if (!status)
		status = link_between(p, 1, 0);
	return status;
}

static int kfd(const struct profile *p, unsigned location)
{
	int status = tree_file("sys/devices/virtual/kfd/kfd/topology/generation_id", "2\n");

	if (!status)
		status = tree_file("sys/devices/virtual/kfd/kfd/topology/system_properties",
				   "platform_oem 0\nplatform_id 0\nplatform_rev 0\n");
	if (!status)
		status = tree_link("sys/class/kfd/kfd", "../../devices/virtual/kfd/kfd");
	if (!status)
		status = cpu_node(p);
	if (!status)
		status = gpu_node(p, location);
	return status;
}

static int module(void)
{
	int status = tree_file("sys/module/amdgpu/initstate", "live\n");

	if (!status)
		status = tree_file("sys/module/amdgpu/refcnt", "1\n");
	if (!status)
		status = tree_file("sys/module/amdgpu/version", "6.12.95\n");
	if (!status)
		status = tree_folder("sys/module/amdgpu/holders");
	return status;
}

/* A DRM node: its folder below the PCI device and the links that lead there. */
static int drm_node(unsigned bus, const char *name, int minor)
{
	char path[128], target[128];
	int status;

	snprintf(path, sizeof(path), "sys/devices/pci0000:00/0000:%02x:00.0/drm/%s/dev", bus, name);
	status = tree_file(path, "226:%d\n", minor);
	snprintf(path, sizeof(path), "sys/devices/pci0000:00/0000:%02x:00.0/drm/%s/uevent", bus,
		 name);
	if (!status)
		status = tree_file(path, "MAJOR=226\nMINOR=%d\nDEVNAME=dri/%s\nDEVTYPE=drm_minor\n",
				   minor, name);
	snprintf(path, sizeof(path), "sys/devices/pci0000:00/0000:%02x:00.0/drm/%s/device", bus,
		 name);
	if (!status)
		status = tree_link(path, "../..");
	snprintf(target, sizeof(target), "../../devices/pci0000:00/0000:%02x:00.0/drm/%s", bus,
		 name);
	snprintf(path, sizeof(path), "sys/class/drm/%s", name);
	if (!status)
		status = tree_link(path, target);
	snprintf(path, sizeof(path), "sys/dev/char/226:%d", minor);
	if (!status)
		status = tree_link(path, target);
	return status;
}

static int pci_file(unsigned bus, const char *name, unsigned value, int digits)
{
	char path[128];

	snprintf(path, sizeof(path), "sys/devices/pci0000:00/0000:%02x:00.0/%s", bus, name);
	return tree_file(path, "0x%0*x\n", digits, value);
}

static int pci(const struct profile *p, unsigned bus)
{
	char path[128], target[128];
	int status = pci_file(bus, "vendor", VENDOR_AMD, 4);

	if (!status)
		status = pci_file(bus, "device", (unsigned)p->device_id, 4);
	if (!status)
		status = pci_file(bus, "revision", (unsigned)p->pci_revision, 2);
	if (!status)
		status = pci_file(bus, "subsystem_vendor", VENDOR_AMD, 4);
	if (!status)
		status = pci_file(bus, "subsystem_device", (unsigned)p->device_id, 4);
	if (!status)
		status = pci_file(bus, "class", CLASS_DISPLAY_OTHER, 6);
	snprintf(path, sizeof(path), "sys/devices/pci0000:00/0000:%02x:00.0/uevent", bus);
	if (!status)
		status = tree_file(path,
				   "DRIVER=amdgpu\nPCI_CLASS=%X\nPCI_ID=%04X:%04X\n"
				   "PCI_SUBSYS_ID=%04X:%04X\nPCI_SLOT_NAME=0000:%02x:00.0\n",
				   CLASS_DISPLAY_OTHER, VENDOR_AMD, (unsigned)p->device_id,
				   VENDOR_AMD, (unsigned)p->device_id, bus);
	snprintf(path, sizeof(path), "sys/devices/pci0000:00/0000:%02x:00.0/subsystem", bus);
	if (!status)
		status = tree_link(path, "../../../bus/pci");
	snprintf(path, sizeof(path), "sys/bus/pci/devices/0000:%02x:00.0", bus);
	snprintf(target, sizeof(target), "../../../devices/pci0000:00/0000:%02x:00.0", bus);
	if (!status)
		status = tree_link(path, target);
	if (!status)
		status = drm_node(bus, "renderD128", RENDER_MINOR);
	if (!status)
		status = drm_node(bus, "card0", 0);
	return status;
}

int topology_write(const struct profile *p)
{
	char path[128];
	unsigned bus;
	int status;

	/* A bus of its own, so that no device of the host is hidden. */
	for (bus = FIRST_BUS; bus < 0x100; bus++) {
		snprintf(path, sizeof(path), "/sys/bus/pci/devices/0000:%02x:00.0", bus);
		if (access(path, F_OK) && errno == ENOENT)
			break;
	}
	if (bus == 0x100)
		return complain(STATUS_IMPOSSIBLE, "every PCI bus of the host has a device in its "
						   "first slot: there is none to put the GPU on");
	status = kfd(p, bus << 8);
	if (!status)
		status = pci(p, bus);
	if (!status)
		status = module();
	return status;
}

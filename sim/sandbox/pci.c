// SPDX-License-Identifier: MIT
/*
 * Writes the sysfs files of the nodes' PCI and DRM devices, as libdrm, libpci and management
 * libraries expect them, and of the driver's module.
 *
 * The DRM nodes of a GPU's first node are below its PCI device. Those of the other nodes, in mode
 * CPX, are below platform devices named amdgpu_xcp_0, 1, ..., numbered over the whole machine (the
 * driver's amdgpu_xcp_drv.c).
 */
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>

#include "sim/sandbox/machine.h"
#include "sim/sandbox/mounts.h"

#define CLASS_DISPLAY_OTHER 0x038000u
#define DRM_MAJOR 226
#define GFX942 90402u

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

void pci_write(const struct machine *m)
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

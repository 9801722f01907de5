// SPDX-License-Identifier: MIT
#include "cli/inspect/drm.h"

#include <amdgpu_drm.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <xf86drm.h>

#define VENDOR_AMD 0x1002

/* Only PCI devices say whose they are. A partition is a platform device (amdgpu_xcp_drv.c). */
static bool read_gpu(const drmDevice *device, struct drm_gpu *out)
{
	const char *digits;

	if (device->bustype != DRM_BUS_PCI || device->deviceinfo.pci->vendor_id != VENDOR_AMD ||
	    !(device->available_nodes & 1 << DRM_NODE_RENDER))
		return false;
	digits = strpbrk(device->nodes[DRM_NODE_RENDER], "0123456789");
	if (!digits || sscanf(digits, "%u", &out->render_minor) != 1)
		return false;
	snprintf(out->bdf, sizeof(out->bdf), "%04x:%02x:%02x.%u", device->businfo.pci->domain,
		 device->businfo.pci->bus, device->businfo.pci->dev, device->businfo.pci->func);
	return true;
}

size_t drm_gpus_read(struct drm_gpu *out, size_t max)
{
	drmDevicePtr devices[DRM_GPUS_MAX];
	int n = drmGetDevices2(0, devices, DRM_GPUS_MAX);
	size_t count = 0;

	/* The result can exceed the length of the array (libdrm 2.4.114). */
	if (n > (int)DRM_GPUS_MAX)
		n = DRM_GPUS_MAX;
	for (int i = 0; i < n && count < max; i++)
		count += read_gpu(devices[i], &out[count]);
	if (n > 0)
		drmFreeDevices(devices, n);
	return count;
}

int drm_vram_read(int fd, struct drm_vram *out)
{
	struct drm_amdgpu_memory_info memory = {0};
	struct drm_amdgpu_info query = {.return_pointer = (uintptr_t)&memory,
					.return_size = sizeof(memory),
					.query = AMDGPU_INFO_MEMORY};
	int err = drmCommandWrite(fd, DRM_AMDGPU_INFO, &query, sizeof(query));

	if (err)
		return err;
	*out = (struct drm_vram){.bytes = (int64_t)memory.vram.total_heap_size,
				 .used = (int64_t)memory.vram.heap_usage};
	return 0;
}

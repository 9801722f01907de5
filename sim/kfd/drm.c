// SPDX-License-Identifier: MIT
/* The render node: what libdrm and the runtime ask it. */
#include <errno.h>
#include <libdrm/amdgpu_drm.h>
#include <libdrm/drm.h>
#include <string.h>

#include "sim/kfd/kfd.h"

#define DRM_VERSION_NR 0x00
#define DRM_GET_CLIENT_NR 0x05
#define DRM_GEM_CLOSE_NR 0x09
#define DRM_GET_CAP_NR 0x0c
#define AMDGPU_INFO_NR (DRM_COMMAND_BASE + DRM_AMDGPU_INFO)
#define DRIVER_MAJOR 3
#define DRIVER_MINOR 59 /* of Linux 6.12 */
#define INFO_BYTES_MAX 4096u
#define PRIME_BOTH 3u
#define HIGH_VA 0xffff800000000000ull

static int put_string(struct call *call, char *to, __kernel_size_t *size, const char *text)
{
	size_t n = strlen(text), room = *size;
	int r = 0;

	if (to && room)
		r = call_write(call, (uint64_t)(uintptr_t)to, text, n < room ? n : room);
	*size = n;
	return r;
}

static int version(struct call *call)
{
	struct drm_version *a = (void *)call->data;

	a->version_major = DRIVER_MAJOR;
	a->version_minor = DRIVER_MINOR;
	a->version_patchlevel = 0;
	if (put_string(call, a->name, &a->name_len, "amdgpu") ||
	    put_string(call, a->date, &a->date_len, "20150101") ||
	    put_string(call, a->desc, &a->desc_len, "AMD GPU"))
		return -EFAULT;
	return 0;
}

/* As the DRM core answers on a render node: the caller counts as authenticated. */
static int get_client(struct call *call)
{
	struct drm_client *a = (void *)call->data;

	if (a->idx)
		return -EINVAL;
	memset(a, 0, sizeof *a);
	a->auth = 1;
	return 0;
}

static int get_cap(struct call *call)
{
	struct drm_get_cap *a = (void *)call->data;

	a->value = a->capability == DRM_CAP_PRIME	       ? PRIME_BOTH
		   : a->capability == DRM_CAP_SYNCOBJ	       ? 1
		   : a->capability == DRM_CAP_SYNCOBJ_TIMELINE ? 1
							       : 0;
	return 0;
}

static void device_info(const struct world *world, struct drm_amdgpu_info_device *d)
{
	const struct world_chip *chip = &world->config.chip;

	d->device_id = chip->device_id;
	d->chip_rev = chip->chip_rev;
	d->external_rev = chip->external_rev;
	d->pci_rev = chip->pci_rev;
	d->family = chip->family;
	d->num_shader_engines = chip->shader_engines;
	d->num_shader_arrays_per_engine = chip->shader_arrays;
	d->gpu_counter_freq = 100000;
	d->max_engine_clock = chip->engine_khz;
	d->max_memory_clock = chip->memory_khz;
	d->cu_active_number = world->config.gpu.cus;
	d->num_cu_per_sh = chip->cu_per_array;
	d->num_hw_gfx_contexts = 8;
	d->virtual_address_offset = 0x200000;
	d->virtual_address_max = 1ull << 47;
	d->virtual_address_alignment = PAGE_BYTES;
	d->pte_fragment_size = 2u << 20;
	d->gart_page_size = PAGE_BYTES;
	d->high_va_offset = HIGH_VA;
	d->high_va_max = 0xfffffffffffe0000ull;
	d->vram_type = AMDGPU_VRAM_TYPE_HBM;
	d->vram_bit_width = chip->vram_bit_width;
	d->wave_front_size = 64;
}

static void memory_info(const struct world *world, struct drm_amdgpu_memory_info *m)
{
	m->vram.total_heap_size = m->vram.usable_heap_size = world->config.vram_bytes;
	m->vram.heap_usage = world->nodes[0].vram_used;
	m->vram.max_allocation = world->config.vram_bytes;
	m->cpu_accessible_vram = m->vram;
	m->gtt.total_heap_size = m->gtt.usable_heap_size = world->config.gtt_bytes;
	m->gtt.heap_usage = world->gtt_used;
	m->gtt.max_allocation = world->config.gtt_bytes;
}

static int amdgpu_info(struct call *call)
{
	const struct drm_amdgpu_info *a = (void *)call->data;
	const struct world *world = call->world;
	union {
		uint32_t word;
		uint64_t qword;
		struct drm_amdgpu_info_device device;
		struct drm_amdgpu_info_vram_gtt vram_gtt;
		struct drm_amdgpu_memory_info memory;
		char bytes[INFO_BYTES_MAX];
	} info;
	size_t n;

	memset(&info, 0, sizeof info);
	switch (a->query) {
	case AMDGPU_INFO_ACCEL_WORKING:
		info.word = 1;
		n = sizeof info.word;
		break;
	case AMDGPU_INFO_DEV_INFO:
		device_info(world, &info.device);
		n = sizeof info.device;
		break;
	case AMDGPU_INFO_VRAM_GTT:
		info.vram_gtt.vram_size = world->config.vram_bytes;
		info.vram_gtt.vram_cpu_accessible_size = world->config.vram_bytes;
		info.vram_gtt.gtt_size = world->config.gtt_bytes;
		n = sizeof info.vram_gtt;
		break;
	case AMDGPU_INFO_MEMORY:
		memory_info(world, &info.memory);
		n = sizeof info.memory;
		break;
	case AMDGPU_INFO_VRAM_USAGE:
	case AMDGPU_INFO_VIS_VRAM_USAGE:
		info.qword = world->nodes[0].vram_used;
		n = sizeof info.qword;
		break;
	case AMDGPU_INFO_GTT_USAGE:
		info.qword = world->gtt_used;
		n = sizeof info.qword;
		break;
	case AMDGPU_INFO_READ_MMR_REG: /* registers of the shader setup: all zero */
	case AMDGPU_INFO_HW_IP_COUNT:
	case AMDGPU_INFO_HW_IP_INFO:
	case AMDGPU_INFO_FW_VERSION:
		n = a->return_size;
		break;
	default:
		report_unknown(call->world, 'd', AMDGPU_INFO_NR << 8 | (a->query & 0xff));
		return -EINVAL;
	}
	if (n > a->return_size)
		n = a->return_size;
	if (n > sizeof info)
		n = sizeof info;
	return call_write(call, a->return_pointer, &info, n);
}

int drm_ioctl(struct call *call)
{
	switch (call->nr) {
	case DRM_VERSION_NR:
		return call->user_size < sizeof(struct drm_version) ? -EINVAL : version(call);
	case DRM_GET_CLIENT_NR:
		return call->user_size < sizeof(struct drm_client) ? -EINVAL : get_client(call);
	case DRM_GET_CAP_NR:
		return call->user_size < sizeof(struct drm_get_cap) ? -EINVAL : get_cap(call);
	case AMDGPU_INFO_NR:
		return call->user_size < sizeof(struct drm_amdgpu_info) ? -EINVAL
									: amdgpu_info(call);
	case DRM_GEM_CLOSE_NR:
		return -EINVAL; /* there are no handles */
	default:
		report_unknown(call->world, 'd', call->nr);
		return -EINVAL;
	}
}

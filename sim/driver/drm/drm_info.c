// SPDX-License-Identifier: MIT
/* Answers AMDGPU_INFO queries of libdrm, the runtimes and management tools to a render node. */
#include <errno.h>
#include <libdrm/amdgpu_drm.h>
#include <string.h>

#include "common/clock.h"
#include "sim/driver/drm/drm_file.h"

#define INFO_BYTES_MAX 4096u
#define HIGH_VA 0xffff800000000000ull
/* Newer than some system headers. */
#define INFO_MAX_IBS 0x22
#define INFO_GPUVM_FAULT 0x23
#define IP_TYPES 10u
#define VM_FAULT_BYTES 16u

static void device_info(const struct sim *sim, struct drm_amdgpu_info_device *d)
{
	const struct profile *chip = &sim->config.node;

	d->device_id = chip->device_id;
	d->chip_rev = chip->chip_revision;
	d->external_rev = chip->external_revision;
	d->pci_rev = chip->pci_revision;
	d->family = chip->family_id;
	d->num_shader_engines = chip->array_count / chip->num_xcc / chip->simd_arrays_per_engine;
	d->num_shader_arrays_per_engine = chip->simd_arrays_per_engine;
	d->gpu_counter_freq = 100000;
	d->max_engine_clock = chip->max_engine_clk_fcompute * 1000u;
	d->max_memory_clock = chip->mem_clk_max * 1000u;
	d->cu_active_number = sim->config.gpu.cus;
	d->num_cu_per_sh = chip->cu_per_simd_array;
	for (uint32_t cu = 0; cu < sim->config.gpu.cus && chip->cu_per_simd_array; cu++) {
		uint32_t array = cu / chip->cu_per_simd_array, engine = array % 4, in = array / 4;

		if (in < 4)
			d->cu_bitmap[engine][in] |= 1u << cu % chip->cu_per_simd_array;
	}
	d->num_hw_gfx_contexts = 8;
	d->virtual_address_offset = 0x200000;
	d->virtual_address_max = 1ull << 47;
	d->virtual_address_alignment = PAGE_BYTES;
	d->pte_fragment_size = 2u << 20;
	d->gart_page_size = PAGE_BYTES;
	d->high_va_offset = HIGH_VA;
	d->high_va_max = 0xfffffffffffe0000ull;
	d->vram_type = AMDGPU_VRAM_TYPE_HBM;
	d->vram_bit_width = chip->mem_width;
	d->wave_front_size = 64;
}

static void memory_info(const struct sim *sim, const struct node *node,
			struct drm_amdgpu_memory_info *m)
{
	uint64_t usable = sim->config.node.vram_bytes - vram_reserved(sim);

	m->vram.total_heap_size = sim->config.node.vram_bytes;
	m->vram.usable_heap_size = usable;
	m->vram.heap_usage = node->vram_used;
	m->vram.max_allocation = usable / 4 * 3;
	m->cpu_accessible_vram = m->vram; /* all of it: a large BAR */
	m->gtt.total_heap_size = m->gtt.usable_heap_size = sim->config.node.gtt_bytes;
	m->gtt.heap_usage = sim->gtt_used;
	m->gtt.max_allocation = sim->config.node.gtt_bytes / 4 * 3;
}

static struct drm_amdgpu_info_firmware firmware(const struct sim *sim, uint32_t type)
{
	struct drm_amdgpu_info_firmware f = {0};

	if (type == AMDGPU_INFO_FW_GFX_MEC)
		f.ver = sim->config.node.fw_version;
	return f; /* all others have no version here */
}

union reply {
	uint32_t word;
	uint64_t qword;
	struct drm_amdgpu_info_device device;
	struct drm_amdgpu_info_vram_gtt vram_gtt;
	struct drm_amdgpu_memory_info memory;
	struct drm_amdgpu_info_firmware firmware;
	struct drm_amdgpu_info_hw_ip ip;
	struct drm_amdgpu_info_gds gds;
	char bytes[INFO_BYTES_MAX];
};

/* Answers queries about memory size and use. Returns the answer's size, -ENOENT for other
 * queries. */
static int usage(const struct sim *sim, const struct node *node, uint32_t query, union reply *info)
{
	switch (query) {
	case AMDGPU_INFO_VRAM_GTT:
		info->vram_gtt.vram_size = sim->config.node.vram_bytes;
		info->vram_gtt.vram_cpu_accessible_size = sim->config.node.vram_bytes;
		info->vram_gtt.gtt_size = sim->config.node.gtt_bytes;
		return sizeof info->vram_gtt;
	case AMDGPU_INFO_MEMORY:
		memory_info(sim, node, &info->memory);
		return sizeof info->memory;
	case AMDGPU_INFO_VRAM_USAGE:
	case AMDGPU_INFO_VIS_VRAM_USAGE:
		info->qword = node->vram_used;
		return sizeof info->qword;
	case AMDGPU_INFO_GTT_USAGE:
		info->qword = sim->gtt_used;
		return sizeof info->qword;
	default:
		return -ENOENT;
	}
}

/* Answers the queries that usage() leaves. Returns the bytes of the answer, or a negative errno as
 * in the driver. It fails for unknown queries and for parts that are not simulated: sensors (power
 * management), RAS, BIOS and video engines. */
static int reply(struct call *call, const struct drm_amdgpu_info *a, union reply *info)
{
	const struct sim *sim = call->sim;

	switch (a->query) {
	case AMDGPU_INFO_ACCEL_WORKING:
		info->word = rule_holds(sim, RULE_drm_acceleration_works);
		return sizeof info->word;
	case AMDGPU_INFO_DEV_INFO:
		device_info(sim, &info->device);
		return sizeof info->device;
	case AMDGPU_INFO_TIMESTAMP:
		info->qword = gpu_ticks(clock_ns());
		return sizeof info->qword;
	case AMDGPU_INFO_HW_IP_COUNT:
		return a->query_hw_ip.type < IP_TYPES ? (int)sizeof info->word : -EINVAL;
	case AMDGPU_INFO_HW_IP_INFO: /* no rings */
		return a->query_hw_ip.type < IP_TYPES ? (int)sizeof info->ip : -EINVAL;
	case AMDGPU_INFO_FW_VERSION:
		info->firmware = firmware(sim, a->query_fw.fw_type);
		return sizeof info->firmware;
	case AMDGPU_INFO_READ_MMR_REG: /* registers of the shader setup: all zero */
		if (!a->read_mmr_reg.count || a->read_mmr_reg.count > 128)
			return -EINVAL;
		return (int)a->read_mmr_reg.count * 4;
	case AMDGPU_INFO_NUM_BYTES_MOVED: /* memory is never moved or evicted */
	case AMDGPU_INFO_NUM_EVICTIONS:
	case AMDGPU_INFO_NUM_VRAM_CPU_PAGE_FAULTS:
	case AMDGPU_INFO_VRAM_LOST_COUNTER:
		return sizeof info->qword;
	case AMDGPU_INFO_GDS_CONFIG:
		return sizeof info->gds;
	case INFO_MAX_IBS:
		return IP_TYPES * sizeof info->word;
	case INFO_GPUVM_FAULT:
		return VM_FAULT_BYTES;
	case AMDGPU_INFO_SENSOR:
		return -ENOENT;
	case AMDGPU_INFO_RAS_ENABLED_FEATURES:
	case AMDGPU_INFO_VBIOS:
	case AMDGPU_INFO_VCE_CLOCK_TABLE:
	case AMDGPU_INFO_NUM_HANDLES:
	case AMDGPU_INFO_VIDEO_CAPS:
	case AMDGPU_INFO_CRTC_FROM_ID:
		return -EINVAL;
	default:
		report_unknown(call->sim, 'd', call->nr << 8 | (a->query & 0xff));
		return rule_errno(sim, RULE_drm_info_unknown_is_einval, -EINVAL, 4);
	}
}

int drm_info(struct call *call, struct drm_file *file)
{
	const struct drm_amdgpu_info *a = (void *)call->data;
	union reply info;
	int n;

	(void)file;
	if (!a->return_size || !a->return_pointer)
		return -EINVAL;
	memset(&info, 0, sizeof info);
	n = usage(call->sim, &call->sim->nodes[call->node], a->query, &info);
	if (n == -ENOENT)
		n = reply(call, a, &info);
	if (n < 0)
		return n;
	return call_write(call, a->return_pointer, &info,
			  (uint32_t)n < a->return_size ? (uint32_t)n : a->return_size);
}

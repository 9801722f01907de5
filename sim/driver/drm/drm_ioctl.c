// SPDX-License-Identifier: MIT
/*
 * Dispatches the ioctls of a render node. There are no rings: HW_IP_INFO reports none, and a
 * command submission (AMDGPU_CS) is refused as the driver refuses it for an engine that does not
 * exist.
 */
#include <errno.h>
#include <libdrm/amdgpu_drm.h>
#include <libdrm/drm.h>
#include <string.h>

#include "common/clock.h"
#include "sim/driver/drm/drm_file.h"

/* ---- AMDGPU_INFO ----
 * Answers AMDGPU_INFO queries of libdrm, the runtimes and management tools to a render node. */

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

/* AMDGPU_INFO: answers one query about the GPU. Returns 0; -EINVAL for an unknown query or a bad
 * pointer; -ENOENT for a sensor; -EFAULT. */
static int drm_info(struct call *call, struct drm_file *file)
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

#define DRIVER_MAJOR 3
#define DRIVER_MINOR 59 /* as in Linux 6.12 */
#define PRIME_BOTH 3u
#define AMDGPU(nr) (DRM_COMMAND_BASE + DRM_AMDGPU_##nr)

static int put_string(struct call *call, char *to, __kernel_size_t *size, const char *text)
{
	size_t n = strlen(text), room = *size;
	int r = 0;

	if (to && room)
		r = call_write(call, (uint64_t)(uintptr_t)to, text, n < room ? n : room);
	*size = n;
	return r;
}

static int version(struct call *call, struct drm_file *file)
{
	struct drm_version *a = (void *)call->data;

	(void)file;
	a->version_major = rule_holds(call->sim, RULE_drm_version_is_amdgpu_3) ? DRIVER_MAJOR : 2;
	a->version_minor = DRIVER_MINOR;
	a->version_patchlevel = 0;
	if (put_string(call, a->name, &a->name_len, "amdgpu") ||
	    put_string(call, a->date, &a->date_len, "20150101") ||
	    put_string(call, a->desc, &a->desc_len, "AMD GPU"))
		return -EFAULT;
	return 0;
}

/* GET_CLIENT: answers as the DRM core does on a render node: the caller counts as authenticated. */
static int get_client(struct call *call, struct drm_file *file)
{
	struct drm_client *a = (void *)call->data;

	(void)file;
	if (a->idx)
		return -EINVAL;
	memset(a, 0, sizeof *a);
	a->auth = 1;
	return 0;
}

static int get_cap(struct call *call, struct drm_file *file)
{
	struct drm_get_cap *a = (void *)call->data;

	(void)file;
	a->value = a->capability == DRM_CAP_PRIME ? PRIME_BOTH : 0;
	return 0;
}

static char something; /* stored in the table for objects that have a number but no data */

static int context(struct call *call, struct drm_file *file)
{
	union drm_amdgpu_ctx *a = (void *)call->data;
	uint32_t op = a->in.op, id = a->in.ctx_id;
	int number;

	switch (op) {
	case AMDGPU_CTX_OP_ALLOC_CTX:
		number = number_take(&file->contexts, &something);
		if (number < 0)
			return number;
		memset(a, 0, sizeof *a);
		a->out.alloc.ctx_id = (uint32_t)number;
		return 0;
	case AMDGPU_CTX_OP_FREE_CTX:
		return number_give(&file->contexts, id) ? 0 : -EINVAL;
	case AMDGPU_CTX_OP_QUERY_STATE:
	case AMDGPU_CTX_OP_QUERY_STATE2:
		if (!number_find(&file->contexts, id))
			return -EINVAL;
		memset(a, 0, sizeof *a); /* never hung, never reset */
		return 0;
	default:
		return -EINVAL;
	}
}

static int list_handles(struct call *call, const struct drm_file *file,
			const struct drm_amdgpu_bo_list_in *in)
{
	for (uint32_t i = 0; i < in->bo_number; i++) {
		struct drm_amdgpu_bo_list_entry entry = {0};
		size_t n = in->bo_info_size < sizeof entry ? in->bo_info_size : sizeof entry;

		if (call_read(call, in->bo_info_ptr + (uint64_t)i * in->bo_info_size, &entry, n))
			return -EFAULT;
		if (!number_find(&file->gems, entry.bo_handle))
			return -ENOENT;
	}
	return 0;
}

static int list(struct call *call, struct drm_file *file)
{
	union drm_amdgpu_bo_list *a = (void *)call->data;
	uint32_t op = a->in.operation;
	int number = (int)a->in.list_handle, r = list_handles(call, file, &a->in);

	if (r)
		return r;
	switch (op) {
	case AMDGPU_BO_LIST_OP_CREATE:
		number = number_take(&file->lists, &something);
		if (number < 0)
			return number;
		break;
	case AMDGPU_BO_LIST_OP_DESTROY:
		number_give(&file->lists, (uint32_t)number);
		number = 0;
		break;
	case AMDGPU_BO_LIST_OP_UPDATE:
		if (!number_find(&file->lists, (uint32_t)number))
			return -ENOENT;
		break;
	default:
		return -EINVAL;
	}
	memset(a, 0, sizeof *a);
	a->out.list_handle = (uint32_t)number;
	return 0;
}

static int no_ring(struct call *call, struct drm_file *file)
{
	(void)call;
	(void)file;
	return -EINVAL;
}

static const struct drm_ioctl {
	int (*run)(struct call *call, struct drm_file *file);
	uint16_t size;
	bool file; /* needs the open file */
} entries[] = {
	[0x00] = {version, sizeof(struct drm_version), false},
	[0x05] = {get_client, sizeof(struct drm_client), false},
	[0x09] = {gem_close, sizeof(struct drm_gem_close), true},
	[0x0c] = {get_cap, sizeof(struct drm_get_cap), false},
	[0x2d] = {prime_handle_to_fd, sizeof(struct drm_prime_handle), true},
	[0x2e] = {prime_fd_to_handle, sizeof(struct drm_prime_handle), true},
	[AMDGPU(GEM_CREATE)] = {gem_create, sizeof(union drm_amdgpu_gem_create), true},
	[AMDGPU(GEM_MMAP)] = {gem_mmap, sizeof(union drm_amdgpu_gem_mmap), true},
	[AMDGPU(CTX)] = {context, sizeof(union drm_amdgpu_ctx), true},
	[AMDGPU(BO_LIST)] = {list, sizeof(union drm_amdgpu_bo_list), true},
	[AMDGPU(CS)] = {no_ring, sizeof(union drm_amdgpu_cs), false},
	[AMDGPU(INFO)] = {drm_info, sizeof(struct drm_amdgpu_info), false},
	[AMDGPU(GEM_METADATA)] = {gem_metadata, sizeof(struct drm_amdgpu_gem_metadata), true},
	[AMDGPU(GEM_WAIT_IDLE)] = {gem_wait_idle, sizeof(union drm_amdgpu_gem_wait_idle), true},
	[AMDGPU(GEM_VA)] = {gem_va, sizeof(struct drm_amdgpu_gem_va), true},
	[AMDGPU(WAIT_CS)] = {no_ring, sizeof(union drm_amdgpu_wait_cs), false},
	[AMDGPU(GEM_OP)] = {gem_op, sizeof(struct drm_amdgpu_gem_op), true},
	[AMDGPU(GEM_USERPTR)] = {gem_userptr, sizeof(struct drm_amdgpu_gem_userptr), true},
};

int drm_ioctl(struct call *call)
{
	const struct drm_ioctl *entry =
		call->nr < sizeof entries / sizeof *entries ? &entries[call->nr] : NULL;
	struct drm_file *file = NULL;
	int r;

	if (!entry || !entry->run) {
		report_unknown(call->sim, 'd', call->nr);
		return -EINVAL;
	}
	if (call->user_size < entry->size)
		return -EINVAL;
	if (entry->file) {
		r = drm_file_find(call, call->fd, call->node, &file);
		if (r)
			return r;
	}
	return entry->run(call, file);
}

// SPDX-License-Identifier: MIT
/*
 * Dispatches the ioctls of a render node. There are no rings: HW_IP_INFO reports none, and a
 * command submission (AMDGPU_CS) is refused as the driver refuses it for an engine that does not
 * exist.
 */
#include <errno.h>
#include <libdrm/amdgpu_drm.h>
#include <libdrm/drm.h>
#include <stdlib.h>
#include <string.h>

#include "sim/driver/drm/drm_file.h"

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

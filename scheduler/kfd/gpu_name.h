/* SPDX-License-Identifier: MIT */
/*
 * What people call the GPUs: index, PCI address, render node, marketing name, partition. From the
 * driver's topology and the PCI device in sysfs, and libdrm's list of names (amdgpu.ids), without
 * opening a device. What is not known is empty.
 *
 * Threads: any. Errors: a GPU that cannot be read is not in the list.
 */
#ifndef KFDSHIM_SCHEDULER_KFD_GPU_NAME_H
#define KFDSHIM_SCHEDULER_KFD_GPU_NAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct gpu_name {
	uint32_t gpu_id;
	unsigned index;	       /* among the GPUs, in the order of KFD's nodes, as HIP has it */
	char bdf[20];	       /* "0000:43:00.0" */
	unsigned render_minor; /* 128: /dev/dri/renderD128; 0: not known */
	char product[64];      /* "AMD Instinct MI210" */
	char mode[16];	       /* "CPX"; empty: the part has no partitions */
	unsigned partition;    /* of its PCI device, from 0 on */
	unsigned partitions;   /* of that device that are visible */
};

/* In the order of their index, at most `max`; their number. root: in front of each path; "". */
size_t gpu_names_read(const char *root, struct gpu_name *out, size_t max);

/* NULL: none of them. */
const struct gpu_name *gpu_name_of(const struct gpu_name *names, size_t n, uint32_t gpu_id);
/*
 * The GPU that a word means: a gpu_id, an index (also "gpu0"), a PCI address with or without its
 * domain, "renderD128" or its path. Of several partitions of one device a PCI address means none.
 * 0: no GPU, or several.
 */
uint32_t gpu_name_find(const struct gpu_name *names, size_t n, const char *word);

/* Its index, "0"; the gpu_id in brackets if the GPU is not known here. */
#define GPU_NAME_SHORT 24
const char *gpu_name_short(char text[static GPU_NAME_SHORT], const struct gpu_name *name,
			   uint32_t gpu_id);
/* "AMD Instinct MI210, 0000:43:00.0, renderD128, gpu_id 12440" */
#define GPU_NAME_LONG 160
const char *gpu_name_long(char text[static GPU_NAME_LONG], const struct gpu_name *name);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * Names of the GPUs for users: index, PCI address, render node, marketing name, partition.
 *
 * The sources are the driver's topology and the PCI device in sysfs, and libdrm's list of product
 * names (amdgpu.ids). No device is opened. A text that is not known is empty.
 *
 * Threads: any. Nothing is allocated. Errors: a GPU that cannot be read is not in the list.
 */
#ifndef KFDSHIM_KFD_GPU_NAME_H
#define KFDSHIM_KFD_GPU_NAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct gpu_name {
	uint32_t gpu_id;
	unsigned index;	       /* from 0, in the order of KFD's nodes; same as HIP's */
	char bdf[20];	       /* "0000:43:00.0" */
	unsigned render_minor; /* 128 for /dev/dri/renderD128; 0: not known */
	char product[64];      /* "AMD Instinct MI210" */
	/* compute partition mode, "CPX"; empty: the GPU cannot be partitioned */
	char mode[16];
	unsigned partition;  /* number of the partition on its PCI device, from 0 */
	unsigned partitions; /* visible partitions of that PCI device */
};

/*
 * Reads at most `max` GPUs, in the order of their index.
 * root: prefix of each path that is read; "" for this machine.
 * Returns their number.
 */
size_t gpu_names_read(const char *root, struct gpu_name *out, size_t max);

/* Returns the entry with that gpu_id, or NULL. */
const struct gpu_name *gpu_name_of(const struct gpu_name *names, size_t n, uint32_t gpu_id);
/*
 * Finds the GPU that a user means by `word`: a gpu_id, an index ("0" or "gpu0"), a PCI address with
 * or without its domain, "renderD128" or a path that ends so. A number that is a gpu_id is never
 * taken as an index.
 * Returns the gpu_id, or 0 if no GPU or several GPUs match. So a PCI address finds nothing if its
 * device has several partitions.
 */
uint32_t gpu_name_find(const struct gpu_name *names, size_t n, const char *word);

/* Writes the index of the GPU, "0"; or "[GPU_ID]" if `name` is NULL, because the GPU is not known
 * here. Returns `text`. */
#define GPU_NAME_SHORT 24
const char *gpu_name_short(char text[static GPU_NAME_SHORT], const struct gpu_name *name,
			   uint32_t gpu_id);
/* Writes all names: "AMD Instinct MI210, 0000:43:00.0, renderD128, gpu_id 12440". Returns
 * `text`. */
#define GPU_NAME_LONG 192
const char *gpu_name_long(char text[static GPU_NAME_LONG], const struct gpu_name *name);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * What libdrm knows of AMD's GPUs: those that it lists, and their memory. It lists character
 * devices only, so in a container those that were passed in, and under kfdsim none (its render
 * nodes are plain files), unless libkfdsim-stat.so is preloaded.
 *
 * Threads: any. Nothing is allocated for the caller.
 */
#ifndef KFDSHIM_CLI_INSPECT_DRM_H
#define KFDSHIM_CLI_INSPECT_DRM_H

#include <stddef.h>
#include <stdint.h>

#define DRM_GPUS_MAX 64u

struct drm_gpu {
	char bdf[20];	       /* "0000:43:00.0" */
	unsigned render_minor; /* 128 for /dev/dri/renderD128 */
};

/* Lists AMD's GPUs that have a render node here, at most `max`, without opening one. Partitions
 * after the first of a GPU are not listed: their devices are not on the PCI bus. Returns their
 * number; 0 also if there is no /dev/dri. */
size_t drm_gpus_read(struct drm_gpu *out, size_t max);

/* Memory of a card, in bytes; of all its partitions together. */
struct drm_vram {
	int64_t bytes, used; /* used by all processes and the driver */
};

/* Reads the memory of the card whose render node is open as `fd`. Returns 0 or a negative errno. */
int drm_vram_read(int fd, struct drm_vram *out);

#endif

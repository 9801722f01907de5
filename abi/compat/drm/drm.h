/* SPDX-License-Identifier: MIT */
/* Debian's linux-libc-dev leaves drm/ to libdrm-dev, which keeps it in libdrm/;
 * <linux/kfd_ioctl.h> asks for <drm/drm.h>. Searched last: a system that has the
 * real one uses it. */
#include <libdrm/drm.h>

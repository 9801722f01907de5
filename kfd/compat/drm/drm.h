/* SPDX-License-Identifier: MIT */
/* Stands in for <drm/drm.h>, which <linux/kfd_ioctl.h> includes: Debian's linux-libc-dev leaves
 * drm/ to libdrm-dev, which installs the file in libdrm/. This directory is searched last, so that
 * a system with the real file uses that. */
#include <libdrm/drm.h>

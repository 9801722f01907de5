/* SPDX-License-Identifier: MIT */
/*
 * The seccomp filter of the simulation. It notifies the supervisor of
 * - ioctl() with a command of type 'K' (KFD, but also the console) or 'd' (DRM);
 * - process_vm_readv() and process_vm_writev();
 * - on request, openat(AT_FDCWD, path, O_RDONLY | O_CLOEXEC), which is how libkmod reads
 *   /proc/modules.
 *
 * All other system calls run at full speed.
 */
#ifndef KFDSHIM_SIM_SANDBOX_SECCOMP_FILTER_H
#define KFDSHIM_SIM_SANDBOX_SECCOMP_FILTER_H

#include <stdbool.h>

/* Returns whether this kernel has seccomp user notification. */
bool filter_supported(void);

/* Installs the filter for the calling thread and all its future children. Needs CAP_SYS_ADMIN in
 * the user namespace. Does not set no_new_privs, so that setuid programs continue to work.
 * @trap_open: notify openat() as well. Returns 0 and the listener (close-on-exec, owned by the
 * caller), or a negative errno; -EBUSY: the thread already has a listener. */
int notify_filter_install(bool trap_open, int *listener);

#endif

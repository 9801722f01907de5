/* SPDX-License-Identifier: MIT */
/*
 * The seccomp filter of a world. It notifies the supervisor of ioctl() whose
 * command has the type 'K' (KFD, but also the console) or 'd' (DRM), of
 * process_vm_readv() and process_vm_writev(), and on demand of openat(AT_FDCWD, path, O_RDONLY | O_CLOEXEC), which is how libkmod
 * reads /proc/modules; everything else runs at full speed.
 */
#ifndef KFDSHIM_SIM_RUN_FILTER_H
#define KFDSHIM_SIM_RUN_FILTER_H

#include <stdbool.h>

/* Has this kernel user notification? */
bool filter_supported(void);

/* Puts the filter over the calling thread and all that it starts. Needs
 * CAP_SYS_ADMIN in the user namespace and sets no_new_privs not, so that
 * setuid programs go on working. 0 and the listener (close-on-exec, the
 * caller's), or a negative errno; -EBUSY: the thread has a listener already. */
int filter_install(bool trap_open, int *listener);

#endif

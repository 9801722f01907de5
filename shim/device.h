/* SPDX-License-Identifier: MIT */
/*
 * The agent's own descriptor of the driver, for calls that no hook forwards, because the
 * runtime may close its own. It is opened anew, for all descriptors of a process but those
 * of other contexts are one KFD process. A program may close this one as well (closefrom),
 * and its number may be another file's by then, also one of the device that the program
 * has opened itself: it is told apart by its mark (descriptor.h), and opened once more
 * where need be. Where the name cannot be opened (a sandbox), it is a copy of one of the
 * program's first context. Whose that is cannot be told later, so it is never closed, and
 * serves again.
 *
 * Threads: under the lock of hold.c, but for device_is_kept.
 */
#ifndef KFDSHIM_SHIM_DEVICE_H
#define KFDSHIM_SHIM_DEVICE_H

#include <stdbool.h>

/* 0, or a negative errno. */
int device_keep(int fd);
bool device_is_kept(void);
/* To call the driver by. -1 and errno: it cannot be had back (any more). */
int device_fd(void);
/* Closes it, unless it is a copy. */
void device_drop(void);
/* Fork child: closes it, and what it was a copy of is the parent's. */
void device_forget(void);

#endif

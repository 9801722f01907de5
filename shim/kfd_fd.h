/* SPDX-License-Identifier: MIT */
/*
 * The agent's own open file of /dev/kfd, for driver calls outside of hooks. The runtime's file is
 * not used for them, because the runtime may close it at any time.
 *
 * The device is opened anew, because all open files of a process, except those of secondary
 * contexts, belong to one KFD process. A program may close this file too (closefrom()), and its
 * number may then belong to another file, even to one of the same device that the program has
 * opened itself. The agent recognises its own file by the mark (descriptor.h), and opens the device
 * again when the mark is gone.
 *
 * If the device cannot be opened by name (a sandbox), the agent uses a copy of a file descriptor of
 * the program's primary context. A copy cannot be marked, because that would mark the program's
 * file as well. Without a mark it cannot be verified later that the number is still the agent's, so
 * the copy is never closed. It can be used again after device_drop().
 *
 * Threads: under the lock of hold.c, except device_is_open(), which any thread may call.
 */
#ifndef KFDSHIM_SHIM_KFD_FD_H
#define KFDSHIM_SHIM_KFD_FD_H

#include <stdbool.h>

/* Opens the device for the agent. @fd is a file descriptor of the primary context that the program
 * has open. It identifies the device, and is copied if the device cannot be opened.
 * Returns 0, or a negative errno. */
int device_keep(int fd);
/* Returns true between a successful device_keep() and device_drop(). Any thread. */
bool device_is_open(void);
/* Returns the file descriptor for a driver call, opened again if it was lost; or -1 with errno if
 * the device cannot be opened. The file descriptor stays this module's. */
int device_fd(void);
/* Ends the use of the device. Closes the file descriptor, unless it is a copy. */
void device_drop(void);
/* Closes the file descriptor as device_drop() does, and forgets the copy of a file descriptor of
 * the program, because it belongs to the parent. To be called in a fork child. */
void device_forget(void);

#endif

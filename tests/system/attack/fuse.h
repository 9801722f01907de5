/* SPDX-License-Identifier: MIT */
/*
 * A FUSE file system of one regular file, of which chosen requests are never answered to
 * processes outside of the caller's process group: a close or a page of the file then
 * blocks the process that needs it for as long as the file system lives.
 *
 * It is mounted in a user and mount namespace of its own, which any user may make; the caller
 * stays in its namespaces and gets open files of it. It needs a device node that this user may
 * open. Two helper processes, which end with the caller.
 */
#ifndef KFDSHIM_TESTS_SYSTEM_ATTACK_FUSE_H
#define KFDSHIM_TESTS_SYSTEM_ATTACK_FUSE_H

#define FUSE_FILE_BYTES (1u << 20)

enum fuse_never {
	FUSE_NEVER_FLUSH = 1, /* each close() waits */
	FUSE_NEVER_READ = 2,  /* each page fault waits, also of the caller's own processes */
};

struct fuse {
	int requests; /* a byte sent there is answered with an open file */
};

/* Mounts it through the device node `device`. 0, or a negative errno with a line on standard
 * error that names the step. */
int fuse_start(struct fuse *fuse, const char *device, unsigned never);
/* A newly opened file of it (O_RDWR), or a negative errno. */
int fuse_file(struct fuse *fuse);

#endif

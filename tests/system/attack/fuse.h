/* SPDX-License-Identifier: MIT */
/*
 * A FUSE file system with one regular file. Requests of chosen kinds are never answered if they
 * come from outside of the caller's process group: close() or a page fault of the file then blocks
 * the calling process as long as the file system lives.
 *
 * The file system is mounted in a user and mount namespace of its own, which any user can create.
 * The caller stays in its namespaces and receives open files of it. It needs a device node that
 * this user can open.
 *
 * Two helper processes serve it; they end with the caller.
 */
#ifndef KFDSHIM_TESTS_SYSTEM_ATTACK_FUSE_H
#define KFDSHIM_TESTS_SYSTEM_ATTACK_FUSE_H

#define FUSE_FILE_BYTES (1u << 20)

/* Kinds of requests that are never answered; a bit mask. */
enum fuse_never {
	FUSE_NEVER_FLUSH = 1, /* each close() blocks */
	FUSE_NEVER_READ = 2,  /* each page fault blocks, also in the caller's own processes */
};

/* A mounted file system, as its caller has it. */
struct fuse {
	int requests; /* socket; one byte sent to it is answered with an open file */
};

/* Mounts the file system through the device node `device`. `never`: the kinds (enum fuse_never)
 * that are never answered. Returns 0, or a negative errno after a line on standard error that names
 * the failed step. */
int fuse_start(struct fuse *fuse, const char *device, unsigned never);
/* Returns a newly opened file of the file system (O_RDWR), which the caller closes, or a negative
 * errno. */
int fuse_file(struct fuse *fuse);

#endif

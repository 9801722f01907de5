// SPDX-License-Identifier: MIT
#include "scheduler/daemon/landlock.h"

#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

/* The interface as of version 6 (Linux 6.12), declared here because the system headers may be
 * older than the kernel. */
#ifndef SYS_landlock_create_ruleset
#define SYS_landlock_create_ruleset 444
#define SYS_landlock_restrict_self 446
#endif
#define QUERY_VERSION 1u

struct ruleset {
	uint64_t files, net, scopes;
};

enum {
	FILES_EXECUTE = 1u << 0,
	FILES_WRITE = 1u << 1,
	FILES_FIRST = 0x1ff0, /* rights to remove files, and to create files of each type */
	FILES_REFER = 1u << 13,
	FILES_TRUNCATE = 1u << 14,
	FILES_IOCTL = 1u << 15,
	NET_TCP = 3,	/* bind, connect */
	SCOPES_ALL = 3, /* abstract Unix sockets, signals */
};

int landlock_version(void)
{
	long version = syscall(SYS_landlock_create_ruleset, NULL, 0, QUERY_VERSION);

	return version > 0 ? (int)version : 0;
}

/* Fills *out with the restrictions that `version` supports, because the kernel rejects a ruleset
 * with unknown bits. Returns the size of the struct in that version. */
static size_t all_but_reading(int version, struct ruleset *out)
{
	*out = (struct ruleset){.files = FILES_EXECUTE | FILES_WRITE | FILES_FIRST};
	if (version >= 2)
		out->files |= FILES_REFER;
	if (version >= 3)
		out->files |= FILES_TRUNCATE;
	if (version >= 4)
		out->net = NET_TCP;
	if (version >= 5)
		out->files |= FILES_IOCTL;
	if (version >= 6)
		out->scopes = SCOPES_ALL;
	return version >= 6   ? sizeof(*out)
	       : version >= 4 ? offsetof(struct ruleset, scopes)
			      : offsetof(struct ruleset, net);
}

int landlock_read_only(void)
{
	const int version = landlock_version();
	struct ruleset ruleset;
	size_t size;
	int fd, error;

	if (!version)
		return -ENOSYS;
	size = all_but_reading(version, &ruleset);
	fd = (int)syscall(SYS_landlock_create_ruleset, &ruleset, size, 0);
	if (fd < 0)
		return -errno;
	/* The ruleset has no rules that allow anything, so all access that it names is
	 * forbidden. */
	error = syscall(SYS_landlock_restrict_self, fd, 0) == 0 ? 0 : -errno;
	close(fd);
	return error;
}

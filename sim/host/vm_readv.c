// SPDX-License-Identifier: MIT
/*
 * Refuses process_vm_readv() and process_vm_writev() on device memory, as the kernel does. On a
 * real GPU, what a process has mapped from a render node or from /dev/kfd is VM_IO and VM_PFNMAP
 * (drivers/gpu/drm/ttm/ttm_bo_vm.c, kfd_doorbell.c, kfd_events.c), and the kernel does not pin such
 * pages (mm/process_vm_access.c: EFAULT). Loads and stores reach them, and so does /proc/PID/mem,
 * for which TTM has a function of its own. In the simulation the mappings are pages of files, which
 * the kernel would pin.
 *
 * Only the ranges of the other process that the call names are checked. A call that reaches device
 * memory only after other memory is refused as a whole.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/sysmacros.h>
#include <sys/uio.h>
#include <unistd.h>

#include "sim/driver/queue.h"

#define RANGES_MAX 64u /* further ranges are not checked */

/* The same indexes are valid for process_vm_readv() and process_vm_writev(). */
enum { ARG_PID, ARG_LOCAL, ARG_LOCAL_N, ARG_REMOTE, ARG_REMOTE_N };

/* Argument of the ioctl by which Linux 6.11 and later answer queries about a process's mappings
 * (Documentation/filesystems/proc.rst); system headers may be older. */
struct procmap_question {
	uint64_t size, flags, address;
	uint64_t start, end, vma_flags, page_bytes, offset, inode;
	uint32_t major, minor;
	uint32_t name_bytes, build_id_bytes;
	uint64_t name, build_id;
};
_Static_assert(sizeof(struct procmap_question) == 104, "struct procmap_query");
#define PROCMAP_ASK _IOWR('f', 17, struct procmap_question)
#define COVERING_OR_NEXT 0x10u
#define FILE_BACKED 0x20u

static bool is_device(const struct sim *sim, unsigned major, unsigned minor,
		      unsigned long long inode)
{
	return makedev(major, minor) == sim->kfd_dev &&
	       (inode == sim->kfd_ino || inode == sim->render_ino);
}

/* Finds the first file mapping that contains @address or begins after it. Returns 0 or -1. */
static int query(int maps, struct procmap_question *question, uint64_t address)
{
	*question = (struct procmap_question){
		.size = sizeof *question,
		.flags = COVERING_OR_NEXT | FILE_BACKED,
		.address = address,
	};
	return ioctl(maps, PROCMAP_ASK, question);
}

/* Returns true if [start, end) intersects a mapping of a device. */
static bool wanted(const struct sim *sim, int maps, uint64_t start, uint64_t end)
{
	struct procmap_question question;

	while (start < end && !query(maps, &question, start) && question.start < end) {
		if (is_device(sim, question.major, question.minor, question.inode))
			return true;
		start = question.end;
	}
	return false;
}

/* Used on kernels before 6.11. Reads the list of mappings as text, and returns true if one of the
 * ranges intersects a mapping of a device. Closes @maps. */
static bool listed(const struct sim *sim, int maps, const struct iovec *ranges, size_t n)
{
	unsigned long long from, to, inode;
	FILE *list = fdopen(maps, "r");
	unsigned major, minor;
	bool found = false;
	char line[512];

	if (!list) {
		close(maps);
		return false;
	}
	while (!found && fgets(line, sizeof line, list)) {
		if (sscanf(line, "%llx-%llx %*s %*x %x:%x %llu", &from, &to, &major, &minor,
			   &inode) != 5 ||
		    !is_device(sim, major, minor, inode))
			continue;
		for (size_t i = 0; i < n; i++) {
			uint64_t start = (uint64_t)(uintptr_t)ranges[i].iov_base;

			found = found || (start < to && start + ranges[i].iov_len > from);
		}
	}
	fclose(list);
	return found;
}

bool vm_access_refused(const struct sim *sim, pid_t tid, const uint64_t *args)
{
	size_t n = args[ARG_REMOTE_N] < RANGES_MAX ? (size_t)args[ARG_REMOTE_N] : RANGES_MAX;
	struct iovec ranges[RANGES_MAX];
	struct procmap_question question;
	bool refused = false;
	char path[64];
	int maps;

	if (!rule_holds(sim, RULE_device_memory_is_not_for_process_vm) || !n ||
	    task_memory(tid, args[ARG_REMOTE], ranges, n * sizeof ranges[0], false))
		return false;
	/* In the caller's own /proc the pids are those of the caller's PID namespace. */
	snprintf(path, sizeof path, "/proc/%d/root/proc/%d/maps", tid, (int)args[ARG_PID]);
	maps = open(path, O_RDONLY | O_CLOEXEC);
	if (maps < 0)
		return false;
	if (query(maps, &question, 0) && errno != ENOENT)
		return listed(sim, maps, ranges, n);
	for (size_t i = 0; i < n && !refused; i++) {
		uint64_t start = (uint64_t)(uintptr_t)ranges[i].iov_base;

		refused = wanted(sim, maps, start, start + ranges[i].iov_len);
	}
	close(maps);
	return refused;
}

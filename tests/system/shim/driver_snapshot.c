// SPDX-License-Identifier: MIT
#include "tests/system/shim/driver_snapshot.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/ptrace.h>

#include "tests/matrix/step.h"

static struct kfdabi_queue_snapshot entries[KFDABI_QUEUE_ARRAY_MAX];
static pid_t target;
static int kfd;

static void trap(struct kfdabi_dbg_trap *args, const char *what)
{
	args->pid = (uint32_t)target;
	if (ioctl(kfd, KFDABI_IOC_DBG_TRAP, args) < 0)
		step_fail("DBG_TRAP %s: %s", what, strerror(errno));
}

void driver_snapshot_open(pid_t pid)
{
	struct kfdabi_dbg_trap args = {.op = KFDABI_TRAP_ENABLE};
	struct kfdabi_runtime_info info = {0};
	int events = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK); /* ENABLE needs an event descriptor */

	target = pid;
	kfd = open("/dev/kfd", O_RDWR | O_CLOEXEC);
	if (kfd < 0 || events < 0)
		step_fail("/dev/kfd: %s", strerror(errno));
	if (ptrace(PTRACE_SEIZE, pid, NULL, NULL) != 0)
		step_fail("the workload cannot be traced: %s", strerror(errno));
	args.u.enable.rinfo_ptr = (uintptr_t)&info;
	args.u.enable.rinfo_size = sizeof(info);
	args.u.enable.dbg_fd = (uint32_t)events;
	trap(&args, "ENABLE");
	if (info.runtime_state != KFDABI_RUNTIME_ENABLED)
		step_fail("the driver calls the workload's runtime state %u", info.runtime_state);
}

uint32_t driver_snapshot(const struct kfdabi_queue_snapshot **out)
{
	struct kfdabi_dbg_trap args = {.op = KFDABI_TRAP_GET_QUEUE_SNAPSHOT};

	args.u.queue_snapshot.snapshot_buf_ptr = (uintptr_t)entries;
	args.u.queue_snapshot.num_queues = KFDABI_QUEUE_ARRAY_MAX;
	args.u.queue_snapshot.entry_size = sizeof(entries[0]);
	trap(&args, "GET_QUEUE_SNAPSHOT");
	*out = entries;
	return args.u.queue_snapshot.num_queues;
}

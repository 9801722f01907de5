// SPDX-License-Identifier: MIT
/* CRIU_OP: required capabilities and invalid operations. No process is paused here. */
#include <linux/capability.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tools/kfdconform/checks.h"
#include "tools/kfdconform/harness/harness.h"

#define NEEDED (1ull << CAP_SYS_ADMIN | 1ull << CAP_CHECKPOINT_RESTORE)

static struct gpu_file gpu;

static int criu(uint32_t op)
{
	struct kfd_ioctl_criu_args args = {.op = op};

	return harness_ioctl(gpu.kfd, KFDABI_CRIU_OP, &args, sizeof args);
}

void check_criu_needs_a_capability(void)
{
	gpu_open(&gpu);
	capabilities_drop(NEEDED);
	CHECK_IS(criu(KFD_CRIU_OP_UNPAUSE), -EACCES);
	CHECK_IS(criu(KFD_CRIU_OP_PROCESS_INFO), -EACCES);
	CHECK_IS(criu(77), -EACCES);
}

void check_criu_unknown_op_is_einval(void)
{
	gpu_open(&gpu);
	if (!(capabilities_drop(0) & NEEDED))
		SKIP("needs CAP_CHECKPOINT_RESTORE or CAP_SYS_ADMIN");
	CHECK_IS(criu(77), -EINVAL);
}

void check_criu_unpause_of_what_runs_is_einval(void)
{
	gpu_open(&gpu);
	if (!(capabilities_drop(0) & NEEDED))
		SKIP("needs CAP_CHECKPOINT_RESTORE or CAP_SYS_ADMIN");
	CHECK_IS(criu(KFD_CRIU_OP_UNPAUSE), -EINVAL);
}

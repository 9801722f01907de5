// SPDX-License-Identifier: MIT
#include "sim/run/filter.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/seccomp.h>
#include <seccomp.h>
#include <sys/syscall.h>
#include <unistd.h>

#define IOCTL_TYPE_MASK 0xff00u

bool filter_supported(void)
{
	struct seccomp_notif_sizes sizes;

	return !syscall(SYS_seccomp, SECCOMP_GET_NOTIF_SIZES, 0, &sizes);
}

static int add_rules(scmp_filter_ctx filter, bool trap_open)
{
	static const char types[] = {'K', 'd'};
	int rc = 0;

	for (size_t i = 0; i < sizeof(types) && !rc; i++)
		rc = seccomp_rule_add(
			filter, SCMP_ACT_NOTIFY, SCMP_SYS(ioctl), 1,
			SCMP_A1(SCMP_CMP_MASKED_EQ, IOCTL_TYPE_MASK, (scmp_datum_t)types[i] << 8));
	/* The kernel takes the low 32 bits of both. */
	if (!rc && trap_open)
		rc = seccomp_rule_add(
			filter, SCMP_ACT_NOTIFY, SCMP_SYS(openat), 2,
			SCMP_A0(SCMP_CMP_MASKED_EQ, 0xffffffffu, (uint32_t)AT_FDCWD),
			SCMP_A2(SCMP_CMP_MASKED_EQ, 0xffffffffu, O_RDONLY | O_CLOEXEC));
	return rc;
}

int filter_install(bool trap_open, int *listener)
{
	scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ALLOW);
	int rc;

	if (!filter)
		return -ENOMEM;
	/* 32-bit programs: the driver refuses them (EPERM at open) anyway. */
	rc = seccomp_attr_set(filter, SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_ALLOW);
	if (!rc)
		rc = seccomp_attr_set(filter, SCMP_FLTATR_CTL_NNP, 0);
	if (!rc)
		rc = seccomp_attr_set(filter, SCMP_FLTATR_API_SYSRAWRC, 1);
	if (!rc)
		rc = add_rules(filter, trap_open);
	if (!rc)
		rc = seccomp_load(filter);
	if (!rc) {
		*listener = fcntl(seccomp_notify_fd(filter), F_DUPFD_CLOEXEC, 3);
		rc = *listener < 0 ? -errno : 0;
	}
	seccomp_release(filter);
	return rc;
}

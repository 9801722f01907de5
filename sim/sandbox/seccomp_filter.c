// SPDX-License-Identifier: MIT
#include "sim/sandbox/seccomp_filter.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <seccomp.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

/* The type byte of an ioctl command. */
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
	if (!rc)
		rc = seccomp_rule_add(filter, SCMP_ACT_NOTIFY, SCMP_SYS(process_vm_readv), 0);
	if (!rc)
		rc = seccomp_rule_add(filter, SCMP_ACT_NOTIFY, SCMP_SYS(process_vm_writev), 0);
	/* The mask limits the comparison to the low 32 bits, because the kernel ignores the high
	 * bits of these arguments. */
	if (!rc && trap_open)
		rc = seccomp_rule_add(
			filter, SCMP_ACT_NOTIFY, SCMP_SYS(openat), 2,
			SCMP_A0(SCMP_CMP_MASKED_EQ, 0xffffffffu, (uint32_t)AT_FDCWD),
			SCMP_A2(SCMP_CMP_MASKED_EQ, 0xffffffffu, O_RDONLY | O_CLOEXEC));
	return rc;
}

/* Loads the filter and returns the listener or a negative errno. seccomp_load() turns EBUSY into
 * EFAULT (libseccomp 2.5.4), so the program is exported and loaded here. */
static int load(scmp_filter_ctx filter)
{
	struct sock_filter code[256];
	struct sock_fprog program = {.filter = code};
	int fd = memfd_create("filter", MFD_CLOEXEC);
	ssize_t n;
	long rc;

	if (fd < 0)
		return -errno;
	rc = seccomp_export_bpf(filter, fd);
	n = rc ? 0 : pread(fd, code, sizeof(code), 0);
	close(fd);
	if (rc)
		return (int)rc;
	if (n <= 0 || n == sizeof(code))
		return -E2BIG;
	program.len = (unsigned short)((size_t)n / sizeof(code[0]));
	rc = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER,
		     &program);
	return rc < 0 ? -errno : (int)rc;
}

int notify_filter_install(bool trap_open, int *listener)
{
	scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ALLOW);
	int rc;

	if (!filter)
		return -ENOMEM;
	/* Allow 32-bit programs, because the driver refuses them anyway (EPERM at open). */
	rc = seccomp_attr_set(filter, SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_ALLOW);
	if (!rc)
		rc = add_rules(filter, trap_open);
	if (!rc)
		rc = load(filter);
	seccomp_release(filter);
	if (rc < 0)
		return rc;
	*listener = rc;
	return 0;
}

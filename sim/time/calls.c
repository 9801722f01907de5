// SPDX-License-Identifier: MIT
/*
 * syscall(2): a program's own waits by number. And the filters that a program installs for
 * itself: what this library needs is allowed in front of them.
 */
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/futex.h>
#include <linux/seccomp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "sim/time/library.h"

/* FUTEX_WAIT's time is relative, FUTEX_WAIT_BITSET's absolute; only the bit set that matches
 * every wake can be served. */
static bool is_timed_futex(const long a[6])
{
	int command = (int)a[1] & ~(FUTEX_PRIVATE_FLAG | FUTEX_CLOCK_REALTIME);

	return a[3] && (command == FUTEX_WAIT ||
			(command == FUTEX_WAIT_BITSET && (uint32_t)a[5] == FUTEX_BITSET_MATCH_ANY));
}

static long timed_futex(const long a[6])
{
	const struct timespec *t = (const struct timespec *)a[3];
	clockid_t clock = a[1] & FUTEX_CLOCK_REALTIME ? CLOCK_REALTIME : CLOCK_MONOTONIC;
	bool relative = (a[1] & FUTEX_CMD_MASK & ~FUTEX_CLOCK_REALTIME) == FUTEX_WAIT;

	if (!is_valid(t))
		return -EINVAL;
	return futex_until((uint32_t *)a[0], (uint32_t)a[2], !(a[1] & FUTEX_PRIVATE_FLAG),
			   relative ? deadline_after(to_ns(t)) : deadline_of(clock, t));
}

#define ALLOW(nr)                                                                                  \
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (nr), 0, 1),                                           \
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)

/* Whatever is not allowed here goes on to the program's filter, which follows. */
static const struct sock_filter ours[] = {
	BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, arch)),
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, AUDIT_ARCH_X86_64, 0, 27),
	BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
	ALLOW(SYS_futex),
	ALLOW(SYS_futex_waitv),
	ALLOW(SYS_ppoll),
	ALLOW(SYS_read),
	ALLOW(SYS_signalfd4),
	ALLOW(SYS_close),
	ALLOW(SYS_gettid),
	ALLOW(SYS_fcntl),
	ALLOW(SYS_getsockopt),
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_ioctl, 0, 7),
	BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[1])),
	ALLOW(TIME_IOC_SLOT),
	ALLOW(TIME_IOC_EVENT),
	ALLOW(TIME_IOC_TIMER),
};
#define OURS (sizeof(ours) / sizeof(*ours))

static long install(long nr, const long a[6], const struct sock_fprog *program)
{
	struct sock_filter code[BPF_MAXINSNS];
	struct sock_fprog longer = {.filter = code};

	if (!program || program->len + OURS > BPF_MAXINSNS)
		return -EINVAL;
	memcpy(code, ours, sizeof(ours));
	memcpy(code + OURS, program->filter, program->len * sizeof(*code));
	longer.len = (unsigned short)(program->len + OURS);
	return raw(nr, a[0], a[1], (long)&longer, a[3], a[4], a[5]);
}

static long served(long nr, const long a[6])
{
	switch (nr) {
	case SYS_futex:
		return is_timed_futex(a) ? timed_futex(a)
					 : raw(nr, a[0], a[1], a[2], a[3], a[4], a[5]);
	case SYS_clock_gettime:
		return clock_gettime((clockid_t)a[0], (struct timespec *)a[1]) ? -errno : 0;
	case SYS_nanosleep:
		return -clock_nanosleep(CLOCK_MONOTONIC, 0, (const struct timespec *)a[0],
					(struct timespec *)a[1]);
	case SYS_clock_nanosleep:
		return -clock_nanosleep((clockid_t)a[0], (int)a[1], (const struct timespec *)a[2],
					(struct timespec *)a[3]);
	case SYS_seccomp:
		if (a[0] == SECCOMP_SET_MODE_FILTER)
			return install(nr, a, (const struct sock_fprog *)a[2]);
		/* fall through */
	default:
		return raw(nr, a[0], a[1], a[2], a[3], a[4], a[5]);
	}
}

#define ARGUMENTS(a, last)                                                                         \
	do {                                                                                       \
		va_list list;                                                                      \
		va_start(list, last);                                                              \
		for (int i = 0; i < 6; i++)                                                        \
			(a)[i] = va_arg(list, long);                                               \
		va_end(list);                                                                      \
	} while (0)

EXPORT long syscall(long nr, ...)
{
	long a[6];

	ARGUMENTS(a, nr);
	return returned(time_page() ? served(nr, a) : raw(nr, a[0], a[1], a[2], a[3], a[4], a[5]));
}

EXPORT int prctl(int option, ...)
{
	long a[6];

	ARGUMENTS(a, option);
	if (option == PR_SET_SECCOMP && a[0] == SECCOMP_MODE_FILTER && time_page()) {
		const long as_call[6] = {PR_SET_SECCOMP, SECCOMP_MODE_FILTER};

		return (int)returned(install(SYS_prctl, as_call, (const struct sock_fprog *)a[1]));
	}
	return (int)returned(raw(SYS_prctl, option, a[0], a[1], a[2], a[3], 0));
}

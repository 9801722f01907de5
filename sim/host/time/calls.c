// SPDX-License-Identifier: MIT
/*
 * Replaces syscall() and prctl(), for waits that a program makes by system call number and for
 * seccomp filters that a program installs for itself. Such a filter gets a prefix that allows the
 * calls which this library needs.
 */
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/futex.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/select.h>

#include "sim/host/time/library.h"

/* Returns true for futex waits with a time-out. The time of FUTEX_WAIT is relative, that of
 * FUTEX_WAIT_BITSET absolute. The only bit set that is supported is FUTEX_BITSET_MATCH_ANY. */
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

/* Waits as futex_waitv(), and returns as raw(). If the program passes as many words as the kernel
 * allows, there is no room for the word that ends the wait, and the kernel waits in real time. */
static long timed_futex_waitv(const long a[6])
{
	const struct timespec *t = (const struct timespec *)a[3];
	clockid_t clock = (clockid_t)a[4];

	if (a[2] || (clock != CLOCK_MONOTONIC && clock != CLOCK_REALTIME) || a[1] < 1 ||
	    a[1] >= FUTEX_WORDS_MAX)
		return raw(SYS_futex_waitv, a[0], a[1], a[2], a[3], a[4], 0);
	if (!is_valid(t))
		return -EINVAL;
	return futexes_until((const struct futex_word *)a[0], (unsigned)a[1],
			     deadline_of(clock, t));
}

/* Calls this library's replacement of a C library function that waits, and returns as it does. Only
 * select() writes back the time that is left. For the other calls the time may be in read-only
 * memory, which the kernel tolerates. */
static long wait_for_events(long nr, const long a[6])
{
	const struct timespec *t = (const struct timespec *)(nr == SYS_ppoll ? a[2] : a[3]);
	struct epoll_event *events = (struct epoll_event *)a[1];

	switch (nr) {
	case SYS_poll:
		return poll((struct pollfd *)a[0], (nfds_t)a[1], (int)a[2]);
	case SYS_ppoll:
		return ppoll((struct pollfd *)a[0], (nfds_t)a[1], t, (const sigset_t *)a[3]);
	case SYS_select:
		return select((int)a[0], (fd_set *)a[1], (fd_set *)a[2], (fd_set *)a[3],
			      (struct timeval *)a[4]);
	case SYS_pselect6: /* the last argument points to the mask and its size */
		return pselect((int)a[0], (fd_set *)a[1], (fd_set *)a[2], (fd_set *)a[3],
			       (const struct timespec *)a[4],
			       a[5] ? *(const sigset_t **)a[5] : NULL);
	case SYS_epoll_wait:
		return epoll_wait((int)a[0], events, (int)a[2], (int)a[3]);
	case SYS_epoll_pwait:
		return epoll_pwait((int)a[0], events, (int)a[2], (int)a[3], (const sigset_t *)a[4]);
	case SYS_epoll_pwait2:
		return epoll_pwait2((int)a[0], events, (int)a[2], t, (const sigset_t *)a[4]);
	default: /* SYS_rt_sigtimedwait */
		return sigtimedwait((const sigset_t *)a[0], (siginfo_t *)a[1],
				    (const struct timespec *)a[2]);
	}
}

/* Calls @wait with cancellation disabled, because the functions that it calls are cancellation
 * points and syscall() is none. Returns the result or a negative errno. */
static long uncancelled(long (*wait)(long nr, const long a[6]), long nr, const long a[6])
{
	int state;
	long r;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);
	r = wait(nr, a);
	pthread_setcancelstate(state, NULL);
	return r < 0 ? -errno : r;
}

static long sleep_by_number(long nr, const long a[6])
{
	int r = nr == SYS_nanosleep
			? clock_nanosleep(CLOCK_MONOTONIC, 0, (const struct timespec *)a[0],
					  (struct timespec *)a[1])
			: clock_nanosleep((clockid_t)a[0], (int)a[1], (const struct timespec *)a[2],
					  (struct timespec *)a[3]);

	return r ? returned(-r) : 0;
}

#define ALLOW(nr)                                                                                  \
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (nr), 0, 1),                                           \
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)

/* Prefix of a program's seccomp filter, which allows the calls of this library. Any other call goes
 * on to the program's filter, which follows. */
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

/* Installs a filter that consists of the prefix `ours` and the program's filter. Returns as
 * raw(). */
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

/* Serves a call in virtual time, or passes it to the kernel. Returns as raw(). */
static long served(long nr, const long a[6])
{
	switch (nr) {
	case SYS_futex:
		return is_timed_futex(a) ? timed_futex(a)
					 : raw(nr, a[0], a[1], a[2], a[3], a[4], a[5]);
	case SYS_clock_gettime:
		return clock_gettime((clockid_t)a[0], (struct timespec *)a[1]) ? -errno : 0;
	case SYS_nanosleep:
	case SYS_clock_nanosleep:
		return uncancelled(sleep_by_number, nr, a);
	case SYS_futex_waitv:
		return a[3] ? timed_futex_waitv(a) : raw(nr, a[0], a[1], a[2], 0, a[4], 0);
	case SYS_poll:
	case SYS_ppoll:
	case SYS_select:
	case SYS_pselect6:
	case SYS_epoll_wait:
	case SYS_epoll_pwait:
	case SYS_epoll_pwait2:
	case SYS_rt_sigtimedwait:
		return uncancelled(wait_for_events, nr, a);
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

/*
 * Replaces ioctl() for the GPU drivers, /dev/kfd and /dev/dri, recognised by command number; the
 * supervisor serves the calls. Each call delays the thread by its cost in virtual time (charge(),
 * page.h). If time has passed in a call, the thread has slept, and the cost of a wake-up is added.
 *
 * ROCr 6.4 has a thread that waits for events again and again without ever sleeping, on real GPUs
 * too, because the event age that it passes stays behind the event's. After SPIN_CALLS such calls
 * the thread sleeps before each further one, until a GPU or a program does something for which it
 * could wait. The sleep grows from STEP_MIN_NS to at most STEP_MAX_NS.
 */

#define WAIT_EVENTS_NR 0x0c
#define SPIN_CALLS 50u
#define STEP_MIN_NS 10000u
#define STEP_MAX_NS 1000000u

static __thread struct {
	unsigned calls; /* calls in a row that have not slept */
	/* last pause, ns; 0: none */
	uint64_t step_ns;
} spin __attribute__((tls_model("initial-exec")));

static bool waits_for_events(unsigned long command)
{
	return _IOC_TYPE(command) == 'K' && _IOC_NR(command) == WAIT_EVENTS_NR;
}

static void pause_spin(void)
{
	if (spin.calls < SPIN_CALLS) {
		spin.calls++;
		return;
	}
	spin.step_ns = spin_step(spin.step_ns, STEP_MIN_NS, STEP_MAX_NS);
	sleep_until(deadline_after(spin.step_ns), TIME_WAIT_SPIN);
}

static long call_driver(int fd, unsigned long command, long argument)
{
	uint64_t before;
	long r;

	charge(time_page()->ioctl_ns);
	if (waits_for_events(command))
		pause_spin();
	before = now_ns();
	r = raw(SYS_ioctl, fd, (long)command, argument, 0, 0, 0);
	if (now_ns() == before)
		return r;
	if (waits_for_events(command)) {
		spin.calls = 0;
		spin.step_ns = 0;
	}
	charge_wake();
	return r;
}

EXPORT int interposed_ioctl(int fd, unsigned long command, ...) __asm__("ioctl");
EXPORT int interposed_ioctl(int fd, unsigned long command, ...)
{
	va_list list;
	long argument;

	va_start(list, command);
	argument = va_arg(list, long);
	va_end(list);
	if ((_IOC_TYPE(command) != 'K' && _IOC_TYPE(command) != 'd') || !time_page())
		return (int)returned(raw(SYS_ioctl, fd, (long)command, argument, 0, 0, 0));
	return (int)returned(call_driver(fd, command, argument));
}

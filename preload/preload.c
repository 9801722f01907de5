// SPDX-License-Identifier: MIT
/*
 * The wrapped symbols. First half: logic, all static. Second half: what is
 * exported (exports.map lists the same names).
 */
#include <dlfcn.h>
#include <errno.h>
#include <stdarg.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "preload/internal.h"

#define EXPORT __attribute__((visibility("default")))
#define COLD __attribute__((noinline, cold))

/* Bits 15:8 of a command are its type, bits 7:0 its number. The structs grow
 * and with them the rest of the word, so nothing else is compared. */
#define KFD_TYPE 'K'
#define KFD_CREATE_QUEUE 0x02u
#define KFD_DESTROY_QUEUE 0x03u
#define KFD_UPDATE_QUEUE 0x07u
#define KFD_RUNTIME_ENABLE 0x25u

/* hsa_signal_t is a struct of one uint64_t and goes where a uint64_t goes;
 * hsa_signal_value_t is int64_t, hsa_signal_condition_t and hsa_wait_state_t
 * are enums. Declared here, so that no HSA header is needed to build this. */
enum condition { CONDITION_EQ = 0, CONDITION_NE = 1, CONDITION_LT = 2, CONDITION_GTE = 3 };

typedef int ioctl_fn(int fd, unsigned long request, ...);
typedef void store_fn(uint64_t signal, int64_t value);
typedef int64_t wait_fn(uint64_t signal, unsigned condition, int64_t compare, uint64_t timeout,
			unsigned state);

int ioctl(int fd, unsigned long request, ...);
store_fn hsa_signal_store_relaxed, hsa_signal_store_screlease;
wait_fn hsa_signal_wait_relaxed, hsa_signal_wait_scacquire;

/*
 * Each next symbol is found at the first call: the pointers begin at a function
 * that finds it, so that later calls test nothing.
 */
static ioctl_fn find_ioctl;
static store_fn find_store_relaxed, find_store_screlease;
static wait_fn find_wait_relaxed, find_wait_scacquire;

static ioctl_fn *next_ioctl = find_ioctl;
static store_fn *next_store_relaxed = find_store_relaxed;
static store_fn *next_store_screlease = find_store_screlease;
static wait_fn *next_wait_relaxed = find_wait_relaxed;
static wait_fn *next_wait_scacquire = find_wait_scacquire;

static uint64_t hot[KFDSHIM_HOT];

/* If there is no next one: the kernel itself, and for HSA, whose caller cannot
 * exist without its runtime, nothing. */
static int ioctl_syscall(int fd, unsigned long request, ...)
{
	va_list list;
	void *arg;

	va_start(list, request);
	arg = va_arg(list, void *);
	va_end(list);
	return (int)syscall(SYS_ioctl, fd, request, arg);
}

static void store_nowhere(uint64_t signal, int64_t value)
{
	(void)signal;
	(void)value;
}

static int64_t wait_nowhere(uint64_t signal, unsigned condition, int64_t compare, uint64_t timeout,
			    unsigned state)
{
	(void)signal;
	(void)condition;
	(void)timeout;
	(void)state;
	return compare;
}

#define FIND(pointer, name, none)                                                                  \
	({                                                                                         \
		int saved = errno;                                                                 \
		__typeof__(pointer) f = (__typeof__(pointer))next_symbol(#name, (void *)name);     \
                                                                                                   \
		if (!f)                                                                            \
			f = none;                                                                  \
		__atomic_store_n(&(pointer), f, __ATOMIC_RELAXED);                                 \
		errno = saved;                                                                     \
		f;                                                                                 \
	})

static COLD int find_ioctl(int fd, unsigned long request, ...)
{
	va_list list;
	void *arg;

	va_start(list, request);
	arg = va_arg(list, void *);
	va_end(list);
	return FIND(next_ioctl, ioctl, ioctl_syscall)(fd, request, arg);
}

static COLD void find_store_relaxed(uint64_t signal, int64_t value)
{
	FIND(next_store_relaxed, hsa_signal_store_relaxed, store_nowhere)(signal, value);
}

static COLD void find_store_screlease(uint64_t signal, int64_t value)
{
	FIND(next_store_screlease, hsa_signal_store_screlease, store_nowhere)(signal, value);
}

static COLD int64_t find_wait_relaxed(uint64_t signal, unsigned condition, int64_t compare,
				      uint64_t timeout, unsigned state)
{
	return FIND(next_wait_relaxed, hsa_signal_wait_relaxed,
		    wait_nowhere)(signal, condition, compare, timeout, state);
}

static COLD int64_t find_wait_scacquire(uint64_t signal, unsigned condition, int64_t compare,
					uint64_t timeout, unsigned state)
{
	return FIND(next_wait_scacquire, hsa_signal_wait_scacquire,
		    wait_nowhere)(signal, condition, compare, timeout, state);
}

static int forward(int fd, unsigned long request, void *arg)
{
	return __atomic_load_n(&next_ioctl, __ATOMIC_RELAXED)(fd, request, arg);
}

static const struct kfdshim_host host = {
	.abi = KFDSHIM_AGENT_ABI,
	.ioctl = forward,
	.hot = hot,
};

static const struct kfdshim_agent *agent_now(void)
{
	return __atomic_load_n(&agent_loaded, __ATOMIC_ACQUIRE);
}

/* 'K' is also the console's type. Asked anew each time, because descriptors
 * are closed and used again; the calls that ask are rare. */
static bool is_kfd(int fd)
{
	struct stat have, want;

	if (fstat(fd, &have) != 0 || stat("/dev/kfd", &want) != 0)
		return false;
	if (S_ISCHR(have.st_mode))
		return S_ISCHR(want.st_mode) && have.st_rdev == want.st_rdev;
	return have.st_dev == want.st_dev && have.st_ino == want.st_ino; /* a simulated one */
}

static COLD int kfd_ioctl(int fd, unsigned long request, void *arg)
{
	static bool tried;
	const struct kfdshim_agent *agent = agent_now();
	unsigned nr = request & 0xff;
	int saved = errno;

	if (__atomic_load_n(&tried, __ATOMIC_RELAXED) &&
	    (!agent || (nr != KFD_CREATE_QUEUE && nr != KFD_DESTROY_QUEUE &&
			nr != KFD_UPDATE_QUEUE && nr != KFD_RUNTIME_ENABLE)))
		return forward(fd, request, arg);
	if (!is_kfd(fd)) {
		errno = saved;
		return forward(fd, request, arg);
	}
	if (!agent) {
		agent = agent_load(&host);
		__atomic_store_n(&tried, true, __ATOMIC_RELAXED);
	}
	errno = saved;
	if (!agent)
		return forward(fd, request, arg);
	return agent->ioctl(fd, request, arg);
}

static COLD void doorbell_new(uint64_t signal)
{
	const struct kfdshim_agent *agent = agent_now();

	if (agent)
		agent->doorbell(signal);
}

/* All that a doorbell costs once its queue is known to be active is the first
 * comparison. A null handle is the runtime's to complain about. */
static inline __attribute__((always_inline)) void doorbell(uint64_t signal)
{
	if (__builtin_expect(__atomic_load_n(&hot[kfdshim_hot(signal)], __ATOMIC_RELAXED) == signal,
			     1))
		return;
	if (signal && *(const int64_t *)(signal + KFDSHIM_SIGNAL_KIND) < 0)
		doorbell_new(signal);
}

static bool met(int64_t value, unsigned condition, int64_t compare)
{
	switch (condition) {
	case CONDITION_EQ:
		return value == compare;
	case CONDITION_NE:
		return value != compare;
	case CONDITION_LT:
		return value < compare;
	case CONDITION_GTE:
		return value >= compare;
	default:
		return false;
	}
}

static int64_t wait(wait_fn **next, uint64_t signal, unsigned condition, int64_t compare,
		    uint64_t timeout, unsigned state)
{
	const struct kfdshim_agent *agent = agent_now();
	uint32_t ticket;
	int64_t value;

	if (!agent)
		return __atomic_load_n(next, __ATOMIC_RELAXED)(signal, condition, compare, timeout,
							       state);
	ticket = agent->wait_begin(signal);
	value = __atomic_load_n(next, __ATOMIC_RELAXED)(signal, condition, compare, timeout, state);
	agent->wait_end(ticket, signal, met(value, condition, compare));
	return value;
}

/* What the dynamic linker sees. */

EXPORT int ioctl(int fd, unsigned long request, ...)
{
	va_list list;
	void *arg;

	va_start(list, request);
	arg = va_arg(list, void *);
	va_end(list);
	if (__builtin_expect(((request >> 8) & 0xff) == KFD_TYPE, 0))
		return kfd_ioctl(fd, request, arg);
	return forward(fd, request, arg);
}

EXPORT void hsa_signal_store_relaxed(uint64_t signal, int64_t value)
{
	doorbell(signal);
	__atomic_load_n(&next_store_relaxed, __ATOMIC_RELAXED)(signal, value);
}

EXPORT void hsa_signal_store_screlease(uint64_t signal, int64_t value)
{
	doorbell(signal);
	__atomic_load_n(&next_store_screlease, __ATOMIC_RELAXED)(signal, value);
}

EXPORT int64_t hsa_signal_wait_relaxed(uint64_t signal, unsigned condition, int64_t compare,
				       uint64_t timeout, unsigned state)
{
	return wait(&next_wait_relaxed, signal, condition, compare, timeout, state);
}

EXPORT int64_t hsa_signal_wait_scacquire(uint64_t signal, unsigned condition, int64_t compare,
					 uint64_t timeout, unsigned state)
{
	return wait(&next_wait_scacquire, signal, condition, compare, timeout, state);
}

// SPDX-License-Identifier: MIT
/*
 * The wrapped stores, waits and ioctl (exports.map lists all names; hints.c, loads.c
 * and handles.c have the others).
 */
#include <dlfcn.h>
#include <errno.h>
#include <stdarg.h>
#include <stddef.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "preload/internal.h"

/* Bits 15:8 of a command are its type, bits 7:0 its number. The structs grow
 * and with them the rest of the word, so nothing else is compared. */
#define KFD_TYPE 'K'
#define KFD_WAIT_EVENTS 0x0cu

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
/* The names of HSA 1.0, which all runtimes still have. */
store_fn hsa_signal_store_release;
wait_fn hsa_signal_wait_acquire;

/*
 * The pointers begin at a function that finds the next symbol, so that later calls
 * test nothing. ioctl's is found when this library starts: a program's first one may
 * come from a signal handler, an allocator, or between fork and exec. Only those of
 * other libraries' constructors may come before. The runtime's own stores are
 * kept beside those pointers, which may lead past them (table.c).
 */
static ioctl_fn find_ioctl;
static ioctl_fn *next_ioctl = find_ioctl;

uint64_t hot[KFDSHIM_HOT];
uint32_t uppers;
uint32_t gate;
uint32_t active;

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

/* What follows us in the scope has been there since the program's start, and stays. */
__attribute__((constructor)) static void find_ioctl_early(void)
{
	ioctl_fn *next = (ioctl_fn *)dlsym(RTLD_NEXT, "ioctl");

	/* Ours: another library wraps dlsym and asks in its own name. */
	if (!next || next == ioctl)
		next = ioctl_syscall;
	__atomic_store_n(&next_ioctl, next, __ATOMIC_RELAXED);
}

static COLD int find_ioctl(int fd, unsigned long request, ...)
{
	int saved = errno;
	va_list list;
	void *arg;

	va_start(list, request);
	arg = va_arg(list, void *);
	va_end(list);
	find_ioctl_early();
	errno = saved;
	return __atomic_load_n(&next_ioctl, __ATOMIC_RELAXED)(fd, request, arg);
}

/* One of hsa_signal_store_*. */
#define STORE(name)                                                                                \
	static store_fn find_##name;                                                               \
	static store_fn *next_##name = find_##name;                                                \
	static store_fn *found_##name; /* atomic */                                                \
	NEXT entry_##name = {#name, (void *)name, (next_pointer *)&found_##name, NULL};            \
	static COLD void find_##name(uint64_t signal, int64_t value)                               \
	{                                                                                          \
		if (!__atomic_load_n(&found_##name, __ATOMIC_RELAXED))                             \
			FIND(found_##name, name, store_nowhere);                                   \
		aim_stores();                                                                      \
		__atomic_load_n(&next_##name, __ATOMIC_RELAXED)(signal, value);                    \
	}                                                                                          \
	EXPORT void name(uint64_t signal, int64_t value)                                           \
	{                                                                                          \
		doorbell(signal);                                                                  \
		__atomic_load_n(&next_##name, __ATOMIC_RELAXED)(signal, value);                    \
	}
static void aim_stores(void);
STORE(hsa_signal_store_relaxed)
STORE(hsa_signal_store_screlease)
STORE(hsa_signal_store_release)

static void aim(enum table_function f, store_fn **next, store_fn *const *found)
{
	store_fn *exported = __atomic_load_n(found, __ATOMIC_RELAXED);

	if (exported)
		__atomic_store_n(next, (store_fn *)table_past(f, (void *)exported),
				 __ATOMIC_RELAXED);
}

/* Where the calls by symbol go on. Tools may come into the table, and leave it, while they are made. */
static void aim_stores(void)
{
	aim(TABLE_STORE_RELAXED, &next_hsa_signal_store_relaxed, &found_hsa_signal_store_relaxed);
	aim(TABLE_STORE_SCRELEASE, &next_hsa_signal_store_screlease,
	    &found_hsa_signal_store_screlease);
	aim(TABLE_STORE_SCRELEASE, &next_hsa_signal_store_release, &found_hsa_signal_store_release);
}

static int forward(int fd, unsigned long request, void *arg)
{
	return __atomic_load_n(&next_ioctl, __ATOMIC_RELAXED)(fd, request, arg);
}

static const struct kfdshim_host host = {
	.abi = KFDSHIM_AGENT_ABI,
	.ioctl = forward,
	.hot = hot,
	.uppers = &uppers,
	.gate = &gate,
	.active = &active,
	.wishes = &program_wishes,
};

COLD void doorbell_new(uint64_t signal)
{
	const struct kfdshim_agent *agent = agent_now();

	aim_stores();
	if (agent)
		agent->doorbell(signal);
}

COLD void loaded_final(uint64_t signal)
{
	const struct kfdshim_agent *agent = agent_now();

	if (agent)
		agent->loaded(signal);
}

static bool same_file(const struct stat *a, const struct stat *b)
{
	if (S_ISCHR(a->st_mode))
		return S_ISCHR(b->st_mode) && a->st_rdev == b->st_rdev;
	return a->st_dev == b->st_dev && a->st_ino == b->st_ino; /* a simulated one */
}

/*
 * 'K' is also the console's type. Which file a descriptor is for is asked anew each
 * time, because descriptors are closed and used again; the calls that ask are rare.
 * Which file the device is, is asked until it is found: later the program may hide it
 * from itself (chroot, a sandbox), and go on using the descriptors it has.
 */
static COLD bool is_kfd(int fd)
{
	enum { UNSEEN, TAKEN, SEEN };
	static struct stat device;
	static int known;
	struct stat have, want;
	int unseen = UNSEEN;

	if (fstat(fd, &have) != 0)
		return false;
	if (__atomic_load_n(&known, __ATOMIC_ACQUIRE) == SEEN)
		return same_file(&have, &device);
	if (stat("/dev/kfd", &want) != 0 || !same_file(&have, &want))
		return false;
	if (__atomic_compare_exchange_n(&known, &unseen, TAKEN, false, __ATOMIC_RELAXED,
					__ATOMIC_RELAXED)) {
		device = want;
		__atomic_store_n(&known, SEEN, __ATOMIC_RELEASE);
	}
	return true;
}

static int wait_events(const struct kfdshim_agent *agent, int fd, unsigned long request, void *arg)
{
	int result;

	agent->events();
	result = forward(fd, request, arg);
	agent->events_end();
	return result;
}

static COLD int kfd_ioctl(int fd, unsigned long request, void *arg)
{
	static bool tried;
	/* In this order: an agent that is not there after the try never will be. */
	bool was_tried = __atomic_load_n(&tried, __ATOMIC_ACQUIRE);
	const struct kfdshim_agent *agent = agent_now();
	unsigned nr = request & 0xff;
	int saved = errno;

	if (nr == KFD_WAIT_EVENTS && agent)
		return wait_events(agent, fd, request, arg);
	if (was_tried && (!agent || nr >= 64 || !(KFDSHIM_IOCTLS >> nr & 1)))
		return forward(fd, request, arg);
	if (!is_kfd(fd)) {
		errno = saved;
		return forward(fd, request, arg);
	}
	if (!agent) {
		agent = agent_load(&host);
		__atomic_store_n(&tried, true, __ATOMIC_RELEASE);
	}
	errno = saved;
	if (!agent)
		return forward(fd, request, arg);
	return agent->ioctl(fd, request, arg);
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

int64_t wait_watched(wait_fn *next, uint64_t signal, unsigned condition, int64_t compare,
		     uint64_t timeout, unsigned state)
{
	const struct kfdshim_agent *agent = agent_now();
	uint32_t ticket;
	int64_t value;

	if (!agent)
		return next(signal, condition, compare, timeout, state);
	ticket = agent->wait_begin(signal);
	value = next(signal, condition, compare, timeout, state);
	/* Above 0 packets are left: a counter of several, of which the first will do. */
	agent->wait_end(ticket, signal, value <= 0 && met(value, condition, compare));
	return value;
}

static int64_t wait_by_symbol(enum table_function f, wait_fn **pointer, uint64_t signal,
			      unsigned condition, int64_t compare, uint64_t timeout, unsigned state)
{
	wait_fn *exported = __atomic_load_n(pointer, __ATOMIC_RELAXED);

	return wait_watched((wait_fn *)table_past(f, (void *)exported), signal, condition, compare,
			    timeout, state);
}

/* One of hsa_signal_wait_*, and its place in the table. */
#define WAIT(name, f)                                                                              \
	static wait_fn find_##name;                                                                \
	static wait_fn *next_##name = find_##name;                                                 \
	NEXT entry_##name = {#name, (void *)name, (next_pointer *)&next_##name,                    \
			     (void *)find_##name};                                                 \
	static COLD int64_t find_##name(uint64_t signal, unsigned condition, int64_t compare,      \
					uint64_t timeout, unsigned state)                          \
	{                                                                                          \
		return FIND(next_##name, name, wait_nowhere)(signal, condition, compare, timeout,  \
							     state);                               \
	}                                                                                          \
	EXPORT int64_t name(uint64_t signal, unsigned condition, int64_t compare,                  \
			    uint64_t timeout, unsigned state)                                      \
	{                                                                                          \
		return wait_by_symbol(f, &next_##name, signal, condition, compare, timeout,        \
				      state);                                                      \
	}
WAIT(hsa_signal_wait_relaxed, TABLE_WAIT_RELAXED)
WAIT(hsa_signal_wait_scacquire, TABLE_WAIT_SCACQUIRE)
WAIT(hsa_signal_wait_acquire, TABLE_WAIT_SCACQUIRE)

/* DRM user queues matter in processes that use KFD. */
static COLD int drm_ioctl(int fd, unsigned long request, void *arg)
{
	const struct kfdshim_agent *agent = agent_now();

	return agent ? agent->ioctl(fd, request, arg) : forward(fd, request, arg);
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
	if (__builtin_expect((request & 0xffff) == (KFDSHIM_DRM_TYPE << 8 | KFDSHIM_DRM_USERQ), 0))
		return drm_ioctl(fd, request, arg);
	return forward(fd, request, arg);
}

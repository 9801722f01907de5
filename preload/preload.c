// SPDX-License-Identifier: MIT
/* Wraps the loads, stores and waits of signals, the creation of queues, and ioctl. exports.map
 * lists all wrapped names; those that are not here are in submit_hints.c. */
#include <dlfcn.h>
#include <hsa/amd_hsa_signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "preload/preload_priv.h"

/* Bits 15:8 of an ioctl command are its type, bits 7:0 its number. Only these bits are compared,
 * because the rest contains the size of the struct, which new versions of the interface extend. */
#define KFD_TYPE 'K'
#define KFD_WAIT_EVENTS 0x0cu

/* Check that the numbers in the agent's interface (agent_abi.h) agree with the types of HSA. */
_Static_assert(sizeof(hsa_signal_t) == sizeof(uint64_t), "a handle fits into a uint64_t");
_Static_assert(offsetof(amd_signal_t, kind) == KFDSHIM_SIGNAL_KIND, "kind of a signal");
_Static_assert(offsetof(amd_signal_t, queue_ptr) == KFDSHIM_SIGNAL_QUEUE_PTR, "its queue");
_Static_assert(AMD_SIGNAL_KIND_DOORBELL < 0 && AMD_SIGNAL_KIND_LEGACY_DOORBELL < 0,
	       "doorbells have negative kinds, see doorbell()");
_Static_assert(AMD_SIGNAL_KIND_USER >= 0, "other signals have not");
_Static_assert(sizeof(amd_signal_t) == 64, "kfdshim_doorbell_slot() divides by it");

typedef __typeof__(ioctl) ioctl_fn;

/*
 * Each wrapped function calls its next definition through a pointer. At first the pointer leads to
 * a function that finds this definition, so that later calls need no test.
 *
 * The pointer for ioctl is set when this library is initialised, because a program's first ioctl
 * may come from a signal handler, from an allocator, or between fork and exec. Only the ioctls of
 * other libraries' constructors can come earlier.
 *
 * Stores have two pointers: next_NAME, which the wrapper calls, and found_NAME, the runtime's
 * exported function. While the API table is hooked (api_table.c), next_NAME is the function behind
 * the hook, so that the call bypasses the table.
 */
static ioctl_fn find_ioctl;
static ioctl_fn *next_ioctl = find_ioctl;

uint64_t active_doorbells[KFDSHIM_ACTIVE_DOORBELLS];
uint32_t n_intercept_queues;
uint32_t gate;
uint32_t active;

/* Makes the ioctl system call, if there is no next definition of ioctl. (A missing function of HSA
 * is replaced by one that does nothing, because a program without a runtime does not call it.) */
static int ioctl_syscall(int fd, unsigned long request, ...)
{
	va_list list;
	void *arg;

	va_start(list, request);
	arg = va_arg(list, void *);
	va_end(list);
	return (int)syscall(SYS_ioctl, fd, request, arg);
}

static void store_nowhere(hsa_signal_t signal, hsa_signal_value_t value)
{
	(void)signal;
	(void)value;
}

static hsa_signal_value_t wait_nowhere(hsa_signal_t signal, hsa_signal_condition_t condition,
				       hsa_signal_value_t compare, uint64_t timeout,
				       hsa_wait_state_t state)
{
	(void)signal;
	(void)condition;
	(void)timeout;
	(void)state;
	return compare;
}

/* Sets next_ioctl to the next definition of ioctl. The library that contains it needs no reference
 * to stay loaded, because it has been loaded since the program's start. */
static void find_ioctl_early(void)
{
	ioctl_fn *next = (ioctl_fn *)dlsym(RTLD_NEXT, "ioctl");

	/* RTLD_NEXT begins behind the library that calls dlsym. If another library wraps dlsym,
	 * that library is the caller, and the result can be this library's own ioctl. */
	if (!next || next == ioctl)
		next = ioctl_syscall;
	__atomic_store_n(&next_ioctl, next, __ATOMIC_RELAXED);
}

__attribute__((constructor)) static void at_load(void)
{
	find_ioctl_early();
	urcu_prepare();
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

/* Wraps one of hsa_signal_store_*. */
#define STORE(name)                                                                                \
	static store_fn find_##name;                                                               \
	static store_fn *next_##name = find_##name;                                                \
	static store_fn *found_##name; /* atomic */                                                \
	NEXT entry_##name = {#name, (void *)name, (next_pointer *)&found_##name, NULL};            \
	static COLD void find_##name(hsa_signal_t signal, hsa_signal_value_t value)                \
	{                                                                                          \
		if (!__atomic_load_n(&found_##name, __ATOMIC_RELAXED))                             \
			next_find(&entry_##name, (void *)store_nowhere);                           \
		aim_stores();                                                                      \
		__atomic_load_n(&next_##name, __ATOMIC_RELAXED)(signal, value);                    \
	}                                                                                          \
	EXPORT void name(hsa_signal_t signal, hsa_signal_value_t value)                            \
	{                                                                                          \
		doorbell(signal.handle);                                                           \
		__atomic_load_n(&next_##name, __ATOMIC_RELAXED)(signal, value);                    \
	}
static void aim_stores(void);
STORE(hsa_signal_store_relaxed)
STORE(hsa_signal_store_screlease)
STORE(hsa_signal_store_release) /* HSA 1.0, which all runtimes still export */

/* Sets *next, the function to which the wrapper of an exported hsa_signal_store_* passes the call.
 * If this library's hook is in the API table, that is the function which the hook replaced;
 * otherwise the runtime's exported function (*found). Does nothing until *found is known. */
static void aim(enum table_function f, store_fn **next, store_fn *const *found)
{
	store_fn *exported = __atomic_load_n(found, __ATOMIC_RELAXED);

	if (exported)
		__atomic_store_n(next, (store_fn *)table_past(f, (void *)exported),
				 __ATOMIC_RELAXED);
}

/* Updates the next_NAME pointers of stores (aim()). Repeated from time to time, because tools can
 * hook the API table, and remove their hooks, while the program runs. */
static void aim_stores(void)
{
	aim(TABLE_STORE_RELAXED, &next_hsa_signal_store_relaxed, &found_hsa_signal_store_relaxed);
	aim(TABLE_STORE_SCRELEASE, &next_hsa_signal_store_screlease,
	    &found_hsa_signal_store_screlease);
	aim(TABLE_STORE_SCRELEASE, &next_hsa_signal_store_release, &found_hsa_signal_store_release);
}

/* Calls the next ioctl. */
static int forward(int fd, unsigned long request, void *arg)
{
	return __atomic_load_n(&next_ioctl, __ATOMIC_RELAXED)(fd, request, arg);
}

static const struct kfdshim_preload_iface host = {
	.abi = KFDSHIM_AGENT_ABI,
	.ioctl = forward,
	.active_doorbells = active_doorbells,
	.n_intercept_queues = &n_intercept_queues,
	.gate = &gate,
	.active = &active,
	.app_settings = &program_settings,
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
	/* compare inodes, because kfdsim's /dev/kfd is not a device file */
	return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

/*
 * Returns true if the fd is open on /dev/kfd. The type 'K' alone does not show that, because it is
 * the console's type, too. The file of the fd is checked each time, because fds are closed and
 * reused; the calls that need this check are rare. The device number or inode of /dev/kfd is read
 * until it has been found once, and then kept, because a program can hide the device from itself
 * later (chroot, a sandbox) and continue to use the fds that it has.
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

/* Forwards a WAIT_EVENTS, and notifies the agent before and after it. */
static int wait_events(const struct kfdshim_agent *agent, int fd, unsigned long request, void *arg)
{
	int result;

	agent->events();
	result = forward(fd, request, arg);
	agent->events_end();
	return result;
}

/* Handles an ioctl of type 'K': passes it to the agent if it is on /dev/kfd and concerns the agent,
 * otherwise forwards it. The first ioctl on /dev/kfd loads the agent. */
static COLD int kfd_ioctl(int fd, unsigned long request, void *arg)
{
	static bool tried;
	/* Read `tried` before agent_now(): if it is set and there is no agent, then the agent could
	 * not be loaded, and never will be. */
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

/* Returns true if the value meets the condition of a wait. */
static bool met(hsa_signal_value_t value, hsa_signal_condition_t condition,
		hsa_signal_value_t compare)
{
	switch (condition) {
	case HSA_SIGNAL_CONDITION_EQ:
		return value == compare;
	case HSA_SIGNAL_CONDITION_NE:
		return value != compare;
	case HSA_SIGNAL_CONDITION_LT:
		return value < compare;
	case HSA_SIGNAL_CONDITION_GTE:
		return value >= compare;
	default:
		return false;
	}
}

hsa_signal_value_t wait_watched(wait_fn *next, hsa_signal_t signal,
				hsa_signal_condition_t condition, hsa_signal_value_t compare,
				uint64_t timeout, hsa_wait_state_t state)
{
	const struct kfdshim_agent *agent = agent_now();
	hsa_signal_value_t value;
	uint32_t ticket;

	if (!agent)
		return next(signal, condition, compare, timeout, state);
	ticket = agent->wait_begin(signal.handle);
	value = next(signal, condition, compare, timeout, state);
	/* A value above 0 is no end: the signal counts several packets, and the wait was not for
	 * the last. */
	agent->wait_end(ticket, signal.handle, value <= 0 && met(value, condition, compare));
	return value;
}

/* Executes a wait that was called by symbol, bypassing the hook in the API table (table_past()). */
static hsa_signal_value_t wait_by_symbol(enum table_function f, wait_fn **pointer,
					 hsa_signal_t signal, hsa_signal_condition_t condition,
					 hsa_signal_value_t compare, uint64_t timeout,
					 hsa_wait_state_t state)
{
	wait_fn *exported = __atomic_load_n(pointer, __ATOMIC_RELAXED);

	return wait_watched((wait_fn *)table_past(f, (void *)exported), signal, condition, compare,
			    timeout, state);
}

/* Wraps one of hsa_signal_wait_*; `f` is its entry in the API table. */
#define WAIT(name, f)                                                                              \
	static wait_fn find_##name;                                                                \
	static wait_fn *next_##name = find_##name;                                                 \
	NEXT entry_##name = {#name, (void *)name, (next_pointer *)&next_##name,                    \
			     (void *)find_##name};                                                 \
	static COLD hsa_signal_value_t find_##name(                                                \
		hsa_signal_t signal, hsa_signal_condition_t condition, hsa_signal_value_t compare, \
		uint64_t timeout, hsa_wait_state_t state)                                          \
	{                                                                                          \
		return ((wait_fn *)next_find(&entry_##name, (void *)wait_nowhere))(                \
			signal, condition, compare, timeout, state);                               \
	}                                                                                          \
	EXPORT hsa_signal_value_t name(hsa_signal_t signal, hsa_signal_condition_t condition,      \
				       hsa_signal_value_t compare, uint64_t timeout,               \
				       hsa_wait_state_t state)                                     \
	{                                                                                          \
		return wait_by_symbol(f, &next_##name, signal, condition, compare, timeout,        \
				      state);                                                      \
	}
WAIT(hsa_signal_wait_relaxed, TABLE_WAIT_RELAXED)
WAIT(hsa_signal_wait_scacquire, TABLE_WAIT_SCACQUIRE)
WAIT(hsa_signal_wait_acquire, TABLE_WAIT_SCACQUIRE) /* HSA 1.0 */

/* ---- loads of signals ---- */

/* HIP runtimes load a signal's value before they wait for the signal, and do not wait if the value
 * is final (0 or below). So a load may be the only call by which a program notices the end of its
 * work. The loads are wrapped by symbol here and in the API table as well (api_table.c). A load
 * that passes both hooks does no harm, because the second report of the same end changes
 * nothing. */

static hsa_signal_value_t load_nowhere(hsa_signal_t signal)
{
	(void)signal;
	return 0;
}

#define LOAD(name)                                                                                 \
	static load_fn find_##name;                                                                \
	static load_fn *next_##name = find_##name;                                                 \
	NEXT entry_##name = {#name, (void *)name, (next_pointer *)&next_##name,                    \
			     (void *)find_##name};                                                 \
	static COLD hsa_signal_value_t find_##name(hsa_signal_t signal)                            \
	{                                                                                          \
		return ((load_fn *)next_find(&entry_##name, (void *)load_nowhere))(signal);        \
	}                                                                                          \
	EXPORT hsa_signal_value_t name(hsa_signal_t signal)                                        \
	{                                                                                          \
		return loaded(signal.handle,                                                       \
			      __atomic_load_n(&next_##name, __ATOMIC_RELAXED)(signal));            \
	}
LOAD(hsa_signal_load_relaxed)
LOAD(hsa_signal_load_scacquire)
/* The name of HSA 1.0, which all runtimes still export. */
LOAD(hsa_signal_load_acquire)

/* ---- handles of queues ---- */

/*
 * Hooks that learn the handles that a program has for its queues. The queues themselves are known
 * from the ioctls. A handle is not the hsa_queue_t of a known queue if a profiler has put an
 * intercept queue, a second hsa_queue_t, before the driver's queue.
 *
 * hsa_amd_queue_create, which only runtimes after 7.2 have, is not wrapped. Its queues are known
 * from the ioctl, and a definition here would make programs that search for the name believe that
 * an older runtime has it.
 */
typedef __typeof__(hsa_queue_create) create_fn;
typedef __typeof__(hsa_queue_destroy) destroy_fn;
typedef void event_fn(hsa_status_t status, hsa_queue_t *source, void *data);

static create_fn find_create;
static destroy_fn find_destroy;
static create_fn *next_create = find_create;
static destroy_fn *next_destroy = find_destroy;

NEXT entry_create = {"hsa_queue_create", (void *)hsa_queue_create, (next_pointer *)&next_create,
		     (void *)find_create};
NEXT entry_destroy = {"hsa_queue_destroy", (void *)hsa_queue_destroy, (next_pointer *)&next_destroy,
		      (void *)find_destroy};

static hsa_status_t create_nowhere(hsa_agent_t agent, uint32_t size, hsa_queue_type32_t type,
				   event_fn *callback, void *data, uint32_t private_bytes,
				   uint32_t group_bytes, hsa_queue_t **queue)
{
	(void)agent;
	(void)size;
	(void)type;
	(void)callback;
	(void)data;
	(void)private_bytes;
	(void)group_bytes;
	(void)queue;
	return HSA_STATUS_ERROR;
}

static hsa_status_t destroy_nowhere(hsa_queue_t *queue)
{
	(void)queue;
	return HSA_STATUS_ERROR;
}

static COLD hsa_status_t find_create(hsa_agent_t agent, uint32_t size, hsa_queue_type32_t type,
				     event_fn *callback, void *data, uint32_t private_bytes,
				     uint32_t group_bytes, hsa_queue_t **queue)
{
	return ((create_fn *)next_find(&entry_create, (void *)create_nowhere))(
		agent, size, type, callback, data, private_bytes, group_bytes, queue);
}

static COLD hsa_status_t find_destroy(hsa_queue_t *queue)
{
	return ((destroy_fn *)next_find(&entry_destroy, (void *)destroy_nowhere))(queue);
}

EXPORT hsa_status_t hsa_queue_create(hsa_agent_t agent, uint32_t size, hsa_queue_type32_t type,
				     event_fn *callback, void *data, uint32_t private_bytes,
				     uint32_t group_bytes, hsa_queue_t **queue)
{
	hsa_status_t status = __atomic_load_n(&next_create, __ATOMIC_RELAXED)(
		agent, size, type, callback, data, private_bytes, group_bytes, queue);
	const struct kfdshim_agent *ours = agent_now();

	if (status == HSA_STATUS_SUCCESS && queue && *queue && ours)
		ours->handle_made((uint64_t)(uintptr_t)*queue);
	return status;
}

EXPORT hsa_status_t hsa_queue_destroy(hsa_queue_t *queue)
{
	const struct kfdshim_agent *ours = agent_now();

	if (queue && ours)
		ours->handle_gone((uint64_t)(uintptr_t)queue);
	return __atomic_load_n(&next_destroy, __ATOMIC_RELAXED)(queue);
}

/* ---- the exported ioctl ---- */

/* Passes an ioctl for DRM user queues to the agent if it is loaded, otherwise forwards it. Only the
 * use of KFD loads the agent. */
static COLD int drm_ioctl(int fd, unsigned long request, void *arg)
{
	const struct kfdshim_agent *agent = agent_now();

	return agent ? agent->ioctl(fd, request, arg) : forward(fd, request, arg);
}

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

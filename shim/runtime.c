// SPDX-License-Identifier: MIT
#include "shim/runtime.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <string.h>

#include "abi/kfd_abi.h"
#include "shim/activity.h"
#include "shim/config.h"
#include "shim/contexts.h"
#include "shim/hold.h"
#include "shim/link_lane.h"
#include "shim/memory.h"
#include "shim/topology.h"

/* RUNTIME_ENABLE sleeps, and can be interrupted, only under a debugger. */
#define INTERRUPTED_MAX 16

/* Held across the first CREATE_QUEUE's enable: a second thread's queue must
 * not be created before it. */
static pthread_mutex_t enable_lock = PTHREAD_MUTEX_INITIALIZER;
static bool decided; /* under enable_lock: there is nothing (more) to try */
static uint64_t r_debug;
static bool ours; /* under enable_lock: enabled by us, not by the runtime */

/* under the agent's lock */
static enum lane_runtime state = LANE_RUNTIME_UNKNOWN;
static int reason;

void runtime_state(enum lane_runtime *state_out, int *reason_out)
{
	int err;
	bool own = hold_own_session(&err);

	/* Who only wants to be observed is never said to be suspendable, nor is a
	 * process with a session of its own: the daemon could not open one. */
	*state_out = config.observe || own ? LANE_RUNTIME_UNKNOWN : state;
	*reason_out = config.observe ? 0 : reason;
	/* Nor is who wants to suspend itself alone. */
	if (config.level == PROTOCOL_LEVEL_SELF && !own && state == LANE_RUNTIME_ENABLED) {
		*state_out = err ? LANE_RUNTIME_NEVER : LANE_RUNTIME_UNKNOWN;
		*reason_out = err;
	}
}

static void set_state(enum lane_runtime new_state, int new_reason)
{
	agent_lock();
	state = new_state;
	reason = new_reason;
	link_runtime();
	agent_unlock();
}

/* Where a debugger finds the loaded code objects, if there is such a place. Not at the first queue: the
 * runtime holds locks there which another thread's dlopen may wait for. */
void runtime_find(void)
{
	void *handle, *symbol = NULL;

	handle = dlopen("libhsa-runtime64.so.1", RTLD_LAZY | RTLD_NOLOAD);
	if (handle) {
		symbol = dlsym(handle, "_amdgpu_r_debug");
		dlclose(handle);
	}
	if (!symbol)
		symbol = dlsym(RTLD_DEFAULT, "_amdgpu_r_debug");
	(void)dlerror(); /* a message of ours is not the program's */
	r_debug = (uint64_t)(uintptr_t)symbol;
}

static bool driver_can_debug(const struct kfdshim_host *host, int fd)
{
	struct kfd_ioctl_get_version_args version = {0};

	if (host->ioctl(fd, KFDABI_IOC_GET_VERSION, &version) != 0)
		return false;
	if (version.major_version == 1 && version.minor_version >= 13)
		return true;
	say(LOG_INFO, "KFD %u.%u cannot suspend (1.13, Linux 6.5, is the first): only observed",
	    version.major_version, version.minor_version);
	return false;
}

static bool can_debug(const struct kfdshim_host *host, int fd, uint32_t gpu_id, uint64_t capability)
{
	const uint64_t need = KFDABI_CAP_DEBUG | KFDABI_CAP_FIRMWARE_DEBUG;

	if (!driver_can_debug(host, fd))
		return false;
	if ((capability & need) == need)
		return true;
	say(LOG_INFO, "node %u cannot be debugged, by its capability: only observed", gpu_id);
	return false;
}

/* Is it decided? A call that names no node will fail, and decides nothing. */
static bool enable(const struct kfdshim_host *host, int fd, uint32_t gpu_id)
{
	uint64_t capability = topology_capability(gpu_id);
	struct kfdabi_runtime_enable args;
	int err = 0, tries = 0;

	if (!can_debug(host, fd, gpu_id, capability) || !topology_saves_waves()) {
		set_state(LANE_RUNTIME_NEVER, EOPNOTSUPP);
		return capability != 0;
	}
	do {
		args = (struct kfdabi_runtime_enable){
			.r_debug = r_debug,
			.mode_mask = KFDABI_RUNTIME_MODE_ENABLE,
		};
		err = host->ioctl(fd, KFDABI_IOC_RUNTIME_ENABLE, &args) == 0 ? 0 : errno;
	} while (err == EINTR && ++tries < INTERRUPTED_MAX);
	ours = err == 0;
	if (err == 0 || err == EBUSY) { /* busy: somebody has, before we were loaded */
		hold_runtime_on(host, fd);
		set_state(LANE_RUNTIME_ENABLED, 0);
		return true;
	}
	say(LOG_INFO, "the runtime cannot be announced to the driver (%s): only observed",
	    strerror(err));
	set_state(LANE_RUNTIME_NEVER, err);
	return true;
}

void runtime_before_queue(const struct kfdshim_host *host, int fd, uint32_t gpu_id)
{
	int saved = errno;

	if (context_of(fd) != CONTEXT_PRIMARY)
		return;
	hold_device(host, fd);
	pthread_mutex_lock(&enable_lock);
	if (!decided)
		decided = config.observe || enable(host, fd, gpu_id);
	pthread_mutex_unlock(&enable_lock);
	errno = saved;
}

/* The runtime announces itself. */
static int forward_enable(const struct kfdshim_host *host, int fd, unsigned long request, void *arg)
{
	int result, err;

	pthread_mutex_lock(&enable_lock);
	result = host->ioctl(fd, request, arg);
	err = errno;
	/* What it asks for is so already, by us: it must not learn of us by an
	 * error, for ROCr's hsa_init would fail. */
	if (result != 0 && err == EBUSY && ours)
		result = 0;
	if (result == 0) {
		decided = true;
		hold_runtime_on(host, fd);
		if (topology_saves_waves())
			set_state(LANE_RUNTIME_ENABLED, 0);
		else
			set_state(LANE_RUNTIME_NEVER, EOPNOTSUPP);
	}
	pthread_mutex_unlock(&enable_lock);
	errno = err;
	return result;
}

/* ... or says goodbye. A suspended process would sleep in there. */
static int forward_disable(const struct kfdshim_host *host, int fd, unsigned long request,
			   void *arg)
{
	enum lane_runtime before;
	struct lane *lane;
	int result, err, why;

	agent_lock();
	before = state;
	why = reason;
	agent_unlock();
	/* First the word, so that nobody opens a session that outlives it. */
	set_state(LANE_RUNTIME_UNKNOWN, 0);
	lane = link_leave_begin();
	hold_runtime_off();
	result = host->ioctl(fd, request, arg);
	err = errno;
	link_leave_end(lane);
	if (result != 0) {
		if (before == LANE_RUNTIME_ENABLED)
			hold_runtime_on(host, fd);
		set_state(before, why);
	} else {
		pthread_mutex_lock(&enable_lock);
		decided = ours = false;
		pthread_mutex_unlock(&enable_lock);
	}
	errno = err;
	return result;
}

int runtime_ioctl(const struct kfdshim_host *host, int fd, unsigned long request, void *arg)
{
	struct kfdabi_runtime_enable args = {0};

	/* Of another context it is another process's, to the driver. */
	if (context_of(fd) != CONTEXT_PRIMARY ||
	    !memory_read_mapped(&args, (uintptr_t)arg, sizeof(args)))
		return host->ioctl(fd, request, arg);
	if (args.mode_mask & KFDABI_RUNTIME_MODE_ENABLE)
		return forward_enable(host, fd, request, arg);
	return forward_disable(host, fd, request, arg);
}

void runtime_forget(void)
{
	pthread_mutex_init(&enable_lock, NULL);
	decided = ours = false;
	state = LANE_RUNTIME_UNKNOWN;
	reason = 0;
}

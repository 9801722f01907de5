// SPDX-License-Identifier: MIT
#include "shim/runtime.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <string.h>

#include "channel/client_shm.h"
#include "kfd/uapi.h"
#include "shim/activity.h"
#include "shim/config.h"
#include "shim/hold.h"
#include "shim/kfd_context.h"
#include "shim/publish.h"
#include "shim/safe_read.h"
#include "shim/topology.h"

/* Largest number of attempts of a RUNTIME_ENABLE: it can sleep, and a signal can interrupt that
 * sleep, only under a debugger. */
#define INTERRUPTED_MAX 16

/* Held while the first CREATE_QUEUE enables the runtime, so that no second thread creates a queue
 * before the runtime is enabled. */
static pthread_mutex_t enable_lock = PTHREAD_MUTEX_INITIALIZER;
static bool decided; /* under enable_lock: enable() need not be called again */
/* Address of _amdgpu_r_debug; 0: not found. */
static uint64_t r_debug;
/* under enable_lock: the agent, and not the HSA runtime, has made the RUNTIME_ENABLE */
static bool ours;

/* Under the agent's lock. */
static enum client_shm_runtime state = CLIENT_SHM_RUNTIME_UNKNOWN;
static int reason;

static void set_state(enum client_shm_runtime new_state, int new_reason)
{
	agent_lock();
	state = new_state;
	reason = new_reason;
	link_runtime(state, reason);
	agent_unlock();
}

/* Finds the address of _amdgpu_r_debug, by which a debugger finds the loaded code objects; 0 if it
 * does not exist. Not called at the first queue, because the runtime then holds locks for which
 * another thread's dlopen() may wait. */
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
	(void)dlerror(); /* drop the error message, which the program must not see */
	r_debug = (uint64_t)(uintptr_t)symbol;
}

static bool driver_can_debug(const struct kfdshim_preload_iface *host, int fd)
{
	struct kfd_ioctl_get_version_args version = {0};

	if (host->ioctl(fd, KFDABI_IOC_GET_VERSION, &version) != 0)
		return false;
	if (version.major_version == 1 && version.minor_version >= 13)
		return true;
	kfdshim_log(
		LOG_INFO,
		"KFD %u.%u cannot suspend queues (1.13, Linux 6.5, or later is needed); only observed",
		version.major_version, version.minor_version);
	return false;
}

static bool can_debug(const struct kfdshim_preload_iface *host, int fd, uint32_t gpu_id,
		      uint32_t capability)
{
	const uint32_t need = KFDABI_CAP_DEBUG | KFDABI_CAP_FIRMWARE_DEBUG;

	if (!driver_can_debug(host, fd))
		return false;
	if ((capability & need) == need)
		return true;
	kfdshim_log(LOG_INFO, "node %u does not support debugging (capability); only observed",
		    gpu_id);
	return false;
}

/* Enables the runtime in the driver, if possible. Returns true if no later call needs to try again.
 * Returns false if @gpu_id is not a node: this CREATE_QUEUE then fails, and the runtime can still
 * be enabled at the next CREATE_QUEUE. */
static bool enable(const struct kfdshim_preload_iface *host, int fd, uint32_t gpu_id)
{
	uint32_t capability = topology_capability(gpu_id);
	struct kfdabi_runtime_enable args;
	int err = 0, tries = 0;

	if (!can_debug(host, fd, gpu_id, capability) || !topology_saves_waves()) {
		set_state(CLIENT_SHM_RUNTIME_NEVER, EOPNOTSUPP);
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
	if (err == 0 || err == EBUSY) { /* EBUSY: it was enabled before the agent was loaded */
		hold_runtime_on(host, fd);
		set_state(CLIENT_SHM_RUNTIME_ENABLED, 0);
		return true;
	}
	kfdshim_log(LOG_INFO, "the runtime cannot be enabled in the driver (%s); only observed",
		    strerror(err));
	set_state(CLIENT_SHM_RUNTIME_NEVER, err);
	return true;
}

void runtime_before_queue(const struct kfdshim_preload_iface *host, int fd, uint32_t gpu_id)
{
	int saved = errno;

	if (context_of_fd(fd) != CONTEXT_PRIMARY)
		return;
	hold_device(host, fd);
	pthread_mutex_lock(&enable_lock);
	if (!decided)
		decided = config.observe || enable(host, fd, gpu_id);
	pthread_mutex_unlock(&enable_lock);
	errno = saved;
}

/* Forwards a RUNTIME_ENABLE that the runtime itself calls, and records its result. */
static int forward_enable(const struct kfdshim_preload_iface *host, int fd, unsigned long request,
			  void *arg)
{
	int result, err;

	pthread_mutex_lock(&enable_lock);
	result = host->ioctl(fd, request, arg);
	err = errno;
	/* EBUSY means that the agent has enabled the runtime before. That must not be visible as an
	 * error, because ROCr's hsa_init() would fail. */
	if (result != 0 && err == EBUSY && ours)
		result = 0;
	if (result == 0) {
		decided = true;
		hold_runtime_on(host, fd);
		if (topology_saves_waves())
			set_state(CLIENT_SHM_RUNTIME_ENABLED, 0);
		else
			set_state(CLIENT_SHM_RUNTIME_NEVER, EOPNOTSUPP);
	}
	pthread_mutex_unlock(&enable_lock);
	errno = err;
	return result;
}

/* Forwards a runtime disable that the runtime itself calls. A suspended process would sleep in it,
 * so the process is resumed first. */
static int forward_disable(const struct kfdshim_preload_iface *host, int fd, unsigned long request,
			   void *arg)
{
	enum client_shm_runtime before;
	struct client_shm *shm;
	int result, err, why;

	agent_lock();
	before = state;
	why = reason;
	agent_unlock();
	/* Publish the new state first, so that the daemon opens no session that outlives the
	 * runtime. */
	set_state(CLIENT_SHM_RUNTIME_UNKNOWN, 0);
	shm = link_leave_begin();
	hold_runtime_off();
	result = host->ioctl(fd, request, arg);
	err = errno;
	link_leave_end(shm);
	if (result != 0) {
		if (before == CLIENT_SHM_RUNTIME_ENABLED)
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

int runtime_ioctl(const struct kfdshim_preload_iface *host, int fd, unsigned long request,
		  void *arg)
{
	struct kfdabi_runtime_enable args = {0};

	/* Forward a call for a secondary context unchanged, because the driver treats that context
	 * as another process. */
	if (context_of_fd(fd) != CONTEXT_PRIMARY ||
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
	state = CLIENT_SHM_RUNTIME_UNKNOWN;
	reason = 0;
}

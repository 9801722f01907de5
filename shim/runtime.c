// SPDX-License-Identifier: MIT
#include "shim/runtime.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "abi/kfd_abi.h"
#include "shim/activity.h"
#include "shim/config.h"
#include "shim/link.h"
#include "shim/memory.h"

#define TOPOLOGY "/sys/class/kfd/kfd/topology/nodes"
#define NODES_MAX 256
/* RUNTIME_ENABLE sleeps, and can be interrupted, only under a debugger. */
#define INTERRUPTED_MAX 16

/* Held across the first CREATE_QUEUE's enable: a second thread's queue must
 * not be created before it. */
static pthread_mutex_t enable_lock = PTHREAD_MUTEX_INITIALIZER;
static bool decided; /* under enable_lock: there is nothing (more) to try */
static bool ours;    /* under enable_lock: enabled by us, not by the runtime */

/* under the agent's lock */
static enum lane_runtime state = LANE_RUNTIME_UNKNOWN;
static int reason;

void runtime_state(enum lane_runtime *state_out, int *reason_out)
{
	/* Who only wants to be observed is never said to be suspendable. */
	*state_out = config.observe ? LANE_RUNTIME_UNKNOWN : state;
	*reason_out = config.observe ? 0 : reason;
}

static void set_state(enum lane_runtime new_state, int new_reason)
{
	agent_lock();
	state = new_state;
	reason = new_reason;
	link_runtime();
	agent_unlock();
}

static int read_file(const char *path, char *text, size_t size)
{
	ssize_t n;
	int fd;

	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	n = read(fd, text, size - 1);
	close(fd);
	if (n < 0)
		return -EIO;
	text[n] = '\0';
	return 0;
}

/* The `capability` of the topology node that has this gpu_id; 0: not found. */
static uint64_t node_capability(uint32_t gpu_id)
{
	char path[128], text[8192], *found;
	int err;

	for (int i = 0; i < NODES_MAX; i++) {
		snprintf(path, sizeof(path), TOPOLOGY "/%d/gpu_id", i);
		err = read_file(path, text, sizeof(text));
		if (err == -ENOENT)
			return 0;
		/* EPERM: a node that the device cgroup keeps from us. */
		if (err || strtoul(text, NULL, 10) != gpu_id)
			continue;
		snprintf(path, sizeof(path), TOPOLOGY "/%d/properties", i);
		if (read_file(path, text, sizeof(text)) != 0)
			return 0;
		found = strstr(text, "\ncapability ");
		if (!found && strncmp(text, "capability ", 11) == 0)
			found = text - 1;
		return found ? strtoull(found + 12, NULL, 10) : 0;
	}
	return 0;
}

/* Where a debugger finds the loaded code objects, if there is such a place. */
static uint64_t find_r_debug(void)
{
	void *handle, *symbol = NULL;

	handle = dlopen("libhsa-runtime64.so.1", RTLD_LAZY | RTLD_NOLOAD);
	if (handle) {
		symbol = dlsym(handle, "_amdgpu_r_debug");
		dlclose(handle);
	}
	return (uint64_t)(uintptr_t)(symbol ? symbol : dlsym(RTLD_DEFAULT, "_amdgpu_r_debug"));
}

static bool can_debug(const struct kfdshim_host *host, int fd, uint32_t gpu_id)
{
	const uint64_t need = KFDABI_CAP_DEBUG | KFDABI_CAP_FIRMWARE_DEBUG;
	struct kfd_ioctl_get_version_args version = {0};

	if (host->ioctl(fd, KFDABI_IOC_GET_VERSION, &version) != 0)
		return false;
	if (version.major_version != 1 || version.minor_version < 13) {
		say(LOG_INFO,
		    "KFD %u.%u cannot suspend (1.13, Linux 6.5, is the first): only observed",
		    version.major_version, version.minor_version);
		return false;
	}
	if ((node_capability(gpu_id) & need) != need) {
		say(LOG_INFO, "node %u cannot be debugged, by its capability: only observed",
		    gpu_id);
		return false;
	}
	return true;
}

static void enable(const struct kfdshim_host *host, int fd, uint32_t gpu_id)
{
	struct kfdabi_runtime_enable args;
	int err = 0, tries = 0;

	if (!can_debug(host, fd, gpu_id)) {
		set_state(LANE_RUNTIME_NEVER, EOPNOTSUPP);
		return;
	}
	do {
		args = (struct kfdabi_runtime_enable){
			.r_debug = find_r_debug(),
			.mode_mask = KFDABI_RUNTIME_MODE_ENABLE,
		};
		err = host->ioctl(fd, KFDABI_IOC_RUNTIME_ENABLE, &args) == 0 ? 0 : errno;
	} while (err == EINTR && ++tries < INTERRUPTED_MAX);
	ours = err == 0;
	if (err == 0 || err == EBUSY) { /* busy: somebody has, before we were loaded */
		set_state(LANE_RUNTIME_ENABLED, 0);
		return;
	}
	say(LOG_INFO, "the runtime cannot be announced to the driver (%s): only observed",
	    strerror(err));
	set_state(LANE_RUNTIME_NEVER, err);
}

void runtime_before_queue(const struct kfdshim_host *host, int fd, uint32_t gpu_id)
{
	int saved = errno;

	pthread_mutex_lock(&enable_lock);
	if (!decided && !config.observe)
		enable(host, fd, gpu_id);
	decided = true;
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
		set_state(LANE_RUNTIME_ENABLED, 0);
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

	runtime_state(&before, &why);
	/* First the word, so that nobody opens a session that outlives it. */
	set_state(LANE_RUNTIME_UNKNOWN, 0);
	lane = link_leave_begin();
	result = host->ioctl(fd, request, arg);
	err = errno;
	link_leave_end(lane);
	if (result != 0) {
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

	if (!memory_read(&args, (uint64_t)(uintptr_t)arg, sizeof(args)))
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

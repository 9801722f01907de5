// SPDX-License-Identifier: MIT
#include "shim/topology.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "kfd/topology.h"
#include "shim/config.h"

#define CONTEXT_FIRST 0x10000u /* above the context numbers of KFD (kfd_context.h) */

uint32_t topology_capability(uint32_t gpu_id)
{
	struct topology_gpu gpus[TOPOLOGY_GPUS];
	size_t n = topology_gpus(gpus, TOPOLOGY_GPUS);
	const struct topology_gpu *gpu = topology_find(gpus, n, gpu_id);

	return gpu ? gpu->capability : 0;
}

/* Render nodes that were found. An entry is the gpu_id (high word) and the minor number (low word),
 * written atomically; 0: free. */
static uint64_t render_nodes[TOPOLOGY_GPUS];

uint32_t topology_gpu_of_render(unsigned minor)
{
	uint64_t *known = &render_nodes[minor % TOPOLOGY_GPUS];
	uint64_t value = __atomic_load_n(known, __ATOMIC_RELAXED);
	struct topology_gpu gpus[TOPOLOGY_GPUS];
	size_t n;

	if ((uint32_t)value == minor)
		return (uint32_t)(value >> 32);
	n = topology_gpus(gpus, TOPOLOGY_GPUS);
	for (size_t i = 0; i < n; i++) {
		if (gpus[i].render_minor != minor)
			continue;
		value = (uint64_t)gpus[i].gpu_id << 32 | minor;
		__atomic_store_n(known, value, __ATOMIC_RELAXED);
		return gpus[i].gpu_id;
	}
	return 0;
}

uint32_t render_context(int fd, uint32_t *gpu_id)
{
	char path[64], name[64] = "";
	int saved = errno;
	unsigned minor;
	ssize_t n;

	*gpu_id = 0;
	/* Not /proc/self, which is the first thread: it may have ended. */
	snprintf(path, sizeof(path), "/proc/thread-self/fd/%d", fd);
	n = readlink(path, name, sizeof(name) - 1);
	if (n > 0 && sscanf(name, "/dev/dri/renderD%u", &minor) == 1)
		*gpu_id = topology_gpu_of_render(minor);
	errno = saved;
	return *gpu_id ? CONTEXT_FIRST + minor : 0;
}

void topology_forget(void)
{
	memset(render_nodes, 0, sizeof(render_nodes));
}

bool topology_saves_waves(void)
{
	enum { UNREAD, SAVED, LOST };
	static int known; /* result of the first call; atomic */
	char why[CWSR_WHY];

	if (__atomic_load_n(&known, __ATOMIC_RELAXED) == UNREAD) {
		bool lost = cwsr_is_missing(why);

		if (lost)
			kfdshim_log(LOG_INFO, "%s; held by level gate only", why);
		__atomic_store_n(&known, lost ? LOST : SAVED, __ATOMIC_RELAXED);
	}
	return __atomic_load_n(&known, __ATOMIC_RELAXED) == SAVED;
}

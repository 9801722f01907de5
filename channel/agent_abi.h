/* SPDX-License-Identifier: MIT */
/*
 * The interface between libkfdshim.so (the preload library, here "the host") and
 * libkfdshim-agent.so (the agent). Both come from one build and are installed in one directory;
 * `abi` detects a mixture of builds.
 *
 * The agent is loaded at the first ioctl of type 'K' on /dev/kfd and stays loaded. Its functions
 * can be called by any thread, at any time until the process ends, with locks of the HSA runtime
 * held. They never call hsa_*, never block (except ioctl and reserve, see below), and keep errno
 * (except ioctl, which leaves the errno of the call that it forwarded).
 */
#ifndef KFDSHIM_CHANNEL_AGENT_ABI_H
#define KFDSHIM_CHANNEL_AGENT_ABI_H

#include <stdbool.h>
#include <stdint.h>

#define KFDSHIM_AGENT_ABI 5u
#define KFDSHIM_AGENT_FILE "libkfdshim-agent.so"
#define KFDSHIM_AGENT_START "kfdshim_agent_start"

/*
 * Size of the cache of doorbells whose queue is known to be active. Its entry
 * active_doorbells[kfdshim_doorbell_slot(signal)] is the handle of such a signal. The agent writes
 * the table. The doorbell hook reads it without a fence, and does not report a doorbell that is in
 * it. So after the agent has cleared an entry, it reads the queue's write pointer once more: the
 * doorbell may have been rung without a report just before.
 */
#define KFDSHIM_ACTIVE_DOORBELLS 256u

static inline uint32_t kfdshim_doorbell_slot(uint64_t signal)
{
	return (uint32_t)(signal >> 6) % KFDSHIM_ACTIVE_DOORBELLS; /* an amd_signal_t is 64 bytes */
}

/* Offsets in amd_signal_t, in bytes; from <amd_hsa_signal.h>, equal in ROCr 5.2 to 7.2. */
#define KFDSHIM_SIGNAL_KIND 0	    /* int64_t; negative: a doorbell */
#define KFDSHIM_SIGNAL_QUEUE_PTR 48 /* pointer; in a doorbell: the hsa_queue_t of its queue */

/* The settings that the program makes by kfdshim.h. Atomic; the host writes them, and calls
 * agent->app_settings_changed() after each change. */
/* A value that the program has not set: the environment applies. */
#define KFDSHIM_UNASKED INT64_MIN
struct kfdshim_app_settings {
	int64_t priority; /* 0..15, or KFDSHIM_UNASKED */
	int64_t slo_us;	  /* 0..UINT32_MAX (0: no objective), or KFDSHIM_UNASKED */
	int64_t requests; /* number of requests that have begun and not ended */
};

/* Functions and variables that the host provides to the agent. Static memory of the host. */
struct kfdshim_preload_iface {
	uint32_t abi; /* KFDSHIM_AGENT_ABI */
	uint32_t pad;
	/* Calls the next definition of ioctl(2), so that the agent bypasses the host's wrapper.
	 * Returns -1 with errno on an error. */
	int (*ioctl)(int fd, unsigned long request, void *arg);
	/* Cache of active doorbells: KFDSHIM_ACTIVE_DOORBELLS words, all 0 at first. */
	uint64_t *active_doorbells;
	/* Number of intercept queues. An intercept queue is a hsa_queue_t that a profiler puts
	 * before the real one, so that the program's handle is not that of the driver's queue.
	 * While this number is not 0, the host also passes signals that are no doorbells to
	 * agent->doorbell(). Atomic, written by the agent. */
	uint32_t *n_intercept_queues;
	/* Not 0: slots of a queue must not be reserved before agent->reserve(), because the
	 * submission gate is closed (the process is held by CLIENT_SHM_LEVEL_GATE). Atomic, written
	 * by the agent. */
	uint32_t *gate;
	/* Number of active queues. While it is 0 the host does not call agent->loaded(). Atomic,
	 * written by the agent. */
	uint32_t *active;
	const struct kfdshim_app_settings *app_settings;
};

/* Set of the KFD ioctls that the host passes to the agent; a bit's number is the number of the
 * ioctl. They are CREATE, DESTROY and UPDATE_QUEUE, SET_CU_MASK, ALLOC_QUEUE_GWS, RUNTIME_ENABLE,
 * CREATE_PROCESS, ALLOC and FREE_MEMORY_OF_GPU, MAP_MEMORY_TO_GPU, UNMAP_MEMORY_FROM_GPU,
 * IMPORT_DMABUF. */
#define KFDSHIM_IOCTLS                                                                             \
	(UINT64_C(1) << 0x02 | UINT64_C(1) << 0x03 | UINT64_C(1) << 0x07 | UINT64_C(1) << 0x1a |   \
	 UINT64_C(1) << 0x1e | UINT64_C(1) << 0x25 | UINT64_C(1) << 0x27 | UINT64_C(1) << 0x16 |   \
	 UINT64_C(1) << 0x17 | UINT64_C(1) << 0x18 | UINT64_C(1) << 0x19 | UINT64_C(1) << 0x1d)

/* The only DRM command that the host passes to the agent: AMDGPU_USERQ, type 'd'. */
#define KFDSHIM_DRM_TYPE 'd'
#define KFDSHIM_DRM_USERQ 0x56u

#define KFDSHIM_NO_TICKET 0xffffffffu /* wait_begin() has recorded nothing */

/* Functions that the agent provides to the host. Static memory of the agent. */
struct kfdshim_agent {
	uint32_t abi; /* KFDSHIM_AGENT_ABI */
	uint32_t pad;
	/*
	 * Executes an ioctl of KFDSHIM_IOCTLS on /dev/kfd, or KFDSHIM_DRM_USERQ on any file. Calls
	 * host->ioctl once for it. An allocation beyond KFDSHIM_VRAM_LIMIT fails without that call.
	 *  - The first CREATE_QUEUE can issue GET_VERSION and RUNTIME_ENABLE before it; the first
	 *    CREATE_QUEUE of another thread waits for that.
	 *  - An UPDATE_QUEUE of a held process is forwarded with other values
	 *    (shim/queue_override.h).
	 *  - A DESTROY_QUEUE or runtime disable of a suspended process waits until the process is
	 *    resumed. It waits for the daemon at most 10 ms. At CLIENT_SHM_LEVEL_SELF it waits for
	 *    the end of a suspension in progress and then resumes the process.
	 */
	int (*ioctl)(int fd, unsigned long request, void *arg);
	/* Called before a doorbell that is not in active_doorbells is rung, or a slot of its queue
	 * is reserved. */
	void (*doorbell)(uint64_t signal);
	/* Called when the runtime has accepted a copy. completion: the copy's completion signal; 0:
	 * none. The agent finds the copy's queue by its write pointer, which has moved. */
	void (*copied)(uint64_t completion);
	/* Called before and after hsa_signal_wait_*. The ticket that wait_begin() returns is passed
	 * to wait_end(). over: the condition of the wait was met and the signal is at 0 or below,
	 * so all packets that name the signal are over. */
	uint32_t (*wait_begin)(uint64_t signal);
	void (*wait_end)(uint32_t ticket, uint64_t signal, bool over);
	/* Called when a hsa_signal_load_* has returned 0 or less. */
	void (*loaded)(uint64_t signal);
	/* Called when the calling thread holds no lock of the runtime: handle_made() after
	 * hsa_queue_create() has returned this hsa_queue_t, handle_gone() before a
	 * hsa_queue_destroy() that the program has called. */
	void (*handle_made)(uint64_t hsa_queue);
	void (*handle_gone)(uint64_t hsa_queue);
	/* Called before `count` slots of an hsa_queue_t are reserved, but only while *host->gate is
	 * not 0. Blocks for up to 1 s, while the process is held by CLIENT_SHM_LEVEL_GATE. */
	void (*reserve)(uint64_t hsa_queue, uint64_t count);
	/* Called before and after WAIT_EVENTS, in which the calling thread sleeps. */
	void (*events)(void);
	void (*events_end)(void);
	/* Called when *host->app_settings has changed. Must not be called from within another of
	 * these functions. */
	void (*app_settings_changed)(void);
};

/* The function that the agent exports as KFDSHIM_AGENT_START; the host calls it once. Returns NULL
 * if the agent cannot work in this process; the host then passes everything through. */
typedef const struct kfdshim_agent *
kfdshim_agent_start_fn(const struct kfdshim_preload_iface *host);

#endif

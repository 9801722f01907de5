/* SPDX-License-Identifier: MIT */
/*
 * The contract between libkfdshim.so (the host) and libkfdshim-agent.so.
 * Both come from one build and stand in one folder; `abi` catches a mixture.
 *
 * The agent is loaded at the first ioctl of type 'K' on /dev/kfd and stays.
 * Its functions can be called from any thread, at any time until the process
 * is gone, with locks of the HSA runtime held. They never call hsa_*, never
 * block (but ioctl and reserve, below), and keep errno, except that ioctl() leaves
 * the errno of the call it forwarded.
 */
#ifndef KFDSHIM_PRELOAD_AGENT_H
#define KFDSHIM_PRELOAD_AGENT_H

#include <stdbool.h>
#include <stdint.h>

#define KFDSHIM_AGENT_ABI 5u
#define KFDSHIM_AGENT_FILE "libkfdshim-agent.so"
#define KFDSHIM_AGENT_START "kfdshim_agent_start"

/*
 * Doorbells whose queue is known to be active: hot[kfdshim_hot(signal)] is
 * that signal's handle. The agent writes the table, the doorbell hook reads it
 * without a fence: after it has cleared an entry, the agent looks at the
 * queue's write pointer again.
 */
#define KFDSHIM_HOT 256u

static inline uint32_t kfdshim_hot(uint64_t signal)
{
	return (uint32_t)(signal >> 6) % KFDSHIM_HOT; /* an amd_signal_t is 64 bytes */
}

/* From <amd_hsa_signal.h>, equal in ROCr 5.2 to 7.2: */
#define KFDSHIM_SIGNAL_KIND 0	    /* int64_t; negative: a doorbell */
#define KFDSHIM_SIGNAL_QUEUE_PTR 48 /* of a doorbell: its queue's hsa_queue_t */

/* What the program itself asks for (kfdshim.h). The host writes, atomically, and
 * then calls agent->wishes_changed. */
#define KFDSHIM_UNASKED INT64_MIN
struct kfdshim_wishes {
	int64_t priority; /* 0..15, or KFDSHIM_UNASKED: the environment's */
	int64_t slo_us;	  /* 0..UINT32_MAX, the same */
	int64_t requests; /* begun and not ended */
};

struct kfdshim_host {
	uint32_t abi;
	uint32_t pad;
	/* The next ioctl: -1 and errno, as always. */
	int (*ioctl)(int fd, unsigned long request, void *arg);
	uint64_t *hot; /* KFDSHIM_HOT words, all 0 */
	/* Atomic, written by the agent: queues that the program knows by another
	 * handle. While it is not 0, doorbell() is also told of signals that are
	 * no doorbells. */
	uint32_t *uppers;
	/* Written by the agent: not 0 while slots may not be reserved at once. */
	uint32_t *gate;
	/* The same: active queues. While it is 0, no end is asked for. */
	uint32_t *active;
	const struct kfdshim_wishes *wishes;
};

/* By number: CREATE, DESTROY, UPDATE_QUEUE, SET_CU_MASK, ALLOC_QUEUE_GWS,
 * RUNTIME_ENABLE, CREATE_PROCESS, ALLOC and FREE_MEMORY_OF_GPU. */
#define KFDSHIM_IOCTLS                                                                             \
	(UINT64_C(1) << 0x02 | UINT64_C(1) << 0x03 | UINT64_C(1) << 0x07 | UINT64_C(1) << 0x1a |   \
	 UINT64_C(1) << 0x1e | UINT64_C(1) << 0x25 | UINT64_C(1) << 0x27 | UINT64_C(1) << 0x16 |   \
	 UINT64_C(1) << 0x17)

/* The one command of DRM that the agent wants: AMDGPU_USERQ, type 'd'. */
#define KFDSHIM_DRM_TYPE 'd'
#define KFDSHIM_DRM_USERQ 0x56u

#define KFDSHIM_NO_TICKET 0xffffffffu

struct kfdshim_agent {
	uint32_t abi;
	uint32_t pad;
	/*
	 * One of KFDSHIM_IOCTLS on /dev/kfd, or KFDSHIM_DRM_USERQ on any file.
	 * Forwards it through host->ioctl, once, but an allocation beyond
	 * KFDSHIM_VRAM_LIMIT. The first CREATE_QUEUE may issue GET_VERSION and
	 * RUNTIME_ENABLE before it, and makes another thread's first
	 * CREATE_QUEUE wait for that. An UPDATE_QUEUE of a held process goes on
	 * with other values (shim/updates.h). A DESTROY_QUEUE or runtime disable
	 * by a suspended process waits for its resume: at most 10 ms for the
	 * daemon; at level self, for the suspension under way and its resume.
	 */
	int (*ioctl)(int fd, unsigned long request, void *arg);
	/* A doorbell that the hot table does not hold is about to be rung, or a
	 * slot of its queue to be reserved. */
	void (*doorbell)(uint64_t signal);
	/* The runtime has taken a copy, which ends with that signal (0: none). Its queue is the one
	 * whose write pointer has moved. */
	void (*copied)(uint64_t completion);
	/* hsa_signal_wait_*: before and after. `over`: its condition was met, and every
	 * packet that names the signal is over: it is at 0, or below. */
	uint32_t (*wait_begin)(uint64_t signal);
	void (*wait_end)(uint32_t ticket, uint64_t signal, bool over);
	/* hsa_signal_load_*: the value is 0, or below. */
	void (*loaded)(uint64_t signal);
	/* hsa_queue_create gave this hsa_queue_t; hsa_queue_destroy is about to
	 * get it. Not with locks of the runtime held. */
	void (*handle_made)(uint64_t hsa_queue);
	void (*handle_gone)(uint64_t hsa_queue);
	/* Slots of an hsa_queue_t are about to be reserved, and the gate is
	 * closed. It may take 1 s (level gate). */
	void (*reserve)(uint64_t hsa_queue, uint64_t count);
	/* This thread is about to sleep in WAIT_EVENTS; it has come back. */
	void (*events)(void);
	void (*events_end)(void);
	/* Not from within another of these functions. */
	void (*wishes_changed)(void);
};

/* Exported by the agent as KFDSHIM_AGENT_START; called once. NULL: it cannot
 * work here, and the host passes everything through. */
typedef const struct kfdshim_agent *kfdshim_agent_start_fn(const struct kfdshim_host *host);

#endif

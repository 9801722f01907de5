/* SPDX-License-Identifier: MIT */
/*
 * The contract between libkfdshim.so (the host) and libkfdshim-agent.so.
 * Both come from one build and stand in one folder; `abi` catches a mixture.
 *
 * The agent is loaded at the first ioctl of type 'K' on /dev/kfd and stays.
 * Its functions can be called from any thread, at any time until the process
 * is gone, with locks of the HSA runtime held. They never call hsa_*, never
 * block (one exception below), and keep errno, except that ioctl() leaves the
 * errno of the call it forwarded.
 */
#ifndef KFDSHIM_PRELOAD_AGENT_H
#define KFDSHIM_PRELOAD_AGENT_H

#include <stdbool.h>
#include <stdint.h>

#define KFDSHIM_AGENT_ABI 1u
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

struct kfdshim_host {
	uint32_t abi;
	uint32_t pad;
	/* The next ioctl: -1 and errno, as always. */
	int (*ioctl)(int fd, unsigned long request, void *arg);
	uint64_t *hot; /* KFDSHIM_HOT words, all 0 */
};

#define KFDSHIM_NO_TICKET 0xffffffffu

struct kfdshim_agent {
	uint32_t abi;
	uint32_t pad;
	/*
	 * CREATE_QUEUE, UPDATE_QUEUE, DESTROY_QUEUE or RUNTIME_ENABLE on
	 * /dev/kfd. Forwards it through host->ioctl, once. The first
	 * CREATE_QUEUE may issue GET_VERSION and RUNTIME_ENABLE before it, and
	 * makes another thread's first CREATE_QUEUE wait for that. A
	 * DESTROY_QUEUE or runtime disable by a suspended process waits at most
	 * 10 ms for its resume.
	 */
	int (*ioctl)(int fd, unsigned long request, void *arg);
	/* A doorbell that the hot table does not hold is about to be rung. */
	void (*doorbell)(uint64_t signal);
	/* hsa_signal_wait_*: before and after. `met`: its condition was. */
	uint32_t (*wait_begin)(uint64_t signal);
	void (*wait_end)(uint32_t ticket, uint64_t signal, bool met);
};

/* Exported by the agent as KFDSHIM_AGENT_START; called once. NULL: it cannot
 * work here, and the host passes everything through. */
typedef const struct kfdshim_agent *kfdshim_agent_start_fn(const struct kfdshim_host *host);

#endif

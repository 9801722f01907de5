/* SPDX-License-Identifier: MIT */
/*
 * One thing that the daemon has done or seen, as it is kept: small, and made into JSON
 * (docs/formats.md) only for somebody who reads it. Threads: any; no state.
 */
#ifndef KFDSHIM_SCHEDULER_DAEMON_EVENT_H
#define KFDSHIM_SCHEDULER_DAEMON_EVENT_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "channel/lane.h"
#include "channel/protocol.h"
#include "scheduler/kfd/device.h"

enum event_kind {
	EVENT_LISTENING, /* somebody reads from now on */
	EVENT_CAME,
	EVENT_WENT,
	EVENT_LEVEL,
	EVENT_SUSPEND,
	EVENT_RESUME,
	EVENT_PRIORITY,
	EVENT_LEASE,
	EVENT_POLICY,
};

struct event {
	uint64_t number; /* of this worker; from 1 */
	uint64_t time_us;
	enum event_kind kind;
	pid_t pid; /* of the process; LISTENING: the worker; POLICY: nobody */
	char comm[16];
	int priority;		      /* CAME, PRIORITY; PRIORITY_UNSET */
	uid_t uid;		      /* CAME */
	const char *level;	      /* LEVEL, SUSPEND, RESUME; lives for ever, as the next one */
	const char *cause;	      /* SUSPEND, RESUME: why; NULL: not known */
	char reason[KFD_REASON];      /* WENT, LEVEL */
	uint32_t gpu_ids[LANE_NODES]; /* SUSPEND, RESUME; up to the first 0 */
	pid_t cause_pid;	      /* 0: nobody's, or not known; so the next two */
	uint32_t cause_gpu_id;
	bool has_latency; /* SUSPEND, RESUME: the time of the cause is known */
	uint64_t latency_us, duration_us;
	int error; /* 0, or a negative errno */
	bool leased;
	uint32_t gpu_id; /* POLICY: 0: of all that have none of their own */
	enum protocol_policy policy;
	uint32_t share_percent;
	bool ordered; /* PRIORITY, POLICY: by somebody, who is: */
	pid_t by_pid;
	uid_t by_uid;
};

/* NULL: no memory. */
json_t *event_to_json(const struct event *event);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * An event of the daemon in the form in which it is kept: small, and converted to JSON
 * (docs/reference/events.md) only for a reader.
 *
 * Threads: any; no state.
 */
#ifndef KFDSHIM_SCHEDULER_DAEMON_OPERATOR_EVENT_JSON_H
#define KFDSHIM_SCHEDULER_DAEMON_OPERATOR_EVENT_JSON_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "channel/client_shm.h"
#include "channel/protocol.h"
#include "common/policy.h"
#include "kfd/device.h"

enum event_kind {
	EVENT_LISTENING, /* a reader has connected */
	EVENT_CAME,
	EVENT_WENT,
	EVENT_LEVEL,
	EVENT_SUSPEND,
	EVENT_RESUME,
	EVENT_PRIORITY,
	EVENT_LEASE,
	EVENT_POLICY,
};

struct daemon_event {
	uint64_t number;  /* counts from 1 in each worker */
	uint64_t time_us; /* wall time */
	enum event_kind kind;
	pid_t pid;	   /* the process; LISTENING: the worker; POLICY: unused */
	char comm[16];	   /* name of the process */
	int priority;	   /* CAME, PRIORITY; or PRIORITY_UNSET */
	uid_t uid;	   /* CAME */
	const char *level; /* LEVEL, SUSPEND, RESUME; static string */
	/* SUSPEND, RESUME: the reason, a static string; NULL: unknown */
	const char *cause;
	char reason[KFD_REASON];	    /* WENT, LEVEL */
	uint32_t gpu_ids[CLIENT_SHM_NODES]; /* SUSPEND, RESUME; ends at the first 0 */
	pid_t cause_pid;		    /* process that caused it; 0: none or unknown */
	uint32_t cause_gpu_id;		    /* node of that process; 0: none or unknown */
	bool has_latency;		    /* SUSPEND, RESUME: latency_us is valid */
	uint64_t latency_us, duration_us;   /* from the cause to the driver call; of that call */
	int error;			    /* 0, or a negative errno */
	bool leased;			    /* LEASE */
	uint32_t gpu_id;		    /* POLICY; 0: all nodes without their own */
	enum policy policy;
	uint32_t share_percent;
	bool by_operator; /* PRIORITY, POLICY: by a request of process by_pid, user by_uid */
	pid_t by_pid;
	uid_t by_uid;
};

/* Returns a new JSON object, which the caller owns; NULL: no memory. */
json_t *event_to_json(const struct daemon_event *event);

#endif

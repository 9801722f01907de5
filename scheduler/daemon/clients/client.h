/* SPDX-License-Identifier: MIT */
/*
 * A client: a connection to the daemon. Its hello makes it a workload with shared memory (struct
 * client_shm), or a command with a request. A process without the shim (external.h) is a client
 * without a connection.
 *
 * This header has the data of a client. worker.h has the table of all clients; client_life.h,
 * client_level.h and client_scan.h have the functions.
 *
 * Threads: the worker's loop only.
 */
#ifndef KFDSHIM_SCHEDULER_DAEMON_CLIENTS_CLIENT_H
#define KFDSHIM_SCHEDULER_DAEMON_CLIENTS_CLIENT_H

#include "channel/client_shm.h"
#include "channel/protocol.h"
#include "common/ratelimit.h"
#include "kfd/device.h"
#include "scheduler/core/sched.h"
#include "scheduler/daemon/config/match_rules.h"
#include "scheduler/daemon/log.h"
#include "scheduler/daemon/metrics/metrics_text.h"
#include "scheduler/daemon/peer.h"

struct executor;
struct external;
struct query;

enum client_phase {
	/* its hello is being handled, again after each answer of kfdschedd-read (reader.h) */
	CLIENT_GREETING,
	CLIENT_SERVED,	/* a workload with shared memory */
	CLIENT_HOLDING, /* a command that waits for a suspension, or keeps it (lease.h) */
	CLIENT_READING, /* a command that receives events (events.h) */
	CLIENT_ASKING,	/* a command that waits for a reply (query.h) */
	CLIENT_DEAD,	/* freed at the end of the loop iteration */
};

/* State of client_attrs.c. The priority that the client requests itself is in struct control. */
struct client_attrs {
	/* time to read the attributes again, CLOCK_MONOTONIC ns; 0: not planned */
	uint64_t again_ns;
	/* values that the client requests itself, beside control.own_priority and own_slo_us */
	enum protocol_level level;
	char group[PROTOCOL_GROUP_MAX];

	/* One bit for each grant (match_rules.h). can_preempt: grants by which the client can
	 * preempt others. preemptible_by: grants by which others can preempt the client. */
	uint64_t can_preempt, preemptible_by;
	/* the new configuration may change attributes of the client (client_attrs_compare()) */
	bool differs;
	struct rule_match verdict;
	struct proc_attrs subject; /* attributes as they were read last */
};

/* State of client_level.c. */
struct level {
	enum protocol_level wanted; /* KFDSHIM_LEVEL, or the level of its rule */
	/* true while its level changes to `to` (CLIENT_SHM_LEVEL_NONE: to level trap) */
	bool changing;
	enum client_shm_level to;
	/* level trap is not tried again, because a suspend failed, several were slow, or the driver
	 * does not support it */
	bool never_trap;
	bool unseen;   /* tracing fails for a reason that is not visible from outside */
	bool unjudged; /* it is still to be determined whether `unseen` is true */
	bool logged;   /* the level was logged since the client was last at level trap */
	/* why it is not at level trap, as trap_attach() returns it; 0: level trap is possible */
	int error;
	uint64_t climb_ns;    /* time of the next attempt to reach level trap; 0: none */
	uint64_t pause_ns;    /* delay between two attempts, ns */
	uint64_t attached_ns; /* when the debug session on it was opened; 0: there is none */
	/* of a client with the only debug session that its GPU supports. idle_ns: since when the
	 * client is idle; transitions: number of its changes of activity at that time */
	uint64_t idle_ns, transitions;
	struct reason why; /* reason for `error`; a further obstacle is added to its sentence */
};

/* State of control.c and lease.c. */
struct control {
	/* fields of a workload */
	int own_priority; /* priority and objective that it requests itself */
	uint32_t own_slo_us;
	bool priority_set; /* a request has set another priority */
	bool leased;	   /* a request holds it suspended now */
	uint64_t lease_ns; /* end of a lease of limited duration, CLOCK_MONOTONIC ns; 0: none */

	/* fields of a command (connection with a request), for the target of the request; valid
	 * until the request has ended */
	int pidfd; /* pidfd of the target; -1: none */
	pid_t pid;
	uint64_t started, queried_ns; /* start time of the target; when the suspend was requested */
	bool holds;		      /* the lease lasts as long as the command is connected */
	bool replied;		      /* a reply was sent: the target is suspended, or will be */
};

/* State of events.c. */
struct pending_event {
	/* of a workload: why its action in flight was decided (NULL: not determined), the process
	 * that caused it (0: none), and the node of that process */
	const char *reason;
	int cause_pid;
	uint32_t cause_gpu_id;
	bool by_lease;	  /* its last suspension was by request */
	bool has_latency; /* latency_ns is known */
	uint64_t latency_ns;
	/* of a command that receives events: number of lost events that was not reported yet; time
	 * of the next attempt to report it */
	uint64_t lost, retry_ns;
};

/* State of client_scan.c. */
struct scan_limit {
	struct ratelimit limit;
	uint64_t put_off; /* number of scans deferred */
	bool late, named; /* late: a scan is deferred now; named: the client was named in the log */
};

/* A node in the client's shared memory as of the last scan, and its metrics. */
struct seen_node {
	uint32_t gpu_id;	     /* 0: none */
	uint32_t metrics_at;	     /* index in metrics_saved.nodes; may be out of date */
	uint64_t activity;	     /* as in struct client_shm_node */
	uint64_t active_ns, idle_ns; /* as in struct client_shm_node */
	uint64_t worked_ns;	     /* time with work, until client.settled_ns */
};

/* A member of worker->clients. client_free() frees it. */
struct client {
	/* The fields that each scan and sweep (loop.c) reads come first: with many clients, these
	 * loops take as long as their cache misses, so the fields are to be in few cache lines. */
	enum client_phase phase;
	/* slot: index in worker->clients; serial: differs for successive clients of a slot */
	uint32_t slot, serial;
	core_id id; /* 0: not known to the core */
	/* memory shared with the client, which can write anything into it; of an external process:
	 * memory that only the daemon has */
	struct client_shm *shm;
	/* state of an external process (external.h); NULL: it has the shim */
	struct external *external;
	/* time of the next check whether the process runs another program, after its connection was
	 * closed; 0: the connection is open */
	uint64_t hung_up_ns;
	/* when another process ended the client's debug session; 0: never, or already handled */
	uint64_t lost_ns;
	/* level at which the client holds itself on command (client_scan.h); CLIENT_SHM_LEVEL_NONE:
	 * level trap, at which the daemon holds the client */
	enum client_shm_level hold_cmd_level;
	/* copies of words in `shm`, as of the last scan */
	uint32_t runtime, generation, teardown_begin, teardown_end;
	uid_t uid; /* owner of the peer's uid (match_rules.h) */
	struct scan_limit scan_limit;
	uint64_t settled_ns; /* time up to which `seen[].worked_ns` is counted; 0: none */
	struct control control;
	struct level level; /* reason for the level, and planned changes */
	struct seen_node seen[CLIENT_SHM_NODES];
	struct client_attrs attrs;

	bool admitted; /* its connection is counted by admission.c, for user `uid` */
	bool trusted;  /* connection of root or of the daemon's own user */
	/* wake_fd: eventfd by which the client wakes the loop; -1 for an external process */
	int socket, wake_fd;
	/* negative errno of the last action, which was logged; 0: it succeeded */
	int logged_error;
	uint64_t since_ns; /* when the connection was accepted */
	struct protocol_hello hello;
	uint32_t version; /* version of the protocol in use on this connection */

	struct socket_peer peer;
	char name[16];			/* name of the process */
	uint32_t tenant, group_number;	/* numbers that the core uses */
	int priority;			/* effective priority (client_attrs.h) */
	uint32_t slo_us;		/* effective objective; 0: none */
	char group[PROTOCOL_GROUP_MAX]; /* effective name of the group; may be empty */
	/* of an external process. queues_changed: its queues may have changed. pending: why it
	 * cannot be suspended yet. */
	bool queues_changed;
	enum reason_code pending;
	struct log_share log;

	/* The pending hold command is HOLD_CMD_PREPARE, which prepares another level; false: it is
	 * a suspend or resume that scheduler/core has decided. */
	bool preparing;
	/* a scan has evaluated whether the client can be held; false: the next scan evaluates it */
	bool evaluated;
	bool hold_cmd_pending; /* a hold command has not been acknowledged yet */
	bool hold_acked;       /* the client has acknowledged that it holds itself */
	uint32_t own_session, hold_cmd,
		hold_cmd_number; /* own_session: enum client_shm_own; hold_cmd: last hold command */
	uint64_t hold_cmd_ns;	 /* when that command was sent */

	struct executor *executor; /* executor that has its debug session; NULL: none */
	bool attached;		   /* `executor` has opened the session */
	bool refused;		   /* the client cannot be held at its level; `reason` says why */
	/* The client waits in a teardown call (one that a suspension would block), so it is in
	 * worker->releasing, and client_release_all() updates shm->teardown_granted as soon as it
	 * runs. release_at: index in worker->releasing. */
	bool wants_release;
	uint32_t release_at;
	uint64_t hung_up_wait_ns; /* delay between the check at hung_up_ns and the next */
	struct reason reason;	  /* why it cannot be suspended; may be empty */

	bool acting_prompt;  /* core_action.prompt of the action in flight */
	enum core_op acting; /* the action in flight, or the one that ended last */
	bool acting_waits;   /* mutex_may_be_held() when that action began */
	uint64_t cause_ns;   /* when the cause of the action happened; 0: unknown */

	struct query *query;		    /* state of CLIENT_ASKING (query.c); NULL: none */
	struct pending_event pending_event; /* for events.c */
	struct metrics_values counts;
};

/* Reads a word that the client writes. */
static inline uint32_t shm_word(const uint32_t *at)
{
	return __atomic_load_n(at, __ATOMIC_ACQUIRE);
}

/* Returns true if `preemptor` can preempt `victim` when `preemptor` is more urgent. */
static inline bool client_can_preempt(const struct client *preemptor, const struct client *victim)
{
	return preemptor->tenant == victim->tenant ||
	       (preemptor->attrs.can_preempt & victim->attrs.preemptible_by);
}

/* Returns true if the client may have to be suspended, for other processes or by request. */
static inline bool client_may_be_held(const struct client *client)
{
	return client->control.leased ||
	       (client->priority != PRIORITY_UNSET && client->priority != PRIORITY_ONLINE);
}

/* Returns the name of the level at which the client is held. */
static inline const char *client_level_name(const struct client *client)
{
	return client->hold_cmd_level ? client_shm_level_name(client->hold_cmd_level) : "trap";
}

/* Returns the name of the level at which the client can be held now; "observe": at none. */
static inline const char *client_present_level(const struct client *client,
					       const struct core_view *view)
{
	return view->capability == CORE_ABLE && view->exempt == CORE_EXEMPT_NOT
		       ? client_level_name(client)
		       : "observe";
}

#endif

/* SPDX-License-Identifier: MIT */
/*
 * A connection to the daemon: at first unknown, then a workload with shared memory (struct
 * client_shm), or a command with a request. A process without the shim (external.h) is a client
 * without a connection.
 *
 * The functions are implemented in client.c (connections, life of a client), client_scan.c (shared
 * memory, runtime state) and client_actions.c (actions, debug session).
 *
 * Threads: the worker's loop only.
 */
#ifndef KFDSHIM_SCHEDULER_DAEMON_CLIENTS_CLIENT_H
#define KFDSHIM_SCHEDULER_DAEMON_CLIENTS_CLIENT_H

#include <stdbool.h>
#include <stdint.h>

#include "channel/client_shm.h"
#include "channel/protocol.h"
#include "scheduler/core/sched.h"
#include "scheduler/daemon/clients/client_attrs.h"
#include "scheduler/daemon/clients/level_state.h"
#include "scheduler/daemon/clients/scan_ratelimit.h"
#include "scheduler/daemon/executor/executor.h"
#include "scheduler/daemon/log.h"
#include "scheduler/daemon/metrics/metrics.h"
#include "scheduler/daemon/operator/control.h"
#include "scheduler/daemon/operator/events.h"
#include "scheduler/daemon/operator/query.h"
#include "scheduler/daemon/peer.h"

struct admission_message;
struct worker;
struct external;

enum client_phase {
	CLIENT_GREETING, /* its hello is being handled, perhaps in several runs (reader.h) */
	CLIENT_SERVED,	 /* a workload with shared memory */
	CLIENT_HOLDING,	 /* a command that waits for a suspend, or holds one (control.h) */
	CLIENT_READING,	 /* a command that receives events (events.h) */
	CLIENT_ASKING,	 /* a command that waits for a reply (query.h) */
	CLIENT_DEAD,	 /* freed at the end of the loop iteration */
};

/* A member of worker->clients. client_free() frees it. */
struct client {
	enum client_phase phase;
	/* index in worker->clients; number that differs for successive clients of a slot */
	uint32_t slot, serial;
	bool admitted; /* counted by admission.c, for the user `uid` */
	uid_t uid;     /* owner of the peer's uid (owners.h) */
	bool trusted;  /* connection of root or of the daemon's own user */
	/* wake_fd: eventfd by which the client wakes the loop; -1 for an external process */
	int socket, wake_fd;
	/* negative errno of the last action, which was logged; 0: it succeeded */
	int logged_error;
	uint64_t since_ns; /* when the connection was accepted */
	struct protocol_hello hello;
	uint32_t version; /* version of the protocol in use on this connection */

	struct socket_peer peer;
	struct client_attrs attrs;
	char name[16];			/* of the process */
	uint32_t tenant, group_number;	/* numbers that the core uses */
	int priority;			/* effective priority (client_attrs.h) */
	uint32_t slo_us;		/* effective objective; 0: none */
	char group[PROTOCOL_GROUP_MAX]; /* effective name of the group; may be empty */
	core_id id;			/* 0: not known to the core */

	/* shared memory, hostile input; of an external process: private to the daemon */
	struct client_shm *shm;
	/* state of an external process (external.h); NULL: it has the shim */
	struct external *external;
	struct scan_limit scan_limit;
	struct log_share log;
	/* copies of words in `shm`, as of the last scan */
	uint32_t runtime, generation, teardown_begin, teardown_end;
	uint32_t gpu_id[CLIENT_SHM_NODES];
	uint64_t activity[CLIENT_SHM_NODES], active_ns[CLIENT_SHM_NODES], idle_ns[CLIENT_SHM_NODES];

	/* level at which the client itself carries out holds (hold_command.h); NONE: the daemon
	 * uses a session */
	enum client_shm_level hold_cmd_level;
	struct level level; /* reason for the level, and planned changes */
	bool preparing; /* the command in flight is HOLD_CMD_PREPARE, not an action of the core */
	bool handshake_done; /* hold_command.c has evaluated if it can be held; false: the next scan does */
	bool hold_cmd_pending; /* a command has not been acknowledged yet */
	bool hold_acked;       /* the client has acknowledged that it holds itself */
	uint32_t own_session, hold_cmd,
		hold_cmd_number; /* enum client_shm_own; last command, and its number */
	uint64_t hold_cmd_ns;	 /* when that command was sent */

	struct executor *executor; /* thread with its debug session; NULL: none */
	bool attached;		   /* `executor` has opened the session */
	bool refused;		   /* it cannot be held at its present level */
	/* shm->teardown_granted must be updated when it runs (client_release()); release_at: its index in
	 * worker->releasing */
	bool wants_release;
	uint32_t release_at;
	/* time of the next check of its program; 0: the connection is open */
	uint64_t hung_up_ns;
	uint64_t hung_up_wait_ns; /* time from that check to the next */
	/* when another process ended its session; 0: never, or already handled */
	uint64_t lost_ns;
	char reason[KFD_REASON]; /* why it cannot be suspended; may be empty */

	bool acting_prompt;  /* core_action.prompt of the action in flight */
	enum core_op acting; /* the action in flight, or the last one */
	bool acting_waits;   /* mutex_may_be_held() when that action began */
	uint64_t cause_ns;   /* when the cause of the action happened; 0: unknown */

	struct control control;
	struct query query;		    /* state of CLIENT_ASKING */
	struct pending_event pending_event; /* state of events.c */
	struct metrics_counts counts;
};

/* Reads a word that the client writes. */
static inline uint32_t shm_word(const uint32_t *at)
{
	return __atomic_load_n(at, __ATOMIC_ACQUIRE);
}

/* Returns the workload (CLIENT_SERVED) with the given pid in the daemon's PID namespace, or
 * NULL. */
struct client *client_of_pid(const struct worker *worker, pid_t pid);

/* Creates a client for an admitted connection and handles its hello. `owner` is the owner of its
 * uid, `trusted` the result of users_is_trusted() for that uid. Takes ownership of `socket`,
 * also if it fails. */
void client_accept(struct worker *worker, int socket, uid_t owner, bool trusted,
		   const struct admission_message *message, uint64_t now);

/*
 * Creates a client for a process that is not connected and does not know the daemon
 * (external.h), with shared memory that only the daemon has. Takes ownership of peer->pidfd in
 * any case, and of `external` on success.
 *
 * Returns NULL if there is no slot or no memory.
 */
struct client *client_adopt(struct worker *worker, const struct socket_peer *peer,
			    const struct proc_attrs *subject, int priority,
			    struct external *external, uint64_t now);

/* An answer of kfdschedd-read for `asker` has arrived (reader_replied()): runs the code again
 * that waits for it. */
void client_replied(struct worker *worker, uint64_t asker, uint64_t now);

/* The peer has closed the connection. A command ends; a workload may still live. */
void client_hung_up(struct worker *worker, struct client *client, uint64_t now);

/* Scans the shared memory and passes changes to the core. Returns true if something had changed.
 * (client_scan.c) */
bool client_scan(struct worker *worker, struct client *client, uint64_t now);

/* The same, but only for the announcements of calls that a suspension would block. */
bool client_scan_teardown(struct worker *worker, struct client *client);

/* Writes the reason why the client is not suspended, before anything was tried, to
 * client->reason. */
void client_explain(struct client *client);

/* Sets the effective priority. `by` is the command that requested it; NULL: the workload itself,
 * or its rule. */
void client_set_priority(struct worker *worker, struct client *client, int priority,
			 const struct client *by);

/* Evaluates again whether the client can be suspended. */
void client_reconsider(struct worker *worker, struct client *client);

/* Writes to `why` the reason why the driver never debugs the client's runtime: what the driver
 * lacks, or `what` and the errno in the shared memory. */
void client_why_never(const struct client *client, const char *what, char why[KFD_REASON]);

/* Starts to open a debug session of the daemon on the client. `patient` as in executor_start(). */
void client_attach(struct worker *worker, struct client *client, bool patient);

/* Handles the outcomes of the client's executor, if there are any. */
void client_outcome(struct worker *worker, struct client *client, uint64_t now);

/* Starts an action of the core. Returns false if it was cancelled, and the core must decide
 * again. */
bool client_act(struct worker *worker, struct client *client, const struct core_action *action,
		uint64_t now);

/* Sets client->cause_ns of an action that the activity of another client caused. Called after
 * all actions of a decision have been started. */
void client_find_cause(struct worker *worker, struct client *client);

/* An action has ended: reports it to the core, to metrics and to events. hold_command.c calls it,
 * too. */
void client_acted(struct worker *worker, struct client *client,
		  const struct executor_report *report, uint64_t now);

/* The client cannot be held at its level; logs the reason and sends an event. */
void client_cannot(struct worker *worker, struct client *client, const char *why);

/* The client has announced a call (DESTROY_QUEUE or runtime disable) or returned from one: adds it
 * to worker->releasing, unless it is there. */
void client_want_release(struct worker *worker, struct client *client);

/* Permits the announced calls of a client in worker->releasing if it is not suspended: publishes
 * shm->teardown_granted, wakes its waiters, and takes the client off the list. */
void client_release(struct worker *worker, struct client *client, uint64_t now);

/* Called in each sweep (every 20 ms), and when an answer has arrived: does all that is overdue. */
void client_overdue(struct worker *worker, struct client *client, uint64_t now);

/* The client has ended: removes it from the core and from all lists. `why` completes a log line;
 * NULL: nothing is logged. The struct stays valid until client_free(). */
void client_gone(struct worker *worker, struct client *client, const char *why);

/* Frees a client after client_gone(), when no event in the current loop iteration can refer to
 * it. */
void client_free(struct worker *worker, struct client *client);

#endif

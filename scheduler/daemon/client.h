/* SPDX-License-Identifier: MIT */
/*
 * One connection: first unknown, then a workload with a lane, or a command
 * that asks. All functions for the loop's thread.
 */
#ifndef KFDSHIM_SCHEDULER_DAEMON_CLIENT_H
#define KFDSHIM_SCHEDULER_DAEMON_CLIENT_H

#include <stdbool.h>
#include <stdint.h>

#include "channel/lane.h"
#include "channel/protocol.h"
#include "scheduler/core/core.h"
#include "scheduler/daemon/answer.h"
#include "scheduler/daemon/control.h"
#include "scheduler/daemon/events.h"
#include "scheduler/daemon/executor.h"
#include "scheduler/daemon/level_state.h"
#include "scheduler/daemon/log.h"
#include "scheduler/daemon/look.h"
#include "scheduler/daemon/metrics.h"
#include "scheduler/daemon/peer.h"
#include "scheduler/daemon/standing.h"

struct greeter_message;
struct worker;
struct outsider;

enum client_phase {
	CLIENT_GREETING, /* its hello is being served, perhaps in several runs (reader.h) */
	CLIENT_SERVED,	 /* a workload with a lane */
	CLIENT_HOLDING,	 /* a command that waits for a suspend, or has one held (control.h) */
	CLIENT_READING,	 /* a command that is told what happens (events.h) */
	CLIENT_ASKING,	 /* a command that waits for an answer (answer.h) */
	CLIENT_DEAD,	 /* freed when the loop has gone through its events */
};

struct client {
	enum client_phase phase;
	uint32_t slot, serial;
	bool by_door;	     /* it is counted there, for this user: */
	uid_t uid;	     /* the owner of its uid (owners.h) */
	bool trusted;	     /* root's, or of the daemon's own user */
	int socket, wake_fd; /* wake_fd: it wakes us; -1: it has none, as has an outsider */
	int told;	     /* negative errno of the last action, 0: none; it was logged */
	uint64_t since_ns;
	struct protocol_hello hello;
	uint32_t version; /* of the protocol, that is spoken with it */

	struct peer peer;
	struct standing standing;
	char name[16];
	uint32_t tenant, group_number; /* as the core has them */
	int priority;		       /* as it counts; the next two, too */
	uint32_t slo_us;
	char group[PROTOCOL_GROUP_MAX];
	core_id id;

	struct lane *lane;	   /* hostile; an outsider's is the daemon's own (outsider.h) */
	struct outsider *outsider; /* NULL: it has the shim */
	struct look look;
	struct log_share log;
	/* the lane's words as they were seen last */
	uint32_t runtime, generation, leaving, left;
	uint32_t gpu_id[LANE_NODES];
	uint64_t activity[LANE_NODES], active_ns[LANE_NODES], idle_ns[LANE_NODES];

	/* who holds itself back, by which level (order.h); NONE: by a session */
	enum lane_level by_order;
	struct level level; /* why, and what it may come to */
	bool preparing;	    /* the order is to prepare: no action of the core's */
	bool greeted;	    /* its lane was looked at once */
	bool ordered;	    /* an order is not acknowledged yet */
	bool obeys;	    /* the last one was to hold itself, and it said that it does */
	uint32_t own_session, order, order_number;
	uint64_t ordered_ns;

	struct executor *executor; /* NULL: none, or it was refused */
	bool attached;
	bool refused; /* once and for all */
	bool wants_release;
	uint64_t hung_up_ns;	  /* of the next look at its program; 0: it has not hung up */
	uint64_t hung_up_wait_ns; /* from that look to the one after it */
	uint64_t lost_ns;	  /* when another process ended its session; 0: no, or logged */
	char reason[KFD_REASON];  /* why it cannot be suspended; may be empty */

	bool acting_prompt; /* of the action in flight */
	enum core_verb acting;
	uint64_t cause_ns; /* when what caused it happened; 0: unknown */

	struct control control;
	struct answer answer; /* CLIENT_ASKING */
	struct news news;     /* events.h */
	struct metrics_tally tally;
};

/* A word that the client writes. */
static inline uint32_t lane_word(const uint32_t *at)
{
	return __atomic_load_n(at, __ATOMIC_ACQUIRE);
}

/* The served client that is process `pid` of the daemon's PID namespace; NULL: there is none. */
struct client *client_of_pid(const struct worker *worker, pid_t pid);
/* A connection was let in, for this owner of its uid; trusted: users_is_trusted() says so of the
 * uid. Serves its hello. The client owns `socket`, whatever happens. */
void client_accept(struct worker *worker, int socket, uid_t owner, bool trusted,
		   const struct greeter_message *message, uint64_t now);
/* A process that is not connected and does not know of us (outsider.h), with a lane
 * that only we have. Takes peer->pidfd, whatever happens. NULL: no room or memory. */
struct client *client_adopt(struct worker *worker, const struct peer *peer,
			    const struct subject *subject, int priority, struct outsider *outsider,
			    uint64_t now);
/* An answer has come (reader_answered()). */
void client_answered(struct worker *worker, uint64_t asker, uint64_t now);
/* Its peer has closed the connection. */
void client_hung_up(struct worker *worker, struct client *client, uint64_t now);
/* scan.c. Looks at the lane and tells the core what is new. Was there anything? */
bool client_scan(struct worker *worker, struct client *client, uint64_t now);
/* The same for the calls alone that a suspension would block. */
bool client_scan_leaving(struct worker *worker, struct client *client);
/* Why it is not suspended, before anything was tried: into its `reason`. */
void client_explain(struct client *client);
/* It has this priority from now on; by: whose order it was, NULL: its own word. And:
 * whether it can be suspended is to be looked at anew. */
void client_set_priority(struct worker *worker, struct client *client, int priority,
			 const struct client *by);
void client_reconsider(struct worker *worker, struct client *client);
/* Why the driver never debugs its runtime: the sentence of what the driver lacks, or `what` and the
 * lane's errno. */
void client_why_never(const struct client *client, const char *what, char why[KFD_REASON]);
/* Opens a session on it; `patient` as in executor_start(). */
void client_attach(struct worker *worker, struct client *client, bool patient);
/* act.c, up to client_acted. Its executor may have something to tell. */
void client_outcome(struct worker *worker, struct client *client, uint64_t now);
/* Carries out one action of the core; false: it was cancelled. */
bool client_act(struct worker *worker, struct client *client, const struct core_action *action,
		uint64_t now);
/* After the actions of a decision: since when was the cause of its one there? */
void client_find_cause(struct worker *worker, struct client *client);
/* An action ended (for order.c, too). */
void client_acted(struct worker *worker, struct client *client,
		  const struct executor_report *report, uint64_t now);
/* It cannot be held, once and for all. */
void client_cannot(struct worker *worker, struct client *client, const char *why);
/* Tells a client that wants to leave that it may, if it may. */
void client_release(struct worker *worker, struct client *client, uint64_t now);
/* At every turn of the loop: is something overdue? */
void client_overdue(struct worker *worker, struct client *client, uint64_t now);
/* It has ended; `why` completes a sentence, NULL says nothing. */
void client_gone(struct worker *worker, struct client *client, const char *why);
/* Frees what client_gone() has left, once no event can name it. */
void client_bury(struct worker *worker, struct client *client);

#endif

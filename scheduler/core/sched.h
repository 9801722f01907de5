/* SPDX-License-Identifier: MIT */
/*
 * The scheduler core: decides which clients are suspended and resumed. Events and a clock value
 * go in; actions and the next deadline come out. No I/O, no clock of its own, no allocation after
 * core_create().
 *
 * A *gang* is held and released as a whole: the clients of one group of one tenant, or one client
 * without a group. Its priority is that of its most urgent client. A group is active while any of
 * its clients is, on all nodes that any of them has named; a client without a group is active on
 * the nodes that it reports. A gang is *contended* while, on a node where it is active, a gang of
 * higher priority is active that is allowed to preempt it (a gang of the same tenant, or one with
 * a right to), and the node's policy agrees:
 *   strict    at once
 *   share     as strict, but the gang runs for a share of each share_window_ns
 *   deadline  when the more urgent gang would otherwise miss its objective
 *   observe   never
 * A contended gang is held: its clients that are active, or become active, are suspended. When
 * the gang is no longer contended they are resumed, perhaps after a hold-over.
 * - A suspended client is not on the GPU, so it preempts no other client.
 * - What a client reports about its own activity while it is suspended can only add a node,
 *   because a suspended queue appears idle once its last packet has been read.
 * - A victim-only client (core_set_victim_only()) preempts no other client.
 * - A client without a priority is neither preempted nor preempts, also in a group.
 * - A gang is not held if one of its clients cannot be suspended, because that client would run on
 *   and busy-wait for the others.
 * - At most one action is in flight for each client.
 * - After a suspend that failed the client is never suspended again, because the driver resets the
 *   GPU when its firmware cannot preempt. One resume undoes what the failed suspend left behind.
 * - After a suspend that took longer than slow_suspend_ns the client is not suspended for
 *   CORE_SLOW_PAUSE_NS, after a second one in a row for twice as long, and after CORE_SLOW_MAX in
 *   a row never again. The first ones are forgiven because a suspend is slow on a host that is
 *   busy for a moment, too.
 * - A failed resume is repeated until it succeeds.
 * - Starvation bound: a gang is held for at most max_suspended_ns until it has run for min_run_ns,
 *   all its spans of running added up. When the bound is reached the gang runs for min_run_ns
 *   without interruption. All gangs of all tenants that are held on a GPU where it has work are
 *   released with it, but those of one tenant at most once in max_suspended_ns.
 * - Clients of a gang that use one GPU are resumed one after the other, because the driver updates
 *   a runlist for one process at a time. Work that makes the gang contended meanwhile waits for the
 *   call in flight and not for all of them.
 * - The most urgent gang is resumed first. If this makes another gang contended, that gang is not
 *   resumed.
 * - Teardown: a client in a call that a suspension would block (core_set_teardown()) is resumed. It
 *   is suspended again no earlier than CORE_RETRY_NS after its last suspension began.
 * - Hold-over: resuming a gang costs time of its own, and suspending it again costs time of the
 *   more urgent work, which counts online_weight times. A gang that is no longer contended is
 *   resumed at the time that promises the highest gain. This time is calculated from the lengths of
 *   earlier gaps in the more urgent work (gaps.h).
 * - Turns: of the gangs of one priority that are held for the same work on a node, one is resumed
 *   in a gap: the one that ran longest ago. The others follow when that gang has no work there any
 *   more, or when resuming them promises a gain although a gang that runs beside another is assumed
 *   to get a quarter of the GPU (turns.c). The reason is that each gang that runs when a gap ends
 *   costs one more suspension.
 * - Budget: if max_online_overhead is set, the suspensions of a gang may take at most that
 *   percentage of the time with more urgent work. If they have taken more, the gang stays on hold
 *   until enough of such time has passed, or until there has been no such work for a second.
 * - A lease is an operator's request to hold a client, whichever clients are active. It ends at its
 *   own time; the starvation bound does not apply.
 *
 * Times are nanoseconds of one clock that never goes back. Threads: none; the caller serialises
 * all calls.
 */
#ifndef KFDSHIM_SCHEDULER_CORE_SCHED_H
#define KFDSHIM_SCHEDULER_CORE_SCHED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/nodes.h"
#include "common/policy.h"

#define CORE_NODES GPU_NODES_MAX    /* nodes one client can use */
#define CORE_POLICIES GPU_NODES_MAX /* nodes with a policy of their own */
#define CORE_PRIORITIES 16
#define CORE_PRIORITY_UNSET (-1)
#define CORE_NEVER UINT64_MAX /* a time that never comes */
/* Pause between two tries of a resume that fails or of a suspend that is cancelled. Also the
 * shortest time from one suspension to the next of a client that was resumed for a teardown. */
#define CORE_RETRY_NS 10000000u

/* Number of slow suspends in a row after which a client is exempt from suspension for good, and the
 * time for which it is not suspended after the first of them. */
#define CORE_SLOW_MAX 3u
#define CORE_SLOW_PAUSE_NS 1000000000u

/* Id of a client; 0: none. An id is reused only after 65535 further clients, and every function
 * accepts the id of a client that has been removed, and then does nothing. */
typedef uint32_t core_id;

/* Returns the array index of a client: below max_clients, and unique among the present clients. */
static inline uint32_t core_index(core_id client)
{
	return client & 0xffffu;
}

/* The rights of a client. Clients of one tenant are allowed to preempt each other. Beyond that,
 * client a is allowed to preempt client b if a bit is set both in a.can_preempt and in
 * b.preemptible_by; each bit is one grant of the configuration. */
struct core_rights {
	uint32_t tenant;
	uint64_t can_preempt, preemptible_by;
};

struct core;

struct core_policy {
	enum policy rule;
	uint32_t
		/* policy share: percentage of each window for which a contended gang runs, 1..99 */
		share_percent;
};

struct core_config {
	uint64_t slow_suspend_ns;     /* a suspend that takes longer is slow */
	uint64_t max_suspended_ns;    /* starvation bound: longest time on hold */
	uint64_t min_run_ns;	      /* minimum running time after the starvation bound */
	uint64_t share_window_ns;     /* windows of policy share; not 0 */
	uint32_t online_weight;	      /* weight of time lost by more urgent work; 0..1000 */
	uint32_t max_online_overhead; /* budget: percent, 0..100; 0: none */
	bool hold_over;		      /* false: release a gang as soon as it is uncontended */
	struct core_policy policy;    /* policy of nodes without an own one */
};
#define CORE_CONFIG_DEFAULT                                                                        \
	{                                                                                          \
		.slow_suspend_ns = 50000000u, .max_suspended_ns = 30000000000u,                    \
		.min_run_ns = 200000000u, .share_window_ns = 1000000000u, .online_weight = 2,      \
		.max_online_overhead = 0, .hold_over = true, .policy = {                           \
			.rule = POLICY_strict,                                                     \
			.share_percent = 10                                                        \
		}                                                                                  \
	}

/* Whether the client can be suspended. */
enum core_capability {
	CORE_PENDING, /* not known yet: no action */
	CORE_ABLE,    /* yes */
	CORE_REFUSED, /* no; a client that is suspended is resumed */
};

enum core_state { CORE_RUNNING, CORE_SUSPENDING, CORE_SUSPENDED, CORE_RESUMING };

/* Whether a CORE_ABLE client is exempt from suspension, and why: because a suspend failed (FAILED),
 * or because CORE_SLOW_MAX suspends in a row were slow (SLOW). */
enum core_exempt { CORE_EXEMPT_NOT, CORE_EXEMPT_FAILED, CORE_EXEMPT_SLOW };

/* Categories of a client's time: each nanosecond since core_add() belongs to exactly one. */
enum core_time {
	CORE_TIME_RUNNING,    /* not suspended, with work */
	CORE_TIME_IDLE,	      /* not suspended, without work */
	CORE_TIME_SUSPENDING, /* a suspend is in flight */
	CORE_TIME_HELD,	      /* suspended, and its gang is contended */
	CORE_TIME_HELD_OVER,  /* suspended, and its gang is no longer contended */
	CORE_TIME_REQUESTED,  /* suspended by a lease, contended or not */
	CORE_TIME_RESUMING,   /* a resume is in flight or to be repeated */
	CORE_TIMES
};

enum core_op { CORE_SUSPEND, CORE_RESUME };

struct core_action {
	core_id client;
	enum core_op op;
	/* True if only the activity of clients caused the action, so that it did not have to wait
	 * for anything else. The delay of such an action measures the speed of the scheduler. */
	bool prompt;
};

struct core_view {
	enum core_state state;
	enum core_capability capability;
	enum core_exempt exempt;
	bool active;		      /* on any node, as the client reports */
	bool contended;		      /* its gang is contended */
	bool held;		      /* its gang is on hold */
	bool observed;		      /* its gang works beside more urgent work on a node with
				       policy observe; under strict it would be held */
	bool blocked_by_member;	      /* its gang is not held, because a client of it cannot be
				       suspended, or is exempt (enum core_exempt) */
	uint64_t suspends, resumes;   /* succeeded */
	uint64_t failures;	      /* failed suspends and resumes */
	uint64_t suspended_ns;	      /* in total, the present suspension included */
	uint64_t time_ns[CORE_TIMES]; /* the sum is the time since core_add() */
	uint64_t request_ns;	      /* learned duration that nearly all of its requests stay
					 below; 0: not known yet */
};

/* ---- the core and its configuration ---- */

/* Creates a core with room for max_clients (1..65535) at a time. Returns NULL if memory is short
 * or max_clients is out of range. */
struct core *core_create(const struct core_config *config, uint32_t max_clients);
/* Frees the core; NULL is allowed. */
void core_destroy(struct core *core);

/* Replaces the configuration and drops the nodes' own policies. For each gang, the time off the GPU
 * in the present share window and the debt (suspension time beyond the budget) start again at 0;
 * all else stays. */
void core_configure(struct core *core, const struct core_config *config);
/* Sets the policy of a node, in place of the one that it had; gpu_id 0: the policy of all nodes
 * without one of their own. Returns false if CORE_POLICIES other nodes have a policy already. */
bool core_set_policy(struct core *core, uint32_t gpu_id, const struct core_policy *policy);
/* Returns the policy in force on a node, its own or the common one. */
struct core_policy core_policy_of(const struct core *core, uint32_t gpu_id);

/* ---- clients ---- */

/* Adds a client, which is CORE_PENDING, idle and running. tenant: until core_move() the client can
 * preempt, and be preempted by, clients of this tenant only. group: clients with the same rights
 * and group are one gang; 0: a gang of its own. priority: -1..15. Returns its id; 0: there is no
 * room, or the priority is out of range. */
core_id core_add(struct core *core, uint32_t tenant, uint32_t group, int priority, uint64_t now);
/*
 * Gives the client other rights or another group. All else of it stays, including an action that is
 * in flight. The history of the gang (starvation bound, share, debt, learned costs) follows the
 * client like this:
 *  - if it is the only client of its gang before and after, the gang keeps its history;
 *  - if it leaves a gang and is the only client of a new one, the new gang gets a copy of the
 *    history of the old one;
 *  - if it joins a gang, the history of the joined gang counts; but if both gangs were on hold, the
 *    joined gang then counts as held for at least as long as the client was.
 */
void core_move(struct core *core, core_id client, const struct core_rights *rights, uint32_t group,
	       uint64_t now);
/* Removes the client. The end of an action that is in flight for it need not be reported. */
void core_remove(struct core *core, core_id client);

void core_set_capability(struct core *core, core_id client, enum core_capability capability);
/* Ends an exemption from suspension (enum core_exempt), because the client will be held at another
 * level than the one that failed or was slow. */
void core_clear_exempt(struct core *core, core_id client);
/* Sets the priority, -1..15; another value is ignored. All else of the client stays. */
void core_set_priority(struct core *core, core_id client, int priority);
/* Makes the client victim-only from now on: others preempt it, and it preempts no other client.
 * For clients whose queues exist but whose activity cannot be observed. */
void core_set_victim_only(struct core *core, core_id client);
/* Sets the objective: the time that a request is allowed to take, in ns; 0: none. */
void core_set_slo(struct core *core, core_id client, uint64_t slo_ns);
/* Reports that the client has work on a node, or no more. Returns false if the client uses
 * CORE_NODES other nodes already; the report is ignored then. */
bool core_set_activity(struct core *core, core_id client, uint32_t gpu_id, bool active,
		       uint64_t now);
/* Sets whether the client is in a teardown call that a suspension would block. While it is, the
 * client is resumed and not suspended. */
void core_set_teardown(struct core *core, core_id client, bool teardown);
/* Holds the client's gang (clients held together) until `until_ns`, contended or not; 0: ends the
 * lease. */
void core_set_lease(struct core *core, core_id client, uint64_t until_ns);
/* Reports the end of the action that was in flight. error: 0 or a negative errno. duration_ns:
 * the time that the action took. -ECANCELED: the suspend was never tried, and counts neither as
 * failed nor as slow; the next one follows after CORE_RETRY_NS, or after the teardown. */
void core_finished(struct core *core, core_id client, int error, uint64_t duration_ns,
		   uint64_t now);

/* ---- decisions ---- */

/*
 * Decides which clients to suspend and resume. To be called after events and at every deadline.
 * Writes at most `max` actions, the suspends first, and returns their number; each is in flight
 * until core_finished(). *deadline: the time of the next call if no event comes first; CORE_NEVER:
 * none. Only gangs that an event or a deadline concerns are evaluated, so the cost does not depend
 * on the number of clients.
 */
size_t core_decide(struct core *core, uint64_t now, struct core_action *actions, size_t max,
		   uint64_t *deadline);

/* ---- queries ---- */

/* Returns the name of a category: one word, as in JSON. */
const char *core_time_name(enum core_time time);
/* Writes the state of a client to *out. Returns false if there is no such client. */
bool core_view_client(const struct core *core, core_id client, uint64_t now, struct core_view *out);
/* Writes the state of a node, over the clients of all tenants. *urgent: true if work runs there
 * beside more urgent work, whatever the policy is. *suspended: number of clients that had work
 * there and are suspended, being suspended or being resumed. */
void core_view_node(const struct core *core, uint32_t gpu_id, bool *urgent, uint32_t *suspended);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * What the scheduler decides: events and a clock value in, actions and the
 * next deadline out. No I/O, no clock of its own, no allocation after
 * core_create().
 *
 * A *unit* is what is held and let go as a whole: the clients of one group of one
 * tenant, or one client that has no group. Its priority is that of its most urgent
 * client. A group is active while any of its clients is, on all nodes that any of them has named;
 * a client without a group on those that it says. A unit is *pressed* while, on a node where it is
 * active, a unit of higher priority is active that may preempt it (the same tenant's, or with
 * a right to), and the node's policy says so:
 *   strict    at once
 *   share     the same, but of each share_window_ns the unit runs for a share
 *   deadline  when what is left of the other's objective is only what its request takes
 *   observe   never
 * A pressed unit is held: those of its clients that are active are suspended, and those
 * that become active, too. When it is not pressed any more they are resumed, perhaps a
 * little later (hold-over).
 * - A client that is suspended is not on the GPU: it preempts nobody.
 * - What a client says of its own activity while it is suspended can only add
 *   a node: a suspended queue looks idle when its last packet has been read.
 * - A passive client (core_set_passive) preempts nobody.
 * - Without a priority: neither preempted nor preempting, also in a group.
 * - A unit is not held if one of its clients cannot be suspended: it would go on, and
 *   spin for the others.
 * - One action in flight per client. After a suspend that failed the client is never suspended
 *   again (the driver resets the GPU when its firmware cannot preempt), and what it left behind is
 *   undone by a resume. After one that took longer than slow_suspend_ns it is left alone for
 *   CORE_SLOW_PAUSE_NS, after a second one in a row for twice as long, and after CORE_SLOW_MAX in a
 *   row for good: a host that is busy for a moment is slow, too.
 * - A failed resume is tried again, for as long as it takes.
 * - Starvation bound: a unit is held for at most max_suspended_ns until
 *   it has run for min_run_ns, all its spans of running counted together.
 *   When the bound is reached it gets min_run_ns in one piece, and with it all units that are
 *   held on a GPU where it has work, of all tenants, but once in max_suspended_ns at most.
 * - Of several units the most urgent is resumed first, and whom it presses is not.
 * - A client that was resumed because it was leaving is suspended again CORE_RETRY_NS after its
 *   last suspension began, at the earliest.
 * - Hold-over: resuming a unit costs time of its own, and suspending it again time of the more
 *   urgent work, which weighs online_weight times as much. A unit that is not pressed any more
 *   is resumed when that promises most, by the gaps in such work that were seen (gaps.h).
 * - Turns: of the units of one priority that are held for the same work on a node, one is resumed in a
 *   gap, the one that ran longest ago. The others follow when it has no work there any more, or when
 *   that promises most although each gains only a quarter beside another (turns.c). Each that runs
 *   when a gap ends is a suspension more.
 * - Budget: with max_online_overhead it also waits until that part of the time with more urgent
 *   work has paid for its suspensions, or there has been no such work for a second.
 * - A lease is a person's order to hold a client, whoever is active; no bound but its
 *   own end.
 *
 * Times are nanoseconds of one clock that never goes back. Threads: none; the
 * caller guards it.
 */
#ifndef KFDSHIM_SCHEDULER_CORE_H
#define KFDSHIM_SCHEDULER_CORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/nodes.h"

#define CORE_NODES GPU_NODES_MAX    /* nodes one client can use */
#define CORE_POLICIES GPU_NODES_MAX /* nodes with a policy of their own */
#define CORE_PRIORITIES 16
#define CORE_PRIORITY_UNSET (-1)
#define CORE_NEVER UINT64_MAX
/* Between two tries of a resume that fails, of a suspend that is cancelled; and from one
 * suspension to the next of a client that had to be resumed because it was leaving. */
#define CORE_RETRY_NS 10000000u

/* Slow suspends in a row. */
#define CORE_SLOW_MAX 3u
#define CORE_SLOW_PAUSE_NS 1000000000u

/* Names a client; 0 is nobody. A name is not given again for a long time, and
 * every function takes the name of a client that is gone: nothing happens. */
typedef uint32_t core_id;

/* Below max_clients, and no two of the living have the same. */
static inline uint32_t core_index(core_id client)
{
	return client & 0xffffu;
}

/* Whose a client is. Those of one tenant may preempt each other; beyond that `a` may
 * preempt `b` if a bit is in both a.may and b.lets. */
struct core_rights {
	uint32_t tenant;
	uint64_t may, lets;
};

struct core;

enum core_rule { CORE_STRICT, CORE_SHARE, CORE_DEADLINE, CORE_OBSERVE };

struct core_policy {
	enum core_rule rule;
	uint32_t share_percent; /* CORE_SHARE: 1..99 */
};

struct core_config {
	uint64_t slow_suspend_ns;
	uint64_t max_suspended_ns;
	uint64_t min_run_ns;
	uint64_t share_window_ns;
	uint32_t online_weight;	      /* of more urgent work's time; 0..1000 */
	uint32_t max_online_overhead; /* percent, 0..100; 0: no budget */
	bool hold_over;
	struct core_policy policy; /* of nodes without one of their own */
};
#define CORE_CONFIG_DEFAULT                                                                        \
	{                                                                                          \
		.slow_suspend_ns = 50000000u, .max_suspended_ns = 30000000000u,                    \
		.min_run_ns = 200000000u, .share_window_ns = 1000000000u, .online_weight = 2,      \
		.max_online_overhead = 0, .hold_over = true, .policy = {                           \
			.rule = CORE_STRICT,                                                       \
			.share_percent = 10                                                        \
		}                                                                                  \
	}

enum core_capability {
	CORE_PENDING, /* not known yet: leave it alone */
	CORE_ABLE,    /* can be suspended */
	CORE_REFUSED, /* cannot; if it is suspended it is resumed */
};

enum core_state { CORE_RUNNING, CORE_SUSPENDING, CORE_SUSPENDED, CORE_RESUMING };

/* Why an able client is not suspended any more. */
enum core_spared { CORE_SPARED_NOT, CORE_SPARED_FAILED, CORE_SPARED_SLOW };

/* What a client's time goes into: each nanosecond since core_add() into one. */
enum core_time {
	CORE_TIME_RUNNING,
	CORE_TIME_SUSPENDING, /* until its suspend has succeeded, or failed */
	CORE_TIME_HELD,	      /* suspended, and its unit is pressed */
	CORE_TIME_HELD_OVER,  /* suspended, and its unit is not pressed any more */
	CORE_TIME_ORDERED,    /* suspended, and its unit is leased, pressed or not */
	CORE_TIME_RESUMING,   /* until a resume has succeeded */
	CORE_TIMES
};

enum core_verb { CORE_SUSPEND, CORE_RESUME };

struct core_action {
	core_id client;
	enum core_verb verb;
	/* The activity of clients caused it, nothing had to be waited for: its
	 * delay says how fast the scheduler is. */
	bool prompt;
};

struct core_view {
	enum core_state state;
	enum core_capability capability;
	enum core_spared spared;
	bool active;		    /* on any node, as it says */
	bool pressed;		    /* its unit is */
	bool held;		    /* its unit is */
	bool observed;		    /* its unit works beside somebody more urgent on a node
	                               that is only observed: by strict it would be held */
	bool hindered;		    /* its unit is not held, because another client of it
	                               cannot be suspended */
	uint64_t suspends, resumes; /* succeeded */
	uint64_t failures;
	uint64_t suspended_ns;	      /* in total, the present suspension included */
	uint64_t time_ns[CORE_TIMES]; /* their sum is how long it has been there */
	uint64_t request_ns;	      /* learned: what a request of it takes at most, nearly always;
	                          0: not known yet */
};

/* Room for max_clients (at most 65535) at a time. NULL: no memory. */
struct core *core_create(const struct core_config *config, uint32_t max_clients);
void core_destroy(struct core *core);

/* Another configuration from now on; all else stays as it is. Nodes' own policies go. */
void core_configure(struct core *core, const struct core_config *config);
/* A node's own policy, instead of the one that it had; gpu_id 0: that of all nodes
 * without one of their own. false: no room for one more. */
bool core_set_policy(struct core *core, uint32_t gpu_id, const struct core_policy *policy);
/* What is in force on a node, by its own policy or not. */
struct core_policy core_policy_of(const struct core *core, uint32_t gpu_id);

/* tenant: its rights are those within that one alone. group: clients of the same rights
 * that have the same are one unit; 0: a unit of its own. priority: -1..15. A
 * new client is CORE_PENDING, idle and running. 0: no room, or no priority. */
core_id core_add(struct core *core, uint32_t tenant, uint32_t group, int priority, uint64_t now);
/*
 * It has other rights from now on, or is of another group; all else of it stays as it is,
 * what is in flight, too. Alone it keeps what it has been held for, with bound and
 * share; from others it takes that along; and among others it finds what they have been
 * held for, but counts as starved no less than it was.
 */
void core_move(struct core *core, core_id client, const struct core_rights *rights, uint32_t group,
	       uint64_t now);
/* The client is gone, with whatever was in flight for it. */
void core_remove(struct core *core, core_id client);

void core_set_capability(struct core *core, core_id client, enum core_capability capability);
/* It will be held by other means than those that failed or were slow: it is not spared
 * any more. */
void core_forgive(struct core *core, core_id client);
/* Another priority, -1..15, from now on; all else of the client stays as it is. */
void core_set_priority(struct core *core, core_id client, int priority);
/* From now on it is held by others and never holds any itself: nobody knows when it
 * has work, only that it may. */
void core_set_passive(struct core *core, core_id client);
/* What its requests may take; 0: it does not say. */
void core_set_slo(struct core *core, core_id client, uint64_t slo_ns);
/* false: no room for another node of this client. */
bool core_set_activity(struct core *core, core_id client, uint32_t gpu_id, bool active,
		       uint64_t now);
/* true: the client is in a call that a suspension would block: it is resumed
 * and left alone until told false. */
void core_set_leaving(struct core *core, core_id client, bool leaving);
/* Its unit is held until then; 0: not any more. */
void core_set_lease(struct core *core, core_id client, uint64_t until_ns);
/* The action in flight ended: 0 or a negative errno. -ECANCELED: a suspend
 * that was never tried, which counts as nothing; the next is after CORE_RETRY_NS, or
 * when the client is not leaving any more. */
void core_finished(struct core *core, core_id client, int error, uint64_t duration_ns,
		   uint64_t now);

/*
 * Decides; call it after events and at every deadline. Writes at most
 * `max` actions, all of which are in flight from now on, suspends first, and
 * returns their number. *deadline: when to call again without an event. Time is spent
 * on the units that an event or a deadline concerns, not on all.
 */
size_t core_decide(struct core *core, uint64_t now, struct core_action *actions, size_t max,
		   uint64_t *deadline);

/* One word. */
const char *core_time_name(enum core_time time);
/* false: no such client. */
bool core_look(const struct core *core, core_id client, uint64_t now, struct core_view *out);
/* Of a node, all tenants together: does anybody work beside somebody more urgent
 * (whatever the policy says of that), and how many are
 * suspended (or on the way there or back) that had work on it? */
void core_look_node(const struct core *core, uint32_t gpu_id, bool *urgent, uint32_t *suspended);

#endif

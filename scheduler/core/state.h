/* SPDX-License-Identifier: MIT */
/* What the core's files share: its state, and the steps by which it changes. */
#ifndef KFDSHIM_SCHEDULER_CORE_STATE_H
#define KFDSHIM_SCHEDULER_CORE_STATE_H

#include "common/gaps.h"
#include "scheduler/core/core.h"

#define NOBODY UINT32_MAX

/* One node as clients of the same rights see it. */
struct node {
	uint32_t users; /* clients that know it; 0: free */
	struct core_rights rights;
	uint32_t gpu_id;
	uint32_t next;	     /* of this GPU, or of the free ones; NOBODY: none */
	uint32_t first;	     /* of the places here; NOBODY: none */
	uint32_t suspended;  /* clients that are not running and had work here */
	uint64_t starved_ns; /* when units here were last released by the starvation bound */
	/* Bit p: a unit of priority p is counted. Of those that are on the GPU with work;
	 * and of all that have work, suspended or not. */
	uint32_t urgent, working;
	uint16_t urgent_count[CORE_PRIORITIES], working_count[CORE_PRIORITIES];
	/* The same as `urgent` of clients of other rights, which may preempt these; counts of
	 * such nodes. */
	uint32_t foreign;
	uint16_t foreign_count[CORE_PRIORITIES];
	struct {		/* the unit that is first in turn here, of one priority; turns.c */
		uint64_t as_of; /* core->turns; if that has changed: not known */
		int priority;
		struct unit *unit; /* NULL: none */
	} turn;
	uint32_t gpu; /* of core->gpus, in which sums it is as: */
	uint32_t summed_suspended;
	bool summed_urgent;
	/* By priority: when the first of those of `urgent` must be alone, but for what the other's
	 * suspension takes (node_dues()). Of a node by deadline only. */
	uint64_t due_ns[CORE_PRIORITIES];
};

/* A GPU that clients know: its nodes, one for each rights, and what is asked of it
 * (core_look_node()): sums over them. */
struct gpu {
	uint32_t gpu_id;
	uint32_t first; /* of its nodes */
	uint32_t next;	/* of the same chain, or of the free ones; NOBODY: none */
	uint32_t suspended, urgent;
};

/* GPUs are found in chains, by a hash of gpu_id. */
#define GPU_CHAIN_BITS 8
#define GPU_CHAINS (1u << GPU_CHAIN_BITS)

/* A node of a client. A place is named by the client's slot and its own number. */
struct place {
	uint32_t node;
	uint32_t previous, next; /* of the same node */
};
#define PLACE(slot, number) ((slot)*CORE_NODES + (number))

/* Where a client is counted, and as what. */
struct tally {
	struct node_set urgent, working, absent;
};

struct client {
	core_id id; /* 0: free */
	uint32_t unit;
	uint32_t next; /* of the same unit */
	int priority;
	enum core_capability capability;
	enum core_state state;
	enum core_spared spared;
	bool leaving;
	bool passive;
	bool undo;   /* a suspend failed: one resume cleans up */
	bool early;  /* its last resume was because it was leaving */
	bool prompt; /* nothing but activity stands between it and its next action */

	uint32_t place_count;
	bool presses;		/* as of the last recount: client_presses() */
	struct node_set active; /* where it says that it has work */
	struct node_set held;	/* the same since its last suspension began: only grows */
	struct tally counted;

	uint32_t slow; /* its last suspends, so many in a row */
	uint64_t slow_until;
	uint64_t suspended_since, not_before, lease_until;

	uint64_t slo_ns, busy_since;
	bool interrupted;		/* its request: how long it takes alone does not show */
	uint64_t mean_ns, deviation_ns; /* of its requests */
	uint32_t requests;

	uint64_t suspends, resumes, failures, suspended_ns;

	enum core_time time; /* since time_since */
	uint64_t time_since, time_ns[CORE_TIMES];

	struct place places[CORE_NODES];
};

struct unit {
	uint32_t first; /* client; NOBODY: free */
	struct core_rights rights;
	uint32_t group;
	int priority;
	bool held, pressed, observed;
	bool starved; /* released by the starvation bound, its own or a neighbour's; or about to be */
	bool waits;   /* for its turn, because another unit was before it when it asked */

	uint64_t held_since, unpressed_since;
	uint64_t over_ns[2]; /* the time until which this gap is held over, alone and [1] beside
				another unit; 0: not known yet */
	uint64_t running_since;
	uint64_t ran_ns;     /* since its last rest from being held was full */
	uint64_t stretch_ns; /* held meanwhile, the present time excluded */
	uint64_t run_until;  /* not held before */

	uint64_t window, window_off_ns; /* number of the window of a share */

	uint64_t suspend_ns, resume_ns; /* what they cost, learned; 0: not known */
	bool urgent;			/* as of struct press, */
	uint64_t urgent_since;		/* since then, or not since then; 0: there was none */
	struct gaps gaps;
	bool unpaid;	  /* its hold is for more urgent work, and not in the debt yet */
	uint64_t debt_ns; /* suspensions that max_online_overhead of such work has not paid */

	uint64_t deadline;
	uint32_t heap_at; /* NOBODY: it has no deadline */
	bool queued;
};

struct core {
	struct core_config config;
	struct {
		uint32_t gpu_id;
		struct core_policy policy;
	} policies[CORE_POLICIES];
	uint32_t policy_count;

	uint32_t max_clients;
	uint32_t top, unit_top, node_top, gpu_top; /* from here on they were never used */
	uint32_t free_node, free_gpu;		   /* the first of those that are free again */
	uint32_t chains[GPU_CHAINS];		   /* the first GPU of each */
	uint32_t granted;			   /* nodes of more rights than a tenant's */
	uint16_t generation;
	struct client *clients;
	struct unit *units;
	struct node *nodes;
	struct gpu *gpus;
	uint64_t turns; /* counts what may change which unit is first in turn */

	/* Units to look at, a list for each priority; list p + 1 is of priority p. */
	uint32_t *queue_next;
	uint32_t queue_first[CORE_PRIORITIES + 1], queue_last[CORE_PRIORITIES + 1];
	uint32_t queued; /* bit: that list has some */
	uint32_t *heap;	 /* of units, by deadline */
	uint32_t heap_count;
};

struct client *client_find(const struct core *core, core_id id);
/* NULL: the end. */
static inline struct client *client_at(const struct core *core, uint32_t slot)
{
	return slot == NOBODY ? NULL : &core->clients[slot];
}
#define FOR_CLIENTS(core, unit, c)                                                                 \
	for (struct client * (c) = client_at(core, (unit)->first); (c);                            \
	     (c) = client_at(core, (c)->next))

static inline void not_after(uint64_t *deadline, uint64_t t)
{
	if (t < *deadline)
		*deadline = t;
}

/* A client has an order to be suspended until then, or had one. */
uint64_t unit_leased_until(const struct core *core, const struct unit *unit);
/* A client of it cannot be suspended (any more), so the unit is not held. */
bool unit_hindered(const struct core *core, const struct unit *unit, bool leased);

/* Brings the nodes' counts in line with the client, and with the others of its group, and asks for
 * a look at whom that concerns. */
void client_recount(struct core *core, struct client *client);
/* It is in no count any more; the others of its group are to be recounted. */
void client_uncount(struct core *core, struct client *client);
void unit_recount(struct core *core, struct unit *unit);
/* A client has gone out of it, and others are in it. */
void unit_left(struct core *core, struct unit *unit);
/* Where it has work itself, suspended or not. Where it counts as having some, with its group:
 * client->counted.working. */
static inline const struct node_set *client_working(const struct client *client)
{
	return client->state == CORE_RUNNING ? &client->active : &client->held;
}
/* Is its activity that of somebody who preempts, and is on the GPU? */
bool client_presses(const struct client *client);
/* So many words of a set of its places can have any in them. */
static inline uint32_t client_words(const struct client *client)
{
	return (client->place_count + NODE_SET_WORD - 1) / NODE_SET_WORD;
}
/* Each place of `client` in the set; `number` is declared. Leave it by return alone. */
#define FOR_PLACES(client, set, number)                                                            \
	for (uint32_t word_ = 0; word_ < client_words(client); word_++)                            \
		for (uint64_t bits_ = (set)->words[word_], number;                                 \
		     bits_ &&                                                                      \
		     (number = word_ * NODE_SET_WORD + (uint32_t)__builtin_ctzll(bits_), true);    \
		     bits_ &= bits_ - 1)
const struct core_policy *node_policy(const struct core *core, const struct node *node);
static inline bool same_rights(const struct core_rights *a, const struct core_rights *b)
{
	return a->tenant == b->tenant && a->may == b->may && a->lets == b->lets;
}
/* Priorities that press there: bit p. */
static inline uint32_t node_pressing(const struct node *node)
{
	return node->urgent | node->foreign;
}
/* NULL: the end. */
static inline struct node *node_at(const struct core *core, uint32_t at)
{
	return at == NOBODY ? NULL : &core->nodes[at];
}
/* The nodes of a GPU. */
#define FOR_NODES(core, gpu, n)                                                                    \
	for (struct node * (n) = node_at(core, (gpu)->first); (n); (n) = node_at(core, (n)->next))
static inline struct gpu *node_gpu(const struct core *core, const struct node *node)
{
	return &core->gpus[node->gpu];
}
/* May its clients preempt those of another node of the same GPU? */
bool node_presses(const struct node *node, const struct node *other);
/* The client's place for a node, new if need be; -1: no room. */
int client_place(struct core *core, struct client *client, uint32_t gpu_id);
/* It knows no node any more. */
void client_leave_places(struct core *core, struct client *client);
/* Out of its unit, which may then be free; into another. */
void client_unlink(struct core *core, struct client *client);
void client_link(struct core *core, struct client *client, struct unit *unit);
/* NULL: there is none. group: not 0. */
struct unit *unit_find(const struct core *core, const struct core_rights *rights, uint32_t group);
/* A free one, with nothing in it but what says that it is in no list. */
struct unit *unit_new(struct core *core);
/* Its priority is that of its most urgent client. */
void unit_prioritise(struct core *core, struct unit *unit);
/* It is held no longer. */
void unit_release(const struct core *core, struct unit *unit, uint64_t now);

/* The unit is looked at by the next core_decide. */
void unit_queue(struct core *core, struct unit *unit);
/* The most urgent of them: whom it presses when it runs need not be resumed. NULL: none. */
struct unit *unit_dequeue(struct core *core);
/* The same at that time; CORE_NEVER: not. */
void timer_set(struct core *core, struct unit *unit, uint64_t at);
/* The earliest; CORE_NEVER. */
uint64_t timer_next(const struct core *core);
/* Asks for a look at all that are due. */
void timers_due(struct core *core, uint64_t now);

/* ---- account.c ---- */

/* After what changes a client's state or why it is held: charges the time until now. */
void unit_account(const struct core *core, const struct unit *unit, uint64_t now);
void client_times(const struct client *client, uint64_t now, uint64_t out[CORE_TIMES]);

/* ---- turns.c ---- */

/* Returns whether another unit of its priority is before `unit` in turn on a node where it works. For
 * a unit that is held, contended no longer, and has been held over for long enough. */
bool others_turn(struct core *core, const struct unit *unit, uint64_t now);
/* A client of a unit of that priority works on the node no longer: asks for a look at the first of the
 * units that wait for their turn there. */
void turn_ends(struct core *core, const struct node *node, int priority);

/* ---- policy.c ---- */

struct press {
	bool pressed;
	bool urgent;		/* it is, or would be if it worked wherever it did last */
	bool observed;		/* it would be, by another policy than CORE_OBSERVE */
	uint64_t later;		/* if not: when it will be, as it is now */
	uint32_t share_percent; /* it runs for that much; 0: not a bit */
};
void press_look(const struct core *core, const struct unit *unit, uint64_t now, struct press *out);

/* Brings due_ns up to date. true: it has changed. */
bool node_dues(const struct core *core, struct node *node);

/* What of this window it may still be held: the rest and its way back are its own. */
uint64_t share_left(const struct core *core, const struct unit *unit, uint32_t percent,
		    uint64_t now);
uint64_t share_window_end(const struct core *core, uint64_t now);
/* Keeps account of a time off the GPU that ends now. */
void share_count(const struct core *core, struct unit *unit, uint64_t since, uint64_t now);

/* More urgent work comes, or goes. */
void urgent_learn(const struct core *core, struct unit *unit, bool urgent, uint64_t now);
/* A suspension for more urgent work is owed to max_online_overhead. */
void debt_add(const struct core *core, struct unit *unit, uint64_t duration_ns);
/* For how long it is held on when nothing presses it any more; `beside`: where another unit has its
 * turn. */
uint64_t hold_over_ns(const struct core *core, const struct unit *unit, bool beside);
/* Returns the time until which it is held over in this gap, found once in a gap. For a unit that is
 * contended no longer. */
uint64_t hold_over_end(const struct core *core, struct unit *unit, bool beside);

void request_learn(struct client *client, uint64_t duration_ns);
/* 0: not known yet. */
uint64_t request_ns(const struct client *client);

#endif

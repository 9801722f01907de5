/* SPDX-License-Identifier: MIT */
/*
 * Internal state of the scheduler core, and the functions that its files call in each other.
 * Only files of scheduler/core include this header; users of the core include sched.h.
 *
 * Terms:
 *  - gang: the clients that are held and released together;
 *  - node entry (struct core_node): the counts of one GPU for the clients that have the same rights
 *    (struct core_rights). A GPU has one node entry for each different set of rights among the
 *    clients that use it;
 *  - place (struct client_node): a client's entry in the list of a node entry;
 *  - contended: more urgent work is active on a node that the gang uses, and the
 *    node's policy does not let the gang run beside that work.
 *
 * Lists are made of indices into the arrays of struct core. No function allocates, reads a clock
 * or does I/O. Times are nanoseconds of the clock that the caller passes in. Threads: none; the
 * caller serialises all calls.
 */
#ifndef KFDSHIM_SCHEDULER_CORE_SCHED_PRIV_H
#define KFDSHIM_SCHEDULER_CORE_SCHED_PRIV_H

#include "common/gaps.h"
#include "scheduler/core/sched.h"

#define NO_INDEX UINT32_MAX /* an index that means none: the end of a list, or in no list */

/* A node entry: the counts of one GPU for the clients that have the same rights. */
struct core_node {
	uint32_t users; /* number of clients in the list of `first`; 0: the entry is free */
	struct core_rights rights;
	uint32_t gpu_id;
	uint32_t next;	     /* next node entry of this GPU, or next free entry */
	uint32_t first;	     /* first client of the list, as CLIENT_NODE() */
	uint32_t suspended;  /* number of clients that are not running and had work here */
	uint64_t resumed;    /* last core->passes at which a client here was being resumed */
	uint64_t starved_ns; /* last time when gangs here were released by the starvation bound;
				0: never */
	/* Bit p of `urgent`: a client that can preempt is on the GPU with work, in a gang of
	 * priority p. Bit p of `working`: a client in a gang of priority p has work here, suspended
	 * or not. A client of a group counts here if any client of the group is active or has
	 * work. */
	uint32_t urgent, working;
	/* Number of clients for which each bit of `urgent` and of `working` is set. */
	uint16_t urgent_count[CORE_PRIORITIES], working_count[CORE_PRIORITIES];
	/* Bit p: a client of another node entry of this GPU that can preempt the clients of this
	 * one is active with priority p. other_rights_count[p]: number of node entries with such a
	 * client. */
	uint32_t other_rights_prio;
	uint16_t other_rights_count[CORE_PRIORITIES];
	/* Cached result of first_in_turn() (turns.c): the gang of `priority` whose turn is first on
	 * this node entry; NULL: none. Valid while as_of equals core->turns. */
	struct {
		uint64_t as_of;
		int priority;
		struct gang *gang;
	} turn;
	uint32_t gpu; /* index in core->gpus */
	/* What this entry contributes at present to the sums in its struct core_gpu. */
	uint32_t summed_suspended;
	bool summed_urgent;
	/* Kept up to date by policy deadline only (policy_deadline.c). due_ns[p]: from when on, at
	 * the latest, a client of priority p needs the GPU for itself to meet its objective
	 * (slo_ns); the time to suspend the others is not subtracted. 0: at once; CORE_NEVER: no
	 * such client. */
	uint64_t due_ns[CORE_PRIORITIES];
};

/* A GPU that at least one client uses, with the sums over its node entries that
 * core_view_node() returns. */
struct core_gpu {
	uint32_t gpu_id;
	uint32_t first; /* its first node entry */
	uint32_t next;	/* next GPU of the hash chain, or next free entry */
	/* Over all node entries of the GPU: the sum of core_node.suspended, and the number of
	 * entries where work runs beside more urgent work. */
	uint32_t suspended, urgent;
};

/* Size of the hash table of GPUs by gpu_id. GPUs with the same hash are in one chain. */
#define GPU_CHAIN_BITS 8
#define GPU_CHAINS (1u << GPU_CHAIN_BITS)

/* A place: a client's entry in the list of a node entry. */
struct client_node {
	uint32_t node;		 /* index in core->nodes */
	uint32_t previous, next; /* neighbours in the list of the node entry; or NO_INDEX */
};
/* The index by which lists refer to the place core->clients[slot].client_nodes[number]. */
#define CLIENT_NODE(slot, number) ((slot)*CORE_NODES + (number))

/* For which of its places a client is counted at present; bit n of a set is the place
 * client_nodes[n]. */
struct node_counts {
	/* Places where the client is counted in core_node.urgent, .working and .suspended. */
	struct node_set urgent, working, absent;
};

struct core_client {
	core_id id;    /* 0: the slot is free */
	uint32_t gang; /* index of its gang in core->gangs */
	/* At the front of the struct, beside `gang`, because a walk through the clients of a node
	 * entry reads these two members only. */
	struct client_node client_nodes[CORE_NODES];
	uint32_t next; /* next client of the same gang; or none */
	int priority;  /* 0..15 or CORE_PRIORITY_UNSET */
	enum core_capability capability;
	enum core_state state;
	enum core_exempt exempt;
	bool teardown; /* in a teardown call that a suspension would block; core_set_teardown() */
	bool victim_only; /* can be preempted, never preempts; core_set_victim_only() */
	bool undo;	  /* a suspend failed; one resume must undo its effect */
	bool early;	  /* the last resume was because of `teardown` */
	bool prompt;	  /* only activity causes the next action; core_action.prompt */

	uint32_t client_node_count;
	bool presses;		/* result of client_presses() at the last recount of its group */
	struct node_set active; /* places where the client reports work */
	struct node_set held;	/* places with work at any time since the last suspension began */
	struct node_counts counted;

	enum core_time time;			  /* category of the time since time_since */
	uint64_t time_since, time_ns[CORE_TIMES]; /* ns; time_ns: totals until time_since */

	uint32_t slow; /* number of slow suspends in a row */
	/* ns; no suspend before this time, because the last one was slow; 0: no limit */
	uint64_t slow_until;
	/* ns. suspended_since: when the last suspension began. not_before: no action before this
	 * time; 0: no limit. lease_until: end of the lease; 0: none. */
	uint64_t suspended_since, not_before, lease_until;

	/* ns. slo_ns: the objective, which is the time that a request is allowed to take; 0: none.
	 * busy_since: when the client last became active, which is when its request began. */
	uint64_t slo_ns, busy_since;
	bool interrupted; /* suspended during this request, so its duration is not learned */
	uint64_t mean_ns, deviation_ns; /* mean and deviation of the durations of its requests */
	uint32_t requests; /* number of requests learned, counted up to KNOWN (policy.c) */

	/* Totals; suspended_ns without the present suspension. */
	uint64_t suspends, resumes, failures, suspended_ns;
};

/* A gang. */
struct gang {
	uint32_t first; /* its first client; NO_INDEX: the entry is free */
	struct core_rights rights;
	uint32_t group;	  /* 0: one client without a group */
	int priority;	  /* the highest of its clients */
	bool queued;	  /* in one of the lists of core->queue_* */
	uint32_t heap_at; /* index in core->heap; NO_INDEX: it has no deadline */
	/* As of the last decision. held: the gang is on hold. contended: it is contended. observed:
	 * it would be contended under policy strict, but policy observe lets it run. */
	bool held, contended, observed;
	bool starved; /* released, or to be released at the next decision, because the starvation
			  bound of this gang or of another one on the same GPU is reached */
	bool waits;   /* uncontended, but held until its turn (turns.c); set by gang_set_waits() */

	/* ns. held_since: when the last hold began. uncontended_since: when contention last
	 * ended. */
	uint64_t held_since, uncontended_since;
	/* ns; time until which the gang stays on hold after contention has ended (hold_over_ns());
	 * 0: not calculated yet. [0]: applies if no other gang of the same priority has its turn on
	 * the gang's nodes; [1]: applies if one has. */
	uint64_t over_ns[2];
	uint64_t running_since; /* ns; begin of the present span of running */
	/* The starvation bound adds up these times of several holds, and starts them again at 0
	 * when the gang has run for min_run_ns in all. */
	uint64_t ran_ns;       /* running time, the present span excluded */
	uint64_t hold_span_ns; /* time on hold, the present hold excluded */
	uint64_t run_until;    /* ns; the gang is not held before this time */

	/* window: number of a share window (policy share). window_off_ns: the gang's time off the
	 * GPU in that window, in ns. */
	uint64_t window, window_off_ns;

	/* ns; learned costs of a suspend and a resume of the whole gang; 0: not known. */
	uint64_t suspend_ns, resume_ns;
	uint64_t cost_ns;   /* ns; time that the calls of the present hold or release took so far */
	bool measured;	    /* cost_ns is to be learned */
	uint64_t called_ns; /* ns; end of the last call that cost_ns includes */
	bool urgent;	    /* contention_state.urgent at the last decision */
	uint64_t urgent_since; /* ns; when `urgent` last changed; 0: never */
	struct gaps gaps;      /* lengths of the gaps in more urgent work */
	bool unpaid;	       /* the present hold is for more urgent work, and its cost is not in
			     debt_ns yet */
	/* ns; time that suspensions cost more urgent work, less max_online_overhead percent of
	 * the time that such work has run */
	uint64_t debt_ns;

	uint64_t deadline; /* ns; next decision if no event comes before */
};

struct core {
	struct core_config config;
	struct {
		uint32_t gpu_id;
		struct core_policy policy;
	} policies[CORE_POLICIES]; /* the nodes that have an own policy */
	uint32_t policy_count;

	uint32_t max_clients;
	/* Entries of the arrays from these indices on have never been used. */
	uint32_t top, gang_top, node_top, gpu_top;
	uint32_t free_node, free_gpu; /* heads of the lists of entries that are free again */
	uint32_t chains[GPU_CHAINS];  /* first GPU of each hash chain; or none */
	uint32_t granted;	      /* number of node entries whose rights contain grants */
	uint16_t generation;	      /* upper half of the last core_id */
	struct core_client *clients;  /* [max_clients] */
	struct gang *gangs;	      /* [max_clients] */
	struct core_node *nodes;      /* [max_clients * CORE_NODES] */
	struct core_gpu *gpus;	      /* [max_clients * CORE_NODES] */
	uint64_t passes;	      /* number of times that act_on() (decide.c) was called */
	uint64_t turns;	  /* counts the events that can change which gang is first in turn */
	uint32_t waiting; /* number of gangs with `waits` */

	/* Gangs that the next core_decide() evaluates, in one list for each priority; list
	 * p + 1 is that of priority p. */
	uint32_t *queue_next;
	uint32_t queue_first[CORE_PRIORITIES + 1], queue_last[CORE_PRIORITIES + 1];
	uint32_t queued; /* bit n: list n is not empty */
	uint32_t *heap;	 /* binary heap of gangs by deadline, the earliest first */
	uint32_t heap_count;
};

/* ---- clients.c, counts.c, nodes.c ---- */

/* Returns the client with this id; NULL if there is none any more. */
struct core_client *client_find(const struct core *core, core_id id);
/* Returns the client of a slot; NULL at the end of a list. */
static inline struct core_client *client_at(const struct core *core, uint32_t slot)
{
	return slot == NO_INDEX ? NULL : &core->clients[slot];
}
static inline struct gang *gang_of(const struct core *core, const struct core_client *client)
{
	return &core->gangs[client->gang];
}
/* Loops over the clients of a gang; declares `c`. */
#define FOR_CLIENTS(core, gang, c)                                                                 \
	for (struct core_client * (c) = client_at(core, (gang)->first); (c);                       \
	     (c) = client_at(core, (c)->next))

/* Lowers *deadline to `t` if `t` is earlier. */
static inline void not_after(uint64_t *deadline, uint64_t t)
{
	if (t < *deadline)
		*deadline = t;
}

/* Returns when the last lease of the gang's clients ends, in ns, which may be in the past; 0: no
 * client has a lease. It is in decide.c. */
uint64_t gang_leased_until(const struct core *core, const struct gang *gang);
/* Returns true if a client that takes part in the gang cannot be suspended, or is exempt from
 * suspension, so that the gang must not be held. leased: the gang is leased (suspended by request),
 * so clients without a priority take part, too. It is in decide.c. */
bool gang_is_blocked(const struct core *core, const struct gang *gang, bool leased);

/* Updates the counts of the node entries (struct core_node) after a change of this client or of
 * another one of its gang, and queues the gangs that the change concerns for the next decision. */
void client_recount(struct core *core, struct core_client *client);
/* Removes the client from all counts of the node entries (struct core_node) and clears its
 * activity. The caller has to recount the other clients of its gang. */
void client_uncount(struct core *core, struct core_client *client);
/* Removes the client from the counts that exist for each priority, before the priority of its gang
 * changes. */
void client_discount(struct core *core, struct core_client *client);
/* Updates the counts of the node entries for all clients of a gang, as client_recount() does. */
void gang_recount(struct core *core, struct gang *gang);
/* Updates the data that policies store in the node entries (struct core_node) where the gang is
 * active, and queues the gangs whose contention this may change. To be called when the gang's
 * active clients or their objectives have changed. */
void gang_objective_changed(struct core *core, const struct gang *gang);
/* Returns the places (client_nodes) where the client itself has work, suspended or not. Those where
 * it counts as having work, because its group has, are in client->counted.working. */
static inline const struct node_set *client_working(const struct core_client *client)
{
	return client->state == CORE_RUNNING ? &client->active : &client->held;
}
/* Returns true if the client preempts less urgent work at present: it has a priority, is active, is
 * on the GPU or being resumed, and is not victim-only (core_set_victim_only()). */
bool client_presses(const struct core_client *client);
/* Returns how many words of a node set the client's places (client_nodes) occupy. */
static inline uint32_t client_words(const struct core_client *client)
{
	return (client->client_node_count + NODE_SET_WORD - 1) / NODE_SET_WORD;
}
/* Loops over the places (client_nodes) of `client` that are in the set; declares `number`. The body
 * must not contain `break`, because the macro is two nested loops; `return` is fine. */
#define FOR_CLIENT_NODES(client, set, number)                                                      \
	for (uint32_t word_ = 0; word_ < client_words(client); word_++)                            \
		for (uint64_t bits_ = (set)->words[word_], number;                                 \
		     bits_ &&                                                                      \
		     (number = word_ * NODE_SET_WORD + (uint32_t)__builtin_ctzll(bits_), true);    \
		     bits_ &= bits_ - 1)
/* Returns the policy in force on a node entry (struct core_node): that of its GPU, else the common
 * one. Valid until the next change of policies. */
const struct core_policy *node_policy(const struct core *core, const struct core_node *node);
/* Updates the data that the policy stores (policy_ops.update) in the node entry (struct core_node).
 * Returns true if all gangs on this entry have to be evaluated again. */
bool node_policy_update(const struct core *core, struct core_node *node);
static inline bool same_rights(const struct core_rights *a, const struct core_rights *b)
{
	return a->tenant == b->tenant && a->can_preempt == b->can_preempt &&
	       a->preemptible_by == b->preemptible_by;
}
/* Returns the priorities of active work that can preempt the clients of this node entry;
 * bit p: priority p. */
static inline uint32_t node_contending(const struct core_node *node)
{
	return node->urgent | node->other_rights_prio;
}
/* Returns the node entry with this index; NULL at the end of a list. */
static inline struct core_node *node_at(const struct core *core, uint32_t at)
{
	return at == NO_INDEX ? NULL : &core->nodes[at];
}
/* Loops over the node entries of a GPU; declares `n`. */
#define FOR_NODES(core, gpu, n)                                                                    \
	for (struct core_node * (n) = node_at(core, (gpu)->first); (n);                            \
	     (n) = node_at(core, (n)->next))
static inline struct core_gpu *node_gpu(const struct core *core, const struct core_node *node)
{
	return &core->gpus[node->gpu];
}
/* Returns true if clients of `node` have the right to preempt clients of `other`, another node
 * entry of the same GPU. */
bool node_presses(const struct core_node *node, const struct core_node *other);
/* Updates other_rights_prio and its counts in `node` after a change in another node entry whose
 * clients can preempt those of `node`. priorities: bits of `urgent` that have changed in the other
 * entry. up: those of them that are set now. */
void node_count_other_rights(struct core_node *node, uint32_t priorities, uint32_t up);
/* Returns the number of the client's place (struct client_node) for a GPU, which is added if the
 * client has none; -1 if the client uses CORE_NODES other GPUs already. */
int client_find_node(struct core *core, struct core_client *client, uint32_t gpu_id);
/* Removes all places (struct client_node) of the client, and node entries (struct core_node) that
 * no client uses any more. The client must not be counted (client_uncount()). */
void client_leave_nodes(struct core *core, struct core_client *client);
/* Ends the hold of a gang and accounts for it; the decision then resumes its clients. It is in
 * decide.c. */
void gang_release(const struct core *core, struct gang *gang, uint64_t now);

/* ---- workqueue.c ---- */

/* Queues the gang, so that the next core_decide() evaluates it. */
void gang_queue(struct core *core, struct gang *gang);
/* Returns the most urgent queued gang and removes it from its list; NULL: none is queued. The most
 * urgent gang is evaluated first: its resume can make a less urgent gang contended, and that gang
 * must not be resumed just before. */
struct gang *gang_dequeue(struct core *core);
/* Sets the time when the gang is to be queued without an event; CORE_NEVER: none. */
void timer_set(struct core *core, struct gang *gang, uint64_t at);
/* Returns the earliest time that timer_set() has set for any gang; CORE_NEVER: none. */
uint64_t timer_next(const struct core *core);
/* Queues all gangs whose time (timer_set()) has come, and clears these times. */
void timers_due(struct core *core, uint64_t now);

/* ---- account.c ---- */

/* Adds the time since the last call to the category (enum core_time) that each client of the gang
 * had since then, and sets the category from `now` on. Must be called after each change of a
 * client's state and of the reason why it is held. */
void gang_account(const struct core *core, const struct gang *gang, uint64_t now);
/* Writes the client's times until `now` to `out`, in ns. */
void client_times(const struct core_client *client, uint64_t now, uint64_t out[CORE_TIMES]);

/* ---- turns.c ---- */

/* Records whether the gang waits for its turn (turns.c). */
static inline void gang_set_waits(struct core *core, struct gang *gang, bool waits)
{
	core->waiting += (uint32_t)waits - (uint32_t)gang->waits;
	gang->waits = waits;
}

/* Returns true if another gang of the same priority comes first in turn on a node where this gang
 * has work. The gang must be on hold, uncontended, and past its hold-over (hold_over_ns()). */
bool others_turn(struct core *core, const struct gang *gang, uint64_t now);
/* Queues the first of the gangs of this priority that wait for their turn on this node entry
 * (struct core_node), so that the next decision evaluates it. To be called when a client of a gang
 * of this priority has no work there any more. */
void turn_ends(struct core *core, const struct core_node *node, int priority);

/* ---- policy.c ---- */

/* The contention of a gang at one moment. */
struct contention_state {
	bool contended; /* it has to be held for more urgent work */
	/* the gang is contended, or would be if it had work on all nodes of its last hold; the
	 * hold-over (hold_over_ns()) is calculated from the gaps in which this is false */
	bool urgent;
	bool observed; /* would be contended under policy strict */
	/* ns; when it becomes contended, or loses its share, if no event comes before;
	 * CORE_NEVER: not at all */
	uint64_t later;
	/* if contended: percentage of each window for which it runs; 0: none */
	uint32_t share_percent;
};
/* Writes to *out whether the gang is contended at `now` by the policies of the nodes that it
 * uses. */
void evaluate_contention(const struct core *core, const struct gang *gang, uint64_t now,
			 struct contention_state *out);

/* Returns for how long, in ns, the gang can still be held in this share window (policy share) so
 * that it can run for its share of the window (`percent`) after that. The time that its resume
 * takes counts as held. */
uint64_t share_left(const struct core *core, const struct gang *gang, uint32_t percent,
		    uint64_t now);
/* Returns when the share window (policy share) of `now` ends, in ns. */
uint64_t share_window_end(const struct core *core, uint64_t now);
/* Adds the time off the GPU from `since` to `now` to window_off_ns of the present share window. */
void share_count(const struct core *core, struct gang *gang, uint64_t since, uint64_t now);

/* Records that more urgent work has begun (`urgent`) or ended for the gang. At the begin, learns
 * the length of the gap that is over. At the end, lowers the gang's debt_ns by what the duration of
 * that work adds to the budget. Does nothing if `urgent` has not changed. */
void urgent_learn(const struct core *core, struct gang *gang, bool urgent, uint64_t now);
/* Adds the duration of a suspension for more urgent work to the gang's debt_ns, up to a limit. */
void debt_add(const struct core *core, struct gang *gang, uint64_t duration_ns);
/* Returns the hold-over, in ns: for how long the gang is held on after it is no longer contended.
 * beside: another gang of the same priority has its turn on the node, so that resuming this one
 * gains less. */
uint64_t hold_over_ns(const struct core *core, const struct gang *gang, bool beside);
/* Returns when the hold-over ends in the present gap in more urgent work, in ns; this is calculated
 * once for each gap. The gang must be uncontended. */
uint64_t hold_over_end(const struct core *core, struct gang *gang, bool beside);

/* Adds the duration of one request to the mean and deviation that are learned for the client. */
void request_learn(struct core_client *client, uint64_t duration_ns);
/* Returns the duration that nearly all requests of the client stay below: the mean and four mean
 * deviations, in ns; 0: not known yet. */
uint64_t request_ns(const struct core_client *client);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * What the scheduler decides: events and a clock value in, actions and the
 * next deadline out. No I/O, no clock of its own, no allocation after
 * core_create().
 *
 * Policy `strict`: a client is suspended as a whole while a client of the same
 * tenant with a higher priority is active on a node where it is active too,
 * and resumed when there is none any more.
 * - A client that is suspended is not on the GPU: it preempts nobody.
 * - What a client says of its own activity while it is suspended can only add
 *   a node: a suspended queue looks idle when its last packet has been read.
 * - Without a priority: neither preempted nor preempting.
 * - One action in flight per client. After a suspend that failed or took
 *   longer than slow_suspend_ns the client is never suspended again (the
 *   driver resets the GPU when its firmware cannot preempt). What a failed
 *   suspend left behind is undone by a resume.
 * - A failed resume is tried again, for as long as it takes.
 * - Starvation bound: a client is suspended for at most max_suspended_ns until
 *   it has run for min_run_ns, all its spans of running counted together.
 *   When the bound is reached it gets min_run_ns in one piece.
 *
 * Times are nanoseconds of one clock that never goes back. Threads: none; the
 * caller guards it.
 */
#ifndef KFDSHIM_SCHEDULER_CORE_H
#define KFDSHIM_SCHEDULER_CORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CORE_NODES 16u /* nodes one client can use */
#define CORE_PRIORITIES 16
#define CORE_PRIORITY_UNSET (-1)
#define CORE_NEVER UINT64_MAX
#define CORE_RETRY_NS 10000000u /* between two tries of a resume that fails */

/* Names a client; 0 is nobody. A name is not given again for a long time, and
 * every function takes the name of a client that is gone: nothing happens. */
typedef uint32_t core_id;

/* Below max_clients, and no two of the living have the same. */
static inline uint32_t core_index(core_id client)
{
	return client & 0xffffu;
}

struct core;

struct core_config {
	uint64_t slow_suspend_ns;
	uint64_t max_suspended_ns;
	uint64_t min_run_ns;
};
#define CORE_CONFIG_DEFAULT                                                                        \
	{                                                                                          \
		.slow_suspend_ns = 50000000u, .max_suspended_ns = 30000000000u,                    \
		.min_run_ns = 200000000u                                                           \
	}

enum core_capability {
	CORE_PENDING, /* not known yet: leave it alone */
	CORE_ABLE,    /* can be suspended */
	CORE_REFUSED, /* cannot; if it is suspended it is resumed */
};

enum core_state { CORE_RUNNING, CORE_SUSPENDING, CORE_SUSPENDED, CORE_RESUMING };

/* Why an able client is not suspended any more. */
enum core_spared { CORE_SPARED_NOT, CORE_SPARED_FAILED, CORE_SPARED_SLOW };

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
	bool pressed;		    /* a more urgent one is active where it is active */
	uint64_t suspends, resumes; /* succeeded */
	uint64_t failures;
	uint64_t suspended_ns; /* in total, the present suspension included */
};

/* Room for max_clients at a time. NULL: no memory. */
struct core *core_create(const struct core_config *config, uint32_t max_clients);
void core_destroy(struct core *core);

/* tenant: clients of one tenant may preempt each other. priority: -1..15. A
 * new client is CORE_PENDING, idle and running. 0: no room, or no priority. */
core_id core_add(struct core *core, uint32_t tenant, int priority, uint64_t now);
/* The client is gone, with whatever was in flight for it. */
void core_remove(struct core *core, core_id client);

void core_set_capability(struct core *core, core_id client, enum core_capability capability);
/* false: no room for another node of this client. */
bool core_set_activity(struct core *core, core_id client, uint32_t gpu_id, bool active);
/* true: the client is in a call that a suspension would block: it is resumed
 * and left alone until told false. */
void core_set_leaving(struct core *core, core_id client, bool leaving);
/* The action in flight ended: 0 or a negative errno. -ECANCELED: a suspend
 * that was never tried, which counts as nothing. */
void core_finished(struct core *core, core_id client, int error, uint64_t duration_ns,
		   uint64_t now);

/*
 * Decides; call it after every event and at every deadline. Writes at most
 * `max` actions, all of which are in flight from now on, suspends first, and
 * returns their number. *deadline: when to call again without an event.
 */
size_t core_decide(struct core *core, uint64_t now, struct core_action *actions, size_t max,
		   uint64_t *deadline);

/* false: no such client. */
bool core_look(const struct core *core, core_id client, uint64_t now, struct core_view *out);
/* Of a node, all tenants together: is anybody pressed there, and how many are
 * suspended (or on the way there or back) that had work on it? */
void core_look_node(const struct core *core, uint32_t gpu_id, bool *urgent, uint32_t *suspended);

#endif

// SPDX-License-Identifier: MIT
/* Decides which gangs (clients held together) are held, and which of their clients are suspended or
 * resumed for that. */
#include <string.h>

#include "scheduler/core/sched_priv.h"

/* The caller's array of actions, filled with suspends from the front and resumes from the back. */
struct actions {
	struct core_action *list;
	size_t max, suspends, resumes;
};

/* ---- the gang ---- */

/* Returns true if the duration of a suspend that begins now can be learned as the gang's cost. It
 * cannot if a client is suspended, is being resumed, or was resumed just now: the suspend then also
 * waits for the rest of the resume, and gaps.h counts that time already. */
static bool is_back(const struct core *core, const struct gang *gang, uint64_t now)
{
	FOR_CLIENTS (core, gang, c)
		if (c->state != CORE_RUNNING)
			return false;
	return now - gang->running_since >= gang->suspend_ns;
}

/* Returns the time when the starvation bound ends the present hold, in ns. */
static uint64_t starved_at(const struct core *core, const struct gang *gang)
{
	uint64_t max = core->config.max_suspended_ns;

	return gang->held_since + (gang->hold_span_ns < max ? max - gang->hold_span_ns : 0);
}

/* Returns the time until which the gang must run before it can be held again, because it has been
 * on hold for max_suspended_ns and has not run for min_run_ns since; 0: no limit. */
static uint64_t rest_until(const struct core *core, const struct gang *gang)
{
	uint64_t min = core->config.min_run_ns;

	if (gang->hold_span_ns < core->config.max_suspended_ns || gang->ran_ns >= min)
		return 0;
	return gang->running_since + (min - gang->ran_ns);
}

/* Returns false, for a condition that is not met yet. Lowers *next to `until`, the time when it may
 * be met, and marks the gang's later actions as not prompt (core_action.prompt), because they had
 * to wait. */
static bool not_yet(struct core *core, struct gang *gang, uint64_t *next, uint64_t until)
{
	FOR_CLIENTS (core, gang, c)
		c->prompt = false;
	not_after(next, until);
	return false;
}

/* Returns true if the client takes part in a hold. One without a priority takes part only in an
 * operator's lease (suspension by request). */
static bool takes_part(const struct core_client *c, bool leased)
{
	return c->priority >= 0 || leased;
}

static bool wants_suspend(const struct core_client *c, bool leased)
{
	return c->capability == CORE_ABLE && c->exempt == CORE_EXEMPT_NOT && !c->teardown &&
	       (leased || (c->priority >= 0 && node_set_any(&c->active)));
}

bool gang_is_blocked(const struct core *core, const struct gang *gang, bool leased)
{
	FOR_CLIENTS (core, gang, c)
		if (takes_part(c, leased) &&
		    (c->capability == CORE_REFUSED || c->exempt != CORE_EXEMPT_NOT))
			return true;
	return false;
}

/* Returns true if a client of the gang can be suspended now. If a client can be suspended only
 * later, lowers *next to that time. */
static bool can_act(const struct core *core, const struct gang *gang, bool leased, uint64_t now,
		    uint64_t *next)
{
	FOR_CLIENTS (core, gang, c) {
		if (!wants_suspend(c, leased) || c->state == CORE_RESUMING)
			continue;
		if (now >= c->not_before)
			return true;
		not_after(next, c->not_before);
	}
	return false;
}

/* Returns true if a client that takes part has to run, because it cannot be suspended or its
 * suspend has failed. Then no client of the gang can be held. */
static bool must_run(const struct core *core, const struct gang *gang, bool leased)
{
	FOR_CLIENTS (core, gang, c)
		if (takes_part(c, leased) && (c->capability == CORE_REFUSED || c->undo))
			return true;
	return false;
}

static bool wants_resume(const struct gang *gang, const struct core_client *c, bool leased)
{
	return !gang->held || c->teardown || c->undo || c->capability == CORE_REFUSED ||
	       !takes_part(c, leased);
}

/* Returns true if the hold still keeps a client suspended. It does not if each client is in a
 * teardown call (core_set_teardown()), or has a failed resume that is to be repeated. */
static bool holds_any(const struct core *core, const struct gang *gang, bool leased, uint64_t now)
{
	FOR_CLIENTS (core, gang, c)
		if (!wants_resume(gang, c, leased) && c->state == CORE_SUSPENDED &&
		    now >= c->not_before)
			return true;
	return false;
}

/* Returns true if a suspend is in flight. The decision to release the gang waits for the end of the
 * suspend. */
static bool is_being_suspended(const struct core *core, const struct gang *gang)
{
	FOR_CLIENTS (core, gang, c)
		if (c->state == CORE_SUSPENDING)
			return true;
	return false;
}

uint64_t gang_leased_until(const struct core *core, const struct gang *gang)
{
	uint64_t until = 0;

	FOR_CLIENTS (core, gang, c)
		if (c->lease_until > until)
			until = c->lease_until;
	return until;
}

/* Returns true if the gang, which is not on hold, has to be held now. If it may have to be held
 * later, lowers *next to the time of the next evaluation. */
static bool wants_hold(struct core *core, struct gang *gang, const struct contention_state *outcome,
		       bool leased, uint64_t now, uint64_t *next)
{
	uint64_t rest;

	if (!outcome->contended && !leased) {
		FOR_CLIENTS (core, gang, c)
			if (c->state == CORE_RUNNING && c->not_before <= now)
				c->prompt = outcome->later == CORE_NEVER;
		return false;
	}
	if (gang_is_blocked(core, gang, leased) || !can_act(core, gang, leased, now, next))
		return not_yet(core, gang, next, CORE_NEVER);
	if (leased)
		return true;
	if (now < gang->run_until)
		return not_yet(core, gang, next, gang->run_until);
	rest = rest_until(core, gang);
	if (now < rest)
		return not_yet(core, gang, next, rest);
	if (outcome->share_percent && share_left(core, gang, outcome->share_percent, now) == 0)
		return not_yet(core, gang, next, share_window_end(core, now));
	return true;
}

/* Begins a hold. The starvation bound adds up the times of several holds. The sum begins again at 0
 * if the gang has run for min_run_ns in all between these holds. */
static void hold(struct core *core, struct gang *gang, uint64_t now)
{
	gang->ran_ns += now - gang->running_since;
	if (gang->ran_ns >= core->config.min_run_ns) {
		gang->ran_ns = 0;
		gang->hold_span_ns = 0;
	}
	gang->held = true;
	gang->held_since = now;
	gang->starved = false;
	core->turns++;
	gang->unpaid = gang->contended;
	gang->cost_ns = 0;
	gang->measured = !gang->suspend_ns || is_back(core, gang, now);
}

/* Returns true if the gang, which is on hold and contended, has to run for its share now. */
static bool gets_its_share(struct core *core, struct gang *gang, uint32_t percent, uint64_t now,
			   uint64_t *next)
{
	uint64_t left = share_left(core, gang, percent, now), end = share_window_end(core, now);

	if (left == 0)
		return !not_yet(core, gang, next, CORE_NEVER);
	/* If the time left reaches beyond the end of the window, the hold continues in the next
	 * window, where the time off the GPU starts at 0. */
	not_after(next, now + left < end ? now + left : end);
	return false;
}

/* Returns true if the gang, which is uncontended, stays on hold: its hold-over (hold_over_ns()) has
 * not ended, or another gang has its turn. waits: the gang already waits for its turn, and
 * turn_ends() has not ended that wait. */
static bool is_held_over(struct core *core, struct gang *gang, bool waits, uint64_t now,
			 uint64_t *next)
{
	uint64_t over = hold_over_end(core, gang, false);

	if (now < over)
		return !not_yet(core, gang, next, over);
	over = hold_over_end(core, gang, true);
	gang_set_waits(core, gang, now < over && (waits || others_turn(core, gang, now)));
	return gang->waits && !not_yet(core, gang, next, over);
}

/* Returns true if the gang, which is on hold, has to be released now. If it may have to be released
 * later, lowers *next to the time of the next evaluation. */
static bool wants_release(struct core *core, struct gang *gang,
			  const struct contention_state *outcome, bool leased, uint64_t now,
			  uint64_t *next)
{
	uint64_t starved = starved_at(core, gang);
	bool beside = gang->starved; /* to be released with another gang; see starve() */
	bool waits = gang->waits;

	gang->starved = false;
	gang_set_waits(core, gang, false);
	if (is_being_suspended(core, gang))
		return false;
	if (must_run(core, gang, leased) || !holds_any(core, gang, leased, now))
		return !not_yet(core, gang, next, CORE_NEVER);
	if (leased)
		return not_yet(core, gang, next, CORE_NEVER);
	if (now >= starved || beside) {
		gang->starved = outcome->contended;
		return !gang->starved || !not_yet(core, gang, next, CORE_NEVER);
	}
	not_after(next, starved);
	if (outcome->contended)
		return outcome->share_percent &&
		       gets_its_share(core, gang, outcome->share_percent, now, next);
	return !is_held_over(core, gang, waits, now, next);
}

/* Marks a gang on hold to be released with another one that has reached its starvation bound. */
static void starve(struct core *core, struct gang *gang)
{
	if (!gang->held || !gang->contended || gang->starved || is_being_suspended(core, gang))
		return;
	gang->starved = true;
	gang_queue(core, gang);
}

/* Releases the gangs on a node entry (struct core_node) along with a gang that has reached its
 * starvation bound. With many tenants, some gang may reach its bound at any time. So the gangs here
 * are released in this way at most once in max_suspended_ns, which is as often as their own bounds
 * release them. */
static void starve_on(struct core *core, struct core_node *node, uint64_t now)
{
	if (node->starved_ns && now - node->starved_ns < core->config.max_suspended_ns)
		return;
	node->starved_ns = now;
	for (uint32_t at = node->first; at != NO_INDEX;) {
		const struct core_client *c = &core->clients[at / CORE_NODES];
		uint32_t number = at % CORE_NODES;

		if (node_set_has(&c->counted.working, number))
			starve(core, &core->gangs[c->gang]);
		at = c->client_nodes[number].next;
	}
}

/* Releases all gangs that are held on the GPUs of a gang that has reached its starvation bound. Its
 * run disturbs more urgent work anyway, so the other gangs run at the same time instead of
 * disturbing that work one after the other. A gang with work on several GPUs releases the gangs on
 * all of them. */
static void starve_beside(struct core *core, const struct gang *gang, uint64_t now)
{
	FOR_CLIENTS (core, gang, c)
		FOR_CLIENT_NODES(c, &c->counted.working, number)
		{
			const struct core_node *node = &core->nodes[c->client_nodes[number].node];

			if (node->starved_ns == now)
				continue;
			FOR_NODES (core, node_gpu(core, node), other) /* of all tenants */
				starve_on(core, other, now);
		}
}

void gang_release(const struct core *core, struct gang *gang, uint64_t now)
{
	share_count(core, gang, gang->held_since, now);
	gang->held = false;
	gang->running_since = now;
	gang->cost_ns = 0;
	gang->measured = true;
	gang->hold_span_ns += now - gang->held_since;
	if (gang->starved) {
		gang->run_until = now + core->config.min_run_ns;
		gang->hold_span_ns = 0;
		gang->ran_ns = 0;
	}
}

/* Records whether the gang is contended. */
static void set_contended(struct core *core, struct gang *gang, bool contended, uint64_t now)
{
	if (contended == gang->contended)
		return;
	gang->contended = contended;
	gang_set_waits(core, gang, false);
	gang->over_ns[false] = gang->over_ns[true] = 0;
	if (!contended)
		gang->uncontended_since = now;
}

/* ---- its clients ---- */

static void act(struct core *core, struct core_client *c, enum core_op op, uint64_t now,
		struct actions *out)
{
	size_t at = op == CORE_SUSPEND ? out->suspends++ : out->max - ++out->resumes;

	out->list[at] = (struct core_action){.client = c->id, .op = op, .prompt = c->prompt};
	if (op == CORE_SUSPEND) {
		c->suspended_since = now;
		c->held = c->active;
		c->state = CORE_SUSPENDING;
		c->prompt = true;
	} else {
		c->state = CORE_RESUMING;
		c->early = c->teardown;
	}
	client_recount(core, c);
}

/* Returns true if a client of the same gang is being resumed on one of the client's GPUs. pass: the
 * present value of core->passes. */
static bool is_behind(const struct core *core, const struct core_client *c, uint64_t pass)
{
	for (uint32_t i = 0; i < c->client_node_count; i++)
		if (core->nodes[c->client_nodes[i].node].resumed == pass)
			return true;
	return false;
}

static void resumes_on(struct core *core, const struct core_client *c, uint64_t pass)
{
	for (uint32_t i = 0; i < c->client_node_count; i++)
		core->nodes[c->client_nodes[i].node].resumed = pass;
}

/* Returns true if the client's resume has to wait for the resume of another client of the gang. The
 * driver updates the runlist of a GPU for one process at a time, so a second call would only wait
 * for the first one. If more urgent work begins before the second call is made, that work does not
 * have to wait for the second resume, nor for the suspend that would follow. Clients that are
 * resumed for another reason than the gang's release do not wait. */
static bool resumes_later(const struct core *core, const struct gang *gang,
			  const struct core_client *c, uint64_t pass)
{
	return !gang->held && !c->teardown && !c->undo && is_behind(core, c, pass);
}

/* Starts the actions that the gang's clients need now; lowers *next to the earliest time of an
 * action that has to wait. Returns false if there is no room for an action. */
static bool act_on(struct core *core, struct gang *gang, bool leased, uint64_t now, uint64_t *next,
		   struct actions *out)
{
	bool hold = gang->held && !must_run(core, gang, leased);
	uint64_t pass = ++core->passes;
	enum core_op op;

	FOR_CLIENTS (core, gang, c)
		if (c->state == CORE_RESUMING)
			resumes_on(core, c, pass);
	FOR_CLIENTS (core, gang, c) {
		if (c->state == CORE_RUNNING && hold && wants_suspend(c, leased))
			op = CORE_SUSPEND;
		else if (c->state == CORE_SUSPENDED && wants_resume(gang, c, leased))
			op = CORE_RESUME;
		else
			continue;
		if (now < c->not_before) {
			c->prompt = false;
			not_after(next, c->not_before);
			continue;
		}
		if (op == CORE_RESUME && resumes_later(core, gang, c, pass)) {
			c->prompt = false;
			continue;
		}
		if (out->suspends + out->resumes == out->max)
			return false;
		if (op == CORE_RESUME && gang->held)
			c->prompt = false;
		if (op == CORE_RESUME)
			resumes_on(core, c, pass);
		act(core, c, op, now, out);
	}
	return true;
}

/* Evaluates one gang (clients held together) and starts the actions that follow. Returns false if
 * there is no room for all of them; the gang has to be evaluated again then. */
static bool decide_gang(struct core *core, struct gang *gang, uint64_t now, struct actions *out)
{
	uint64_t next = CORE_NEVER, until = gang_leased_until(core, gang);
	bool leased = until > now, was_held = gang->held;
	struct contention_state outcome;

	if (out->suspends + out->resumes == out->max)
		return false;
	evaluate_contention(core, gang, now, &outcome);
	urgent_learn(core, gang, outcome.urgent, now);
	set_contended(core, gang, outcome.contended, now);
	gang->observed = outcome.observed;
	if (!outcome.contended || outcome.share_percent)
		not_after(&next, outcome.later);
	if (leased)
		not_after(&next, until);
	if (gang->held && wants_release(core, gang, &outcome, leased, now, &next)) {
		gang_release(core, gang, now);
		if (gang->starved)
			starve_beside(core, gang, now);
	} else if (!gang->held && wants_hold(core, gang, &outcome, leased, now, &next))
		hold(core, gang, now);
	if (!act_on(core, gang, leased, now, &next, out))
		return false;
	timer_set(core, gang, next);
	if (gang->held != was_held)
		gang_queue(core, gang); /* evaluate it again, to find when the new state ends */
	return true;
}

/* Moves the resumes, which were written from the back, behind the suspends, in the order in which
 * they were decided. Returns the number of all actions. */
static size_t join(struct actions *out)
{
	struct core_action *from = out->list + (out->max - out->resumes), *to, swap;

	if (!out->resumes)
		return out->suspends;
	for (size_t i = 0; i < out->resumes / 2; i++) {
		swap = from[i];
		from[i] = from[out->resumes - 1 - i];
		from[out->resumes - 1 - i] = swap;
	}
	to = out->list + out->suspends;
	memmove(to, from, out->resumes * sizeof(*to));
	return out->suspends + out->resumes;
}

size_t core_decide(struct core *core, uint64_t now, struct core_action *actions, size_t max,
		   uint64_t *deadline)
{
	struct actions out = {.list = actions, .max = max};
	struct gang *gang;
	bool fits;

	core->turns++;
	timers_due(core, now);
	while ((gang = gang_dequeue(core)) != NULL) {
		if (gang->first == NO_INDEX)
			continue;
		fits = decide_gang(core, gang, now, &out);
		gang_account(core, gang, now);
		if (!fits) {
			gang_queue(core, gang);
			*deadline = now;
			return join(&out);
		}
	}
	*deadline = timer_next(core);
	return join(&out);
}

bool core_view_client(const struct core *core, core_id id, uint64_t now, struct core_view *out)
{
	const struct core_client *c = client_find(core, id);
	const struct gang *gang;

	if (!c)
		return false;
	gang = &core->gangs[c->gang];
	*out = (struct core_view){
		.state = c->state,
		.capability = c->capability,
		.exempt = c->exempt,
		.active = node_set_any(&c->active),
		.contended = gang->contended,
		.held = gang->held,
		.observed = gang->observed,
		.blocked_by_member = gang_is_blocked(core, gang, false),
		.suspends = c->suspends,
		.resumes = c->resumes,
		.failures = c->failures,
		.suspended_ns = c->suspended_ns,
		.request_ns = request_ns(c),
	};
	client_times(c, now, out->time_ns);
	if (c->state != CORE_RUNNING)
		out->suspended_ns += now - c->suspended_since;
	return true;
}

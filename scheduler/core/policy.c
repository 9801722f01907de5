// SPDX-License-Identifier: MIT
/* Contention of a gang under the policies of its nodes, and what is learned for that: durations of
 * requests, costs of actions, and gaps in more urgent work. */
#include <string.h>

#include "scheduler/core/state.h"

#define KNOWN 4u /* number of requests from which on their duration is known */

/* Cost of a suspend and its resume; 0: not known yet. */
static uint64_t cost_ns(const struct unit *unit)
{
	return unit->suspend_ns && unit->resume_ns ? unit->suspend_ns + unit->resume_ns : 0;
}

/* ---- requests ---- */

/* Mean and mean deviation, as TCP learns its round trips (RFC 6298). */
void request_learn(struct client *c, uint64_t duration_ns)
{
	uint64_t off =
		duration_ns > c->mean_ns ? duration_ns - c->mean_ns : c->mean_ns - duration_ns;

	if (c->requests == 0) {
		c->mean_ns = duration_ns;
		c->deviation_ns = duration_ns / 2;
	} else {
		c->deviation_ns = c->deviation_ns - c->deviation_ns / 4 + off / 4;
		c->mean_ns = c->mean_ns - c->mean_ns / 8 + duration_ns / 8;
	}
	if (c->requests < KNOWN)
		c->requests++;
}

uint64_t request_ns(const struct client *c)
{
	return c->requests < KNOWN ? 0 : c->mean_ns + 4 * c->deviation_ns;
}

/* The time from which on the client has to be alone on the GPU to meet its objective; the time to
 * suspend the others is not subtracted. The client may make no progress beside other work, so the
 * whole duration of its request must still fit in from then on. 0, at once: it has no objective,
 * its requests are not known yet, or they do not fit in the objective. */
static uint64_t due_of(const struct client *c)
{
	uint64_t need = request_ns(c);

	if (!c->slo_ns || !need || need >= c->slo_ns)
		return 0;
	return c->busy_since + c->slo_ns - need;
}

/* Lowers *due to the earliest time of the gang's active clients. */
static void not_after_due_of(const struct core *core, const struct unit *of, uint64_t *due)
{
	FOR_CLIENTS (core, of, c)
		if (client_presses(c))
			not_after(due, due_of(c));
}

bool node_dues(const struct core *core, struct node *node)
{
	uint64_t due[CORE_PRIORITIES];
	bool changed;

	for (int i = 0; i < CORE_PRIORITIES; i++)
		due[i] = CORE_NEVER;
	for (uint32_t at = node->first; node->urgent && at != NOBODY;) {
		const struct client *c = &core->clients[at / CORE_NODES];
		const struct unit *of = &core->units[c->unit];
		uint32_t number = at % CORE_NODES;

		if (node_set_has(&c->counted.urgent, number))
			not_after_due_of(core, of, &due[of->priority]);
		at = c->places[number].next;
	}
	changed = memcmp(due, node->due_ns, sizeof(due)) != 0;
	memcpy(node->due_ns, due, sizeof(due));
	return changed;
}

/* Lowers *due to the earliest time of those priorities on the node entry that are above the
 * gang's. */
static void not_after_dues(const struct node *node, const struct unit *unit, uint64_t *due)
{
	for (uint32_t more = node->urgent >> (unit->priority + 1) << (unit->priority + 1); more;
	     more &= more - 1)
		not_after(due, node->due_ns[__builtin_ctz(more)]);
}

/* When the gang has to be suspended to make way in time for more urgent work on this node, of its
 * own rights or of others that can preempt it; 0: at once. */
static uint64_t first_due(const struct core *core, const struct node *node, const struct unit *unit)
{
	uint64_t due = CORE_NEVER, cost = cost_ns(unit);

	not_after_dues(node, unit, &due);
	if (node->foreign)
		FOR_NODES (core, node_gpu(core, node), other)
			if (node_presses(other, node))
				not_after_dues(other, unit, &due);
	return due > cost ? due - cost : 0;
}

/* ---- contention ---- */

/* Adds to *out the contention of the gang on one node. works: the gang has work there; otherwise
 * the node counts only for `urgent`. *all is set if the policy gives the gang no share there. */
static void press_by(const struct core *core, const struct unit *unit, const struct node *node,
		     bool works, uint64_t now, struct press *out, bool *all)
{
	const struct core_policy *policy;
	uint64_t due = 0;

	if (!(node_pressing(node) >> (unit->priority + 1)))
		return;
	policy = node_policy(core, node);
	if (policy->rule == CORE_OBSERVE) {
		out->observed |= works;
		return;
	}
	if (policy->rule == CORE_DEADLINE)
		due = first_due(core, node, unit);
	if (due > now) {
		if (works)
			not_after(&out->later, due);
		return;
	}
	out->urgent = true;
	if (!works)
		return;
	out->pressed = true;
	if (policy->rule != CORE_SHARE)
		*all = true;
	else if (policy->share_percent > out->share_percent)
		out->share_percent = policy->share_percent;
}

void press_look(const struct core *core, const struct unit *unit, uint64_t now, struct press *out)
{
	bool all = false; /* contended on some node without a share */

	*out = (struct press){.later = CORE_NEVER};
	if (unit->priority < 0)
		return;
	FOR_CLIENTS (core, unit, c) {
		struct node_set known = c->held;

		if (c->priority < 0)
			continue;
		node_set_add(&known, &c->counted.working);
		FOR_PLACES (c, &known, number)
			press_by(core, unit, &core->nodes[c->places[number].node],
				 node_set_has(&c->counted.working, (uint32_t)number), now, out,
				 &all);
	}
	if (all)
		out->share_percent = 0;
}

/* ---- shares ---- */

/* Time off the GPU in the share window of `now`, with the time since `since` as time off. */
static uint64_t off_in_window(const struct core *core, const struct unit *unit, uint64_t since,
			      uint64_t now)
{
	uint64_t window = now / core->config.share_window_ns;
	uint64_t begin = window * core->config.share_window_ns;

	return (unit->window == window ? unit->window_off_ns : 0) +
	       (now - (since > begin ? since : begin));
}

uint64_t share_left(const struct core *core, const struct unit *unit, uint32_t percent,
		    uint64_t now)
{
	uint64_t most = core->config.share_window_ns / 100 * (100 - percent);
	uint64_t off = off_in_window(core, unit, unit->held ? unit->held_since : now, now) +
		       unit->resume_ns;

	return off < most ? most - off : 0;
}

uint64_t share_window_end(const struct core *core, uint64_t now)
{
	return (now / core->config.share_window_ns + 1) * core->config.share_window_ns;
}

void share_count(const struct core *core, struct unit *unit, uint64_t since, uint64_t now)
{
	unit->window_off_ns = off_in_window(core, unit, since, now);
	unit->window = now / core->config.share_window_ns;
}

/* ---- hold-over ---- */

/* This much more urgent work pays off all debt that is within the budget. A gang that waits for
 * its debt to be paid off is resumed after this time without more urgent work in any case, so that
 * the GPU does not wait idle for requests that may never come. */
#define BUDGET_NS 1000000000u

static uint64_t budget_ns(const struct core *core)
{
	return BUDGET_NS / 100 * (uint64_t)core->config.max_online_overhead;
}

/* The debt has an upper limit, because rare requests never pay for their suspensions: without the
 * limit hours of later work would have to pay off what they left. */
void debt_add(const struct core *core, struct unit *unit, uint64_t duration_ns)
{
	uint64_t most = budget_ns(core) + unit->suspend_ns;

	unit->debt_ns = unit->debt_ns + duration_ns < most ? unit->debt_ns + duration_ns : most;
}

/* Would one more suspension exceed the budget? A single suspension without debt never does. */
static bool budget_is_used_up(const struct core *core, const struct unit *unit)
{
	uint64_t budget = budget_ns(core);

	return budget && unit->debt_ns && unit->debt_ns + unit->suspend_ns > budget;
}

static void pay_off(struct unit *unit, uint64_t ns)
{
	unit->debt_ns -= ns < unit->debt_ns ? ns : unit->debt_ns;
}

/* Records whether the gang missed a gap that has ended. A gap counts only if the costs kept the gang
 * on hold, and not its turn, the budget or a lease. */
static void missed_learn(const struct core *core, struct unit *unit, uint64_t now)
{
	bool missed = unit->held && unit->held_since < unit->urgent_since;

	if (unit->waits || budget_is_used_up(core, unit) || unit_leased_until(core, unit) > now)
		return;
	gaps_missed(&unit->gaps, missed, &unit->suspend_ns, &unit->resume_ns);
}

void urgent_learn(const struct core *core, struct unit *unit, bool urgent, uint64_t now)
{
	uint64_t lasted = now - unit->urgent_since;

	if (urgent == unit->urgent)
		return;
	if (!urgent)
		pay_off(unit, lasted / 100 * core->config.max_online_overhead);
	else if (unit->urgent_since) {
		gaps_learn(&unit->gaps, lasted);
		missed_learn(core, unit, now);
	}
	unit->urgent = urgent;
	unit->urgent_since = now;
}

/* A gang that runs beside another one gains 1/BESIDE of the time. This is assumed: how much of the
 * GPU two processes leave to each other is not known, and both all and nothing are possible. */
#define BESIDE 4u

/* The driver's RESUME_QUEUES returns before all queues are on the GPU again, so the measured
 * duration is too short: a resume is taken to last at least as long as a suspend. */
uint64_t hold_over_ns(const struct core *core, const struct unit *unit, bool beside)
{
	uint32_t weight = core->config.online_weight * (beside ? BESIDE : 1);
	bool slow = unit->suspend_ns > unit->resume_ns;
	const struct gaps_costs costs = {
		.resume_ns = slow ? unit->suspend_ns : unit->resume_ns,
		.suspend_ns = unit->suspend_ns,
		.weight = weight < GAPS_WEIGHT_MAX ? weight : GAPS_WEIGHT_MAX,
	};
	uint64_t hold_ns = core->config.hold_over ? gaps_hold_ns(&unit->gaps, &costs) : 0;

	return hold_ns < BUDGET_NS && budget_is_used_up(core, unit) ? BUDGET_NS : hold_ns;
}

uint64_t hold_over_end(const struct core *core, struct unit *unit, bool beside)
{
	uint64_t *over_ns = &unit->over_ns[beside];

	if (!*over_ns)
		*over_ns = unit->unpressed_since + hold_over_ns(core, unit, beside);
	return *over_ns;
}

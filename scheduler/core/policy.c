// SPDX-License-Identifier: MIT
/* Evaluates the contention of a gang (clients held together) under the policies of its nodes
 * (policy_NAME.c). Learns the durations of requests and of gaps in more urgent work, and calculates
 * the hold-over (time on hold after the contention). */
#include "scheduler/core/policy_ops.h"

#define KNOWN 4u /* number of requests after which their duration counts as known */

/* ---- requests ---- */

/* Updates the mean and the mean deviation of durations as TCP does for round trips (RFC 6298). */
void request_learn(struct core_client *c, uint64_t duration_ns)
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

uint64_t request_ns(const struct core_client *c)
{
	return c->requests < KNOWN ? 0 : c->mean_ns + 4 * c->deviation_ns;
}

/* ---- contention ---- */

const struct policy_ops *policy_ops(enum policy policy)
{
	static const struct policy_ops *const table[] = {
#define POLICY(name, ...) &policy_##name,
#include "common/policies.def"
#undef POLICY
	};

	return table[policy];
}

/* Adds the contention of the gang on one node to *out. works: the gang has work there; otherwise
 * the node counts only for out->urgent. Sets *all if the policy gives the gang no share there. */
static void contend_by(const struct core *core, const struct gang *gang,
		       const struct core_node *node, bool works, uint64_t now,
		       struct contention_state *out, bool *all)
{
	const struct core_policy *policy;
	const struct policy_ops *ops;
	enum contention contention;
	uint64_t until = CORE_NEVER;

	if (!(node_contending(node) >> (gang->priority + 1)))
		return;
	policy = node_policy(core, node);
	ops = policy_ops(policy->rule);
	contention = ops->evaluate ? ops->evaluate(core, node, gang, now, &until) : ops->contention;
	out->urgent |= contention == CONTENDED;
	if (!works)
		return;
	not_after(&out->later, until);
	out->observed |= contention == OBSERVED;
	if (contention != CONTENDED)
		return;
	out->contended = true;
	if (!ops->shares)
		*all = true;
	else if (policy->share_percent > out->share_percent)
		out->share_percent = policy->share_percent;
}

void evaluate_contention(const struct core *core, const struct gang *gang, uint64_t now,
			 struct contention_state *out)
{
	bool all = false; /* contended on some node without a share */

	*out = (struct contention_state){.later = CORE_NEVER};
	if (gang->priority < 0)
		return;
	FOR_CLIENTS (core, gang, c) {
		struct node_set known = c->held;

		if (c->priority < 0)
			continue;
		node_set_add(&known, &c->counted.working);
		FOR_CLIENT_NODES(c, &known, number)
		contend_by(core, gang, &core->nodes[c->client_nodes[number].node],
			   node_set_has(&c->counted.working, (uint32_t)number), now, out, &all);
	}
	if (all)
		out->share_percent = 0;
}

/* ---- hold-over ---- */

/* A gang's debt (gang.debt_ns) is within the budget if it is at most max_online_overhead percent of
 * this time. A gang on hold because of its debt is resumed after this time without more urgent work
 * in any case, so that the GPU does not stay idle for requests that may never come. */
#define OVERHEAD_WINDOW_NS 1000000000u

static uint64_t overhead_limit_ns(const struct core *core)
{
	return OVERHEAD_WINDOW_NS / 100 * (uint64_t)core->config.max_online_overhead;
}

/* Adds to the gang's debt (debt_ns), but limits it to the budget plus the cost of one suspend.
 * Without the limit, rare requests, which run too briefly to pay off the suspensions that they
 * cause, would make the debt grow to hours of later work. */
void debt_add(const struct core *core, struct gang *gang, uint64_t duration_ns)
{
	uint64_t most = overhead_limit_ns(core) + gang->suspend_ns;

	gang->debt_ns = gang->debt_ns + duration_ns < most ? gang->debt_ns + duration_ns : most;
}

/* Returns true if the cost of one more suspension would raise the gang's debt (debt_ns) above its
 * budget, overhead_limit_ns(). Returns false if no budget is set, or while the gang has no debt. */
static bool overhead_is_used_up(const struct core *core, const struct gang *gang)
{
	uint64_t used_ns = overhead_limit_ns(core);

	return used_ns && gang->debt_ns && gang->debt_ns + gang->suspend_ns > used_ns;
}

static void pay_off(struct gang *gang, uint64_t ns)
{
	gang->debt_ns -= ns < gang->debt_ns ? ns : gang->debt_ns;
}

/* Records whether the gang missed a gap (pause of more urgent work) that has ended. Only a gap in
 * which the learned costs kept the gang on hold counts, not one in which its turn, the budget or a
 * lease kept it there. */
static void missed_learn(const struct core *core, struct gang *gang, uint64_t now)
{
	bool missed = gang->held && gang->held_since < gang->urgent_since;

	if (gang->waits || overhead_is_used_up(core, gang) || gang_leased_until(core, gang) > now)
		return;
	gaps_missed(&gang->gaps, missed, &gang->suspend_ns, &gang->resume_ns);
}

void urgent_learn(const struct core *core, struct gang *gang, bool urgent, uint64_t now)
{
	uint64_t lasted = now - gang->urgent_since;

	if (urgent == gang->urgent)
		return;
	if (!urgent)
		pay_off(gang, lasted / 100 * core->config.max_online_overhead);
	else if (gang->urgent_since) {
		gaps_learn(&gang->gaps, lasted);
		missed_learn(core, gang, now);
	}
	gang->urgent = urgent;
	gang->urgent_since = now;
}

/* A gang that is resumed beside a running gang is assumed to gain 1/BESIDE of the time. How much of
 * the GPU the two processes leave to each other is not known; all and nothing are both possible.
 * For the same reason two losses count BESIDE times: that of more urgent work by the suspend of the
 * resumed gang, and that of the running gang, which the driver takes off the GPU during the
 * resume. */
#define BESIDE 4u

/* Returns the hold-over (sched_priv.h). RESUME_QUEUES returns before all queues are on the GPU
 * again, so its measured duration is too short. A resume is therefore taken to last at least as
 * long as a suspend. */
uint64_t hold_over_ns(const struct core *core, const struct gang *gang, bool beside)
{
	uint32_t weight = core->config.online_weight * (beside ? BESIDE : 1);
	uint64_t resume_ns =
		gang->suspend_ns > gang->resume_ns ? gang->suspend_ns : gang->resume_ns;
	const struct gaps_costs costs = {
		.resume_ns = resume_ns,
		.suspend_ns = gang->suspend_ns,
		.others_ns = beside ? BESIDE * resume_ns : 0,
		.weight = weight < GAPS_WEIGHT_MAX ? weight : GAPS_WEIGHT_MAX,
	};
	uint64_t hold_ns = core->config.hold_over ? gaps_hold_ns(&gang->gaps, &costs) : 0;

	return hold_ns < OVERHEAD_WINDOW_NS && overhead_is_used_up(core, gang) ? OVERHEAD_WINDOW_NS
									       : hold_ns;
}

uint64_t hold_over_end(const struct core *core, struct gang *gang, bool beside)
{
	uint64_t *over_ns = &gang->over_ns[beside];

	if (!*over_ns)
		*over_ns = gang->uncontended_since + hold_over_ns(core, gang, beside);
	return *over_ns;
}

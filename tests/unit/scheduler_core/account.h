/* SPDX-License-Identifier: MIT */
/*
 * A second, independent model of the scheduling rules, for random.c. It keeps no counters but
 * compares every pair of clients each time, and checks every decision of the core: decide() calls
 * core_decide() until there is no further action, and fails the test if the core and this model
 * differ.
 *
 * random.c changes the models (the clients) together with the core.
 */
#ifndef TESTS_UNIT_SCHEDULER_CORE_ACCOUNT_H
#define TESTS_UNIT_SCHEDULER_CORE_ACCOUNT_H

#include "tests/unit/scheduler_core/play.h"

#define CLIENTS 10
#define GPUS 3
#define COST_MAX (60 * MS) /* longest suspend or resume */
#define WEIGHT_MAX 4
#define REST (200 * MS)
#define WINDOW (1 * S)

/* State of a client: on the GPU, its suspend in flight, off the GPU, its resume in flight. */
enum model_state { RUNS, GOES, OFF, COMES };

/* What the test has told the core about one client, and what has happened to it. Times are ns. */
struct model {
	core_id id; /* 0: this entry is unused */
	unsigned tenant, can_preempt, preemptible_by, group;
	int priority;
	bool able, refused, exempt, teardown, failed;
	bool early; /* it was resumed because it was leaving */
	/* it is off the GPU, and its gang is not: its resume follows */
	bool stray;
	uint32_t active, held; /* bit: GPU */
	/* bit: GPU on which the client has reported activity at least once */
	uint32_t named;
	enum model_state state;
	unsigned slow; /* number of slow suspends in a row */
	uint64_t slow_until;
	uint64_t not_before, off_since, lease_until, slo, busy_since;
};

/* The times of one gang (a group, or a client without a group): when it was held and when it
 * ran. */
struct history {
	bool held, starved;
	bool let_go; /* released in the current decision */
	uint64_t held_since, runs_since, rest_until;
	uint64_t off_total, on_total; /* since its last full rest */
	/* ns; since then the gang is held without a cause; 0: it has a cause */
	uint64_t cause_gone;
	uint64_t rest_unseen; /* ns; until then the gang is allowed to run */
	uint64_t window, window_off;
};

static struct model models[CLIENTS];
#define GROUPS 3
static struct history groups[8][GROUPS], singles[CLIENTS];
static struct core_config config;
static struct core_policy own; /* policy of GPU 0 */
/* grouped: the clients form groups. Without groups `room` is 1, so that core_decide() returns the
 * actions in the order of its decisions, and each can be checked against its reason. The actions of
 * a group come together, after other suspends. With groups there is no starvation, because this
 * model could not find out which gang has starved. */
static bool grouped;
static size_t room;
/* How often each case has occurred. Without enough of each, a run proves nothing. */
static unsigned long seen_suspend, seen_resume, seen_starved, seen_share, seen_slack, seen_over,
	seen_grouped, seen_behind, seen_other_rights;

#define FOR_ALL(m)                                                                                 \
	for (struct model *m = models; m < models + CLIENTS; m++)                                  \
		if (m->id)
#define FOR_GANG(m, of)                                                                            \
	FOR_ALL (m)                                                                                \
		if (together(m, of))

/* Returns whether both clients are in one gang. */
static bool together(const struct model *a, const struct model *b)
{
	return a == b ||
	       (a->group && a->group == b->group && a->tenant == b->tenant &&
		a->can_preempt == b->can_preempt && a->preemptible_by == b->preemptible_by);
}

/* Returns whether `a`, if it is more urgent, has the right to preempt `b`. */
static bool may_preempt(const struct model *a, const struct model *b)
{
	return a->tenant == b->tenant || (a->can_preempt & b->preemptible_by);
}

/* Returns the times of the client's gang. */
static struct history *history_of(const struct model *m)
{
	unsigned whose = m->tenant | m->can_preempt << 1 | m->preemptible_by << 2;

	return m->group ? &groups[whose][m->group] : &singles[m - models];
}

/* Returns the priority of the client's gang: the highest of its members, -1 if none has one. */
static int urgency(const struct model *of)
{
	int most = -1;

	FOR_GANG(m, of)
	most = m->priority > most ? m->priority : most;
	return most;
}

/* Returns whether a request of `o` is so late that no other gang is allowed to run beside it. */
static bool is_late(const struct model *o)
{
	struct core_view view;

	assert_true(core_view_client(core, o->id, now, &view));
	return !o->slo || !view.request_ns || view.request_ns >= o->slo ||
	       now >= o->busy_since + o->slo - view.request_ns;
}

/* Returns the GPUs on which the client itself works. */
static uint32_t works_on(const struct model *m)
{
	return m->priority < 0 ? 0 : m->state == RUNS ? m->active : m->held;
}

/* `there`: count the client only if it is on the GPU. */
static bool presses(const struct model *m, bool there)
{
	return m->priority >= 0 && m->active && !(there && (m->state == GOES || m->state == OFF));
}

/* While any member of a group works, every member counts as working, and contends, on all of the
 * group's nodes. */
static uint32_t counts_on(const struct model *of)
{
	if (!of->group)
		return works_on(of);
	FOR_GANG(m, of)
	if (of->priority >= 0 && works_on(m))
		return of->named;
	return 0;
}

static uint32_t presses_on(const struct model *of, bool there)
{
	if (!of->group)
		return presses(of, there) ? of->active : 0;
	if (of->priority < 0 || (there && (of->state == GOES || of->state == OFF)))
		return 0;
	FOR_GANG(m, of)
	if (presses(m, there))
		return of->named;
	return 0;
}

/* The ways in which a gang is contended; several can be set. */
enum pressure { NONE, SLACK = 1, PART = 2, FULL = 4 };

static unsigned pressure_by(const struct model *o, int gpu)
{
	const struct core_policy *policy = gpu == 0 ? &own : &config.policy;

	switch (policy->rule) {
	case POLICY_observe:
		return NONE;
	case POLICY_share:
		return PART;
	case POLICY_deadline:
		FOR_GANG(m, o)
		if (presses(m, true) && is_late(m))
			return FULL;
		return SLACK;
	default:
		return FULL;
	}
}

/* `there`: only clients that are on the GPU contend. */
static unsigned pressure_of(const struct model *of, bool there)
{
	int urgent = urgency(of);
	unsigned all = NONE;

	if (urgent < 0)
		return NONE;
	FOR_GANG(m, of)
	{
		uint32_t where = counts_on(m);

		FOR_ALL (o) {
			uint32_t both = where & presses_on(o, there);

			if (!both || !may_preempt(o, m) || together(o, m) || urgency(o) <= urgent)
				continue;
			seen_other_rights += o->tenant != m->tenant;
			for (; both; both &= both - 1)
				all |= pressure_by(o, __builtin_ctz(both));
		}
	}
	return all;
}

static unsigned pressure_on(const struct model *of)
{
	return pressure_of(of, true);
}

/* Returns whether an operator has suspended a member of the gang (a lease). */
static bool is_leased(const struct model *of)
{
	FOR_GANG(m, of)
	if (m->lease_until > now)
		return true;
	return false;
}

/* A client without a priority is only observed, unless it is leased. */
static bool takes_part(const struct model *m)
{
	return m->priority >= 0 || is_leased(m);
}

/* Returns whether the gang cannot be held because of one of its members. */
static bool is_blocked_by_member(const struct model *of)
{
	FOR_GANG(m, of)
	if (takes_part(m) && (m->refused || m->exempt))
		return true;
	return false;
}

static bool must_run(const struct model *of)
{
	FOR_GANG(m, of)
	if (takes_part(m) && (m->refused || m->failed))
		return true;
	return false;
}

static bool some_client_off(const struct model *of)
{
	FOR_GANG(m, of)
	/* not a stray one: its resume waits for another one, or has failed and is
		 * repeated */
	if (!m->stray &&
	    (m->state == GOES || (!m->teardown && m->state == OFF && now >= m->not_before)))
		return true;
	return false;
}

/* Returns whether a resume of another client of the gang is in flight on one of the client's
 * GPUs. */
static bool is_behind(const struct model *of)
{
	FOR_GANG(m, of)
	if (m->state == COMES && m->named & of->named)
		return true;
	return false;
}

static bool suspend_in_flight(const struct model *of)
{
	FOR_GANG(m, of)
	if (m->state == GOES)
		return true;
	return false;
}

/* Returns for how many ns the gang has been held since its last full rest. */
static uint64_t off_for(const struct history *h)
{
	return h->off_total + (h->held ? now - h->held_since : 0);
}

static uint64_t off_in_window(const struct history *h)
{
	uint64_t begin = now / WINDOW * WINDOW;
	uint64_t off = h->window == now / WINDOW ? h->window_off : 0;

	if (h->held)
		off += now - (h->held_since > begin ? h->held_since : begin);
	return off;
}

static uint64_t off_allowed(void)
{
	return WINDOW / 100 * (100 - own.share_percent);
}

/* The core also subtracts its estimate of the resume, which this model does not have: it allows
 * COST_MAX for it. */
static bool share_is_used_up(const struct history *h)
{
	return off_in_window(h) + COST_MAX >= off_allowed();
}

static void count_off(struct history *h, uint64_t since)
{
	uint64_t begin = now / WINDOW * WINDOW;

	h->window_off = (h->window == now / WINDOW ? h->window_off : 0) + now -
			(since > begin ? since : begin);
	h->window = now / WINDOW;
}

static struct model *by_id(core_id id)
{
	FOR_ALL (m)
		if (m->id == id)
			return m;
	return NULL;
}

static void keep_history(const struct model *of, unsigned pressure)
{
	struct history *h = history_of(of);
	bool held = some_client_off(of);

	h->let_go = false;

	if (h->held && !held) {
		count_off(h, h->held_since);
		h->off_total += now - h->held_since;
		h->runs_since = now;
		if (h->starved) {
			h->rest_until = now + REST;
			h->off_total = h->on_total = 0;
		}
	} else if (held && !h->held) {
		h->on_total += now - h->runs_since;
		if (h->on_total >= REST)
			h->on_total = h->off_total = 0;
		h->held_since = now;
		h->starved = false;
	}
	h->held = held;
	if (!held || is_leased(of) || pressure != NONE)
		h->cause_gone = 0;
	else if (!h->cause_gone)
		h->cause_gone = now;
}

static void apply_suspend(struct model *m)
{
	assert_int_equal(m->state, RUNS); /* no other action of the client is in flight */
	/* A suspend was cancelled, which ended the hold. This is the next hold. */
	if (history_of(m)->held && !some_client_off(m))
		keep_history(m, NONE);
	assert_true(m->able && !m->exempt && !m->teardown && now >= m->not_before);
	assert_true(!is_blocked_by_member(m) || (history_of(m)->held && !must_run(m)));
	assert_true(is_leased(m) || pressure_of(m, !grouped) != NONE || history_of(m)->held ||
		    some_client_off(m));
	if (!is_leased(m) && !history_of(m)->held)
		assert_true(now >= history_of(m)->rest_until);
	m->held = m->active;
	m->off_since = now;
	m->state = GOES;
	seen_suspend++;
}

static uint64_t last_starved;

static void apply_resume(struct model *m)
{
	struct history *h = history_of(m);
	unsigned pressure = pressure_on(m);

	assert_int_equal(m->state, OFF);
	assert_true(now >= m->not_before);
	m->state = COMES;
	m->early = m->teardown;
	seen_resume++;
	/* After a failed resume the gang is held again. This model does not see that hold, so it
	 * allows the gang to run for a while. */
	if (!h->held && (pressure & FULL) && last_starved == now)
		h->rest_unseen = now + 2 * REST;
	if (m->teardown || must_run(m) || !takes_part(m) || m->refused || m->failed || !h->held ||
	    h->let_go)
		return;
	h->let_go = true;
	assert_false(is_leased(m));
	if (pressure & FULL) {
		seen_starved++;
		/* The gang has reached its own bound, or it runs beside one that reaches its bound
		 * now. */
		if (off_for(h) >= config.max_suspended_ns)
			last_starved = now;
		assert_true(last_starved == now);
		h->starved = true;
	} else if (pressure & PART) {
		seen_share++;
		assert_true(share_is_used_up(h));
	}
}

static void check_running(const struct model *m, unsigned pressure)
{
	const struct history *h = history_of(m);
	uint64_t rest = h->rest_until;

	if (!m->able || m->exempt || m->teardown || !takes_part(m) || is_blocked_by_member(m))
		return;
	if (now < m->not_before) {
		if (is_leased(m) || (m->active && pressure & FULL && !grouped))
			assert_true(deadline <= m->not_before);
		return;
	}
	if (is_leased(m)) {
		fail();
		return;
	}
	if (!m->active)
		return;
	assert_false(some_client_off(m)); /* either all members of a group are held or none is */
	if (!(pressure & (FULL | PART)) || now < h->rest_unseen)
		return;
	/* The gang has been held for the maximum, and has not run for min_run since: it is not held
	 * again before that. */
	if (h->off_total >= config.max_suspended_ns && h->on_total < REST &&
	    rest < h->runs_since + REST - h->on_total)
		rest = h->runs_since + REST - h->on_total;
	if (pressure & FULL)
		assert_true(now < rest && deadline <= rest);
	else
		assert_true(share_is_used_up(h) || now < rest);
}

/* Returns the longest possible hold-over, in ns, for any costs that the test reports. */
static uint64_t hold_over_max(void)
{
	uint64_t most = config.hold_over ? (5 + 4 * config.online_weight) * COST_MAX : 0;

	return config.max_online_overhead && most < 1 * S ? 1 * S : most;
}

static void check_suspended(const struct model *m, unsigned pressure)
{
	const struct history *h = history_of(m);
	uint64_t until = h->held_since + config.max_suspended_ns - h->off_total;

	if (now < m->not_before) {
		if (m->teardown || !takes_part(m) || (must_run(m) && !suspend_in_flight(m)))
			assert_true(deadline <= m->not_before);
		return;
	}
	if (suspend_in_flight(m)) /* the core waits for its end */
		return;
	if (m->stray) {
		assert_true(!m->teardown && !m->failed && is_behind(m));
		seen_behind++;
		return;
	}
	assert_false(m->teardown || must_run(m) || !takes_part(m) || !h->held);
	if (is_leased(m))
		return;
	assert_true(off_for(h) < config.max_suspended_ns && deadline <= until);
	if (pressure == PART)
		assert_true(off_in_window(h) < off_allowed());
	if (!h->cause_gone)
		return;
	/* The gang is in its hold-over. */
	seen_over++;
	until = h->cause_gone + hold_over_max();
	assert_true(now < until && deadline <= until);
}

/* Returns whether the core counts the client's gang as held. */
static bool is_held(const struct model *m)
{
	struct core_view view;

	assert_true(core_view_client(core, m->id, now, &view));
	return view.held;
}

/* Returns whether a client works on the GPU while a more urgent one, which can preempt it, does. */
static bool is_urgent_on(unsigned gpu)
{
	FOR_ALL (m) {
		if (!(counts_on(m) >> gpu & 1))
			continue;
		FOR_ALL (o)
			if (presses_on(o, true) >> gpu & 1 && may_preempt(o, m) &&
			    urgency(o) > urgency(m))
				return true;
	}
	return false;
}

static void check_node(unsigned gpu)
{
	uint32_t suspended, expected = 0;
	bool urgent;

	core_view_node(core, 100 + gpu, &urgent, &suspended);
	FOR_ALL (m)
		expected += m->state != RUNS && m->held >> gpu & 1;
	assert_int_equal(suspended, expected);
	assert_int_equal(urgent, is_urgent_on(gpu));
}

/* Lets the core decide until it has no further action, and checks each action and the state of
 * every client. */
static void decide(void)
{
	unsigned pressure[CLIENTS];
	size_t n;

	while ((n = core_decide(core, now, actions, room, &deadline)) != 0) {
		for (size_t i = 0; i < n; i++) {
			struct model *m = by_id(actions[i].client);

			assert_non_null(m); /* no action for a removed client */
			if (actions[i].op == CORE_SUSPEND)
				apply_suspend(m);
			else
				apply_resume(m);
		}
		if (n < room)
			break;
	}
	FOR_ALL (m)
		m->stray = !is_held(m) && (m->state == OFF || (m->stray && m->state == GOES));
	FOR_ALL (m)
		keep_history(m, pressure[m - models] = pressure_on(m));
	FOR_ALL (m) {
		unsigned on = pressure[m - models];

		if (m->state == RUNS)
			check_running(m, on);
		if (m->state == OFF)
			check_suspended(m, on);
		seen_slack += m->state == RUNS && on == SLACK;
		seen_grouped += m->group && m->state == GOES;
	}
	for (unsigned gpu = 0; gpu < GPUS; gpu++)
		check_node(gpu);
	assert_true(deadline > now);
}

#endif

// SPDX-License-Identifier: MIT
/*
 * Proves, by random events in simulated machines of each policy (one node can have another policy),
 * against a second model of the rules (account.h), after every decision:
 *  - No less urgent gang runs beside a more urgent one, except as far as the node's policy, the
 *    starvation bound and the listed exceptions allow.
 *  - No gang stays suspended without a cause for longer than hold-over and budget allow, nor beyond
 *    the bound, in whatever way the cause ended. At the end everything runs.
 *  - The clients of a group are either all held or not at all. While any of them works, each
 *    contends and is contended on all nodes of the group.
 *  - No client contends with another tenant's without a right. A client that moves to another
 *    tenant or group, while it or others of its group are held, is neither released early nor held
 *    longer.
 *  - A gang has its share of each window. A client that is only observed is not held.
 *  - A client that leaves repeatedly is not suspended as often, nor is one whose suspends are slow;
 *    after several slow ones in a row it is not suspended at all.
 *  - Removed clients get no action, a client has one action in flight, each action is answered
 *    (also with a failure), and the deadline that the core returns is early enough.
 *  - The counts of a node are right at any time, and 0 when all clients have gone.
 *
 * 160,000 events by default; EVENTS in the environment sets another number, SEED repeats a run.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/unit/scheduler_core/account.h"

#define MACHINE_EVENTS 5000 /* events until the next simulated machine */

static uint64_t rng;
static unsigned long seen_early, seen_failed, seen_configured, seen_moved, seen_slow;

static uint32_t draw(uint32_t n)
{
	rng ^= rng << 13;
	rng ^= rng >> 7;
	rng ^= rng << 17;
	return (uint32_t)(rng >> 33) % n;
}

static void count_slow(struct model *m, bool slow)
{
	m->slow = slow ? m->slow + 1 : 0;
	m->slow_until = slow ? now + (m->slow == 1 ? 1 * S : 2 * S) : 0;
	m->exempt |= m->slow == CORE_SLOW_MAX;
	seen_slow += m->slow == CORE_SLOW_MAX;
}

static void finish(struct model *m)
{
	int error = draw(300) == 0 ? -EIO : 0;
	uint64_t duration = draw(m->slow ? 2 : 50) == 0 ? COST_MAX : 1 + draw(5 * MS);

	if (m->state == GOES && draw(30) == 0) {
		core_finished(core, m->id, -ECANCELED, 0, now);
		m->state = RUNS;
		m->not_before = m->teardown ? 0 : now + CORE_RETRY_NS;
		return;
	}
	if (m->state == COMES && draw(10) == 0)
		error = -EIO;
	core_finished(core, m->id, error, duration, now);
	m->not_before = 0;
	seen_failed += error != 0;
	if (m->state == GOES) {
		m->state = OFF;
		if (error)
			m->failed = m->exempt = true;
		else
			count_slow(m, duration > 50 * MS);
	} else if (error) {
		m->state = OFF;
		m->not_before = now + CORE_RETRY_NS;
	} else {
		struct history *h = history_of(m);

		m->state = RUNS;
		m->failed = false;
		if (m->early)
			m->not_before = m->off_since + CORE_RETRY_NS;
		if (m->not_before < m->slow_until)
			m->not_before = m->slow_until;
		seen_early += m->not_before > now;
		if (h->held)
			return;
		count_off(h, h->runs_since);
		h->runs_since = now;
		if (h->starved)
			h->rest_until = now + REST;
	}
}

static void add(struct model *m)
{
	unsigned tenant = draw(2), group = grouped ? draw(GROUPS) : 0;
	bool alone = true;

	*m = (struct model){.tenant = tenant, .group = group, .priority = (int)draw(17) - 1};
	FOR_ALL (o)
		if (together(o, m))
			alone = false;
	if (alone)
		*history_of(m) = (struct history){.runs_since = now};
	m->id = core_add(core, m->tenant, m->group, m->priority, now);
	assert_int_not_equal(m->id, 0);
	if (draw(10)) {
		m->able = true;
		core_set_capability(core, m->id, CORE_ABLE);
	}
	if (draw(2)) {
		m->slo = (1 + draw(2000)) * MS;
		core_set_slo(core, m->id, m->slo);
	}
}

static void change_activity(struct model *m)
{
	unsigned gpu = draw(GPUS);
	bool active = draw(2);

	if (!m->active && active)
		m->busy_since = now;
	m->active = (m->active & ~(1u << gpu)) | (unsigned)active << gpu;
	m->held |= m->active;
	m->named |= 1u << gpu;
	assert_true(core_set_activity(core, m->id, 100 + gpu, active, now));
}

/* A reload changes the configuration, and an operator changes a node's policy. */
static void configure(void)
{
	enum policy rule = own.rule;

	config.hold_over = draw(2);
	config.online_weight = draw(WEIGHT_MAX + 1);
	config.max_online_overhead = draw(2) ? draw(101) : 0;
	if (config.policy.rule != POLICY_strict)
		rule = draw(2) ? config.policy.rule : (enum policy)draw(POLICIES);
	own = (struct core_policy){rule, config.policy.share_percent};
	core_configure(core, &config);
	assert_true(core_set_policy(core, 100, &own));
	for (int i = 0; i < CLIENTS; i++)
		singles[i].window_off = 0;
	for (int i = 0; i < 8 * GROUPS; i++)
		groups[i / GROUPS][i % GROUPS].window_off = 0;
	seen_configured++;
}

static unsigned others(const struct model *of)
{
	unsigned n = 0;

	FOR_GANG(m, of)
	n += m != of;
	return n;
}

/* A changed rule or grant of the configuration moves the client. */
static void move(struct model *m)
{
	const struct model old = *m;
	const struct history was = *history_of(m);
	bool off = m->state == GOES || m->state == OFF, left = others(m) > 0;
	struct core_rights rights;
	struct history *h;

	if (draw(2))
		m->tenant = draw(2);
	m->can_preempt = draw(2);
	m->preemptible_by = draw(2);
	m->group = grouped && draw(2) ? draw(GROUPS) : m->group;
	rights = (struct core_rights){.tenant = m->tenant,
				      .can_preempt = m->can_preempt,
				      .preemptible_by = m->preemptible_by};
	core_move(core, m->id, &rights, m->group, now);
	if (m->tenant == old.tenant && m->can_preempt == old.can_preempt &&
	    m->preemptible_by == old.preemptible_by && m->group == old.group)
		return;
	seen_moved += was.held;
	h = history_of(m);
	if (others(m) == 0) {
		*h = was;
		if (left && !off)
			keep_history(m, NONE);
	} else if (off && !h->held) {
		m->stray = true;
	} else if (off && was.held && off_for(&was) > off_for(h)) {
		h->off_total += off_for(&was) - off_for(h);
	}
}

static void event(void)
{
	struct model *m = &models[draw(CLIENTS)];

	if (!m->id) {
		if (draw(4) == 0)
			add(m);
		return;
	}
	if ((m->state == GOES || m->state == COMES) && draw(3)) {
		finish(m);
		return;
	}
	switch (draw(412)) {
	case 0 ... 1:
		core_remove(core, m->id);
		core_finished(core, m->id, 0, 0, now);
		m->id = 0;
		break;
	case 2:
		m->refused = draw(4) == 0;
		m->able = !m->refused;
		core_set_capability(core, m->id, m->able ? CORE_ABLE : CORE_REFUSED);
		break;
	case 3:
		m->priority = (int)draw(17) - 1;
		core_set_priority(core, m->id, m->priority);
		break;
	case 4:
		m->lease_until = draw(2) ? now + draw(500) * MS : 0;
		core_set_lease(core, m->id, m->lease_until);
		break;
	case 401 ... 402:
		m->slo = draw(2) * (1 + draw(2000)) * MS;
		core_set_slo(core, m->id, m->slo);
		break;
	case 403:
		configure();
		break;
	case 405 ... 411:
		move(m);
		break;
	case 5 ... 20:
		m->teardown = !m->teardown;
		core_set_teardown(core, m->id, m->teardown);
		break;
	default:
		change_activity(m);
	}
}

/* Ends all activity. Every remaining client must run again, and leave no count behind when it is
 * removed. */
static void end_machine(void)
{
	uint32_t suspended;
	bool urgent;

	FOR_ALL (m) {
		core_set_lease(core, m->id, m->lease_until = 0);
		core_set_teardown(core, m->id, m->teardown = false);
		m->active = 0;
		for (unsigned g = 0; g < GPUS; g++)
			core_set_activity(core, m->id, 100 + g, false, now);
	}
	for (int round = 0; round < 200; round++) {
		now += CORE_RETRY_NS;
		decide();
		FOR_ALL (m)
			if (m->state == GOES || m->state == COMES)
				finish(m);
	}
	decide();
	FOR_ALL (m)
		assert_int_equal(play_state(m->id), CORE_RUNNING);
	assert_int_equal(deadline, CORE_NEVER);
	for (unsigned g = 0; g < GPUS; g++) {
		core_view_node(core, 100 + g, &urgent, &suspended);
		assert_false(urgent);
		assert_int_equal(suspended, 0);
	}
}

static void play_machine(enum policy rule)
{
	grouped = draw(2);
	room = grouped ? CLIENTS : 1;
	config = (struct core_config)CORE_CONFIG_DEFAULT;
	config.policy = (struct core_policy){rule, 1 + draw(99)};
	own = config.policy;
	/* Starvation is tested in strict machines only; in others it would hide violations of their
	 * policies. */
	config.max_suspended_ns = rule == POLICY_strict && !grouped ? 3 * S : 1000000 * S;
	core_destroy(core);
	core = core_create(&config, CLIENTS);
	assert_non_null(core);
	memset(models, 0, sizeof(models));
	configure();
	for (int i = 0; i < MACHINE_EVENTS; i++) {
		event();
		if (draw(3) == 0)
			now += draw(2000000);
		if (draw(500) == 0)
			now += draw(2000) * MS;
		decide();
	}
	end_machine();
}

static void random_events(void **state)
{
	const char *given = getenv("SEED"), *count = getenv("EVENTS");
	uint64_t events = count ? strtoull(count, NULL, 0) : 160000;

	(void)state;
	rng = given ? strtoull(given, NULL, 0) : 0x9e3779b97f4a7c15ull;
	print_message("SEED=%#llx, %llu events\n", (unsigned long long)rng,
		      (unsigned long long)events);
	for (uint64_t i = 0; i < events / MACHINE_EVENTS; i++)
		play_machine((enum policy)(i % POLICIES));
	print_message("%lu suspends (%lu of groups), %lu resumes, of which %lu starved, %lu for "
		      "a share, %lu early; %lu failures, %lu times held over, %lu times slack, "
		      "%lu times behind a resume, "
		      "%lu configurations, %lu moves of who was held, %lu times pressed by another "
		      "tenant\n",
		      seen_suspend, seen_grouped, seen_resume, seen_starved, seen_share, seen_early,
		      seen_failed, seen_over, seen_slack, seen_behind, seen_configured, seen_moved,
		      seen_other_rights);
	/* Without enough of each case the test would prove nothing. */
	assert_true(seen_suspend > 1000 && seen_resume > 1000 && seen_starved > 2 &&
		    seen_share > 10 && seen_early > 10 && seen_failed > 100 && seen_over > 100 &&
		    seen_slack > 100 && seen_grouped > 100 && seen_behind > 100 &&
		    seen_moved > 100 && seen_other_rights > 100 && seen_slow > 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {PLAY(random_events)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

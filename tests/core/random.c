// SPDX-License-Identifier: MIT
/*
 * Proves, over 300,000 random events against a second and independent account
 * of the same world: after every decision nobody less urgent runs unacted on
 * beside a more urgent one (beyond the exceptions), nothing stays suspended
 * without a cause or beyond the bound, no action goes to the dead, and at most
 * one is in flight for a client.
 *
 * The second account keeps no counts: it looks at every pair each time.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/core/play.h"

#define CLIENTS 40
#define GPUS 5
#define EVENTS 300000
#define BOUND (30 * S)
#define REST (200 * MS)

enum model_state { RUNS, GOES, OFF, COMES };

struct model {
	core_id id; /* 0: nobody */
	unsigned tenant;
	int priority;
	bool able, refused, spared, leaving, broken;
	bool active[GPUS], held[GPUS];
	enum model_state state;
	bool starved;
	uint64_t off_since, on_since, off_total, on_total;
	uint64_t spare_until, retry_at;
};

static struct model models[CLIENTS];
static uint64_t rng;
static unsigned long seen_suspend, seen_resume, seen_starved;

static uint32_t draw(uint32_t n)
{
	rng ^= rng << 13;
	rng ^= rng >> 7;
	rng ^= rng << 17;
	return (uint32_t)(rng >> 33) % n;
}

static bool is_pressed(const struct model *m)
{
	const bool *where = m->state == RUNS ? m->active : m->held;

	if (m->priority < 0)
		return false;
	for (int i = 0; i < CLIENTS; i++) {
		const struct model *o = &models[i];

		if (!o->id || o->tenant != m->tenant || o->priority <= m->priority ||
		    o->state == GOES || o->state == OFF)
			continue;
		for (int g = 0; g < GPUS; g++)
			if (o->active[g] && where[g])
				return true;
	}
	return false;
}

static bool over_the_bound(const struct model *m)
{
	return m->off_total + (now - m->off_since) >= BOUND;
}

static struct model *by_id(core_id id)
{
	for (int i = 0; i < CLIENTS; i++)
		if (models[i].id == id)
			return &models[i];
	return NULL;
}

static void apply(const struct core_action *a)
{
	struct model *m = by_id(a->client);

	assert_non_null(m); /* nothing for the dead */
	if (a->verb == CORE_SUSPEND) {
		assert_int_equal(m->state, RUNS); /* one in flight */
		assert_true(m->able && !m->spared && !m->leaving && m->priority >= 0);
		assert_true(now >= m->spare_until);
		m->on_total += now - m->on_since;
		if (m->on_total >= REST)
			m->on_total = m->off_total = 0;
		m->off_since = now;
		memcpy(m->held, m->active, sizeof(m->held));
		m->state = GOES;
		seen_suspend++;
	} else {
		assert_int_equal(m->state, OFF);
		assert_true(now >= m->retry_at);
		/* the actions stand in the order in which they were decided */
		m->starved = over_the_bound(m) && is_pressed(m) && !m->leaving && !m->broken &&
			     !m->refused;
		seen_starved += m->starved;
		m->state = COMES;
		seen_resume++;
	}
}

static void check(void)
{
	for (int i = 0; i < CLIENTS; i++) {
		const struct model *m = &models[i];
		bool p;

		if (!m->id)
			continue;
		p = is_pressed(m);
		if (m->state == RUNS && p)
			assert_true(!m->able || m->spared || m->leaving || now < m->spare_until);
		if (m->state == OFF && now >= m->retry_at)
			assert_true(p && !m->leaving && !m->broken && !m->refused &&
				    !over_the_bound(m));
		/* it asks to be called again in time */
		if (m->state == RUNS && p && m->able && !m->spared && !m->leaving)
			assert_true(deadline <= m->spare_until);
		if (m->state == OFF && now < m->retry_at &&
		    (!p || m->leaving || m->broken || m->refused))
			assert_true(deadline <= m->retry_at);
		if (m->state == OFF && p)
			assert_true(deadline <= (m->off_since + BOUND > m->off_total
							 ? m->off_since + BOUND - m->off_total
							 : 0) ||
				    now < m->retry_at);
	}
	assert_true(deadline > now);
}

static void decide(void)
{
	play_decide();
	for (size_t i = 0; i < action_count; i++)
		apply(&actions[i]);
	check();
}

static void finish(struct model *m)
{
	int error = draw(50) == 0 ? -EIO : 0;
	uint64_t duration = draw(200) == 0 ? 60 * MS : draw(5) * MS;

	if (m->state == GOES && draw(30) == 0) {
		core_finished(core, m->id, -ECANCELED, 0, now);
		m->state = RUNS;
		m->on_since = now;
		return;
	}
	core_finished(core, m->id, error, duration, now);
	if (m->state == GOES) {
		m->state = OFF;
		m->retry_at = 0;
		if (error)
			m->broken = m->spared = true;
		else if (duration > 50 * MS)
			m->spared = true;
	} else if (error) {
		m->state = OFF;
		m->retry_at = now + CORE_RETRY_NS;
	} else {
		m->state = RUNS;
		m->off_total += now - m->off_since;
		m->on_since = now;
		if (m->starved) {
			m->spare_until = now + REST;
			m->off_total = m->on_total = 0;
		}
		m->broken = m->starved = false;
	}
}

static void add(struct model *m)
{
	memset(m, 0, sizeof(*m));
	m->tenant = draw(2);
	m->priority = (int)draw(8) * 2 - 1 + (int)draw(2);
	m->on_since = now;
	m->id = core_add(core, m->tenant, m->priority, now);
	assert_int_not_equal(m->id, 0);
	if (draw(10)) {
		m->able = true;
		core_set_capability(core, m->id, CORE_ABLE);
	}
}

static void event(void)
{
	struct model *m = &models[draw(CLIENTS)];
	unsigned gpu = draw(GPUS);

	if (!m->id) {
		if (draw(4) == 0)
			add(m);
		return;
	}
	if ((m->state == GOES || m->state == COMES) && draw(3)) {
		finish(m);
		return;
	}
	switch (draw(200)) {
	case 0:
		core_remove(core, m->id);
		core_finished(core, m->id, 0, 0, now);
		m->id = 0;
		break;
	case 1:
		m->refused = draw(4) == 0;
		m->able = !m->refused;
		core_set_capability(core, m->id, m->able ? CORE_ABLE : CORE_REFUSED);
		break;
	case 2 ... 12:
		m->leaving = !m->leaving;
		core_set_leaving(core, m->id, m->leaving);
		break;
	default:
		m->active[gpu] = draw(2);
		m->held[gpu] |= m->active[gpu];
		assert_true(core_set_activity(core, m->id, 100 + gpu, m->active[gpu]));
	}
}

static void play(uint64_t seed)
{
	rng = seed;
	memset(models, 0, sizeof(models));
	for (int i = 0; i < EVENTS; i++) {
		event();
		if (draw(3) == 0)
			now += draw(2000000);
		if (draw(500) == 0)
			now += draw(20) * S;
		decide();
	}
	/* The world ends: whoever is left is running again. */
	for (int i = 0; i < CLIENTS; i++)
		for (unsigned g = 0; models[i].id && g < GPUS; g++) {
			models[i].active[g] = false;
			core_set_activity(core, models[i].id, 100 + g, false);
		}
	for (int round = 0; round < 100; round++) {
		now += CORE_RETRY_NS;
		decide();
		for (int i = 0; i < CLIENTS; i++)
			if (models[i].id && (models[i].state == GOES || models[i].state == COMES))
				finish(&models[i]);
	}
	decide();
	for (int i = 0; i < CLIENTS; i++)
		if (models[i].id)
			assert_int_equal(play_state(models[i].id), CORE_RUNNING);
	assert_int_equal(deadline, CORE_NEVER);
}

static void random_events(void **state)
{
	const char *given = getenv("SEED");
	uint64_t seed = given ? strtoull(given, NULL, 0) : 0x9e3779b97f4a7c15ull;

	(void)state;
	print_message("SEED=%#llx\n", (unsigned long long)seed);
	play(seed);
	/* or the test would prove nothing */
	assert_true(seen_suspend > 1000 && seen_resume > 1000 && seen_starved > 10);
}

int main(void)
{
	const struct CMUnitTest tests[] = {PLAY(random_events)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

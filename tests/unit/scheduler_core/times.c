// SPDX-License-Identifier: MIT
/* Proves, by examples and random histories: each nanosecond since a client was added is counted in
 * exactly one of its times, the one that follows from its state and from the reason for which its
 * gang is held. */
#include <stdio.h>
#include <string.h>

#include "tests/unit/scheduler_core/play.h"

static core_id low, high;

static struct core_view view_of(core_id c)
{
	struct core_view view;

	assert_true(core_view_client(core, c, now, &view));
	return view;
}

static void expect(core_id c, uint64_t (*wanted)[CORE_TIMES])
{
	struct core_view view = view_of(c);

	for (unsigned i = 0; i < CORE_TIMES; i++)
		if (view.time_ns[i] != (*wanted)[i])
			fail_msg("%s: %llu instead of %llu", core_time_name(i),
				 (unsigned long long)view.time_ns[i],
				 (unsigned long long)(*wanted)[i]);
}
#define EXPECT(c, ...) expect(c, &(uint64_t[CORE_TIMES]){__VA_ARGS__})

static int setup(void **state)
{
	struct core_config config = CORE_CONFIG_DEFAULT;

	if (play_setup(state))
		return -1;
	core_configure(core, &config);
	low = play_add(2);
	high = play_add(15);
	play_active(low, GPU);
	play_decide();
	return 0;
}

static void one_suspension(void **state)
{
	(void)state;
	now += 7 * MS;
	play_active(high, GPU);
	play_expect(CORE_SUSPEND, low);
	now += 2 * MS;
	core_finished(core, low, 0, 2 * MS, now);
	play_decide();
	now += 50 * MS;
	EXPECT(low, [CORE_TIME_RUNNING] = 7 * MS, [CORE_TIME_SUSPENDING] = 2 * MS,
	       [CORE_TIME_HELD] = 50 * MS);
	play_idle(high, GPU);
	assert_int_equal(play_decide(), 0);
	now += 1 * MS;
	EXPECT(low, [CORE_TIME_RUNNING] = 7 * MS, [CORE_TIME_SUSPENDING] = 2 * MS,
	       [CORE_TIME_HELD] = 50 * MS, [CORE_TIME_HELD_OVER] = 1 * MS);
	now = deadline;
	play_expect(CORE_RESUME, low);
	now += 3 * MS;
	core_finished(core, low, 0, 3 * MS, now);
	play_decide();
	now += 11 * MS;
	assert_int_equal(view_of(low).time_ns[CORE_TIME_RUNNING], 18 * MS);
	assert_int_equal(view_of(low).time_ns[CORE_TIME_RESUMING], 3 * MS);
	EXPECT(high, [CORE_TIME_RUNNING] = 52 * MS, [CORE_TIME_IDLE] = now - 1000 * S - 52 * MS);
	play_idle(low, GPU);
	play_decide();
	now += 2 * MS;
	assert_int_equal(view_of(low).time_ns[CORE_TIME_IDLE], 2 * MS);
}

/* While an order lasts it is the reason of the hold, with or without more urgent work. The time
 * after a failed resume does not count as held. */
static void requests_and_failures(void **state)
{
	(void)state;
	core_set_lease(core, low, now + 20 * MS);
	play_expect(CORE_SUSPEND, low);
	core_finished(core, low, 0, 1 * MS, now);
	play_active(high, GPU);
	play_decide();
	now += 20 * MS;
	play_decide();
	now += 5 * MS;
	EXPECT(low, [CORE_TIME_REQUESTED] = 20 * MS, [CORE_TIME_HELD] = 5 * MS);
	core_remove(core, high);
	play_decide();
	now = deadline;
	play_expect(CORE_RESUME, low);
	core_finished(core, low, -EIO, 0, now);
	play_decide();
	now += 4 * MS;
	assert_int_equal(view_of(low).time_ns[CORE_TIME_RESUMING], 4 * MS);
}

/* ---- random ---- */

#define CLIENTS 6
#define EVENTS 40000

static struct random_client {
	core_id id; /* 0: this entry is unused */
	uint64_t came, lease_until;
	unsigned group;
	bool working;
	uint64_t time_ns[CORE_TIMES];
} clients[CLIENTS];
static uint64_t rng = 0x9e3779b97f4a7c15ull;

static uint32_t draw(uint32_t n)
{
	rng ^= rng << 13;
	rng ^= rng >> 7;
	rng ^= rng << 17;
	return (uint32_t)(rng >> 33) % n;
}

static bool leased(const struct random_client *of)
{
	for (struct random_client *c = clients; c < clients + CLIENTS; c++)
		if (c->id && (c == of || (c->group && c->group == of->group)) &&
		    c->lease_until > now)
			return true;
	return false;
}

/* Returns the time in which the client's next nanoseconds are counted, after the last decision. */
static enum core_time time_now(const struct random_client *c)
{
	struct core_view view = view_of(c->id);

	if (view.state == CORE_SUSPENDED && view.held && leased(c))
		return CORE_TIME_REQUESTED;
	if (view.state == CORE_SUSPENDED && view.held)
		return view.contended ? CORE_TIME_HELD : CORE_TIME_HELD_OVER;
	if (view.state == CORE_RUNNING && !c->working)
		return CORE_TIME_IDLE;
	return (const enum core_time[]){CORE_TIME_RUNNING, CORE_TIME_SUSPENDING, CORE_TIME_RESUMING,
					CORE_TIME_RESUMING}[view.state];
}

static void random_event(struct random_client *c)
{
	if (!c->id) {
		*c = (struct random_client){.came = now, .group = draw(3)};
		c->id = core_add(core, 1, c->group, (int)draw(17) - 1, now);
		assert_int_not_equal(c->id, 0);
		core_set_capability(core, c->id, CORE_ABLE);
		return;
	}
	switch (draw(40)) {
	case 0:
		core_remove(core, c->id);
		c->id = 0;
		break;
	case 1:
		c->lease_until = draw(2) ? now + draw(50) * MS : 0;
		core_set_lease(core, c->id, c->lease_until);
		break;
	case 2:
		core_set_priority(core, c->id, (int)draw(17) - 1);
		break;
	case 3:
		core_set_teardown(core, c->id, draw(2));
		break;
	case 4 ... 20:
		core_finished(core, c->id,
			      draw(9)	? 0
			      : draw(4) ? -ECANCELED
					: -EIO,
			      draw(3) * MS, now);
		if (view_of(c->id).state == CORE_RUNNING)
			core_clear_exempt(core, c->id);
		break;
	default:
		c->working = draw(2);
		core_set_activity(core, c->id, GPU, c->working, now);
	}
}

/* What was decided stays until the next decision. */
static void pass(uint64_t ns)
{
	for (struct random_client *c = clients; c < clients + CLIENTS; c++)
		if (c->id)
			c->time_ns[time_now(c)] += ns;
	now += ns;
}

static void compare(struct random_client *c, uint64_t seen[CORE_TIMES])
{
	uint64_t sum = 0;

	expect(c->id, &c->time_ns);
	for (unsigned i = 0; i < CORE_TIMES; i++) {
		sum += c->time_ns[i];
		seen[i] += c->time_ns[i] > 0;
	}
	assert_int_equal(sum, now - c->came);
}

static void random_histories(void **state)
{
	uint64_t seen[CORE_TIMES] = {0}, ns;

	(void)state;
	memset(clients, 0, sizeof(clients));
	core_remove(core, low);
	core_remove(core, high);
	for (unsigned i = 0; i < EVENTS; i++) {
		random_event(&clients[draw(CLIENTS)]);
		while (play_decide())
			;
		ns = draw(2 * MS);
		pass(deadline - now < ns ? deadline - now : ns);
		for (unsigned c = 0; c < CLIENTS; c++)
			if (clients[c].id)
				compare(&clients[c], seen);
	}
	for (unsigned t = 0; t < CORE_TIMES; t++) {
		print_message("%s: in %llu accounts\n", core_time_name(t),
			      (unsigned long long)seen[t]);
		assert_true(seen[t] > 1000);
	}
}

#define TIMES(f) cmocka_unit_test_setup_teardown(f, setup, play_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TIMES(one_suspension),
		TIMES(requests_and_failures),
		TIMES(random_histories),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

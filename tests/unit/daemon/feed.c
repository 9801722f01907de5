// SPDX-License-Identifier: MIT
/* Proves:
 *  - The recording that the feed writes of random calls plays back without a difference, also if
 *    the worker passes times that go back, and after a restart of the worker.
 *  - Without --record no line is written.
 *  - A decision that cannot change anything is not recorded.
 *  - A reader that does not read, or has closed the pipe, ends the recording but not the feed.
 *
 * SEED=N in the environment repeats a run. */
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
/* cmocka.h needs the first four headers above */
#include <cmocka.h>
#include <errno.h>

#include "scheduler/daemon/recording/feed.h"
#include "tests/unit/scheduler_core/recording.h"

#define CLIENTS 8u
#define START UINT64_C(5000000000)
#define MS UINT64_C(1000000)

static struct feed feed;
static const struct core *core;
static int ends[2];
static uint64_t now, rng;
static core_id clients[CLIENTS];
static bool flying[CLIENTS];
static char text[8u << 20];
static size_t used;

static uint32_t draw(uint32_t n)
{
	rng ^= rng << 13;
	rng ^= rng >> 7;
	rng ^= rng << 17;
	return (uint32_t)(rng >> 33) % n;
}

/* Appends the content of the pipe to `text`. Each write must have been of whole lines: the pipe
 * keeps them apart (O_DIRECT). */
static void drain(void)
{
	ssize_t n;

	while ((n = read(ends[0], text + used, sizeof(text) - used)) > 0) {
		used += (size_t)n;
		assert_int_equal(text[used - 1], '\n');
	}
	assert_true(n < 0 && errno == EAGAIN);
}

static void begin_worker(void)
{
	const struct core_config config = CORE_CONFIG_DEFAULT;

	memset(clients, 0, sizeof(clients));
	memset(flying, 0, sizeof(flying));
	core = feed_create(&feed, &config, CLIENTS, ends[1], START, now);
	assert_non_null(core);
	feed_configure(&feed, &config);
}

static int set_up(void **state)
{
	(void)state;
	signal(SIGPIPE, SIG_IGN);
	assert_int_equal(pipe2(ends, O_NONBLOCK | O_CLOEXEC | O_DIRECT), 0);
	now = START;
	used = (size_t)sprintf(text, "kfdschedd-record 1\nstart %llu\n", (unsigned long long)START);
	begin_worker();
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	feed_destroy(&feed);
	close(ends[0]);
	close(ends[1]);
	return 0;
}

static void assert_played(struct recording_counts *counts)
{
	char problem[512] = "";
	FILE *in = fmemopen(text, used, "r");

	assert_non_null(in);
	if (recording_play(in, "recorded", counts, problem, sizeof(problem)) != RECORDING_SAME)
		fail_msg("%s", problem);
	fclose(in);
}

/* Returns the time of the current loop iteration. It is often earlier than the time of the core's
 * last decision. */
static uint64_t advance(void)
{
	return draw(4) ? now : now - draw(3) * MS;
}

static void change(uint32_t at)
{
	core_id c = clients[at];
	const struct core_rights rights = {draw(2), draw(4), UINT64_MAX << draw(64)};
	const struct core_policy policy = {(enum policy)draw(4), 1 + draw(99)};
	struct core_config config = CORE_CONFIG_DEFAULT;

	switch (draw(40)) {
	case 0:
		feed_remove(&feed, c);
		clients[at] = 0;
		flying[at] = false;
		break;
	case 1:
		feed_set_priority(&feed, c, (int)draw(17) - 1);
		break;
	case 2:
		feed_move(&feed, c, &rights, draw(3), advance());
		break;
	case 3:
		feed_set_capability(&feed, c, draw(6) ? CORE_ABLE : (enum core_capability)draw(3));
		break;
	case 4:
		feed_set_slo(&feed, c, draw(2) * (1 + draw(50)) * MS);
		break;
	case 5:
		feed_set_lease(&feed, c, draw(3) ? now + draw(50) * MS : draw(2) * CORE_NEVER);
		break;
	case 6:
		feed_clear_exempt(&feed, c);
		break;
	case 7:
		if (draw(8) == 0)
			feed_set_victim_only(&feed, c);
		break;
	case 8:
		feed_set_policy(&feed, draw(2) * 100, &policy);
		break;
	case 9:
		config.hold_over = draw(2);
		config.online_weight = draw(1001);
		config.max_online_overhead = draw(101);
		config.policy = policy;
		feed_configure(&feed, &config);
		break;
	case 10 ... 12:
		feed_set_teardown(&feed, c, draw(2));
		break;
	default:
		feed_set_activity(&feed, c, 100 + draw(2), draw(2), advance());
	}
}

static void decide(void)
{
	struct core_action actions[CLIENTS];
	uint64_t deadline;
	size_t n = feed_decide(&feed, now, actions, CLIENTS, &deadline);

	for (size_t i = 0; i < n; i++) {
		assert_int_equal(clients[core_index(actions[i].client)], actions[i].client);
		flying[core_index(actions[i].client)] = true;
	}
}

static void random_event(void)
{
	uint32_t at = draw(CLIENTS);
	core_id c;

	if (clients[at] && flying[at] && draw(2)) {
		feed_finished(&feed, clients[at],
			      draw(50)	? 0
			      : draw(2) ? -EIO
					: -ECANCELED,
			      draw(60) * MS / 20, advance());
		flying[at] = false;
	} else if (clients[at]) {
		change(at);
	} else if (draw(3) == 0) {
		c = feed_add(&feed, draw(2), draw(3), (int)draw(17) - 1, advance());
		assert_int_not_equal(c, 0);
		clients[core_index(c)] = c;
		feed_set_capability(&feed, c, CORE_ABLE);
	}
}

static void random_calls_are_played(void **state)
{
	const char *given = getenv("SEED");
	struct recording_counts counts;

	(void)state;
	rng = given ? strtoull(given, NULL, 0) : 0x9e3779b97f4a7c15ull;
	for (int i = 0; i < 40000; i++) {
		random_event();
		now += draw(2) * draw(4) * MS;
		if (draw(4))
			decide();
		feed_iterate(&feed, now);
		drain();
		if (i % 10000 == 9999) { /* the worker is restarted */
			decide();
			feed_flush(&feed);
			drain();
			feed_destroy(&feed);
			begin_worker();
		}
	}
	feed_flush(&feed);
	drain();
	assert_played(&counts);
	print_message("%zu bytes, %llu calls, %llu decisions, %llu actions\n", used,
		      (unsigned long long)counts.calls, (unsigned long long)counts.decisions,
		      (unsigned long long)counts.actions);
	/* Without enough calls and actions the test would prove nothing. */
	assert_true(counts.workers == 5 && counts.calls > 30000 && counts.actions > 1000);
}

/* Checks that the feed still passes calls on to the core. */
static void assert_alive(void)
{
	core_id c = feed_add(&feed, 1, 0, 15, now);
	struct core_view view;

	assert_true(core_view_client(core, c, now, &view));
	feed_remove(&feed, c);
	decide();
	feed_iterate(&feed, now += FEED_FLUSH_NS);
	assert_false(core_view_client(core, c, now, &view));
}

static void nothing_new_is_not_recorded(void **state)
{
	size_t before;

	(void)state;
	decide();
	before = feed.used;
	for (int i = 0; i < 10; i++) {
		now += MS;
		decide();
	}
	feed_remove(&feed, 0); /* this id was never a client */
	feed_set_priority(&feed, 65536, 3);
	assert_int_equal(feed.used, before);
}

static void without_recording(void **state)
{
	const struct core_config config = CORE_CONFIG_DEFAULT;

	(void)state;
	feed_destroy(&feed);
	core = feed_create(&feed, &config, CLIENTS, -1, 0, now);
	assert_alive();
	assert_null(feed.text);
	drain();
}

/* The recording ends with the last whole line that fitted into the pipe. */
static void slow_reader_ends_it(void **state)
{
	const struct core_policy policy = {POLICY_share, 10};
	struct recording_counts counts;

	(void)state;
	decide();
	for (unsigned i = 0; i < 5000; i++) /* more than the pipe can hold */
		feed_set_policy(&feed, i, &policy);
	feed_flush(&feed);
	assert_true(feed.used > 0);
	for (unsigned i = 0; feed.text; i++) {
		assert_true(i < 100000);
		assert_alive();
	}
	assert_alive();
	drain();
	assert_true(used > 10000 && used < (1u << 20));
	assert_played(&counts);
}

static void lost_reader_ends_it(void **state)
{
	(void)state;
	close(ends[0]);
	assert_alive();
	assert_null(feed.text);
	assert_alive();
	ends[0] = -1;
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(random_calls_are_played), CASE(nothing_new_is_not_recorded),
		CASE(without_recording),       CASE(slow_reader_ends_it),
		CASE(lost_reader_ends_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

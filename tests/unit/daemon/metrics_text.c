// SPDX-License-Identifier: MIT
/* Proves: the metrics text shows exactly what the snapshot contains: labels are escaped, times are
 * exact seconds, histogram buckets are cumulative, and there is no line for a client that does not
 * exist. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "scheduler/daemon/metrics/metrics_text.h"

static struct metrics_snapshot snapshot; /* static, because it is large */
static char *text;

static void render(void)
{
	size_t size;
	FILE *out = open_memstream(&text, &size);

	assert_int_equal(metrics_text(&snapshot, "1.2.3", out), 0);
	fclose(out);
}

static int forget(void **state)
{
	(void)state;
	memset(&snapshot, 0, sizeof(snapshot));
	free(text);
	text = NULL;
	return 0;
}

/* Checks that `line` is a complete line of the text. */
static void has(const char *line)
{
	const char *at = strstr(text, line);

	if (!at || (at != text && at[-1] != '\n') || at[strlen(line)] != '\n')
		fail_msg("no line %s in\n%s", line, text);
}

static void hasnt(const char *part)
{
	if (strstr(text, part))
		fail_msg("%s in\n%s", part, text);
}

static void an_empty_daemon_has_totals_alone(void **state)
{
	(void)state;
	snapshot.uptime_ns = 90000000001u;
	snapshot.worker_restarts = 7;
	snapshot.log_dropped = 8;
	snapshot.log_left_out = 9;
	render();
	has("# HELP kfdsched_build_info Always 1; the label has the version.");
	has("# TYPE kfdsched_build_info gauge");
	has("kfdsched_build_info{version=\"1.2.3\"} 1");
	has("kfdsched_uptime_seconds 90.000000001");
	has("kfdsched_worker_restarts_total 7");
	has("# TYPE kfdsched_log_dropped_lines_total counter");
	has("kfdsched_log_dropped_lines_total 8");
	has("kfdsched_log_left_out_lines_total 9");
	has("kfdsched_suspends_total 0");
	has("kfdsched_suspend_seconds_bucket{le=\"+Inf\"} 0");
	has("# TYPE kfdsched_node_active_seconds_total counter");
	hasnt("node=");
	hasnt("pid=");
}

static void buckets_add_up(void **state)
{
	struct metrics_histogram *h = &snapshot.all.latency[METRICS_DETECTION];

	(void)state;
	metrics_histogram_add(h, 0);
	metrics_histogram_add(h, 20000); /* a bucket includes its upper bound */
	metrics_histogram_add(h, 20001);
	metrics_histogram_add(h, 10000000001u);
	render();
	has("# TYPE kfdsched_detection_seconds histogram");
	has("kfdsched_detection_seconds_bucket{le=\"0.00002\"} 2");
	has("kfdsched_detection_seconds_bucket{le=\"0.00005\"} 3");
	has("kfdsched_detection_seconds_bucket{le=\"10\"} 3");
	has("kfdsched_detection_seconds_bucket{le=\"+Inf\"} 4");
	has("kfdsched_detection_seconds_sum 10.000040002");
	has("kfdsched_detection_seconds_count 4");
	has("kfdsched_suspend_seconds_count 0");
}

static void nodes_and_clients_are_labelled(void **state)
{
	struct metrics_client *c = &snapshot.list[0];

	(void)state;
	snapshot.node_count = 1;
	snapshot.nodes[0].gpu_id = 4294967295u;
	snapshot.nodes[0].suspended = 3;
	snapshot.nodes[0].active_ns = 500000000;
	snapshot.clients = 5;
	snapshot.listed = 1;
	c->pid = 42;
	memcpy(c->comm, "a\"b\\c\nd", 8);
	strcpy(c->level, "gate");
	c->priority = -1;
	c->values.suspended_ns = UINT64_MAX;
	c->values.time_ns[CORE_TIME_HELD_OVER] = 1500000000;
	snapshot.all.time_ns[CORE_TIME_RUNNING] = 2;
	c->node_count = 1;
	c->nodes[0].gpu_id = 7;
	c->nodes[0].vram_bytes = 1u << 30;
	render();
	has("kfdsched_clients 5");
	has("kfdsched_clients_unlisted 4");
	has("kfdsched_node_suspended_clients{node=\"4294967295\"} 3");
	has("kfdsched_node_active_seconds_total{node=\"4294967295\"} 0.500000000");
	has("kfdsched_node_resume_seconds_bucket{node=\"4294967295\",le=\"+Inf\"} 0");
#define C "pid=\"42\",comm=\"a\\\"b\\\\c\\nd\""
	has("# TYPE kfdsched_time_seconds_total counter");
	has("# HELP kfdsched_time_seconds_total Time of clients by state; a client is in one "
	    "state at a time. Runlist updates, save and restore count as suspending and resuming; "
	    "online work, the detection of its end, and idle time between count as held. All clients "
	    "together.");
	has("kfdsched_time_seconds_total{state=\"running\"} 0.000000002");
	has("kfdsched_node_time_seconds_total{node=\"4294967295\",state=\"ordered\"} 0.000000000");
	has("kfdsched_client_time_seconds_total{" C ",state=\"held_over\"} 1.500000000");
	has("kfdsched_client_level{" C ",level=\"gate\"} 1");
	has("kfdsched_client_priority{" C "} -1");
	has("kfdsched_client_vram_bytes{" C ",node=\"7\"} 1073741824");
	has("kfdsched_client_suspended_seconds_total{" C "} 18446744073.709551615");
	has("kfdsched_client_suspend_seconds_bucket{" C ",le=\"0.05\"} 0");
}

static void gpus_have_all_their_names(void **state)
{
	const struct gpu_name names[] = {
		{.gpu_id = 12440,
		 .bdf = "0000:43:00.0",
		 .render_minor = 128,
		 .product = "AMD \"Instinct\""},
		{.gpu_id = 7, .index = 1, .partition = 3},
	};
	size_t size;
	FILE *out = open_memstream(&text, &size);

	(void)state;
	metrics_gpus(names, 2, out);
	fclose(out);
	has("# TYPE kfdsched_gpu_info gauge");
	has("kfdsched_gpu_info{node=\"12440\",gpu=\"0\",bdf=\"0000:43:00.0\",render=\"renderD128\","
	    "product=\"AMD \\\"Instinct\\\"\",partition=\"0\"} 1");
	has("kfdsched_gpu_info{node=\"7\",gpu=\"1\",bdf=\"\",render=\"\",product=\"\",partition=\"3\"} "
	    "1");
}

static void writing_may_fail(void **state)
{
	char little[100];
	FILE *out = fmemopen(little, sizeof(little), "w");

	(void)state;
	setvbuf(out, NULL, _IONBF, 0);
	assert_true(metrics_text(&snapshot, "1", out) < 0);
	fclose(out);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(an_empty_daemon_has_totals_alone, forget),
		cmocka_unit_test_teardown(buckets_add_up, forget),
		cmocka_unit_test_teardown(nodes_and_clients_are_labelled, forget),
		cmocka_unit_test_teardown(gpus_have_all_their_names, forget),
		cmocka_unit_test_teardown(writing_may_fail, forget),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

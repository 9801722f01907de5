// SPDX-License-Identifier: MIT
/*
 * Proves that kfdsched top calculates the right shares and rates from two samples of a made-up
 * machine, treats unknown values as unknown, and sorts and filters the rows.
 */
// clang-format off
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
// clang-format on
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/top/frame.h"

/* Returns a daemon's status: the number of suspends so far (each of took_us), the working time of
 * the nodes 7 and 11 so far, and how long process 30 was held. */
static json_t *reply(int worker, int suspends, int took_us, int work7_us, int work11_us,
		     int held_us)
{
	struct hist *hist = calloc(1, sizeof(*hist));
	json_t *status;
	char text[4096];

	for (int i = 0; i < suspends; i++)
		hist_add(hist, (uint64_t)took_us * 1000);
	snprintf(
		text, sizeof(text),
		"{\"daemon\": {\"pid\": 1, \"worker_pid\": %d, \"policy\": \"strict\"},"
		" \"nodes\": [{\"gpu_id\": 11, \"work_us\": %d, \"urgent\": true, "
		"\"suspended\": 1, \"policy\": \"strict\"},"
		"  {\"gpu_id\": 7, \"work_us\": %d, \"urgent\": false, \"suspended\": 0, "
		"\"policy\": \"strict\"}],"
		" \"processes\": ["
		"  {\"pid\": 30, \"comm\": \"train\", \"shim\": true, \"priority\": 2, \"role\": "
		"\"offline\","
		"   \"level\": \"trap\", \"state\": \"suspended\", \"active\": true, \"suspends\": "
		"%d, \"suspended_us\": %d,"
		"   \"queue_counts\": [{\"gpu_id\": 7, \"queues\": 2, \"compute\": 1}, "
		"{\"gpu_id\": 11, \"queues\": 1, \"compute\": 1}]},"
		"  {\"pid\": 4, \"comm\": \"serve\", \"priority\": null, \"role\": \"seen\", "
		"\"level\": \"observe\","
		"   \"state\": \"running\", \"active\": false}],"
		" \"totals\": {\"suspends\": %d, \"resumes\": %d, \"failures\": 0}}",
		worker, work11_us, work7_us, suspends, held_us, suspends, suspends);
	status = json_loads(text, 0, NULL);
	assert_non_null(status);
	for (const char *const *key = (const char *const[]){"suspend_ns", "detection_ns", NULL};
	     *key; key++) {
		json_t *buckets = json_array();

		for (unsigned b = 0; b < HIST_BUCKETS; b++)
			if (hist->buckets[b])
				json_array_append_new(buckets,
						      json_pack("[I,I]",
								(json_int_t)hist_bucket_upper(b),
								(json_int_t)hist->buckets[b]));
		json_object_set_new(json_object_get(status, "totals"), *key,
				    json_pack("{sI sI sI so}", "count", (json_int_t)hist->count,
					      "sum", (json_int_t)hist->sum, "max",
					      (json_int_t)hist->max, "buckets", buckets));
	}
	free(hist);
	return status;
}

/* Makes a sample at `second` from a status. Frees the status. */
static void draw_frame(struct top_state *state, double second, json_t *status)
{
	top_state_clear(state);
	state->ns = (uint64_t)(second * 1e9) + 1000000000u;
	assert_int_equal(top_state_from_daemon(status, state), 0);
	json_decref(status);
}

static const struct top_view all = {.sort = TOP_PID};

static void test_rates(void **data)
{
	struct top_state before = {0}, now = {0};
	struct top_frame frame = {0};

	(void)data;
	draw_frame(&before, 0, reply(2, 100, 50, 1000000, 0, 500000));
	draw_frame(&now, 2, reply(2, 120, 800, 2000000, 3000000, 1500000));
	/* The earlier 100 suspends took 50 us; they are also in the later status. */
	now.totals->suspend = before.totals->suspend;
	for (int i = 0; i < 20; i++)
		hist_add(&now.totals->suspend, 800000);
	top_frame_make(&frame, &before, &now, &all);

	assert_true(fabs(frame.seconds - 2) < 1e-9);
	assert_true(fabs(frame.suspends_per_s - 10) < 1e-9);
	assert_true(fabs(frame.resumes_per_s - 10) < 1e-9);
	assert_true(frame.failures_per_s == 0);
	/* Of the 20 between the two samples, not of all 120. */
	assert_true(frame.suspend_p50_us >= 800 && frame.suspend_p50_us < 830);
	assert_true(frame.suspend_p99_us >= 800 && frame.suspend_p99_us < 830);

	assert_int_equal(frame.node_count, 2);
	assert_int_equal(frame.nodes[0].node->gpu_id, 7);
	assert_true(fabs(frame.nodes[0].busy_ratio - 0.5) < 1e-9);
	assert_int_equal(frame.nodes[0].busy_by, TOP_BUSY_DAEMON);
	assert_true(frame.nodes[1].busy_ratio == 1); /* limited to the whole time */
	assert_int_equal(frame.nodes[0].node->queues, 1);
	assert_int_equal(frame.nodes[1].node->queues, 1);

	assert_int_equal(frame.row_count, 2);
	assert_int_equal(frame.rows[1].process->pid, 30);
	assert_int_equal(frame.rows[1].process->queues, 3);
	assert_int_equal(frame.rows[1].process->compute_queues, 2);
	assert_true(fabs(frame.rows[1].held_ratio - 0.5) < 1e-9);
	assert_true(fabs(frame.rows[1].suspends_per_s - 10) < 1e-9);
	top_frame_free(&frame);
	top_state_free(&before);
	top_state_free(&now);
}

/* Unknown is "-", never 0: without an earlier sample, with counts of another worker, or with values
 * that were not reported. */
static void test_unknown(void **data)
{
	struct top_state before = {0}, now = {0};
	struct top_frame frame = {0};
	char text[TOP_CELL];

	(void)data;
	draw_frame(&now, 2, reply(2, 120, 800, 2000000, 3000000, 1500000));
	top_frame_make(&frame, NULL, &now, &all);
	assert_true(isnan(frame.suspends_per_s) && isnan(frame.suspend_p50_us));
	assert_true(isnan(frame.nodes[0].busy_ratio) && isnan(frame.rows[1].held_ratio));
	assert_string_equal(top_column_text(text, &frame.rows[1], TOP_HELD), "-");
	for (unsigned c = 0; c < TOP_COLUMNS; c++) {
		top_column_text(text, &frame.rows[0], (enum top_column)c);
		if (c == TOP_PRIORITY || c == TOP_QUEUES || c == TOP_HQDS || c == TOP_RATIO ||
		    c == TOP_VRAM || c == TOP_INNER_PID)
			assert_string_equal(text, "-");
	}

	draw_frame(&before, 0, reply(3, 100, 50, 1000000, 0, 500000));
	top_frame_make(&frame, &before, &now, &all);
	assert_true(isnan(frame.suspends_per_s) && isnan(frame.nodes[0].busy_ratio));
	assert_true(isnan(frame.rows[1].held_ratio));

	/* Without suspends between the two samples the rate is known, but not the latency. */
	draw_frame(&before, 0, reply(2, 120, 800, 2000000, 3000000, 1500000));
	top_frame_make(&frame, &before, &now, &all);
	assert_true(frame.suspends_per_s == 0 && isnan(frame.suspend_p50_us));

	top_frame_free(&frame);
	top_state_free(&before);
	top_state_free(&now);
}

/* Without a daemon: the share of the compute units that are occupied. */
static void test_without_daemon(void **data)
{
	struct top_state now = {.ns = 1};
	struct top_frame frame = {0};
	struct top_process *process;
	struct top_node *node;
	json_t *json;

	(void)data;
	node = top_state_node(&now, 7);
	node->compute_units = 104;
	node->occupied = 26;
	top_state_node(&now, 8);
	process = top_state_process(&now, 12);
	process->queues = 24;
	process->hqds_per_queue = 4;
	strcpy(process->command, "a\xffz");
	top_frame_make(&frame, NULL, &now, &all);
	assert_true(frame.nodes[0].busy_ratio == 0.25);
	assert_int_equal(frame.nodes[0].busy_by, TOP_BUSY_SYSFS);
	assert_true(isnan(frame.nodes[1].busy_ratio));
	assert_int_equal(frame.nodes[1].busy_by, TOP_BUSY_NONE);
	json = top_json(&frame);
	assert_non_null(json);
	process = NULL;
	assert_string_equal(
		json_string_value(json_object_get(
			json_array_get(json_object_get(json, "processes"), 0), "command")),
		"a?z");
	json_decref(json);
	top_frame_free(&frame);
	top_state_free(&now);
}

static void rows_are(const struct top_state *now, const struct top_view *view, const char *pids)
{
	struct top_frame frame = {0};
	char text[128] = "";

	top_frame_make(&frame, NULL, now, view);
	for (size_t i = 0; i < frame.row_count; i++)
		sprintf(text + strlen(text), "%d ", (int)frame.rows[i].process->pid);
	assert_string_equal(text, pids);
	top_frame_free(&frame);
}

static void test_sort_and_filter(void **data)
{
	static const struct {
		pid_t pid;
		int queues, priority;
		int64_t vram;
		const char *level, *command;
	} made_up[] = {
		{5, 2, 15, 100, "trap", "python3 serve.py"},
		{3, 24, -1, -1, "", "unknown"},
		{9, 3, 2, 5000, "gate", "Python3 train.py"},
		{700, 24, 2, 0, "trap", "zsh"},
	};
	struct top_state now = {.ns = 1};

	(void)data;
	for (size_t i = 0; i < sizeof(made_up) / sizeof(made_up[0]); i++) {
		struct top_process *process = top_state_process(&now, made_up[i].pid);

		process->queues = made_up[i].queues;
		process->priority = made_up[i].priority;
		process->vram_bytes = made_up[i].vram;
		strcpy(process->level, made_up[i].level);
		strcpy(process->command, made_up[i].command);
	}
	rows_are(&now, &(struct top_view){.sort = TOP_PID}, "3 5 9 700 ");
	rows_are(&now, &(struct top_view){.sort = TOP_PID, .reverse = true}, "700 9 5 3 ");
	/* Equal rows are sorted by pid. Rows with an unknown value are last, in either
	 * direction. */
	rows_are(&now, &(struct top_view){.sort = TOP_QUEUES, .reverse = true}, "3 700 9 5 ");
	rows_are(&now, &(struct top_view){.sort = TOP_PRIORITY}, "9 700 5 3 ");
	rows_are(&now, &(struct top_view){.sort = TOP_PRIORITY, .reverse = true}, "5 9 700 3 ");
	rows_are(&now, &(struct top_view){.sort = TOP_VRAM}, "700 5 9 3 ");
	rows_are(&now, &(struct top_view){.sort = TOP_LEVEL}, "9 5 700 3 ");
	rows_are(&now, &(struct top_view){.sort = TOP_COMMAND}, "9 5 3 700 ");
	rows_are(&now, &(struct top_view){.sort = TOP_PID, .filter = "python"}, "5 9 ");
	rows_are(&now, &(struct top_view){.sort = TOP_PID, .filter = "gate"}, "9 ");
	rows_are(&now, &(struct top_view){.sort = TOP_PID, .filter = "70"}, "700 ");
	rows_are(&now, &(struct top_view){.sort = TOP_PID, .filter = "nobody"}, "");
	rows_are(&now, &(struct top_view){.sort = TOP_PID, .pid = 9}, "9 ");
	top_state_free(&now);
}

/* A daemon that reports the number of queues instead of the queues. */
static void test_counts(void **data)
{
	struct top_state state = {0};
	json_t *json = json_loads(
		"{\"daemon\": {\"pid\": 1}, \"nodes\": [{\"gpu_id\": 7}, {\"gpu_id\": 8}],"
		" \"processes\": [{\"pid\": 5, \"queue_counts\": [{\"gpu_id\": 7, \"queues\": 3, "
		"\"compute\": 2}, {\"gpu_id\": 8, \"queues\": 1, \"compute\": 0}]},"
		" {\"pid\": 6, \"queue_counts\": [{\"gpu_id\": 7, \"queues\": 4, \"compute\": 4}]},"
		" {\"pid\": 7, \"queue_counts\": []}],"
		" \"totals\": {\"suspends\": 0, \"resumes\": 0, \"failures\": 0,"
		" \"suspend_ns\": {\"count\": 0, \"sum\": 0, \"max\": 0, \"buckets\": []},"
		" \"detection_ns\": {\"count\": 0, \"sum\": 0, \"max\": 0, \"buckets\": []}}}",
		0, NULL);

	(void)data;
	assert_int_equal(top_state_from_daemon(json, &state), 0);
	assert_int_equal(state.processes[0].queues, 4);
	assert_int_equal(state.processes[0].compute_queues, 2);
	assert_int_equal(state.processes[2].queues, 0);
	assert_int_equal(top_find_node(&state, 7)->queues, 6);
	json_decref(json);
	top_state_free(&state);
}

/* Replies of a program that is not the daemon. */
static void test_bad_replies(void **data)
{
	static const char *const bad[] = {
		"{}",
		"[]",
		"{\"daemon\": {}, \"nodes\": 3, \"processes\": []}",
		"{\"daemon\": {}, \"nodes\": [], \"processes\": [{\"pid\": -4}]}",
		"{\"daemon\": {}, \"nodes\": [], \"processes\": [{\"pid\": 99999999999999}]}",
		"{\"daemon\": {}, \"nodes\": [], \"processes\": [7]}",
		"{\"daemon\": {}, \"nodes\": [], \"processes\": [], \"totals\": 5}",
		"{\"daemon\": {}, \"nodes\": [], \"processes\": [], \"totals\": {\"suspends\": 1,"
		" \"resumes\": 1, \"failures\": 0, \"suspend_ns\": {}}}",
	};

	(void)data;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct top_state state = {0};
		json_t *json = json_loads(bad[i], 0, NULL);

		assert_int_equal(top_state_from_daemon(json, &state), -EPROTO);
		json_decref(json);
		top_state_free(&state);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rates),	       cmocka_unit_test(test_unknown),
		cmocka_unit_test(test_without_daemon), cmocka_unit_test(test_sort_and_filter),
		cmocka_unit_test(test_counts),	       cmocka_unit_test(test_bad_replies),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

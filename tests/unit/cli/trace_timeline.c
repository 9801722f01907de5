// SPDX-License-Identifier: MIT
/*
 * Proves the timeline of kfdsched trace: its order and limit, the conversion of events of the
 * daemon, the shim and HIP, and texts from other programs in it.
 *
 * With argv[1] it writes made-up events of all kinds to that file, in Perfetto's JSON format
 * (trace_alone.sh checks it).
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "cli/trace/trace.h"

struct seen {
	uint64_t ns[1000];
	size_t count;
};

static void see(void *context, const struct trace_event *event)
{
	struct seen *seen = context;

	seen->ns[seen->count++] = event->ns;
}

static void moments_come_out_by_their_time(void **state)
{
	struct seen seen = {.count = 0};
	struct timeline *timeline = timeline_new(100, 64, see, &seen);
	unsigned random = 7;

	(void)state;
	assert_non_null(timeline);
	for (uint64_t now = 1000; now < 1500; now++) {
		struct trace_event event = {.ns = now - (uint64_t)(rand_r(&random) % 50)};

		timeline_add(timeline, &event);
		timeline_flush(timeline, now);
		/* events that may still be overtaken are kept back */
		assert_true(seen.count == 0 || seen.ns[seen.count - 1] + 100 <= now || now > 1050);
	}
	timeline_flush(timeline, UINT64_MAX);
	assert_int_equal(seen.count, 500);
	assert_int_equal(timeline_count(timeline), 500);
	for (size_t i = 1; i < seen.count; i++)
		assert_true(seen.ns[i - 1] <= seen.ns[i]);
	timeline_free(timeline);
}

static void too_many_go_out_early_and_none_is_lost(void **state)
{
	struct seen seen = {.count = 0};
	struct timeline *timeline = timeline_new(UINT64_MAX / 2, 4, see, &seen);

	(void)state;
	for (uint64_t ns = 1; ns <= 10; ns++)
		timeline_add(timeline, &(struct trace_event){.ns = ns});
	assert_int_equal(seen.count, 6);
	timeline_free(timeline); /* with some events left */
}

static void hostile_texts_are_made_harmless(void **state)
{
	char text[32];

	(void)state;
	trace_copy(text, sizeof(text), "a\033[2Jb\n\177", 8);
	assert_string_equal(text, "a?[2Jb??");
	trace_copy(text, sizeof(text), "\xc3\xa4\xff\xc3(\xe2\x82\xac\xc2\x9b", 11);
	assert_string_equal(text, "\xc3\xa4?"
				  "?(\xe2\x82\xac??");
	trace_copy(text, 4, "ab\xe2\x82\xac", 5); /* no partial characters */
	assert_string_equal(text, "ab");
	trace_copy(text, sizeof(text), "\xe2\x82", 2);
	assert_string_equal(text, "??");
}

static json_t *parse(const char *text)
{
	json_t *json = json_loads(text, 0, NULL);

	assert_non_null(json);
	return json;
}

static void decisions_know_their_cause(void **state)
{
	json_t *json = parse("{\"number\":4,\"time_us\":5000000,\"kind\":\"suspend\",\"pid\":7,"
			     "\"comm\":\"train\",\"gpu_ids\":[11,12],\"level\":\"trap\","
			     "\"reason\":\"preempted\",\"cause_pid\":8,\"cause_gpu_id\":11,"
			     "\"latency_us\":60,\"duration_us\":900,\"error\":null}");
	struct trace_event event;

	(void)state;
	assert_true(decode_daemon(json, 1000000000, &event));
	assert_int_equal(event.ns, 4000000000);
	assert_int_equal(event.mark, TRACE_SUSPENDED);
	assert_int_equal(event.cause_pid, 8);
	assert_int_equal(event.cause_ns, 4000000000 - 960000);
	assert_int_equal(event.gpu_ids[1], 12);
	assert_int_equal(event.gpu_id, 0); /* there are two nodes */
	assert_non_null(strstr(event.text, "for the work of process 8"));
	/* a failed suspend suspends nothing */
	json_object_set_new(json, "error", json_string("Device or resource busy"));
	assert_true(decode_daemon(json, 1000000000, &event));
	assert_int_equal(event.mark, TRACE_POINT);
	json_decref(json);
	json = parse("{\"kind\":\"suspend\"}");
	assert_false(decode_daemon(json, 0, &event));
	json_decref(json);
}

static void shm_and_log_have_the_same_events(void **state)
{
	static const char line[] = "kfdshim[12]: event 9: active queue 1.3 gpu 4711 value 0x10";
	json_t *json = parse("{\"number\":9,\"age_us\":5,\"monotonic_us\":7,\"kind\":\"active\","
			     "\"value\":16,\"context\":1,\"queue_id\":3,\"gpu_id\":4711}");
	struct trace_event shm, log;
	uint64_t number = 0;

	(void)state;
	assert_true(decode_shm(json, 12, "", &shm));
	assert_true(decode_log(line, sizeof(line) - 1, 7000, &log, &number));
	assert_int_equal(number, 9);
	assert_memory_equal(&shm, &log, sizeof(shm));
	assert_int_equal(shm.mark, TRACE_QUEUE_ACTIVE);
	assert_string_equal(shm.text, "queue has work, write pointer 16");
	json_decref(json);
	assert_true(decode_log("kfdshim[12]: event 1: runtime queue 0.-1 gpu 0 value 0x1", 56, 7,
			       &log, &number));
	assert_false(log.has_queue);
	assert_false(decode_log("kfdshim[12]: the daemon is gone", 31, 7, &log, &number));
	assert_false(decode_log("kfdshim[12]: event 1: burst queue 0.1 gpu 1 value 0x1", 53, 7,
				&log, &number));
}

static void a_call_of_hip_is_a_span(void **state)
{
	struct hiplog_record begin = {.kind = HIPLOG_CALL,
				      .has = HIPLOG_HAS_PID | HIPLOG_HAS_THREAD,
				      .us = 1000,
				      .pid = 5,
				      .thread = 6,
				      .name = {"hipMalloc", 9},
				      .message = {"hipMalloc ( 1 )", 15}};
	struct hiplog_record end = begin;
	static struct open_calls open;
	struct trace_event event;

	(void)state;
	end.kind = HIPLOG_RETURN;
	end.us = 1250;
	assert_false(decode_hip(&begin, 0, &open, &event));
	assert_true(decode_hip(&end, 0, &open, &event));
	assert_int_equal(event.mark, TRACE_SPAN);
	assert_int_equal(event.ns, 1000000);
	assert_int_equal(event.duration_ns, 250000);
	assert_int_equal(event.pid, 5);
	/* a return whose call is unknown */
	assert_true(decode_hip(&end, 0, &open, &event));
	assert_int_equal(event.mark, TRACE_POINT);
	assert_int_equal(event.ns, 1250000);
	/* the duration in the log takes precedence */
	end.has |= HIPLOG_HAS_DURATION;
	end.duration_us = 50;
	assert_true(decode_hip(&end, 0, &open, &event));
	assert_int_equal(event.ns, 1200000);
}

/* ---- a trace with everything ---- */

static void write_picture(const char *path)
{
	FILE *file = fopen(path, "w");
	struct perfetto *p = perfetto_begin(file);
	json_t *about = json_pack("{s[]}", "notes");
	struct trace_event queue = {.source = TRACE_SHIM,
				    .pid = 7,
				    .comm = "a \"b\" \\",
				    .has_queue = true,
				    .gpu_id = 11,
				    .name = "active",
				    .text = "queue has work"};
	struct trace_event act = {.source = TRACE_DAEMON,
				  .pid = 7,
				  .comm = "a",
				  .gpu_ids = {11, 12},
				  .cause_pid = 8,
				  .has_duration = true,
				  .duration_ns = 900000,
				  .name = "suspend",
				  .text = "suspended"};
	struct trace_event driver = {.source = TRACE_DRIVER,
				     .mark = TRACE_SPAN,
				     .comm = "kworker",
				     .thread = 77,
				     .duration_ns = 5000,
				     .has_duration = true,
				     .name = "suspend_queues",
				     .text = "suspend_queues [amdgpu]"};
	static const enum trace_mark marks[] = {
		TRACE_QUEUE_IDLE,    TRACE_QUEUE_ACTIVE, TRACE_QUEUE_ACTIVE, TRACE_QUEUE_BLOCKED,
		TRACE_QUEUE_BLOCKED, TRACE_QUEUE_ACTIVE, TRACE_POINT,	     TRACE_QUEUE_IDLE};

	for (uint64_t round = 0; round < 400; round++) {
		uint64_t base = 1000000000 + round * 10000000;

		queue.queue_id = (uint32_t)(round % 300); /* more tracks than the initial room */
		for (size_t i = 0; i < sizeof(marks) / sizeof(marks[0]); i++) {
			queue.ns = base + i * 1000;
			queue.mark = marks[i];
			perfetto_add(p, &queue);
		}
		act.mark = TRACE_SUSPENDED;
		act.ns = base + 2000000;
		act.cause_ns = act.ns - act.duration_ns - 60000;
		perfetto_add(p, &act);
		driver.ns = base + 100000 + round;
		perfetto_add(p, &driver);
		act.mark = TRACE_RESUMED;
		act.ns = base + 4000000;
		act.cause_ns = 0;
		if (round % 7) /* some resumes are missing */
			perfetto_add(p, &act);
	}
	queue.mark = TRACE_QUEUE_ACTIVE;
	queue.ns += 100000000;
	perfetto_add(p, &queue);
	queue.has_queue = false;
	queue.mark = TRACE_HELD;
	perfetto_add(p, &queue);
	perfetto_add(p, &(struct trace_event){.source = TRACE_HIP,
					      .ns = queue.ns,
					      .mark = TRACE_SPAN,
					      .duration_ns = 5,
					      .thread = 0x7f00,
					      .name = "hipMalloc",
					      .text = "x"});
	perfetto_add(p, &(struct trace_event){.source = TRACE_DAEMON,
					      .ns = queue.ns,
					      .name = "policy",
					      .text = "policy strict"});
	if (perfetto_end(p, queue.ns + 1000, about) != 0)
		exit(1);
	json_decref(about);
	fclose(file);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(moments_come_out_by_their_time),
		cmocka_unit_test(too_many_go_out_early_and_none_is_lost),
		cmocka_unit_test(hostile_texts_are_made_harmless),
		cmocka_unit_test(decisions_know_their_cause),
		cmocka_unit_test(shm_and_log_have_the_same_events),
		cmocka_unit_test(a_call_of_hip_is_a_span),
	};

	if (argc > 1) {
		write_picture(argv[1]);
		return 0;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}

// SPDX-License-Identifier: MIT
/*
 * Proves the analysis of a recording and the comparison of two: slots by XCC, changed settings, a
 * course of any length in bounded memory, predictable ids, too few slots, and the backlog.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "cli/record/analysis.h"

/* Returns a sample of one process with `count` queue ids from `first` on. The queue `id` is on node
 * 1 + id % nodes, and active in `hqds` slots. */
static struct recorded_sample of(pid_t pid, double seconds, uint32_t first, uint32_t count,
				 uint32_t nodes, uint64_t hqds)
{
	struct recorded_process *process = calloc(1, sizeof(*process));

	assert_non_null(process);
	process->pid = pid;
	process->started = (uint64_t)pid;
	process->source = OBSERVE_SYSFS;
	for (uint32_t id = first; id < first + count; id++) {
		struct observe_queue *queue = observe_list_add(&process->queues);

		queue->id = id;
		queue->gpu_id = 1 + id % nodes;
		observe_set(queue, OBSERVE_TYPE, OBSERVE_AQL, OBSERVE_MQD);
		observe_set(queue, OBSERVE_PRIORITY, 7, OBSERVE_MQD);
		observe_set(queue, OBSERVE_MQDS, hqds, OBSERVE_MQD);
		observe_set(queue, OBSERVE_HQDS, hqds, OBSERVE_HQD);
		observe_set(queue, OBSERVE_HQD_XCCS, (UINT64_C(1) << hqds) - 1, OBSERVE_HQD);
	}
	return (struct recorded_sample){.phase = RECORDED_SAMPLE,
					.seconds = seconds,
					.process = process,
					.count = 1,
					.room = 1};
}

static void add(struct analysis *a, struct recorded_sample sample)
{
	analysis_add(a, &sample);
	recorded_sample_free(&sample);
}

/* Returns an empty analysis of 8 nodes with this number of slots and XCCs. */
static struct analysis *new_analysis(int64_t slots, int64_t xccs)
{
	struct analysis *a = calloc(1, sizeof(*a));
	json_t *nodes = json_array();

	assert_non_null(a);
	for (json_int_t id = 1; id <= 8; id++)
		json_array_append_new(nodes,
				      json_pack("{s:I,s:I,s:I}", "gpu_id", id, "compute_slots",
						(json_int_t)slots, "xccs", (json_int_t)xccs));
	analysis_nodes(a, nodes);
	json_decref(nodes);
	return a;
}

static void end(struct analysis *a)
{
	analysis_free(a);
	free(a);
}

/* Returns whether a line of the list contains `words`. Frees the list. */
static bool concludes(json_t *list, const char *words)
{
	const json_t *statement;
	bool found = false;
	size_t i;

	json_array_foreach(list, i, statement) found =
		found || strstr(json_string_value(statement), words);
	json_decref(list);
	return found;
}

/* Names of the recorded machine, not of this one. A GPU without a name has its gpu_id. */
static void test_names_of_gpus(void **state)
{
	struct analysis *a = calloc(1, sizeof(*a));
	json_t *nodes = json_pack("[{s:i,s:i,s:i,s:s,s:n,s:s,s:i,s:i},{s:i,s:i,s:n}]", "gpu_id", 1,
				  "xccs", 1, "index", 3, "bdf", "0000:43:00.0", "product",
				  "compute_partition", "C\033PX", "partition", 1, "partitions", 2,
				  "gpu_id", 2, "xccs", 4, "index");

	(void)state;
	assert_non_null(a);
	assert_non_null(nodes);
	analysis_nodes(a, nodes);
	json_decref(nodes);
	assert_int_equal(a->names, 1);
	assert_int_equal(analysis_gpu(a, 1)->index, 3);
	assert_string_equal(analysis_gpu(a, 1)->bdf, "0000:43:00.0");
	assert_string_equal(analysis_gpu(a, 1)->product, "");
	assert_string_equal(analysis_gpu(a, 1)->mode, "C?PX");
	assert_null(analysis_gpu(a, 2));
	add(a, of(5, 0, 0, 2, 1, 1));
	assert_true(concludes(analysis_conclusion(a), "On GPU 3 each active"));
	end(a);
	a = new_analysis(24, 1);
	add(a, of(5, 0, 0, 2, 1, 1));
	assert_true(concludes(analysis_conclusion(a), "On GPU [1] each active"));
	end(a);
}

static void test_slots_by_xcc(void **state)
{
	static const uint64_t ratios[] = {1, 4, 8};

	(void)state;
	for (unsigned i = 0; i < 3; i++) {
		struct analysis *a = new_analysis(24, (int64_t)ratios[i]);
		char words[32];

		add(a, of(5, 0, 0, 24, 8, ratios[i]));
		/* idle: active in no slot, which is no contradiction */
		add(a, of(5, 1, 0, 24, 8, 0));
		assert_int_equal(a->nodes, 8);
		assert_int_equal(a->node[0].hqds, 3 * ratios[i]);
		assert_int_equal(a->node[0].mapped, 3);
		for (unsigned xcc = 0; xcc < ANALYSIS_XCCS; xcc++)
			assert_int_equal(a->node[0].in_xcc[xcc], xcc < ratios[i] ? 3 : 0);
		assert_int_equal(a->node[0].least, ratios[i]);
		assert_int_equal(a->node[0].most, ratios[i]);
		snprintf(words, sizeof(words), "one per XCC (1:%u)", (unsigned)ratios[i]);
		assert_true(concludes(analysis_conclusion(a), words));
		end(a);
	}
}

static void test_settings(void **state)
{
	struct analysis *a = new_analysis(24, 1);
	struct recorded_sample sample = of(5, 1, 0, 2, 1, 1);

	(void)state;
	add(a, of(5, 0, 0, 2, 1, 1));
	sample.process->queues.queue[1].field[OBSERVE_PRIORITY].value = 11;
	/* These fields change by themselves, or are only less exact. */
	sample.process->queues.queue[0].field[OBSERVE_HQDS].value = 0;
	sample.process->queues.queue[0].field[OBSERVE_TYPE].value = OBSERVE_COMPUTE;
	sample.process->queues.queue[0].field[OBSERVE_PRIORITY] = (struct observe_value){0};
	add(a, sample);
	assert_int_equal(a->process[0].queue[0].changed, 1u << OBSERVE_HQDS);
	assert_int_equal(a->process[0].queue[0].last.field[OBSERVE_TYPE].value, OBSERVE_AQL);
	assert_int_equal(a->process[0].queue[0].last.field[OBSERVE_PRIORITY].value, 7);
	assert_int_equal(a->process[0].queue[1].changed, 1u << OBSERVE_PRIORITY);
	assert_true(concludes(analysis_conclusion(a), "1 of 2 queues was changed"));
	end(a);
}

static void test_long_course(void **state)
{
	struct analysis *a = new_analysis(24, 1);

	(void)state;
	for (unsigned i = 0; i < 10000; i++)
		add(a, of(5, i, 0, i == 7777 ? 9 : 2, 1, 1));
	assert_true(a->points <= ANALYSIS_POINTS && a->points > ANALYSIS_POINTS / 4);
	assert_true(a->point[0].from == 0 && a->point[a->points - 1].to == 9999);
	size_t peaks = 0;

	for (size_t i = 0; i < a->points; i++) {
		assert_true(a->point[i].min == 2);
		peaks += a->point[i].max == 9;
	}
	assert_int_equal(peaks, 1);
	end(a);
}

/* Two processes with the same pid, one after the other, are analysed separately. */
static void test_processes(void **state)
{
	struct analysis *a = new_analysis(24, 1);
	struct recorded_sample other = of(5, 1, 4, 2, 1, 1), unknown = of(5, 2, 0, 0, 1, 1);

	(void)state;
	add(a, of(5, 0, 0, 2, 1, 1));
	other.process->started = 99;
	add(a, other);
	assert_int_equal(a->count, 2);
	assert_int_equal(sampling_verdict(&a->process[0].sampling), SAMPLING_ONCE);
	unknown.process->source = OBSERVE_NO_SOURCE;
	unknown.process->started = 99;
	size_t points = a->points;

	add(a, unknown);
	assert_int_equal(a->points, points); /* an unknown sample does not count as 0 */
	assert_int_equal(a->process[1].sampling.unknown, 1);
	end(a);
}

static void test_comparison(void **state)
{
	struct analysis *a = new_analysis(24, 1), *b = new_analysis(24, 1);
	struct comparison c;

	(void)state;
	for (unsigned i = 0; i < 3; i++) {
		add(a, of(5, i, 0, 16, 1, 1));
		add(b, of(9, i, 0, 16, 1, 1));
	}
	comparison_make(a, b, &c);
	assert_int_equal(c.kind[COMPARED_BOTH], 16);
	assert_int_equal(c.predictable, 1);
	assert_int_equal(c.shared, 1);
	assert_false(c.same_process);
	assert_true(concludes(comparison_conclusion(&c, "A", "B"), "more than its 24 slots"));
	comparison_free(&c);
	comparison_make(a, a, &c);
	assert_true(c.same_process);
	comparison_free(&c);

	/* The ids change in between, although both have the same ones in the end. */
	add(b, of(9, 4, 0, 15, 1, 1));
	comparison_make(a, b, &c);
	assert_int_equal(c.predictable, 0);
	comparison_free(&c);
	end(b);

	/* The same ids on other nodes, and additional ids. */
	b = new_analysis(24, 1);
	for (unsigned i = 0; i < 2; i++)
		add(b, of(9, i, 0, 20, 2, 1));
	comparison_make(a, b, &c);
	assert_int_equal(c.kind[COMPARED_BOTH], 8);
	assert_int_equal(c.kind[COMPARED_DIFFERS], 8);
	assert_int_equal(c.kind[COMPARED_B], 4);
	assert_int_equal(c.predictable, 0);
	comparison_free(&c);
	end(b);

	/* The stability is unknown after one sample. */
	b = new_analysis(24, 1);
	add(b, of(9, 0, 0, 16, 1, 1));
	comparison_make(a, b, &c);
	assert_int_equal(c.predictable, -1);
	comparison_free(&c);
	end(a);
	end(b);
}

/* Adds a sample with two queues on one node, in which so many packets wait. Below 0: not known. */
static void add_waiting(struct analysis *a, pid_t pid, int64_t first, int64_t second)
{
	struct recorded_sample sample = of(pid, 0, 0, 2, 1, 1);
	const int64_t packets[] = {first, second};

	for (unsigned i = 0; i < 2; i++)
		if (packets[i] >= 0)
			observe_set(&sample.process->queues.queue[i], OBSERVE_BACKLOG_BYTES,
				    (uint64_t)packets[i] * 64, OBSERVE_MEMORY);
	add(a, sample);
}

static void test_backlog_values(void **state)
{
	struct backlog b = {0};

	(void)state;
	assert_false(backlog_known(&b));
	assert_false(backlog_known(NULL));
	assert_true(json_is_null(backlog_json(&b)));
	backlog_add(&b, 9);
	backlog_add(&b, 0);
	backlog_add(&b, 2);
	assert_true(backlog_median(&b) == 2);
	backlog_add(&b, 5);
	assert_true(backlog_median(&b) == 3.5);
	assert_true(backlog_share(&b) == 0.75);
	assert_int_equal(b.max, 9);
	backlog_free(&b);

	/* A long series needs bounded memory, and its median stays about the same. */
	for (uint64_t i = 0; i < 100000; i++)
		backlog_add(&b, i * 7919 % 100000);
	assert_true(b.count <= BACKLOG_SAMPLES && b.count >= BACKLOG_SAMPLES / 2);
	assert_int_equal(b.samples, 100000);
	assert_int_equal(b.max, 99999);
	assert_true(backlog_median(&b) > 45000 && backlog_median(&b) < 55000);
	backlog_free(&b);
}

static void test_backlog_of_an_analysis(void **state)
{
	struct analysis *a = new_analysis(24, 1);
	const struct analysed_process *p;
	struct recorded_sample other = of(5, 0, 0, 1, 1, 1);

	(void)state;
	add_waiting(a, 5, 3, 0);
	add_waiting(a, 5, 1, 6);
	add_waiting(a, 5, -1, -1); /* an unknown backlog does not count as 0 */
	/* Only AQL queues have packets of 64 bytes. */
	other.process->queues.queue[0].field[OBSERVE_TYPE].value = OBSERVE_SDMA;
	observe_set(&other.process->queues.queue[0], OBSERVE_BACKLOG_BYTES, 6400, OBSERVE_MEMORY);
	add(a, other);
	p = &a->process[0];
	assert_int_equal(p->backlog.samples, 2);
	assert_int_equal(p->backlog.max, 7);
	assert_true(backlog_median(&p->backlog) == 5);
	assert_int_equal(a->node[0].backlog.max, 7);
	assert_int_equal(analysis_queue(p, 0, 0)->backlog.max, 3);
	assert_true(backlog_share(&analysis_queue(p, 0, 1)->backlog) == 0.5);
	assert_null(analysis_queue(p, 0, 2));
	assert_null(analysis_queue(p, 1, 0));
	end(a);
}

/* The sentence names the process with more work waiting, whichever side it is on. */
static void test_compared_backlog(void **state)
{
	struct analysis *a = new_analysis(24, 1), *b = new_analysis(24, 1);
	struct comparison c;

	(void)state;
	comparison_make(a, b, &c);
	assert_true(concludes(comparison_conclusion(&c, "A", "B"),
			      "How many packets waited is not known"));
	comparison_free(&c);
	for (unsigned i = 0; i < 4; i++)
		add_waiting(a, 5, 2, 0);
	comparison_make(a, b, &c);
	assert_true(concludes(comparison_conclusion(&c, "A", "B"),
			      "Packets of process 5 () of A waited in 100.0 %"));
	comparison_free(&c);
	for (unsigned i = 0; i < 4; i++)
		add_waiting(b, 9, i == 3 ? 0 : 9, i == 3 ? 0 : 1);
	comparison_make(a, b, &c);
	assert_true(concludes(comparison_conclusion(&c, "A", "B"),
			      "in process 9 () of B than in process 5 () of A: packets in 75.0 % "
			      "of the samples against 100.0 %, 10.0 against 2.0 at the median "
			      "(5.0 times as many), 10 against 2 at most."));
	assert_ptr_equal(c.queue[0].a_backlog, &analysis_queue(&a->process[0], 0, 0)->backlog);
	assert_int_equal(c.queue[0].b_backlog->max, 9);
	assert_int_equal(c.node[0].b_backlog->max, 10);
	comparison_free(&c);
	comparison_make(b, a, &c);
	assert_true(concludes(comparison_conclusion(&c, "A", "B"),
			      "in process 9 () of A than in process 5 () of B"));
	comparison_free(&c);
	add_waiting(b, 10, 2, 0);
	comparison_make(a, b, &c);
	assert_int_equal(c.processes, 2);
	assert_null(c.process[1].a);
	assert_int_equal(c.process[1].b->pid, 10);
	comparison_free(&c);
	end(a);
	end(b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_slots_by_xcc),
		cmocka_unit_test(test_names_of_gpus),
		cmocka_unit_test(test_settings),
		cmocka_unit_test(test_long_course),
		cmocka_unit_test(test_processes),
		cmocka_unit_test(test_comparison),
		cmocka_unit_test(test_backlog_values),
		cmocka_unit_test(test_backlog_of_an_analysis),
		cmocka_unit_test(test_compared_backlog),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

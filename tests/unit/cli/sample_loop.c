// SPDX-License-Identifier: MIT
/*
 * Proves when samples are taken: at the beginning of a slot, of several tasks in turn, up to the last
 * slot, until a sampler ends its task, or until the wait reports a request to stop. A sample that
 * takes longer than its slot skips slots, which are counted.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "cli/util/command.h"
#include "cli/util/sample_loop.h"
#include "common/clock.h"

#define MS UINT64_C(1000000)
#define BEGAN (1000 * MS)

/* A task whose samples take some time. */
struct played_task {
	struct sample_task task;
	char name;
	uint64_t takes_ms; /* only the next sample */
	unsigned samples;
	unsigned most; /* ends itself with this sample; 0: never */
	unsigned ends;
	int code; /* of its end */
};

static volatile uint64_t now_ns;
static struct played_task tasks[2];
static struct sample_loop loop;
static char taken[256];		/* "a0 b0 a10": the samples, with their times in ms */
static uint64_t stop_ms;	/* a wait until this time or later is stopped then */
static uint64_t key_ms;		/* a wait ends early at this time, once; 0: none */
static struct played_task *add; /* the first sample adds this task */

static void sample(void *context)
{
	struct played_task *played = context;

	snprintf(taken + strlen(taken), sizeof(taken) - strlen(taken), "%s%c%u",
		 taken[0] ? " " : "", played->name, (unsigned)((now_ns - BEGAN) / MS));
	now_ns += played->takes_ms * MS;
	played->takes_ms = 0;
	played->task.over = ++played->samples == played->most;
	if (add)
		loop.tasks[loop.count++] = &add->task;
	add = NULL;
}

static int end(void *context)
{
	struct played_task *played = context;

	played->ends++;
	return played->code;
}

static bool wait_until(void *context, uint64_t until_ns)
{
	assert_ptr_equal(context, tasks);
	if (key_ms && until_ns > BEGAN + key_ms * MS) {
		now_ns = BEGAN + key_ms * MS;
		key_ms = 0;
		return false;
	}
	if (until_ns >= BEGAN + stop_ms * MS) {
		if (now_ns < BEGAN + stop_ms * MS)
			now_ns = BEGAN + stop_ms * MS;
		return true;
	}
	if (now_ns < until_ns)
		now_ns = until_ns;
	return false;
}

/* Begins both tasks with these intervals; the loop has the first. */
static void begin(double a_ms, double b_ms)
{
	now_ns = BEGAN;
	clock_use(&now_ns);
	memset(tasks, 0, sizeof(tasks));
	for (unsigned i = 0; i < 2; i++) {
		sample_task_begin(&tasks[i].task, (i ? b_ms : a_ms) * 1e3, sample, &tasks[i]);
		tasks[i].task.end = end;
		tasks[i].name = (char)('a' + i);
	}
	loop = (struct sample_loop){
		.tasks = {&tasks[0].task}, .count = 1, .wait = wait_until, .context = tasks};
	taken[0] = '\0';
	stop_ms = 1000;
	key_ms = 0;
	add = NULL;
}

/* Runs the loop: these samples were taken, and each task was ended once. */
static void runs(const char *expected)
{
	unsigned n = add || loop.count == 2 ? 2 : 1;

	sample_loop_run(&loop);
	assert_string_equal(taken, expected);
	for (unsigned i = 0; i < 2; i++)
		assert_int_equal(tasks[i].ends, i < n);
	assert_int_equal(loop.count, 0);
}

static void test_last_slot(void **state)
{
	(void)state;
	begin(10, 10);
	tasks[0].task.last = 3;
	runs("a0 a10 a20 a30");
	assert_int_equal(tasks[0].task.missed, 0);
	assert_int_equal(now_ns, BEGAN + 30 * MS);
}

static void test_late_sample_skips_slots(void **state)
{
	(void)state;
	begin(10, 10);
	tasks[0].task.last = 6;
	tasks[0].takes_ms = 34;
	runs("a0 a40 a50 a60");
	assert_int_equal(tasks[0].task.missed, 3);

	/* A sample that ends with its slot skips none. */
	begin(10, 10);
	tasks[0].task.last = 2;
	tasks[0].takes_ms = 9;
	runs("a0 a10 a20");
	assert_int_equal(tasks[0].task.missed, 0);
}

/* Slots behind the last one are not missed. */
static void test_late_at_the_end(void **state)
{
	(void)state;
	begin(10, 10);
	tasks[0].task.last = 2;
	tasks[0].takes_ms = 75;
	runs("a0");
	assert_int_equal(tasks[0].task.missed, 2);
}

/* A sample that begins too late skips slots like one that takes too long. */
static void test_late_begin(void **state)
{
	(void)state;
	begin(10, 10);
	tasks[0].task.next = 1;
	tasks[0].task.last = 4;
	now_ns += 25 * MS;
	runs("a25 a30 a40");
	assert_int_equal(tasks[0].task.missed, 1);
}

static void test_two_intervals(void **state)
{
	(void)state;
	begin(10, 15);
	loop.tasks[loop.count++] = &tasks[1].task;
	tasks[0].task.last = 4;
	tasks[1].task.last = 3;
	runs("a0 b0 a10 b15 a20 a30 b30 a40 b45");

	/* The samples of one make those of the other late. */
	begin(10, 15);
	loop.tasks[loop.count++] = &tasks[1].task;
	tasks[0].task.last = tasks[1].task.last = 3;
	tasks[0].takes_ms = 32;
	runs("a0 b32 b45");
	assert_int_equal(tasks[0].task.missed, 3);
	assert_int_equal(tasks[1].task.missed, 2);
}

/* As watch adds a monitor when its search has found a process. */
static void test_added_by_a_sample(void **state)
{
	(void)state;
	begin(10, 5);
	add = &tasks[1];
	tasks[0].most = 1;
	tasks[1].task.last = 2;
	runs("a0 b0 b5 b10");
}

static void test_sampler_ends_its_task(void **state)
{
	(void)state;
	begin(10, 10);
	tasks[0].most = 2;
	tasks[0].takes_ms = 25;
	runs("a0 a30");
	/* After its end a task has no slots to miss. */
	begin(10, 10);
	tasks[0].most = 1;
	tasks[0].takes_ms = 25;
	runs("a0");
	assert_int_equal(tasks[0].task.missed, 0);
}

static void test_stop(void **state)
{
	(void)state;
	/* Before the first sample: that one is taken if it is due. */
	begin(10, 10);
	stop_ms = 0;
	runs("a0");
	begin(10, 10);
	tasks[0].task.next = 1;
	stop_ms = 0;
	runs("");
	/* Between two samples; a sample that is due at that time is not taken. */
	begin(10, 15);
	loop.tasks[loop.count++] = &tasks[1].task;
	stop_ms = 20;
	runs("a0 b0 a10 b15");
	assert_int_equal(now_ns, BEGAN + 20 * MS);
}

/* As top is woken by a key. */
static void test_wait_that_ends_early(void **state)
{
	(void)state;
	begin(10, 10);
	tasks[0].task.last = 2;
	key_ms = 13;
	runs("a0 a10 a20");
}

static void test_first_failure_is_the_exit_code(void **state)
{
	(void)state;
	begin(10, 10);
	loop.tasks[loop.count++] = &tasks[1].task;
	tasks[0].most = 2;
	tasks[0].code = CLI_IMPOSSIBLE;
	tasks[1].most = 1;
	tasks[1].code = CLI_FAILED;
	runs("a0 b0 a10");
	assert_int_equal(loop.code, CLI_FAILED);
	assert_int_equal(sample_loop_run(&loop), CLI_FAILED);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_last_slot),
		cmocka_unit_test(test_late_sample_skips_slots),
		cmocka_unit_test(test_late_at_the_end),
		cmocka_unit_test(test_late_begin),
		cmocka_unit_test(test_two_intervals),
		cmocka_unit_test(test_added_by_a_sample),
		cmocka_unit_test(test_sampler_ends_its_task),
		cmocka_unit_test(test_stop),
		cmocka_unit_test(test_wait_that_ends_early),
		cmocka_unit_test(test_first_failure_is_the_exit_code),
	};

	return cmocka_run_group_tests_name("sample_loop", tests, NULL, NULL);
}

// SPDX-License-Identifier: MIT
/*
 * Proves doctor's checks of made-up processes on a machine without faults: how each can be
 * preempted, and what prevents a better level.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/lib/doctor_machine.h"

/* Sets up two processes with these VRAM limits (bytes; -1: none). second_read: whether the
 * environment of the second one can be read. */
static void limits(int64_t first, int64_t second, enum doctor_known second_read)
{
	for (int i = 0; i < 2; i++) {
		doctor_process_init(&processes[i], 100 + i);
		processes[i].registered = DOCTOR_YES;
		processes[i].level = LEVEL_TRAP;
		processes[i].priority = 2;
		processes[i].node_count = 1;
		processes[i].gpu_ids[0] = GPU;
		processes[i].vram_limit = i ? second : first;
		processes[i].environment_read = i ? second_read : DOCTOR_YES;
	}
}

static void test_vram_limits(void **state)
{
	static const struct {
		int64_t second;
		enum doctor_known read;
		enum doctor_verdict verdict;
	} cases[] = {
		{24 * GIB, DOCTOR_YES, DOCTOR_OK},
		{24 * GIB + 1, DOCTOR_YES, DOCTOR_WARNING},
		{-1, DOCTOR_YES, DOCTOR_OK},
		{-1, DOCTOR_NO, DOCTOR_CANNOT_KNOW},
	};
	struct doctor_findings findings;

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct doctor_facts f = good();

		f.process_count = 2;
		limits(40 * GIB, cases[i].second, cases[i].read);
		doctor_check(&f, &findings);
		assert_int_equal(find(&findings, CHECK_vram_limits)->verdict, cases[i].verdict);
		doctor_findings_free(&findings);
		processes[1].gpu_ids[0] = GPU + 1; /* on another GPU */
		doctor_check(&f, &findings);
		assert_int_equal(find(&findings, CHECK_vram_limits)->verdict, DOCTOR_OK);
		doctor_findings_free(&findings);
	}
}

static void test_levels(void **state)
{
	static const struct {
		enum doctor_level level, env_level;
		enum reason_code code;
		const char *reason;
		int64_t priority, tracer;
		enum doctor_known registered, shim, set_id;
		enum doctor_verdict verdict;
		const char *message;
	} cases[] = {
		{LEVEL_TRAP, LEVEL_UNKNOWN, REASON_NONE, "", 2, 11, DOCTOR_YES, DOCTOR_YES,
		 DOCTOR_NO, DOCTOR_OK, "trap"},
		{LEVEL_GATE, LEVEL_GATE, REASON_NONE, "", 2, 0, DOCTOR_YES, DOCTOR_YES, DOCTOR_NO,
		 DOCTOR_OK, "KFDSHIM_LEVEL"},
		{LEVEL_SELF, LEVEL_UNKNOWN, REASON_trace_failed, "ptrace is refused", 2, 0,
		 DOCTOR_YES, DOCTOR_YES, DOCTOR_NO, DOCTOR_WARNING, "ptrace is refused"},
		{LEVEL_OBSERVE, LEVEL_UNKNOWN, REASON_suspend_slow, "a suspend took 60000 us", 2, 0,
		 DOCTOR_YES, DOCTOR_YES, DOCTOR_NO, DOCTOR_MISSING, "restart it"},
		{LEVEL_OBSERVE, LEVEL_UNKNOWN, REASON_NONE, "", 15, 0, DOCTOR_YES, DOCTOR_YES,
		 DOCTOR_NO, DOCTOR_OK, "it has the highest priority"},
		{LEVEL_OBSERVE, LEVEL_UNKNOWN, REASON_NONE, "", -1, 0, DOCTOR_YES, DOCTOR_YES,
		 DOCTOR_NO, DOCTOR_WARNING, "no priority"},
		{LEVEL_OBSERVE, LEVEL_OBSERVE, REASON_NONE, "", 2, 0, DOCTOR_YES, DOCTOR_YES,
		 DOCTOR_NO, DOCTOR_OK, "KFDSHIM_LEVEL"},
		{LEVEL_OBSERVE, LEVEL_UNKNOWN, REASON_trace_failed, "process 5 cannot be traced", 2,
		 77, DOCTOR_YES, DOCTOR_YES, DOCTOR_NO, DOCTOR_MISSING, "end gdb (process 77)"},
		{LEVEL_OBSERVE, LEVEL_UNKNOWN, REASON_runtime_not_yet,
		 "has not enabled its runtime yet", 2, 0, DOCTOR_YES, DOCTOR_YES, DOCTOR_NO,
		 DOCTOR_OK, "not enabled its runtime yet"},
		{LEVEL_OBSERVE, LEVEL_UNKNOWN, REASON_runtime_disabled,
		 "its runtime is in state 0 (not enabled)", 2, 0, DOCTOR_YES, DOCTOR_NO, DOCTOR_NO,
		 DOCTOR_MISSING, "kfdsched run"},
		{LEVEL_SELF, LEVEL_UNKNOWN, REASON_traced, "is traced by thread 77", 2, 77,
		 DOCTOR_YES, DOCTOR_YES, DOCTOR_NO, DOCTOR_WARNING, "end gdb (process 77)"},
		{LEVEL_OBSERVE, LEVEL_UNKNOWN, REASON_NONE, "has not enabled its runtime yet", 2, 0,
		 DOCTOR_YES, DOCTOR_YES, DOCTOR_NO, DOCTOR_WARNING, "restart kfdschedd"},
		{LEVEL_GATE, LEVEL_UNKNOWN, REASON_NONE, "something new", 2, 0, DOCTOR_YES,
		 DOCTOR_YES, DOCTOR_NO, DOCTOR_WARNING, "restart kfdschedd"},
		{LEVEL_UNKNOWN, LEVEL_UNKNOWN, REASON_NONE, "", -1, 0, DOCTOR_NO, DOCTOR_NO,
		 DOCTOR_NO, DOCTOR_WARNING, "kfdsched set 5 PRIORITY"},
		{LEVEL_UNKNOWN, LEVEL_UNKNOWN, REASON_NONE, "", -1, 0, DOCTOR_NO, DOCTOR_NO,
		 DOCTOR_YES, DOCTOR_WARNING, "set-user-ID"},
		{LEVEL_UNKNOWN, LEVEL_UNKNOWN, REASON_NONE, "", -1, 0, DOCTOR_NO, DOCTOR_UNKNOWN,
		 DOCTOR_UNKNOWN, DOCTOR_CANNOT_KNOW, "run this as root"},
		{LEVEL_UNKNOWN, LEVEL_UNKNOWN, REASON_NONE, "", -1, 0, DOCTOR_NO, DOCTOR_YES,
		 DOCTOR_NO, DOCTOR_WARNING, "KFDSHIM_LOG=error"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct doctor_facts f = good();
		struct doctor_findings findings;
		struct doctor_process *p = &processes[0];

		doctor_process_init(p, 5);
		f.process_count = 1;
		strcpy(p->comm, "train");
		p->level = cases[i].level;
		p->env_level = cases[i].env_level;
		p->reason.code = cases[i].code;
		strcpy(p->reason.text, cases[i].reason);
		p->priority = cases[i].priority;
		p->tracer = cases[i].tracer;
		if (p->tracer == 77)
			strcpy(p->tracer_name, "gdb");
		p->registered = cases[i].registered;
		p->shim = cases[i].shim;
		p->set_id = cases[i].set_id;
		p->environment_read = DOCTOR_YES;
		doctor_check(&f, &findings);
		check_lines(&findings);
		const struct doctor_finding *line = find(&findings, CHECK_level);

		assert_int_equal(line->pid, 5);
		if (line->verdict != cases[i].verdict || (!strstr(line->found, cases[i].message) &&
							  !strstr(line->advice, cases[i].message)))
			fail_msg("case %zu: %d '%s' '%s'", i, (int)line->verdict, line->found,
				 line->advice);
		doctor_findings_free(&findings);
	}
}

static void test_without_daemon(void **state)
{
	static const struct {
		const char *priority;
		enum doctor_level level;
		enum doctor_verdict verdict;
		const char *found;
	} cases[] = {
		{"offline", LEVEL_UNKNOWN, DOCTOR_OK, "train: self; there is no daemon"},
		{"2", LEVEL_GATE, DOCTOR_OK, "train: gate; set by KFDSHIM_LEVEL"},
		{"", LEVEL_UNKNOWN, DOCTOR_WARNING, "train: observe; it has no priority"},
		{"fast", LEVEL_UNKNOWN, DOCTOR_WARNING, "train: observe; it has no priority"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct doctor_facts f = good();
		struct doctor_findings findings;
		struct doctor_process *p = &processes[0];

		doctor_process_init(p, 5);
		f.process_count = 1;
		f.daemon.error = ECONNREFUSED;
		strcpy(p->comm, "train");
		p->registered = DOCTOR_NO;
		p->shim = p->environment_read = DOCTOR_YES;
		strcpy(p->env_priority, cases[i].priority);
		p->env_level = cases[i].level;
		doctor_check(&f, &findings);
		assert_string_equal(find(&findings, CHECK_level)->found, cases[i].found);
		assert_int_equal(find(&findings, CHECK_level)->verdict, cases[i].verdict);
		doctor_findings_free(&findings);
	}
}

/* For one process: its own lines, and those of the machine that are not OK. */
static void test_one_process(void **state)
{
	struct doctor_facts f = good();
	struct doctor_findings findings;

	(void)state;
	limits(-1, -1, DOCTOR_YES);
	f.process_count = 2;
	f.chosen_pid = 101;
	f.env_wrong[0] = '\0';
	f.yama = 3;
	processes[1].drm_queues = 2;
	processes[1].tracer = 12;
	processes[1].tracer_parent = f.daemon.pid;
	doctor_check(&f, &findings);
	check_lines(&findings);
	for (size_t i = 0; i < findings.count; i++)
		assert_true(findings.list[i].pid == 101 || findings.list[i].check == CHECK_yama);
	find(&findings, CHECK_yama);
	assert_int_equal(find(&findings, CHECK_tracer)->verdict, DOCTOR_OK);
	assert_int_equal(find(&findings, CHECK_drm_queues)->verdict, DOCTOR_WARNING);
	assert_ptr_equal(find(&findings, CHECK_level), &findings.list[0]);
	doctor_findings_free(&findings);
}

/* Each reason has an advice of its own, or the one that leads to the log. */
static void test_advice(void **state)
{
	unsigned own = 0;

	(void)state;
	for (enum reason_code code = REASON_NONE + 1; code < REASONS; code++) {
		assert_true(doctor_advice(code)[0] != '\0');
		own += strcmp(doctor_advice(code), doctor_advice(REASON_NONE)) != 0;
	}
	assert_true(own > REASONS / 2);
	assert_non_null(strstr(doctor_advice(REASON_session_exists), "rocgdb"));
	assert_non_null(strstr(doctor_advice(REASON_keeps_session), "without KFDSHIM_LEVEL"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_vram_limits),    cmocka_unit_test(test_levels),
		cmocka_unit_test(test_without_daemon), cmocka_unit_test(test_one_process),
		cmocka_unit_test(test_advice),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

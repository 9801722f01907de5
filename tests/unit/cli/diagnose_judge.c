// SPDX-License-Identifier: MIT
/*
 * Proves the diagnosis of made-up processes: one summary, the activity of the process, and the
 * level that it has and can have.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/lib/diagnosed.h"

static void test_well(void **state)
{
	(void)state;
	evaluate();
	assert_string_equal(got.verdict_text,
			    "process 4711 (train) runs, uses 1 GPU with 3 queues, and "
			    "can be preempted at level trap");
	assert_int_equal(got.preemptible, DOCTOR_YES);
	assert_int_equal(got.level, LEVEL_TRAP);
	assert_int_equal(got.best, LEVEL_TRAP);
	assert_int_equal(got.findings.count, 0);
	assert_int_equal(got.queue_kinds, 2);
	assert_int_equal(got.queues[0].count, 2);
	assert_int_equal(got.queues[0].type, OBSERVE_AQL);
	assert_int_equal(got.queues[0].source, OBSERVE_SHM);
	assert_int_equal(got.debug_enabled, DOCTOR_YES);
	expect_level(LEVEL_TRAP, DIAGNOSE_NOW, "");
	expect_level(LEVEL_SELF, DIAGNOSE_YES, "");
	expect_level(LEVEL_WEIGHT, DIAGNOSE_YES, "KFDSHIM_LEVEL=weight");
}

/* Asserts that the advice for a cgroup that is frozen by `file` ends with `end`. */
static void thaws(const char *file, const char *end)
{
	const char *advice;

	strcpy(facts.named.thaw, file);
	evaluate();
	advice = obstacle(CHECK_state)->advice;
	assert_true(strlen(advice) > strlen(end));
	assert_string_equal(advice + strlen(advice) - strlen(end), end);
}

static void test_states(void **state)
{
	static const struct {
		char state;
		const char *verdict_text, *text, *advice;
	} cases[] = {
		{'R', "runs, uses", "waits for a CPU", NULL},
		{'D', "waits in the kernel, uses", "cannot handle signals", "cat /proc/4711/stack"},
		{'T', "is stopped by a signal, uses", "SIGSTOP", "kill -CONT 4711"},
		{'t', "is stopped by gdb (77), uses", "gdb (77), which traces it", NULL},
		{'?', "runs, uses", "does not support", NULL},
	};

	(void)state;
	p->tracer = 77;
	strcpy(p->tracer_name, "gdb");
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		facts.named.identity.state = cases[i].state;
		evaluate();
		expect_part(cases[i].verdict_text);
		assert_non_null(strstr(got.state, cases[i].text));
		if (cases[i].advice)
			assert_non_null(strstr(obstacle(CHECK_state)->advice, cases[i].advice));
	}
	facts.named.paused = DOCTOR_YES;
	strcpy(facts.named.thaw, "/sys/fs/cgroup/a/cgroup.freeze");
	evaluate();
	expect_part("is paused with its cgroup");
	assert_non_null(
		strstr(obstacle(CHECK_state)->advice, "echo 0 > /sys/fs/cgroup/a/cgroup.freeze"));
	thaws("/sys/fs/cgroup/a b/cgroup.freeze", ": echo 0 > '/sys/fs/cgroup/a b/cgroup.freeze'");
	thaws("/sys/fs/cgroup/;rm -rf ~;/c", ": echo 0 > '/sys/fs/cgroup/;rm -rf ~;/c'");
	thaws("/sys/fs/cgroup/$(reboot)'`id`/c",
	      ": echo 0 > '/sys/fs/cgroup/$(reboot)'\\''`id`/c'");
	/* A path that cannot be copied from a terminal is not part of a command. */
	thaws("/sys/fs/cgroup/a\nreboot\n/c", "or its cgroup.freeze");
	thaws("/sys/fs/cgroup/\xe2\x80\xae/c", "or its cgroup.freeze");
}

static void test_dead(void **state)
{
	(void)state;
	facts.named.identity.state = 'Z';
	facts.named.threads = 1;
	evaluate();
	assert_string_equal(got.verdict_text,
			    "process 4711 (train) has ended (a zombie until bash (12) "
			    "collects its exit status): there is nothing to preempt");
	assert_int_equal(got.preemptible, DOCTOR_NO);
	assert_int_equal(got.findings.count, 0);
	expect_level(LEVEL_TRAP, DIAGNOSE_NO, "it has ended");
	/* Only the first thread of the process has ended. */
	facts.named.threads = 9;
	evaluate();
	expect_part("can be preempted at level trap");
	assert_non_null(strstr(got.state, "8 others"));

	facts.named.identity.state = 'S';
	facts.named.identity.kernel = true;
	evaluate();
	expect_part("is a kernel thread");
	expect_level(LEVEL_GATE, DIAGNOSE_NO, "a kernel thread");
	assert_int_equal(got.findings.count, 0);
}

static void test_no_gpu(void **state)
{
	(void)state;
	facts.yama = 3; /* concerns other processes */
	p->registered = p->shim = p->uses_gpu = p->kfd_open = DOCTOR_NO;
	p->rocr[0] = '\0';
	p->runtime = DOCTOR_UNKNOWN;
	p->level = LEVEL_UNKNOWN;
	facts.named.seen.queues.count = 0;
	evaluate();
	assert_string_equal(got.verdict_text,
			    "process 4711 (train) runs, uses no GPU, and there is "
			    "nothing to preempt");
	assert_int_equal(got.findings.count, 0);
	expect_level(LEVEL_TRAP, DIAGNOSE_NO, "no GPU");
}

/* The process cannot be inspected, so nothing is reported as missing. */
static void test_forbidden(void **state)
{
	(void)state;
	facts.named.identity.uid = 7;
	strcpy(facts.named.user, "other");
	facts.daemon.error = ENOENT;
	facts.named.seen = (struct observation){.queues = facts.named.seen.queues};
	facts.named.seen.queues.count = 0;
	doctor_process_init(p, PID);
	p->registered = DOCTOR_NO;
	evaluate();
	expect_part("may use a GPU (not visible from here)");
	expect_part("whether it can be preempted is not known");
	assert_int_equal(got.preemptible, DOCTOR_UNKNOWN);
	assert_int_equal(got.level, LEVEL_UNKNOWN);
	expect_level(LEVEL_SELF, DIAGNOSE_UNKNOWN, "");
	assert_non_null(strstr(obstacle(CHECK_rights)->found, "it belongs to other"));
	assert_non_null(strstr(obstacle(CHECK_rights)->advice, "sudo kfdsched diagnose 4711"));

	facts.named.identity.uid = 1000;
	facts.named.dumpable = DOCTOR_NO;
	evaluate();
	assert_non_null(strstr(obstacle(CHECK_rights)->found, "not dumpable"));
}

/* A process without the shim, which is unknown to the daemon. */
static void bare(void)
{
	p->registered = p->shim = DOCTOR_NO;
	p->level = LEVEL_UNKNOWN;
	p->runtime = DOCTOR_UNKNOWN;
	p->priority = -1;
}

static void test_no_shim(void **state)
{
	static const struct {
		enum doctor_known set_id, static_program, other_class, preload_there;
		const char *preload, *expect_part;
	} cases[] = {
		{DOCTOR_NO, DOCTOR_NO, DOCTOR_NO, DOCTOR_UNKNOWN, "", "LD_PRELOAD does not name"},
		{DOCTOR_NO, DOCTOR_NO, DOCTOR_NO, DOCTOR_NO, "/x/libkfdshim.so",
		 "/x/libkfdshim.so, which does not exist"},
		{DOCTOR_NO, DOCTOR_NO, DOCTOR_NO, DOCTOR_YES, "/x/libkfdshim.so",
		 "which its dynamic linker did not load"},
		{DOCTOR_YES, DOCTOR_NO, DOCTOR_NO, DOCTOR_YES, "/x/libkfdshim.so", "set-user-ID"},
		{DOCTOR_NO, DOCTOR_YES, DOCTOR_NO, DOCTOR_UNKNOWN, "", "statically"},
		{DOCTOR_NO, DOCTOR_UNKNOWN, DOCTOR_YES, DOCTOR_UNKNOWN, "", "not a 64-bit program"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		end(NULL);
		begin(NULL);
		bare();
		p->set_id = cases[i].set_id;
		p->static_program = cases[i].static_program;
		p->other_class = cases[i].other_class;
		p->preload_there = cases[i].preload_there;
		strcpy(p->preload, cases[i].preload);
		evaluate();
		expect_part("is not preempted now: ");
		expect_part(cases[i].expect_part);
		expect_part("; do: ");
		assert_int_equal(got.level, LEVEL_NONE);
		assert_int_equal(got.best, LEVEL_TRAP);
		expect_level(LEVEL_TRAP, DIAGNOSE_YES, "kfdsched set 4711 PRIORITY");
		assert_int_equal(got.levels[LEVEL_GATE].can, DIAGNOSE_NO);
	}
	/* A runtime that is never enabled for debugging. */
	end(NULL);
	begin(NULL);
	bare();
	strcpy(p->rocr, "/usr/lib/libhsa-runtime64.so.1.5.0");
	evaluate();
	expect_level(LEVEL_TRAP, DIAGNOSE_NO, "ROCr 5.2.3 does not enable");
	assert_int_equal(got.debug_enabled, DOCTOR_NO);
	assert_non_null(strstr(got.runtime, "never enables it"));
	expect_level(BY_HAND, DIAGNOSE_NO, "ROCr 5.2.3 does not enable");
	expect_part("cannot be preempted now: ");
	expect_part("do: start it with 'kfdsched run");
	/* A newer runtime: only an attempt shows whether it is enabled. */
	strcpy(p->rocr, "/usr/lib/libhsa-runtime64.so.1.13.0");
	evaluate();
	assert_int_equal(got.debug_enabled, DOCTOR_UNKNOWN);
	expect_level(BY_HAND, DIAGNOSE_UNKNOWN, "kfdsched preempt 4711 -n 1");
	/* No daemon is there that could hold it by a tag. */
	facts.daemon.error = ENOENT;
	evaluate();
	expect_level(LEVEL_TRAP, DIAGNOSE_NO, "no kfdschedd listens at /run/kfdsched/socket");
	assert_non_null(strstr(obstacle(CHECK_daemon)->advice, "kfdschedd"));
}

static void test_by_itself(void **state)
{
	(void)state;
	bare();
	p->shim = DOCTOR_YES;
	strcpy(p->env_priority, "offline");
	facts.daemon.error = ENOENT;
	evaluate();
	expect_part("can be preempted at level self; for level trap do: start kfdschedd as root");
	expect_level(LEVEL_SELF, DIAGNOSE_NOW, "there is no daemon");
	expect_level(LEVEL_GATE, DIAGNOSE_YES, "");

	p->env_disabled = true;
	evaluate();
	expect_part("is not preempted now: KFDSHIM_DISABLE=1; do: start it without");
	expect_level(LEVEL_GATE, DIAGNOSE_NO, "KFDSHIM_DISABLE");
	p->env_disabled = false;
	p->env_level = LEVEL_GATE;
	evaluate();
	expect_part("at level gate");
	expect_level(LEVEL_TRAP, DIAGNOSE_NO, "KFDSHIM_LEVEL=gate");
	expect_level(LEVEL_SELF, DIAGNOSE_NO, "KFDSHIM_LEVEL=gate");
}

static void test_priorities(void **state)
{
	(void)state;
	p->level = LEVEL_OBSERVE;
	p->priority = 15;
	evaluate();
	expect_part(
		"cannot be preempted: priority 15 is the highest; with a lower priority it could be, at level "
		"trap");
	expect_level(LEVEL_TRAP, DIAGNOSE_YES, "below 15");
	assert_int_equal(got.preemptible, DOCTOR_NO);
	p->priority = -1;
	evaluate();
	expect_part("is not preempted now: it has no priority; do: give it one: 'kfdsched set "
		    "4711");
	expect_level(LEVEL_GATE, DIAGNOSE_YES, "once it has a priority");
	/* The process has just started. */
	p->priority = 2;
	reason_set(&p->reason, REASON_runtime_not_yet, 0, 0, NULL);
	evaluate();
	expect_part("is not preempted: has not enabled its runtime yet");
	expect_level(LEVEL_TRAP, DIAGNOSE_YES, "has not enabled its runtime yet");
}

/* `kfdsched suspend` and `preempt`: through the daemon, or with a debug session of their own. */
static void test_by_hand(void **state)
{
	(void)state;
	evaluate();
	expect_level(BY_HAND, DIAGNOSE_YES, "by kfdschedd");
	p->level = LEVEL_OBSERVE;
	p->priority = -1;
	evaluate();
	expect_level(BY_HAND, DIAGNOSE_YES, "by kfdschedd, at level trap");
	p->level = LEVEL_NONE;
	p->runtime = DOCTOR_NO;
	evaluate();
	expect_level(BY_HAND, DIAGNOSE_NO, "can no longer be enabled");

	bare();
	p->shim = DOCTOR_YES;
	facts.daemon.error = ENOENT;
	evaluate();
	expect_level(BY_HAND, DIAGNOSE_YES, "a debug session of kfdsched");
	expect_part("is not preempted now: it has no priority; do: ");
	strcpy(p->env_priority, "offline");
	evaluate();
	expect_level(BY_HAND, DIAGNOSE_NO, "the only debug session");
	/* A process of that priority never holds itself. */
	strcpy(p->env_priority, "online");
	evaluate();
	expect_level(BY_HAND, DIAGNOSE_YES, "a debug session of kfdsched");
	expect_part("cannot be preempted: priority 15 is the highest");

	facts.sys_ptrace = DOCTOR_NO;
	facts.uid = facts.named.identity.uid;
	strcpy(facts.user, "nobody");
	evaluate();
	expect_level(BY_HAND, DIAGNOSE_YES, "");
	facts.yama = 2;
	evaluate();
	expect_level(BY_HAND, DIAGNOSE_NO, "user nobody is not allowed to trace it");
	facts.yama = 1;
	facts.uid++;
	evaluate();
	expect_level(BY_HAND, DIAGNOSE_NO, "user nobody is not allowed to trace it");
	p->tracer = 77;
	strcpy(p->tracer_name, "gdb");
	evaluate();
	expect_level(BY_HAND, DIAGNOSE_NO, "gdb (process 77) traces it");
	p->uses_gpu = p->kfd_open = DOCTOR_NO;
	observe_list_free(&facts.named.seen.queues);
	evaluate();
	expect_level(BY_HAND, DIAGNOSE_NO, "nothing to hold");
}

/* GPUs of other processes are no obstacle, nor is a device that only the caller cannot open. */
static void test_of_others(void **state)
{
	(void)state;
	facts.nodes[1] = facts.nodes[0];
	facts.nodes[1].gpu_id = GPU + 1;
	facts.nodes[1].capability = 0;
	facts.node_count = 2;
	facts.kfd_error = EACCES;
	facts.nodes[0].render_error = EACCES;
	strcpy(facts.hidepid, "2");
	evaluate();
	assert_int_equal(got.findings.count, 0);
	p->gpu_ids[0] = GPU + 1;
	evaluate();
	assert_int_equal(obstacle(CHECK_debugging)->gpu_id, GPU + 1);
}

static void test_held(void **state)
{
	(void)state;
	p->held = DOCTOR_YES;
	evaluate();
	expect_part("with 3 queues (held now), and");
	p->held = DOCTOR_NO;
	evaluate();
	assert_int_equal(got.held, DOCTOR_NO);
	/* Without a daemon the state of the queues shows it. */
	p->held = DOCTOR_UNKNOWN;
	evaluate();
	assert_int_equal(got.held, DOCTOR_UNKNOWN);
	observe_set(&facts.named.seen.queues.queue[1], OBSERVE_SUSPENDED, 1, OBSERVE_SHM);
	observe_set(&facts.named.seen.queues.queue[2], OBSERVE_SUSPENDED, 0, OBSERVE_SHM);
	evaluate();
	assert_int_equal(got.held, DOCTOR_YES);
}

/* A queue that several sources report is counted once. */
static void test_queues(void **state)
{
	(void)state;
	for (uint32_t i = 3; i < 6; i++) {
		struct observe_queue *q = observe_list_add(&facts.named.seen.queues);

		q->id = i;
		q->gpu_id = GPU + 1;
		if (i < 5)
			observe_set(q, OBSERVE_TYPE, OBSERVE_COMPUTE, OBSERVE_SYSFS);
	}
	evaluate();
	expect_part("uses 2 GPUs with 6 queues");
	assert_int_equal(got.queue_kinds, 4);
	assert_int_equal(got.queues[2].count, 2);
	assert_int_equal(got.queues[3].type, OBSERVE_TYPES);
	assert_int_equal(got.queues[3].source, OBSERVE_NO_SOURCE);
	facts.named.seen.listed = 0;
	facts.named.seen.queues.count = 0;
	evaluate();
	expect_part("uses a GPU (its queues are not visible from here)");
	facts.named.seen.listed = OBSERVE_BIT(OBSERVE_SYSFS);
	evaluate();
	expect_part("has opened a GPU and has no queues there");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_well, begin, end),
		cmocka_unit_test_setup_teardown(test_states, begin, end),
		cmocka_unit_test_setup_teardown(test_dead, begin, end),
		cmocka_unit_test_setup_teardown(test_no_gpu, begin, end),
		cmocka_unit_test_setup_teardown(test_forbidden, begin, end),
		cmocka_unit_test_setup_teardown(test_no_shim, begin, end),
		cmocka_unit_test_setup_teardown(test_by_itself, begin, end),
		cmocka_unit_test_setup_teardown(test_priorities, begin, end),
		cmocka_unit_test_setup_teardown(test_by_hand, begin, end),
		cmocka_unit_test_setup_teardown(test_of_others, begin, end),
		cmocka_unit_test_setup_teardown(test_queues, begin, end),
		cmocka_unit_test_setup_teardown(test_held, begin, end),
	};
	int failed = cmocka_run_group_tests(tests, NULL, NULL);

	diagnosis_free(&got);
	return failed;
}

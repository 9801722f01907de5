/* SPDX-License-Identifier: MIT */
/*
 * Fixture of the tests of `kfdsched diagnose`: the facts of a process without any obstacle, which a
 * test changes, and assertions on the resulting diagnosis. Include it after cmocka.h.
 */
#ifndef TESTS_LIB_DIAGNOSED_H
#define TESTS_LIB_DIAGNOSED_H

#include <stdlib.h>

#include "cli/doctor/diagnosis.h"
#include "tests/lib/doctor_machine.h"

#define PID 4711

static struct doctor_facts facts;
static struct diagnosis got;
static struct doctor_process *p;

/* Setup: a training process known to the daemon, at level trap, with two AQL queues and one SDMA
 * queue on one MI210, on a machine without faults. */
static inline int begin(void **state)
{
	static const enum observe_type types[] = {OBSERVE_AQL, OBSERVE_AQL, OBSERVE_SDMA};

	(void)state;
	facts = good();
	facts.named = (struct doctor_named){
		.queried = PID,
		.identity = {.pid = PID,
			     .started = 1,
			     .state = 'S',
			     .uid = 1000,
			     .pids = {PID},
			     .depth = 1,
			     .host_pid = PID,
			     .comm = "train",
			     .command = "train --big"},
		.user = "somebody",
		.threads = 9,
		.parent = 12,
		.parent_name = "bash",
		.paused = DOCTOR_NO,
		.dumpable = DOCTOR_YES,
		.same_user_namespace = DOCTOR_YES,
	};
	facts.chosen_pid = PID;
	facts.process_count = 1;
	facts.named.seen.listed = OBSERVE_BIT(OBSERVE_SYSFS);
	for (uint32_t i = 0; i < 3; i++) {
		struct observe_queue *q = observe_list_add(&facts.named.seen.queues);

		assert_non_null(q);
		q->id = i;
		q->gpu_id = GPU;
		observe_set(q, OBSERVE_TYPE, types[i], OBSERVE_SHM);
	}
	p = &processes[0];
	doctor_process_init(p, PID);
	strcpy(p->comm, "train");
	p->uses_gpu = p->kfd_open = p->registered = p->shim = p->environment_read = DOCTOR_YES;
	p->set_id = p->static_program = p->other_class = DOCTOR_NO;
	p->priority = 2;
	p->tracer = 0;
	p->level = LEVEL_TRAP;
	p->runtime = DOCTOR_YES;
	strcpy(p->rocr, "/usr/lib/libhsa-runtime64.so.1.13.0");
	p->node_count = 1;
	p->gpu_ids[0] = GPU;
	return 0;
}

/* Teardown. */
static inline int end(void **state)
{
	(void)state;
	observe_list_free(&facts.named.seen.queues);
	return 0;
}

/* Evaluates `facts` into `got`, and asserts that each finding is an obstacle with an advice. */
static inline void evaluate(void)
{
	diagnosis_free(&got);
	diagnose_evaluate(&facts, &got);
	for (size_t i = 0; i < got.findings.count; i++) {
		const struct doctor_finding *f = &got.findings.list[i];

		if (f->verdict == DOCTOR_OK || !f->advice[0])
			fail_msg("%s is no obstacle: '%s' '%s'", doctor_check_name(f->check),
				 f->found, f->advice);
	}
}

/* Asserts that the summary of the diagnosis contains `part`. */
static inline void expect_part(const char *part)
{
	if (!strstr(got.verdict_text, part))
		fail_msg("'%s' is not in '%s'", part, got.verdict_text);
}

/* Asserts whether the process can be at a level (or BY_HAND), and that the reason contains
 * `why`. */
static inline void expect_level(enum doctor_level level, enum diagnose_can can, const char *why)
{
	const struct diagnose_level *l = &got.levels[level];

	if (l->can != can || !strstr(l->reason.found, why))
		fail_msg("level %u: %s '%s', not %s '%s'", level, diagnose_can_name(l->can),
			 l->reason.found, diagnose_can_name(can), why);
}

/* Returns the finding of that check; fails the test if there is none. */
static inline const struct doctor_finding *obstacle(enum doctor_check check)
{
	const struct doctor_finding *found = doctor_find(&got.findings, check);

	if (!found)
		fail_msg("nothing about %s; '%s'", doctor_check_name(check), got.verdict_text);
	return found;
}

#endif

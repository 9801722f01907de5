// SPDX-License-Identifier: MIT
/*
 * Runs the checks, and keeps their findings.
 *
 * A check adds its finding also if all is well, or if its facts are not known ("-"), so that
 * `doctor -v` shows what was checked. If a problem follows from another problem, its finding is
 * unknown or names the other problem, so that one cause gets one advice.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/allocate.h"

#include "cli/doctor/checks.h"

static const struct {
	const char *name, *question;
	enum doctor_scope scope;
	union {
		void (*SYSTEM)(struct doctor_run *run, const struct doctor_facts *facts);
		void (*NODE)(struct doctor_run *run, const struct doctor_node *node);
		void (*PROCESS)(struct doctor_run *run, const struct doctor_process *process);
		void (*NAMED)(struct doctor_run *run, const struct doctor_process *process);
	} run;
} checks[] = {
#define CHECK(name, scope, question) {#name, question, DOCTOR_##scope, {.scope = check_##name}},
#include "cli/doctor/checks.def"
#undef CHECK
};

const char *doctor_check_name(enum doctor_check check)
{
	return checks[check].name;
}

const char *doctor_check_question(enum doctor_check check)
{
	return checks[check].question;
}

enum doctor_scope doctor_check_scope(enum doctor_check check)
{
	return checks[check].scope;
}

const char *doctor_scope_name(enum doctor_scope scope)
{
	static const char *const names[] = {"system", "GPU", "process", "named process"};

	return names[scope];
}

const char *doctor_verdict_name(enum doctor_verdict verdict)
{
	static const char *const names[] = {"ok", "warning", "missing", "unknown"};

	return names[verdict];
}

void finding_add(struct doctor_run *run, enum doctor_verdict verdict, const char *found, ...)
{
	struct doctor_findings *out = run->out;
	struct doctor_finding *finding;
	va_list ap;

	out->list = allocate_next(out->list, out->count, &out->room, sizeof(*finding));
	finding = &out->list[out->count++];
	*finding = (struct doctor_finding){
		.check = run->check,
		.gpu_id = run->node ? run->node->gpu_id : 0,
		.pid = run->process ? run->process->pid : 0,
		.verdict = verdict,
		.level = LEVEL_UNKNOWN,
	};
	va_start(ap, found);
	vsnprintf(finding->found, sizeof(finding->found), found, ap);
	va_end(ap);
}

void finding_advise(struct doctor_run *run, const char *advice, ...)
{
	struct doctor_findings *out = run->out;
	va_list ap;

	if (!out->count || out->list[out->count - 1].verdict == DOCTOR_OK)
		return;
	va_start(ap, advice);
	vsnprintf(out->list[out->count - 1].advice, sizeof(out->list->advice), advice, ap);
	va_end(ap);
}

void doctor_findings_free(struct doctor_findings *findings)
{
	free(findings->list);
	*findings = (struct doctor_findings){0};
}

bool doctor_usable(const struct doctor_findings *findings)
{
	for (size_t i = 0; i < findings->count; i++)
		if (findings->list[i].verdict == DOCTOR_MISSING)
			return false;
	return true;
}

const struct doctor_finding *doctor_find(const struct doctor_findings *findings,
					 enum doctor_check check)
{
	for (size_t i = 0; i < findings->count; i++)
		if (findings->list[i].check == check)
			return &findings->list[i];
	return NULL;
}

/* Runs a check once for everything in its scope: the machine, or each GPU or process. */
static void run_check(struct doctor_run run)
{
	const struct doctor_facts *facts = run.facts;
	enum doctor_scope scope = checks[run.check].scope;

	if (scope == DOCTOR_SYSTEM)
		checks[run.check].run.SYSTEM(&run, facts);
	for (size_t i = 0; scope == DOCTOR_NODE && i < facts->node_count; i++) {
		run.node = &facts->nodes[i];
		checks[run.check].run.NODE(&run, run.node);
	}
	for (size_t i = 0; scope >= DOCTOR_PROCESS && i < facts->process_count; i++) {
		run.process = &facts->processes[i];
		run.node = NULL;
		if (facts->chosen_pid ? run.process->pid == facts->chosen_pid
				      : scope == DOCTOR_PROCESS)
			checks[run.check].run.PROCESS(&run, run.process);
	}
}

void doctor_check(const struct doctor_facts *facts, struct doctor_findings *out)
{
	struct doctor_run run = {.facts = facts, .out = out};
	size_t n_valid;

	*out = (struct doctor_findings){0};
	for (run.check = 0; run.check < DOCTOR_CHECKS; run.check++)
		if (!facts->chosen_pid || checks[run.check].scope >= DOCTOR_PROCESS)
			run_check(run);
	if (!facts->chosen_pid)
		return;
	/* Add the findings about the machine and its GPUs, but keep only problems. */
	n_valid = out->count;
	for (run.check = 0; run.check < DOCTOR_CHECKS; run.check++)
		if (checks[run.check].scope < DOCTOR_PROCESS)
			run_check(run);
	for (size_t i = n_valid; i < out->count; i++)
		if (out->list[i].verdict == DOCTOR_WARNING ||
		    out->list[i].verdict == DOCTOR_MISSING)
			out->list[n_valid++] = out->list[i];
	out->count = n_valid;
}

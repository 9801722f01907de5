// SPDX-License-Identifier: MIT
/*
 * Evaluates for each level of preemption whether it is the present one, whether it is possible, and
 * if not, why.
 *
 * needs[] lists what each level needs: checks, whose findings can prevent the level, and
 * conditions. Its entries are evaluated in order until one sets the result, usually to NO: that
 * need is then the reason. 'kfdsched diagnose' reports no SYSTEM or NODE check that is not in
 * needs[] as an obstacle.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>

#include "channel/protocol.h"
#include "cli/doctor/diagnosis.h"

#define RUN "start it with 'kfdsched run --priority P -- COMMAND'"

/* State of the evaluation of one level. */
struct attempt {
	const struct doctor_facts *facts;
	const struct doctor_process *p;
	const struct doctor_finding *line; /* finding of check "level", about the present level */
	struct diagnosis *out;
	enum doctor_level level; /* level that is evaluated, or BY_HAND */
	struct diagnose_level *result;
};

const char *diagnose_can_name(enum diagnose_can can)
{
	static const char *const names[] = {"no", "yes", "now", "-"};

	return names[can];
}

int diagnose_priority(const struct doctor_process *p)
{
	int priority;

	if (p->registered == DOCTOR_YES)
		return (int)p->priority;
	return protocol_priority(p->env_priority, &priority) ? -1 : priority;
}

/* Sets the result of the level to NO, with the reason `why` and an advice. Returns true. */
__attribute__((format(printf, 3, 4))) static bool no(struct attempt *a, const char *advice,
						     const char *why, ...)
{
	struct doctor_finding *reason = &a->result->reason;
	va_list ap;

	a->result->can = DIAGNOSE_NO;
	va_start(ap, why);
	vsnprintf(reason->found, sizeof(reason->found), why, ap);
	va_end(ap);
	snprintf(reason->advice, sizeof(reason->advice), "%s", advice);
	return true;
}

/* Sets the result of the level to NO, with reason and advice of finding "level". Returns true. */
static bool no_as_line(struct attempt *a)
{
	return no(a, a->line->advice, "%s", a->line->found + a->line->why);
}

static bool yes(struct attempt *a, const char *why)
{
	a->result->can = DIAGNOSE_YES;
	snprintf(a->result->reason.found, sizeof(a->result->reason.found), "%s", why);
	return true;
}

/* Sets the result of BY_HAND for a process that the daemon knows: 'kfdsched suspend' then asks the
 * daemon, so no debug session of its own is needed. Returns false for any other process. */
static bool by_request(struct attempt *a)
{
	const struct diagnose_level *trap = &a->out->levels[LEVEL_TRAP];

	if (a->p->registered != DOCTOR_YES)
		return false;
	if (a->out->level < LEVEL_OBSERVE)
		return yes(a, "by kfdschedd");
	*a->result = *trap;
	if (trap->can != DIAGNOSE_NO)
		snprintf(a->result->reason.found, sizeof(trap->reason.found),
			 "by kfdschedd, at level trap");
	return true;
}

/* Returns false if the process has a working shim, which LEVEL_SELF, LEVEL_GATE and LEVEL_WEIGHT
 * need. Otherwise sets the result of the level and returns true. */
static bool no_shim(struct attempt *a)
{
	const struct doctor_process *p = a->p;

	if (p->shim == DOCTOR_UNKNOWN && p->registered != DOCTOR_YES)
		return true; /* the level stays unknown */
	if (p->registered == DOCTOR_YES && !p->external)
		return false;
	if (p->env_disabled)
		return no(a, "start it without KFDSHIM_DISABLE", "KFDSHIM_DISABLE=1");
	if (p->shim == DOCTOR_YES && !p->external)
		return false;
	if (p->other_class == DOCTOR_YES || p->set_id == DOCTOR_YES ||
	    p->static_program == DOCTOR_YES)
		return no(a, p->other_class == DOCTOR_YES ? "use a 64-bit program" : "", "%s",
			  a->line->found + a->line->why);
	if (p->preload[0] && p->preload_there == DOCTOR_NO)
		return no(a, "put libkfdshim.so and its agent there, and start it again",
			  "its LD_PRELOAD names %.200s, which does not exist in its mount "
			  "namespace",
			  p->preload);
	return no(a, RUN, "libkfdshim.so is not loaded");
}

/* Sets the result to NO and returns true if KFDSHIM_LEVEL of the process names another level. */
static bool chosen_another(struct attempt *a)
{
	const struct doctor_process *p = a->p;

	return p->shim != DOCTOR_NO && p->env_level != LEVEL_UNKNOWN && p->env_level != a->level &&
	       no(a, "start it without KFDSHIM_LEVEL", "KFDSHIM_LEVEL=%s excludes other levels",
		  doctor_level_name(p->env_level));
}

/* Sets the result to NO and returns true if the HSA runtime is not enabled for debugging. */
static bool no_runtime(struct attempt *a)
{
	const struct doctor_process *p = a->p;
	char name[64];

	if (p->runtime == DOCTOR_NO)
		return no(a, RUN, "its runtime can no longer be enabled for debugging");
	return (p->shim == DOCTOR_NO || p->env_disabled) && doctor_rocr_never_enables(p->rocr) &&
	       p->runtime != DOCTOR_YES &&
	       no(a, RUN ", which enables it", "ROCr %s does not enable its runtime for debugging",
		  doctor_rocr_name(name, p->rocr));
}

/* Sets the result to NO and returns true if a debugger other than the daemon traces the process. */
static bool is_traced(struct attempt *a)
{
	const struct doctor_process *p = a->p;
	char advice[128];

	if (!doctor_is_traced(a->facts, p))
		return false;
	snprintf(advice, sizeof(advice), "end it: 'kill %lld'", (long long)p->tracer);
	a->result->reason.check = CHECK_tracer;
	return no(a, advice, "%s (process %lld) traces it, and a process can have only one tracer",
		  p->tracer_name[0] ? p->tracer_name : "another", (long long)p->tracer);
}

/* Sets the result of the level to NO and returns true if there is no daemon. */
static bool no_daemon(struct attempt *a)
{
	const struct doctor_daemon *daemon = &a->facts->daemon;

	if (daemon->error != ENOENT && daemon->error != ECONNREFUSED)
		return false;
	a->result->reason.check = CHECK_daemon;
	return no(a, "start kfdschedd as root", "no kfdschedd listens at %.120s", daemon->socket);
}

/* Handles a process that the daemon never suspends, because it has no priority or the highest one:
 * sets the result to YES (possible with another priority) and returns true. */
static bool no_priority(struct attempt *a)
{
	if (a->p->registered != DOCTOR_YES)
		return false;
	if (a->p->priority < 0)
		return yes(a, "once it has a priority");
	return a->p->priority >= PRIORITY_ONLINE &&
	       yes(a, "with a priority below 15: its present priority is the highest");
}

/* Returns true if tracing needs CAP_SYS_PTRACE: the process is another user's or not dumpable. */
static bool needs_right(const struct attempt *a)
{
	const struct doctor_named *named = &a->facts->named;

	return named->dumpable == DOCTOR_NO || named->identity.uid != a->facts->uid;
}

static bool yama_forbids(const struct attempt *a)
{
	return a->facts->yama >= YAMA_NO_ATTACH;
}

static bool lacks_shim(const struct attempt *a)
{
	return a->p->shim == DOCTOR_NO;
}

/* Sets the result of LEVEL_TRAP for a process that can be traced. Returns true. */
static bool by_trap(struct attempt *a)
{
	bool registered = a->p->registered == DOCTOR_YES;
	char why[96];

	if (a->line->verdict == DOCTOR_CANNOT_KNOW)
		return true;
	if (registered && a->line->verdict == DOCTOR_OK)
		/* YES, because the reason why the daemon only observes the process is temporary. */
		return yes(a, a->line->found + a->line->why);
	if (registered || a->p->shim == DOCTOR_YES)
		return no_as_line(a);
	snprintf(why, sizeof(why), "once it is tagged: 'kfdsched set %d PRIORITY'", a->p->pid);
	return yes(a, why);
}

/* Sets the result of a level that the shim implements (LEVEL_SELF, LEVEL_GATE, LEVEL_WEIGHT).
 * Returns true. */
static bool by_shim(struct attempt *a)
{
	if (a->p->registered != DOCTOR_YES && a->line->level == LEVEL_NONE)
		return no_as_line(a);
	if (a->level == LEVEL_SELF && a->p->reason.code == REASON_session_exists)
		return no(a, "end rocgdb there", "another process has a debug session on it");
	return yes(a,
		   a->level == LEVEL_WEIGHT ? "if KFDSHIM_LEVEL=weight or a rule selects it" : "");
}

/* Sets the result of BY_HAND for a process that the daemon does not know, and returns true.
 * kfdsched then opens a debug session of its own, which needs the rights of its user. */
static bool by_session(struct attempt *a)
{
	const struct doctor_facts *facts = a->facts;

	/* A shim opens a debug session on its own process only if the process can be held back,
	 * that is, if its priority is below PRIORITY_ONLINE. */
	if (a->out->level == LEVEL_SELF && diagnose_priority(a->p) < PRIORITY_ONLINE)
		return no(a, "start kfdschedd as root, which takes it over",
			  "its shim uses the only debug session to hold it");
	if (facts->sys_ptrace == DOCTOR_NO && (needs_right(a) || facts->yama >= YAMA_ADMIN_ONLY))
		return no(a, "run this as root", "user %s is not allowed to trace it", facts->user);
	if (facts->sys_ptrace != DOCTOR_UNKNOWN && a->p->shim == DOCTOR_YES && !a->p->env_disabled)
		return yes(a, "by a debug session of kfdsched");
	snprintf(a->result->reason.found, sizeof(a->result->reason.found),
		 "whether its runtime allows it is not visible from outside: 'kfdsched preempt %d "
		 "-n 1' tries it, and interrupts its GPUs for a moment",
		 a->p->pid);
	return true;
}

static bool by_nothing(struct attempt *a)
{
	return yes(a, "it is only observed: it is not held, and no process is held for it");
}

/* ---- what each level needs ---- */

enum {
	TRAP = 1 << LEVEL_TRAP,
	SELF = 1 << LEVEL_SELF,
	OBSERVE = 1 << LEVEL_OBSERVE,
	HAND = 1 << BY_HAND,
	SHIM = SELF | 1 << LEVEL_GATE | 1 << LEVEL_WEIGHT,
	HELD = TRAP | SHIM,
	SESSION = TRAP | SELF | HAND,
	TRACING = TRAP | HAND,
	NONE = 0 /* the check's finding is an obstacle, but prevents no level */
};

static const struct need {
	unsigned levels;
	bool (*settles)(struct attempt *a); /* returns true if it has set the result of the level */
	/* Used if settles() is NULL: the levels are impossible if a finding of `check` has verdict
	 * `from` or a worse one. */
	enum doctor_check check;
	enum doctor_verdict from;
	bool (*applies)(const struct attempt *a); /* NULL: always */
} needs[] = {
	{HAND, .settles = by_request},
	{SHIM, .settles = no_shim},
	{HELD, .settles = chosen_another},
	{SESSION, .check = CHECK_kernel, .from = DOCTOR_MISSING},
	{SESSION, .check = CHECK_driver, .from = DOCTOR_MISSING},
	{SESSION, .check = CHECK_kfd_version, .from = DOCTOR_MISSING},
	{SESSION, .check = CHECK_cwsr, .from = DOCTOR_MISSING},
	{SESSION, .check = CHECK_gpu, .from = DOCTOR_MISSING},
	{SESSION, .check = CHECK_sched_policy, .from = DOCTOR_MISSING},
	{SESSION, .check = CHECK_debugging, .from = DOCTOR_MISSING},
	{SESSION, .settles = no_runtime},
	{SESSION, .check = CHECK_session, .from = DOCTOR_WARNING},
	{TRACING, .settles = is_traced},
	{HAND, .check = CHECK_yama, .from = DOCTOR_WARNING, .applies = yama_forbids},
	{TRAP, .check = CHECK_yama, .from = DOCTOR_WARNING},
	{TRAP, .settles = no_daemon},
	{TRAP, .check = CHECK_daemon, .from = DOCTOR_WARNING},
	{TRAP, .check = CHECK_sys_ptrace, .from = DOCTOR_WARNING, .applies = needs_right},
	{TRAP, .check = CHECK_ptrace, .from = DOCTOR_WARNING},
	{HELD, .settles = no_priority},
	{TRAP, .settles = by_trap},
	{SHIM, .settles = by_shim},
	{OBSERVE, .settles = by_nothing},
	{HAND, .settles = by_session},
	{NONE, .check = CHECK_policy},
	{NONE, .check = CHECK_pid_namespace},
	{NONE, .check = CHECK_worker},
	{NONE, .check = CHECK_connections},
	{NONE, .check = CHECK_vram},
	{NONE, .check = CHECK_queue_slots},
	{NONE, .check = CHECK_shim, .applies = lacks_shim},
	{NONE, .check = CHECK_agent, .applies = lacks_shim},
};
#define NEEDS (sizeof(needs) / sizeof(needs[0]))

/* Returns true if a finding of the check in `need` prevents the level, and stores that finding as
 * the reason in a->result. Findings about a GPU count only if the process uses that GPU. */
static bool is_prevented(struct attempt *a, const struct need *need)
{
	const struct doctor_findings *findings = &a->out->findings;

	for (size_t i = 0; i < findings->count; i++) {
		const struct doctor_finding *f = &findings->list[i];

		if (f->check != need->check || f->verdict < need->from ||
		    f->verdict == DOCTOR_CANNOT_KNOW ||
		    (f->gpu_id && !doctor_uses_node(a->p, f->gpu_id)))
			continue;
		a->result->can = DIAGNOSE_NO;
		a->result->reason = *f;
		return true;
	}
	return false;
}

static void evaluate_needs(struct attempt *a)
{
	for (size_t i = 0; i < NEEDS; i++) {
		const struct need *need = &needs[i];

		if (!(need->levels & 1u << a->level) || (need->applies && !need->applies(a)))
			continue;
		if (need->settles ? need->settles(a) : is_prevented(a, need))
			return;
	}
}

bool levels_concern(const struct doctor_facts *facts, const struct doctor_process *p,
		    const struct doctor_finding *f)
{
	const struct attempt a = {.facts = facts, .p = p};

	if (doctor_check_scope(f->check) >= DOCTOR_PROCESS)
		return true;
	/* needs[] can have several entries for a check, with different conditions. */
	for (size_t i = 0; i < NEEDS; i++) {
		if (needs[i].settles || needs[i].check != f->check ||
		    (needs[i].applies && !needs[i].applies(&a)))
			continue;
		return (!f->gpu_id || doctor_uses_node(p, f->gpu_id));
	}
	return false;
}

static void evaluate_level(struct attempt *a)
{
	bool hand = a->level == BY_HAND;

	if (doctor_is_dead(&a->facts->named) || a->out->uses_gpu == DOCTOR_NO) {
		no(a, "", "%s",
		   hand				      ? "there is nothing to hold"
		   : a->facts->named.identity.kernel  ? "it is a kernel thread"
		   : doctor_is_dead(&a->facts->named) ? "it has ended"
						      : "it uses no GPU");
	} else if (!hand && a->line && a->out->level == a->level) {
		a->result->can = DIAGNOSE_NOW;
		snprintf(a->result->reason.found, sizeof(a->result->reason.found), "%s",
			 a->line->found + a->line->why);
	} else if (a->line) {
		evaluate_needs(a);
	}
}

void levels_evaluate(const struct doctor_facts *facts, struct diagnosis *out)
{
	struct attempt a = {.facts = facts,
			    .p = doctor_named_process(facts),
			    .line = doctor_find(&out->findings, CHECK_level),
			    .out = out};

	out->level = a.line ? a.line->level : LEVEL_UNKNOWN;
	out->best = LEVEL_UNKNOWN;
	for (a.level = 0; a.level <= BY_HAND; a.level++) {
		a.result = &out->levels[a.level];
		*a.result = (struct diagnose_level){.can = DIAGNOSE_UNKNOWN,
						    .reason.check = DOCTOR_CHECKS};
		evaluate_level(&a);
		if (a.level < BY_HAND && out->best == LEVEL_UNKNOWN &&
		    (a.result->can == DIAGNOSE_NOW || a.result->can == DIAGNOSE_YES))
			out->best = a.level;
	}
}

// SPDX-License-Identifier: MIT
/*
 * Evaluates for each level of preemption: is it the present one, is it possible, if not, why?
 *
 * The functions no_...() that return a bool return true if the level is settled: usually they have
 * found an obstacle and have set its reason, its advice and, if it is a finding, its check. A level
 * is evaluated by calling them one after the other until one returns true.
 */
#include "cli/doctor/diagnose.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "channel/protocol.h"
#include "kfd/driver_rules.h"

#define YAMA_NO_ATTACH 3 /* ptrace_scope: no process is allowed to trace */
#define RUN "start it with 'kfdsched run --priority P -- COMMAND'"

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

static void no(struct diagnose_level *level, const char *advice, const char *why, ...)
	__attribute__((format(printf, 3, 4)));

/* Makes the level impossible, for that reason. */
static void no(struct diagnose_level *level, const char *advice, const char *why, ...)
{
	va_list ap;

	level->can = DIAGNOSE_NO;
	level->gpu_id = 0;
	va_start(ap, why);
	vsnprintf(level->why, sizeof(level->why), why, ap);
	va_end(ap);
	snprintf(level->advice, sizeof(level->advice), "%s", advice);
}

/* Makes the level impossible because of a finding, whose text and advice it takes over. */
static void no_because_of(struct diagnose_level *level, const struct doctor_finding *finding)
{
	no(level, finding->advice, "%.310s", finding->found);
	level->check = finding->check;
	level->gpu_id = finding->gpu_id;
}

static void yes(struct diagnose_level *level, const char *why)
{
	level->can = DIAGNOSE_YES;
	snprintf(level->why, sizeof(level->why), "%s", why);
}

/* Returns the finding about the present level. NULL: there is none. */
static const struct doctor_finding *line_of(const struct diagnosis *out)
{
	for (size_t i = 0; i < out->findings.count; i++)
		if (out->findings.list[i].level)
			return &out->findings.list[i];
	return NULL;
}

/* Returns true, and sets the reason, if kernel, driver or a GPU of the process cannot suspend
 * queues. */
static bool no_debugging(const struct diagnose_facts *facts, const struct diagnosis *out,
			 struct diagnose_level *level)
{
	static const char *const checks[] = {"kernel", "driver",       "kfd_version", "cwsr",
					     "gpu",    "sched_policy", "debugging"};

	for (size_t i = 0; i < sizeof(checks) / sizeof(checks[0]); i++) {
		const struct doctor_finding *f = diagnose_amiss(facts, &out->findings, checks[i]);

		if (f && f->verdict == DOCTOR_MISSING) {
			no_because_of(level, f);
			return true;
		}
	}
	return false;
}

/* Returns true, and sets the reason, if the HSA runtime is not enabled for debugging and will not
 * be. Levels trap and self need that. */
static bool no_runtime(const struct doctor_process *p, struct diagnose_level *level)
{
	char name[64];

	if (!strcmp(p->runtime, "never")) {
		no(level, RUN, "its runtime can no longer be enabled for debugging");
		return true;
	}
	if ((p->shim == DOCTOR_NO || p->env_disabled) && doctor_rocr_never_enables(p->rocr) &&
	    strcmp(p->runtime, "enabled") != 0) {
		no(level, RUN ", which enables it",
		   "ROCr %s does not enable its runtime for debugging",
		   doctor_rocr_name(name, p->rocr));
		return true;
	}
	return false;
}

/* Returns true, and sets the reason, if the GPU allows one debug session and another process has
 * it. */
static bool no_session(const struct diagnosis *out, struct diagnose_level *level)
{
	for (size_t i = 0; i < out->findings.count; i++)
		if (!strcmp(out->findings.list[i].check, "session")) {
			no_because_of(level, &out->findings.list[i]);
			return true;
		}
	return false;
}

/* Returns true, and sets the reason, if the process has no working shim, which levels self, gate
 * and weight need. Also returns true, with the level unknown, if it is not known whether the
 * process has the shim. */
static bool no_shim(const struct doctor_process *p, const struct doctor_finding *line,
		    struct diagnose_level *level)
{
	if (p->shim == DOCTOR_UNKNOWN && p->registered != DOCTOR_YES) {
		level->can = DIAGNOSE_UNKNOWN;
		return true;
	}
	if (p->registered == DOCTOR_YES && !p->external)
		return false;
	if (p->env_disabled) {
		no(level, "start it without KFDSHIM_DISABLE", "KFDSHIM_DISABLE=1");
		return true;
	}
	if (p->shim == DOCTOR_YES && !p->external)
		return false;
	if (p->other_class == DOCTOR_YES)
		no(level, "use a 64-bit program", "%.300s", line->found + line->why);
	else if (p->set_id == DOCTOR_YES || p->static_program == DOCTOR_YES)
		no(level, "", "%.300s", line->found + line->why);
	else if (p->preload[0] && p->preload_there == DOCTOR_NO)
		no(level, "put libkfdshim.so and its agent there, and start it again",
		   "its LD_PRELOAD names %.200s, which does not exist in its mount namespace",
		   p->preload);
	else
		no(level, RUN, "libkfdshim.so is not loaded");
	return true;
}

/* Returns true if a process that the daemon knows is held at no level, because of its priority; the
 * level is then possible on that condition. */
static bool no_priority(const struct doctor_process *p, struct diagnose_level *level)
{
	if (p->registered != DOCTOR_YES)
		return false;
	if (p->priority < 0) {
		yes(level, "once it has a priority");
		return true;
	}
	if (p->priority >= PRIORITY_ONLINE) {
		yes(level, "with a priority below 15: its present priority is the highest");
		return true;
	}
	return false;
}

/* Returns true, and sets the reason, if KFDSHIM_LEVEL of the process is another level. */
static bool chosen_another(const struct doctor_process *p, struct diagnose_level *level)
{
	if (p->shim == DOCTOR_NO || !p->env_level[0] || !strcmp(p->env_level, "auto") ||
	    !strcmp(p->env_level, level->name))
		return false;
	no(level, "start it without KFDSHIM_LEVEL", "KFDSHIM_LEVEL=%.60s excludes other levels",
	   p->env_level);
	return true;
}

/* Returns true, and sets the reason, if no process at all can trace this one: a debugger already
 * does, or Yama forbids it. */
static bool is_untraceable(const struct diagnose_facts *facts, const struct doctor_process *p,
			   const struct diagnosis *out, struct diagnose_level *level)
{
	const struct doctor_finding *f;
	char advice[128];

	if (doctor_is_traced(&facts->machine, p)) {
		snprintf(advice, sizeof(advice), "end it: 'kill %lld'", (long long)p->tracer);
		no(level, advice,
		   "%s (process %lld) traces it, and a process can have only one tracer",
		   p->tracer_name[0] ? p->tracer_name : "another", (long long)p->tracer);
		level->check = "tracer";
		return true;
	}
	f = diagnose_amiss(facts, &out->findings, "yama");
	if (!f || facts->machine.yama < YAMA_NO_ATTACH)
		return false;
	no_because_of(level, f);
	return true;
}

/* Returns true, and sets the reason, if the daemon cannot trace the process, or if there is no
 * daemon that could. */
static bool no_tracing(const struct diagnose_facts *facts, const struct doctor_process *p,
		       const struct diagnosis *out, struct diagnose_level *level)
{
	const struct doctor_facts *machine = &facts->machine;
	const struct doctor_finding *f;

	if (is_untraceable(facts, p, out, level))
		return true;
	f = diagnose_amiss(facts, &out->findings, "daemon");
	if (f && (machine->daemon.error == ENOENT || machine->daemon.error == ECONNREFUSED)) {
		no(level, "start kfdschedd as root", "no kfdschedd listens at %.120s",
		   machine->daemon.socket);
		level->check = f->check;
		return true;
	}
	if (f) {
		no_because_of(level, f);
		return true;
	}
	/* Without CAP_SYS_PTRACE, a user can trace only the user's own dumpable processes. */
	f = diagnose_amiss(facts, &out->findings, "sys_ptrace");
	if (f && (facts->dumpable == DOCTOR_NO || facts->identity.uid != machine->uid)) {
		no_because_of(level, f);
		return true;
	}
	f = diagnose_amiss(facts, &out->findings, "ptrace");
	if (f)
		no_because_of(level, f);
	return f != NULL;
}

/* Evaluates level trap: the daemon traces the process and suspends its queues. */
static void check_trap(const struct diagnose_facts *facts, const struct doctor_process *p,
		       const struct doctor_finding *line, const struct diagnosis *out,
		       struct diagnose_level *level)
{
	if (chosen_another(p, level) || no_debugging(facts, out, level) || no_runtime(p, level) ||
	    no_session(out, level) || no_tracing(facts, p, out, level))
		return;
	if (p->registered == DOCTOR_YES && no_priority(p, level))
		return;
	if (line->verdict == DOCTOR_CANNOT_KNOW) {
		level->can = DIAGNOSE_UNKNOWN;
	} else if (p->registered == DOCTOR_YES && line->verdict == DOCTOR_OK) {
		/* The daemon has seen the process only a moment ago and still tries. */
		yes(level, line->found + line->why);
	} else if (p->registered == DOCTOR_YES || p->shim == DOCTOR_YES) {
		no(level, line->advice, "%.310s", line->found + line->why);
	} else {
		char why[96];

		snprintf(why, sizeof(why), "once it is tagged: 'kfdsched set %d PRIORITY'", p->pid);
		yes(level, why);
	}
}

/* Evaluates the levels that the shim in the process carries out: self, gate and weight. */
static void check_own(const struct diagnose_facts *facts, const struct doctor_process *p,
		      const struct doctor_finding *line, const struct diagnosis *out,
		      struct diagnose_level *level)
{
	bool debugs = !strcmp(level->name, "self");

	if (no_shim(p, line, level) || chosen_another(p, level))
		return;
	if (debugs &&
	    (no_debugging(facts, out, level) || no_runtime(p, level) || no_session(out, level)))
		return;
	if (no_priority(p, level))
		return;
	if (p->registered != DOCTOR_YES && line->level && !strcmp(line->level, "none"))
		no(level, line->advice, "%.310s", line->found + line->why);
	else if (debugs && strstr(p->reason, "debug session already"))
		no(level, "end rocgdb there", "another process has a debug session on it");
	else if (!strcmp(level->name, "weight"))
		yes(level, "if KFDSHIM_LEVEL=weight or a rule selects it");
	else
		yes(level, "");
}

/* Evaluates suspend and preempt for a process that the daemon knows: kfdsched sends the daemon a
 * request. */
static void check_requested(const struct diagnosis *out, struct diagnose_level *level)
{
	const struct diagnose_level *trap = &out->levels[0];

	if (out->level && strcmp(out->level, "observe") != 0 && strcmp(out->level, "none") != 0) {
		yes(level, "by kfdschedd");
	} else if (trap->can == DIAGNOSE_NO) {
		no(level, trap->advice, "%s", trap->why);
		level->gpu_id = trap->gpu_id;
	} else {
		level->can = trap->can;
		snprintf(level->why, sizeof(level->why), "by kfdschedd, at level trap");
	}
}

/* Evaluates suspend and preempt. If the daemon does not know the process, kfdsched opens a debug
 * session itself, so that the rights of the user of kfdsched count. */
static void check_by_hand(const struct diagnose_facts *facts, const struct doctor_process *p,
			  const struct diagnosis *out, struct diagnose_level *level)
{
	const struct doctor_facts *machine = &facts->machine;

	if (p->registered == DOCTOR_YES) {
		check_requested(out, level);
		return;
	}
	if (no_debugging(facts, out, level) || no_runtime(p, level) || no_session(out, level) ||
	    is_untraceable(facts, p, out, level))
		return;
	/* A shim opens the session on its own process only if the process can be held back, that
	 * is, with a priority below online. */
	if (out->level && !strcmp(out->level, "self") && diagnose_priority(p) < PRIORITY_ONLINE)
		no(level, "start kfdschedd as root, which takes it over",
		   "its shim uses the only debug session to hold it");
	else if (machine->sys_ptrace == DOCTOR_NO &&
		 (facts->dumpable == DOCTOR_NO || facts->identity.uid != machine->uid))
		no(level, "run this as root", "user %s is not allowed to trace it", machine->user);
	else if (machine->sys_ptrace == DOCTOR_UNKNOWN || p->shim != DOCTOR_YES || p->env_disabled)
		snprintf(level->why, sizeof(level->why),
			 "whether its runtime allows it is not visible from outside: 'kfdsched "
			 "preempt %d -n 1' tries it, and interrupts its GPUs for a moment",
			 p->pid);
	else
		yes(level, "by a debug session of kfdsched");
}

void diagnose_check_levels(const struct diagnose_facts *facts, struct diagnosis *out)
{
	static const char *const names[DIAGNOSE_LEVELS] = {"trap", "self", "gate", "weight",
							   "observe"};
	const struct doctor_process *p = diagnose_process(facts);
	const struct doctor_finding *line = line_of(out);

	if (line && strcmp(line->level, "-") != 0)
		out->level = line->level;
	for (size_t i = 0; i < DIAGNOSE_LEVELS; i++) {
		struct diagnose_level *level = &out->levels[i];

		*level = (struct diagnose_level){.name = names[i], .can = DIAGNOSE_UNKNOWN};
		if (diagnose_is_dead(facts)) {
			no(level, "", "it has ended");
			if (facts->identity.kernel)
				no(level, "", "it is a kernel thread");
		} else if (out->uses_gpu == DOCTOR_NO) {
			no(level, "", "it uses no GPU");
		} else if (!p || !line) {
			continue;
		} else if (out->level && !strcmp(out->level, level->name)) {
			level->can = DIAGNOSE_NOW;
			snprintf(level->why, sizeof(level->why), "%.310s", line->found + line->why);
		} else if (i == 0) {
			check_trap(facts, p, line, out, level);
		} else if (i < DIAGNOSE_LEVELS - 1) {
			check_own(facts, p, line, out, level);
		} else {
			yes(level, "it is only observed: it is not held, and no process is held "
				   "for it");
		}
		if (!out->best && (level->can == DIAGNOSE_NOW || level->can == DIAGNOSE_YES))
			out->best = level->name;
	}
	out->by_hand = (struct diagnose_level){.name = "by hand", .can = DIAGNOSE_UNKNOWN};
	if (diagnose_is_dead(facts) || out->uses_gpu == DOCTOR_NO)
		no(&out->by_hand, "", "there is nothing to hold");
	else if (p && line)
		check_by_hand(facts, p, out, &out->by_hand);
}

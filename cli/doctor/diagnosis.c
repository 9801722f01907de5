// SPDX-License-Identifier: MIT
/*
 * Evaluates the facts about one process, and composes the verdict and its grounds.
 *
 * Each step uses the results of the steps before it: state, queues, GPU use, runtime, doctor's
 * findings, levels (levels.c), verdict. The findings are reduced to obstacles last, because the
 * levels and the verdict also refer to findings that are not obstacles.
 */
#include "cli/doctor/diagnosis.h"

#include <stdio.h>
#include <string.h>

#include "channel/protocol.h"
#include "common/allocate.h"

static void add_grounds(struct diagnosis *out, const char *what)
{
	size_t used = strlen(out->grounds);

	snprintf(out->grounds + used, sizeof(out->grounds) - used, "%s%s", used ? "; " : "", what);
}

/* Adds a ground to out->grounds and updates out->uses_gpu. `yes` is the ground for the use of a
 * GPU, `no` the one against it; `known` selects which. Does nothing if it is DOCTOR_UNKNOWN. */
static void weigh(struct diagnosis *out, enum doctor_known known, const char *yes, const char *no)
{
	if (known == DOCTOR_UNKNOWN)
		return;
	add_grounds(out, known ? yes : no);
	if (out->uses_gpu != DOCTOR_YES)
		out->uses_gpu = known;
}

/* Evaluates whether the process uses a GPU: DOCTOR_YES if at least one fact shows it, DOCTOR_NO if
 * no fact shows it and at least one denies it. */
static void evaluate_use(const struct doctor_facts *facts, const struct doctor_process *p,
			 struct diagnosis *out)
{
	weigh(out, p->uses_gpu, "the driver lists it", "the driver does not list it");
	weigh(out, p->kfd_open, "it has /dev/kfd open", "it does not have /dev/kfd open");
	if (p->registered == DOCTOR_YES)
		weigh(out, DOCTOR_YES,
		      p->external ? "it is tagged in kfdschedd"
				  : "its shim has registered it with kfdschedd",
		      "");
	else if (out->queue_count && p->uses_gpu != DOCTOR_YES)
		weigh(out, DOCTOR_YES, "it has queues", "");
	/* A loaded HSA runtime is mentioned but proves nothing, because many programs load it
	 * without using a GPU. */
	if (p->rocr[0])
		add_grounds(out, "an HSA runtime is loaded");
	if (doctor_is_dead(&facts->named)) {
		out->uses_gpu = DOCTOR_NO;
		out->grounds[0] = '\0';
	}
}

/* Counts a queue under its GPU, type and source. */
static void count_queue(struct diagnosis *out, const struct observe_queue *queue)
{
	const struct observe_value *type = &queue->field[OBSERVE_TYPE];
	const struct diagnose_queues kind = {
		.gpu_id = queue->gpu_id,
		.type = type->source == OBSERVE_NO_SOURCE ? OBSERVE_TYPES : type->value,
		.source = type->source,
		.count = 1,
	};
	bool new_gpu = true;

	out->queue_count++;
	if (out->held != DOCTOR_YES && observe_known(queue, OBSERVE_SUSPENDED))
		out->held = queue->field[OBSERVE_SUSPENDED].value ? DOCTOR_YES : DOCTOR_NO;
	for (size_t i = 0; i < out->queue_kinds; i++) {
		struct diagnose_queues *q = &out->queues[i];

		if (q->gpu_id == kind.gpu_id && q->type == kind.type && q->source == kind.source) {
			q->count++;
			return;
		}
		new_gpu &= q->gpu_id != kind.gpu_id;
	}
	out->gpu_count += new_gpu;
	if (out->queue_kinds < DIAGNOSE_QUEUES)
		out->queues[out->queue_kinds++] = kind;
}

/* Evaluates whether the HSA runtime of the process is enabled for debugging, which suspension
 * needs. The daemon reports that for its clients. For other processes only the release of the
 * runtime and whether the shim is loaded are known. */
static void evaluate_runtime(const struct doctor_facts *facts, const struct doctor_process *p,
			     struct diagnosis *out)
{
	char name[64];
	const char *text;

	out->debug_enabled = p->runtime;
	if (doctor_is_dead(&facts->named) || (out->uses_gpu == DOCTOR_NO && p->runtime < 0))
		return;
	if (p->runtime == DOCTOR_YES) {
		text = "enabled for debugging, as kfdschedd reports";
	} else if (p->runtime == DOCTOR_NO) {
		text = "cannot be enabled for debugging, as kfdschedd reports";
	} else if (p->shim == DOCTOR_YES && !p->env_disabled) {
		text = "not known; its shim enables it for debugging if the driver allows it";
	} else if (!p->rocr[0]) {
		return;
	} else if (doctor_rocr_never_enables(p->rocr)) {
		out->debug_enabled = DOCTOR_NO;
		text = "not enabled for debugging: its HSA runtime never enables it";
	} else {
		text = "not visible from outside; enabled if the firmware of the GPUs allows it";
	}
	snprintf(out->runtime, sizeof(out->runtime), "%s%s%s", text, p->rocr[0] ? "; ROCr " : "",
		 p->rocr[0] ? doctor_rocr_name(name, p->rocr) : "");
}

/* Writes the GPU use as a part of the verdict: "uses 2 GPUs with 6 queues". */
static void use_words(const struct diagnosis *out, char *text, size_t size)
{
	if (out->uses_gpu == DOCTOR_NO)
		snprintf(text, size, "uses no GPU");
	else if (out->uses_gpu == DOCTOR_UNKNOWN)
		snprintf(text, size, "may use a GPU (not visible from here)");
	else if (!out->queues_known)
		snprintf(text, size, "uses a GPU (its queues are not visible from here)");
	else if (!out->queue_count)
		snprintf(text, size, "has opened a GPU and has no queues there");
	else
		snprintf(text, size, "uses %zu GPU%s with %zu queue%s%s", out->gpu_count,
			 out->gpu_count == 1 ? "" : "s", out->queue_count,
			 out->queue_count == 1 ? "" : "s",
			 out->held == DOCTOR_YES ? " (held now)" : "");
}

/* Returns the state of the process as a phrase of the verdict. */
static const char *state_words(const struct doctor_facts *facts, char text[96])
{
	const struct doctor_process *p = doctor_named_process(facts);
	char tracer[48];

	if (facts->named.paused == DOCTOR_YES)
		return "is paused with its cgroup";
	switch (facts->named.identity.state) {
	case 'T':
		return "is stopped by a signal";
	case 't':
		snprintf(text, 96, "is stopped by %s",
			 doctor_name_process(tracer, p->tracer_name, p->tracer, "its tracer"));
		return text;
	case 'D':
		return "waits in the kernel";
	default:
		return "runs";
	}
}

/* Evaluates whether the process can be preempted: sets out->preemptible and writes the answer into
 * `text`, the last part of the verdict. */
static void evaluate_held(const struct doctor_facts *facts, struct diagnosis *out, char *text,
			  size_t size)
{
	const struct doctor_process *p = doctor_named_process(facts);
	const struct diagnose_level *trap = &out->levels[LEVEL_TRAP];
	const struct doctor_finding *line = doctor_find(&out->findings, CHECK_level);
	bool fine = !line || line->verdict == DOCTOR_OK;

	if (out->uses_gpu == DOCTOR_NO) {
		out->preemptible = DOCTOR_NO;
		snprintf(text, size, "there is nothing to preempt");
	} else if (out->level == LEVEL_UNKNOWN) {
		snprintf(text, size, "whether it can be preempted is not known from here%s%s",
			 line && line->advice[0] ? "; do: " : "", line ? line->advice : "");
	} else if ((out->level == LEVEL_OBSERVE || out->level == LEVEL_SELF) &&
		   diagnose_priority(p) >= PRIORITY_ONLINE) {
		out->preemptible = DOCTOR_NO;
		snprintf(text, size, "cannot be preempted: priority %d is the highest%s%s",
			 diagnose_priority(p),
			 out->best == LEVEL_UNKNOWN
				 ? ""
				 : "; with a lower priority it could be, at level ",
			 out->best == LEVEL_UNKNOWN ? "" : doctor_level_name(out->best));
	} else if (out->level >= LEVEL_OBSERVE) {
		out->preemptible = DOCTOR_NO;
		if (!fine)
			snprintf(text, size, "%s now: %.310s%s%s",
				 out->levels[BY_HAND].can == DIAGNOSE_NO ? "cannot be preempted"
									 : "is not preempted",
				 line->found + line->why, line->advice[0] ? "; do: " : "",
				 line->advice);
		else /* the reason is temporary, or KFDSHIM_LEVEL=observe */
			snprintf(text, size, "is not preempted: %.310s",
				 out->levels[LEVEL_OBSERVE].reason.found);
	} else {
		out->preemptible = DOCTOR_YES;
		snprintf(text, size, "can be preempted at level %s%s%s",
			 doctor_level_name(out->level),
			 trap->can == DIAGNOSE_NO && trap->reason.advice[0]
				 ? "; for level trap do: "
				 : "",
			 trap->can == DIAGNOSE_NO ? trap->reason.advice : "");
	}
}

/* Composes the verdict: state, GPU use, and whether the process can be preempted. */
static void format_verdict(const struct doctor_facts *facts, struct diagnosis *out)
{
	const struct process_identity *id = &facts->named.identity;
	char name[64], state[96], use[96], held[800], text[48];

	snprintf(name, sizeof(name), "process %d (%s)", (int)id->pid, id->comm[0] ? id->comm : "?");
	if (id->kernel) {
		out->preemptible = DOCTOR_NO;
		snprintf(out->verdict_text, sizeof(out->verdict_text),
			 "%s is a kernel thread: there is nothing to preempt", name);
	} else if (doctor_is_dead(&facts->named)) {
		out->preemptible = DOCTOR_NO;
		snprintf(out->verdict_text, sizeof(out->verdict_text),
			 "%s has ended (a zombie until %s collects its exit status): there is "
			 "nothing to preempt",
			 name,
			 doctor_name_process(text, facts->named.parent_name, facts->named.parent,
					     "its parent"));
	} else {
		use_words(out, use, sizeof(use));
		evaluate_held(facts, out, held, sizeof(held));
		snprintf(out->verdict_text, sizeof(out->verdict_text), "%s %s, %s, and %s", name,
			 state_words(facts, state), use, held);
	}
}

/* Returns true if another line of the output reports the problem of this finding more precisely. */
static bool is_repeated(const struct doctor_process *p, const struct diagnosis *out,
			const struct doctor_finding *f)
{
	/* Leave out the warning that the GPU allows one debug session if the process has that
	 * session, or if finding "session" names the process that has it. */
	if (f->check == CHECK_debugging && f->verdict == DOCTOR_WARNING)
		return doctor_has_session(p) || doctor_find(&out->findings, CHECK_session);
	/* Leave out finding "level" if the process can be preempted at some level, and the reason
	 * why LEVEL_TRAP is not possible is the finding of another check, which is printed on its
	 * own line. */
	return f->check == CHECK_level && out->levels[LEVEL_TRAP].reason.check != DOCTOR_CHECKS &&
	       out->preemptible == DOCTOR_YES;
}

static bool is_obstacle(const struct doctor_facts *facts, const struct doctor_process *p,
			const struct diagnosis *out, const struct doctor_finding *f)
{
	if (!f->advice[0] || doctor_is_dead(&facts->named))
		return false;
	if (out->uses_gpu == DOCTOR_NO)
		return f->check == CHECK_state;
	return levels_concern(facts, p, f) && !is_repeated(p, out, f);
}

/* Keeps only the findings that are obstacles for the process, and one for each cause. Sorts them by
 * verdict, the worst first. Of equal verdicts, those about the process come before those about the
 * machine. */
static void keep_obstacles(const struct doctor_facts *facts, const struct doctor_process *p,
			   struct diagnosis *out)
{
	static const enum doctor_verdict worst_first[] = {DOCTOR_MISSING, DOCTOR_WARNING,
							  DOCTOR_CANNOT_KNOW};
	struct doctor_findings kept = {.list = allocate(out->findings.count, sizeof(*kept.list)),
				       .room = out->findings.count};

	for (unsigned rank = 0; rank < 6; rank++)
		for (size_t i = 0; i < out->findings.count; i++) {
			const struct doctor_finding *f = &out->findings.list[i];

			if (f->verdict == worst_first[rank / 2] && (f->pid == 0) == rank % 2 &&
			    is_obstacle(facts, p, out, f))
				kept.list[kept.count++] = *f;
		}
	doctor_findings_free(&out->findings);
	out->findings = kept;
}

void diagnose_evaluate(const struct doctor_facts *facts, struct diagnosis *out)
{
	const struct doctor_process *p = doctor_named_process(facts);
	const struct observation *seen = &facts->named.seen;

	*out = (struct diagnosis){
		.preemptible = DOCTOR_UNKNOWN, .uses_gpu = DOCTOR_UNKNOWN, .held = DOCTOR_UNKNOWN};
	out->queues_known = seen->listed != 0;
	for (size_t i = 0; i < seen->queues.count; i++) {
		count_queue(out, &seen->queues.queue[i]);
		out->exceptions_known |= observe_known(&seen->queues.queue[i], OBSERVE_EXCEPTIONS);
	}
	/* Prefer the daemon's answer, which is valid at every level: the queues only show a
	 * suspension, not that the shim holds work back. */
	if (p->registered == DOCTOR_YES && p->held != DOCTOR_UNKNOWN)
		out->held = p->held;
	evaluate_use(facts, p, out);
	evaluate_runtime(facts, p, out);
	doctor_check(facts, &out->findings);
	strcpy(out->state, doctor_find(&out->findings, CHECK_state)->found);
	levels_evaluate(facts, out);
	format_verdict(facts, out);
	keep_obstacles(facts, p, out);
}

void diagnosis_free(struct diagnosis *diagnosis)
{
	doctor_findings_free(&diagnosis->findings);
}

// SPDX-License-Identifier: MIT
/* What stands in the way of one process: doctor's findings that concern it, and those
 * that are about this process alone. */
#include "scheduler/cli/diagnose.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "abi/rules.h"
#include "common/shell_word.h"

bool diagnose_is_dead(const struct diagnose_facts *facts)
{
	char state = facts->who.state;

	/* The first thread may have ended, and others go on. */
	return facts->who.kernel || ((state == 'Z' || state == 'X') && facts->threads <= 1);
}

/* May be of this GPU, as far as is known. */
static bool uses_node(const struct doctor_process *p, uint32_t gpu_id)
{
	if (!p || !p->node_count)
		return true;
	for (size_t i = 0; i < p->node_count; i++)
		if (p->gpu_ids[i] == gpu_id)
			return true;
	return false;
}

const struct doctor_finding *diagnose_amiss(const struct diagnose_facts *facts,
					    const struct doctor_findings *findings,
					    const char *check)
{
	const struct doctor_process *p = diagnose_process(facts);

	for (size_t i = 0; i < findings->count; i++) {
		const struct doctor_finding *f = &findings->list[i];

		if (!strcmp(f->check, check) && (!f->gpu_id || uses_node(p, f->gpu_id)) &&
		    (f->verdict == DOCTOR_WARNING || f->verdict == DOCTOR_MISSING))
			return f;
	}
	return NULL;
}

/* Has it the one debug session of its GPU? */
static bool has_session(const struct doctor_process *p)
{
	return p->registered == DOCTOR_YES &&
	       (!strcmp(p->level, "trap") || !strcmp(p->level, "self"));
}

static void find_session(const struct diagnose_facts *facts, const struct doctor_process *p,
			 struct doctor_findings *out)
{
	const struct doctor_facts *machine = &facts->machine;

	if (has_session(p) || !p->node_count)
		return;
	for (size_t n = 0; n < machine->node_count; n++) {
		const struct doctor_node *node = &machine->nodes[n];

		if (node->gfx_target_version <= 0 || !uses_node(p, node->gpu_id) ||
		    kfdabi_per_vmid((uint32_t)node->gfx_target_version))
			continue;
		for (size_t i = 0; i < machine->process_count; i++) {
			const struct doctor_process *q = &machine->processes[i];

			if (q == p || !has_session(q) || !q->node_count ||
			    !uses_node(q, node->gpu_id))
				continue;
			doctor_find(out, "session", node->gpu_id, p->pid, DOCTOR_WARNING,
				    "it debugs one process at a time, and that is process %d (%s)",
				    q->pid, q->comm[0] ? q->comm : "?");
			doctor_advise(
				out,
				"end that one ('kill %d'), and the session is free; level gate "
				"needs none",
				q->pid);
			return;
		}
	}
}

static void find_state(const struct diagnose_facts *facts, struct doctor_findings *out)
{
	const int pid = facts->who.pid;
	char file[224];

	if (facts->paused == DOCTOR_YES) {
		doctor_find(out, "state", 0, pid, DOCTOR_WARNING,
			    "its cgroup is frozen, as 'docker pause' does");
		/* The command is the line's end, in no quotes: the word has its own. */
		if (facts->thaw[0] && shell_word(file, sizeof(file), facts->thaw))
			doctor_advise(out, "thaw it: 'docker unpause', or as root: echo 0 > %s",
				      file);
		else
			doctor_advise(out, "thaw it: 'docker unpause', or its cgroup.freeze");
	} else if (facts->who.state == 'T') {
		doctor_find(
			out, "state", 0, pid, DOCTOR_WARNING,
			"it is stopped by a signal; what it has given to the GPU goes on there");
		doctor_advise(out, "continue it: 'kill -CONT %d'", pid);
	} else if (facts->who.state == 'D') {
		doctor_find(out, "state", 0, pid, DOCTOR_WARNING,
			    "it waits in the kernel, and no signal reaches it");
		doctor_advise(out, "if it stays so, see where, as root: 'cat /proc/%d/stack'", pid);
	}
}

/* Who asks may not look, or the one who would act may not trace. */
static void find_rights(const struct diagnose_facts *facts, const struct doctor_process *p,
			struct doctor_findings *out)
{
	const struct doctor_facts *machine = &facts->machine;
	const int pid = facts->who.pid;
	bool daemon = machine->daemon.error == 0;
	enum doctor_known right = daemon ? machine->daemon.sys_ptrace : machine->sys_ptrace;

	if (p->environment_read != DOCTOR_YES) {
		if (facts->dumpable == DOCTOR_NO && facts->who.uid == machine->uid)
			doctor_find(
				out, "rights", 0, pid, DOCTOR_WARNING,
				"it is not dumpable (set-user-ID, or so it asked for), so %s may "
				"not look into it",
				machine->user);
		else
			doctor_find(out, "rights", 0, pid, DOCTOR_WARNING,
				    "%s may not look into it: it is %s's", machine->user,
				    facts->user[0] ? facts->user : "another user");
		doctor_advise(out, "ask as root: 'sudo kfdsched diagnose %d'", pid);
	}
	if (facts->same_user_namespace == DOCTOR_NO && right == DOCTOR_NO) {
		doctor_find(out, "user_namespace", 0, pid, DOCTOR_WARNING,
			    "it is in another user namespace, where %s has no rights",
			    daemon ? "kfdschedd" : machine->user);
		doctor_advise(out, "start kfdschedd as root outside the container: 'kfdschedd'");
	} else if (facts->dumpable == DOCTOR_NO && right == DOCTOR_NO &&
		   p->environment_read == DOCTOR_YES) {
		doctor_find(out, "dumpable", 0, pid, DOCTOR_WARNING,
			    "it is not dumpable, so it is traced with CAP_SYS_PTRACE alone");
		doctor_advise(out, "start kfdschedd as root: 'kfdschedd'");
	}
}

/* Of the machine's, what concerns a process that is there and uses its GPU already. */
static bool concerns(const struct diagnose_facts *facts, const struct doctor_process *p,
		     const struct doctor_finding *f)
{
	static const char *const others[] = {
		"kfd_device",	  "render_node", "partition",	 "hidepid",
		"runtime_folder", "open_files",	 "memory_files", "processes",
		"environment",	  "interrupts",	 "tools",	 "rocr",
		"uses_gpu",	  "has_shim",	 "process_rocr", "runtime",
	};
	bool program = !strcmp(f->check, "shim") || !strcmp(f->check, "agent");

	/* They are for the next start, where it lacks the shim. */
	if (program && p->shim != DOCTOR_NO)
		return false;
	/* Daemons in the way of nobody but themselves. */
	if (!strcmp(f->check, "ptrace") && facts->machine.daemon.here == DOCTOR_NO)
		return false;
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		if (!strcmp(f->check, others[i]))
			return false;
	return !f->gpu_id || uses_node(p, f->gpu_id);
}

static int worst_first(const void *a, const void *b)
{
	static const int rank[] = {[DOCTOR_MISSING] = 0,
				   [DOCTOR_WARNING] = 1,
				   [DOCTOR_CANNOT_KNOW] = 2,
				   [DOCTOR_OK] = 3};
	const struct doctor_finding *x = a, *y = b;

	if (rank[x->verdict] != rank[y->verdict])
		return rank[x->verdict] - rank[y->verdict];
	/* The process before the machine. */
	return (y->pid != 0) - (x->pid != 0);
}

static const struct doctor_finding *find_check(const struct doctor_findings *findings,
					       const char *check)
{
	for (size_t i = 0; i < findings->count; i++)
		if (!strcmp(findings->list[i].check, check))
			return &findings->list[i];
	return NULL;
}

/* Another line tells of the same, and better. */
static bool is_told(const struct diagnose_facts *facts, const struct diagnosis *judged,
		    const struct doctor_finding *f)
{
	const struct diagnose_level *trap = &judged->levels[0];
	const struct doctor_process *p = diagnose_process(facts);

	/* One session a GPU: in the way of whoever has not got it. */
	if (!strcmp(f->check, "debugging") && f->verdict == DOCTOR_WARNING)
		return has_session(p) || find_check(&judged->findings, "session");
	/* It is held; and why not by trap has a line of its own. */
	return f->level && trap->check && judged->preemptible == DOCTOR_YES;
}

void diagnose_keep_obstacles(const struct diagnose_facts *facts, struct diagnosis *judged)
{
	const struct doctor_process *p = diagnose_process(facts);
	struct doctor_findings *out = &judged->findings;
	struct doctor_finding *list = calloc(out->count + 1, sizeof(*list));
	size_t kept = 0;

	if (!list) {
		out->failed = true;
		return;
	}

	for (size_t i = 0; i < out->count; i++) {
		const struct doctor_finding *f = &out->list[i];
		bool keep = f->verdict != DOCTOR_OK && f->advice[0];

		if (diagnose_is_dead(facts))
			keep = false;
		else if (!p || judged->uses_gpu == DOCTOR_NO)
			keep = keep && !strcmp(f->check, "state");
		else
			keep = keep && concerns(facts, p, f) && !is_told(facts, judged, f);
		if (keep)
			list[kept++] = *f;
	}
	free(out->list);
	out->list = list;
	out->count = kept;
	for (size_t i = 1; i < kept; i++) /* stable, as qsort is not */
		for (size_t k = i; k && worst_first(&out->list[k - 1], &out->list[k]) > 0; k--) {
			struct doctor_finding swapped = out->list[k];

			out->list[k] = out->list[k - 1];
			out->list[k - 1] = swapped;
		}
}

void diagnose_judge_findings(const struct diagnose_facts *facts, struct diagnosis *out)
{
	const struct doctor_process *p = diagnose_process(facts);

	doctor_judge(&facts->machine, &out->findings);
	find_state(facts, &out->findings);
	if (p) {
		find_session(facts, p, &out->findings);
		find_rights(facts, p, &out->findings);
	}
	if (!out->findings.failed)
		diagnose_judge_levels(facts, out);
}

// SPDX-License-Identifier: MIT
/*
 * The obstacles to preempting one process: doctor's findings that concern it, and further ones
 * about this process alone.
 *
 * First all findings are made, because diagnose_levels.c uses them; diagnose_keep_obstacles() then
 * removes those that do not concern the process, or that another line reports better.
 */
#include "cli/doctor/diagnose.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/shell_word.h"
#include "kfd/driver_rules.h"

bool diagnose_is_dead(const struct diagnose_facts *facts)
{
	char state = facts->identity.state;

	/* A process whose first thread has ended is a zombie too, while its other threads run. */
	return facts->identity.kernel || ((state == 'Z' || state == 'X') && facts->threads <= 1);
}

/* Returns true if the process uses the GPU, or if it is not known which GPUs it uses. */
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

/* Returns true if a debug session on the process exists, by the daemon (level trap) or by its own
 * shim (level self). */
static bool has_session(const struct doctor_process *p)
{
	return p->registered == DOCTOR_YES &&
	       (!strcmp(p->level, "trap") || !strcmp(p->level, "self"));
}

/* Finds another process that has the only debug session of a GPU which this process uses. */
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
				    "the GPU allows one debug session at a time, and process %d "
				    "(%s) has it",
				    q->pid, q->comm[0] ? q->comm : "?");
			doctor_advise(
				out,
				"end that process ('kill %d'), or use level gate, which needs no "
				"session",
				q->pid);
			return;
		}
	}
}

/* Finds a state in which the process does not run: frozen, stopped, or waiting in the kernel. */
static void find_state(const struct diagnose_facts *facts, struct doctor_findings *out)
{
	const int pid = facts->identity.pid;
	char file[224];

	if (facts->paused == DOCTOR_YES) {
		doctor_find(out, "state", 0, pid, DOCTOR_WARNING,
			    "its cgroup is frozen, as 'docker pause' does");
		/* The command ends the line without quotes around it, because shell_word() adds
		 * quotes of its own. */
		if (facts->thaw[0] && shell_word(file, sizeof(file), facts->thaw))
			doctor_advise(out, "thaw it: 'docker unpause', or as root: echo 0 > %s",
				      file);
		else
			doctor_advise(out, "thaw it: 'docker unpause', or its cgroup.freeze");
	} else if (facts->identity.state == 'T') {
		doctor_find(out, "state", 0, pid, DOCTOR_WARNING,
			    "it is stopped by a signal; work that it has submitted to the GPU "
			    "continues");
		doctor_advise(out, "continue it: 'kill -CONT %d'", pid);
	} else if (facts->identity.state == 'D') {
		doctor_find(out, "state", 0, pid, DOCTOR_WARNING,
			    "it waits in the kernel, and cannot handle signals");
		doctor_advise(out,
			      "if the state persists, find the call as root: 'cat /proc/%d/stack'",
			      pid);
	}
}

/* Finds missing rights: of the user to read the process's data, or of the daemon (without one, of
 * the user) to trace it. */
static void find_rights(const struct diagnose_facts *facts, const struct doctor_process *p,
			struct doctor_findings *out)
{
	const struct doctor_facts *machine = &facts->machine;
	const int pid = facts->identity.pid;
	bool daemon = machine->daemon.error == 0;
	enum doctor_known right = daemon ? machine->daemon.sys_ptrace : machine->sys_ptrace;

	if (p->environment_read != DOCTOR_YES) {
		if (facts->dumpable == DOCTOR_NO && facts->identity.uid == machine->uid)
			doctor_find(out, "rights", 0, pid, DOCTOR_WARNING,
				    "it is not dumpable (set-user-ID, or by prctl), so %s is not "
				    "allowed to read its state",
				    machine->user);
		else
			doctor_find(out, "rights", 0, pid, DOCTOR_WARNING,
				    "%s is not allowed to read its state: it belongs to %s",
				    machine->user, facts->user[0] ? facts->user : "another user");
		doctor_advise(out, "run this as root: 'sudo kfdsched diagnose %d'", pid);
	}
	if (facts->same_user_namespace == DOCTOR_NO && right == DOCTOR_NO) {
		doctor_find(out, "user_namespace", 0, pid, DOCTOR_WARNING,
			    "it is in another user namespace, where %s has no rights",
			    daemon ? "kfdschedd" : machine->user);
		doctor_advise(out, "start kfdschedd as root outside the container: 'kfdschedd'");
	} else if (facts->dumpable == DOCTOR_NO && right == DOCTOR_NO &&
		   p->environment_read == DOCTOR_YES) {
		doctor_find(out, "dumpable", 0, pid, DOCTOR_WARNING,
			    "it is not dumpable, so only a process with CAP_SYS_PTRACE can trace "
			    "it");
		doctor_advise(out, "start kfdschedd as root: 'kfdschedd'");
	}
}

/* Returns true if a finding of doctor concerns a process that already runs and uses its GPU. Checks
 * about opening devices, about the start of programs and about other processes do not. */
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

	/* Findings about the libraries matter for the next start of a process that lacks the
	 * shim. */
	if (program && p->shim != DOCTOR_NO)
		return false;
	/* A daemon in another pid namespace traces from there, so ptrace refused in this one does
	 * not matter. */
	if (!strcmp(f->check, "ptrace") && facts->machine.daemon.here == DOCTOR_NO)
		return false;
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		if (!strcmp(f->check, others[i]))
			return false;
	return !f->gpu_id || uses_node(p, f->gpu_id);
}

/* Compares two findings: MISSING, WARNING, unknown, ok. */
static int worst_first(const void *a, const void *b)
{
	static const int rank[] = {[DOCTOR_MISSING] = 0,
				   [DOCTOR_WARNING] = 1,
				   [DOCTOR_CANNOT_KNOW] = 2,
				   [DOCTOR_OK] = 3};
	const struct doctor_finding *x = a, *y = b;

	if (rank[x->verdict] != rank[y->verdict])
		return rank[x->verdict] - rank[y->verdict];
	/* With the same verdict, findings about the process precede those about the machine. */
	return (y->pid != 0) - (x->pid != 0);
}

/* Returns the first finding of that check. NULL: there is none. */
static const struct doctor_finding *find_check(const struct doctor_findings *findings,
					       const char *check)
{
	for (size_t i = 0; i < findings->count; i++)
		if (!strcmp(findings->list[i].check, check))
			return &findings->list[i];
	return NULL;
}

/* Returns true if another line reports the same problem, and more precisely. */
static bool is_in_verdict(const struct diagnose_facts *facts, const struct diagnosis *diagnosed,
			  const struct doctor_finding *f)
{
	const struct diagnose_level *trap = &diagnosed->levels[0];
	const struct doctor_process *p = diagnose_process(facts);

	/* The GPU allows one debug session: an obstacle only for a process without it, and finding
	 * "session" names the process that has it. */
	if (!strcmp(f->check, "debugging") && f->verdict == DOCTOR_WARNING)
		return has_session(p) || find_check(&diagnosed->findings, "session");
	/* The process can be held at some level, and the reason against level trap has a line of
	 * its own. */
	return f->level && trap->check && diagnosed->preemptible == DOCTOR_YES;
}

void diagnose_keep_obstacles(const struct diagnose_facts *facts, struct diagnosis *diagnosed)
{
	const struct doctor_process *p = diagnose_process(facts);
	struct doctor_findings *out = &diagnosed->findings;
	struct doctor_finding *list = calloc(out->count + 1, sizeof(*list));
	size_t n_valid = 0;

	if (!list) {
		out->failed = true;
		return;
	}

	for (size_t i = 0; i < out->count; i++) {
		const struct doctor_finding *f = &out->list[i];
		bool keep = f->verdict != DOCTOR_OK && f->advice[0];

		if (diagnose_is_dead(facts))
			keep = false;
		else if (!p || diagnosed->uses_gpu == DOCTOR_NO)
			keep = keep && !strcmp(f->check, "state");
		else
			keep = keep && concerns(facts, p, f) && !is_in_verdict(facts, diagnosed, f);
		if (keep)
			list[n_valid++] = *f;
	}
	free(out->list);
	out->list = list;
	out->count = n_valid;
	for (size_t i = 1; i < n_valid; i++) /* insertion sort: stable, unlike qsort() */
		for (size_t k = i; k && worst_first(&out->list[k - 1], &out->list[k]) > 0; k--) {
			struct doctor_finding swapped = out->list[k];

			out->list[k] = out->list[k - 1];
			out->list[k - 1] = swapped;
		}
}

void diagnose_check_findings(const struct diagnose_facts *facts, struct diagnosis *out)
{
	const struct doctor_process *p = diagnose_process(facts);

	doctor_check(&facts->machine, &out->findings);
	find_state(facts, &out->findings);
	if (p) {
		find_session(facts, p, &out->findings);
		find_rights(facts, p, &out->findings);
	}
	if (!out->findings.failed)
		diagnose_check_levels(facts, out);
}

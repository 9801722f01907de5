// SPDX-License-Identifier: MIT
/* Checks processes: at which level each can be preempted, and what hinders a better level. */
#include "cli/doctor/checks.h"

#include <stdio.h>
#include <string.h>

#include "channel/protocol.h"
#include "common/text.h"
#include "kfd/driver_rules.h"

/* Returns true if the process belongs to the daemon: it is the daemon's first process or, as the
 * executors are, a child of its first process. */
static bool is_daemon(const struct doctor_facts *facts, int64_t pid, int64_t parent)
{
	return facts->daemon.error == 0 &&
	       (pid == facts->daemon.pid || parent == facts->daemon.pid);
}

bool doctor_is_traced(const struct doctor_facts *facts, const struct doctor_process *p)
{
	return p->tracer > 0 && !is_daemon(facts, p->tracer, p->tracer_parent);
}

/* Advises to end the process that traces this one. */
static void advise_tracer(struct doctor_run *c, const struct doctor_process *p)
{
	finding_advise(c, "end %s (process %lld): a process can have only one tracer",
		       p->tracer_name[0] ? p->tracer_name : "its tracer", (long long)p->tracer);
}

/* Adds the finding "level", with its level and the offset in `found` at which the reason begins. */
static void find_level(struct doctor_run *c, enum doctor_verdict verdict, enum doctor_level level,
		       const char *why)
{
	const char *comm = c->process->comm[0] ? c->process->comm : "?",
		   *name = doctor_level_name(level), *separator = why[0] ? "; " : "";

	finding_add(c, verdict, "%s: %s%s%s", comm, name, separator, why);
	struct doctor_finding *line = &c->out->list[c->out->count - 1];

	line->level = level;
	line->why = strlen(comm) + strlen(": ") + strlen(name) + strlen(separator);
}

/* Returns true if the daemon gave a reason as text, but without a code that this kfdsched knows:
 * the daemon is older (it sends no codes) or newer than kfdsched. */
static bool is_unknown(const struct reason *reason)
{
	return reason->code == REASON_NONE && reason->text[0];
}

static const char *advice_of(const struct reason *reason)
{
	return is_unknown(reason) ? "restart kfdschedd, so that it has the version of kfdsched"
				  : doctor_advice(reason->code);
}

/* Checks a process that the daemon only observes (LEVEL_OBSERVE) and never suspends. */
static void check_observed(struct doctor_run *c, const struct doctor_process *p)
{
	char why[64];

	if (p->priority < 0) {
		find_level(c, DOCTOR_WARNING, LEVEL_OBSERVE, "it has no priority");
		finding_advise(
			c,
			"give it one: 'kfdsched set %d PRIORITY', or start it with 'kfdsched run --priority P -- COMMAND'",
			p->pid);
	} else if (p->priority >= PRIORITY_ONLINE) {
		find_level(c, DOCTOR_OK, LEVEL_OBSERVE, "it has the highest priority");
	} else if (p->env_level == LEVEL_OBSERVE) {
		find_level(c, DOCTOR_OK, LEVEL_OBSERVE, "set by KFDSHIM_LEVEL");
	} else if (reason_is_transient(p->reason.code)) {
		find_level(c, DOCTOR_OK, LEVEL_OBSERVE, p->reason.text);
	} else if (doctor_is_traced(c->facts, p)) {
		snprintf(why, sizeof(why), "process %lld traces it", (long long)p->tracer);
		find_level(c, DOCTOR_MISSING, LEVEL_OBSERVE, why);
		advise_tracer(c, p);
	} else {
		/* Only warn: a reason that kfdsched does not know can be temporary. */
		find_level(c, is_unknown(&p->reason) ? DOCTOR_WARNING : DOCTOR_MISSING,
			   LEVEL_OBSERVE,
			   p->reason.text[0] ? p->reason.text : "the daemon gives no reason");
		finding_advise(c, "%s", advice_of(&p->reason));
	}
}

/* Checks a process that the daemon knows. */
static void check_registered(struct doctor_run *c, const struct doctor_process *p)
{
	if (p->level == LEVEL_OBSERVE) {
		check_observed(c, p);
	} else if (p->level == LEVEL_TRAP) {
		find_level(c, DOCTOR_OK, LEVEL_TRAP, "");
	} else if (p->level == LEVEL_UNKNOWN) {
		find_level(c, DOCTOR_CANNOT_KNOW, LEVEL_UNKNOWN, "");
	} else if (p->level == p->env_level) {
		find_level(c, DOCTOR_OK, p->level, "set by KFDSHIM_LEVEL");
	} else if (!p->reason.text[0]) {
		find_level(c, DOCTOR_OK, p->level, "");
	} else {
		find_level(c, DOCTOR_WARNING, p->level, p->reason.text);
		if (doctor_is_traced(c->facts, p))
			advise_tracer(c, p);
		else
			finding_advise(c, "%s", advice_of(&p->reason));
	}
}

/* Returns why the dynamic linker cannot preload the shim into the process; NULL: not known. */
static const char *no_preload(const struct doctor_process *p)
{
	if (p->set_id == DOCTOR_YES)
		return "it is set-user-ID, set-group-ID or has file capabilities, so the dynamic linker preloads nothing";
	if (p->static_program == DOCTOR_YES)
		return "it is linked statically, so nothing can be preloaded";
	if (p->other_class == DOCTOR_YES)
		return "it is not a 64-bit program, and KFD refuses others";
	return NULL;
}

/* Returns the reason why the shim was not preloaded into a process whose program allows
 * preloading. */
static const char *not_preloaded(const struct doctor_process *p, char text[256])
{
	if (p->environment_read != DOCTOR_YES)
		return "it runs without libkfdshim.so";
	if (!p->preload[0])
		return "it runs without libkfdshim.so, which its LD_PRELOAD does not name";
	snprintf(text, 256, "it runs without libkfdshim.so: its LD_PRELOAD names %.120s, %s",
		 p->preload,
		 p->preload_there == DOCTOR_NO ? "which does not exist in its mount namespace"
					       : "which its dynamic linker did not load");
	return text;
}

/* Checks a process without the shim that the daemon does not know. */
static void check_bare(struct doctor_run *c, const struct doctor_process *p)
{
	bool daemon = c->facts->daemon.error == 0;
	const char *why = no_preload(p);
	char text[256];

	/* Only warn: the daemon can suspend a process without the shim once it has a priority. */
	find_level(c, DOCTOR_WARNING, LEVEL_NONE, why ? why : not_preloaded(p, text));
	if (p->other_class == DOCTOR_YES)
		finding_advise(c, "use a 64-bit program");
	else if (!why && (!daemon || doctor_rocr_never_enables(p->rocr)))
		finding_advise(c, "start it with 'kfdsched run --priority P -- COMMAND'");
	else /* without the shim, the daemon does not know when the process has work */
		finding_advise(c, "%stag it: 'kfdsched set %d PRIORITY'%s",
			       daemon ? "" : "start kfdschedd, and ", p->pid,
			       daemon ? "; it is then held even if it has no work" : "");
}

/* Advises how a process with the shim can register with the daemon. */
static void advise_registration(struct doctor_run *c, const struct doctor_process *p)
{
	const char *socket = c->facts->daemon.socket;
	char word[160];

	if (!p->env_socket[0] || !strcmp(p->env_socket, socket))
		finding_advise(
			c,
			"start it with KFDSHIM_LOG=error, which logs the reason: often a container without the daemon's socket");
	else if (shell_word(word, sizeof(word), socket))
		finding_advise(c, "its KFDSHIM_SOCKET is %.100s; start it with KFDSHIM_SOCKET=%s",
			       p->env_socket, word);
	else
		finding_advise(c, "start it with the same KFDSHIM_SOCKET as the daemon, not %.100s",
			       p->env_socket);
}

/* Checks a process with the shim that the daemon does not know, or for which there is no daemon. */
static void check_peer(struct doctor_run *c, const struct doctor_process *p)
{
	int priority;

	if (p->env_disabled) {
		find_level(c, DOCTOR_WARNING, LEVEL_NONE, "KFDSHIM_DISABLE=1");
		finding_advise(c, "start it without KFDSHIM_DISABLE");
	} else if (!c->facts->daemon.error) {
		find_level(c, DOCTOR_WARNING, LEVEL_NONE, "it is not registered with kfdschedd");
		advise_registration(c, p);
	} else if (protocol_priority(p->env_priority, &priority)) {
		find_level(c, DOCTOR_WARNING, LEVEL_OBSERVE, "it has no priority");
		finding_advise(
			c,
			"start it with 'kfdsched run --priority P -- COMMAND', or with KFDSHIM_PRIORITY set");
	} else if (p->env_level >= LEVEL_GATE && p->env_level <= LEVEL_OBSERVE) {
		find_level(c, DOCTOR_OK, p->env_level, "set by KFDSHIM_LEVEL");
	} else {
		/* No advice is given here, because the finding "daemon" has it. */
		find_level(c, DOCTOR_OK, LEVEL_SELF, "there is no daemon");
	}
}

void check_level(struct doctor_run *c, const struct doctor_process *p)
{
	if (p->registered == DOCTOR_YES) {
		check_registered(c, p);
	} else if (p->shim == DOCTOR_YES && p->environment_read == DOCTOR_YES) {
		check_peer(c, p);
	} else if (p->shim == DOCTOR_NO) {
		check_bare(c, p);
	} else {
		find_level(c, DOCTOR_CANNOT_KNOW, LEVEL_UNKNOWN, "");
		finding_advise(c, "run this as root, or as its user");
	}
}

void check_uses_gpu(struct doctor_run *c, const struct doctor_process *p)
{
	bool open = p->uses_gpu == DOCTOR_UNKNOWN && p->kfd_open == DOCTOR_YES;

	finding_known(c, open ? DOCTOR_YES : p->uses_gpu, "it has opened /dev/kfd",
		      "it has not opened /dev/kfd");
}

void check_has_shim(struct doctor_run *c, const struct doctor_process *p)
{
	finding_known(c, p->shim, "libkfdshim.so is loaded", "libkfdshim.so is not loaded");
}

void check_runtime(struct doctor_run *c, const struct doctor_process *p)
{
	finding_known(c, p->runtime, "enabled", "never");
}

void check_tracer(struct doctor_run *c, const struct doctor_process *p)
{
	/* At LEVEL_OBSERVE the finding "level" already names the tracer and gives the advice. */
	bool hinders = doctor_is_traced(c->facts, p) && p->registered == DOCTOR_YES &&
		       p->level != LEVEL_OBSERVE;

	if (p->tracer < 0)
		finding_unknown(c);
	else if (!p->tracer)
		finding_ok(c, "no process traces it");
	else
		finding_add(c, hinders ? DOCTOR_WARNING : DOCTOR_OK, "%s %lld traces it",
			    p->tracer_name[0] ? p->tracer_name : "process", (long long)p->tracer);
	if (hinders)
		finding_advise(c, "end it: while it traces, kfdschedd cannot");
}

void check_process_rocr(struct doctor_run *c, const struct doctor_process *p)
{
	char name[64];

	finding_if(c, p->rocr[0], true, DOCTOR_OK, "", "ROCr %s (%s)",
		   doctor_rocr_name(name, p->rocr), p->rocr);
}

void check_drm_queues(struct doctor_run *c, const struct doctor_process *p)
{
	if (!p->drm_queues)
		return;
	finding_bad(c, DOCTOR_WARNING,
		    "make its runtime use KFD queues: unset HSA_ENABLE_DRM_DEBUG",
		    "%u DRM user queues, which cannot be suspended", p->drm_queues);
}

/* Adds the finding that a cgroup of the process is frozen, as 'docker pause' does. */
static void find_paused(struct doctor_run *c, const struct doctor_named *named)
{
	char file[224];

	finding_add(c, DOCTOR_WARNING, "its cgroup is frozen, so none of its threads runs");
	/* The advice does not quote the command, because shell_word() adds quotes of its own. */
	if (named->thaw[0] && shell_word(file, sizeof(file), named->thaw))
		finding_advise(c, "thaw it: 'docker unpause', or as root: echo 0 > %s", file);
	else
		finding_advise(c, "thaw it: 'docker unpause', or its cgroup.freeze");
}

static void find_zombie(struct doctor_run *c, const struct doctor_named *named)
{
	char parent[48];

	if (doctor_is_dead(named))
		finding_ok(c, "a zombie: it has ended, and %s has not collected its exit status",
			   doctor_name_process(parent, named->parent_name, named->parent,
					       "its parent"));
	else
		finding_ok(c, "its first thread has ended, %u others have not", named->threads - 1);
}

void check_state(struct doctor_run *c, const struct doctor_process *p)
{
	const struct doctor_named *named = &c->facts->named;
	char tracer[48];

	if (!named->identity.pid)
		return;
	if (named->identity.kernel) {
		finding_ok(c, "a kernel thread: it has no memory and no GPU queues");
		return;
	}
	if (named->paused == DOCTOR_YES) {
		find_paused(c, named);
		return;
	}
	switch (named->identity.state) {
	case 'R':
		finding_ok(c, "it runs, or waits for a CPU");
		break;
	case 'S':
		finding_ok(c, "it waits for an event (work, I/O, a lock): normal");
		break;
	case 'D':
		finding_add(
			c, DOCTOR_WARNING,
			"it waits in the kernel (disk, network files, a driver), and cannot handle signals until that ends");
		finding_advise(c,
			       "if the state persists, find the call as root: 'cat /proc/%d/stack'",
			       p->pid);
		break;
	case 'T':
		finding_add(
			c, DOCTOR_WARNING,
			"stopped by a signal (SIGSTOP, or Ctrl-Z at its terminal; the kernel does not record the sender); work that it has submitted to the GPU continues");
		finding_advise(c, "continue it: 'kill -CONT %d'", p->pid);
		break;
	case 't':
		finding_ok(c, "stopped by %s, which traces it",
			   doctor_name_process(tracer, p->tracer_name, p->tracer, "its tracer"));
		break;
	case 'Z':
	case 'X':
		find_zombie(c, named);
		break;
	default:
		finding_ok(c, "a state that this version does not support");
	}
}

bool doctor_uses_node(const struct doctor_process *p, uint32_t gpu_id)
{
	if (!p->node_count)
		return true;
	for (size_t i = 0; i < p->node_count; i++)
		if (p->gpu_ids[i] == gpu_id)
			return true;
	return false;
}

bool doctor_has_session(const struct doctor_process *p)
{
	return p->registered == DOCTOR_YES && (p->level == LEVEL_TRAP || p->level == LEVEL_SELF);
}

/* Returns a process other than `p` that has a debug session on that GPU; NULL if there is none. */
static const struct doctor_process *owner_of(const struct doctor_facts *facts, uint32_t gpu_id,
					     const struct doctor_process *p)
{
	for (size_t i = 0; i < facts->process_count; i++) {
		const struct doctor_process *q = &facts->processes[i];

		if (q == p || !doctor_has_session(q) || !q->node_count ||
		    !doctor_uses_node(q, gpu_id))
			continue;
		return q;
	}
	return NULL;
}

void check_session(struct doctor_run *c, const struct doctor_process *p)
{
	const struct doctor_process *owner = NULL;

	if (doctor_has_session(p) || !p->node_count)
		return;
	for (size_t n = 0; !owner && n < c->facts->node_count; n++) {
		c->node = &c->facts->nodes[n];
		if (c->node->gfx_target_version > 0 && doctor_uses_node(p, c->node->gpu_id) &&
		    !kfdabi_per_vmid((uint32_t)c->node->gfx_target_version))
			owner = owner_of(c->facts, c->node->gpu_id, p);
	}
	if (!owner)
		return;
	finding_add(c, DOCTOR_WARNING,
		    "the GPU allows one debug session at a time, and process %d (%s) has it",
		    owner->pid, owner->comm[0] ? owner->comm : "?");
	finding_advise(c, "end that process ('kill %d'), or use level gate, which needs no session",
		       owner->pid);
}

void check_rights(struct doctor_run *c, const struct doctor_process *p)
{
	const struct doctor_named *named = &c->facts->named;
	const char *user = c->facts->user;

	if (p->environment_read == DOCTOR_YES || !named->identity.pid)
		return;
	if (named->dumpable == DOCTOR_NO && named->identity.uid == c->facts->uid)
		finding_add(
			c, DOCTOR_WARNING,
			"it is not dumpable (set-user-ID, or by prctl), so %s is not allowed to read its state",
			user);
	else
		finding_add(c, DOCTOR_WARNING,
			    "%s is not allowed to read its state: it belongs to %s", user,
			    named->user[0] ? named->user : "another user");
	finding_advise(c, "run this as root: 'sudo kfdsched diagnose %d'", p->pid);
}

/* Returns true if the daemon has no right to trace all processes or, without a daemon, this
 * user. */
static bool lacks_right(const struct doctor_facts *facts)
{
	return (facts->daemon.error ? facts->sys_ptrace : facts->daemon.sys_ptrace) == DOCTOR_NO;
}

void check_user_namespace(struct doctor_run *c, const struct doctor_process *p)
{
	const struct doctor_facts *facts = c->facts;

	(void)p;
	if (facts->named.same_user_namespace != DOCTOR_NO || !lacks_right(facts))
		return;
	finding_bad(c, DOCTOR_WARNING, "start kfdschedd as root outside the container: 'kfdschedd'",
		    "it is in another user namespace, where %s has no rights",
		    facts->daemon.error ? facts->user : "kfdschedd");
}

void check_dumpable(struct doctor_run *c, const struct doctor_process *p)
{
	const struct doctor_named *named = &c->facts->named;

	if (named->dumpable != DOCTOR_NO || named->same_user_namespace == DOCTOR_NO ||
	    !lacks_right(c->facts) || p->environment_read != DOCTOR_YES)
		return;
	finding_bad(c, DOCTOR_WARNING, "start kfdschedd as root: 'kfdschedd'",
		    "it is not dumpable, so only a process with CAP_SYS_PTRACE can trace it");
}

void check_processes(struct doctor_run *c, const struct doctor_facts *facts)
{
	if (facts->processes_hidden && !facts->chosen_pid)
		finding_unknown(c);
}

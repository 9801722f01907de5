// SPDX-License-Identifier: MIT
/* The check of each process: at which level it can be preempted, and why at no better one. */
#include "cli/doctor/checks_driver.h"

#include <stdio.h>
#include <string.h>

#include "channel/protocol.h"
#include "common/shell_word.h"

/* Returns the advice for the reason that the daemon has given for a level (kfd,
 * scheduler/daemon), recognized by a part of the text. The callers first use more precise facts
 * about the process. */
static const char *advice_for_reason(const char *reason)
{
	static const struct {
		const char *part, *advice;
	} known[] = {
		{"KFDSHIM_LEVEL=trap", "start it without KFDSHIM_LEVEL: the next lower level is "
				       "then used"},
		{"one debug session of its GPU", "no action is needed: the other processes on that "
						 "GPU are held by gate"},
		{"did not acknowledge",
		 "restart it with KFDSHIM_LOG=error, which logs what failed"},
		{"state 2", "its GPU allows one debug session at a time: end the other session, or "
			    "set KFDSHIM_LEVEL=gate for this process"},
		{"state 0", "start it with the shim: 'kfdsched run --priority P -- COMMAND'; its "
			    "runtime does not enable debugging itself"},
		{"debug session already",
		 "end rocgdb or 'kfdsched preempt' for this process; kfdschedd retries when the "
		 "session has ended"},
		{"runtime cannot be enabled", "start it with the shim from the beginning: "
					      "'kfdsched run --priority P -- COMMAND'"},
		{"waves cannot be saved",
		 "no action is possible for this process: if waves cannot be saved, only level "
		 "gate works"},
		{"has reset a compute queue",
		 "restart it: its work in that queue is lost; 'dmesg | grep -e kfd -e amdgpu' "
		 "shows the driver's message"},
		{"suspend took", "restart it: the GPU did not preempt its work in time; "
				 "slow_suspend_us in kfdschedd's configuration is the limit"},
		{"suspend failed", "restart it, and check the driver's messages: 'dmesg | grep -e "
				   "kfd -e amdgpu'"},
		{"is traced", "end the process that traces it (gdb, strace): a process can have "
			      "only one tracer"},
		{"CAP_SYS_PTRACE", "start kfdschedd as root, outside the container"},
		{"ptrace_scope is 3", "set kernel.yama.ptrace_scope to 1 in /etc/sysctl.d and "
				      "reboot"},
		{"/dev/kfd", "start kfdschedd as root, with access to the devices"},
	};

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (strstr(reason, known[i].part))
			return known[i].advice;
	return "see kfdschedd's log for the time; KFDSHIM_LEVEL=self or gate needs no tracing";
}

/* Returns true if the reason is temporary: the process will reach a better level once it has
 * progressed. */
static bool is_on_its_way(const char *reason)
{
	static const char *const parts[] = {"has not enabled its runtime yet",
					    "does not use /dev/kfd", "has no compute queues yet",
					    "is being tried"};

	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
		if (strstr(reason, parts[i]))
			return true;
	return false;
}

/* Returns true if the process belongs to the daemon: it is the daemon's first process or a child of
 * that, as the executors are. */
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
static void advise_tracer(const struct doctor_process *p, struct doctor_findings *out)
{
	doctor_advise(out, "end %s (process %lld): a process can have only one tracer",
		      p->tracer_name[0] ? p->tracer_name : "its tracer", (long long)p->tracer);
}

/* Adds the finding "level", and notes at which offset the reason begins. */
static void find_level(struct doctor_findings *out, const struct doctor_process *p,
		       enum doctor_verdict verdict, const char *level, const char *why)
{
	const char *name = p->comm[0] ? p->comm : "?";

	doctor_find(out, "level", 0, p->pid, verdict, "%s: %s%s%s", name, level, why[0] ? "; " : "",
		    why);
	if (out->failed)
		return;
	struct doctor_finding *line = &out->list[out->count - 1];

	line->level = level;
	line->why = strlen(name) + strlen(": ") + strlen(level) + (why[0] ? strlen("; ") : 0);
}

/* Checks a process that the daemon knows at level observe, at which it is not held. */
static void check_observed(const struct doctor_facts *facts, const struct doctor_process *p,
			   struct doctor_findings *out)
{
	if (p->priority < 0) {
		find_level(out, p, DOCTOR_WARNING, "observe", "it has no priority");
		doctor_advise(out,
			      "give it one: 'kfdsched set %d PRIORITY', or start it with "
			      "'kfdsched run --priority P -- COMMAND'",
			      p->pid);
	} else if (p->priority >= PRIORITY_ONLINE) {
		find_level(out, p, DOCTOR_OK, "observe", "it has the highest priority");
	} else if (!strcmp(p->env_level, "observe")) {
		find_level(out, p, DOCTOR_OK, "observe", "set by KFDSHIM_LEVEL");
	} else if (is_on_its_way(p->reason)) {
		find_level(out, p, DOCTOR_OK, "observe", p->reason);
	} else if (doctor_is_traced(facts, p)) {
		char why[64];

		snprintf(why, sizeof(why), "process %lld traces it", (long long)p->tracer);
		find_level(out, p, DOCTOR_MISSING, "observe", why);
		advise_tracer(p, out);
	} else {
		find_level(out, p, DOCTOR_MISSING, "observe",
			   p->reason[0] ? p->reason : "the daemon gives no reason");
		doctor_advise(out, "%s", advice_for_reason(p->reason));
	}
}

/* Checks a process that the daemon knows. */
static void check_registered(const struct doctor_facts *facts, const struct doctor_process *p,
			     struct doctor_findings *out)
{
	if (!strcmp(p->level, "trap")) {
		find_level(out, p, DOCTOR_OK, "trap", "");
	} else if (!strcmp(p->level, "observe")) {
		check_observed(facts, p, out);
	} else if (!p->level[0]) {
		find_level(out, p, DOCTOR_CANNOT_KNOW, "-", "");
	} else if (!strcmp(p->level, p->env_level)) {
		find_level(out, p, DOCTOR_OK, p->level, "set by KFDSHIM_LEVEL");
	} else if (!p->reason[0]) {
		find_level(out, p, DOCTOR_OK, p->level, "");
	} else if (doctor_is_traced(facts, p)) {
		find_level(out, p, DOCTOR_WARNING, p->level, p->reason);
		advise_tracer(p, out);
	} else {
		find_level(out, p, DOCTOR_WARNING, p->level, p->reason);
		doctor_advise(out, "%s", advice_for_reason(p->reason));
	}
}

/* Returns the reason why the dynamic linker cannot preload the shim into the process. NULL: there
 * is none, as far as known. */
static const char *no_preload(const struct doctor_process *p)
{
	if (p->set_id == DOCTOR_YES)
		return "it is set-user-ID, set-group-ID or has file capabilities, so the dynamic "
		       "linker preloads nothing";
	if (p->static_program == DOCTOR_YES)
		return "it is linked statically, so nothing can be preloaded";
	if (p->other_class == DOCTOR_YES)
		return "it is not a 64-bit program, and KFD refuses others";
	return NULL;
}

/* Returns the reason why the shim was not preloaded into a process that allows it. */
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
static void check_bare(const struct doctor_facts *facts, const struct doctor_process *p,
		       struct doctor_findings *out)
{
	const char *why = no_preload(p);
	char text[256];

	/* A process without the shim can still be held by the daemon, once it is tagged. */
	find_level(out, p, DOCTOR_WARNING, "none", why ? why : not_preloaded(p, text));
	if (p->other_class == DOCTOR_YES)
		doctor_advise(out, "use a 64-bit program");
	else if (!why && (facts->daemon.error || doctor_rocr_never_enables(p->rocr)))
		doctor_advise(out, "start it with 'kfdsched run --priority P -- COMMAND'");
	else if (facts->daemon.error)
		doctor_advise(out, "start kfdschedd, and tag it: 'kfdsched set %d PRIORITY'",
			      p->pid);
	else /* without the shim, the daemon does not know when the process has work */
		doctor_advise(out,
			      "tag it: 'kfdsched set %d PRIORITY'; it is then held even if it has "
			      "no work",
			      p->pid);
}

/* Advises a process that uses another socket than the daemon here. */
static void advise_socket(const struct doctor_facts *facts, const struct doctor_process *p,
			  struct doctor_findings *out)
{
	char word[160];

	if (shell_word(word, sizeof(word), facts->daemon.socket))
		doctor_advise(out, "its KFDSHIM_SOCKET is %.100s; start it with KFDSHIM_SOCKET=%s",
			      p->env_socket, word);
	else
		doctor_advise(out,
			      "start it with the same KFDSHIM_SOCKET as the daemon, not %.100s",
			      p->env_socket);
}

/* Checks a process with the shim that the daemon does not know, or for which there is no daemon. */
static void check_peer(const struct doctor_facts *facts, const struct doctor_process *p,
		       struct doctor_findings *out)
{
	bool daemon = facts->daemon.error == 0;
	int priority;

	if (p->environment_read != DOCTOR_YES) {
		find_level(out, p, DOCTOR_CANNOT_KNOW, "-", "");
		doctor_advise(out, "run this as root, or as its user");
	} else if (p->env_disabled) {
		find_level(out, p, DOCTOR_WARNING, "none", "KFDSHIM_DISABLE=1");
		doctor_advise(out, "start it without KFDSHIM_DISABLE");
	} else if (daemon) {
		find_level(out, p, DOCTOR_WARNING, "none", "it is not registered with kfdschedd");
		if (p->env_socket[0] && strcmp(p->env_socket, facts->daemon.socket))
			advise_socket(facts, p, out);
		else
			doctor_advise(out, "start it with KFDSHIM_LOG=error, which logs the "
					   "reason: often a container without the daemon's socket");
	} else if (!p->env_priority[0] || protocol_priority(p->env_priority, &priority)) {
		find_level(out, p, DOCTOR_WARNING, "observe", "it has no priority");
		doctor_advise(out, "start it with 'kfdsched run --priority P -- COMMAND', or with "
				   "KFDSHIM_PRIORITY set");
	} else if (!strcmp(p->env_level, "gate") || !strcmp(p->env_level, "weight") ||
		   !strcmp(p->env_level, "observe")) {
		find_level(out, p, DOCTOR_OK, p->env_level, "set by KFDSHIM_LEVEL");
	} else {
		/* The finding "daemon" has the advice. */
		find_level(out, p, DOCTOR_OK, "self", "there is no daemon");
	}
}

/* Checks the level of a process by what is known of it: the daemon, or else the shim. */
static void check_level(const struct doctor_facts *facts, const struct doctor_process *p,
			struct doctor_findings *out)
{
	if (p->registered == DOCTOR_YES) {
		check_registered(facts, p, out);
	} else if (p->shim == DOCTOR_YES) {
		check_peer(facts, p, out);
	} else if (p->shim == DOCTOR_NO) {
		check_bare(facts, p, out);
	} else {
		find_level(out, p, DOCTOR_CANNOT_KNOW, "-", "");
		doctor_advise(out, "run this as root, or as its user");
	}
}

/* Adds the facts behind the level, for the process that the user named. */
static void check_details(const struct doctor_facts *facts, const struct doctor_process *p,
			  struct doctor_findings *out)
{
	char name[64];

	if (p->uses_gpu == DOCTOR_UNKNOWN && p->kfd_open == DOCTOR_YES)
		doctor_find(out, "uses_gpu", 0, p->pid, DOCTOR_OK, "it has opened /dev/kfd");
	else if (p->uses_gpu == DOCTOR_UNKNOWN)
		doctor_find(out, "uses_gpu", 0, p->pid, DOCTOR_CANNOT_KNOW, "-");
	else
		doctor_find(out, "uses_gpu", 0, p->pid, DOCTOR_OK, "%s",
			    p->uses_gpu == DOCTOR_YES ? "it has opened /dev/kfd"
						      : "it has not opened /dev/kfd");
	if (p->shim == DOCTOR_UNKNOWN)
		doctor_find(out, "has_shim", 0, p->pid, DOCTOR_CANNOT_KNOW, "-");
	else
		doctor_find(out, "has_shim", 0, p->pid, DOCTOR_OK, "%s",
			    p->shim == DOCTOR_YES ? "libkfdshim.so is loaded"
						  : "libkfdshim.so is not loaded");
	if (p->tracer < 0)
		doctor_find(out, "tracer", 0, p->pid, DOCTOR_CANNOT_KNOW, "-");
	else if (!p->tracer)
		doctor_find(out, "tracer", 0, p->pid, DOCTOR_OK, "no process traces it");
	else
		doctor_find(out, "tracer", 0, p->pid, DOCTOR_OK, "%s %lld traces it",
			    p->tracer_name[0] ? p->tracer_name : "process", (long long)p->tracer);
	/* At level observe, the finding about the level already names the tracer and has the
	 * advice. */
	if (doctor_is_traced(facts, p) && p->registered == DOCTOR_YES &&
	    strcmp(p->level, "observe")) {
		out->list[out->count - 1].verdict = DOCTOR_WARNING;
		doctor_advise(out, "end it: while it traces, kfdschedd cannot");
	}
	if (p->runtime[0])
		doctor_find(out, "runtime", 0, p->pid, DOCTOR_OK, "%s", p->runtime);
	else
		doctor_find(out, "runtime", 0, p->pid, DOCTOR_CANNOT_KNOW, "-");
	if (p->rocr[0])
		doctor_find(out, "process_rocr", 0, p->pid, DOCTOR_OK, "ROCr %s (%s)",
			    doctor_rocr_name(name, p->rocr), p->rocr);
	else
		doctor_find(out, "process_rocr", 0, p->pid, DOCTOR_CANNOT_KNOW, "-");
	if (p->drm_queues) {
		doctor_find(out, "drm_queues", 0, p->pid, DOCTOR_WARNING,
			    "%u DRM user queues, which cannot be suspended", p->drm_queues);
		doctor_advise(out, "make its runtime use KFD queues: unset HSA_ENABLE_DRM_DEBUG");
	}
}

void doctor_check_processes(const struct doctor_facts *facts, struct doctor_findings *out)
{
	for (size_t i = 0; i < facts->process_count; i++) {
		const struct doctor_process *p = &facts->processes[i];

		if (facts->chosen_pid && p->pid != facts->chosen_pid)
			continue;
		check_level(facts, p, out);
		if (facts->chosen_pid && !out->failed)
			check_details(facts, p, out);
	}
	if (facts->processes_hidden && !facts->chosen_pid)
		doctor_find(out, "processes", 0, 0, DOCTOR_CANNOT_KNOW, "-");
}

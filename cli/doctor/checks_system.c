// SPDX-License-Identifier: MIT
/* Checks rights (ptrace, namespaces), the daemon, and what the shim needs. */
#include "cli/doctor/checks.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "cli/output/fields.h"
#include "common/text.h"

/* Files that the daemon's worker has open for one client: shared memory, socket, eventfds, pidfd,
 * and those of its executor (thread that makes the driver calls). */
#define FILES_A_CLIENT 8
#define FILES_OF_A_SHIM 64 /* a dozen for the shim, the rest for the program */
#define SLOW_REPLY_US 500000

static bool daemon_replies(const struct doctor_facts *facts)
{
	return facts->daemon.error == 0;
}

/* Checks that Yama lets the daemon trace. ptrace_scope 2 only matters if the daemon has no
 * CAP_SYS_PTRACE. */
void check_yama(struct doctor_run *c, const struct doctor_facts *facts)
{
	if (facts->yama < 0) {
		finding_ok(c, "this kernel has no Yama");
		return;
	}
	bool stops = facts->yama >= YAMA_NO_ATTACH ||
		     (facts->yama == YAMA_ADMIN_ONLY && daemon_replies(facts) &&
		      facts->daemon.sys_ptrace == DOCTOR_NO);

	finding_add(c, stops ? DOCTOR_WARNING : DOCTOR_OK, "ptrace_scope %lld%s",
		    (long long)facts->yama,
		    facts->yama >= YAMA_NO_ATTACH
			    ? ": tracing is forbidden, so level trap is not possible"
		    : stops ? ": tracing needs CAP_SYS_PTRACE, which kfdschedd does not have"
			    : "");
	if (facts->yama >= YAMA_NO_ATTACH)
		finding_advise(
			c,
			"set kernel.yama.ptrace_scope to 1 in /etc/sysctl.d and reboot; until then use KFDSHIM_LEVEL=self");
	else if (stops)
		finding_advise(
			c,
			"start kfdschedd with CAP_SYS_PTRACE, or set kernel.yama.ptrace_scope to 1");
}

/* Checks that ptrace() works here. A refusal by Yama is left to the check "yama". */
void check_ptrace(struct doctor_run *c, const struct doctor_facts *facts)
{
	/* A daemon outside this container traces from there, so rights in here do not matter. */
	bool elsewhere = daemon_replies(facts) && facts->daemon.here == DOCTOR_NO;

	if (facts->ptrace_error < 0)
		finding_unknown(c);
	else if (!facts->ptrace_error)
		finding_ok(c, "ptrace works here");
	else if (facts->yama >= YAMA_ADMIN_ONLY)
		finding_ok(c, "refused to this user by Yama only");
	else if (elsewhere)
		finding_ok(c, "refused here; kfdschedd runs outside this container");
	else
		finding_bad(
			c, DOCTOR_WARNING,
			"run kfdschedd outside the container, or the container with --cap-add SYS_PTRACE",
			"ptrace is refused here (%s), probably by a container's seccomp filter",
			strerror(facts->ptrace_error));
}

/* Checks that the daemon has CAP_SYS_PTRACE; without a daemon, that a daemon which this user
 * starts would have it. */
void check_sys_ptrace(struct doctor_run *c, const struct doctor_facts *facts)
{
	enum doctor_known known = facts->daemon.sys_ptrace;

	if (daemon_replies(facts))
		finding_if(
			c, known != DOCTOR_UNKNOWN, known, DOCTOR_WARNING,
			"start kfdschedd as root",
			known ? "kfdschedd has CAP_SYS_PTRACE"
			      : "kfdschedd does not have CAP_SYS_PTRACE: it can only trace processes of its own user");
	else /* the user that will start the daemon is not known */
		finding_if(c, facts->sys_ptrace == DOCTOR_YES, true, DOCTOR_OK, "",
			   "a kfdschedd that %s starts has CAP_SYS_PTRACE", facts->user);
}

void check_pid_namespace(struct doctor_run *c, const struct doctor_facts *facts)
{
	if (facts->initial_pid_namespace == DOCTOR_UNKNOWN)
		finding_unknown(c);
	else if (facts->initial_pid_namespace == DOCTOR_YES)
		finding_ok(c, "that of the machine");
	else if (facts->simulated)
		finding_ok(c, "that of the simulation");
	else if (daemon_replies(facts) && facts->daemon.here == DOCTOR_NO)
		finding_ok(c, "that of a container; kfdschedd runs outside it");
	else
		finding_bad(
			c, DOCTOR_WARNING,
			"run kfdschedd on the host, and pass its socket to the container (docker run -v /run/kfdsched:/run/kfdsched)",
			"that of a container: a kfdschedd in it serves only this container");
}

void check_hidepid(struct doctor_run *c, const struct doctor_facts *facts)
{
	bool seen = !facts->hidepid[0] || facts->sys_ptrace == DOCTOR_YES;

	finding_if(c, true, seen, DOCTOR_WARNING,
		   "run this as root; kfdschedd reads all of /proc if it runs as root",
		   seen ? "/proc shows all processes%s%s%s"
			: "/proc hides other users' processes%s%s%s",
		   facts->hidepid[0] ? " (hidepid=" : "", facts->hidepid,
		   facts->hidepid[0] ? ")" : "");
}

/* Reports why no daemon replied. The advice depends on the error. */
static void check_no_daemon(struct doctor_run *c)
{
	const struct doctor_facts *facts = c->facts;
	const struct doctor_daemon *daemon = &facts->daemon;
	char word[160];

	switch (daemon->error) {
	case ENOENT:
	case ECONNREFUSED:
		finding_add(c, DOCTOR_WARNING,
			    "none at %s: the processes of one user hold themselves (level self)",
			    daemon->socket);
		if (daemon->other_pid > 0)
			finding_advise(
				c,
				"kfdschedd %lld listens at another socket: set it with --socket or KFDSHIM_SOCKET",
				(long long)daemon->other_pid);
		else
			finding_advise(
				c,
				"start one as root: 'kfdschedd' (or its service); it holds processes of all users, by level trap");
		break;
	case EACCES:
	case EPERM:
		finding_add(c, DOCTOR_WARNING, "the daemon at %s refuses %s", daemon->socket,
			    facts->user);
		if (shell_word(word, sizeof(word), daemon->socket))
			finding_advise(
				c,
				"run this as root, or check the permissions of the socket: ls -ld %s",
				word);
		else
			finding_advise(c, "ask as root");
		break;
	case EAGAIN:
		finding_bad(
			c, DOCTOR_MISSING,
			"check its log, and restart it: the processes that it has suspended are resumed when it ends",
			"the daemon at %s does not reply within 2 s", daemon->socket);
		break;
	case EPROTO:
		finding_bad(c, DOCTOR_MISSING,
			    "use kfdsched, kfdschedd and libkfdshim.so of one build",
			    "the process that listens at %s is not a kfdschedd of this version",
			    daemon->socket);
		break;
	case -1:
		finding_unknown(c);
		break;
	default:
		finding_bad(c, DOCTOR_WARNING, "set its socket with --socket or KFDSHIM_SOCKET",
			    "the request at %s failed: %s", daemon->socket,
			    strerror(daemon->error));
	}
}

/* Checks that the daemon has room for 16 more clients, and has refused none. */
void check_connections(struct doctor_run *c, const struct doctor_facts *facts)
{
	const struct doctor_daemon *daemon = &facts->daemon;
	long long registered = daemon->elsewhere;
	char elsewhere[64] = "";
	/* If an older daemon does not report its room, derive it from the limit of open files. */
	long long room = daemon->room >= 0 ? (long long)daemon->room
					   : (long long)daemon->open_files / FILES_A_CLIENT;

	if (daemon->error)
		return;
	if (daemon->room < 0 && daemon->open_files < 0) {
		finding_unknown(c);
		return;
	}
	for (size_t i = 0; i < facts->process_count; i++)
		registered += facts->processes[i].registered == DOCTOR_YES;
	bool fits = registered + 16 <= room && daemon->refused <= 0;

	if (daemon->elsewhere)
		snprintf(elsewhere, sizeof(elsewhere), ", %lld of them in other pid namespaces",
			 (long long)daemon->elsewhere);
	finding_bad(
		c, fits ? DOCTOR_OK : DOCTOR_WARNING,
		"start kfdschedd with a higher limit of open files: LimitNOFILE=65536, or 'ulimit -n 65536'",
		"%lld processes%s, at most %lld; %lld were refused", registered, elsewhere, room,
		(long long)(daemon->refused > 0 ? daemon->refused : 0));
}

/* Checks that the worker replies in time and was never restarted. */
void check_worker(struct doctor_run *c, const struct doctor_facts *facts)
{
	const struct doctor_daemon *daemon = &facts->daemon;
	bool slow = daemon->reply_us > SLOW_REPLY_US;
	char text[QUANTITY_BYTES], before[64] = "";

	if (daemon->error)
		return;
	if (daemon->restarts > 0)
		snprintf(before, sizeof(before), "; %lld before it ended",
			 (long long)daemon->restarts);
	quantity_us(text, (double)daemon->reply_us);
	finding_add(c, slow || before[0] ? DOCTOR_WARNING : DOCTOR_OK,
		    "worker %lld replies within %s%s", (long long)daemon->worker_pid, text, before);
	if (slow)
		finding_advise(
			c,
			"it is slow: check for real-time processes and CPU limits that keep it from running");
	else if (before[0])
		finding_advise(
			c,
			"see kfdschedd's log for the reason; the processes that they had suspended were resumed");
}

void check_suspends(struct doctor_run *c, const struct doctor_facts *facts)
{
	const struct doctor_daemon *daemon = &facts->daemon;

	if (!daemon->error)
		finding_if(
			c, daemon->failures >= 0 && daemon->suspends >= 0, !daemon->failures,
			DOCTOR_WARNING,
			"see its log for the processes and reasons; a process whose suspend failed is not suspended again",
			"%lld suspends, %lld failures", (long long)daemon->suspends,
			(long long)daemon->failures);
}

void check_refused_calls(struct doctor_run *c, const struct doctor_facts *facts)
{
	long long calls = (long long)facts->daemon.refused_calls;

	if (!facts->daemon.error)
		finding_if(c, calls >= 0, !calls, DOCTOR_WARNING,
			   "its log lists them: please report the lines",
			   "its own seccomp filter refused %lld system calls", calls);
}

void check_daemon(struct doctor_run *c, const struct doctor_facts *facts)
{
	const struct doctor_daemon *daemon = &facts->daemon;
	char text[QUANTITY_BYTES];

	if (daemon->error) {
		check_no_daemon(c);
		return;
	}
	finding_ok(c, "kfdschedd%s%s %s%lld at %s, up %s", daemon->version[0] ? " " : "",
		   daemon->version, daemon->version[0] ? "as process " : "", (long long)daemon->pid,
		   daemon->socket, quantity_us(text, (double)daemon->uptime_us));
}

void check_shim(struct doctor_run *c, const struct doctor_facts *facts)
{
	if (!facts->shim[0])
		finding_bad(c, DOCTOR_MISSING, "build or install it there",
			    "libkfdshim.so is neither beside kfdsched nor in ../lib");
	else if (facts->preload_works == DOCTOR_UNKNOWN)
		finding_unknown(c);
	else if (facts->preload_works == DOCTOR_YES)
		finding_ok(c, "%s can be preloaded", facts->shim);
	else
		finding_bad(
			c, DOCTOR_MISSING,
			"install it readable for every user, on a filesystem without noexec, and built for this machine's libc",
			"%s cannot be preloaded: %s", facts->shim, facts->preload_problem);
}

void check_agent(struct doctor_run *c, const struct doctor_facts *facts)
{
	if (!facts->shim[0])
		return; /* check_shim() reports this */
	if (!facts->agent[0])
		finding_bad(c, DOCTOR_MISSING,
			    "install it there: without it the shim only forwards calls",
			    "libkfdshim-agent.so is not beside libkfdshim.so");
	else if (facts->agent_works == DOCTOR_UNKNOWN)
		finding_unknown(c);
	else if (facts->agent_works == DOCTOR_YES)
		finding_ok(c, "libkfdshim-agent.so can be loaded, of this build");
	else
		finding_bad(c, DOCTOR_MISSING,
			    "install its dependencies, and both libraries from one build",
			    "libkfdshim-agent.so cannot be loaded: %s", facts->agent_problem);
}

void check_runtime_folder(struct doctor_run *c, const struct doctor_facts *facts)
{
	char directory[120];

	if (!facts->runtime_problem[0]) {
		finding_ok(c, "%s", facts->runtime_dir);
	} else {
		/* If a daemon runs, this is only a warning, because only shims without a daemon
		 * need the directory. */
		finding_add(c, daemon_replies(facts) ? DOCTOR_WARNING : DOCTOR_MISSING, "%s %s",
			    facts->runtime_dir, facts->runtime_problem);
		if (facts->runtime_taken)
			finding_advise(
				c,
				"another user owns it, so processes of this user cannot find each other without a daemon: start kfdschedd, set XDG_RUNTIME_DIR to your own directory, or as root: rm -r %s",
				shell_word_or(directory, sizeof(directory), facts->runtime_dir,
					      "FOLDER"));
		else
			finding_advise(
				c,
				"remove it, or set XDG_RUNTIME_DIR to your own directory: processes find each other there without a daemon");
	}
}

void check_memory_files(struct doctor_run *c, const struct doctor_facts *facts)
{
	if (facts->shm_error > 0 || facts->eventfd_error > 0)
		finding_bad(
			c, DOCTOR_MISSING,
			"a sandbox forbids it, or limits are reached: check 'ulimit -n', vm.memfd_noexec and the seccomp filter",
			"%s: %s", facts->shm_error > 0 ? "no sealed memfd" : "no eventfd",
			strerror(facts->shm_error > 0 ? facts->shm_error : facts->eventfd_error));
	else if (facts->shm_error < 0 || facts->eventfd_error < 0)
		finding_unknown(c);
	else
		finding_ok(c, "memfd with seals, eventfd");
}

void check_open_files(struct doctor_run *c, const struct doctor_facts *facts)
{
	finding_if(c, facts->open_files >= 0, facts->open_files >= FILES_OF_A_SHIM, DOCTOR_WARNING,
		   "raise the limit: 'ulimit -n 1024'", "a process may open %lld files",
		   (long long)facts->open_files);
}

void check_rocr(struct doctor_run *c, const struct doctor_facts *facts)
{
	char name[64];

	finding_if(
		c, facts->rocr[0], !doctor_rocr_never_enables(facts->rocr), DOCTOR_WARNING,
		"it does not enable debugging itself: programs can be suspended if they are started with the shim",
		"ROCr %s (%s)", doctor_rocr_name(name, facts->rocr), facts->rocr);
}

void check_environment(struct doctor_run *c, const struct doctor_facts *facts)
{
	if (facts->env_disabled)
		finding_bad(c, DOCTOR_MISSING,
			    "unset it: programs started from here are not scheduled",
			    "KFDSHIM_DISABLE=1");
	else if (facts->env_wrong[0])
		finding_bad(c, DOCTOR_WARNING,
			    "it is ignored: docs/reference/environment.md lists the values",
			    "%s cannot be read", facts->env_wrong);
	else
		finding_ok(c, "all KFDSHIM_ variables are valid");
}

void check_interrupts(struct doctor_run *c, const struct doctor_facts *facts)
{
	finding_if(
		c, true, !facts->no_interrupts, DOCTOR_WARNING,
		"unset it if level gate is used: with it the gate only blocks threads that are known to belong to the program",
		"HSA_ENABLE_INTERRUPT%s", facts->no_interrupts ? "=0" : " is not 0");
}

void check_tools(struct doctor_run *c, const struct doctor_facts *facts)
{
	finding_if(
		c, true, !facts->tools[0] || strstr(facts->tools, "libkfdshim.so"), DOCTOR_WARNING,
		"unset it in production: a profiler inserts intercept queues, so the end of work is detected later",
		"HSA_TOOLS_LIB%s%s", facts->tools[0] ? "=" : " is not set", facts->tools);
}

// SPDX-License-Identifier: MIT
/* The checks of rights (ptrace, namespaces), of the daemon, and of what the shim needs. */
#include "cli/doctor/checks_driver.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/output/table.h"
#include "common/shell_word.h"

/* Values of ptrace_scope: tracing needs CAP_SYS_PTRACE; no process is allowed to trace. */
#define YAMA_ADMIN_ONLY 2
#define YAMA_NO_ATTACH 3
/* Files that the daemon's worker has open for one client: shared memory, socket, eventfds, pidfd,
 * and those of its executor. */
#define FILES_A_CLIENT 8
#define FILES_OF_A_SHIM 64 /* a dozen for the shim, the rest for the program */
#define SLOW_REPLY_US 500000

static bool daemon_replies(const struct doctor_facts *facts)
{
	return facts->daemon.error == 0;
}

/* Checks that Yama lets the daemon trace. ptrace_scope 2 only matters if the daemon has no
 * CAP_SYS_PTRACE. */
static void check_yama(const struct doctor_facts *facts, struct doctor_findings *out)
{
	if (facts->yama < 0) {
		doctor_find(out, "yama", 0, 0, DOCTOR_OK, "this kernel has no Yama");
		return;
	}
	bool stops = facts->yama >= YAMA_NO_ATTACH ||
		     (facts->yama == YAMA_ADMIN_ONLY && daemon_replies(facts) &&
		      facts->daemon.sys_ptrace == DOCTOR_NO);

	doctor_find(out, "yama", 0, 0, stops ? DOCTOR_WARNING : DOCTOR_OK, "ptrace_scope %lld%s",
		    (long long)facts->yama,
		    facts->yama >= YAMA_NO_ATTACH ? ": tracing is forbidden, so level trap is not "
						    "possible"
						  : "");
	if (facts->yama >= YAMA_NO_ATTACH)
		doctor_advise(out, "set kernel.yama.ptrace_scope to 1 in /etc/sysctl.d and reboot; "
				   "until then use KFDSHIM_LEVEL=self");
	else if (stops)
		doctor_advise(out, "start kfdschedd with CAP_SYS_PTRACE, or set "
				   "kernel.yama.ptrace_scope to 1");
}

/* Checks that ptrace() works here. A refusal by Yama is left to the check "yama". */
static void check_ptrace(const struct doctor_facts *facts, struct doctor_findings *out)
{
	/* A daemon outside this container traces from there, so rights in here do not matter. */
	bool elsewhere = daemon_replies(facts) && facts->daemon.here == DOCTOR_NO;

	if (facts->ptrace_error < 0) {
		doctor_find(out, "ptrace", 0, 0, DOCTOR_CANNOT_KNOW, "-");
	} else if (!facts->ptrace_error) {
		doctor_find(out, "ptrace", 0, 0, DOCTOR_OK, "ptrace works here");
	} else if (facts->yama >= YAMA_ADMIN_ONLY) {
		doctor_find(out, "ptrace", 0, 0, DOCTOR_OK, "refused to this user by Yama only");
	} else if (elsewhere) {
		doctor_find(out, "ptrace", 0, 0, DOCTOR_OK,
			    "refused here; kfdschedd runs outside this container");
	} else {
		doctor_find(out, "ptrace", 0, 0, DOCTOR_WARNING,
			    "ptrace is refused here (%s), probably by a container's seccomp filter",
			    strerror(facts->ptrace_error));
		doctor_advise(out, "run kfdschedd outside the container, or the container with "
				   "--cap-add SYS_PTRACE");
	}
}

/* Checks that the daemon has CAP_SYS_PTRACE; without a daemon, that a daemon which this user
 * starts would have it. */
static void check_sys_ptrace(const struct doctor_facts *facts, struct doctor_findings *out)
{
	if (!daemon_replies(facts)) {
		if (facts->sys_ptrace == DOCTOR_YES)
			doctor_find(out, "sys_ptrace", 0, 0, DOCTOR_OK,
				    "a kfdschedd that %s starts has CAP_SYS_PTRACE", facts->user);
		else /* the user that will start it is not known */
			doctor_find(out, "sys_ptrace", 0, 0, DOCTOR_CANNOT_KNOW, "-");
	} else if (facts->daemon.sys_ptrace == DOCTOR_UNKNOWN) {
		doctor_find(out, "sys_ptrace", 0, 0, DOCTOR_CANNOT_KNOW, "-");
	} else if (facts->daemon.sys_ptrace == DOCTOR_YES) {
		doctor_find(out, "sys_ptrace", 0, 0, DOCTOR_OK, "kfdschedd has CAP_SYS_PTRACE");
	} else {
		doctor_find(out, "sys_ptrace", 0, 0, DOCTOR_WARNING,
			    "kfdschedd does not have CAP_SYS_PTRACE: it can only trace processes "
			    "of its own user");
		doctor_advise(out, "start kfdschedd as root");
	}
}

/* Checks that this is the machine's first pid namespace, and that /proc shows all processes. */
static void check_namespaces(const struct doctor_facts *facts, struct doctor_findings *out)
{
	if (facts->initial_pid_namespace == DOCTOR_UNKNOWN) {
		doctor_find(out, "pid_namespace", 0, 0, DOCTOR_CANNOT_KNOW, "-");
	} else if (facts->initial_pid_namespace == DOCTOR_YES) {
		doctor_find(out, "pid_namespace", 0, 0, DOCTOR_OK, "that of the machine");
	} else if (facts->simulated) {
		doctor_find(out, "pid_namespace", 0, 0, DOCTOR_OK, "that of the simulation");
	} else if (daemon_replies(facts) && facts->daemon.here == DOCTOR_NO) {
		doctor_find(out, "pid_namespace", 0, 0, DOCTOR_OK,
			    "that of a container; kfdschedd runs outside it");
	} else {
		doctor_find(out, "pid_namespace", 0, 0, DOCTOR_WARNING,
			    "that of a container: a kfdschedd in it serves only this container");
		doctor_advise(out, "run kfdschedd on the host, and pass its socket to the "
				   "container (docker run -v /run/kfdsched:/run/kfdsched)");
	}
	if (!facts->hidepid[0] || facts->sys_ptrace == DOCTOR_YES) {
		doctor_find(out, "hidepid", 0, 0, DOCTOR_OK, "/proc shows all processes%s",
			    facts->hidepid[0] ? " to this user" : "");
	} else {
		doctor_find(out, "hidepid", 0, 0, DOCTOR_WARNING,
			    "/proc hides other users' processes (hidepid=%s)", facts->hidepid);
		doctor_advise(out, "run this as root; kfdschedd reads all of /proc if it runs as "
				   "root");
	}
}

/* Reports why no daemon replied. The advice depends on the error. */
static void check_no_daemon(const struct doctor_facts *facts, struct doctor_findings *out)
{
	const struct doctor_daemon *daemon = &facts->daemon;
	char word[160];

	switch (daemon->error) {
	case ENOENT:
	case ECONNREFUSED:
		doctor_find(out, "daemon", 0, 0, DOCTOR_WARNING,
			    "none at %s: the processes of one user hold themselves (level self)",
			    daemon->socket);
		if (daemon->other_pid > 0)
			doctor_advise(out,
				      "kfdschedd %lld listens at another socket: set it with "
				      "--socket or KFDSHIM_SOCKET",
				      (long long)daemon->other_pid);
		else
			doctor_advise(out, "start one as root: 'kfdschedd' (or its service); it "
					   "holds processes "
					   "of all users, by level trap");
		break;
	case EACCES:
	case EPERM:
		doctor_find(out, "daemon", 0, 0, DOCTOR_WARNING, "the daemon at %s refuses %s",
			    daemon->socket, facts->user);
		if (shell_word(word, sizeof(word), daemon->socket))
			doctor_advise(
				out,
				"run this as root, or check the permissions of the socket: ls -ld "
				"%s",
				word);
		else
			doctor_advise(out, "ask as root");
		break;
	case EAGAIN:
		doctor_find(out, "daemon", 0, 0, DOCTOR_MISSING,
			    "the daemon at %s does not reply within 2 s", daemon->socket);
		doctor_advise(out, "check its log, and restart it: the processes that it has "
				   "suspended are resumed when it ends");
		break;
	case EPROTO:
		doctor_find(out, "daemon", 0, 0, DOCTOR_MISSING,
			    "the process that listens at %s is not a kfdschedd of this version",
			    daemon->socket);
		doctor_advise(out, "use kfdsched, kfdschedd and libkfdshim.so of one build");
		break;
	case -1:
		doctor_find(out, "daemon", 0, 0, DOCTOR_CANNOT_KNOW, "-");
		break;
	default:
		doctor_find(out, "daemon", 0, 0, DOCTOR_WARNING, "the request at %s failed: %s",
			    daemon->socket, strerror(daemon->error));
		doctor_advise(out, "set its socket with --socket or KFDSHIM_SOCKET");
	}
}

/* Checks that the daemon has room for 16 more clients, and has refused none. */
static void check_connections(const struct doctor_facts *facts, struct doctor_findings *out)
{
	const struct doctor_daemon *daemon = &facts->daemon;
	long long registered = daemon->elsewhere;
	char elsewhere[64] = "";
	/* From the daemon's reply; an older daemon without it is limited by its open files. */
	long long room = daemon->room >= 0 ? (long long)daemon->room
					   : (long long)daemon->open_files / FILES_A_CLIENT;

	if (daemon->room < 0 && daemon->open_files < 0) {
		doctor_find(out, "connections", 0, 0, DOCTOR_CANNOT_KNOW, "-");
		return;
	}
	for (size_t i = 0; i < facts->process_count; i++)
		registered += facts->processes[i].registered == DOCTOR_YES;
	bool fits = registered + 16 <= room && daemon->refused <= 0;

	if (daemon->elsewhere)
		snprintf(elsewhere, sizeof(elsewhere), ", %lld of them in other pid namespaces",
			 (long long)daemon->elsewhere);
	doctor_find(out, "connections", 0, 0, fits ? DOCTOR_OK : DOCTOR_WARNING,
		    "%lld processes%s, at most %lld; %lld were refused", registered, elsewhere,
		    room, (long long)(daemon->refused > 0 ? daemon->refused : 0));
	if (!fits)
		doctor_advise(out, "start kfdschedd with a higher limit of open files: "
				   "LimitNOFILE=65536, or 'ulimit -n 65536'");
}

/* Checks that the worker replies in time and was never restarted. */
static void check_worker(const struct doctor_daemon *daemon, struct doctor_findings *out)
{
	bool slow = daemon->reply_us > SLOW_REPLY_US;
	char text[QUANTITY_BYTES], before[64] = "";

	if (daemon->restarts > 0)
		snprintf(before, sizeof(before), "; %lld before it ended",
			 (long long)daemon->restarts);
	quantity_us(text, (double)daemon->reply_us);
	doctor_find(out, "worker", 0, 0, slow || before[0] ? DOCTOR_WARNING : DOCTOR_OK,
		    "worker %lld replies within %s%s", (long long)daemon->worker_pid, text, before);
	if (slow)
		doctor_advise(out, "it is slow: check for real-time processes and CPU limits that "
				   "keep it from running");
	else if (before[0])
		doctor_advise(out, "see kfdschedd's log for the reason; the processes that they "
				   "had suspended were resumed");
}

/* Checks what the daemon has counted so far: failed suspends, and system calls that its own seccomp
 * filter refused. */
static void check_doings(const struct doctor_daemon *daemon, struct doctor_findings *out)
{
	if (daemon->failures < 0 || daemon->suspends < 0) {
		doctor_find(out, "suspends", 0, 0, DOCTOR_CANNOT_KNOW, "-");
	} else {
		doctor_find(out, "suspends", 0, 0, daemon->failures ? DOCTOR_WARNING : DOCTOR_OK,
			    "%lld suspends, %lld failures", (long long)daemon->suspends,
			    (long long)daemon->failures);
		if (daemon->failures)
			doctor_advise(out, "see its log for the processes and reasons; a process "
					   "whose suspend failed is not suspended again");
	}
	if (daemon->refused_calls < 0) {
		doctor_find(out, "refused_calls", 0, 0, DOCTOR_CANNOT_KNOW, "-");
	} else {
		doctor_find(out, "refused_calls", 0, 0,
			    daemon->refused_calls ? DOCTOR_WARNING : DOCTOR_OK,
			    "its own seccomp filter refused %lld system calls",
			    (long long)daemon->refused_calls);
		if (daemon->refused_calls)
			doctor_advise(out, "its log lists them: please report the lines");
	}
}

/* Checks the daemon: that it replies, its worker, its errors, and its room for clients. */
static void check_daemon(const struct doctor_facts *facts, struct doctor_findings *out)
{
	const struct doctor_daemon *daemon = &facts->daemon;
	char text[QUANTITY_BYTES];

	if (daemon->error) {
		check_no_daemon(facts, out);
		return;
	}
	doctor_find(out, "daemon", 0, 0, DOCTOR_OK, "kfdschedd%s%s %s%lld at %s, up %s",
		    daemon->version[0] ? " " : "", daemon->version,
		    daemon->version[0] ? "as process " : "", (long long)daemon->pid, daemon->socket,
		    quantity_us(text, (double)daemon->uptime_us));
	check_worker(daemon, out);
	check_doings(daemon, out);
	check_connections(facts, out);
}

/* Checks that both libraries of the shim are there and can be loaded. */
static void check_library(const struct doctor_facts *facts, struct doctor_findings *out)
{
	if (!facts->shim[0]) {
		doctor_find(out, "shim", 0, 0, DOCTOR_MISSING,
			    "libkfdshim.so is neither beside kfdsched nor in ../lib");
		doctor_advise(out, "build or install it there");
		return;
	}
	if (facts->preload_works == DOCTOR_UNKNOWN) {
		doctor_find(out, "shim", 0, 0, DOCTOR_CANNOT_KNOW, "-");
	} else if (facts->preload_works == DOCTOR_YES) {
		doctor_find(out, "shim", 0, 0, DOCTOR_OK, "%s can be preloaded", facts->shim);
	} else {
		doctor_find(out, "shim", 0, 0, DOCTOR_MISSING, "%s cannot be preloaded: %s",
			    facts->shim, facts->preload_problem);
		doctor_advise(out, "install it readable for every user, on a filesystem without "
				   "noexec, and built for this machine's libc");
	}
	if (!facts->agent[0]) {
		doctor_find(out, "agent", 0, 0, DOCTOR_MISSING,
			    "libkfdshim-agent.so is not beside libkfdshim.so");
		doctor_advise(out, "install it there: without it the shim only forwards calls");
	} else if (facts->agent_works == DOCTOR_UNKNOWN) {
		doctor_find(out, "agent", 0, 0, DOCTOR_CANNOT_KNOW, "-");
	} else if (facts->agent_works == DOCTOR_YES) {
		doctor_find(out, "agent", 0, 0, DOCTOR_OK,
			    "libkfdshim-agent.so can be loaded, of this build");
	} else {
		doctor_find(out, "agent", 0, 0, DOCTOR_MISSING,
			    "libkfdshim-agent.so cannot be loaded: %s", facts->agent_problem);
		doctor_advise(out, "install its dependencies, and both libraries from one build");
	}
}

/* Checks what the shim needs in this session: the directory in which shims meet, memfd, eventfd,
 * and open files. */
static void check_session(const struct doctor_facts *facts, struct doctor_findings *out)
{
	char directory[120];

	if (!facts->runtime_problem[0]) {
		doctor_find(out, "runtime_folder", 0, 0, DOCTOR_OK, "%s", facts->runtime_dir);
	} else {
		/* The directory is needed without a daemon, or when it is gone; so beside a daemon
		 * this is only a warning. */
		doctor_find(out, "runtime_folder", 0, 0,
			    daemon_replies(facts) ? DOCTOR_WARNING : DOCTOR_MISSING, "%s %s",
			    facts->runtime_dir, facts->runtime_problem);
		if (facts->runtime_taken)
			doctor_advise(out,
				      "another user owns it, so processes of this user cannot find "
				      "each other without a daemon: start kfdschedd, set "
				      "XDG_RUNTIME_DIR to your own directory, or as root: rm -r %s",
				      shell_word_or(directory, sizeof(directory),
						    facts->runtime_dir, "FOLDER"));
		else
			doctor_advise(out,
				      "remove it, or set XDG_RUNTIME_DIR to your own directory: "
				      "processes find each other there without a daemon");
	}
	if (facts->shm_error > 0 || facts->eventfd_error > 0) {
		doctor_find(
			out, "memory_files", 0, 0, DOCTOR_MISSING, "%s: %s",
			facts->shm_error > 0 ? "no sealed memfd" : "no eventfd",
			strerror(facts->shm_error > 0 ? facts->shm_error : facts->eventfd_error));
		doctor_advise(out, "a sandbox forbids it, or limits are reached: check 'ulimit "
				   "-n', vm.memfd_noexec and the seccomp filter");
	} else if (facts->shm_error < 0 || facts->eventfd_error < 0) {
		doctor_find(out, "memory_files", 0, 0, DOCTOR_CANNOT_KNOW, "-");
	} else {
		doctor_find(out, "memory_files", 0, 0, DOCTOR_OK, "memfd with seals, eventfd");
	}
	if (facts->open_files < 0) {
		doctor_find(out, "open_files", 0, 0, DOCTOR_CANNOT_KNOW, "-");
	} else {
		bool fits = facts->open_files >= FILES_OF_A_SHIM;

		doctor_find(out, "open_files", 0, 0, fits ? DOCTOR_OK : DOCTOR_WARNING,
			    "a process may open %lld files", (long long)facts->open_files);
		if (!fits)
			doctor_advise(out, "raise the limit: 'ulimit -n 1024'");
	}
}

void doctor_check_environment(const struct doctor_facts *facts, struct doctor_findings *out)
{
	char name[64];

	if (!facts->rocr[0]) {
		doctor_find(out, "rocr", 0, 0, DOCTOR_CANNOT_KNOW, "-");
	} else {
		bool never = doctor_rocr_never_enables(facts->rocr);

		doctor_find(out, "rocr", 0, 0, never ? DOCTOR_WARNING : DOCTOR_OK, "ROCr %s (%s)",
			    doctor_rocr_name(name, facts->rocr), facts->rocr);
		if (never)
			doctor_advise(out, "it does not enable debugging itself: programs can be "
					   "suspended if they are started with the shim");
	}
	if (facts->env_disabled) {
		doctor_find(out, "environment", 0, 0, DOCTOR_MISSING, "KFDSHIM_DISABLE=1");
		doctor_advise(out, "unset it: programs started from here are not scheduled");
	} else if (facts->env_wrong[0]) {
		doctor_find(out, "environment", 0, 0, DOCTOR_WARNING, "%s cannot be read",
			    facts->env_wrong);
		doctor_advise(out, "it is ignored: docs/reference/environment.md lists the values");
	} else {
		doctor_find(out, "environment", 0, 0, DOCTOR_OK,
			    "all KFDSHIM_ variables are valid");
	}
	doctor_find(out, "interrupts", 0, 0, facts->no_interrupts ? DOCTOR_WARNING : DOCTOR_OK,
		    "HSA_ENABLE_INTERRUPT%s", facts->no_interrupts ? "=0" : " is not 0");
	if (facts->no_interrupts)
		doctor_advise(out, "unset it if level gate is used: with it the gate only blocks "
				   "threads that are known to belong to the program");
	bool tools = facts->tools[0] && !strstr(facts->tools, "libkfdshim.so");

	doctor_find(out, "tools", 0, 0, tools ? DOCTOR_WARNING : DOCTOR_OK, "HSA_TOOLS_LIB%s%s",
		    facts->tools[0] ? "=" : " is not set", facts->tools);
	if (tools)
		doctor_advise(out, "unset it in production: a profiler inserts intercept queues, "
				   "so the end of work is detected later");
}

void doctor_check_rights(const struct doctor_facts *facts, struct doctor_findings *out)
{
	check_yama(facts, out);
	check_ptrace(facts, out);
	check_sys_ptrace(facts, out);
	check_namespaces(facts, out);
	check_daemon(facts, out);
	check_library(facts, out);
	check_session(facts, out);
}

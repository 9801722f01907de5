// SPDX-License-Identifier: MIT
/* kfdsched resume, set: send control requests about one process. Has the functions for such
 * requests that suspend.c uses, too. */
#include "cli/preempt/preempt.h"

#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "channel/protocol.h"
#include "cli/output/fields.h"
#include "common/allocate.h"
#include "common/json_util.h"

int control_req_read(const struct cli_command *cmd, int argc, char **argv,
		     const struct cli_option *options, struct control_req *req)
{
	int code = options_read(cmd, argc, argv, options);

	if (code != CLI_GO_ON)
		return code;
	req->daemon = allocated(kfdsched_open(req->socket));
	return CLI_GO_ON;
}

void control_req_print_json(const struct cli_command *cmd, int pid, const char *reply, json_t *more)
{
	json_t *root =
		json_pack("{ss so*}", "request", cmd->name, "pid", pid ? json_integer(pid) : NULL);

	if (more)
		json_object_update_new(root, more);
	json_object_set_new(root, "reply", plain_json(reply));
	render_print(root, JSON_INDENT(2));
	fflush(stdout);
}

int control_req_print(const struct cli_command *cmd, const struct control_req *req, int rc)
{
	if (rc < 0)
		return cli_failed(cmd, "%s", kfdsched_errmsg(req->daemon));
	cli_print_error("%s", kfdsched_errmsg(req->daemon));
	return CLI_DONE;
}

int control_req_print_done(const struct cli_command *cmd, const struct control_req *req, int rc,
			   json_t *more)
{
	if (rc >= 0 && req->json) {
		control_req_print_json(cmd, req->pid, kfdsched_errmsg(req->daemon), more);
		return CLI_DONE;
	}
	json_decref(more);
	return control_req_print(cmd, req, rc);
}

/* Distinguishes by kill(2) an unknown process from one that does not exist, because the daemon
 * replies -ESRCH to both. EPERM means that the process exists. */
bool control_req_needs_daemon(int rc, int pid)
{
	return rc == -ENOENT || rc == -ECONNREFUSED || (rc == -ESRCH && kill(pid, 0) == 0) ||
	       (rc == -ESRCH && errno == EPERM);
}

/* ---- resume ---- */

struct holder {
	pid_t pid;
	const char *cmd; /* its command, "suspend" or "preempt" */
};

/* Returns the command of a kfdsched (its argv[1]) if that is suspend or preempt; otherwise NULL. */
static const char *command_of(pid_t pid)
{
	static const char *const commands[] = {"suspend", "preempt"};
	char path[64], arguments[256] = "";
	const char *name, *cmd;
	size_t got = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/cmdline", (int)pid);
	f = fopen(path, "re");
	if (f) {
		got = fread(arguments, 1, sizeof(arguments) - 1, f);
		fclose(f);
	}
	name = strrchr(arguments, '/') ? strrchr(arguments, '/') + 1 : arguments;
	cmd = arguments + strlen(arguments) + 1;
	if (strcmp(name, "kfdsched") != 0 || cmd >= arguments + got)
		return NULL;
	for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++)
		if (strcmp(cmd, commands[i]) == 0)
			return commands[i];
	return NULL;
}

/* Returns true if a file in /proc/PID/fdinfo is that of a pidfd of `target`. */
static bool is_pidfd_of(const char *path, pid_t target)
{
	FILE *f = fopen(path, "re");
	char line[128];
	bool is = false;
	int pid;

	while (f && !is && fgets(line, sizeof(line), f))
		is = sscanf(line, "Pid: %d", &pid) == 1 && pid == target;
	if (f)
		fclose(f);
	return is;
}

/* Returns true if the process `pid` has a pidfd of `target` open. False also for processes of other
 * users, whose fdinfo cannot be read. */
static bool has_pidfd_of(pid_t pid, pid_t target)
{
	char directory[64], path[sizeof(directory) + 256];
	const struct dirent *entry;
	bool has = false;
	DIR *dir;

	snprintf(directory, sizeof(directory), "/proc/%d/fdinfo", (int)pid);
	dir = opendir(directory);
	while (dir && !has && (entry = readdir(dir))) {
		snprintf(path, sizeof(path), "%s/%s", directory, entry->d_name);
		has = entry->d_name[0] != '.' && is_pidfd_of(path, target);
	}
	if (dir)
		closedir(dir);
	return has;
}

/* Finds a kfdsched that keeps the process suspended. Such a kfdsched is two processes, parent and
 * child, which both have a pidfd of that process. Reports the lower pid, nearly always the
 * parent's; killing either ends both. */
static bool holder_find(pid_t target, struct holder *out)
{
	DIR *proc = opendir("/proc");
	const struct dirent *entry;

	*out = (struct holder){0};
	while (proc && (entry = readdir(proc))) {
		pid_t pid = (pid_t)atoi(entry->d_name);
		const char *cmd = pid > 0 && pid != getpid() ? command_of(pid) : NULL;

		if (cmd && (!out->pid || pid < out->pid) && has_pidfd_of(pid, target))
			*out = (struct holder){.pid = pid, .cmd = cmd};
	}
	if (proc)
		closedir(proc);
	return out->pid > 0;
}

/* Prints which kfdsched command keeps the process suspended, or that none does. Called if the
 * daemon does not. */
static int print_holder(const struct control_req *req)
{
	char errmsg[512];
	struct holder holder;

	snprintf(errmsg, sizeof(errmsg), "%s", kfdsched_errmsg(req->daemon));
	if (!holder_find(req->pid, &holder))
		return cli_failed(&cmd_resume,
				  "%s; no 'kfdsched suspend' in this pid namespace holds process "
				  "%d",
				  errmsg, req->pid);
	return cli_failed(&cmd_resume,
			  "process %d is held by 'kfdsched %s' in the foreground (process %d): end "
			  "that with Ctrl-C or 'kill %d'",
			  req->pid, holder.cmd, (int)holder.pid, (int)holder.pid);
}

static int run_resume(int argc, char **argv)
{
	struct control_req req = {0};
	const struct cli_option options[] = {
		{OPTION_JSON(&req.json)},
		{OPTION_SOCKET(&req.socket)},
		{WORD_PID(&req.pid)},
		{0},
	};
	int code = control_req_read(&cmd_resume, argc, argv, options, &req), rc;

	if (code != CLI_GO_ON)
		return code;
	rc = kfdsched_resume(req.daemon, req.pid);
	if (control_req_needs_daemon(rc, req.pid))
		code = print_holder(&req);
	else
		code = control_req_print_done(&cmd_resume, &req, rc, NULL);
	kfdsched_close(req.daemon);
	return code;
}

const struct cli_command cmd_resume = {
	.name = "resume",
	.summary = "end the suspensions that 'kfdsched suspend' has begun",
	.usage = "PID [--json] [--socket PATH]",
	.help = "Ends every suspension of a process that an operator requested. If the process is suspended\n"
		"for more urgent work, it stays so: 'kfdsched set' changes its priority. The command needs\n"
		"root, or the daemon's admin_group. If the process is not registered with a daemon, it\n"
		"prints which 'kfdsched suspend' holds the process: end that command.\n"
		"\n"
		"  --json         prints the result as one JSON object (docs/reference/control.md)\n" HELP_SOCKET
		"\n"
		"Examples:\n"
		"  kfdsched resume 4711\n"
		"  kfdsched status --json | jq '.processes[] | select(.lease_us) | .pid' | xargs -n 1 kfdsched resume\n",
	.run = run_resume,
};

/* ---- set ---- */

static int read_priority(const char *word, void *into)
{
	int *out = into;

	if (strcmp(word, "none") == 0)
		*out = KFDSCHED_PRIORITY_NONE;
	else if (strcmp(word, "own") == 0)
		*out = KFDSCHED_PRIORITY_OWN;
	else
		return protocol_priority(word, out);
	return 0;
}

/* Returns a priority as JSON, with the keys that 'kfdsched status --json' uses. */
static json_t *priority_json(int priority)
{
	return json_pack("{so sb}", "priority", json_number(priority >= 0, priority),
			 "priority_override", (int)(priority != KFDSCHED_PRIORITY_OWN));
}

static int run_set(int argc, char **argv)
{
	struct control_req req = {0};
	int priority = KFDSCHED_PRIORITY_NONE;
	const struct cli_option options[] = {
		{OPTION_JSON(&req.json)},
		{OPTION_SOCKET(&req.socket)},
		{WORD_PID(&req.pid)},
		{OPTION_READ("priority", &priority, read_priority,
			     "priority: online, offline, 0 to 15, none or own"),
		 .word = true},
		{0},
	};
	int code = control_req_read(&cmd_set, argc, argv, options, &req);

	if (code != CLI_GO_ON)
		return code;
	code = control_req_print_done(&cmd_set, &req,
				      kfdsched_set_priority(req.daemon, req.pid, priority),
				      priority_json(priority));
	kfdsched_close(req.daemon);
	return code;
}

const struct cli_command cmd_set = {
	.name = "set",
	.summary = "change the priority of a running process",
	.usage = "PID online|offline|0..15|none|own [--json] [--socket PATH]",
	.help = "The process has this priority until it ends, instead of that in its own settings; none:\n"
		"it is only observed; own: its own settings apply again. The command needs root, or the\n"
		"daemon's admin_group. The priority is lost when the daemon ends.\n"
		"A process without libkfdshim.so can get 0 to 14: it is then suspended for more urgent\n"
		"processes, but no process is suspended for it, because its work in flight cannot be\n"
		"observed; none: it is not scheduled any more.\n"
		"\n"
		"  --json         prints the result as one JSON object (docs/reference/control.md)\n" HELP_SOCKET
		"\n"
		"Examples:\n"
		"  kfdsched set 4711 online\n"
		"  kfdsched set 4711 own\n",
	.run = run_set,
};

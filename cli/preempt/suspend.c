// SPDX-License-Identifier: MIT
/* kfdsched suspend: suspends a process, by the daemon if the daemon has the process. */
#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <unistd.h>

#include "channel/protocol.h"
#include "cli/preempt/suspend.h"
#include "cli/util/daemon_query.h"
#include "cli/util/select_process.h"
#include "common/wait.h"

/* Time that a restarted daemon has to accept a held process again: 30 x 100 ms. */
#define COMES_BACK_TRIES 30
#define TRY_NS 100000000

/* Takes the lease again after the connection was lost, because possibly only the daemon's worker
 * was restarted. Returns the fd of the lease or a negative errno. */
static int hold_again(const struct control_req *req, const struct target_process *target)
{
	int fd = -ECONNRESET;

	for (int i = 0; fd < 0 && i < COMES_BACK_TRIES; i++) {
		sleep_ns(TRY_NS);
		fd = kfdsched_hold(req->daemon, req->pid);
		/* A further try is pointless: the process has ended (another process can get its
		 * pid), it was resumed before the request was answered (-ECANCELED), or it cannot
		 * be held any more. */
		if (target_has_ended(target) || fd == -ECANCELED || fd == -EPERM ||
		    fd == -EOPNOTSUPP)
			break;
	}
	if (fd >= 0 && target_has_ended(target)) {
		close(fd);
		fd = -ESRCH;
	}
	return fd;
}

/* The keys "seconds" (reference taken), "by_daemon" and "queues". */
static json_t *by_daemon(json_t *seconds)
{
	return json_pack("{so sb sn}", "seconds", seconds, "by_daemon", 1, "queues");
}

static int print_held(const struct control_req *req)
{
	if (req->json)
		return control_req_print_json(&cmd_suspend, req->pid, kfdsched_errmsg(req->daemon),
					      by_daemon(json_null()));
	cli_print_error("%s until this command ends (Ctrl-C), or 'kfdsched resume %d'",
			kfdsched_errmsg(req->daemon), req->pid);
	fflush(stdout);
	return CLI_DONE;
}

/* Keeps the lease until another command resumes the process, the process ends, or
 * this command ends. */
static int hold(const struct control_req *req, const struct target_process *target, int fd)
{
	int rc = print_held(req);

	if (rc) {
		close(fd);
		return rc;
	}
	while (fd >= 0) {
		rc = kfdsched_held(req->daemon, fd, -1);
		if (rc == 0)
			continue;
		close(fd);
		fd = -1;
		if (rc == -ECONNRESET)
			rc = fd = hold_again(req, target);
	}
	/* With --json the output is one object, so that another command has resumed the process is
	 * reported by the exit code alone. */
	if (rc != -ECANCELED || !req->json)
		control_req_print(&cmd_suspend, req, rc == -ECANCELED ? 0 : rc);
	return rc == -ECANCELED ? CLI_DONE : CLI_FAILED;
}

/* Holds the process in the foreground: by the daemon, or by a debug session if no daemon
 * has the process. */
static int hold_or_act(const struct control_req *req, const struct suspend_ids *queues)
{
	struct target_process target;
	int code = target_process_open(&cmd_suspend, req->pid, &target), fd;
	bool was_lost;

	if (code != CLI_GO_ON)
		return code;
	fd = kfdsched_hold(req->daemon, req->pid);
	was_lost = fd == -ECONNRESET;
	if (was_lost)
		fd = hold_again(req, &target);
	/* If the daemon had the process and its new worker does not, the process has ended, or it
	 * has not reconnected yet. A debug session would be wrong in both cases. */
	if (control_req_needs_daemon(fd, req->pid) && !(was_lost && fd == -ESRCH))
		code = suspend_direct(req, queues);
	else if (was_lost && fd == -ECANCELED) /* held, but resumed before the reply arrived */
		code = control_req_print_done(&cmd_suspend, req, 0, by_daemon(json_null()));
	else if (fd < 0)
		code = control_req_print(&cmd_suspend, req, fd);
	else
		code = hold(req, &target, fd);
	target_close(&target);
	return code;
}

/* Suspends some queues of a process. Not possible for a process of the daemon: its leases are for
 * whole processes, and a process can have only one debug session, which is the daemon's. */
static int some_queues(const struct control_req *req, const struct suspend_ids *queues)
{
	if (!daemon_query_number(req->socket, req->pid))
		return suspend_direct(req, queues);
	cli_failed(&cmd_suspend,
		   "process %d is registered with kfdschedd, which suspends whole processes: omit "
		   "--queues",
		   req->pid);
	return CLI_IMPOSSIBLE;
}

static int run(int argc, char **argv)
{
	struct control_req req = {0};
	struct suspend_ids queues = {.count = 0};
	unsigned long seconds = 0;
	const struct cli_option options[] = {
		{OPTION_COUNT("for", &seconds, 1, PROTOCOL_LEASE_MAX_S, "1 to 86400 seconds")},
		{OPTION_READ("queues", &queues, suspend_read_ids, "a list of ids such as 0,2-5")},
		{OPTION_JSON(&req.json)},
		{OPTION_SOCKET(&req.socket)},
		{WORD_PID(&req.pid)},
		{0},
	};
	int code = control_req_read(&cmd_suspend, argc, argv, options, &req);

	if (code != CLI_GO_ON)
		return code;
	if (queues.count && seconds)
		code = cli_usage(&cmd_suspend, "--queues and --for exclude each other: with "
					       "--queues the command must stay in the foreground");
	else if (queues.count)
		code = some_queues(&req, &queues);
	else if (seconds)
		code = control_req_print_done(
			&cmd_suspend, &req,
			kfdsched_suspend(req.daemon, req.pid, (unsigned)seconds),
			by_daemon(json_integer((json_int_t)seconds)));
	else
		code = hold_or_act(&req, &queues);
	kfdsched_close(req.daemon);
	return code;
}

const struct cli_command cmd_suspend = {
	.name = "suspend",
	.summary = "suspend the GPU work of a process",
	.usage = "PID [--for SECONDS | --queues IDS] [--json] [--socket PATH]",
	.help = "Suspends the GPU work of one process, in the middle of its kernels, whether other processes\n"
		"have work or not; its group is suspended with it. Without --for it stays suspended as long\n"
		"as this command runs: until Ctrl-C, kill -9 or 'kfdsched resume PID', so that no process\n"
		"stays suspended by accident. The command needs root, or the daemon's admin_group.\n"
		"If the process is not registered with a daemon, this command holds it itself, by a debug\n"
		"session, until Ctrl-C; " CLI_SESSION_DANGER ".\n"
		"'kfdsched help preempt' describes the conditions for sessions.\n"
		"\n"
		"  --for SECONDS  the daemon keeps it suspended for this time (1 to 86400), and the command\n"
		"                 returns when it is suspended; a later call replaces the time\n"
		"  --queues IDS   only these queues, such as 0,2-5, if the process is not registered with a\n"
		"                 daemon; a process whose queues wait for each other blocks meanwhile\n"
		"  --json         prints the result as one JSON object (docs/reference/control.md)\n"
		"  --socket PATH  where the daemon listens; without it KFDSHIM_SOCKET, or\n"
		"                 /run/kfdsched/socket\n"
		"\n"
		"Examples:\n"
		"  kfdsched suspend 4711\n"
		"  kfdsched suspend 4711 --for 30 && run-the-benchmark\n",
	.run = run,
};

// SPDX-License-Identifier: MIT
/*
 * kfdsched suspend: suspends a process, by the daemon if the daemon knows the process.
 *
 * Without a daemon nothing can keep a process suspended after this command has ended, so the
 * suspension lasts as long as this command runs. A child holds the session (hold_child_run()), so
 * that the process runs on however this command ends.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "channel/protocol.h"
#include "cli/output/fields.h"
#include "cli/output/progress.h"
#include "cli/preempt/preempt.h"
#include "cli/util/daemon_query.h"
#include "common/clock.h"
#include "common/wait.h"

/* How often the suspension is requested again from a restarted daemon, and time between two
 * requests. */
#define COMES_BACK_TRIES 30
#define TRY_NS 100000000

/* Requests the lease (the suspension) again after the connection was lost, because possibly only
 * the daemon's worker was restarted. Returns the fd of the lease or a negative errno. */
static int hold_again(const struct control_req *req, const struct target_process *target)
{
	int fd = -ECONNRESET;

	for (int i = 0; fd < 0 && i < COMES_BACK_TRIES; i++) {
		sleep_ns(TRY_NS);
		fd = kfdsched_hold(req->daemon, req->pid);
		/* A further try is pointless: the process has ended (another process can get its
		 * pid), it was resumed before the request was answered (-ECANCELED), or it cannot
		 * be suspended any more. */
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

/* Returns a JSON object with "seconds" (reference taken), "by_daemon" and "queues". */
static json_t *by_daemon(json_t *seconds)
{
	return json_pack("{so sb sn}", "seconds", seconds, "by_daemon", 1, "queues");
}

/* Keeps the lease (the suspension by the daemon, until `fd` is closed) until another command
 * resumes the process, the process ends, or this command ends. Returns the exit code. */
static int hold(const struct control_req *req, const struct target_process *target, int fd)
{
	int rc = 0;

	if (req->json)
		control_req_print_json(&cmd_suspend, req->pid, kfdsched_errmsg(req->daemon),
				       by_daemon(json_null()));
	else
		cli_print_error("%s until this command ends (Ctrl-C), or 'kfdsched resume %d'",
				kfdsched_errmsg(req->daemon), req->pid);
	fflush(stdout);
	while (fd >= 0) {
		rc = kfdsched_held(req->daemon, fd, -1);
		if (rc == 0)
			continue;
		close(fd);
		fd = -1;
		if (rc == -ECONNRESET)
			rc = fd = hold_again(req, target);
	}
	/* With --json the output is one object, which is already printed. So if another command has
	 * resumed the process, only the exit code reports it. */
	if (rc != -ECANCELED || !req->json)
		control_req_print(&cmd_suspend, req, rc == -ECANCELED ? 0 : rc);
	return rc == -ECANCELED ? CLI_DONE : CLI_FAILED;
}

/* ---- without a daemon ---- */

#define TICK_US 1e6 /* update interval of the live line */

struct direct_hold {
	const struct control_req *req;
	struct target_process target;
	bool some;		   /* only `queues` are to be suspended */
	struct suspend_ids queues; /* ids of --queues; later the ids that are suspended */
	struct session session;
};

/* Parses one id or a range, and marks it in `named`. Returns the text behind it, or NULL if it is
 * malformed. */
static const char *read_range(const char *text, bool named[SUSPEND_IDS_MAX])
{
	unsigned long from, to;
	char *end;

	if (*text < '0' || *text > '9')
		return NULL;
	from = to = strtoul(text, &end, 10);
	if (*end == '-') {
		text = end + 1;
		if (*text < '0' || *text > '9')
			return NULL;
		to = strtoul(text, &end, 10);
	}
	if (from > to || to >= SUSPEND_IDS_MAX)
		return NULL;
	memset(named + from, true, to - from + 1);
	return end;
}

int suspend_read_ids(const char *text, void *ids)
{
	bool named[SUSPEND_IDS_MAX] = {false};
	struct suspend_ids *out = ids;

	for (;; text++) {
		text = read_range(text, named);
		if (!text || (*text && *text != ','))
			return -EINVAL;
		if (!*text)
			break;
	}
	out->count = 0;
	for (uint32_t id = 0; id < SUSPEND_IDS_MAX; id++)
		if (named[id])
			out->id[out->count++] = id;
	return 0;
}

static int failed(const struct direct_hold *hold, const char *what, int error)
{
	return cli_failed(&cmd_suspend, "process %d: %s: %s", (int)hold->target.pid, what,
			  strerror(-error));
}

/* Suspends the process or its chosen queues. Returns CLI_GO_ON if they are suspended, else the exit
 * code. */
static int take(struct direct_hold *hold)
{
	struct trap *trap = hold->session.trap;
	struct kfd_debug_cost cost;
	uint32_t missing;
	int error = 0;

	if (hold->some)
		error = kfd_debug_select(trap_session(trap), hold->queues.id, hold->queues.count,
					 &missing);
	if (error == -ENOENT)
		return cli_failed(&cmd_suspend,
				  "process %d has no compute queue %u: 'kfdsched queues %d' lists "
				  "its queues",
				  (int)hold->target.pid, missing, (int)hold->target.pid);
	if (error)
		return failed(hold, "its queues cannot be read", error);
	error = kfd_debug_suspend(trap_session(trap), &cost);
	if (error)
		return failed(hold, "it could not be suspended, and continues to run", error);
	hold->queues.count =
		kfd_debug_suspended(trap_session(trap), hold->queues.id, SUSPEND_IDS_MAX);
	if (!hold->queues.count && !hold->some)
		fprintf(stderr,
			"kfdsched suspend: process %d has no compute queue now; queues that it "
			"creates are suspended\n",
			(int)hold->target.pid);
	return CLI_GO_ON;
}

static json_t *ids_json(const struct direct_hold *hold)
{
	json_t *ids = json_array();

	for (uint32_t i = 0; i < hold->queues.count; i++)
		json_array_append_new(ids, json_integer(hold->queues.id[i]));
	return ids;
}

static void print_direct(const struct direct_hold *hold)
{
	uint32_t count = hold->queues.count;
	char reply[160];

	snprintf(reply, sizeof(reply), "%s%u queue%s of process %d (%s) %s suspended",
		 hold->some ? "" : "all ", count, count == 1 ? "" : "s", (int)hold->target.pid,
		 hold->target.name, count == 1 ? "is" : "are");
	if (hold->req->json)
		control_req_print_json(&cmd_suspend, (int)hold->target.pid, reply,
				       json_pack("{sn sb so}", "seconds", "by_daemon", 0, "queues",
						 ids_json(hold)));
	else
		printf("%s until this command ends (Ctrl-C)\n", reply);
	fflush(stdout);
}

static void wait_for_end(struct session *session)
{
	uint64_t start = clock_ns();
	char text[QUANTITY_BYTES];

	while (!session->interrupted && !session->gone) {
		if (progress_is_live())
			progress_live("suspended for %s; Ctrl-C resumes it",
				      quantity_us(text, (double)(clock_ns() - start) / 1e3));
		session_wait_us(session, progress_is_live() ? TICK_US : INFINITY);
	}
	progress_clear();
}

/* Reports why the suspension ended. Returns the exit code. */
static int print_end(const struct direct_hold *hold)
{
	const struct session *session = &hold->session;

	if (session->ran_on)
		fprintf(stderr,
			"kfdsched suspend: a queue that process %d created meanwhile was not "
			"suspended: %s\n",
			(int)hold->target.pid, strerror(-session->ran_on));
	if (!session->gone)
		return CLI_DONE;
	return cli_failed(&cmd_suspend, "process %d: %s", (int)hold->target.pid, session->gone);
}

/* Runs in the child: opens the session, suspends, waits for the end, and resumes by closing the
 * session. Returns the exit code. */
static int act(void *context, int signals)
{
	struct direct_hold *hold = context;
	struct session *session = &hold->session;
	int code = hold_session_open(session, &cmd_suspend, &hold->target, signals);

	if (code != CLI_GO_ON)
		return code;
	code = take(hold);
	if (code == CLI_GO_ON) {
		print_direct(hold);
		wait_for_end(session);
		code = print_end(hold);
	}
	session_close(session);
	return code;
}

/* Suspends the process, or only `queues` if their count is above 0, by a debug session of
 * kfdsched's own, until Ctrl-C or until the process has ended. Returns the exit code. */
static int suspend_direct(const struct control_req *req, const struct target_process *target,
			  const struct suspend_ids *queues)
{
	struct direct_hold hold = {
		.req = req, .target = *target, .some = queues->count > 0, .queues = *queues};
	enum hold_child_end end;
	int code;

	cli_warn_session(&cmd_suspend, req->pid);
	if (hold.some)
		fprintf(stderr,
			"kfdsched suspend: warning: a process whose queues wait for each other can "
			"block while only some of them are suspended\n");
	code = hold_child_run(&cmd_suspend, act, &hold, &end);
	if (end != HOLD_CHILD_RETURNED)
		cli_failed(&cmd_suspend, "%s: the driver has resumed process %d",
			   hold_child_errmsg(end), req->pid);
	return code;
}

/* ---- command ---- */

/* Keeps the process suspended while this command runs: by the daemon, or by a debug session if no
 * daemon knows the process. */
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
	/* If the daemon knew the process and its new worker does not, the process has ended, or it
	 * has not reconnected yet. A debug session would be wrong in both cases. */
	if (control_req_needs_daemon(fd, req->pid) && !(was_lost && fd == -ESRCH))
		code = suspend_direct(req, &target, queues);
	else if (was_lost && fd == -ECANCELED) /* suspended, but resumed before the reply */
		code = control_req_print_done(&cmd_suspend, req, 0, by_daemon(json_null()));
	else if (fd < 0)
		code = control_req_print(&cmd_suspend, req, fd);
	else
		code = hold(req, &target, fd);
	target_close(&target);
	return code;
}

/* Suspends some queues of a process. This is not possible for a process that the daemon knows,
 * because the daemon can only suspend a whole process, and the process's only debug session is the
 * daemon's. */
static int some_queues(const struct control_req *req, const struct suspend_ids *queues)
{
	struct target_process target;
	int code;

	if (daemon_query_number(req->socket, req->pid)) {
		cli_failed(&cmd_suspend,
			   "process %d is registered with kfdschedd, which suspends whole "
			   "processes: omit --queues",
			   req->pid);
		return CLI_IMPOSSIBLE;
	}
	code = target_process_open(&cmd_suspend, req->pid, &target);
	if (code == CLI_GO_ON) {
		code = suspend_direct(req, &target, queues);
		target_close(&target);
	}
	return code;
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
		"  --json         prints the result as one JSON object (docs/reference/control.md)\n" HELP_SOCKET
		"\n"
		"Examples:\n"
		"  kfdsched suspend 4711\n"
		"  kfdsched suspend 4711 --for 30 && run-the-benchmark\n",
	.run = run,
};

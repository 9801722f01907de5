// SPDX-License-Identifier: MIT
/*
 * kfdsched suspend without a daemon. No lease can outlive this command then, so the process is
 * suspended as long as this command runs. A child holds the session (hold_child.h), so that the
 * process runs on however this command ends.
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/output/progress.h"
#include "cli/output/table.h"
#include "cli/preempt/hold_child.h"
#include "cli/preempt/hold_session.h"
#include "cli/preempt/suspend.h"
#include "common/clock.h"

#define TICK_US 1e6 /* update interval of the live line */

struct direct_hold {
	const struct control_req *req;
	struct target_process target;
	bool some;		   /* only `queues` are to be suspended */
	struct suspend_ids queues; /* ids of --queues; later the ids that are suspended */
	struct session session;
};

/* Parses one id or a range, and marks it in `named`. Returns the text behind it; NULL:
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

/* Suspends the process or its chosen queues. Returns CLI_GO_ON, or the exit code if the
 * process still runs. */
static int take(struct direct_hold *hold)
{
	struct trap *trap = hold->session.trap;
	struct kfd_debug_cost cost;
	uint32_t missing;
	int error = 0;

	if (hold->some)
		error = trap_choose(trap, hold->queues.id, hold->queues.count, &missing);
	if (error == -ENOENT)
		return cli_failed(&cmd_suspend,
				  "process %d has no compute queue %u: 'kfdsched queues %d' lists "
				  "its queues",
				  (int)hold->target.pid, missing, (int)hold->target.pid);
	if (error)
		return failed(hold, "its queues cannot be read", error);
	error = trap_suspend(trap, &cost);
	if (error)
		return failed(hold, "it could not be suspended, and continues to run", error);
	hold->queues.count = trap_suspended(trap, hold->queues.id, SUSPEND_IDS_MAX);
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

	for (uint32_t i = 0; ids && i < hold->queues.count; i++)
		json_array_append_new(ids, json_integer(hold->queues.id[i]));
	return ids;
}

static int print(const struct direct_hold *hold)
{
	uint32_t count = hold->queues.count;
	char reply[160];

	snprintf(reply, sizeof(reply), "%s%u queue%s of process %d (%s) %s suspended",
		 hold->some ? "" : "all ", count, count == 1 ? "" : "s", (int)hold->target.pid,
		 hold->target.name, count == 1 ? "is" : "are");
	if (hold->req->json)
		return control_req_print_json(&cmd_suspend, (int)hold->target.pid, reply,
					      json_pack("{sn sb so}", "seconds", "by_daemon", 0,
							"queues", ids_json(hold)));
	printf("%s until this command ends (Ctrl-C)\n", reply);
	fflush(stdout);
	return CLI_DONE;
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

/* Reports why the hold ended. Returns the exit code. */
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
		code = print(hold);
		if (code == CLI_DONE)
			wait_for_end(session);
		if (code == CLI_DONE)
			code = print_end(hold);
	}
	session_close(session);
	return code;
}

int suspend_direct(const struct control_req *req, const struct suspend_ids *queues)
{
	struct direct_hold hold = {.req = req, .some = queues->count > 0, .queues = *queues};
	enum hold_child_end end;
	int code = target_process_open(&cmd_suspend, req->pid, &hold.target);

	if (code != CLI_GO_ON)
		return code;
	cli_warn_session(&cmd_suspend, req->pid);
	if (hold.some)
		fprintf(stderr,
			"kfdsched suspend: warning: a process whose queues wait for each other can "
			"block while only some of them are suspended\n");
	code = hold_child_run(&cmd_suspend, act, &hold, &end);
	if (end != HOLD_CHILD_RETURNED)
		cli_failed(&cmd_suspend, "%s: the driver has resumed process %d",
			   hold_child_errmsg(end), req->pid);
	target_close(&hold.target);
	return code;
}

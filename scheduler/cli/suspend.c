// SPDX-License-Identifier: MIT
/* kfdsched suspend: takes a process off the GPU, by the daemon where one has it. */
#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <unistd.h>

#include "channel/protocol.h"
#include "common/wait.h"
#include "scheduler/cli/ask.h"
#include "scheduler/cli/suspend.h"
#include "scheduler/cli/target.h"

/* How long a daemon may take to come back while a process is held. */
#define COMES_BACK_TRIES 30
#define TRY_NS 100000000

/* The connection again, after the daemon has gone: it may only have been its worker. */
static int hold_again(const struct order *order, const struct target *target)
{
	int fd = -ECONNRESET;

	for (int i = 0; fd < 0 && i < COMES_BACK_TRIES; i++) {
		sleep_ns(TRY_NS);
		fd = kfdsched_hold(order->daemon, order->pid);
		/* It has ended, and another process may have its number; it was resumed before
		 * this order was answered; or it cannot be held any more. */
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

static json_t *by_daemon(json_t *seconds)
{
	return json_pack("{so sb sn}", "seconds", seconds, "by_daemon", 1, "queues");
}

static int print_held(const struct order *order)
{
	if (order->json)
		return order_print_json(&verb_suspend, order->pid, kfdsched_sentence(order->daemon),
					by_daemon(json_null()));
	cli_say("%s until this command ends (Ctrl-C), or 'kfdsched resume %d'",
		kfdsched_sentence(order->daemon), order->pid);
	fflush(stdout);
	return CLI_DONE;
}

/* Until another command resumes it, it ends, or this command does. */
static int hold(const struct order *order, const struct target *target, int fd)
{
	int rc = print_held(order);

	if (rc) {
		close(fd);
		return rc;
	}
	while (fd >= 0) {
		rc = kfdsched_held(order->daemon, fd, -1);
		if (rc == 0)
			continue;
		close(fd);
		fd = -1;
		if (rc == -ECONNRESET)
			rc = fd = hold_again(order, target);
	}
	/* One object is all: that somebody has resumed it is told by the exit code. */
	if (rc != -ECANCELED || !order->json)
		order_tell(&verb_suspend, order, rc == -ECANCELED ? 0 : rc);
	return rc == -ECANCELED ? CLI_DONE : CLI_FAILED;
}

static int hold_or_act(const struct order *order, const struct suspend_ids *queues)
{
	struct target target;
	int code = target_open(&verb_suspend, order->pid, &target), fd;
	bool was_lost;

	if (code != CLI_GO_ON)
		return code;
	fd = kfdsched_hold(order->daemon, order->pid);
	was_lost = fd == -ECONNRESET;
	if (was_lost)
		fd = hold_again(order, &target);
	/* The daemon had the process: if its new worker has not, the process has ended, or it has not come
	 * back yet. */
	if (order_has_no_daemon(fd, order->pid) && !(was_lost && fd == -ESRCH))
		code = suspend_direct(order, queues);
	else if (was_lost && fd == -ECANCELED) /* held, and resumed before the answer came */
		code = order_tell_done(&verb_suspend, order, 0, by_daemon(json_null()));
	else if (fd < 0)
		code = order_tell(&verb_suspend, order, fd);
	else
		code = hold(order, &target, fd);
	target_close(&target);
	return code;
}

/* A daemon's leases are of whole processes, and its session is the only one there can be. */
static int some_queues(const struct order *order, const struct suspend_ids *queues)
{
	if (!ask_number(order->socket, order->pid))
		return suspend_direct(order, queues);
	cli_failed(&verb_suspend,
		   "process %d is kfdschedd's, which suspends whole processes: leave --queues away",
		   order->pid);
	return CLI_IMPOSSIBLE;
}

static int run(int argc, char **argv)
{
	struct order order = {0};
	struct suspend_ids queues = {.count = 0};
	unsigned long seconds = 0;
	const struct verb_option options[] = {
		{OPTION_COUNT("for", &seconds, 1, PROTOCOL_LEASE_MAX_S, "1 to 86400 seconds")},
		{OPTION_READ("queues", &queues, suspend_read_ids, "a list of ids such as 0,2-5")},
		{OPTION_JSON(&order.json)},
		{OPTION_SOCKET(&order.socket)},
		{WORD_PID(&order.pid)},
		{0},
	};
	int code = order_begin(&verb_suspend, argc, argv, options, &order);

	if (code != CLI_GO_ON)
		return code;
	if (queues.count && seconds)
		code = cli_usage(&verb_suspend, "--queues and --for exclude each other: who keeps "
						"some queues suspended stays in the foreground");
	else if (queues.count)
		code = some_queues(&order, &queues);
	else if (seconds)
		code = order_tell_done(&verb_suspend, &order,
				       kfdsched_suspend(order.daemon, order.pid, (unsigned)seconds),
				       by_daemon(json_integer((json_int_t)seconds)));
	else
		code = hold_or_act(&order, &queues);
	kfdsched_close(order.daemon);
	return code;
}

const struct verb verb_suspend = {
	.name = "suspend",
	.summary = "take a process off the GPU for a while",
	.usage = "PID [--for SECONDS | --queues IDS] [--json] [--socket PATH]",
	.help = "Suspends the GPU work of one process, in the middle of its kernels, whoever is active\n"
		"beside it; of its group, too, which stands and runs together. Without --for it stays\n"
		"suspended as long as this command runs: it ends with Ctrl-C, kill -9 or 'kfdsched\n"
		"resume PID', so that nothing is forgotten. It needs root, or the daemon's admin_group.\n"
		"Where no daemon has the process this command holds it itself, by a debug session, and\n"
		"Ctrl-C ends it; " CLI_SESSION_DANGER ".\n"
		"What 'kfdsched help preempt' says of sessions holds here, too.\n"
		"\n"
		"  --for SECONDS  the daemon keeps it suspended for so long (1 to 86400), and the\n"
		"                 command returns when it is; given again, the new time counts\n"
		"  --queues IDS   only these queues, as 0,2-5, where no daemon has the process; one that\n"
		"                 waits for another of its queues stands still meanwhile\n"
		"  --json         what was done, as one JSON object (docs/formats.md)\n"
		"  --socket PATH  where the daemon listens; without it KFDSHIM_SOCKET, or\n"
		"                 /run/kfdsched/socket\n"
		"\n"
		"Examples:\n"
		"  kfdsched suspend 4711\n"
		"  kfdsched suspend 4711 --for 30 && run-the-benchmark\n",
	.run = run,
};

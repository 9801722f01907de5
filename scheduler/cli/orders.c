// SPDX-License-Identifier: MIT
/* kfdsched suspend, resume, set: orders about one process. */
#include <errno.h>
#include <getopt.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "channel/protocol.h"
#include "scheduler/cli/ask.h"
#include "scheduler/cli/cli.h"
#include "scheduler/lib/kfdsched.h"

/* How long a daemon may take to come back while somebody is held. */
#define COMES_BACK_TRIES 30
#define TRY_NS 100000000

struct order {
	struct kfdsched *daemon;
	int pid;
	unsigned seconds; /* of --for; 0: it was not given */
	const char *word; /* the argument after PID */
	bool json;
};

/* Options, PID, and `words` more. ASK_GO_ON, or the exit code. */
static int parse(const struct verb *verb, int argc, char **argv, int words, struct order *out)
{
	static const struct option options[] = {
		{"for", required_argument, NULL, 'f'}, /* first: one verb has it */
		{"json", no_argument, NULL, 'j'},      {"socket", required_argument, NULL, 's'},
		{"help", no_argument, NULL, 'h'},      {0},
	};
	const char *socket = ask_socket();
	char *end;
	int option;
	long n;

	*out = (struct order){0};
	opterr = 0;
	while ((option = getopt_long(argc, argv, ":h", options + (verb != &verb_suspend), NULL)) !=
	       -1) {
		switch (option) {
		case 'f':
			n = strtol(optarg, &end, 10);
			if (end == optarg || *end != '\0' || n < 1 || n > PROTOCOL_LEASE_MAX_S)
				return cli_usage(verb, "--for is 1 to %u seconds, not '%s'",
						 PROTOCOL_LEASE_MAX_S, optarg);
			out->seconds = (unsigned)n;
			break;
		case 'j':
			out->json = true;
			break;
		case 's':
			socket = optarg;
			break;
		case 'h':
			return cli_help(verb);
		default:
			return cli_usage_getopt(verb, option, argv);
		}
	}
	if (optind == argc)
		return cli_usage(verb, "no PID");
	out->pid = cli_pid(argv[optind]);
	if (!out->pid)
		return cli_usage(verb, "'%s' is no PID", argv[optind]);
	optind++;
	if (words && optind == argc)
		return cli_usage(verb, "no priority");
	if (words)
		out->word = argv[optind++];
	if (optind < argc)
		return cli_usage(verb, "'%s' is one argument too many", argv[optind]);
	out->daemon = kfdsched_open(socket);
	return out->daemon ? ASK_GO_ON : cli_failed(verb, "no memory");
}

/* What was done, with `more` of this verb's own keys (taken; may be NULL). */
static int print_json(const struct verb *verb, const struct order *order, json_t *more)
{
	json_t *root = json_pack("{ss sI}", "order", verb->name, "pid", (json_int_t)order->pid);
	bool whole = root && (!more || json_object_update(root, more) == 0) &&
		     json_object_set_new(root, "answer",
					 json_string(kfdsched_sentence(order->daemon))) == 0 &&
		     json_dumpf(root, stdout, JSON_INDENT(2)) == 0;

	json_decref(more);
	json_decref(root);
	if (!whole)
		return cli_failed(verb, "it is done, but no memory to tell it as JSON");
	putchar('\n');
	fflush(stdout);
	return CLI_DONE;
}

/* What came of it, as one line. The exit code. */
static int tell(const struct verb *verb, const struct order *order, int rc)
{
	if (rc < 0)
		return cli_failed(verb, "%s", kfdsched_sentence(order->daemon));
	puts(kfdsched_sentence(order->daemon));
	return CLI_DONE;
}

/* The same, as JSON where that is wanted. */
static int tell_done(const struct verb *verb, const struct order *order, int rc, json_t *more)
{
	if (rc >= 0 && order->json)
		return print_json(verb, order, more);
	json_decref(more);
	return tell(verb, order, rc);
}

/* ---- suspend ---- */

/* The connection again, after the daemon has gone: it may only have been its worker. */
static int hold_again(struct order *order)
{
	const struct timespec nap = {.tv_nsec = TRY_NS};
	int fd = -ECONNRESET;

	for (int i = 0; fd < 0 && i < COMES_BACK_TRIES; i++) {
		nanosleep(&nap, NULL);
		fd = kfdsched_hold(order->daemon, order->pid);
		if (fd == -EPERM || fd == -EOPNOTSUPP)
			break;
	}
	return fd;
}

/* Until somebody resumes it, it ends, or we do. */
static int hold(struct order *order)
{
	int fd = kfdsched_hold(order->daemon, order->pid), rc;

	if (fd < 0)
		return tell(&verb_suspend, order, fd);
	if (order->json) {
		rc = print_json(&verb_suspend, order, json_pack("{sn}", "seconds"));
		if (rc) {
			close(fd);
			return rc;
		}
	} else {
		printf("%s until this command ends (Ctrl-C), or 'kfdsched resume %d'\n",
		       kfdsched_sentence(order->daemon), order->pid);
		fflush(stdout);
	}
	for (;;) {
		rc = kfdsched_held(order->daemon, fd, -1);
		if (rc == 0)
			continue;
		close(fd);
		if (rc != -ECONNRESET)
			break;
		fd = hold_again(order);
		if (fd < 0)
			return tell(&verb_suspend, order, fd);
	}
	/* One object is all: that somebody has resumed it is told by the exit code. */
	if (rc != -ECANCELED || !order->json)
		tell(&verb_suspend, order, rc == -ECANCELED ? 0 : rc);
	return rc == -ECANCELED ? CLI_DONE : CLI_FAILED;
}

static int run_suspend(int argc, char **argv)
{
	struct order order;
	int code = parse(&verb_suspend, argc, argv, 0, &order);

	if (code != ASK_GO_ON)
		return code;
	if (order.seconds)
		code = tell_done(&verb_suspend, &order,
				 kfdsched_suspend(order.daemon, order.pid, order.seconds),
				 json_pack("{sI}", "seconds", (json_int_t)order.seconds));
	else
		code = hold(&order);
	kfdsched_close(order.daemon);
	return code;
}

const struct verb verb_suspend = {
	.name = "suspend",
	.summary = "take a process off the GPU for a while",
	.usage = "PID [--for SECONDS] [--json] [--socket PATH]",
	.help = "Suspends the GPU work of one process, in the middle of its kernels, whoever is "
		"active\n"
		"beside it; of its group, too, which stands and runs together. Without --for it "
		"stays\n"
		"suspended as long as this command runs: it ends with Ctrl-C, kill -9 or "
		"'kfdsched\n"
		"resume PID', so that nothing is forgotten. It needs root, or the daemon's "
		"admin_group.\n"
		"\n"
		"  --for SECONDS  the daemon keeps it suspended for so long (1 to 86400), and the\n"
		"                 command returns when it is; given again, the new time counts\n"
		"  --json         what was done, as one JSON object (docs/formats.md)\n"
		"  --socket PATH  where the daemon listens; without it KFDSHIM_SOCKET, or\n"
		"                 /run/kfdsched/socket\n"
		"\n"
		"Examples:\n"
		"  kfdsched suspend 4711\n"
		"  kfdsched suspend 4711 --for 30 && run-the-benchmark\n",
	.run = run_suspend,
};

/* ---- resume ---- */

static int run_resume(int argc, char **argv)
{
	struct order order;
	int code = parse(&verb_resume, argc, argv, 0, &order);

	if (code != ASK_GO_ON)
		return code;
	code = tell_done(&verb_resume, &order, kfdsched_resume(order.daemon, order.pid), NULL);
	kfdsched_close(order.daemon);
	return code;
}

const struct verb verb_resume = {
	.name = "resume",
	.summary = "end what 'kfdsched suspend' has begun",
	.usage = "PID [--json] [--socket PATH]",
	.help = "Ends every suspension of a process that somebody ordered. One that makes way for "
		"more\n"
		"urgent work goes on making way: 'kfdsched set' changes that. It needs root, or "
		"the\n"
		"daemon's admin_group.\n"
		"\n"
		"  --json         what was done, as one JSON object (docs/formats.md)\n"
		"  --socket PATH  where the daemon listens; without it KFDSHIM_SOCKET, or\n"
		"                 /run/kfdsched/socket\n"
		"\n"
		"Examples:\n"
		"  kfdsched resume 4711\n"
		"  kfdsched status --json | jq '.processes[] | select(.lease_us) | .pid' | "
		"xargs -n 1 kfdsched resume\n",
	.run = run_resume,
};

/* ---- set ---- */

static int read_priority(const char *word, int *out)
{
	if (strcmp(word, "none") == 0)
		*out = KFDSCHED_PRIORITY_NONE;
	else if (strcmp(word, "own") == 0)
		*out = KFDSCHED_PRIORITY_OWN;
	else
		return protocol_priority(word, out);
	return 0;
}

/* In the keys of 'kfdsched status'. */
static json_t *priority_json(int priority)
{
	return json_pack("{so sb}", "priority",
			 priority >= 0 ? json_integer(priority) : json_null(), "priority_ordered",
			 (int)(priority != KFDSCHED_PRIORITY_OWN));
}

static int run_set(int argc, char **argv)
{
	struct order order;
	int code = parse(&verb_set, argc, argv, 1, &order), priority;

	if (code != ASK_GO_ON)
		return code;
	if (read_priority(order.word, &priority))
		code = cli_usage(&verb_set,
				 "a priority is online, offline, 0 to 15, none or own, not '%s'",
				 order.word);
	else
		code = tell_done(&verb_set, &order,
				 kfdsched_set_priority(order.daemon, order.pid, priority),
				 priority_json(priority));
	kfdsched_close(order.daemon);
	return code;
}

const struct verb verb_set = {
	.name = "set",
	.summary = "give a running process another priority",
	.usage = "PID online|offline|0..15|none|own [--json] [--socket PATH]",
	.help = "From now on the process has this priority, until it ends, whatever it says of "
		"itself;\n"
		"none: it is only watched; own: what it says itself counts again. It needs root, "
		"or "
		"the\n"
		"daemon's admin_group. It is forgotten when the daemon ends.\n"
		"A process without libkfdshim.so can be given 0 to 14: it then makes way for more\n"
		"urgent ones, and holds nobody back itself, for what it has in flight cannot be "
		"seen;\n"
		"none lets it go.\n"
		"\n"
		"  --json         what was done, as one JSON object (docs/formats.md)\n"
		"  --socket PATH  where the daemon listens; without it KFDSHIM_SOCKET, or\n"
		"                 /run/kfdsched/socket\n"
		"\n"
		"Examples:\n"
		"  kfdsched set 4711 online\n"
		"  kfdsched set 4711 own\n",
	.run = run_set,
};

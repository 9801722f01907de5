// SPDX-License-Identifier: MIT
/* kfdsched resume, set: orders about one process, and what suspend.c shares of them. */
#include <errno.h>
#include <getopt.h>
#include <jansson.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "channel/protocol.h"
#include "scheduler/cli/ask.h"
#include "scheduler/cli/holders.h"
#include "scheduler/cli/orders.h"
#include "scheduler/lib/kfdsched.h"

/* --for and its number. */
static int read_seconds(const struct verb *verb, const char *text, unsigned *out)
{
	char *end;
	long n = strtol(text, &end, 10);

	if (end == text || *end != '\0' || n < 1 || n > PROTOCOL_LEASE_MAX_S)
		return cli_usage(verb, "--for is 1 to %u seconds, not '%s'", PROTOCOL_LEASE_MAX_S,
				 text);
	*out = (unsigned)n;
	return ASK_GO_ON;
}

static int read_option(const struct verb *verb, int option, char **argv, struct order *out)
{
	switch (option) {
	case 'f':
		return read_seconds(verb, optarg, &out->seconds);
	case 'q':
		out->queues = optarg;
		break;
	case 'j':
		out->json = true;
		break;
	case 's':
		out->socket = optarg;
		break;
	case 'h':
		return cli_help(verb);
	default:
		return cli_usage_getopt(verb, option, argv);
	}
	return ASK_GO_ON;
}

int order_parse(const struct verb *verb, int argc, char **argv, int words, struct order *out)
{
	static const struct option options[] = {
		{"for", required_argument, NULL, 'f'}, /* first two: one verb has them */
		{"queues", required_argument, NULL, 'q'},
		{"json", no_argument, NULL, 'j'},
		{"socket", required_argument, NULL, 's'},
		{"help", no_argument, NULL, 'h'},
		{0},
	};
	const struct option *known = verb == &verb_suspend ? options : options + 2;
	int option, code;

	*out = (struct order){.socket = ask_socket()};
	opterr = 0;
	while ((option = getopt_long(argc, argv, ":h", known, NULL)) != -1) {
		code = read_option(verb, option, argv, out);
		if (code != ASK_GO_ON)
			return code;
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
	out->daemon = kfdsched_open(out->socket);
	return out->daemon ? ASK_GO_ON : cli_failed(verb, "no memory");
}

int order_print_json(const struct verb *verb, int pid, const char *answer, json_t *more)
{
	json_t *root = json_pack("{ss sI}", "order", verb->name, "pid", (json_int_t)pid);
	bool whole = root && (!more || json_object_update(root, more) == 0) &&
		     json_object_set_new(root, "answer", json_string(answer)) == 0 &&
		     json_dumpf(root, stdout, JSON_INDENT(2)) == 0;

	json_decref(more);
	json_decref(root);
	if (!whole)
		return cli_failed(verb, "it is done, but no memory to tell it as JSON");
	putchar('\n');
	fflush(stdout);
	return CLI_DONE;
}

int order_tell(const struct verb *verb, const struct order *order, int rc)
{
	if (rc < 0)
		return cli_failed(verb, "%s", kfdsched_sentence(order->daemon));
	puts(kfdsched_sentence(order->daemon));
	return CLI_DONE;
}

int order_tell_done(const struct verb *verb, const struct order *order, int rc, json_t *more)
{
	if (rc >= 0 && order->json)
		return order_print_json(verb, order->pid, kfdsched_sentence(order->daemon), more);
	json_decref(more);
	return order_tell(verb, order, rc);
}

/* -ESRCH is also what a process without a number is answered, and it has none here. */
bool order_has_no_daemon(int rc, int pid)
{
	return rc == -ENOENT || rc == -ECONNREFUSED || (rc == -ESRCH && kill(pid, 0) == 0) ||
	       (rc == -ESRCH && errno == EPERM);
}

/* ---- resume ---- */

/* No daemon has suspended it: is it held by a command in the foreground? */
static int tell_holder(const struct order *order)
{
	char sentence[512];
	struct holder holder;

	snprintf(sentence, sizeof(sentence), "%s", kfdsched_sentence(order->daemon));
	if (!holder_find(order->pid, &holder))
		return cli_failed(&verb_resume,
				  "%s; and no 'kfdsched suspend' here holds process %d", sentence,
				  order->pid);
	return cli_failed(&verb_resume,
			  "process %d is held by 'kfdsched %s' in the foreground (process %d): end "
			  "that with Ctrl-C or 'kill %d'",
			  order->pid, holder.verb, (int)holder.pid, (int)holder.pid);
}

static int run_resume(int argc, char **argv)
{
	struct order order;
	int code = order_parse(&verb_resume, argc, argv, 0, &order), rc;

	if (code != ASK_GO_ON)
		return code;
	rc = kfdsched_resume(order.daemon, order.pid);
	if (order_has_no_daemon(rc, order.pid))
		code = tell_holder(&order);
	else
		code = order_tell_done(&verb_resume, &order, rc, NULL);
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
		"daemon's admin_group. Where no daemon has the process it says which 'kfdsched "
		"suspend'\n"
		"holds it: that one is ended.\n"
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
	int code = order_parse(&verb_set, argc, argv, 1, &order), priority;

	if (code != ASK_GO_ON)
		return code;
	if (read_priority(order.word, &priority))
		code = cli_usage(&verb_set,
				 "a priority is online, offline, 0 to 15, none or own, not '%s'",
				 order.word);
	else
		code = order_tell_done(&verb_set, &order,
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

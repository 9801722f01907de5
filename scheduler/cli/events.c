// SPDX-License-Identifier: MIT
/* kfdsched events: what the daemon does, as it happens. */
#include <errno.h>
#include <getopt.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "scheduler/cli/ask.h"
#include "scheduler/cli/cli.h"
#include "scheduler/cli/field.h"
#include "scheduler/cli/table.h"
#include "scheduler/lib/kfdsched.h"

/* How long a daemon may take to come back. */
#define COMES_BACK_TRIES 30
#define TRY_NS 100000000

struct options {
	const char *socket;
	bool json;
	unsigned long count; /* 0: without end */
};

static int parse(int argc, char **argv, struct options *out)
{
	static const struct option options[] = {
		{"json", no_argument, NULL, 'j'},
		{"count", required_argument, NULL, 'n'},
		{"socket", required_argument, NULL, 's'},
		{"help", no_argument, NULL, 'h'},
		{0},
	};
	char *end;
	int option;

	*out = (struct options){.socket = ask_socket()};
	opterr = 0;
	while ((option = getopt_long(argc, argv, ":h", options, NULL)) != -1) {
		switch (option) {
		case 'j':
			out->json = true;
			break;
		case 'n':
			out->count = strtoul(optarg, &end, 10);
			if (optarg[0] < '0' || optarg[0] > '9' || *end || !out->count)
				return cli_usage(&verb_events,
						 "--count is a number of events, not '%s'", optarg);
			break;
		case 's':
			out->socket = optarg;
			break;
		case 'h':
			return cli_help(&verb_events);
		default:
			return cli_usage_getopt(&verb_events, option, argv);
		}
	}
	if (optind < argc)
		return cli_usage(&verb_events, "'%s' is one argument too many", argv[optind]);
	return ASK_GO_ON;
}

static void print_time(const json_t *event)
{
	json_int_t us = json_integer_value(json_object_get(event, "time_us"));
	time_t s = (time_t)(us / 1000000);
	struct tm tm;
	char text[32];

	localtime_r(&s, &tm);
	strftime(text, sizeof(text), "%H:%M:%S", &tm);
	printf("%s.%06lld", text, (long long)(us % 1000000));
}

/* Whatever else an event has, as word=value, in the daemon's order. */
static void print_rest(json_t *event)
{
	static const char *const said[] = {"number", "time_us", "kind", "pid", "comm"};
	const char *key;
	json_t *value;

	json_object_foreach(event, key, value)
	{
		bool skip = json_is_null(value) ||
			    (json_is_string(value) && !json_string_value(value)[0]);
		char *text;

		for (size_t i = 0; i < sizeof(said) / sizeof(said[0]); i++)
			skip = skip || strcmp(key, said[i]) == 0;
		if (skip)
			continue;
		text = json_dumps(value, JSON_COMPACT | JSON_ENCODE_ANY | JSON_ENSURE_ASCII);
		printf(" %s=%s", key, text ? text : "?");
		free(text);
	}
}

static void print_event(const char *text, bool as_json)
{
	json_t *event;
	char pid[FIELD_BYTES];

	if (as_json) {
		puts(text);
		return;
	}
	event = json_loads(text, 0, NULL);
	print_time(event);
	printf(" %s", field_text(event, "kind"));
	if (json_object_get(event, "pid"))
		printf(" process %s (%s)", field_integer(pid, event, "pid"),
		       field_text(event, "comm"));
	print_rest(event);
	putchar('\n');
	json_decref(event);
}

/* The stream again, after the daemon has gone: it may only have been its worker. */
static int again(struct kfdsched *daemon)
{
	const struct timespec nap = {.tv_nsec = TRY_NS};
	int fd = -ECONNRESET;

	for (int i = 0; fd < 0 && i < COMES_BACK_TRIES; i++) {
		nanosleep(&nap, NULL);
		fd = kfdsched_events(daemon);
	}
	if (fd >= 0)
		fprintf(stderr, "kfdsched events: the daemon was gone; what happened meanwhile is "
				"not told\n");
	return fd;
}

static int follow(struct kfdsched *daemon, const struct options *options)
{
	char text[KFDSCHED_EVENT_BYTES + 1];
	int fd = kfdsched_events(daemon);
	ssize_t n;

	for (unsigned long i = 0; fd >= 0 && (!options->count || i < options->count);) {
		n = kfdsched_next_event(daemon, fd, text, sizeof(text), -1);
		if (n == -EAGAIN)
			continue;
		if (n < 0) {
			close(fd);
			fd = again(daemon);
			continue;
		}
		print_event(text, options->json);
		i++;
		if (fflush(stdout) != 0)
			break;
	}
	if (fd < 0)
		return cli_failed(&verb_events, "%s", kfdsched_sentence(daemon));
	close(fd);
	return CLI_DONE;
}

static int run(int argc, char **argv)
{
	struct kfdsched *daemon;
	struct options options;
	int code = parse(argc, argv, &options);

	if (code != ASK_GO_ON)
		return code;
	daemon = kfdsched_open(options.socket);
	if (!daemon)
		return cli_failed(&verb_events, "no memory");
	code = follow(daemon, &options);
	kfdsched_close(daemon);
	return code;
}

const struct verb verb_events = {
	.name = "events",
	.summary = "what the daemon does and why, as it happens",
	.usage = "[--json] [--count N] [--socket PATH]",
	.help = "Prints one line for each suspension and resumption (its reason, who caused it, on "
		"which\n"
		"node, how long after the cause, how long it took), each process that comes and "
		"goes,\n"
		"each change of a priority or a policy with who made it. Who reads too slowly is "
		"told how\n"
		"many were lost.\n"
		"\n"
		"  --json         one JSON object a line (docs/formats.md)\n"
		"  --count N      ends after so many\n"
		"  --socket PATH  where the daemon listens; without it KFDSHIM_SOCKET, or\n"
		"                 /run/kfdsched/socket\n"
		"\n"
		"Examples:\n"
		"  kfdsched events\n"
		"  kfdsched events --json | jq 'select(.kind == \"suspend\") | [.pid, .cause_pid, "
		".latency_us]'\n",
	.run = run,
};

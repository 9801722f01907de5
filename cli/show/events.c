// SPDX-License-Identifier: MIT
/* kfdsched events: prints what the daemon has done and why, with --follow also new events. */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "cli/util/event_text.h"
#include "cli/util/gpus.h"
#include "cli/util/interrupt.h"
#include "cli/util/parse_options.h"
#include "common/allocate.h"
#include "common/clock.h"
#include "common/wait.h"
#include "include/kfdsched.h"

/* Number of attempts to reconnect to a restarted daemon, and the time between them; 3 s in
 * total. */
#define COMES_BACK_TRIES 30
#define TRY_NS 100000000u

struct events_options {
	const char *socket;
	bool json, follow;
	unsigned long count; /* with follow: end after this number of events; 0: no limit */
	unsigned long last;  /* maximum number of stored events to print */
};

/* Parses the arguments. Returns CLI_GO_ON or the exit code. */
static int parse(int argc, char **argv, struct events_options *out)
{
	const struct cli_option options[] = {
		{OPTION_FLAG("follow", &out->follow), .letter = 'f'},
		{OPTION_COUNT("last", &out->last, 0, LONG_MAX, "a number of events")},
		{OPTION_COUNT("count", &out->count, 1, LONG_MAX, "a number of events"),
		 .letter = 'n'},
		{OPTION_JSON(&out->json)},
		{OPTION_SOCKET(&out->socket)},
		{0},
	};
	int code = options_read(&cmd_events, argc, argv, options);

	if (code == CLI_GO_ON && out->count && !out->follow)
		return cli_usage(&cmd_events, "--count ends --follow; without it --last N prints "
					      "the last N");
	return code;
}

static bool listed(const json_t *gpus, const struct gpu_name *name)
{
	const json_t *gpu;
	size_t i;

	json_array_foreach(gpus, i, gpu)
	{
		if (json_integer_value(json_object_get(gpu, "gpu_id")) == name->gpu_id)
			return true;
	}
	return false;
}

/* Adds the key "gpus" with the names of the GPUs whose gpu_ids the event has. Adds nothing if the
 * event has no gpu_id. */
static void add_gpus(json_t *event)
{
	static const char *const keys[] = {"gpu_id", "cause_gpu_id"};
	json_t *ids = json_deep_copy(json_object_get(event, "gpu_ids")), *list = json_array();
	const json_t *id;
	size_t i;

	ids = ids ? ids : json_array();
	for (i = 0; i < 2; i++)
		if (json_is_integer(json_object_get(event, keys[i])))
			json_array_append(ids, json_object_get(event, keys[i]));
	json_array_foreach(ids, i, id)
	{
		const struct gpu_name *name = gpus_name((uint32_t)json_integer_value(id));

		if (name && !listed(list, name))
			json_array_append_new(list, gpus_entry(name));
	}
	if (json_array_size(ids) || json_object_get(event, "gpu_ids"))
		json_object_set(event, "gpus", list);
	json_decref(list);
	json_decref(ids);
}

/* Prints one event as a line. Returns false if stdout cannot be written any more. */
static bool print_event(json_t *event, bool as_json)
{
	char text[EVENT_TEXT], time[EVENT_TIME];
	char *line;

	if (as_json) {
		add_gpus(event);
		line = json_dumps(event, JSON_COMPACT | JSON_ENSURE_ASCII);
		if (line)
			puts(line);
		free(line);
	} else {
		printf("%s %s\n", event_time(time, event), event_text(text, event));
	}
	return fflush(stdout) == 0;
}

/* Prints the last options->last of the events that the daemon stores. If `before` is not 0, only
 * events with a smaller number than `before` count. Adds the number of printed events to *count,
 * and stops when it reaches options->count. Returns 0 or an error that kfdsched_errmsg()
 * describes. */
static int print_recent(struct kfdsched *daemon, const struct events_options *options,
			json_int_t before, unsigned long *count)
{
	char *text = NULL;
	int rc = kfdsched_recent_events(daemon, &text);
	json_t *list = rc ? NULL : json_loads(text, 0, NULL);
	size_t end = json_array_size(list), first;

	free(text);
	while (before && end > 0 &&
	       json_integer_value(json_object_get(json_array_get(list, end - 1), "number")) >=
		       before)
		end--;
	first = end > options->last ? end - options->last : 0;
	for (size_t i = first; i < end && (!options->count || *count < options->count); i++) {
		++*count;
		if (!print_event(json_array_get(list, i), options->json))
			break;
	}
	json_decref(list);
	return rc;
}

/* Connects to the event stream again after it has ended: possibly only the daemon's worker was
 * restarted. Returns the fd, or a negative errno if no daemon replied in time or a signal stopped
 * the command. */
static int again(struct kfdsched *daemon)
{
	int fd = -ECONNRESET;

	for (int i = 0; fd < 0 && i < COMES_BACK_TRIES; i++) {
		if (stop_sleep_until(clock_ns() + TRY_NS))
			return fd;
		fd = kfdsched_events(daemon);
	}
	if (fd >= 0)
		fprintf(stderr, "kfdsched events: the daemon was not running for a time, whose "
				"events are missing\n");
	return fd;
}

/* Waits for the next event. Returns the event, or NULL with *error. *error is -EINTR if a signal
 * stops the command or the reader of stdout is gone. */
static json_t *next(struct kfdsched *daemon, int fd, int *error)
{
	char text[KFDSCHED_EVENT_BYTES + 1];
	struct pollfd p[3] = {
		{.fd = fd, .events = POLLIN},
		{.fd = stop_fd(), .events = POLLIN},
		{.fd = STDOUT_FILENO}}; /* POLLERR or POLLHUP: the reader or terminal is gone */
	json_t *event = NULL;
	ssize_t n;

	do {
		*error = poll_until_ns(p, 3, WAIT_FOREVER);
		if (*error < 0)
			return NULL;
		if (p[1].revents || p[2].revents) {
			*error = -EINTR;
			return NULL;
		}
		n = kfdsched_next_event(daemon, fd, text, sizeof(text), 0);
		if (n > 0)
			event = json_loads(text, 0, NULL);
	} while (n == -EAGAIN || n == -EMSGSIZE || (n > 0 && !event));
	*error = n > 0 ? 0 : (int)n;
	return event;
}

/* Prints events as they happen. Returns the exit code. */
static int follow(struct kfdsched *daemon, const struct events_options *options)
{
	unsigned long count = 0;
	bool first = options->last > 0, open = true;
	int fd = kfdsched_events(daemon), error = 0;

	while (fd >= 0 && open && (!options->count || count < options->count)) {
		json_t *event = next(daemon, fd, &error);

		if (error == -EINTR)
			break;
		if (!event) {
			close(fd);
			fd = again(daemon);
			continue;
		}
		/* Print the stored events now, up to the number of the stream's first event, so
		 * that none is missing and none is printed twice. */
		if (first)
			error = print_recent(daemon, options,
					     json_integer_value(json_object_get(event, "number")),
					     &count);
		first = false;
		if (!error && (!options->count || count < options->count)) {
			open = print_event(event, options->json);
			count++;
		}
		json_decref(event);
		if (error) {
			close(fd);
			fd = error;
		}
	}
	if (fd >= 0)
		close(fd);
	else if (!stop_requested())
		return cli_failed(&cmd_events, "%s", kfdsched_errmsg(daemon));
	return CLI_DONE;
}

static int run(int argc, char **argv)
{
	struct kfdsched *daemon;
	struct events_options options = {.last = ULONG_MAX};
	unsigned long count = 0;
	int code = parse(argc, argv, &options);

	if (code != CLI_GO_ON)
		return code;
	daemon = allocated(kfdsched_open(options.socket));
	if (!options.follow)
		code = print_recent(daemon, &options, 0, &count)
			       ? cli_failed(&cmd_events, "%s", kfdsched_errmsg(daemon))
			       : CLI_DONE;
	else
		code = stop_begin(&cmd_events) ? CLI_FAILED : follow(daemon, &options);
	kfdsched_close(daemon);
	return code;
}

const struct cli_command cmd_events = {
	.name = "events",
	.summary = "print what the daemon did and why; with --follow as it happens",
	.usage = "[--follow] [--last N] [--count N] [--json] [--socket PATH]",
	.help = "Prints the last events that the daemon stores (at most 256, since its worker was started),\n"
		"one per line: each suspend and resume with its reason, the process that caused it, the GPU,\n"
		"the time after the cause and the duration; each process that registers or ends; each change\n"
		"of a level, priority or policy, and the process that requested it.\n"
		"\n"
		"  -f, --follow   then prints new events until Ctrl-C; if they are not read fast enough, the\n"
		"                 number of lost events is printed\n"
		"  --last N       prints only the last N stored events; 0 with --follow: none\n"
		"  -n, --count N  with --follow: ends after N events\n"
		"  --json         one JSON object per line (docs/reference/events.md)\n" HELP_SOCKET
		"\n"
		"Examples:\n"
		"  kfdsched events --last 20\n"
		"  kfdsched events --follow --json | jq 'select(.kind == \"suspend\") | [.pid, .latency_us]'\n",
	.run = run,
};

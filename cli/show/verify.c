// SPDX-License-Identifier: MIT
/* kfdsched verify: compares the queues that the sources report. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/show/verify_output.h"
#include "cli/util/parse_options.h"
#include "cli/util/select_process.h"
#include "common/wait.h"

/* Sources are read one after the other, and some of them lag. Differences are therefore checked
 * again, each time after twice as long, and count only if they persist. */
#define SAMPLES 5
#define PAUSE_MS 50

/* Default sources: all that list queues, except the debug session (--trap). */
static const unsigned queried = OBSERVE_BIT(OBSERVE_DAEMON) | OBSERVE_BIT(OBSERVE_SHM) |
				OBSERVE_BIT(OBSERVE_SYSFS) | OBSERVE_BIT(OBSERVE_MQD) |
				OBSERVE_BIT(OBSERVE_HQD);

struct job {
	int pid;
	bool trap, json;
	const char *socket;
};

static int sample_once(struct observer *observer, struct verified *v)
{
	int r = observe_sample(observer, &v->seen);

	v->samples++;
	return r ? r : verify_compare(&v->seen, v->gpus, v->n_gpus, &v->verify);
}

/* Samples until the sources agree, at most LOOKS times. Returns 0 or a negative errno. */
static int inspect(const struct job *job, struct verified *v)
{
	const struct observe_options options = {
		.pid = job->pid,
		.socket = job->socket,
		.sources = queried | (job->trap ? OBSERVE_BIT(OBSERVE_TRAP) : 0),
	};
	struct observer *observer = observe_open(&options);
	struct verify before = {0};
	int r = observer ? sample_once(observer, v) : -ENOMEM;

	for (long ms = PAUSE_MS; !r && v->verify.differences && v->samples < SAMPLES; ms *= 2) {
		verify_free(&before);
		before = v->verify;
		v->verify = (struct verify){0};
		sleep_ns(ms * 1000000ull);
		r = sample_once(observer, v);
		if (!r)
			verify_keep(&v->verify, &before);
	}
	verify_free(&before);
	observe_close(observer);
	v->ratios = ratio_of_observation(&v->seen, v->gpus, v->n_gpus, v->ratio, TOPOLOGY_GPUS,
					 &v->all);
	return r;
}

/* Reports why no source has listed a queue. Returns CLI_IMPOSSIBLE. */
static int has_no_source(const struct verified *v)
{
	bool first = true;

	fprintf(stderr,
		"kfdsched verify: process %d (%s): no source reports queues:", (int)v->identity.pid,
		v->identity.comm);
	FOR_VERIFIED (s) {
		const struct observe_result *result = &v->seen.result[s];

		if (!result->queried || !result->error)
			continue;
		fprintf(stderr, "%s %s: %s", first ? "" : ";", observe_source_name(s), result->why);
		first = false;
	}
	fputs(first ? " the process has none\n" : "\n", stderr);
	return CLI_IMPOSSIBLE;
}

/* Exit code 1 means a difference. Everything that prevents an answer is CLI_IMPOSSIBLE. */
static int cannot_know(const struct job *job, const char *what, int error)
{
	cli_failed(&cmd_verify, "cannot %s process %d: %s", what, job->pid, strerror(-error));
	return CLI_IMPOSSIBLE;
}

static int verify(const struct job *job, struct verified *v)
{
	int r;

	if (select_process(&cmd_verify, job->pid, &v->identity) != CLI_GO_ON)
		return CLI_IMPOSSIBLE;
	if (job->trap)
		cli_warn_session(&cmd_verify, job->pid);
	v->n_gpus = topology_gpus(v->gpus, TOPOLOGY_GPUS);
	r = inspect(job, v);
	if (r)
		return cannot_know(job, "read", r);
	if (!v->verify.rows)
		return has_no_source(v);
	r = job->json ? verify_print_json(v) : verify_print(v);
	if (r)
		return cannot_know(job, "print", r);
	switch (verify_verdict(&v->verify)) {
	case VERIFY_AGREE:
		return CLI_DONE;
	case VERIFY_DIFFER:
		return CLI_FAILED;
	default:
		return CLI_IMPOSSIBLE;
	}
}

static int run(int argc, char **argv)
{
	struct job job = {0};
	const struct cli_option options[] = {
		{OPTION_FLAG("trap", &job.trap)},
		{OPTION_JSON(&job.json)},
		{OPTION_SOCKET(&job.socket)},
		{WORD_PID(&job.pid)},
		{0},
	};
	struct verified *v;
	int code = options_read(&cmd_verify, argc, argv, options);

	if (code != CLI_GO_ON)
		return code;
	v = calloc(1, sizeof(*v));
	if (!v)
		return cannot_know(&job, "read", -ENOMEM);
	code = verify(&job, v);
	observation_free(&v->seen);
	verify_free(&v->verify);
	free(v);
	return code;
}

const struct cli_command cmd_verify = {
	.name = "verify",
	.summary = "check that all sources report the same queues of a process",
	.usage = "PID [--trap] [--json] [--socket PATH]",
	.help = "Reads the queues of PID from every source and compares them: the daemon, the shared memory\n"
		"of the shim (shm), sysfs, and the MQDs and hardware slots (HQDs) in debugfs. Prints the\n"
		"number of queues in each, the number of active slots of a queue (as many as its node has\n"
		"XCCs), and whether the sources agree: on the list of queues, and on each value that more\n"
		"than one source reports. A difference is read again before it counts. A queue without a slot\n"
		"is no difference: it is suspended, evicted or waits. debugfs needs root.\n"
		"\n"
		"  --trap         also reads the driver's snapshot, by a debug session that is opened for it:\n"
		"                 " CLI_SESSION_DANGER ";\n"
		"                 it interrupts all work on those GPUs for a moment, and is not possible\n"
		"                 if the daemon or a debugger has a session on the process\n"
		"  --json         one object; docs/reference/processes.md describes the keys\n"
		"  --socket PATH  where the daemon listens; without it KFDSHIM_SOCKET, or\n"
		"                 /run/kfdsched/socket\n"
		"\n"
		"Examples:\n"
		"  kfdsched verify 4711\n"
		"  sudo kfdsched verify 4711 --trap --json | jq .verdict\n",
	.exits =
		"0 the sources agree, 1 they differ, 2 usage error, 77 not known, because fewer than two\nsources have data or there is no such process.",
	.run = run,
};

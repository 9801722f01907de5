// SPDX-License-Identifier: MIT
/*
 * kfdsched record: records the queues of a command, from before its start until after its end, and
 * its output, in one directory.
 */
#include "cli/record/record.h"

#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "cli/util/gpus.h"
#include "cli/util/interrupt.h"
#include "cli/util/parse_options.h"
#include "cli/util/subprocess.h"
#include "common/allocate.h"
#include "common/clock.h"
#include "common/json_util.h"
#include "common/wait.h"
#include "kfd/device.h"

#define PROCESSES 1024u
/* Maximum time from the end of the command until the driver no longer lists its processes. The
 * driver notices the end of a process late. */
#define GONE_NS UINT64_C(2000000000)

struct session {
	const struct record_options *options;
	struct recorder *recorder;
	struct child_output output;
	struct snapshot_reader *reader;
	uint64_t began_ns;
	struct sample_task task; /* while the command runs */
	char why[RECORDING_WHY];
	bool has_failed; /* the recording could not be written */
	int taken;	 /* samples while the command ran */
	size_t most;	 /* highest number of queues in a sample */
};

static double seconds_now(const struct session *s)
{
	return (double)((clock_ns() - s->began_ns) / 1000) / 1e6;
}

/* ---- one sample ---- */

/* Writes to `out` the pids of the command's processes that use a GPU: descendants of this process,
 * also those that have the device open but no queue yet. Returns their number. */
static size_t list_descendants(const struct session *s, pid_t *out)
{
	int n = descendants_of(getpid(), out, PROCESSES);
	struct gpu_processes users;
	size_t n_valid = 0;

	gpu_processes_read(OBSERVE_ALL, s->options->socket, &users);
	for (int i = 0; i < n; i++)
		if (gpu_processes_has(&users, out[i]) ||
		    kfd_device_opened_by(out[i], UINT_MAX) == 1)
			out[n_valid++] = out[i];
	gpu_processes_free(&users);
	return n_valid;
}

/* Appends the processes of the snapshot that have not ended to the JSON array `out`. Returns the
 * number of their queues. */
static size_t append_processes(const struct snapshot *snapshot, json_t *out)
{
	size_t queues = 0;

	for (size_t i = 0; i < snapshot->count; i++) {
		struct recorded_process process;

		if (snapshot->processes[i]->ended)
			continue;
		process = recorded_from(snapshot->processes[i]);
		json_array_append_new(out, recorded_process_json(&process));
		queues += process.queues.count;
	}
	return queues;
}

/* Takes one sample and records it as one of phase `phase`. If `own` is true, the sample has the
 * command's processes. Otherwise it has all processes that use a GPU. After a write error
 * s->has_failed is set, and no more samples are taken. */
static void sample(struct session *s, const char *phase, bool own)
{
	json_t *processes = json_array();
	pid_t pids[PROCESSES];
	double seconds = seconds_now(s);
	const struct snapshot_request request = {
		.pids = own ? pids : NULL,
		.count = own ? list_descendants(s, pids) : 0,
		.listed_now = true,
		.sources = OBSERVE_ALL,
	};
	size_t queues = append_processes(snapshot_read(s->reader, &request), processes);
	size_t seen = json_array_size(processes);

	if (recorder_sample(s->recorder, phase, seconds, processes,
			    snapshot_raw(s->reader, OBSERVE_MQD),
			    snapshot_raw(s->reader, OBSERVE_HQD), s->why)) {
		s->has_failed = true;
		cli_failed(&cmd_record,
			   "%s; the samples recorded before are kept, and the command continues",
			   s->why);
		return;
	}
	if (queues > s->most && own)
		s->most = queues;
	s->taken += own;
	fprintf(stderr, "%s: [%3.0fs] %s: %zu process%s, %zu queue%s\n", s->options->prefix,
		seconds, own ? "sample" : phase, seen, seen == 1 ? "" : "es", queues,
		queues == 1 ? "" : "s");
}

/* ---- course of a recording ---- */

static json_t *command_json(char **command)
{
	json_t *list = json_array();

	for (; *command; command++) {
		json_t *word = json_string(*command);

		json_array_append_new(list, word ? word : json_string("?"));
	}
	return list;
}

static int open_dir(struct session *s)
{
	json_t *sources = json_array();

	for (enum observe_source o = OBSERVE_NO_SOURCE + 1; o < OBSERVE_SOURCES; o++)
		if (o != OBSERVE_TRAP) /* OBSERVE_ALL has all sources but this one */
			json_array_append_new(sources, json_string(observe_source_name(o)));
	json_t *head = json_pack("{s:s,s:n,s:n,s:o,s:I,s:o,s:o}", "made_by", "record", "pid",
				 "comm", "command", command_json(s->options->command),
				 "interval_us", (json_int_t)s->options->interval_us, "sources",
				 sources, "gpu_processes", gpu_users_now(s->options->socket));
	int rc = recorder_open(s->options->dir, head, s->reader, &s->recorder, s->why);

	json_decref(head);
	return rc ? cli_failed(&cmd_record, "%s", s->why) : CLI_DONE;
}

static int start(struct session *s)
{
	int out = recorder_file(s->recorder, "stdout.txt", s->why);
	int err = out < 0 ? -1 : recorder_file(s->recorder, "stderr.txt", s->why);

	if (err < 0) {
		if (out >= 0)
			close(out);
		return cli_failed(&cmd_record, "%s", s->why);
	}
	int rc = child_output_start(&s->output, s->options->command, out, err,
				    s->options->to_stderr ? STDERR_FILENO : STDOUT_FILENO,
				    STDERR_FILENO);

	if (rc)
		return cli_failed(&cmd_record, "cannot start '%s': %s", s->options->command[0],
				  strerror(-rc));
	return CLI_DONE;
}

static void sample_command(void *context)
{
	struct session *s = context;

	sample(s, "sample", true);
	s->task.over = s->has_failed;
}

static bool wait_for_command(void *output, uint64_t until_ns)
{
	return child_output_wait(output, until_ns);
}

/* Takes the samples while the command runs, then waits for its end or for a request to stop. */
static void follow(struct session *s)
{
	struct sample_loop loop = {
		.tasks = {&s->task}, .count = 1, .wait = wait_for_command, .context = &s->output};

	sample_task_begin(&s->task, s->options->interval_us, sample_command, s);
	s->task.next = 1;
	s->task.last = s->options->samples;
	sample_loop_run(&loop);
	child_output_wait(&s->output, UINT64_MAX);
}

/* Waits until the driver no longer lists a process that has ended, but at most GONE_NS, so that the
 * final sample has no stale processes. */
static void wait_until_gone(const struct session *s)
{
	uint64_t end = clock_ns() + GONE_NS;
	bool there = true;

	while (there && clock_ns() < end) {
		struct gpu_processes users;

		gpu_processes_read(OBSERVE_ALL, s->options->socket, &users);
		there = false;
		for (size_t i = 0; i < users.count; i++) {
			struct proc_stat stat;

			there = there || !proc_stat(users.pid[i], &stat) || stat.state == 'Z';
		}
		gpu_processes_free(&users);
		if (there)
			sleep_ns(50000000);
	}
}

static json_t *end_json(const struct session *s, bool stopped)
{
	bool exited = WIFEXITED(s->output.status);

	return json_pack("{s:s,s:o,s:o}", "reason", stopped ? "stopped" : "done", "exit_code",
			 json_number(exited, WEXITSTATUS(s->output.status)), "signal",
			 json_number(!exited, WTERMSIG(s->output.status)));
}

/* Writes the last line of the recording: how the command ended, and which processes use a GPU
 * now. */
static void complete(struct session *s, bool stopped)
{
	json_t *end = end_json(s, stopped);

	json_object_set_new(end, "gpu_processes", gpu_users_now(s->options->socket));
	if (recorder_end(s->recorder, end, s->why) == 0)
		return;
	s->has_failed = true;
	cli_failed(&cmd_record, "%s", s->why);
}

/* Prints the summary: a line on stderr, with --json also an object on stdout. */
static void print_end(const struct session *s, bool stopped)
{
	const struct record_options *options = s->options;
	char how[64];

	fprintf(stderr, "%s: the command %s%s; %d sample%s%s%s%s\n", options->prefix,
		child_end_text(s->output.status, how),
		stopped ? ", because it was interrupted" : "", s->taken, s->taken == 1 ? "" : "s",
		options->temporary ? "" : " in ", options->temporary ? "" : options->dir,
		s->taken == 0 ? ", because it ended before the first one was due: use a shorter "
				"--interval"
		: options->temporary ? ""
				     : "; summarize them with 'kfdsched analyze'");
	if (s->output.lost)
		fprintf(stderr,
			"%s: the directory does not have all of its output, because it could not "
			"be written\n",
			options->prefix);
	if (!options->json)
		return;
	json_t *out = end_json(s, stopped);
	json_t *dir = json_string(options->dir);

	json_object_set_new(out, "recorded_in", dir ? dir : json_null());
	json_object_set_new(out, "command", command_json(options->command));
	json_object_set_new(out, "samples", json_integer(s->taken));
	json_object_set_new(out, "most_queues", json_number(s->taken, (int64_t)s->most));
	json_object_set_new(out, "seconds", json_real(seconds_now(s)));
	json_object_set_new(out, "complete", json_boolean(!s->has_failed && !s->output.lost));
	json_object_set_new(out, "gpus", gpus_json());
	render_print(out, JSON_INDENT(2) | JSON_REAL_PRECISION(9));
}

int record_command(const struct record_options *options)
{
	struct session *s = allocate(1, sizeof(*s));
	int code;

	s->options = options;
	s->began_ns = clock_ns();
	s->reader = snapshot_open(options->socket);
	code = stop_begin(&cmd_record) ? CLI_FAILED : open_dir(s);
	if (code == CLI_DONE) {
		sample(s, "baseline", false);
		code = s->has_failed ? CLI_FAILED : start(s);
	}
	if (code == CLI_DONE) {
		follow(s);
		bool stopped = stop_requested();

		child_output_stop(&s->output);
		child_output_finish(&s->output);
		if (!s->has_failed) {
			wait_until_gone(s);
			sample(s, "final", false);
		}
		if (!s->has_failed)
			complete(s, stopped);
		print_end(s, stopped);
		/* If the user has stopped the command, its exit code is ignored. */
		if (s->has_failed || s->output.lost)
			code = CLI_FAILED;
		else if (!stopped)
			code = cli_exit_code(s->output.status);
	}
	snapshot_close(s->reader);
	recorder_close(s->recorder);
	free(s);
	return code;
}

/* ---- options ---- */

/* Writes a name for a directory, made from the current time ("record-20260102-150405"), to `text`.
 * Returns `text`. */
static const char *default_dir(char text[64])
{
	time_t now = clock_timespec(clock_of(CLOCK_REALTIME)).tv_sec;
	struct tm local;

	localtime_r(&now, &local);
	strftime(text, 64, "record-%Y%m%d-%H%M%S", &local);
	return text;
}

static int run(int argc, char **argv)
{
	struct record_options wanted = {
		.samples = 10, .interval_us = 10e6, .prefix = "kfdsched record"};
	const struct cli_option options[] = {
		{OPTION_COUNT("samples", &wanted.samples, 1, RECORD_SAMPLES_MAX, "1 to 1000000")},
		{OPTION_SECONDS("interval", &wanted.interval_us, RECORD_INTERVAL_MIN_US,
				RECORD_INTERVAL_MAX_US,
				"seconds, or a time such as 100ms, of 1ms to a day")},
		{OPTION_NAME("output", &wanted.dir, PATH_MAX, "a folder"), .letter = 'o'},
		{OPTION_JSON(&wanted.json)},
		{OPTION_SOCKET(&wanted.socket)},
		{0},
	};
	int code = options_before_command(&cmd_record, argc, argv, options, &wanted.command);
	char dir[64];

	if (code != CLI_GO_ON)
		return code;
	if (!*wanted.command)
		return cli_usage(&cmd_record, "no command");
	if (!wanted.dir)
		wanted.dir = default_dir(dir);
	/* With --json, stdout is reserved for the JSON object. */
	wanted.to_stderr = wanted.json;
	return record_command(&wanted);
}

const struct cli_command cmd_record = {
	.name = "record",
	.summary = "run a command, and record its queues and its output",
	.usage = "[--samples 10] [--interval 10] [-o DIR] [--json] -- COMMAND [ARGUMENT]...",
	.help = "Runs COMMAND and records in a new directory: the processes that used a GPU before it began;\n"
		"samples of the queues of every process that it started and that uses a GPU, with the raw\n"
		"text of debugfs if it is readable; the processes that use a GPU after its end; and its\n"
		"output, which is also printed. It runs without libkfdshim.so unless that is preloaded\n"
		"(kfdsched run). Ctrl-C ends the command; the recording is kept. Processes that another\n"
		"program starts for it, such as a container engine, are not included: use kfdsched watch.\n"
		"\n"
		"  --samples 10     the highest number of samples; then waits for the end of the command\n"
		"  --interval 10    seconds between samples, or a time such as 100ms\n"
		"  -o, --output DIR default: record-DATE-TIME in the working directory\n"
		"  --json           one object at the end on stdout, and the output of the command is not\n"
		"                   printed there; docs/reference/recordings.md describes the keys\n"
		"  --socket PATH    where the daemon listens; without it KFDSHIM_SOCKET, or\n"
		"                   /run/kfdsched/socket\n"
		"\n"
		"Examples:\n"
		"  kfdsched record -o run1 -- python3 train.py\n"
		"  kfdsched record --interval 1 --samples 60 -o run2 -- kfdsched run --priority offline -- ./serve\n",
	.exits =
		"that of COMMAND, 128 + N if signal N ended it; 0 after Ctrl-C; 1 if something could not be\nrecorded, with a line on stderr; 2 usage error.",
	.run = run,
};

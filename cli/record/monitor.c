// SPDX-License-Identifier: MIT
/*
 * kfdsched monitor: samples the queues of a process repeatedly and reports whether they change.
 * Used by watch, too.
 */
#include "cli/record/record.h"

#include <errno.h>
#include <stdlib.h>

#include "cli/output/progress.h"
#include "cli/record/sampling.h"
#include "cli/util/gpus.h"
#include "cli/util/interrupt.h"
#include "cli/util/parse_options.h"
#include "cli/util/select_process.h"
#include "common/allocate.h"
#include "common/clock.h"
#include "common/json_util.h"

/* Shortest time between lines about samples without a change. */
#define QUIET_NS UINT64_C(100000000)
/* Maximum number of changes that are listed in the JSON; further ones are only counted. */
#define CHANGES_MAX 1000u

struct monitor {
	const struct cli_command *cmd;
	struct monitor_options options;
	struct process_identity process;
	struct snapshot_reader *reader;
	unsigned sources; /* OBSERVE_BIT()s */
	struct sampling sampling;
	struct recorder *recorder;
	json_t *changes; /* with options.json: array of samples that differ from the one before */
	char whose[16];	 /* pid as text */
	char why[OBSERVE_WHY];		   /* latest reason for which no source reported queues */
	int error;			   /* negative errno for the reason in `why` */
	struct sample_task task;	   /* begins with the first sample */
	uint64_t last_ns;		   /* time of the last sample */
	uint64_t printed_ns;		   /* time of the last line */
	size_t taken;			   /* samples */
	enum observe_source source_before; /* source of the sample before */
	bool ended;			   /* the process has ended */
	bool has_failed;		   /* the recording could not be written */
};

/* Returns the time from the first sample until `ns` in seconds, cut to whole microseconds because
 * further digits have no meaning. */
static double seconds_since(const struct monitor *m, uint64_t ns)
{
	return (double)((ns - m->task.began_ns) / 1000) / 1e6;
}

/* ---- one line per sample ---- */

/* Returns how many decimals of a time are printed: the shorter the interval, the more. */
static int decimals(const struct monitor *m)
{
	return m->options.interval_us >= 1e6 ? 0 : m->options.interval_us >= 100e3 ? 1 : 3;
}

/* Prints the number of queues, with their ids if those are known. */
static void print_count(const struct sampling *s)
{
	printf("%zu queue%s", s->now, s->now == 1 ? "" : "s");
	if (s->now == 0)
		return;
	if (s->now_unnamed == s->now) {
		fputs(" (ids -)", stdout);
		return;
	}
	fputs(s->now - s->now_unnamed == 1 ? " (id " : " (ids ", stdout);
	sampling_ids(s, stdout);
	if (s->now_unnamed > 0)
		printf(", %zu without an id", s->now_unnamed);
	putchar(')');
}

/* Prints one line with time, number and ids of the queues in the latest sample. */
static void print_queues(const struct monitor *m)
{
	const struct sampling *s = &m->sampling;

	if (m->options.labelled)
		printf("process %s ", m->whose);
	/* The width has three columns for whole seconds, and room for the point and the
	 * decimals. */
	printf("[%*.*fs] sample %zu: ", decimals(m) ? 4 + decimals(m) : 3, decimals(m),
	       seconds_since(m, m->last_ns), m->taken);
	if (s->last_source == OBSERVE_NO_SOURCE) {
		printf("- queues (no source reports them: %s)\n", m->why);
	} else {
		print_count(s);
		if (s->came_count > 0 && s->changed) {
			fputs(", new ", stdout);
			sampling_ranges(s->came, s->came_count, stdout);
		}
		if (s->gone_count > 0 && s->changed) {
			fputs(", gone ", stdout);
			sampling_ranges(s->gone, s->gone_count, stdout);
		}
		if (m->source_before != OBSERVE_NO_SOURCE && m->source_before != s->last_source)
			printf(", source now %s", observe_source_name(s->last_source));
		putchar('\n');
	}
	fflush(stdout);
}

static json_t *keys_json(const uint64_t *keys, size_t count)
{
	json_t *list = json_array();

	for (size_t i = 0; i < count; i++)
		json_array_append_new(list,
				      json_pack("{s:I,s:I}", "context", (json_int_t)(keys[i] >> 32),
						"id", (json_int_t)(uint32_t)keys[i]));
	return list;
}

/* Appends the change in the latest sample to m->changes: its time, number of queues, and the ids
 * that are new or gone. */
static void keep_change(struct monitor *m)
{
	const struct sampling *s = &m->sampling;

	json_array_append_new(
		m->changes, json_pack("{s:I,s:f,s:I,s:o,s:o}", "sample", (json_int_t)m->taken,
				      "seconds", seconds_since(m, m->last_ns), "queues",
				      (json_int_t)s->now, "new", keys_json(s->came, s->came_count),
				      "gone", keys_json(s->gone, s->gone_count)));
}

/* Prints the latest sample, and keeps the changes in it for the JSON. Samples without a change are
 * printed at most once per QUIET_NS. */
static void print_sample(struct monitor *m)
{
	bool has_changed = m->sampling.changed || m->taken == 1 ||
			   m->task.interval_ns >= QUIET_NS ||
			   m->sampling.last_source != m->source_before;

	if (m->options.json && m->sampling.changed && json_array_size(m->changes) < CHANGES_MAX)
		keep_change(m);
	if (!has_changed && m->last_ns - m->printed_ns < QUIET_NS)
		return;
	m->printed_ns = m->last_ns;
	if (!m->options.json)
		print_queues(m);
	else
		progress_live("sample %zu: %zu queues", m->taken, m->sampling.now);
}

/* ---- a sample ---- */

/* Appends a sample to the recording. On an error prints a message and sets m->has_failed, which
 * ends the monitor. */
static void record(struct monitor *m, const struct snapshot_process *process)
{
	struct recorded_process recorded = recorded_from(process);
	char why[RECORDING_WHY];

	if (!recorder_sample(m->recorder, "sample", seconds_since(m, m->last_ns),
			     json_pack("[o]", recorded_process_json(&recorded)),
			     snapshot_raw(m->reader, OBSERVE_MQD),
			     snapshot_raw(m->reader, OBSERVE_HQD), why))
		return;
	m->has_failed = true;
	cli_failed(m->cmd, "%s; the samples recorded before are kept", why);
}

/* Returns a snapshot of the process. For a recording, the snapshot contains everything that the
 * sources have. Otherwise it contains only the ids of the queues, which are cheap to read. */
static const struct snapshot_process *inspect(struct monitor *m)
{
	const struct snapshot_request request = {
		.pids = &m->options.pid,
		.count = 1,
		.sources = m->sources,
		.ids_only = !m->recorder,
	};

	return snapshot_read(m->reader, &request)->processes[0];
}

/* Takes a sample and prints its line. */
static void sample(void *context)
{
	struct monitor *m = context;
	const struct snapshot_process *process;
	const struct observe_list *list;
	enum observe_source source;
	const char *why;

	m->last_ns = clock_ns();
	if (m->taken == 0)
		m->task.began_ns = m->last_ns;
	process = inspect(m);
	m->ended = m->task.over = process->ended;
	if (m->ended)
		return;
	list = observation_queues(&process->seen, &source, &m->error, &why);
	if (source == OBSERVE_NO_SOURCE)
		snprintf(m->why, sizeof(m->why), "%s", why);
	sampling_add(&m->sampling, list, source);
	m->taken++;
	if (m->recorder)
		record(m, process);
	/* Print nothing before a source has reported queues. If none does in the first sample,
	 * monitor_open() reports an error. */
	if (m->sampling.samples > 0)
		print_sample(m);
	m->source_before = source;
	m->task.over = m->has_failed;
}

/* ---- begin and end ---- */

/* Returns true if sysfs reports the queues of the process. sysfs has their ids, nodes, types and
 * sizes, so two more expensive sources are left out at short intervals: the daemon, and the shim's
 * shared memory, which is found by a search through all open files of the process. */
static bool sysfs_knows(const struct monitor *m)
{
	const struct snapshot_request request = {
		.pids = &m->options.pid,
		.count = 1,
		.sources = OBSERVE_BIT(OBSERVE_SYSFS),
		.ids_only = true,
	};

	return snapshot_read(m->reader, &request)->processes[0]->seen.listed != 0;
}

/* Returns the mask of the sources to read: options->sources or, if that is 0, the sources that suit
 * the interval. A recording also gets debugfs and the memory of the process, because only these
 * have some of the data. */
static unsigned sources_of(const struct monitor *m)
{
	const struct monitor_options *options = &m->options;
	unsigned sources = options->sources;
	bool fast = options->interval_us < MONITOR_DAEMON_US;

	if (sources == 0) {
		sources = OBSERVE_BIT(OBSERVE_SYSFS);
		if (!fast)
			sources |= OBSERVE_BIT(OBSERVE_DAEMON);
		if (!fast || !sysfs_knows(m))
			sources |= OBSERVE_BIT(OBSERVE_SHM) | OBSERVE_BIT(OBSERVE_MQD);
	}
	if (options->record)
		sources |= OBSERVE_BIT(OBSERVE_MQD) | OBSERVE_BIT(OBSERVE_HQD) |
			   OBSERVE_BIT(OBSERVE_MEMORY);
	return sources;
}

/* Makes the recording's directory and writes its first line. */
static int start_recording(struct monitor *m)
{
	json_t *names = json_array();
	char why[RECORDING_WHY];

	for (enum observe_source s = OBSERVE_NO_SOURCE + 1; s < OBSERVE_SOURCES; s++)
		if (m->sources & OBSERVE_BIT(s))
			json_array_append_new(names, json_string(observe_source_name(s)));
	json_t *head = json_pack("{s:s,s:I,s:s,s:n,s:I,s:o,s:o}", "made_by", "monitor", "pid",
				 (json_int_t)m->options.pid, "comm", m->process.comm, "command",
				 "interval_us", (json_int_t)m->options.interval_us, "sources",
				 names, "gpu_processes", gpu_users_now(m->options.socket));
	int rc = recorder_open(m->options.record, head, m->reader, &m->recorder, why);

	json_decref(head);
	return rc ? cli_failed(m->cmd, "%s", why) : CLI_DONE;
}

static void release(struct monitor *m)
{
	recorder_close(m->recorder);
	snapshot_close(m->reader);
	sampling_free(&m->sampling);
	json_decref(m->changes);
	free(m);
}

/* Prints an error: no source reported queues. Returns CLI_IMPOSSIBLE if missing permissions were
 * the only cause, else CLI_FAILED. */
static int has_no_source(struct monitor *m)
{
	int error = m->error;

	cli_failed(m->cmd, "process %s (%s): no source reports queues: %s", m->whose,
		   m->process.comm, m->why);
	return error == -EACCES || error == -EPERM ? CLI_IMPOSSIBLE : CLI_FAILED;
}

static int end(void *context);

void monitor_open(const struct cli_command *cmd, const struct monitor_options *options,
		  struct sample_loop *loop)
{
	struct monitor *m = allocate(1, sizeof(*m));
	int code;

	m->cmd = cmd;
	m->options = *options;
	sample_task_begin(&m->task, options->interval_us, sample, m);
	m->task.end = end;
	if (options->seconds > 0)
		m->task.last = (uint64_t)(options->seconds * 1e6 / options->interval_us + 1e-6);
	snprintf(m->whose, sizeof(m->whose), "%d", (int)options->pid);
	code = select_process(cmd, options->pid, &m->process);
	if (code == CLI_GO_ON) {
		m->changes = json_array();
		m->reader = snapshot_open(options->socket);
		m->sources = sources_of(m);
		code = options->record ? start_recording(m) : CLI_DONE;
	}
	if (code == CLI_DONE) {
		sample_task_take(&m->task);
		if (m->ended)
			code = cli_failed(cmd, "process %s (%s) has ended", m->whose,
					  m->process.comm);
		else if (m->sampling.samples == 0)
			code = has_no_source(m);
	}
	if (code == CLI_DONE)
		loop->tasks[loop->count++] = &m->task;
	else
		release(m);
	if (loop->code == CLI_DONE)
		loop->code = code;
}

/* Prints the summary. */
static void print_all(const struct monitor *m)
{
	char meaning[SAMPLING_MEANING];
	size_t gpus;
	const struct gpu_name *names = gpus_all(&gpus);

	printf("\nprocess %s (%s)", m->whose, m->process.comm);
	if (m->process.host_pid > 0 && m->process.host_pid != m->options.pid)
		printf(", host's pid %d", (int)m->process.host_pid);
	printf(": %zu sample%s in %.*f s%s\n", m->taken, m->taken == 1 ? "" : "s", decimals(m),
	       seconds_since(m, m->last_ns), m->ended ? "; then the process ended" : "");
	sampling_counts(&m->sampling, stdout);
	if (m->sampling.count > 0)
		sampling_table(&m->sampling, names, gpus, stdout);
	puts(sampling_meaning(&m->sampling, m->whose, meaning));
	if (m->task.missed > 0)
		printf("%llu samples were skipped, because a sample took longer than the "
		       "interval.\n",
		       (unsigned long long)m->task.missed);
}

/* Returns the result for --json. */
static json_t *whole_json(const struct monitor *m)
{
	char meaning[SAMPLING_MEANING];
	json_t *comm = json_string(m->process.comm);
	json_t *host = json_number(m->process.host_pid > 0, m->process.host_pid);
	json_t *out = sampling_json(&m->sampling);
	json_t *mine = json_pack("{s:I,s:o,s:o,s:f,s:I,s:b,s:I,s:o,s:s,s:o,s:o}", "pid",
				 (json_int_t)m->options.pid, "host_pid", host, "comm",
				 comm ? comm : json_null(), "seconds", seconds_since(m, m->last_ns),
				 "interval_us", (json_int_t)m->options.interval_us, "process_ended",
				 m->ended, "missed_samples", (json_int_t)m->task.missed, "changes",
				 json_incref(m->changes), "meaning",
				 sampling_meaning(&m->sampling, m->whose, meaning), "recorded_in",
				 m->options.record ? json_string(m->options.record) : json_null(),
				 "gpus", gpus_json());

	json_object_update(out, mine);
	json_decref(mine);
	return out;
}

/* Completes the recording, prints the summary (as JSON if options.json is set), and frees the
 * monitor. Returns CLI_DONE; or CLI_FAILED if no source ever reported queues or the recording could
 * not be completed. */
static int end(void *context)
{
	struct monitor *m = context;
	int code = m->has_failed || m->sampling.samples == 0 ? CLI_FAILED : CLI_DONE;
	char why[RECORDING_WHY];

	progress_clear();
	if (m->recorder && !m->has_failed &&
	    recorder_end(m->recorder,
			 json_pack("{s:s,s:n,s:n,s:o}", "reason",
				   m->ended	      ? "process_ended"
				   : stop_requested() ? "stopped"
						      : "done",
				   "exit_code", "signal", "gpu_processes",
				   gpu_users_now(m->options.socket)),
			 why))
		code = cli_failed(m->cmd, "%s", why);
	if (m->options.json) {
		json_t *out = whole_json(m);

		render_print(out, (m->options.one_line ? JSON_COMPACT : JSON_INDENT(2)) |
					  JSON_REAL_PRECISION(9));
	} else {
		print_all(m);
	}
	fflush(stdout);
	release(m);
	return code;
}

/* ---- command ---- */

#define FOR_MAX_US (7 * 86400e6)
#define INTERVAL_MIN_US 100.0
#define INTERVAL_MAX_US 86400e6
#define TRAP_MIN_US 100e3 /* shortest interval of OBSERVE_TRAP: each sample interrupts the GPUs */

static int run(int argc, char **argv)
{
	static const char *const names[] = {"auto", "trap", "sysfs", "debugfs", NULL};
	static const unsigned sources[] = {
		0,
		OBSERVE_BIT(OBSERVE_TRAP),
		OBSERVE_BIT(OBSERVE_SYSFS),
		OBSERVE_BIT(OBSERVE_MQD),
	};
	struct monitor_options wanted = {.interval_us = 5e6};
	struct sample_loop loop = {0};
	double for_us = 30e6;
	unsigned source = 0;
	const struct cli_option options[] = {
		{OPTION_SECONDS("seconds", &for_us, 0, FOR_MAX_US, "seconds, at most a week")},
		{OPTION_SECONDS("interval", &wanted.interval_us, INTERVAL_MIN_US, INTERVAL_MAX_US,
				"seconds, or a time such as 1ms, of 100us to a day")},
		{OPTION_CHOICE("source", &source, names)},
		{OPTION_NAME("record", &wanted.record, PATH_MAX, "a folder")},
		{OPTION_JSON(&wanted.json)},
		{OPTION_SOCKET(&wanted.socket)},
		{WORD_PID(&wanted.pid)},
		{0},
	};
	int code = options_read(&cmd_monitor, argc, argv, options);

	if (code != CLI_GO_ON)
		return code;
	wanted.seconds = for_us / 1e6;
	wanted.sources = sources[source];
	if (wanted.sources == OBSERVE_BIT(OBSERVE_TRAP)) {
		if (wanted.interval_us < TRAP_MIN_US)
			return cli_usage(&cmd_monitor,
					 "--source trap opens a debug session for each sample: "
					 "--interval is 100ms or longer");
		cli_warn_session(&cmd_monitor, wanted.pid);
		fprintf(stderr,
			"kfdsched monitor: each sample opens a session, which interrupts the GPUs "
			"of that process for a moment and excludes other debuggers\n");
	}
	if (stop_begin(&cmd_monitor))
		return CLI_FAILED;
	monitor_open(&cmd_monitor, &wanted, &loop);
	return sample_loop_run(&loop);
}

const struct cli_command cmd_monitor = {
	.name = "monitor",
	.summary = "sample the queues of a process over time: are their ids stable",
	.usage = "PID [--seconds 30] [--interval 5] [--source auto|trap|sysfs|debugfs] "
		 "[--record DIR] [--json]",
	.help = "Samples the queues of PID repeatedly and prints a line for each sample, with the changes\n"
		"since the previous one; then the number of queues, whether it was stable, the share of the\n"
		"samples with each id, and what this means for suspending the queues. Ctrl-C ends it early\n"
		"and prints the result so far.\n"
		"\n"
		"  --seconds 30       duration; also a time with its unit, such as 500ms\n"
		"  --interval 5       seconds between samples, or a time such as 1ms. Samples without a\n"
		"                     change are printed at most ten times a second; all samples count\n"
		"  --source auto      source of the samples. auto: the first of daemon, shim, sysfs and\n"
		"                     debugfs that has data; below 100ms sysfs if possible. trap opens a\n"
		"                     debug session for each sample, which interrupts the GPUs for a moment;\n"
		"                     on a real GPU a busy runtime has crashed when a debug session was\n"
		"                     opened. debugfs has no ids and needs root\n"
		"  --record DIR       writes each sample to a new directory, with the raw text of debugfs\n"
		"                     (MQDs and HQDs) if it is readable: kfdsched analyze DIR\n"
		"  --json             one object at the end; docs/reference/recordings.md describes the keys\n"
		"  --socket PATH      where the daemon listens; without it KFDSHIM_SOCKET, or\n"
		"                     /run/kfdsched/socket\n"
		"\n"
		"Examples:\n"
		"  kfdsched monitor 4711 --seconds 60\n"
		"  kfdsched monitor 4711 --interval 1ms --seconds 5 --source sysfs --json\n",
	.run = run,
};

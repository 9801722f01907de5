// SPDX-License-Identifier: MIT
/* kfdsched compare: compares two recordings, two running processes, a recording and a process, or
 * two commands, which it records first. */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/record/analysis.h"
#include "cli/util/interrupt.h"
#include "cli/util/parse_options.h"
#include "common/allocate.h"
#include "common/child.h"
#include "common/clock.h"

/* Number and interval of the samples of a running process: enough to see whether its queues change
 * all the time. */
#define LIVE_SAMPLES 5u
#define LIVE_US 200e3
#define COMMAND_US 1e6 /* interval of the samples of a command, taken until it ends */
/* Argument that separates the two commands on the command line. */
#define SECOND "::"

struct job {
	const char *words[2]; /* directories or pids; NULL: the commands are compared */
	char **commands[2];
	const char *socket;
	const char *dir; /* directory that keeps the commands' recordings; NULL: they are removed */
	unsigned long samples; /* 0: the default */
	double interval_us;    /* 0: the default */
	bool json;
};

/* ---- a recording ---- */

/* Returns the number that the last line of the recording has under `key`; -1: not known. */
static int ended_with(const struct recording *recording, const char *key)
{
	const json_t *value = json_object_get(recording_ended(recording), key);

	return json_is_integer(value) ? (int)json_integer_value(value) : -1;
}

/* Reads the recording in side->dir into side->analysis. If the recording was cut off or is damaged,
 * reads the part that is intact. Returns CLI_DONE, or CLI_FAILED after one line on stderr. */
static int read_recording(struct side *side)
{
	struct recording *recording = NULL;
	int code = analyze_read(&cmd_compare, side->dir, side->name, &side->analysis, &recording);

	if (code == CLI_DONE) {
		if (!recording_ended(recording) || recording_damaged(recording) > 0)
			fprintf(stderr,
				"kfdsched compare: %s was cut off or damaged; comparing its "
				"readable part\n",
				side->name);
		side->exit_code = ended_with(recording, "exit_code");
		side->signal = ended_with(recording, "signal");
	}
	recording_close(recording);
	return code;
}

/* ---- a process ---- */

/* Prepares to sample a running process. */
static void open_process(struct side *side, const char *socket)
{
	json_t *nodes;

	side->reader = snapshot_open(socket);
	nodes = recording_nodes(side->reader);
	analysis_nodes(&side->analysis, nodes);
	json_decref(nodes);
}

/* Takes one sample of a running process and adds it to the analysis. Returns CLI_DONE; or
 * CLI_FAILED, after one line on stderr, if the process has ended or no source reports its
 * queues. */
static int inspect(struct side *side, double seconds)
{
	const struct snapshot_request request = {
		.pids = &side->process.pid, .count = 1, .sources = OBSERVE_ALL};
	const struct snapshot_process *seen = snapshot_read(side->reader, &request)->processes[0];
	struct recorded_process process = recorded_from(seen);
	const struct recorded_sample sample = {
		.phase = RECORDED_SAMPLE, .seconds = seconds, .process = &process, .count = 1};

	if (seen->ended)
		return cli_failed(&cmd_compare, "process %d has ended", (int)side->process.pid);
	if (process.source == OBSERVE_NO_SOURCE)
		return cli_failed(&cmd_compare, "process %d (%s): no source reports queues: %s",
				  (int)side->process.pid, side->process.comm, process.unknown);
	analysis_add(&side->analysis, &sample);
	return CLI_DONE;
}

/* Sampling of the sides that are running processes. If both sides are running processes, they are
 * sampled at the same time. */
struct live_sides {
	struct side *sides;
	unsigned long left; /* samples that are still to be taken */
	struct sample_task task;
	struct sample_loop loop;
};

static void sample(void *context)
{
	struct live_sides *live = context;

	for (unsigned i = 0; i < 2 && live->loop.code == CLI_DONE; i++)
		if (!live->sides[i].dir)
			live->loop.code = inspect(&live->sides[i],
						  (double)(clock_ns() - live->task.began_ns) / 1e9);
	live->task.over = --live->left == 0 || live->loop.code != CLI_DONE;
}

/* Samples the sides that are running processes. A signal to stop ends the sampling early, but not
 * before the first sample. Returns CLI_DONE or CLI_FAILED. */
static int watch(const struct job *job, struct side *sides)
{
	struct live_sides live = {
		.sides = sides,
		.left = job->samples ? job->samples : LIVE_SAMPLES,
		.loop = {.tasks = {&live.task}, .count = 1},
	};

	sample_task_begin(&live.task, job->interval_us > 0 ? job->interval_us : LIVE_US, sample,
			  &live);
	return sample_loop_run(&live.loop);
}

/* ---- a recording or a process ---- */

/* Opens one side of the comparison: reads a recording, or prepares to sample a process. `word` is a
 * pid or the directory of a recording. A directory whose name is a number has to be written with a
 * slash (./4711). Returns CLI_DONE; or CLI_FAILED or CLI_USAGE, after one line on stderr. */
static int take_side(const char *word, const char *socket, struct side *side)
{
	char errmsg[PROCESS_ERRMSG];
	int pid, rc;

	snprintf(side->name, sizeof(side->name), "%s", word);
	plain_text(side->name);
	if (word[0] == '\0' || word[strspn(word, "0123456789")] != '\0') {
		side->dir = word;
		return read_recording(side);
	}
	pid = cli_pid(word);
	if (pid == 0)
		return cli_usage(&cmd_compare, "'%s' is neither a process id nor a directory",
				 word);
	rc = process_identify(pid, &side->process);
	if (rc == -ESRCH)
		return cli_failed(&cmd_compare,
				  "there is no process %d; for a directory with that name use ./%d",
				  pid, pid);
	if (rc)
		return cli_failed(&cmd_compare, "%s", process_errmsg(errmsg, pid, rc));
	snprintf(side->name, sizeof(side->name), "process %d", pid);
	open_process(side, socket);
	return CLI_DONE;
}

static int take_sides(const struct job *job, struct side *sides)
{
	int code = take_side(job->words[0], job->socket, &sides[0]);

	if (code == CLI_DONE)
		code = take_side(job->words[1], job->socket, &sides[1]);
	if (code != CLI_DONE)
		return code;
	if (!sides[0].dir || !sides[1].dir)
		return watch(job, sides);
	if (job->samples || job->interval_us > 0)
		return cli_usage(&cmd_compare,
				 "--samples and --interval apply to processes and commands, but "
				 "both sides are recordings");
	return CLI_DONE;
}

/* ---- two commands, each recorded by a process of its own ---- */

/*
 * Records two commands at the same time, each in a child process, and returns when both children
 * have ended. A signal to stop this process stops both children, too (interrupt.h). If this process
 * dies, they get SIGTERM. In both cases they stop their commands and complete their recordings.
 * Writes the exit code of each record_command() to codes[]. Returns 0, or a negative errno if a
 * child could not be started; then no child is running any more.
 */
static int record_two(const struct record_options sides[2], int codes[2])
{
	pid_t pids[2] = {-1, -1};
	int rc = 0, status;

	codes[0] = codes[1] = CLI_FAILED;
	for (unsigned i = 0; rc == 0 && i < 2; i++) {
		pids[i] = child_fork(SIGTERM, false);
		if (pids[i] == 0) {
			int code = record_command(&sides[i]);

			fflush(NULL);
			_exit(code);
		}
		if (pids[i] < 0)
			rc = -errno;
	}
	if (rc && pids[0] > 0)
		kill(pids[0], SIGTERM);
	for (unsigned i = 0; i < 2 && pids[i] > 0; i++) {
		status = child_wait(pids[i]);
		if (status >= 0)
			codes[i] = cli_exit_code(status);
	}
	return rc;
}

/* The directories in which the two commands are recorded. */
struct out_dir {
	char top[PATH_MAX];
	char side[2][PATH_MAX]; /* "top/a" and "top/b" */
};

/* Creates the directory `dir`, or a temporary one if `dir` is NULL, and writes its path and those
 * of its future subdirectories to *out_dir. Returns CLI_DONE or CLI_FAILED. */
static int make_dir(const char *dir, struct out_dir *out_dir)
{
	if (dir)
		snprintf(out_dir->top, sizeof(out_dir->top), "%s", dir);
	else
		snprintf(out_dir->top, sizeof(out_dir->top), "%s/kfdsched-compare-XXXXXX",
			 cli_temporary());
	if (strlen(out_dir->top) > PATH_MAX - 3)
		return cli_failed(&cmd_compare, "the name of the directory is too long");
	if (dir ? mkdir(out_dir->top, 0700) != 0 : !mkdtemp(out_dir->top))
		return cli_failed(&cmd_compare, "cannot create the directory %s: %s%s",
				  out_dir->top, strerror(errno),
				  errno == EEXIST ? "; choose one that does not exist" : "");
	for (unsigned i = 0; i < 2; i++) {
		size_t n = strlen(out_dir->top);

		memcpy(out_dir->side[i], out_dir->top, n);
		memcpy(out_dir->side[i] + n, i ? "/b" : "/a", 3);
	}
	return CLI_DONE;
}

/* Sets the name of a side to the words of its command, cut to the size of the name. */
static void name_command(struct side *side, char *const *command)
{
	size_t n = 0;

	for (; *command && n < sizeof(side->name); command++)
		n += (size_t)snprintf(side->name + n, sizeof(side->name) - n, "%s%s", n ? " " : "",
				      *command);
	plain_text(side->name);
}

/* Records both commands at the same time and reads the recordings. Writes the exit codes of the
 * commands to codes[]. Returns CLI_DONE, or CLI_FAILED after one line on stderr. */
static int record_sides(const struct job *job, struct side *sides, int codes[2])
{
	struct out_dir out_dir;
	struct record_options options[2];
	int rc, code = make_dir(job->dir, &out_dir);

	if (code != CLI_DONE)
		return code;
	for (unsigned i = 0; i < 2; i++) {
		name_command(&sides[i], job->commands[i]);
		sides[i].dir = out_dir.side[i];
		options[i] = (struct record_options){
			.dir = out_dir.side[i],
			.socket = job->socket,
			.prefix = i ? "kfdsched compare: B" : "kfdsched compare: A",
			.command = job->commands[i],
			.interval_us = job->interval_us > 0 ? job->interval_us : COMMAND_US,
			.samples = job->samples ? job->samples : RECORD_SAMPLES_MAX,
			.to_stderr = job->json,
			.temporary = !job->dir,
		};
	}
	rc = record_two(options, codes);
	if (rc)
		code = cli_failed(&cmd_compare, "cannot start a process: %s", strerror(-rc));
	for (unsigned i = 0; code == CLI_DONE && i < 2; i++)
		code = read_recording(&sides[i]);
	if (!job->dir)
		cli_remove(out_dir.top);
	/* sides[].dir must not point into `out_dir` any more, which ends with this function. From
	 * here on only the names of the sides are used. */
	sides[0].dir = sides[1].dir = "";
	return code;
}

/* ---- the whole ---- */

/* Compares the two sides and prints the result. */
static void compare_sides(const struct job *job, const struct side *sides)
{
	struct comparison *c = allocate(1, sizeof(*c));

	comparison_make(&sides[0].analysis, &sides[1].analysis, c);
	if (job->json)
		render_print(compare_json(c, sides), JSON_INDENT(2) | JSON_REAL_PRECISION(9));
	else
		compare_show(c, sides);
	comparison_free(c);
	free(c);
}

/* Reads, samples or records both sides and compares them. Returns the exit code. If one of two
 * commands failed, this is the exit code of that command; if both failed, that of the first.
 * Otherwise it is the result of the comparison. */
static int compare(const struct job *job)
{
	struct side *sides = allocate(2, sizeof(*sides));
	int code, codes[2] = {CLI_DONE, CLI_DONE};

	for (unsigned i = 0; i < 2; i++)
		sides[i].exit_code = sides[i].signal = -1;
	code = job->words[0] ? take_sides(job, sides) : record_sides(job, sides, codes);
	if (code == CLI_DONE)
		compare_sides(job, sides);
	for (unsigned i = 0; i < 2; i++) {
		snapshot_close(sides[i].reader);
		analysis_free(&sides[i].analysis);
	}
	free(sides);
	return codes[0] ? codes[0] : codes[1] ? codes[1] : code;
}

/* Splits the arguments behind the options at the first SECOND into two commands. Returns CLI_GO_ON,
 * or CLI_USAGE if a command is missing. */
static int split_commands(char **command, struct job *job)
{
	char **end = command;

	while (*end && strcmp(*end, SECOND) != 0)
		end++;
	if (end == command)
		return cli_usage(&cmd_compare, "no command before " SECOND);
	if (!*end || !end[1])
		return cli_usage(&cmd_compare, "no command behind " SECOND);
	*end = NULL;
	job->commands[0] = command;
	job->commands[1] = end + 1;
	return CLI_GO_ON;
}

static int run(int argc, char **argv)
{
	struct job job = {0};
	const struct cli_option options[] = {
		{OPTION_COUNT("samples", &job.samples, 1, RECORD_SAMPLES_MAX, "1 to 1000000")},
		{OPTION_SECONDS("interval", &job.interval_us, RECORD_INTERVAL_MIN_US,
				RECORD_INTERVAL_MAX_US,
				"seconds, or a time such as 100ms, of 1ms to a day")},
		{OPTION_NAME("output", &job.dir, PATH_MAX, "a folder"), .letter = 'o'},
		{OPTION_JSON(&job.json)},
		{OPTION_SOCKET(&job.socket)},
		{OPTION_TEXT("directory or process id", &job.words[0]), .word = true},
		{OPTION_TEXT("second directory or process id", &job.words[1]), .word = true},
		{0},
	};
	bool two_commands = false;
	char **command;
	int code;

	for (int i = 1; i < argc; i++)
		two_commands = two_commands || strcmp(argv[i], SECOND) == 0;
	if (two_commands) {
		code = options_before_command(&cmd_compare, argc, argv, options, &command);
		if (code == CLI_GO_ON)
			code = split_commands(command, &job);
	} else {
		code = options_read(&cmd_compare, argc, argv, options);
		if (code == CLI_GO_ON && job.dir)
			code = cli_usage(&cmd_compare,
					 "-o applies to two commands only: -- COMMAND " SECOND
					 " COMMAND");
	}
	if (code != CLI_GO_ON)
		return code;
	return stop_begin(&cmd_compare) ? CLI_FAILED : compare(&job);
}

const struct cli_command cmd_compare = {
	.name = "compare",
	.summary = "compare the queues of two runs or processes: ids, waiting work",
	.usage = "[--samples N] [--interval S] [-o DIR] [--json] [--socket PATH] "
		 "DIR|PID DIR|PID | -- COMMAND [ARGUMENT]... :: COMMAND [ARGUMENT]...",
	.help = "Compares the queues of two recordings (monitor --record, record), of two running processes,\n"
		"which are sampled for a second, or of a recording and a process. Prints the ids that both or\n"
		"only one side has, counts and types of queues, and whether they stayed the same; whether ids\n"
		"can be predicted from one run to the next; how many packets waited, in how many samples, at\n"
		"the median and at most, and which process had more waiting work; whether both use the same\n"
		"GPUs, and whether their compute queues fit the slots.\n"
		"Processes of a recording are compared in the order of their pids.\n"
		"\n"
		"With two commands, separated by '::', both are started at the same time, recorded until\n"
		"they end, as by 'kfdsched record', and compared. Ctrl-C ends both; the samples taken so far\n"
		"are compared.\n"
		"\n"
		"  --samples N    number of samples; of processes: default 5; of commands: the highest\n"
		"                 number, default: until they end\n"
		"  --interval S   seconds between samples, or a time such as 100ms; default: 200ms for\n"
		"                 processes, 1s for commands\n"
		"  -o, --output DIR  keeps the recordings of the two commands in the new directory DIR, as\n"
		"                 DIR/a and DIR/b; without it they are removed\n"
		"  --json         one object; docs/reference/recordings.md describes the keys\n" HELP_SOCKET
		"\n"
		"Examples:\n"
		"  kfdsched compare run1 run2\n"
		"  kfdsched compare -o both -- kfdsched run --priority online -- ./serve :: ./train\n",
	.exits =
		"0 success; with two commands the exit code of the first one that did not end with 0, and\n128 + N if signal N ended it; 1 if they could not be recorded or compared, 2 usage error.",
	.run = run,
};

// SPDX-License-Identifier: MIT
/*
 * kfdsched preempt: suspends and resumes a process a number of times and prints how long each
 * operation took. If a daemon knows the process, the daemon suspends it, by leases (suspensions
 * that end with their fd). The work is done in a child (hold_child_run()), so that the process runs
 * on however this command ends.
 */
#include "cli/preempt/preempt.h"

#include <errno.h>
#include <langinfo.h>
#include <locale.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/output/fields.h"
#include "cli/output/progress.h"
#include "cli/util/daemon_query.h"
#include "cli/util/sim_info.h"
#include "common/child.h"
#include "common/clock.h"
#include "common/wait.h"

#define TIMES 100u
#define TIMES_MAX 100000
#define HOLD_US 100e3
/* Frameworks kill a training if one of its ranks makes no progress for longer. */
#define HOLD_MAX_US 30e6
#define PAUSE_US 500e3
#define PAUSE_MAX_US 600e6
#define STRESS_TIMES 1000u
#define STRESS_PAUSE_US 10e3
#define SLOW_US 50e3

struct preempt_options {
	int pid;
	unsigned long times;		   /* 0: not given */
	double hold_us, pause_us, slow_us; /* 0: not given */
	bool stress, json, yes;
	const char *svg, *online, *socket;
};

/* ---- child and parent ---- */

struct work {
	const struct preempt_job *job;
	struct preempt_result *result;
};

bool preempt_count(const struct preempt_job *job, struct preempt_result *result,
		   struct preempt_round round)
{
	result->rounds[result->done++] = round;
	if (round.suspend_us <= job->slow_us)
		return true;
	snprintf(result->problem, sizeof(result->problem),
		 "a suspend took %.0f us, longer than --slow: the driver resets a GPU that does "
		 "not preempt",
		 round.suspend_us);
	return false;
}

void preempt_progress(const struct preempt_job *job, const struct preempt_result *result)
{
	double left = (job->times - result->tried) * (job->hold_us + job->pause_us) / 1e6;
	char suspend[QUANTITY_BYTES], resume[QUANTITY_BYTES];
	const struct preempt_round *last;

	if (!progress_is_live() || !result->done)
		return;
	last = &result->rounds[result->done - 1];
	progress_live("round %u of %u: suspend %s, resume %s; %.0f s left", result->tried,
		      job->times, quantity_us(suspend, last->suspend_us),
		      quantity_us(resume, last->resume_us), left);
}

/* Runs the rounds, in the child. `context`: a struct work. Returns the exit code of the child. */
static int act(void *context, int signals)
{
	const struct work *work = context;
	int code = preempt_rounds(work->job, signals, work->result);

	progress_clear();
	return code == CLI_GO_ON ? CLI_DONE : code;
}

/* Records why the child ended early. The measured values of a killed child are not lost, because
 * they lie in shared memory. */
static void print_end(const struct preempt_job *job, enum hold_child_end end,
		      struct preempt_result *result)
{
	if (end == HOLD_CHILD_RETURNED)
		return;
	progress_live("%s", ""); /* so that the next call erases the child's live line */
	progress_clear();
	snprintf(result->problem, sizeof(result->problem), "%s: %s", hold_child_errmsg(end),
		 job->daemon_pid ? "the daemon resumes the process"
				 : "the driver has resumed the process");
}

/* ---- requests: a child gives the command of --online to sh again and again, and keeps the times
 * of each run in memory that it shares with its parent ---- */

#define CHECK_NS 1000000 /* 1 ms: time between two checks whether the first request is over */
/* Pause after a request: 50 ms if it has failed. Otherwise 1 ms, so that a command that only uses
 * the CPU leaves time to others, and lets the virtual time of a simulation go on. */
#define FAILED_NS 50000000
#define PAUSE_NS 1000000

/* Runs the command once, with stdin and stdout on /dev/null. Returns the status of waitpid(2);
 * exit code 127 if the command cannot be started. */
static int run_command(const char *command)
{
	const struct child_program program = {
		.argv = (const char *const[]){"/bin/sh", "-c", command, NULL},
		.stdio = {CHILD_NULL, CHILD_NULL, STDERR_FILENO},
		.death_signal = SIGKILL,
	};
	pid_t pid = child_start(&program, NULL);

	return pid < 0 ? W_EXITCODE(127, 0) : child_wait(pid);
}

static void add(struct preempt_online *online, uint64_t begin_ns, uint64_t end_ns)
{
	if (online->count == PREEMPT_REQUESTS) {
		online->left_out++;
		return;
	}
	online->list[online->count] = (struct preempt_request){begin_ns, end_ns};
	/* Count the entry only when it is complete: this process can be killed at any time. */
	__atomic_store_n(&online->count, online->count + 1, __ATOMIC_RELEASE);
}

static _Noreturn void request_for_ever(const char *command, struct preempt_online *online)
{
	online->first_status = run_command(command);
	__atomic_store_n(&online->begun, true, __ATOMIC_RELEASE);
	for (;;) {
		uint64_t begin_ns = clock_ns();

		if (run_command(command) == 0) {
			add(online, begin_ns, clock_ns());
			sleep_ns(PAUSE_NS);
		} else {
			online->failed++;
			sleep_ns(FAILED_NS);
		}
	}
}

/* Kills the process and the request that it makes. NULL is allowed. */
static void online_stop(struct preempt_online *online)
{
	if (!online || online->pid <= 0)
		return;
	kill(-online->pid, SIGKILL);
	child_wait(online->pid);
	online->pid = 0;
}

/*
 * Starts the process that makes the requests, and waits for the end of the first one, so that its
 * one-time costs do not count. *out lies in shared memory that is never unmapped. Returns
 * CLI_GO_ON. After an error returns the exit code, and the process does not run.
 */
static int online_start(const char *command, struct preempt_online **out)
{
	struct preempt_online *online = hold_child_memory(sizeof(*online));

	*out = online;
	online->pid = child_fork(SIGKILL, true);
	if (online->pid == 0)
		request_for_ever(command, online);
	if (online->pid < 0)
		return cli_failed(&cmd_preempt, "cannot start the process for --online: %s",
				  strerror(errno));
	while (!__atomic_load_n(&online->begun, __ATOMIC_ACQUIRE)) {
		if (waitpid(online->pid, NULL, WNOHANG) == online->pid) {
			online->pid = 0;
			return cli_failed(&cmd_preempt, "the process for --online was killed");
		}
		sleep_ns(CHECK_NS);
	}
	if (online->first_status == 0)
		return CLI_GO_ON;
	online_stop(online);
	return cli_failed(&cmd_preempt,
			  "the command of --online has failed (exit code %d), and nothing was "
			  "suspended: '%s'",
			  cli_exit_code(online->first_status), command);
}

/* ---- output ---- */

static bool shows_blocks(void)
{
	const char *terminal = getenv("TERM");

	setlocale(LC_CTYPE, "");
	return strcmp(nl_langinfo(CODESET), "UTF-8") == 0 &&
	       !(isatty(STDOUT_FILENO) && terminal && strcmp(terminal, "dumb") == 0);
}

static unsigned columns(void)
{
	struct winsize size;

	if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col)
		return size.ws_col;
	return 80;
}

static int write_svg(const struct preempt_job *job, const struct preempt_result *result,
		     const struct preempt_stats *stats, const char *path)
{
	FILE *svg = fopen(path, "we");

	if (svg)
		preempt_svg(job, result, stats, svg);
	return cli_close_output(&cmd_preempt, path, svg);
}

static int show(const struct preempt_job *job, const struct preempt_options *options,
		const struct preempt_result *result)
{
	struct preempt_stats stats;
	int code = CLI_DONE;

	preempt_stats(result, &stats);
	if (options->json)
		preempt_print_json(job, result, &stats);
	else
		preempt_print(job, result, &stats, columns(), shows_blocks());
	fflush(stdout);
	if (options->svg && write_svg(job, result, &stats, options->svg))
		code = CLI_FAILED;
	preempt_stats_free(&stats);
	if (!result->problem[0])
		return code;
	return cli_failed(&cmd_preempt, "process %d after %u of %u: %s", (int)job->target.pid,
			  result->done, job->times, result->problem);
}

/* ---- command ---- */

static int read_options(int argc, char **argv, struct preempt_options *out)
{
	const struct cli_option options[] = {
		{OPTION_COUNT("count", &out->times, 1, TIMES_MAX, "1 to 100000"), .letter = 'n'},
		{OPTION_TIME("hold", &out->hold_us, 0, HOLD_MAX_US,
			     "a time such as 100ms, at most 30s")},
		{OPTION_TIME("pause", &out->pause_us, 0, PAUSE_MAX_US,
			     "a time such as 500ms, at most 600s")},
		{OPTION_TIME("slow", &out->slow_us, 0, HOLD_MAX_US,
			     "a time such as 50ms, at most 30s")},
		{OPTION_TEXT("svg", &out->svg)},
		{OPTION_TEXT("online", &out->online)},
		{OPTION_FLAG("stress", &out->stress)},
		{OPTION_FLAG("yes", &out->yes), .letter = 'y'},
		{OPTION_JSON(&out->json)},
		{OPTION_SOCKET(&out->socket)},
		{WORD_PID(&out->pid)},
		{0},
	};

	return options_read(&cmd_preempt, argc, argv, options);
}

/* Fills the job from the options. On a simulated GPU there is no limit of slow suspends, because
 * the simulation shares the CPU with this command: the durations of suspends depend on the load of
 * the machine, and a slow suspend does not make a driver reset the GPU. */
static void set_up(const struct preempt_options *options, struct preempt_job *job)
{
	job->simulated = access(SIMULATION_PATH, F_OK) == 0;
	job->times = options->times    ? (unsigned)options->times
		     : options->stress ? STRESS_TIMES
				       : TIMES;
	job->hold_us = options->hold_us > 0 ? options->hold_us : HOLD_US;
	job->pause_us = options->pause_us > 0 ? options->pause_us
			: options->stress     ? STRESS_PAUSE_US
					      : PAUSE_US;
	job->slow_us = options->slow_us > 0 ? options->slow_us
		       : job->simulated	    ? INFINITY
					    : SLOW_US;
	job->online = options->online;
	job->socket = options->socket;
	job->daemon_pid = daemon_query_number(options->socket, options->pid);
}

static bool confirms(void)
{
	char line[16] = "";

	fputs("continue? [y/N] ", stderr);
	return fgets(line, sizeof(line), stdin) && (line[0] == 'y' || line[0] == 'Y');
}

/* Asks the user to agree before a debug session is opened on a real GPU: on the terminal, or by
 * --yes if there is none. Returns CLI_GO_ON or the exit code. */
static int consent(const struct preempt_options *options, const struct preempt_job *job)
{
	bool settled = options->yes || job->simulated;

	if (job->daemon_pid)
		return CLI_GO_ON;
	if (!settled && !(isatty(STDIN_FILENO) && isatty(STDERR_FILENO)))
		return cli_usage(&cmd_preempt,
				 CLI_SESSION_DANGER ": confirm with --yes that process %d may be "
						    "lost",
				 options->pid);
	cli_warn_session(&cmd_preempt, options->pid);
	if (settled || confirms())
		return CLI_GO_ON;
	return cli_failed(&cmd_preempt, "cancelled");
}

/* Runs the rounds in a child and prints the result. Returns the exit code. */
static int measure(const struct preempt_job *job, const struct preempt_options *options)
{
	struct work work = {
		.job = job,
		.result = hold_child_memory(sizeof(*work.result) +
					    job->times * sizeof(work.result->rounds[0])),
	};
	enum hold_child_end end;
	int code = CLI_GO_ON;

	work.result->opening_us = NAN;
	if (job->online)
		code = online_start(job->online, &work.result->online);
	if (code != CLI_GO_ON)
		return code;
	code = hold_child_run(&cmd_preempt, act, &work, &end);
	online_stop(work.result->online);
	if (end == HOLD_CHILD_RETURNED && code != CLI_DONE)
		return code;
	print_end(job, end, work.result);
	return show(job, options, work.result);
}

static int run(int argc, char **argv)
{
	struct preempt_options options = {0};
	int code = read_options(argc, argv, &options);
	struct preempt_job job = {0};

	if (code != CLI_GO_ON)
		return code;
	if (options.svg && cli_check_output(&cmd_preempt, options.svg))
		return CLI_FAILED;
	code = target_process_open(&cmd_preempt, options.pid, &job.target);
	if (code != CLI_GO_ON)
		return code;
	set_up(&options, &job);
	code = consent(&options, &job);
	if (code == CLI_GO_ON)
		code = measure(&job, &options);
	target_close(&job.target);
	return code;
}

const struct cli_command cmd_preempt = {
	.name = "preempt",
	.summary = "suspend and resume a process repeatedly, and measure the times",
	.usage = "PID [-n TIMES] [--hold TIME] [--pause TIME] [--stress] [--slow TIME] "
		 "[--online COMMAND] [--svg FILE] [--yes] [--json] [--socket PATH]",
	.help = "Suspends all compute queues of PID at once, holds them and resumes them, repeatedly, and\n"
		"prints the durations: of the first round separately, of the others as quantiles and as a\n"
		"histogram. A process that is registered with kfdschedd is held by it, by the level of the\n"
		"process; this needs the permission for control requests. Any other process needs no shim,\n"
		"but a runtime that the driver can debug (ROCm 6.1.2 or newer), and you must be allowed to\n"
		"trace it; meanwhile no debugger can attach to it. Note that\n" CLI_SESSION_DANGER
		",\n"
		"so the command asks for confirmation, or needs --yes if it does not run on a terminal.\n"
		"Every change stops all processes of that GPU for a moment. However this command ends, the\n"
		"process continues; Ctrl-C prints the results so far.\n"
		"\n"
		"  -n, --count TIMES  number of rounds, default 100\n"
		"  --hold TIME    time for which the process is suspended in each round, default 100ms\n"
		"  --pause TIME   time for which it runs between rounds, default 500ms\n"
		"  --stress       1000 rounds, with a pause of 10ms\n"
		"  --slow TIME    ends after a suspend that took longer, because the driver resets a GPU that\n"
		"                 does not preempt; default 50ms, on a simulated GPU no limit\n"
		"  --online COMMAND  a request to an online service, such as 'curl -s localhost:8000/infer':\n"
		"                 sh runs it repeatedly. Prints its duration while PID is held, and while\n"
		"                 PID runs. The first request does not count\n"
		"  --svg FILE     plots the distribution of the durations\n"
		"  -y, --yes      accepts that the process may be lost, without confirmation\n"
		"  --json         one object; docs/reference/preempt.md describes the keys\n"
		"  --socket PATH  socket of the daemon; default KFDSHIM_SOCKET, or /run/kfdsched/socket\n"
		"\n"
		"Examples:\n"
		"  kfdsched preempt 4711 -n 50 --hold 10ms --svg preempt.svg --json | jq .suspend_us\n"
		"  kfdsched preempt 4711 --hold 2s --pause 2s -n 10 --online 'curl -s localhost:8000/infer'\n",
	.run = run,
};

// SPDX-License-Identifier: MIT
/*
 * kfdsched preempt: takes a process off the GPU and gives it back, some times, and tells
 * what each took. Where a daemon knows the process, by the daemon's leases.
 *
 * A child does that, and its end resumes everything, for the driver ends the sessions of
 * a debugger that dies, and the daemon the leases of who hangs up. The parent opens nothing, so that it can always end a child that
 * was stopped; and its own end is the child's (PR_SET_PDEATHSIG).
 */
#include <errno.h>
#include <getopt.h>
#include <jansson.h>
#include <limits.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "scheduler/cli/ask.h"
#include "scheduler/cli/preempt.h"
#include "scheduler/cli/simulation.h"
#include "scheduler/cli/table.h"

#define TIMES_MAX 100000
#define HOLD_MAX_US 30e6 /* a training whose rank stands still for longer is ended */
#define PAUSE_MAX_US 600e6

/* ---- the child ---- */

bool preempt_count(const struct preempt_job *job, struct preempt_result *result, double suspend_us,
		   double resume_us)
{
	result->suspend_us[result->done] = suspend_us;
	result->resume_us[result->done++] = resume_us;
	if (suspend_us <= job->slow_us)
		return true;
	snprintf(result->problem, sizeof(result->problem),
		 "a suspend took %.0f us, which is slow: the driver resets a GPU that does not "
		 "preempt (--slow)",
		 suspend_us);
	return false;
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* Nearest rank; `us` is sorted. */
static double quantile(const double *us, unsigned n, double q)
{
	unsigned rank = (unsigned)ceil(q * n);

	return n ? us[rank ? rank - 1 : 0] : NAN;
}

static json_t *times_json(const double *us, unsigned n)
{
	return n ? json_pack("{sf sf sf sf}", "min", us[0], "median", quantile(us, n, 0.5), "p99",
			     quantile(us, n, 0.99), "max", us[n - 1])
		 : json_null();
}

static void print_json(const struct preempt_job *job, const struct preempt_result *result,
		       bool simulated)
{
	json_t *root =
		json_pack("{sI ss? sb sb sI sI sf sf so so ss?}", "pid", (json_int_t)job->pid,
			  "comm", job->name, "simulated", (int)simulated, "by_daemon",
			  (int)job->by_daemon, "asked", (json_int_t)job->times, "succeeded",
			  (json_int_t)result->done, "hold_us", job->hold_us, "pause_us",
			  job->pause_us, "suspend_us", times_json(result->suspend_us, result->done),
			  "resume_us", times_json(result->resume_us, result->done), "problem",
			  result->problem[0] ? result->problem : NULL);

	json_dumpf(root, stdout, JSON_INDENT(2) | JSON_REAL_PRECISION(12));
	putchar('\n');
	json_decref(root);
}

static void row(struct table *table, const char *name, const double *us, unsigned n)
{
	const double qs[] = {0, 0.5, 0.99, 1};
	char text[QUANTITY_BYTES];

	table_row(table);
	table_cell(table, "%s", name);
	for (size_t i = 0; i < sizeof(qs) / sizeof(qs[0]); i++)
		table_cell(table, "%s", quantity_us(text, quantile(us, n, qs[i])));
}

static void print_table(const struct preempt_job *job, const struct preempt_result *result,
			bool simulated)
{
	struct table *table = table_new("<|MIN|MEDIAN|P99|MAX");

	printf("process %d (%s): preempted %u of %u times%s%s\n", (int)job->pid, job->name,
	       result->done, job->times, job->by_daemon ? " by the daemon" : "",
	       simulated ? ", on a simulated GPU" : "");
	if (!table || !result->done) {
		table_free(table);
		return;
	}
	row(table, "suspend", result->suspend_us, result->done);
	row(table, "resume", result->resume_us, result->done);
	table_print(table, stdout);
	table_free(table);
}

static int tell(const struct preempt_job *job, struct preempt_result *result)
{
	bool simulated = access(SIMULATION_PATH, F_OK) == 0;

	qsort(result->suspend_us, result->done, sizeof(double), compare);
	qsort(result->resume_us, result->done, sizeof(double), compare);
	if (job->json)
		print_json(job, result, simulated);
	else
		print_table(job, result, simulated);
	fflush(stdout);
	if (!result->problem[0])
		return CLI_DONE;
	return cli_failed(&verb_preempt, "process %d after %u of %u: %s", (int)job->pid,
			  result->done, job->times, result->problem);
}

static int child(const struct preempt_job *job, int pidfd, const sigset_t *set)
{
	struct preempt_result result = {
		.suspend_us = calloc(job->times, sizeof(double)),
		.resume_us = calloc(job->times, sizeof(double)),
	};
	int signals = signalfd(-1, set, SFD_CLOEXEC | SFD_NONBLOCK);
	int code;

	if (signals < 0 || !result.suspend_us || !result.resume_us)
		code = cli_failed(&verb_preempt, "no memory for %u preemptions", job->times);
	else if (job->by_daemon)
		code = preempt_by_daemon(job, signals, &result);
	else
		code = preempt_direct(job, pidfd, signals, &result);
	if (code == ASK_GO_ON)
		code = tell(job, &result);
	free(result.suspend_us);
	free(result.resume_us);
	return code;
}

/* ---- the parent ---- */

static pid_t acting;

static void forward(int signal)
{
	kill(acting, signal);
}

/* A child that stands still resumes nobody; its end does. */
static int await(const struct preempt_job *job)
{
	bool stopped = false;
	int status = 0;

	for (;;) {
		if (waitpid(acting, &status, WUNTRACED) < 0)
			continue; /* a signal was forwarded */
		if (!WIFSTOPPED(status))
			break;
		stopped = true;
		kill(acting, SIGKILL);
	}
	if (WIFEXITED(status))
		return WEXITSTATUS(status);
	return cli_failed(&verb_preempt, "%s: the driver has resumed process %d",
			  stopped ? "it was stopped in its work, and so ended"
				  : "it was killed in its work",
			  (int)job->pid);
}

static int start(const struct preempt_job *job, int pidfd)
{
	struct sigaction action = {.sa_handler = forward};
	pid_t parent = getpid();
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGHUP);
	sigaddset(&set, SIGQUIT);
	sigaddset(&set, SIGCHLD);
	sigaddset(&set, SIGTSTP); /* it goes on: its target must not stand meanwhile */
	sigprocmask(SIG_BLOCK, &set, NULL);
	sigdelset(&set, SIGTSTP);
	fflush(NULL);
	acting = fork();
	if (acting < 0)
		return cli_failed(&verb_preempt, "no process for it: %s", strerror(errno));
	if (acting == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		exit(getppid() == parent ? child(job, pidfd, &set) : CLI_FAILED);
	}
	sigdelset(&set, SIGCHLD);
	for (int s = 1; s < SIGRTMIN; s++)
		if (sigismember(&set, s) == 1)
			sigaction(s, &action, NULL);
	sigemptyset(&set);
	sigprocmask(SIG_SETMASK, &set, NULL);
	return await(job);
}

/* ---- beside a daemon ---- */

/* Does it know the process? Then it alone acts. */
static bool daemon_knows(const struct preempt_job *job)
{
	const json_t *processes, *process;
	bool known = false;
	json_t *status;
	size_t i;

	if (ask_daemon(job->socket, 0, &status) != 0)
		return false;
	processes = json_object_get(status, "processes");
	json_array_foreach(processes, i, process) known |=
		json_integer_value(json_object_get(process, "pid")) == job->pid;
	json_decref(status);
	return known;
}

/* ---- the verb ---- */

static int read_number(const char *text, long max, long *out)
{
	char *end;

	errno = 0;
	*out = strtol(text, &end, 10);
	return errno || end == text || *end || *out <= 0 || *out > max ? -EINVAL : 0;
}

static int read_time(const char *text, double max_us, double *out)
{
	return cli_duration_us(text, out) || *out > max_us ? -EINVAL : 0;
}

static int read_options(int argc, char **argv, struct preempt_job *job)
{
	static const struct option options[] = {
		{"hold", required_argument, NULL, 'H'},
		{"pause", required_argument, NULL, 'P'},
		{"slow", required_argument, NULL, 'S'},
		{"json", no_argument, NULL, 'j'},
		{"socket", required_argument, NULL, 's'},
		{"help", no_argument, NULL, 'h'},
		{0},
	};
	int option;
	long n;

	opterr = 0;
	while ((option = getopt_long(argc, argv, ":hn:", options, NULL)) != -1) {
		switch (option) {
		case 'n':
			if (read_number(optarg, TIMES_MAX, &n))
				return cli_usage(&verb_preempt, "-n takes 1 to %d, not '%s'",
						 TIMES_MAX, optarg);
			job->times = (unsigned)n;
			break;
		case 'H':
			if (read_time(optarg, HOLD_MAX_US, &job->hold_us))
				return cli_usage(&verb_preempt,
						 "--hold takes a time such as 100ms, at most 30s, "
						 "not '%s'",
						 optarg);
			break;
		case 'P':
			if (read_time(optarg, PAUSE_MAX_US, &job->pause_us))
				return cli_usage(&verb_preempt,
						 "--pause takes a time such as 500ms, at most "
						 "600s, not '%s'",
						 optarg);
			break;
		case 'S':
			if (read_time(optarg, HOLD_MAX_US, &job->slow_us))
				return cli_usage(&verb_preempt,
						 "--slow takes a time such as 50ms, at most 30s, "
						 "not '%s'",
						 optarg);
			break;
		case 'j':
			job->json = true;
			break;
		case 's':
			job->socket = optarg;
			break;
		case 'h':
			return cli_help(&verb_preempt);
		default:
			return cli_usage_getopt(&verb_preempt, option, argv);
		}
	}
	if (optind == argc)
		return cli_usage(&verb_preempt, "no PID");
	if (read_number(argv[optind], INT_MAX, &n))
		return cli_usage(&verb_preempt, "'%s' is not a process id", argv[optind]);
	job->pid = (pid_t)n;
	if (optind + 1 < argc)
		return cli_usage(&verb_preempt, "'%s' is one argument too many", argv[optind + 1]);
	return ASK_GO_ON;
}

static void read_name(struct preempt_job *job)
{
	char path[64];
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/comm", (int)job->pid);
	f = fopen(path, "re");
	if (!f || !fgets(job->name, sizeof(job->name), f))
		strcpy(job->name, "?");
	if (f)
		fclose(f);
	for (char *c = job->name; *c; c++)
		if (*c < ' ' || *c > '~')
			*c = c[1] ? '?' : '\0';
}

static int run(int argc, char **argv)
{
	struct preempt_job job = {
		.times = 20,
		.hold_us = 100e3,
		.pause_us = 500e3,
		.slow_us = 50e3,
		.socket = ask_socket(),
	};
	int code = read_options(argc, argv, &job), pidfd;

	if (code != ASK_GO_ON)
		return code;
	pidfd = (int)syscall(SYS_pidfd_open, job.pid, 0);
	if (pidfd < 0)
		return cli_failed(&verb_preempt, "there is no process %d: %s", (int)job.pid,
				  strerror(errno));
	read_name(&job);
	job.by_daemon = daemon_knows(&job);
	code = start(&job, pidfd);
	close(pidfd);
	return code;
}

const struct verb verb_preempt = {
	.name = "preempt",
	.summary = "take a process off the GPU and give it back, to see what that takes",
	.usage = "PID [-n TIMES] [--hold TIME] [--pause TIME] [--slow TIME] [--json] [--socket "
		 "PATH]",
	.help = "Suspends all compute queues of PID at once, holds them, resumes them, and again. "
		"A\n"
		"process that kfdschedd knows is preempted by it, by that process' level, and you "
		"need\n"
		"the right to order. Any other needs no shim, but a runtime that the driver can "
		"debug\n"
		"(ROCm 6.1.2 or newer), and you need the right to trace it; no debugger can work "
		"on it\n"
		"meanwhile. Every change stops all processes of that GPU for a moment. However "
		"this\n"
		"command ends, the process runs on.\n"
		"\n"
		"  -n TIMES       20 without it\n"
		"  --hold TIME    how long it stays suspended each time; 100ms without it\n"
		"  --pause TIME   how long it runs between; 500ms without it\n"
		"  --slow TIME    ends after a suspend that took longer, for a GPU that does not "
		"preempt\n"
		"                 is reset by the driver; 50ms without it\n"
		"  --json         docs/formats.md names the keys\n"
		"  --socket PATH  where a daemon would listen; without it KFDSHIM_SOCKET, or\n"
		"                 /run/kfdsched/socket\n"
		"\n"
		"Examples:\n"
		"  kfdsched preempt 4711\n"
		"  kfdsched preempt 4711 -n 100 --hold 10ms --json | jq .suspend_us\n",
	.run = run,
};

// SPDX-License-Identifier: MIT
/*
 * kfdconform: checks whether the driver behind /dev/kfd keeps the rules that kfdshim relies on, and
 * reports the result rule by rule.
 */
#include <fcntl.h>
#include <getopt.h>
#include <jansson.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/version.h"
#include "common/wait.h"
#include "tools/kfdconform/checks.h"

#define USAGE "kfdconform [--list] [--json] [--kernel VERSION] [--here] [RULE]..."
#define STATUS_USAGE 2
#define STATUS_TOO_BUSY 3
#define NAME_WIDTH 45
#define SUITE_SECONDS 20 /* time limit of one check */

enum suite_result { SUITE_PASS, SUITE_FAIL, SUITE_NOT_APPLICABLE, SUITE_BUSY, SUITE_RESULTS };

struct suite_outcome {
	enum suite_result result;
	/* One line: why the check did not pass, or what it repeated. */
	char reason[512];
	uint64_t us; /* duration */
};

static const char help_text[] =
	"\n"
	"Checks the rules of the driver that kfdshim depends on, one by one, against the\n"
	"/dev/kfd of a real GPU, or of kfdsim (kfdsim -- kfdconform). It suspends its own queues,\n"
	"which interrupts every process on that GPU for a moment each time; it causes no GPU\n"
	"reset.\n"
	"\n"
	"  RULE              only these rules (default: all)\n"
	"  --list            print the names of the rules; opens no device\n"
	"  --json            one object with the results, not a table\n"
	"                    (docs/reference/test-results.md)\n"
	"  --kernel VERSION  version of the rules: 6.12.95, 6.12.107, 7.3 (default: that of the\n"
	"                    running kernel, or the one that kfdsim simulates)\n"
	"  --here            check the one RULE in this process, for a debugger\n"
	"  --help            this text\n"
	"  --version         prints release, commit and protocol\n"
	"\n"
	"Exit code: 0 no rule failed, 1 some did, 2 usage error, 3 none failed, but the machine\n"
	"was too busy to check some, 77 no GPU here.\n";

struct gpu_file gpu;

struct conform_options {
	bool list, json, here, help;
	int kernel; /* -1: the running kernel */
	char **rules;
	int n_rules;
};

struct run_counts {
	unsigned counts[SUITE_RESULTS];
	json_t *list;	  /* NULL: print a table */
	const char *area; /* last heading of the table */
};

static const char *const words[SUITE_RESULTS] = {"pass", "fail", "not_applicable", "too_busy"};

static int wrong_use(const char *format, const char *what)
{
	fprintf(stderr, "kfdconform: ");
	fprintf(stderr, format, what);
	fprintf(stderr, "; usage: " USAGE "\n");
	return STATUS_USAGE;
}

static int no_rule(const char *name)
{
	fprintf(stderr, "kfdconform: there is no rule '%s': did you mean %s? --list prints all\n",
		name, kfdabi_rule_near(name));
	return STATUS_USAGE;
}

static int parse(struct conform_options *o, int argc, char **argv)
{
	static const struct option known[] = {
		{"list", no_argument, NULL, 'l'},	  {"json", no_argument, NULL, 'j'},
		{"kernel", required_argument, NULL, 'k'}, {"here", no_argument, NULL, 'i'},
		{"help", no_argument, NULL, 'h'},	  {0},
	};
	int option;

	*o = (struct conform_options){.kernel = -1};
	opterr = 0;
	while ((option = getopt_long(argc, argv, ":", known, NULL)) != -1) {
		if (option == 'l') {
			o->list = true;
		} else if (option == 'j') {
			o->json = true;
		} else if (option == 'i') {
			o->here = true;
		} else if (option == 'h') {
			o->help = true;
		} else if (option == 'k') {
			o->kernel = kfdabi_kernel_find(optarg);
			if (o->kernel < 0)
				return wrong_use("--kernel must be 6.12.95, 6.12.107 or 7.3, not "
						 "'%s'",
						 optarg);
		} else {
			return wrong_use(option == ':' ? "%s needs a value" : "unknown option %s",
					 argv[optind - 1]);
		}
	}
	o->rules = argv + optind;
	o->n_rules = argc - optind;
	for (int i = 0; i < o->n_rules; i++)
		if (kfdabi_rule_find(o->rules[i]) == KFDABI_RULE_NONE)
			return no_rule(o->rules[i]);
	if (o->here && o->n_rules != 1)
		return wrong_use("%s takes one rule", "--here");
	return 0;
}

/* Returns true if the rule was selected by name, or if no name was given. */
static bool wanted(const struct conform_options *o, const char *name)
{
	for (int i = 0; i < o->n_rules; i++)
		if (!strcmp(o->rules[i], name))
			return true;
	return !o->n_rules;
}

static void add_json(struct run_counts *sums, enum kfdabi_rule rule,
		     const struct suite_outcome *outcome)
{
	const struct kfdabi_rule_info *info = kfdabi_rule(rule);

	json_array_append_new(sums->list,
			      json_pack("{s:s, s:s, s:s, s:s, s:s, s:I}", "name", info->name,
					"area", kfdabi_rule_area(rule), "result",
					words[outcome->result], "rule", info->text, "reason",
					outcome->reason, "duration_us", (json_int_t)outcome->us));
}

static void add_line(struct run_counts *sums, enum kfdabi_rule rule,
		     const struct suite_outcome *outcome)
{
	static const char *const labels[SUITE_RESULTS] = {"pass", "FAIL", "n/a ", "busy"};
	const struct kfdabi_rule_info *info = kfdabi_rule(rule);
	const char *area = kfdabi_rule_area(rule);

	if (area != sums->area)
		printf("%s%s\n", sums->area ? "\n" : "", area);
	sums->area = area;
	printf("%s  %-*s  %s\n", labels[outcome->result], NAME_WIDTH, info->name, info->text);
	if (outcome->reason[0])
		printf("      %-*s  (%s)\n", NAME_WIDTH, "", outcome->reason);
	fflush(stdout);
}

static void (*const checks[KFDABI_RULES_END])(void) = {
#define RULE(id, kernels, needs, text) [RULE_##id] = check_##id,
#include "kfd/driver_rules.def"
};

/* Reads the available output into out->reason, of which the first line is used later, and discards
 * what does not fit. Returns false at the end of the pipe. */
static bool read_output(int fd, struct suite_outcome *out, size_t *n)
{
	char rest[256] = "";
	ssize_t got;

	do {
		size_t room = sizeof out->reason - 1 - *n;

		got = read(fd, room ? out->reason + *n : rest, room ? room : sizeof rest);
		if (got > 0 && room)
			*n += (size_t)got;
	} while (got > 0 || (got < 0 && errno == EINTR));
	return got < 0;
}

/* Collects the output of the check, as far as there is room, until the check ends or until
 * `until_ns`. Returns true if the check has ended. The end of the pipe is no proof of that:
 * children of a failed check or a driver that got the pipe as dbg_fd can keep it open longer. */
static bool collect(int fd, int pidfd, struct suite_outcome *out, uint64_t until_ns)
{
	struct pollfd polled[2] = {{.fd = fd, .events = POLLIN}, {.fd = pidfd, .events = POLLIN}};
	size_t n = 0;

	for (;;) {
		if (clock_ns() >= until_ns || poll_until_ns(polled, 2, until_ns) == 0)
			return false;
		if (!read_output(fd, out, &n))
			polled[0].fd = -1;
		if (polled[1].revents) {
			read_output(fd, out, &n);
			return true;
		}
	}
}

/* Runs the check in the child process, with its output in the pipe. */
static _Noreturn void child(void (*check)(void), int fd)
{
	setpgid(0, 0);
	dup2(fd, STDERR_FILENO);
	dup2(fd, STDOUT_FILENO); /* kfdconform prints its table to stdout */
	if (fd > STDERR_FILENO)
		close(fd);
	check();
	_exit(0);
}

static bool tried_again(const char *line)
{
	return !strncmp(line, SUITE_TRIED_AGAIN, strlen(SUITE_TRIED_AGAIN));
}

/* Reduces the text to one line: the first line if the check has passed, otherwise the first line
 * that is not about a repetition. */
static void choose_line(char *chosen_line, bool passed)
{
	char *line = chosen_line, *next;

	while (!passed && tried_again(line) && (next = strchr(line, '\n')))
		line = next + 1;
	memmove(chosen_line, line, strlen(line) + 1);
	chosen_line[strcspn(chosen_line, "\n")] = '\0';
}

/* Sets result and reason of a check from its wait status and its output. */
static void evaluate_status(struct suite_outcome *out, int status, bool ended)
{
	char chosen_line[sizeof out->reason];

	choose_line(out->reason, ended && WIFEXITED(status) && !WEXITSTATUS(status));
	if (!ended) {
		snprintf(out->reason, sizeof out->reason, "no end within %d s", SUITE_SECONDS);
		out->result = SUITE_FAIL;
	} else if (WIFEXITED(status) && !WEXITSTATUS(status)) {
		out->result = SUITE_PASS;
		if (!tried_again(out->reason))
			out->reason[0] = '\0';
	} else if (WIFEXITED(status) && WEXITSTATUS(status) == SUITE_SKIPPED) {
		out->result = SUITE_NOT_APPLICABLE;
	} else if (WIFEXITED(status) && WEXITSTATUS(status) == SUITE_TOO_BUSY) {
		out->result = SUITE_BUSY;
	} else {
		out->result = SUITE_FAIL;
		memcpy(chosen_line, out->reason, sizeof chosen_line);
		if (WIFSIGNALED(status))
			snprintf(out->reason, sizeof out->reason, "ended by signal %d%s%.440s",
				 WTERMSIG(status), chosen_line[0] ? ": " : "", chosen_line);
		else if (!chosen_line[0])
			snprintf(out->reason, sizeof out->reason, "exit status %d",
				 WEXITSTATUS(status));
	}
}

/* Runs the check in a process of its own with a process group of its own, which is killed when the
 * check ends or reaches the time limit. So a check that hangs, crashes or leaves children behind
 * does not affect the checks after it. Returns 0, or a negative errno if no process could be
 * created. */
static int suite_run(enum kfdabi_rule rule, struct suite_outcome *out)
{
	uint64_t start = clock_ns(), until = start + SUITE_SECONDS * 1000000000ull;
	int pipe_fd[2], pidfd, status = 0, r = 0;
	bool ended = false;
	pid_t pid;

	memset(out, 0, sizeof *out);
	if (pipe2(pipe_fd, O_CLOEXEC))
		return -errno;
	pid = fork();
	if (pid < 0) {
		r = -errno;
		close(pipe_fd[0]);
		close(pipe_fd[1]);
		return r;
	}
	if (!pid)
		child(checks[rule], pipe_fd[1]);
	setpgid(pid, pid);
	close(pipe_fd[1]);
	pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
	if (pidfd < 0 || fcntl(pipe_fd[0], F_SETFL, O_NONBLOCK))
		r = -errno;
	else
		ended = collect(pipe_fd[0], pidfd, out, until);
	kill(-pid, SIGKILL);
	if (!ended)
		kill(pid, SIGKILL);
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	close(pipe_fd[0]);
	if (pidfd >= 0)
		close(pidfd);
	evaluate_status(out, status, ended);
	out->us = (clock_ns() - start) / 1000;
	return r;
}

/* Runs the checks of the selected rules and adds their results. Returns 0 or the exit status. */
static int run(const struct conform_options *o, const struct kfdabi_machine *machine,
	       struct run_counts *sums)
{
	for (int i = KFDABI_RULE_NONE + 1; i < KFDABI_RULES_END; i++) {
		enum kfdabi_rule rule = (enum kfdabi_rule)i;
		const struct kfdabi_rule_info *info = kfdabi_rule(rule);
		const char *why_not = kfdabi_rule_why_not(rule, machine);
		struct suite_outcome outcome = {.result = SUITE_NOT_APPLICABLE};
		int r = 0;

		if (!wanted(o, info->name))
			continue;
		if (!why_not)
			r = suite_run(rule, &outcome);
		else
			snprintf(outcome.reason, sizeof outcome.reason, "%s", why_not);
		if (r) {
			fprintf(stderr, "kfdconform: cannot start a process for %s (%s)\n",
				info->name, strerror(-r));
			return 1;
		}
		sums->counts[outcome.result]++;
		if (sums->list)
			add_json(sums, rule, &outcome);
		else
			add_line(sums, rule, &outcome);
	}
	return 0;
}

/* Prints the totals, or the JSON object. Returns the exit status. */
static int finish(const struct kfdabi_machine *machine, const struct run_counts *sums)
{
	const char *kernel = kfdabi_kernel_name(machine->kernel);
	const unsigned *n = sums->counts;
	int bad = 0;

	if (!sums->list) {
		printf("\n"
		       "%u pass, %u fail, %u not applicable, %u too busy to check (rules of Linux "
		       "%s, gfx version %u%s)\n",
		       n[SUITE_PASS], n[SUITE_FAIL], n[SUITE_NOT_APPLICABLE], n[SUITE_BUSY], kernel,
		       machine->gfx_target_version, harness_simulated() ? ", simulated" : "");
	} else {
		json_t *all = json_pack("{s:b, s:s, s:i, s:i, s:i, s:i, s:i, s:O}", "simulated",
					harness_simulated(), "kernel", kernel, "gfx_target_version",
					(int)machine->gfx_target_version, "pass",
					(int)n[SUITE_PASS], "fail", (int)n[SUITE_FAIL],
					"not_applicable", (int)n[SUITE_NOT_APPLICABLE], "too_busy",
					(int)n[SUITE_BUSY], "rules", sums->list);

		bad = !all || json_dumpf(all, stdout, JSON_INDENT(1)) || puts("") == EOF;
		json_decref(all);
	}
	if (bad || n[SUITE_FAIL])
		return 1;
	return n[SUITE_BUSY] ? STATUS_TOO_BUSY : 0;
}

int main(int argc, char **argv)
{
	struct kfdabi_machine machine;
	struct run_counts sums = {0};
	struct conform_options o;
	int status;

	if (version_print(argc, argv, "kfdconform"))
		return 0;
	status = parse(&o, argc, argv);
	if (status)
		return status;
	if (o.help) {
		printf("usage: " USAGE "\n%s", help_text);
		return 0;
	}
	if (o.list) {
		for (int i = KFDABI_RULE_NONE + 1; i < KFDABI_RULES_END; i++)
			puts(kfdabi_rule((enum kfdabi_rule)i)->name);
		return 0;
	}
	if (access("/dev/kfd", R_OK | W_OK)) {
		fprintf(stderr,
			"kfdconform: cannot open /dev/kfd (%s): load the driver amdgpu and join "
			"the group render, or without a GPU run kfdsim -- kfdconform\n",
			strerror(errno));
		return SUITE_SKIPPED;
	}
	if (o.here) { /* run the check in this process, for exec_begins_anew or a debugger */
		checks[kfdabi_rule_find(o.rules[0])]();
		return 0;
	}
	status = harness_machine(&machine);
	if (status) {
		fprintf(stderr, "kfdconform: no GPU in /sys/class/kfd/kfd/topology (%s)\n",
			strerror(-status));
		return SUITE_SKIPPED;
	}
	if (o.kernel >= 0)
		machine.kernel = (enum kfdabi_kernel)o.kernel;
	sums.list = o.json ? json_array() : NULL;
	status = run(&o, &machine, &sums);
	if (!status)
		status = finish(&machine, &sums);
	json_decref(sums.list);
	return status;
}

// SPDX-License-Identifier: MIT
/*
 * kfdconform: checks whether the driver behind /dev/kfd keeps the rules that kfdshim relies on, and
 * reports the result rule by rule.
 */
#include <errno.h>
#include <getopt.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "common/version.h"
#include "tools/kfdconform/harness/harness.h"
#include "tools/kfdconform/runner.h"

#define USAGE "kfdconform [--list] [--json] [--kernel VERSION] [--here] [RULE]..."
#define STATUS_USAGE 2
#define STATUS_TOO_BUSY 3
#define NAME_WIDTH 45

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

/* Returns whether the rule was selected; without names all are. */
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

/* Returns why the rule does not apply to this machine. */
static const char *why_not(const struct kfdabi_rule_info *info,
			   const struct kfdabi_machine *machine)
{
	if (!(info->kernels >> machine->kernel & 1))
		return "a rule of other kernels";
	if (info->needs & KFDABI_NEEDS_MANY_XCC && machine->xccs < 2)
		return "needs a GPU of several XCCs";
	if (info->needs & KFDABI_NEEDS_TWO_NODES && machine->nodes < 2)
		return "needs two GPUs";
	return info->needs & KFDABI_NEEDS_PER_VMID
		       ? "needs a GPU such as gfx90a or gfx942, that debugs many processes"
		       : "needs a GPU such as gfx908, that debugs one process at a time";
}

/* Runs the checks of the selected rules and adds their results. Returns 0 or the exit status. */
static int run(const struct conform_options *o, const struct kfdabi_machine *machine,
	       struct run_counts *sums)
{
	for (int i = KFDABI_RULE_NONE + 1; i < KFDABI_RULES_END; i++) {
		enum kfdabi_rule rule = (enum kfdabi_rule)i;
		const struct kfdabi_rule_info *info = kfdabi_rule(rule);
		struct suite_outcome outcome = {.result = SUITE_NOT_APPLICABLE};
		int r = 0;

		if (!wanted(o, info->name))
			continue;
		if (kfdabi_rule_applies(rule, machine))
			r = suite_run(rule, &outcome);
		else
			snprintf(outcome.reason, sizeof outcome.reason, "%s",
				 why_not(info, machine));
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
	if (o.here) { /* in this process: after exec, or under a debugger */
		suite_check(kfdabi_rule_find(o.rules[0]));
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

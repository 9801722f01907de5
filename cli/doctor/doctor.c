// SPDX-License-Identifier: MIT
/* kfdsched doctor: checks whether preemption works on this machine, and advises how to fix it. */
#include <stdio.h>

#include "cli/doctor/checks.h"
#include "cli/output/fields.h"
#include "cli/util/gpus.h"
#include "cli/util/parse_options.h"
#include "common/json_util.h"

/* Prints all findings and the GPUs as JSON. */
static void print_json(const struct doctor_facts *facts, const struct doctor_findings *findings)
{
	render_print(json_pack("{sb so so sb so so so}", "simulated", (int)facts->simulated,
			       "profile", plain_or_null(facts->profile), "kernel",
			       plain_or_null(facts->simulated ? facts->simulated_kernel
							      : facts->release),
			       "usable", (int)doctor_usable(findings), "pid",
			       json_number(facts->chosen_pid, facts->chosen_pid), "gpus",
			       gpus_json(), "findings", findings_json(findings, false)),
		     JSON_INDENT(2));
}

/* Prints how many findings there are of each verdict, so that a machine without problems shows that
 * it was checked. */
static void print_summary(const struct doctor_findings *findings, size_t gpus)
{
	unsigned n[4] = {0};

	for (size_t i = 0; i < findings->count; i++)
		n[findings->list[i].verdict]++;
	printf("%zu GPU%s, %zu checks: %u missing, %u warnings, %u unknown, %u ok%s\n", gpus,
	       gpus == 1 ? "" : "s", findings->count, n[DOCTOR_MISSING], n[DOCTOR_WARNING],
	       n[DOCTOR_CANNOT_KNOW], n[DOCTOR_OK], n[DOCTOR_OK] ? " (-v shows all)" : "");
}

static void print_table(const struct doctor_facts *facts, const struct doctor_findings *findings,
			enum findings_view view)
{
	unsigned rows;

	print_simulated(facts, "", "\n");
	rows = findings_print(findings, view);
	if (view == VIEW_PROBLEMS) {
		if (rows > 0)
			putchar('\n');
		print_summary(findings, facts->node_count);
	}
}

/* Prints the table of checks. */
static int list_checks(void)
{
	struct table *table = table_new("<CHECK|<SCOPE|<QUESTION");

	for (enum doctor_check check = 0; check < DOCTOR_CHECKS; check++) {
		table_row(table);
		table_cell(table, "%s", doctor_check_name(check));
		table_cell(table, "%s", doctor_scope_name(doctor_check_scope(check)));
		table_cell(table, "%s", doctor_check_question(check));
	}
	table_print(table, stdout);
	return CLI_DONE;
}

/* Collects the facts, evaluates them and prints the findings. Returns the exit code. */
static int report(const char *socket, int pid, bool as_json, bool whole)
{
	struct doctor_findings findings = {0};
	struct doctor_facts facts;
	int code;

	if (doctor_collect(&facts, socket, pid)) {
		code = cli_failed(&cmd_doctor, "process %d has ended", pid);
	} else {
		doctor_check(&facts, &findings);
		if (as_json)
			print_json(&facts, &findings);
		else
			print_table(&facts, &findings, whole ? VIEW_ALL : VIEW_PROBLEMS);
		code = doctor_usable(&findings) ? CLI_DONE : CLI_FAILED;
	}
	doctor_findings_free(&findings);
	doctor_facts_free(&facts);
	return code;
}

static int run(int argc, char **argv)
{
	const char *socket = NULL;
	bool as_json = false, whole = false, list = false;
	int pid = 0;
	const struct cli_option options[] = {
		{OPTION_FLAG("verbose", &whole), .letter = 'v'},
		{OPTION_FLAG("list", &list)},
		{OPTION_JSON(&as_json)},
		{OPTION_SOCKET(&socket)},
		{WORD_PID(&pid), .optional = true},
		{0},
	};
	int code = options_read(&cmd_doctor, argc, argv, options);

	if (code != CLI_GO_ON)
		return code;
	if (list)
		return list_checks();
	/* If a process was named, show all findings about it. */
	return report(socket, pid, as_json, whole || pid);
}

const struct cli_command cmd_doctor = {
	.name = "doctor",
	.summary = "check whether preemption works here, and how to fix it",
	.usage = "[PID] [-v] [--list] [--json] [--socket PATH]",
	.help = "Checks kernel, driver, GPUs, rights, the daemon, the shim and the processes that use a GPU,\n"
		"and prints each problem with one advice, and a summary; a result that is the same on\n"
		"several GPUs is printed once. With PID: how that process can be preempted, and the\n"
		"obstacles to a better level.\n"
		"\n"
		"  -v, --verbose  prints all checks, one line each\n"
		"  --list         prints the names of the checks, and checks nothing\n"
		"  --json         one object; docs/reference/doctor.md describes the keys\n"
		"  --socket PATH  where the daemon listens; without it KFDSHIM_SOCKET, or\n"
		"                 /run/kfdsched/socket\n"
		"\n"
		"VERDICT: ok; warning: preemption is slower, or not possible for all processes; missing:\n"
		"preemption does not work until this is fixed; unknown: not visible from here. The exit code\n"
		"is 1 if anything is missing.\n"
		"\n"
		"Examples:\n"
		"  kfdsched doctor 4711\n"
		"  kfdsched doctor --json | jq -r '.findings[] | select(.advice) | .advice'\n",
	.run = run,
};

// SPDX-License-Identifier: MIT
/* kfdsched doctor: checks whether preemption works on this machine, and advises how to fix it.
 * Has the functions that print findings as a table and as JSON, which diagnose uses, too. */
#include <stdio.h>
#include <string.h>

#include "cli/doctor/checks.h"
#include "cli/output/fields.h"
#include "cli/util/gpus.h"
#include "cli/util/parse_options.h"
#include "common/json_util.h"

/* ---- findings ---- */

void print_simulated(const struct doctor_facts *facts, const char *begin, const char *end)
{
	if (facts->simulated)
		printf("%sSIMULATED GPU: %s, with the rules of Linux %s. The results do not apply "
		       "to hardware.%s\n",
		       begin, facts->profile[0] ? facts->profile : "?",
		       facts->simulated_kernel[0] ? facts->simulated_kernel : "?", end);
}

/* Returns the text of a finding. If `of_one` is set, returns only the reason of a finding "level",
 * because the process and its level are printed elsewhere. */
static const char *text_of(const struct doctor_finding *f, bool of_one)
{
	return of_one && f->check == CHECK_level ? f->found + f->why : f->found;
}

json_t *findings_json(const struct doctor_findings *findings, bool of_one)
{
	json_t *list = json_array();

	for (size_t i = 0; i < findings->count; i++) {
		const struct doctor_finding *f = &findings->list[i];
		const char *found = text_of(f, of_one);
		json_t *pid = of_one ? NULL : json_number(f->pid, f->pid);

		/* "-" in a table is null in JSON */
		json_array_append_new(
			list,
			json_pack("{ss so so* ss so so}", "check", doctor_check_name(f->check),
				  "gpu_id", json_number(f->gpu_id, f->gpu_id), "pid", pid,
				  "verdict", doctor_verdict_name(f->verdict), "found",
				  strcmp(found, TABLE_UNKNOWN) ? plain_or_null(found) : json_null(),
				  "advice", plain_or_null(f->advice)));
	}
	return list;
}

/* Returns true if two findings differ only in their GPU: the same problem on each of eight GPUs is
 * shown as one. */
static bool is_alike(const struct doctor_finding *a, const struct doctor_finding *b)
{
	return a->gpu_id && b->gpu_id && a->verdict == b->verdict && a->check == b->check &&
	       strcmp(a->advice, b->advice) == 0;
}

/* Returns the number of findings like the one at index `at`, including itself. Returns 0 if the
 * list has such a finding before `at`: one row was already printed for all of them. */
static unsigned count_alike(const struct doctor_findings *findings, size_t at)
{
	unsigned count = 0;

	for (size_t i = 0; i < findings->count; i++) {
		if (i != at && !is_alike(&findings->list[i], &findings->list[at]))
			continue;
		if (i < at)
			return 0;
		count++;
	}
	return count;
}

/* Writes the subject of a finding: "kernel", "GPU 0 render node", "process 12 level". `others`:
 * further GPUs with the same finding, "GPU 0 and 7 others render node". */
static void subject(char *text, size_t size, const struct doctor_finding *f, unsigned others)
{
	char name[GPU_NAME_SHORT], more[32] = "";
	int used = 0;

	if (others)
		snprintf(more, sizeof(more), " and %u other%s", others, others > 1 ? "s" : "");
	if (f->gpu_id)
		used = snprintf(text, size, "GPU %s%s", gpus_short(name, f->gpu_id), more);
	else if (f->pid)
		used = snprintf(text, size, "process %d", f->pid);
	if (f->gpu_id && f->check == CHECK_gpu)
		return;
	snprintf(text + used, size - (size_t)used, "%s%s", used ? " " : "",
		 doctor_check_name(f->check));
	for (char *c = text + used; *c; c++)
		if (*c == '_')
			*c = ' ';
}

static void print_row(struct table *table, const struct doctor_finding *f, unsigned others,
		      enum findings_view view)
{
	const struct gpu_name *gpu = f->check == CHECK_gpu ? gpus_name(f->gpu_id) : NULL;
	bool of_one = view == VIEW_OBSTACLES;
	struct doctor_finding shown = *f;
	char text[96], name[GPU_NAME_LONG];

	/* The verdict above the table has named the process. */
	if (of_one)
		shown.pid = 0;
	subject(text, sizeof(text), &shown, others);
	table_row(table);
	table_cell(table, "%s", text);
	if (!of_one)
		table_cell(table, "%s", doctor_verdict_name(f->verdict));
	table_cell(table, "%s%s%s", gpu ? gpu_name_long(name, gpu) : "", gpu ? ": " : "",
		   text_of(f, of_one));
	table_cell(table, "%s", f->advice);
}

unsigned findings_print(const struct doctor_findings *findings, enum findings_view view)
{
	struct table *table = table_new(view == VIEW_OBSTACLES ? "<OBSTACLE|<FOUND|<ADVICE"
							       : "<CHECK|<VERDICT|<FOUND|<ADVICE");
	unsigned rows = 0;

	for (size_t i = 0; i < findings->count; i++) {
		const struct doctor_finding *f = &findings->list[i];
		unsigned alike = view == VIEW_PROBLEMS ? count_alike(findings, i) : 1;

		if (!alike || (view == VIEW_PROBLEMS &&
			       (f->verdict == DOCTOR_OK || f->verdict == DOCTOR_CANNOT_KNOW)))
			continue;
		print_row(table, f, alike - 1, view);
		rows++;
	}
	if (rows)
		table_print(table, stdout);
	else
		table_free(table);
	return rows;
}

/* ---- the command ---- */

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

/* Prints the number of findings with each verdict. The table lists only problems, so without this
 * line a machine without problems would look as if nothing was checked. */
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
		"  --json         one object; docs/reference/doctor.md describes the keys\n" HELP_SOCKET
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

// SPDX-License-Identifier: MIT
/* kfdsched doctor: checks whether preemption works on this machine, and advises how to fix it. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/doctor/checks_driver.h"
#include "cli/output/table.h"
#include "cli/util/gpus.h"
#include "cli/util/parse_options.h"
#include "common/text.h"

static json_t *number_or_null(long long number)
{
	return number ? json_integer(number) : json_null();
}

/* A finding that is not known is "-" in the table and null in JSON. */
static json_t *found_json(const struct doctor_finding *finding)
{
	return strcmp(finding->found, TABLE_UNKNOWN) ? plain_json(finding->found) : json_null();
}

/* Prints all findings and the GPUs as JSON. */
static int print_json(const struct doctor_facts *facts, const struct doctor_findings *findings)
{
	json_t *list = json_array();

	for (size_t i = 0; i < findings->count; i++) {
		const struct doctor_finding *f = &findings->list[i];

		json_array_append_new(
			list, json_pack("{ss so so ss so so}", "check", f->check, "gpu_id",
					number_or_null(f->gpu_id), "pid", number_or_null(f->pid),
					"verdict", doctor_verdict_name(f->verdict), "found",
					found_json(f), "advice", plain_or_null(f->advice)));
	}
	json_t *root = json_pack(
		"{sb so so sb so so so}", "simulated", (int)facts->simulated, "profile",
		plain_or_null(facts->profile), "kernel",
		plain_or_null(facts->simulated ? facts->simulated_kernel : facts->release),
		"usable", (int)doctor_usable(findings), "pid", number_or_null(facts->chosen_pid),
		"gpus", gpus_json(), "findings", list);
	int rc = root ? plain_json_print(root, stdout, JSON_INDENT(2)) : -1;

	putchar('\n');
	json_decref(root);
	return rc;
}

/* Returns true if two findings differ only in their GPU: the same problem on each of eight GPUs is
 * shown as one. */
static bool is_alike(const struct doctor_finding *a, const struct doctor_finding *b)
{
	return a->gpu_id && b->gpu_id && a->verdict == b->verdict &&
	       strcmp(a->check, b->check) == 0 && strcmp(a->advice, b->advice) == 0;
}

/* Returns how many findings are like the one at `at`, itself included. 0: an earlier one is like it
 * and has already been shown for all. */
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
		used = snprintf(text, size, "GPU %s%s",
				gpu_name_short(name, gpus_name(f->gpu_id), f->gpu_id), more);
	else if (f->pid)
		used = snprintf(text, size, "process %d", f->pid);
	if (f->gpu_id && !strcmp(f->check, "gpu"))
		return;
	snprintf(text + used, size - (size_t)used, "%s%s", used ? " " : "", f->check);
	for (char *c = text + used; *c; c++)
		if (*c == '_')
			*c = ' ';
}

static void print_row(struct table *table, const struct doctor_finding *f, unsigned others)
{
	const struct gpu_name *gpu = strcmp(f->check, "gpu") == 0 ? gpus_name(f->gpu_id) : NULL;
	char text[96], name[GPU_NAME_LONG];

	subject(text, sizeof(text), f, others);
	table_row(table);
	table_cell(table, "%s", text);
	table_cell(table, "%s", doctor_verdict_name(f->verdict));
	table_cell(table, "%s%s%s", gpu ? gpu_name_long(name, gpu) : "", gpu ? ": " : "", f->found);
	table_cell(table, "%s", f->advice);
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

/* Prints the findings as a table. whole: all of them; otherwise only problems, one row for findings
 * that are alike, and a summary. */
static int print_table(const struct doctor_facts *facts, const struct doctor_findings *findings,
		       bool whole)
{
	struct table *table = table_new("<CHECK|<VERDICT|<FOUND|<ADVICE");
	size_t rows = 0;
	int rc = 0;

	if (!table)
		return -1;
	if (facts->simulated)
		printf("SIMULATED GPU: %s, with the rules of Linux %s. The results do not apply to "
		       "hardware.\n"
		       "\n",
		       facts->profile[0] ? facts->profile : "?",
		       facts->simulated_kernel[0] ? facts->simulated_kernel : "?");
	for (size_t i = 0; i < findings->count; i++) {
		const struct doctor_finding *f = &findings->list[i];
		unsigned alike = whole ? 1 : count_alike(findings, i);

		if (!alike ||
		    (!whole && (f->verdict == DOCTOR_OK || f->verdict == DOCTOR_CANNOT_KNOW)))
			continue;
		print_row(table, f, alike - 1);
		rows++;
	}
	if (rows)
		rc = table_print(table, stdout);
	table_free(table);
	if (!whole) {
		if (rows)
			putchar('\n');
		print_summary(findings, facts->node_count);
	}
	return rc;
}

/* Collects the facts, evaluates them and prints the findings. Returns the exit code. */
static int report(const char *socket, int pid, bool as_json, bool whole)
{
	struct doctor_findings findings = {0};
	struct doctor_facts facts;
	int code, rc = doctor_collect(&facts, socket, pid);

	if (!rc) {
		doctor_check(&facts, &findings);
		rc = findings.failed ? -ENOMEM : 0;
	}
	if (!rc)
		rc = as_json ? print_json(&facts, &findings)
			     : print_table(&facts, &findings, whole);
	code = rc			  ? cli_failed(&cmd_doctor, "out of memory for the "
											    "findings")
	       : doctor_usable(&findings) ? CLI_DONE
					  : CLI_FAILED;
	doctor_findings_free(&findings);
	doctor_facts_free(&facts);
	return code;
}

static int run(int argc, char **argv)
{
	const char *socket = NULL;
	bool as_json = false, whole = false;
	int pid = 0;
	const struct cli_option options[] = {
		{OPTION_FLAG("verbose", &whole), .letter = 'v'},
		{OPTION_JSON(&as_json)},
		{OPTION_SOCKET(&socket)},
		{WORD_PID(&pid), .optional = true},
		{0},
	};
	int code = options_read(&cmd_doctor, argc, argv, options);

	if (code != CLI_GO_ON)
		return code;
	if (pid && kill(pid, 0) != 0 && errno == ESRCH)
		return cli_failed(&cmd_doctor, "process %d has ended", pid);
	/* Of one process all findings are shown. */
	return report(socket, pid, as_json, whole || pid);
}

const struct cli_command cmd_doctor = {
	.name = "doctor",
	.summary = "check whether preemption works here, and how to fix it",
	.usage = "[PID] [-v] [--json] [--socket PATH]",
	.help = "Checks kernel, driver, GPUs, rights, the daemon, the shim and the processes that use a GPU,\n"
		"and prints each problem with one advice, and a summary; a result that is the same on\n"
		"several GPUs is printed once. With PID: how that process can be preempted, and the\n"
		"obstacles to a better level.\n"
		"\n"
		"  -v, --verbose  prints all checks, one line each\n"
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

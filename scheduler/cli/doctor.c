// SPDX-License-Identifier: MIT
/* kfdsched doctor: what stands in the way of preemption here, and what mends it. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/plain_text.h"
#include "scheduler/cli/doctor_judge.h"
#include "scheduler/cli/options.h"
#include "scheduler/cli/table.h"

static json_t *number_or_null(long long number)
{
	return number ? json_integer(number) : json_null();
}

/* "-" is for readers of the table. */
static json_t *found_json(const struct doctor_finding *finding)
{
	return strcmp(finding->found, TABLE_UNKNOWN) ? plain_json(finding->found) : json_null();
}

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
		"{sb so so sb so so}", "simulated", (int)facts->simulated, "profile",
		plain_or_null(facts->profile), "kernel",
		plain_or_null(facts->simulated ? facts->simulated_kernel : facts->release),
		"usable", (int)doctor_usable(findings), "pid", number_or_null(facts->asked_pid),
		"findings", list);
	int rc = root ? plain_json_print(root, stdout, JSON_INDENT(2)) : -1;

	putchar('\n');
	json_decref(root);
	return rc;
}

/* "kernel", "GPU 19729 render node", "process 12 level". */
static void subject(char *text, size_t size, const struct doctor_finding *f)
{
	int used = 0;

	if (f->gpu_id)
		used = snprintf(text, size, "GPU %u", f->gpu_id);
	else if (f->pid)
		used = snprintf(text, size, "process %d", f->pid);
	if (f->gpu_id && !strcmp(f->check, "gpu"))
		return;
	snprintf(text + used, size - (size_t)used, "%s%s", used ? " " : "", f->check);
	for (char *c = text + used; *c; c++)
		if (*c == '_')
			*c = ' ';
}

static int print_table(const struct doctor_facts *facts, const struct doctor_findings *findings)
{
	struct table *table = table_new("<WHAT|<VERDICT|<FOUND|<ADVICE");
	char text[96];

	if (!table)
		return -1;
	if (facts->simulated)
		printf("SIMULATED GPU: %s, with the rules of Linux %s. Nothing here is about "
		       "hardware.\n\n",
		       facts->profile[0] ? facts->profile : "?",
		       facts->simulated_kernel[0] ? facts->simulated_kernel : "?");
	for (size_t i = 0; i < findings->count; i++) {
		const struct doctor_finding *f = &findings->list[i];

		subject(text, sizeof(text), f);
		table_row(table);
		table_cell(table, "%s", text);
		table_cell(table, "%s", doctor_verdict_name(f->verdict));
		table_cell(table, "%s", f->found);
		table_cell(table, "%s", f->advice);
	}
	int rc = table_print(table, stdout);

	table_free(table);
	return rc;
}

static int report(const char *socket, int pid, bool as_json)
{
	struct doctor_findings findings = {0};
	struct doctor_facts facts;
	int code, rc = doctor_gather(&facts, socket, pid);

	if (!rc) {
		doctor_judge(&facts, &findings);
		rc = findings.failed ? -ENOMEM : 0;
	}
	if (!rc)
		rc = as_json ? print_json(&facts, &findings) : print_table(&facts, &findings);
	code = rc			  ? cli_failed(&verb_doctor, "no memory for the findings")
	       : doctor_usable(&findings) ? CLI_DONE
					  : CLI_FAILED;
	doctor_findings_free(&findings);
	doctor_facts_free(&facts);
	return code;
}

static int run(int argc, char **argv)
{
	const char *socket = NULL;
	bool as_json = false;
	int pid = 0;
	const struct verb_option options[] = {
		{OPTION_JSON(&as_json)},
		{OPTION_SOCKET(&socket)},
		{WORD_PID(&pid), .optional = true},
		{0},
	};
	int code = options_read(&verb_doctor, argc, argv, options);

	if (code != CLI_GO_ON)
		return code;
	if (pid && kill(pid, 0) != 0 && errno == ESRCH)
		return cli_failed(&verb_doctor, "process %d is gone", pid);
	return report(socket, pid, as_json);
}

const struct verb verb_doctor = {
	.name = "doctor",
	.summary = "what stands in the way of preemption here, and what mends it",
	.usage = "[PID] [--json] [--socket PATH]",
	.help = "Looks at kernel, driver, GPUs, rights, the daemon, the shim and the processes that use\n"
		"a GPU: one line each, and one advice where something is amiss. With PID: how that\n"
		"process can be preempted, and what stands in the way of a better level.\n"
		"\n"
		"  --json         docs/formats.md names the keys\n"
		"  --socket PATH  where the daemon listens; without it KFDSHIM_SOCKET, or\n"
		"                 /run/kfdsched/socket\n"
		"\n"
		"VERDICT: ok; warning: preemption works worse, or not for all; missing: it does not\n"
		"work until that is mended; unknown: not to be seen from here. The exit code is 1 if\n"
		"anything is missing.\n"
		"\n"
		"Examples:\n"
		"  kfdsched doctor 4711\n"
		"  kfdsched doctor --json | jq -r '.findings[] | select(.advice) | .advice'\n",
	.run = run,
};

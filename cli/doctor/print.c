// SPDX-License-Identifier: MIT
/* Prints findings as a table and as JSON. */
#include <stdio.h>
#include <string.h>

#include "cli/doctor/checks.h"
#include "cli/output/fields.h"
#include "cli/util/gpus.h"
#include "common/json_util.h"

void print_simulated(const struct doctor_facts *facts, const char *begin, const char *end)
{
	if (facts->simulated)
		printf("%sSIMULATED GPU: %s, with the rules of Linux %s. The results do not apply "
		       "to hardware.%s\n",
		       begin, facts->profile[0] ? facts->profile : "?",
		       facts->simulated_kernel[0] ? facts->simulated_kernel : "?", end);
}

/* Returns the text of a finding; if `of_one` is set, of check "level" only the reason. */
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

/* Returns the number of findings that are like the one at index `at`, itself included; 0 if an
 * earlier finding is like it, because that one was shown for all of them. */
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

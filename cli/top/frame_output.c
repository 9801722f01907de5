// SPDX-License-Identifier: MIT
#include "cli/top/frame_output.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "cli/output/table.h"
#include "cli/util/command.h"
#include "cli/util/gpus.h"

static void cell_number(struct table *table, int64_t value)
{
	if (value < 0)
		table_cell(table, TABLE_UNKNOWN);
	else
		table_cell(table, "%lld", (long long)value);
}

static void cell_word(struct table *table, const char *word)
{
	table_cell(table, "%s", word[0] ? word : TABLE_UNKNOWN);
}

static const char *rate(char text[static QUANTITY_BYTES], double value)
{
	if (isnan(value))
		strcpy(text, TABLE_UNKNOWN);
	else
		snprintf(text, QUANTITY_BYTES, "%.1f", value);
	return text;
}

static int print_nodes(const struct top_frame *frame)
{
	static const char *const sources[] = {"", "work (daemon)", "CUs (sysfs)"};
	struct table *table = table_new(
		"NODE|<GPU|BUSY %|<OF|QUEUES|SLOTS|<URGENT WORK|SUSPENDED|<POLICY|" GPUS_COLUMNS);
	char text[QUANTITY_BYTES];
	int rc;

	if (!table)
		return -ENOMEM;
	for (size_t i = 0; i < frame->node_count; i++) {
		const struct top_node_row *row = &frame->nodes[i];
		const struct top_node *node = row->node;

		table_row(table);
		table_cell(table, "%u", node->gpu_id);
		cell_word(table, node->name);
		table_cell(table, "%s", rate(text, 100 * row->busy_ratio));
		cell_word(table, sources[row->busy_by]);
		cell_number(table, node->queues);
		cell_number(table, node->slots);
		cell_word(table, node->urgent < 0 ? "" : node->urgent ? "yes" : "no");
		cell_number(table, node->suspended);
		cell_word(table, node->policy);
		gpus_cells(table, node->gpu_id);
	}
	rc = table_print(table, stdout);
	table_free(table);
	return rc;
}

static int print_rows(const struct top_frame *frame)
{
	char titles[256] = "", text[TOP_CELL];
	struct table *table;
	int rc;

	for (unsigned c = 0; c < TOP_COLUMNS; c++) {
		const struct top_column_info *info = top_column_info((enum top_column)c);

		snprintf(titles + strlen(titles), sizeof(titles) - strlen(titles), "%s%s%s",
			 c ? "|" : "", info->left ? "<" : "", info->title);
	}
	table = table_new(titles);
	if (!table)
		return -ENOMEM;
	for (size_t i = 0; i < frame->row_count; i++) {
		table_row(table);
		for (unsigned c = 0; c < TOP_COLUMNS; c++)
			table_cell(table, "%s",
				   top_column_text(text, &frame->rows[i], (enum top_column)c));
	}
	rc = table_print(table, stdout);
	table_free(table);
	return rc;
}

static void print_totals(const struct top_frame *frame)
{
	char a[QUANTITY_BYTES], b[QUANTITY_BYTES], c[QUANTITY_BYTES];

	if (!frame->now->by_daemon) {
		cli_print_error("no daemon: %s", frame->now->why);
		return;
	}
	printf("kfdschedd %d, policy %s; per second: %s suspends, %s resumes, %s failures\n",
	       (int)frame->now->daemon_pid, frame->now->policy, rate(a, frame->suspends_per_s),
	       rate(b, frame->resumes_per_s), rate(c, frame->failures_per_s));
	printf("suspends take P50 %s, P99 %s", quantity_us(a, frame->suspend_p50_us),
	       quantity_us(b, frame->suspend_p99_us));
	printf("; they begin P50 %s, P99 %s after the work\n",
	       quantity_us(a, frame->detection_p50_us), quantity_us(b, frame->detection_p99_us));
}

int top_print(const struct top_frame *frame)
{
	print_totals(frame);
	if (frame->node_count) {
		putchar('\n');
		if (print_nodes(frame))
			return -ENOMEM;
	}
	putchar('\n');
	if (frame->row_count)
		return print_rows(frame);
	printf("no process uses a GPU\n");
	return 0;
}

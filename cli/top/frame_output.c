// SPDX-License-Identifier: MIT
/* Prints one frame of kfdsched top as lines of text, or makes its JSON. */
#include "cli/top/frame.h"

#include <math.h>
#include <string.h>

#include "cli/util/command.h"
#include "cli/util/gpus.h"
#include "cli/util/objects.h"
#include "common/json_util.h"

static const char *rate(char text[static QUANTITY_BYTES], double value)
{
	if (isnan(value))
		strcpy(text, TABLE_UNKNOWN);
	else
		snprintf(text, QUANTITY_BYTES, "%.1f", value);
	return text;
}

/* ---- JSON ---- */

static json_t *busy_source(const void *row)
{
	static const char *const sources[] = {NULL, "daemon", "sysfs"};

	return plain_or_null(sources[((const struct top_node_row *)row)->busy_by]);
}

static json_t *process_source(const void *row)
{
	return json_string(((const struct top_process *)row)->by_daemon ? "daemon" : "sysfs");
}

static const char *busy_cell(char text[FIELD_CELL], const json_t *row)
{
	const json_t *ratio = json_object_get(row, "busy_ratio");

	return rate(text, json_is_real(ratio) ? 100 * json_real_value(ratio) : NAN);
}

static const char *busy_of_cell(char text[FIELD_CELL], const json_t *row)
{
	const char *source = json_string_value(json_object_get(row, "busy_source"));

	(void)text;
	return !source ? TABLE_UNKNOWN : source[0] == 'd' ? "work (daemon)" : "CUs (sysfs)";
}

#include "cli/top/once.def"

json_t *top_json(const struct top_frame *frame)
{
	json_t *out = render_json(fields_top, frame);

	json_object_set_new(out, "seconds",
			    frame->seconds > 0 ? json_real(frame->seconds) : json_null());
	json_object_set_new(out, "why_no_daemon", plain_or_null(frame->now->why));
	if (!frame->now->by_daemon)
		json_object_set_new(out, "daemon", json_null());
	return out;
}

/* ---- text ---- */

static void print_nodes(const struct top_frame *frame)
{
	json_t *nodes = render_list(fields_top_node, frame->nodes, frame->node_count,
				    sizeof(*frame->nodes));

	render_table(fields_top_node,
		     "gpu_id,name,BUSY %,OF,compute_queues,slots,urgent,suspended,policy,"
		     "GPU,NAME",
		     nodes, stdout);
}

static void print_rows(const struct top_frame *frame)
{
	char titles[256] = "", text[TOP_CELL];
	struct table *table;

	for (unsigned c = 0; c < TOP_COLUMNS; c++) {
		const struct top_column_info *info = top_column_info((enum top_column)c);

		snprintf(titles + strlen(titles), sizeof(titles) - strlen(titles), "%s%s%s",
			 c ? "|" : "", info->left ? "<" : "", info->title);
	}
	table = table_new(titles);
	for (size_t i = 0; i < frame->row_count; i++) {
		table_row(table);
		for (unsigned c = 0; c < TOP_COLUMNS; c++)
			table_cell(table, "%s",
				   top_column_text(text, &frame->rows[i], (enum top_column)c));
	}
	table_print(table, stdout);
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

void top_print(const struct top_frame *frame)
{
	print_totals(frame);
	if (frame->node_count) {
		putchar('\n');
		print_nodes(frame);
	}
	putchar('\n');
	if (frame->row_count)
		print_rows(frame);
	else
		printf("no process uses a GPU\n");
}

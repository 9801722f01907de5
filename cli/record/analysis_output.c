// SPDX-License-Identifier: MIT
/* The output of an analysis: text chart, SVG, sentences, JSON. */
#include <math.h>
#include <string.h>

#include "cli/output/svg.h"
#include "cli/record/analysis.h"
#include "cli/util/gpus.h"
#include "cli/util/objects.h"

#define CHART_WIDTH 60u
#define CHART_HEIGHT 8u

/* ---- the chart ---- */

/* Returns the highest queue count of the curve. */
static size_t highest(const struct analysis *a)
{
	size_t max = 0;

	for (size_t i = 0; i < a->points; i++)
		if (a->point[i].max > max)
			max = a->point[i].max;
	return max;
}

void analysis_chart(const struct analysis *a, FILE *out)
{
	size_t max = highest(a);
	unsigned columns = a->points < CHART_WIDTH ? (unsigned)a->points : CHART_WIDTH;
	/* Few samples would give a narrow chart, so each gets up to 8 columns if there is room. */
	unsigned wide = columns ? CHART_WIDTH / columns : 0;
	unsigned height = max < CHART_HEIGHT ? (unsigned)max : CHART_HEIGHT;

	if (columns == 0)
		return;
	wide = wide > 8 ? 8 : wide;
	for (unsigned row = height; row > 0; row--) {
		/* The lowest count that reaches this row. */
		size_t least = (row * max + height - 1) / height;

		fprintf(out, "%6zu |", least);
		for (unsigned c = 0; c < columns; c++) {
			size_t from = c * a->points / columns, to = (c + 1) * a->points / columns;
			size_t top = 0;

			for (size_t i = from; i < to; i++)
				top = a->point[i].max > top ? a->point[i].max : top;
			for (unsigned i = 0; i < wide; i++)
				fputc(top >= least ? '#' : ' ', out);
		}
		fputc('\n', out);
	}
	fprintf(out, "     0 +");
	for (unsigned i = 0; i < columns * wide; i++)
		fputc('-', out);
	char from[32], to[32];

	snprintf(from, sizeof(from), "%.1f s", a->point[0].from);
	snprintf(to, sizeof(to), "%.1f s", a->point[a->points - 1].to);
	int gap = (int)(columns * wide) - (int)strlen(from);

	if (a->points > 1)
		fprintf(out, "\n        %s%*s\n", from, gap > 0 ? gap : 0, to);
	else
		fprintf(out, "\n        %s\n", from);
}

/* ---- the same curve, as SVG ---- */

/* Pixels. */
#define WIDTH 960.0
#define HEIGHT 320.0
#define LEFT 64.0
#define RIGHT 24.0
#define TOP 64.0
#define BOTTOM 48.0

#define STEPS 6 /* grid steps that fit on an axis */

static const char style[] = ".line{stroke:#0e9384;stroke-width:2;fill:none}"
			    ".area{fill:#0e9384;opacity:.18}\n";
static const char dark[] = ".line{stroke:#1fb5a3}.area{fill:#1fb5a3}";

/* x_of() returns the x coordinate of a time, y_of() the y coordinate of a queue count. `top`: the
 * count at the upper edge of the plot. */
static double x_of(const struct analysis *a, double seconds)
{
	double first = a->point[0].from, range = a->point[a->points - 1].to - first;
	double share = range > 0 ? (seconds - first) / range : 0;

	/* The times of a recording are not trusted: they may go backwards. */
	share = share < 0 ? 0 : share > 1 ? 1 : share;
	return LEFT + share * (WIDTH - LEFT - RIGHT);
}

static double y_of(double queues, double top)
{
	return HEIGHT - BOTTOM - queues / top * (HEIGHT - TOP - BOTTOM);
}

/* Writes the corners of the curve as SVG coordinates. The curve has a horizontal line from each
 * point to the start of the next. */
static void steps(const struct analysis *a, double top, FILE *out)
{
	for (size_t i = 0; i < a->points; i++) {
		double end = i + 1 < a->points ? a->point[i + 1].from : a->point[i].to;
		double y = y_of((double)a->point[i].max, top);

		fprintf(out, "%.1f,%.1f %.1f,%.1f ", x_of(a, a->point[i].from), y, x_of(a, end), y);
	}
}

/* Draws a labelled grid line for each step of the queue axis. A step is at least one queue. */
static void queues_axis(double top, FILE *out)
{
	double step = fmax(svg_step(top, STEPS), 1);
	char text[32];

	for (double n = 0; n <= top; n += step) {
		double y = y_of(n, top);

		svg_line(out, "grid", LEFT, y, WIDTH - RIGHT, y);
		snprintf(text, sizeof(text), "%.0f", n);
		svg_text(out, LEFT - 8, y + 4, "tick", "end", text);
	}
}

/* Labels the time axis. If all times lie within 1 us, writes a single label. */
static void time_axis(const struct analysis *a, FILE *out)
{
	double first = a->point[0].from, range = a->point[a->points - 1].to - first;
	double step = range > 1e-6 ? svg_step(range, STEPS) : 1;
	char text[32];

	for (double s = 0; s <= range; s += step) {
		snprintf(text, sizeof(text), "%.3g s", first + s);
		svg_text(out, x_of(a, first + s), HEIGHT - BOTTOM + 20, "tick", "middle", text);
	}
}

void analysis_svg(const struct analysis *a, const char *title, FILE *out)
{
	double top = 1;

	for (size_t i = 0; i < a->points; i++)
		top = fmax(top, (double)a->point[i].max);
	svg_begin(out, WIDTH, HEIGHT, title, style, dark);
	svg_text(out, LEFT, 32, "title", "start", title);
	queues_axis(top, out);
	if (a->points > 0) {
		fprintf(out, "<polygon class=\"area\" points=\"%.1f,%.1f ", LEFT, y_of(0, top));
		steps(a, top, out);
		fprintf(out, "%.1f,%.1f\"/>\n<polyline class=\"line\" points=\"",
			x_of(a, a->point[a->points - 1].to), y_of(0, top));
		steps(a, top, out);
		fputs("\"/>\n", out);
		time_axis(a, out);
	} else {
		svg_text(out, LEFT + 16, HEIGHT / 2, "soft", "start",
			 "No sample has a number of queues.");
	}
	svg_end(out);
}

/* ---- plain words ---- */

static const char *plural(size_t n)
{
	return n == 1 ? "" : "s";
}

/* Adds a sentence about how many queues the processes had in total. */
static void print_counts(const struct analysis *a, json_t *list)
{
	size_t max = highest(a), min = max;

	for (size_t i = 0; i < a->points; i++)
		if (a->point[i].min < min)
			min = a->point[i].min;
	if (a->count == 0)
		field_print(list, "No process of the command used a GPU in any of %zu sample%s.",
			    a->samples, plural(a->samples));
	else if (a->points == 0)
		field_print(list, "No source reported the queues of its %zu process%s.", a->count,
			    a->count == 1 ? "" : "es");
	else if (min == max)
		field_print(list, "%zu process%s had %zu queue%s in every one of %zu samples.",
			    a->count, a->count == 1 ? "" : "es", max, plural(max), a->samples);
	else
		field_print(list, "%zu process%s had %zu to %zu queues, over %zu samples.",
			    a->count, a->count == 1 ? "" : "es", min, max, a->samples);
}

/* Adds a sentence about how many queues were reconfigured. A changed setting under the same id may
 * also mean that the queue was destroyed and another queue got its id. */
static void print_settings(const struct analysis *a, json_t *list)
{
	size_t queues = 0, changed = 0;

	for (size_t i = 0; i < a->count; i++) {
		const struct analysed_process *p = &a->process[i];

		for (size_t q = 0; q < p->count; q++) {
			bool set = false;

			for (unsigned f = 0; f < OBSERVE_FIELDS; f++)
				set = set ||
				      (p->queue[q].changed >> f & 1 && analysis_is_setting(f));
			queues++;
			changed += set;
		}
	}
	if (queues == 0)
		return;
	if (changed == 0)
		field_print(list, "The settings of every queue stayed the same.");
	else
		field_print(list, "%zu of %zu queues %s under the same id.", changed, queues,
			    changed == 1 ? "was changed, or was replaced by another queue,"
					 : "were changed, or were replaced by other queues,");
}

static bool same_mapping(const struct analysed_node *a, const struct analysed_node *b)
{
	return a->least == b->least && a->most == b->most && a->xccs == b->xccs;
}

/* Adds one sentence about HQDs per queue for all nodes with the same ratio as node `first`. */
static void print_ratio(const struct analysis *a, size_t first, json_t *list)
{
	const struct analysed_node *n = &a->node[first];
	unsigned long long least = n->least, most = n->most, hqds = 0;
	size_t queues = 0, others = 0;
	char where[64], gpu[GPU_NAME_SHORT];

	for (size_t i = first; i < a->nodes; i++) {
		if (!same_mapping(&a->node[i], n))
			continue;
		queues += a->node[i].mapped;
		hqds += a->node[i].hqds;
		others += i > first;
	}
	gpu_name_short(gpu, analysis_gpu(a, n->gpu_id), n->gpu_id);
	snprintf(where, sizeof(where), others ? "On GPU %s and %zu more" : "On GPU %s", gpu,
		 others);
	if (least == most)
		field_print(
			list,
			"%s each active compute queue was in %llu hardware slot%s%s (1:%llu); at "
			"most %zu queue%s in %llu.",
			where, most, plural(most), (uint64_t)n->xccs == most ? ", one per XCC" : "",
			most, queues, plural(queues), hqds);
	else
		field_print(list,
			    "%s an active compute queue was in %llu to %llu hardware slots: some "
			    "queues were being mapped while debugfs was read.",
			    where, least, most);
}

/* Adds sentences about hardware slots. First one for each ratio of HQDs to queues, about all nodes
 * with this ratio. Then one for each node with more compute queues than slots. */
static void print_mapping(const struct analysis *a, json_t *list)
{
	bool any = false;

	for (size_t i = 0; i < a->nodes; i++) {
		bool is_known = a->node[i].most == 0;

		any = any || a->node[i].hqds_known;
		for (size_t k = 0; k < i && !is_known; k++)
			is_known = a->node[k].most > 0 && same_mapping(&a->node[k], &a->node[i]);
		if (!is_known)
			print_ratio(a, i, list);
	}
	if (!any && a->count > 0)
		field_print(list,
			    "The hardware slots (HQDs) are not known, because debugfs could not be "
			    "read: record as root.");
	for (size_t i = 0; i < a->nodes; i++) {
		const struct analysed_node *n = &a->node[i];
		char gpu[GPU_NAME_SHORT];

		if (n->compute_slots > 0 && n->compute > (uint64_t)n->compute_slots)
			field_print(list,
				    "GPU %s has %lld slots for %zu compute queues: the queues are "
				    "time-sliced, and each switch has a cost.",
				    gpu_name_short(gpu, analysis_gpu(a, n->gpu_id), n->gpu_id),
				    (long long)n->compute_slots, n->compute);
	}
}

/* Adds sentences about GPU use by other processes before and after the recorded command. */
static void print_others(const struct analysis *a, json_t *list)
{
	if (a->before.known && a->before.processes > 0)
		field_print(list,
			    "Before the command began, %zu other process%s used a GPU, with %zu "
			    "queue%s.",
			    a->before.processes, a->before.processes == 1 ? "" : "es",
			    a->before.queues, plural(a->before.queues));
	else if (a->before.known)
		field_print(list, "No other process used a GPU before the command began.");
	if (!a->after.known)
		return;
	if (a->after.queues > a->before.queues)
		field_print(
			list,
			"After its end there were %zu queue%s, more than before: a process that "
			"it started still runs, or other processes have started.",
			a->after.queues, plural(a->after.queues));
	else if (a->before.known && a->after.queues == a->before.queues)
		field_print(list, "After its end there were as many queues as before.");
}

json_t *analysis_conclusion(const struct analysis *a)
{
	json_t *list = json_array();

	print_counts(a, list);
	for (size_t i = 0; i < a->count && i < 64; i++) {
		const struct analysed_process *p = &a->process[i];
		char whose[16], text[SAMPLING_MEANING];

		snprintf(whose, sizeof(whose), "%d", (int)p->pid);
		field_print(list, "Process %s (%s): %s", whose, p->comm,
			    sampling_meaning(&p->sampling, whose, text));
	}
	print_settings(a, list);
	print_mapping(a, list);
	print_others(a, list);
	if (a->unkept > 0)
		field_print(
			list,
			"%zu entries were ignored, because they exceed the limit of processes or "
			"nodes.",
			a->unkept);
	return list;
}

/* ---- JSON ---- */

/* Formats the number of hardware slots of each queue as a ratio: "1:4", or "1:2 to 1:4". */
static const char *per_queue_cell(char text[FIELD_CELL], const json_t *node)
{
	const json_t *each = json_object_get(node, "hqds_per_queue");
	json_int_t least = json_integer_value(json_object_get(each, "min"));
	json_int_t most = json_integer_value(json_object_get(each, "max"));

	if (!each || json_is_null(each))
		return TABLE_UNKNOWN;
	snprintf(text, FIELD_CELL, least == most ? "1:%lld" : "1:%lld to 1:%lld", least, most);
	return text;
}

/* Formats how many compute queues had a slot in each XCC, as "XCC:QUEUES": "0:3 1:3 2:3 3:3". */
static const char *xccs_cell(char text[FIELD_CELL], const json_t *node)
{
	const json_t *xcc;
	size_t used = 0, i;

	strcpy(text, TABLE_UNKNOWN);
	json_array_foreach(json_object_get(node, "by_xcc"), i, xcc) used +=
		(size_t)snprintf(text + used, FIELD_CELL - used, "%s%.0f:%.0f", i ? " " : "",
				 field_number(xcc, "xcc"), field_number(xcc, "queues"));
	return text;
}

#include "cli/record/analysis.def"

/* Returns a process as JSON: its ids over time, and its queues with the fields that changed. */
static json_t *process_json(const struct analysed_process *p)
{
	json_t *out = sampling_json(&p->sampling), *queues = json_array();
	char whose[16], text[SAMPLING_MEANING];

	snprintf(whose, sizeof(whose), "%d", (int)p->pid);
	for (size_t i = 0; i < p->count; i++) {
		json_t *queue = observe_json(&p->queue[i].last), *changed = json_array();

		for (unsigned f = 0; f < OBSERVE_FIELDS; f++)
			if (p->queue[i].changed >> f & 1)
				json_array_append_new(changed,
						      json_string(observe_field_info(f)->key));
		json_array_append_new(queues,
				      json_pack("{s:o,s:o}", "queue", queue, "changed", changed));
	}
	json_object_update_new(out, render_json(fields_analyzed_process, p));
	json_object_set_new(out, "attributes", queues);
	json_object_set_new(out, "meaning",
			    json_string(sampling_meaning(&p->sampling, whose, text)));
	return out;
}

static json_t *node_json(const struct analysed_node *n)
{
	json_t *by_xcc = json_array(), *out = render_json(fields_analyzed_node, n);

	for (unsigned i = 0; i < ANALYSIS_XCCS; i++)
		if (n->in_xcc[i])
			json_array_append_new(by_xcc,
					      json_pack("{s:i,s:I}", "xcc", (int)i, "queues",
							(json_int_t)n->in_xcc[i]));
	json_object_set_new(out, "hqds_per_queue",
			    n->most ? render_json(fields_hqds_per_queue, n) : json_null());
	json_object_set(out, "by_xcc", json_array_size(by_xcc) ? by_xcc : json_null());
	json_decref(by_xcc);
	if (!n->hqds_known)
		json_object_update_new(
			out, json_pack("{s:n,s:n,s:n}", "mqds", "active_hqds", "mapped_queues"));
	return out;
}

void analysis_node_table(const struct analysis *a)
{
	json_t *rows = json_array();

	for (size_t i = 0; i < a->nodes; i++) {
		json_t *row = node_json(&a->node[i]);

		gpus_set_text(row, a->name, a->names, a->node[i].gpu_id);
		json_array_append_new(rows, row);
	}
	render_table(fields_analyzed_node,
		     "GPU,xccs,queues,compute_queues,compute_slots,mqds,active_hqds,"
		     "mapped_queues,HQDS A QUEUE,XCC:QUEUES IN IT",
		     rows, stdout);
}

static json_t *others_json(const struct analysed_others *others)
{
	return others->known ? render_json(fields_other_users, others) : json_null();
}

json_t *analysis_json(const struct analysis *a)
{
	json_t *processes = json_array(), *nodes = json_array();

	for (size_t i = 0; i < a->count; i++)
		json_array_append_new(processes, process_json(&a->process[i]));
	for (size_t i = 0; i < a->nodes; i++)
		json_array_append_new(nodes, node_json(&a->node[i]));
	return json_pack("{s:I,s:o,s:o,s:o,s:o,s:o,s:o,s:o}", "samples", (json_int_t)a->samples,
			 "count_over_time",
			 render_list(fields_queue_count, a->point, a->points, sizeof(*a->point)),
			 "processes", processes, "nodes", nodes, "gpus",
			 gpus_list(a->name, a->names), "baseline", others_json(&a->before), "final",
			 others_json(&a->after), "conclusion", analysis_conclusion(a));
}

// SPDX-License-Identifier: MIT
#include "cli/show/verify_output.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "cli/output/table.h"
#include "cli/util/gpus.h"
#include "common/text.h"

#define NAMES 64

static const char *const verdicts[] = {
	[VERIFY_AGREE] = "agree",
	[VERIFY_DIFFER] = "differ",
	[VERIFY_UNCERTAIN] = "cannot tell",
};

/* Writes the names of the sources: "shm, sysfs and mqd". */
static const char *names(char text[NAMES], uint32_t sources)
{
	int left = __builtin_popcount(sources);

	text[0] = '\0';
	FOR_VERIFIED (s) {
		if (!(sources & OBSERVE_BIT(s)))
			continue;
		strcat(text, observe_source_name(s));
		left--;
		if (left)
			strcat(text, left == 1 ? " and " : ", ");
	}
	return text;
}

static void queue_name(char text[32], const struct observe_queue *queue)
{
	if (queue->id == OBSERVE_NO_ID)
		strcpy(text, TABLE_UNKNOWN);
	else if (queue->context)
		snprintf(text, 32, "%u.%u", queue->context, queue->id);
	else
		snprintf(text, 32, "%u", queue->id);
}

static const struct observe_result *result_of(const struct verified *v, enum observe_source source)
{
	return &v->seen.result[source];
}

/* ---- one row per queue, one column per source ---- */

/* How a source has the queue: "yes" or "no"; for debugfs the number of descriptors or slots; "~"
 * behind a number that fits the queue only by node, engine and ring size. */
static void reported_cell(struct table *table, const struct verify_row *row,
			  enum observe_source source)
{
	enum observe_field count = source == OBSERVE_MQD ? OBSERVE_MQDS : OBSERVE_HQDS;
	const struct observe_queue *by = row->by[source];
	char text[OBSERVE_TEXT];

	if (row->reported[source] == VERIFY_NO_RESULT)
		table_cell(table, TABLE_UNKNOWN);
	else if (row->reported[source] == VERIFY_NOT)
		table_cell(table, source == OBSERVE_HQD ? "0" : "no");
	else if (source != OBSERVE_MQD && source != OBSERVE_HQD)
		table_cell(table, "yes");
	else if (observe_known(by, count))
		table_cell(table, "%s%s", observe_text(text, by, count),
			   row->reported[source] == VERIFY_ALIKE ? "~" : "");
	else
		table_cell(table, "yes");
}

static int print_queues(const struct verified *v)
{
	bool trap = result_of(v, OBSERVE_TRAP)->queried;
	struct table *table =
		table_new(trap ? "QUEUE|GPU|<TYPE|RING|<RING ADDRESS|<DAEMON|<LANE|<TRAP|<SYSFS|"
				 "MQDS|ACTIVE HQDS"
			       : "QUEUE|GPU|<TYPE|RING|<RING ADDRESS|<DAEMON|<LANE|<SYSFS|MQDS|"
				 "ACTIVE HQDS");
	char text[OBSERVE_TEXT], gpu[GPU_NAME_SHORT];
	int r = -ENOMEM;

	for (size_t i = 0; table && i < v->verify.rows; i++) {
		const struct verify_row *row = &v->verify.row[i];

		table_row(table);
		queue_name(text, row->queue);
		table_cell(table, "%s", text);
		table_cell(table, "%s", gpus_short(gpu, row->queue->gpu_id));
		table_cell(table, "%s", observe_text(text, row->queue, OBSERVE_TYPE));
		table_cell(table, "%s", observe_text(text, row->queue, OBSERVE_RING_BYTES));
		table_cell(table, "%s", observe_text(text, row->queue, OBSERVE_RING_ADDRESS));
		FOR_VERIFIED (s)
			if (s != OBSERVE_TRAP || trap)
				reported_cell(table, row, s);
	}
	if (table)
		r = table_print(table, stdout);
	table_free(table);
	return r;
}

/* ---- one row per source ---- */

static unsigned computes(const struct observe_list *list)
{
	unsigned n = 0;

	for (size_t i = 0; i < list->count; i++)
		n += observe_is_compute(list->queue[i].field[OBSERVE_TYPE].value) &&
		     observe_known(&list->queue[i], OBSERVE_TYPE);
	return n;
}

static int print_sources(const struct verified *v)
{
	struct table *table = table_new("<SOURCE|QUEUES|COMPUTE|OTHERS|<WHY NOT");
	int r = -ENOMEM;

	FOR_VERIFIED (s) {
		const struct observe_result *result = result_of(v, s);
		unsigned compute = computes(&result->list);

		if (!table || !result->queried)
			continue;
		table_row(table);
		table_cell(table, "%s", observe_source_name(s));
		if (result->error && !result->list.count) {
			for (int i = 0; i < 3; i++)
				table_cell(table, TABLE_UNKNOWN);
		} else {
			table_cell(table, "%zu", result->list.count);
			table_cell(table, "%u", compute);
			table_cell(table, "%zu", result->list.count - compute);
		}
		table_cell(table, "%s", result->error ? result->why : "");
	}
	if (table)
		r = table_print(table, stdout);
	table_free(table);
	return r;
}

/* ---- one row per GPU ---- */

static void counts(struct table *table, const struct ratio *ratio)
{
	char text[RATIO_TEXT];

	if (ratio->xccs)
		table_cell(table, "%u", ratio->xccs);
	else
		table_cell(table, TABLE_UNKNOWN);
	table_cell(table, "%u", ratio->queues);
	if (ratio->mqds_known)
		table_cell(table, "%" PRIu64, ratio->mqds);
	else
		table_cell(table, TABLE_UNKNOWN);
	if (ratio->hqds_known)
		table_cell(table, "%" PRIu64, ratio->hqds);
	else
		table_cell(table, TABLE_UNKNOWN);
	table_cell(table, "%s", ratio_text(text, ratio));
	if (ratio->hqds_known)
		table_cell(table, "%u", ratio->idle);
	else
		table_cell(table, TABLE_UNKNOWN);
}

static int print_ratios(const struct verified *v)
{
	struct table *table =
		table_new("<GPU|XCCS|COMPUTE QUEUES|MQDS|ACTIVE HQDS|QUEUES TO HQDS|IN NO SLOT");
	char gpu[GPU_NAME_SHORT];
	int r = -ENOMEM;

	for (size_t i = 0; table && i < v->ratios; i++) {
		table_row(table);
		table_cell(table, "%s", gpus_short(gpu, v->ratio[i].gpu_id));
		counts(table, &v->ratio[i]);
	}
	if (table && v->ratios != 1) {
		table_row(table);
		table_cell(table, "all");
		counts(table, &v->all);
	}
	if (table)
		r = table_print(table, stdout);
	table_free(table);
	return r;
}

/* ---- verdict ---- */

/* A queue that is in no hardware slot is not an error, but the message explains the missing
 * slot. */
static void print_idle(const struct verified *v)
{
	for (size_t i = 0; i < v->verify.rows; i++) {
		const struct verify_row *row = &v->verify.row[i];
		const struct observe_value *suspended = &row->queue->field[OBSERVE_SUSPENDED];
		const char *why = "idle, evicted, held, or waiting for a slot";
		char text[32], gpu[GPU_NAME_SHORT];

		if (row->reported[OBSERVE_HQD] != VERIFY_NOT || !row->by[OBSERVE_MQD] ||
		    !observe_is_compute(row->queue->field[OBSERVE_TYPE].value))
			continue;
		if (suspended->source && suspended->value)
			why = "it is suspended";
		queue_name(text, row->queue);
		printf("queue %s of GPU %s is in no hardware slot: %s\n", text,
		       gpus_short(gpu, row->queue->gpu_id), why);
	}
}

static void print_alone(const struct verified *v)
{
	char names_text[NAMES];

	if (v->verify.witnesses)
		printf("cannot tell: only %s has data, so there is nothing to compare",
		       names(names_text, v->verify.witnesses));
	else
		printf("cannot tell: no source that lists queues has data");
	if (!result_of(v, OBSERVE_TRAP)->queried)
		printf("; --trap reads the driver's list by a debug session");
	puts("");
}

static const char *difference_text(char text[VERIFY_TEXT], const struct verify_difference *d)
{
	char gpu[GPU_NAME_SHORT];

	return verify_text(text, d, gpus_short(gpu, d->gpu_id));
}

static void print_verdict(const struct verified *v)
{
	char text[VERIFY_TEXT], names_text[NAMES];

	if (v->verify.lowered)
		printf("%zu queue%s the lowest priority in hardware and another one in its "
		       "process, because level weight holds it\n",
		       v->verify.lowered, v->verify.lowered == 1 ? " has" : "s have");
	for (size_t i = 0; i < v->verify.differences; i++)
		printf("differs: %s\n", difference_text(text, &v->verify.difference[i]));
	switch (verify_verdict(&v->verify)) {
	case VERIFY_DIFFER:
		printf("differ: %zu difference%s, the same in %u samples\n", v->verify.differences,
		       v->verify.differences == 1 ? "" : "s", v->samples);
		return;
	case VERIFY_UNCERTAIN:
		print_alone(v);
		return;
	default:
		break;
	}
	printf("agree: %s report the same %zu queue%s\n", names(names_text, v->verify.witnesses),
	       v->verify.rows, v->verify.rows == 1 ? "" : "s");
	if (v->verify.alike)
		puts("(~: by node, engine and ring size only, because only debugfs has the "
		     "addresses of rings; --trap reads them, too)");
}

int verify_print(const struct verified *v)
{
	int r;

	printf("process %d (%s)", (int)v->identity.pid, v->identity.comm);
	if (v->identity.host_pid && v->identity.host_pid != v->identity.pid)
		printf(", on the host %d", (int)v->identity.host_pid);
	puts("\n");
	r = print_queues(v);
	puts("");
	if (!r)
		r = print_sources(v);
	puts("");
	if (!r)
		r = print_ratios(v);
	puts("");
	print_idle(v);
	print_verdict(v);
	return r;
}

/* ---- JSON ---- */

static json_t *queue_json(const struct verify_row *row)
{
	static const char *const words[] = {
		[VERIFY_NO_RESULT] = NULL,
		[VERIFY_NOT] = "no",
		[VERIFY_ALIKE] = "alike",
		[VERIFY_REPORTED] = "yes",
	};
	json_t *json = observe_json(row->queue), *reported = json_object();
	bool whole = json && reported;

	FOR_VERIFIED (s) {
		const char *word = words[row->reported[s]];

		whole = whole && json_object_set_new(reported, observe_source_name(s),
						     word ? json_string(word) : json_null()) == 0;
	}
	whole = whole && json_object_set(json, "reported", reported) == 0;
	if (whole && row->by[OBSERVE_MQD] && observe_known(row->by[OBSERVE_MQD], OBSERVE_MQDS))
		whole = json_object_set_new(json, "mqds",
					    json_integer((json_int_t)row->by[OBSERVE_MQD]
								 ->field[OBSERVE_MQDS]
								 .value)) == 0;
	if (whole && row->by[OBSERVE_HQD])
		whole = json_object_set_new(json, "active_hqds",
					    json_integer((json_int_t)row->by[OBSERVE_HQD]
								 ->field[OBSERVE_HQDS]
								 .value)) == 0;
	json_decref(reported);
	if (whole)
		return json;
	json_decref(json);
	return NULL;
}

static json_t *known(bool is_known, uint64_t value)
{
	return is_known ? json_integer((json_int_t)value) : json_null();
}

static json_t *ratio_json(const struct ratio *ratio)
{
	char text[RATIO_TEXT];
	const char *word = ratio_text(text, ratio);

	return json_pack("{so so sI so so ss? so sI}", "gpu_id",
			 known(ratio->gpu_id != 0, ratio->gpu_id), "xccs",
			 known(ratio->xccs != 0, ratio->xccs), "compute_queues",
			 (json_int_t)ratio->queues, "mqds", known(ratio->mqds_known, ratio->mqds),
			 "active_hqds", known(ratio->hqds_known, ratio->hqds), "ratio",
			 strcmp(word, TABLE_UNKNOWN) == 0 ? NULL : word, "in_no_slot",
			 known(ratio->hqds_known, ratio->idle), "other_queues",
			 (json_int_t)ratio->sdma_queues);
}

static json_t *source_json(const struct verified *v, enum observe_source source)
{
	const struct observe_result *result = result_of(v, source);

	return json_pack("{ss sb sI sI ss?}", "source", observe_source_name(source), "answered",
			 (int)(result->error == 0), "queues", (json_int_t)result->list.count,
			 "compute_queues", (json_int_t)computes(&result->list), "reason",
			 result->error ? result->why : NULL);
}

static json_t *difference_json(const struct verify_difference *d)
{
	const char *what[] = {
		[VERIFY_MISSING] = "missing",
		[VERIFY_FIELD] = "value",
		[VERIFY_NODE] = "node",
		[VERIFY_MQD_COUNT] = "mqds",
		[VERIFY_HQD_COUNT] = "active_hqds",
	};
	char text[VERIFY_TEXT];

	return json_pack("{ss so sI sI ss? ss? ss ss}", "what", what[d->what], "id",
			 known(d->id != OBSERVE_NO_ID, d->id), "context", (json_int_t)d->context,
			 "gpu_id", (json_int_t)d->gpu_id, "key",
			 d->what == VERIFY_FIELD ? observe_field_info(d->field)->key : NULL,
			 "believed", d->a != OBSERVE_NO_SOURCE ? observe_source_name(d->a) : NULL,
			 "other", observe_source_name(d->b), "summary", difference_text(text, d));
}

int verify_print_json(const struct verified *v)
{
	json_t *queues = json_array(), *sources = json_array(), *gpus = json_array();
	json_t *differences = json_array(), *root = NULL;
	bool whole = queues && sources && gpus && differences;
	int r = -ENOMEM;

	for (size_t i = 0; whole && i < v->verify.rows; i++)
		whole = json_array_append_new(queues, queue_json(&v->verify.row[i])) == 0;
	FOR_VERIFIED (s)
		if (whole && result_of(v, s)->queried)
			whole = json_array_append_new(sources, source_json(v, s)) == 0;
	for (size_t i = 0; whole && i < v->ratios; i++) {
		json_t *ratio = ratio_json(&v->ratio[i]);

		gpus_add(ratio, gpus_name(v->ratio[i].gpu_id));
		whole = json_array_append_new(gpus, ratio) == 0;
	}
	for (size_t i = 0; whole && i < v->verify.differences; i++)
		whole = json_array_append_new(differences,
					      difference_json(&v->verify.difference[i])) == 0;
	if (whole)
		root = json_pack(
			"{sI so ss ss sI sI sO sO sO so sO}", "pid", (json_int_t)v->identity.pid,
			"host_pid", known(v->identity.host_pid > 0, (uint64_t)v->identity.host_pid),
			"comm", v->identity.comm, "verdict", verdicts[verify_verdict(&v->verify)],
			"samples", (json_int_t)v->samples, "lowered_queues",
			(json_int_t)v->verify.lowered, "sources", sources, "queues", queues, "gpus",
			gpus, "all", ratio_json(&v->all), "differences", differences);
	if (root && plain_json_print(root, stdout, JSON_INDENT(2)) == 0) {
		putchar('\n');
		r = 0;
	}
	json_decref(root);
	json_decref(queues);
	json_decref(sources);
	json_decref(gpus);
	json_decref(differences);
	return r;
}

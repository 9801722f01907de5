// SPDX-License-Identifier: MIT
/* kfdsched verify: compares the queues that the sources report. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/inspect/hqd_ratio.h"
#include "cli/inspect/snapshot.h"
#include "cli/inspect/verify.h"
#include "cli/util/gpus.h"
#include "cli/util/objects.h"
#include "cli/util/parse_options.h"
#include "cli/util/select_process.h"
#include "common/allocate.h"
#include "common/json_util.h"
#include "common/wait.h"

/* Maximum number of samples, and the pause after the first one. Sources are read one after the
 * other, and some of them lag. So differences are checked again, each time after twice the pause,
 * and count only if they persist. */
#define SAMPLES 5
#define PAUSE_MS 50

/* Results of the comparison for one process. */
struct verified {
	struct process_identity identity;
	const struct snapshot_process *process; /* last sample of all sources */
	struct verify verify;			/* differences that were present in every sample */
	unsigned samples;			/* number of samples taken */
	const struct topology_gpu *gpus;
	size_t n_gpus;
	/* Active hardware slots per queue: `ratio` for each of the `ratios` GPUs that have a queue,
	 * `all` for all GPUs together. */
	struct ratio ratio[TOPOLOGY_GPUS], all;
	size_t ratios;
};

#define NAMES 64

static const char *const verdicts[] = {
	[VERIFY_AGREE] = "agree",
	[VERIFY_DIFFER] = "differ",
	[VERIFY_UNCERTAIN] = "cannot tell",
};

static json_t *verdict_word(const void *row)
{
	return json_string(verdicts[verify_verdict(&((const struct verified *)row)->verify)]);
}

/* Writes the names of the sources in the mask: "shm, sysfs and mqd". */
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
	return &v->process->seen.result[source];
}

static unsigned computes(const struct observe_list *list)
{
	unsigned n = 0;

	for (size_t i = 0; i < list->count; i++)
		n += observe_is_compute(list->queue[i].field[OBSERVE_TYPE].value) &&
		     observe_known(&list->queue[i], OBSERVE_TYPE);
	return n;
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
	const struct observe_queue *mqd = row->by[OBSERVE_MQD], *hqd = row->by[OBSERVE_HQD];

	FOR_VERIFIED (s) {
		const char *word = words[row->reported[s]];

		json_object_set_new(reported, observe_source_name(s),
				    word ? json_string(word) : json_null());
	}
	json_object_set_new(json, "reported", reported);
	if (mqd && observe_known(mqd, OBSERVE_MQDS))
		json_object_set_new(json, "mqds",
				    json_integer((json_int_t)mqd->field[OBSERVE_MQDS].value));
	if (hqd)
		json_object_set_new(json, "active_hqds",
				    json_integer((json_int_t)hqd->field[OBSERVE_HQDS].value));
	return json;
}

static json_t *ratio_json(const struct ratio *ratio)
{
	char text[RATIO_TEXT];
	const char *word = ratio_text(text, ratio);

	return json_pack("{so so sI so so ss? so sI}", "gpu_id",
			 json_number(ratio->gpu_id != 0, ratio->gpu_id), "xccs",
			 json_number(ratio->xccs != 0, ratio->xccs), "compute_queues",
			 (json_int_t)ratio->queues, "mqds",
			 json_number(ratio->mqds_known, ratio->mqds), "active_hqds",
			 json_number(ratio->hqds_known, ratio->hqds), "ratio",
			 strcmp(word, TABLE_UNKNOWN) == 0 ? NULL : word, "in_no_slot",
			 json_number(ratio->hqds_known, ratio->idle), "other_queues",
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

static const char *difference_text(char text[VERIFY_TEXT], const struct verify_difference *d)
{
	char gpu[GPU_NAME_SHORT];

	return verify_text(text, d, gpus_short(gpu, d->gpu_id));
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
			 json_number(d->id != OBSERVE_NO_ID, d->id), "context",
			 (json_int_t)d->context, "gpu_id", (json_int_t)d->gpu_id, "key",
			 d->what == VERIFY_FIELD ? observe_field_info(d->field)->key : NULL,
			 "believed", d->a != OBSERVE_NO_SOURCE ? observe_source_name(d->a) : NULL,
			 "other", observe_source_name(d->b), "summary", difference_text(text, d));
}

/* ---- tables of the JSON ---- */

/* Writes n, a number of queues that the source lists. Returns "-" instead if the source has failed
 * and lists no queues. */
static const char *listed(char text[FIELD_CELL], const json_t *source, json_int_t n)
{
	if (!json_is_true(json_object_get(source, "answered")) &&
	    !json_integer_value(json_object_get(source, "queues")))
		return TABLE_UNKNOWN;
	snprintf(text, FIELD_CELL, "%" JSON_INTEGER_FORMAT, n);
	return text;
}

static const char *queues_cell(char text[FIELD_CELL], const json_t *source)
{
	return listed(text, source, json_integer_value(json_object_get(source, "queues")));
}

static const char *compute_cell(char text[FIELD_CELL], const json_t *source)
{
	return listed(text, source, json_integer_value(json_object_get(source, "compute_queues")));
}

static const char *others_cell(char text[FIELD_CELL], const json_t *source)
{
	return listed(text, source,
		      json_integer_value(json_object_get(source, "queues")) -
			      json_integer_value(json_object_get(source, "compute_queues")));
}

static const char *why_cell(char text[FIELD_CELL], const json_t *source)
{
	(void)text;
	return json_string_value(json_object_get(source, "reason")) ?: "";
}

/* Writes the number of MQDs or hardware slots of a queue. Appends "~" if they match the queue only
 * by node, engine and ring size. Returns `none` if the source does not list the queue, "-" if the
 * source has no data, and "yes" if the source lists the queue without a number. */
static const char *dumped(char text[FIELD_CELL], const json_t *queue, const char *source,
			  const char *key, const char *none)
{
	const char *reported = field_text(json_object_get(queue, "reported"), source);

	if (strcmp(reported, "no") == 0)
		return none;
	if (strcmp(reported, TABLE_UNKNOWN) == 0)
		return TABLE_UNKNOWN;
	if (!json_is_integer(json_object_get(queue, key)))
		return "yes";
	field_cell(text, queue, key);
	return strcmp(reported, "alike") == 0 ? strcat(text, "~") : text;
}

static const char *mqds_cell(char text[FIELD_CELL], const json_t *queue)
{
	return dumped(text, queue, "mqd", "mqds", "no");
}

static const char *hqds_cell(char text[FIELD_CELL], const json_t *queue)
{
	return dumped(text, queue, "hqd", "active_hqds", "0");
}

static const char *gpu_cell(char text[FIELD_CELL], const json_t *ratio)
{
	return json_is_null(json_object_get(ratio, "gpu_id")) ? "all"
							      : gpus_short_cell(text, ratio);
}

#include "cli/show/verify.def"

static json_t *verify_json(const struct verified *v)
{
	json_t *queues = json_array(), *sources = json_array(), *gpus = json_array();
	json_t *differences = json_array(), *root = render_json(fields_verify, v);

	for (size_t i = 0; i < v->verify.rows; i++)
		json_array_append_new(queues, queue_json(&v->verify.row[i]));
	FOR_VERIFIED (s)
		if (result_of(v, s)->queried)
			json_array_append_new(sources, source_json(v, s));
	for (size_t i = 0; i < v->ratios; i++) {
		json_t *ratio = ratio_json(&v->ratio[i]);

		gpus_add(ratio, gpus_name(v->ratio[i].gpu_id));
		json_array_append_new(gpus, ratio);
	}
	for (size_t i = 0; i < v->verify.differences; i++)
		json_array_append_new(differences, difference_json(&v->verify.difference[i]));
	json_object_update_new(root, json_pack("{so so so so so}", "sources", sources, "queues",
					       queues, "gpus", gpus, "all", ratio_json(&v->all),
					       "differences", differences));
	return root;
}

static void print_tables(const struct verified *v, const json_t *root)
{
	json_t *ratios = json_copy(json_object_get(root, "gpus"));

	if (v->ratios != 1)
		json_array_append(ratios, json_object_get(root, "all"));
	render_table(fields_verify_queue,
		     result_of(v, OBSERVE_TRAP)->queried
			     ? "QUEUE,GPU,type,ring_bytes,ring_address,reported.daemon,"
			       "reported.shm,reported.trap,reported.sysfs,MQDS,ACTIVE HQDS"
			     : "QUEUE,GPU,type,ring_bytes,ring_address,reported.daemon,"
			       "reported.shm,reported.sysfs,MQDS,ACTIVE HQDS",
		     json_incref(json_object_get(root, "queues")), stdout);
	putchar('\n');
	render_table(fields_verify_source, "source,QUEUES,COMPUTE,OTHERS,WHY NOT",
		     json_incref(json_object_get(root, "sources")), stdout);
	putchar('\n');
	render_table(fields_queue_ratio,
		     "GPU,xccs,compute_queues,mqds,active_hqds,ratio,in_no_slot", ratios, stdout);
	putchar('\n');
}

/* ---- verdict ---- */

/* Prints the compute queues that are in no hardware slot, with a possible reason. They do not count
 * as differences, but explain why slots are missing. */
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

static void verify_print(const struct verified *v)
{
	json_t *root = verify_json(v);

	printf("process %d (%s)", (int)v->identity.pid, v->identity.comm);
	if (v->identity.host_pid && v->identity.host_pid != v->identity.pid)
		printf(", on the host %d", (int)v->identity.host_pid);
	puts("\n");
	print_tables(v, root);
	json_decref(root);
	print_idle(v);
	print_verdict(v);
}

/* Default sources: all that list queues, except the debug session (--trap). */
static const unsigned queried = OBSERVE_BIT(OBSERVE_DAEMON) | OBSERVE_BIT(OBSERVE_SHM) |
				OBSERVE_BIT(OBSERVE_SYSFS) | OBSERVE_BIT(OBSERVE_MQD) |
				OBSERVE_BIT(OBSERVE_HQD);

struct job {
	int pid;
	bool trap, json;
	const char *socket;
};

/* Takes one sample and compares its sources. Returns false if the process has ended. */
static bool sample_once(const struct job *job, struct snapshot_reader *reader, struct verified *v)
{
	const struct snapshot_request request = {
		.pids = &job->pid,
		.count = 1,
		.sources = queried | (job->trap ? OBSERVE_BIT(OBSERVE_TRAP) : 0),
	};

	v->process = snapshot_read(reader, &request)->processes[0];
	v->samples++;
	if (!v->process->ended)
		verify_compare(&v->process->seen, v->gpus, v->n_gpus, &v->verify);
	return !v->process->ended;
}

/* Samples until the sources agree, at most SAMPLES times, and calculates the ratios of queues to
 * slots. Returns false if the process has ended. */
static bool inspect(const struct job *job, struct snapshot_reader *reader, struct verified *v)
{
	struct verify before = {0};
	bool there = sample_once(job, reader, v);

	for (long ms = PAUSE_MS; there && v->verify.differences && v->samples < SAMPLES; ms *= 2) {
		verify_free(&before);
		before = v->verify;
		v->verify = (struct verify){0};
		sleep_ns(ms * 1000000ull);
		there = sample_once(job, reader, v);
		if (there)
			verify_keep(&v->verify, &before);
	}
	verify_free(&before);
	v->ratios = ratio_of_observation(&v->process->seen, v->gpus, v->n_gpus, v->ratio,
					 TOPOLOGY_GPUS, &v->all);
	return there;
}

/* Verifies one process and prints the result. Returns CLI_DONE if the sources agree, CLI_FAILED if
 * they differ, and CLI_IMPOSSIBLE if that is not known. */
static int verify(const struct job *job, struct snapshot_reader *reader, struct verified *v)
{
	if (select_process(&cmd_verify, job->pid, &v->identity) != CLI_GO_ON)
		return CLI_IMPOSSIBLE;
	if (job->trap)
		cli_warn_session(&cmd_verify, job->pid);
	v->gpus = snapshot_gpus(reader, &v->n_gpus);
	if (!inspect(job, reader, v)) {
		cli_failed(&cmd_verify, "process %d has ended", job->pid);
		return CLI_IMPOSSIBLE;
	}
	if (!v->verify.rows) {
		select_no_queues(&cmd_verify, &v->identity, &v->process->seen, OBSERVE_HQD);
		return CLI_IMPOSSIBLE;
	}
	if (job->json)
		render_print(verify_json(v), JSON_INDENT(2));
	else
		verify_print(v);
	switch (verify_verdict(&v->verify)) {
	case VERIFY_AGREE:
		return CLI_DONE;
	case VERIFY_DIFFER:
		return CLI_FAILED;
	default:
		return CLI_IMPOSSIBLE;
	}
}

static int run(int argc, char **argv)
{
	struct job job = {0};
	const struct cli_option options[] = {
		{OPTION_FLAG("trap", &job.trap)},
		{OPTION_JSON(&job.json)},
		{OPTION_SOCKET(&job.socket)},
		{WORD_PID(&job.pid)},
		{0},
	};
	struct snapshot_reader *reader;
	struct verified *v;
	int code = options_read(&cmd_verify, argc, argv, options);

	if (code != CLI_GO_ON)
		return code;
	v = allocate(1, sizeof(*v));
	reader = snapshot_open(job.socket);
	code = verify(&job, reader, v);
	snapshot_close(reader);
	verify_free(&v->verify);
	free(v);
	return code;
}

const struct cli_command cmd_verify = {
	.name = "verify",
	.summary = "check that all sources report the same queues of a process",
	.usage = "PID [--trap] [--json] [--socket PATH]",
	.help = "Reads the queues of PID from every source and compares them: the daemon, the shared memory\n"
		"of the shim (shm), sysfs, and the MQDs and hardware slots (HQDs) in debugfs. Prints the\n"
		"number of queues in each, the number of active slots of a queue (as many as its node has\n"
		"XCCs), and whether the sources agree: on the list of queues, and on each value that more\n"
		"than one source reports. A difference is read again before it counts. A queue without a slot\n"
		"is no difference: it is suspended, evicted or waits. debugfs needs root.\n"
		"\n"
		"  --trap         also reads the driver's snapshot, by a debug session that is opened for it:\n"
		"                 " CLI_SESSION_DANGER ";\n"
		"                 it interrupts all work on those GPUs for a moment, and is not possible\n"
		"                 if the daemon or a debugger has a session on the process\n"
		"  --json         one object; docs/reference/processes.md describes the keys\n" HELP_SOCKET
		"\n"
		"Examples:\n"
		"  kfdsched verify 4711\n"
		"  sudo kfdsched verify 4711 --trap --json | jq .verdict\n",
	.exits =
		"0 the sources agree, 1 they differ, 2 usage error, 77 not known, because fewer than two\nsources have data or there is no such process.",
	.run = run,
};

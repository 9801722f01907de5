// SPDX-License-Identifier: MIT
/* kfdsched diagnose: reports on one process, or the processes of a container, with advice. Prints
 * each diagnosis as text (the verdict, its grounds, and what to do) or as JSON. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/doctor/diagnosis.h"
#include "cli/util/gpus.h"
#include "cli/util/objects.h"
#include "cli/util/parse_options.h"
#include "cli/util/select_process.h"
#include "common/allocate.h"
#include "common/json_util.h"
#include "common/text.h"
#include "kfd/exception.h"

/* ---- text ---- */

#define WHY_BYTES (320 + GPU_NAME_SHORT + 8)

/* Writes reason->found, with the short name of its GPU in front if it is about one. */
static const char *why_text(char text[static WHY_BYTES], const struct doctor_finding *reason)
{
	char gpu[GPU_NAME_SHORT];

	if (reason->gpu_id)
		snprintf(text, WHY_BYTES, "GPU %s: %s", gpus_short(gpu, reason->gpu_id),
			 reason->found);
	else
		snprintf(text, WHY_BYTES, "%s", reason->found);
	return text;
}

/* Prints a line with a label, " state it sleeps"; an empty text is printed as "-". */
__attribute__((format(printf, 2, 3))) static void print_line(const char *what, const char *fmt, ...)
{
	char text[1280];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	plain_text(text);
	printf("  %-10s  %s\n", what, text[0] ? text : TABLE_UNKNOWN);
}

/* Prints the pid of the process in each pid namespace, from that of kfdsched to that of the
 * process, and on the machine. */
static void print_pids(const struct process_identity *id)
{
	char text[256];
	int used = snprintf(text, sizeof(text), "%d here", (int)id->pid);

	for (unsigned i = 1; i < id->depth && i < PROCESS_NAMESPACES; i++)
		used += snprintf(
			text + used, sizeof(text) - (size_t)used, ", %d %s", (int)id->pids[i],
			i + 1 == id->depth ? "in its own namespace" : "in a namespace between");
	if (id->host_pid > 0)
		snprintf(text + used, sizeof(text) - (size_t)used, ", %d on the machine",
			 (int)id->host_pid);
	else
		snprintf(text + used, sizeof(text) - (size_t)used,
			 ", - on the machine (not visible from this container)");
	print_line("pids", "%s", text);
}

/* Prints the container: engine, id (12 digits), name and Kubernetes pod. */
static void print_container(const struct container *container)
{
	char pod[80] = "";

	if (container->engine == CONTAINER_NONE) {
		print_line("container", "none");
		return;
	}
	if (container->pod_uid[0])
		snprintf(pod, sizeof(pod), ", pod %s", container->pod_uid);
	print_line("container", "%s %.12s%s%s%s", container_engine_name(container->engine),
		   container->id[0] ? container->id : TABLE_UNKNOWN, container->name[0] ? " " : "",
		   container->name, pod);
}

static void print_tracer(const struct doctor_process *p)
{
	if (p->tracer < 0)
		print_line("traced by", TABLE_UNKNOWN);
	else if (!p->tracer)
		print_line("traced by", "no process");
	else
		print_line("traced by", "%s (%lld)",
			   p->tracer_name[0] ? p->tracer_name : TABLE_UNKNOWN,
			   (long long)p->tracer);
}

/* Prints the facts about the process itself. For a kernel thread prints only its state. */
static void print_process(const struct doctor_facts *facts, const struct diagnosis *diagnosis)
{
	const struct process_identity *id = &facts->named.identity;

	printf("\nProcess\n");
	if (facts->named.queried != id->pid)
		print_line("thread", "%d is a thread of this process", (int)facts->named.queried);
	print_line("state", "%c: %s", id->state ? id->state : '?', diagnosis->state);
	if (id->kernel)
		return;
	print_line("command", "%s", id->command[0] ? id->command : id->comm);
	print_line("user", "%s", facts->named.user);
	if (facts->named.parent > 0)
		print_line("parent", "%s (%d)", facts->named.parent_name, (int)facts->named.parent);
	print_pids(id);
	print_container(&id->container);
	print_tracer(doctor_named_process(facts));
}

/* Prints the queues, one line per GPU, type and source; only the first line has the label. */
static void print_queues(const struct diagnosis *diagnosis)
{
	char what[16] = "queues", gpu[GPU_NAME_SHORT];

	if (!diagnosis->queues_known) {
		print_line(what, TABLE_UNKNOWN);
		return;
	}
	if (!diagnosis->queue_count)
		print_line(what, "none");
	for (size_t i = 0; i < diagnosis->queue_kinds; i++) {
		const struct diagnose_queues *q = &diagnosis->queues[i];

		print_line(what, "%u %s on GPU %s, source: %s", q->count,
			   observe_type_name(q->type), gpus_short(gpu, q->gpu_id),
			   observe_source_name(q->source));
		what[0] = '\0';
	}
}

/* Prints the queues with a fault, one line each; only the first line has the label. */
static void print_exceptions(const struct doctor_facts *facts, const struct diagnosis *diagnosis)
{
	char what[16] = "exceptions", gpu[GPU_NAME_SHORT], text[OBSERVE_TEXT];

	for (size_t i = 0; i < facts->named.seen.queues.count; i++) {
		const struct observe_queue *q = &facts->named.seen.queues.queue[i];

		if (!observe_known(q, OBSERVE_EXCEPTIONS) || !q->field[OBSERVE_EXCEPTIONS].value)
			continue;
		print_line(what, "queue %u on GPU %s: %s, source: %s", q->id,
			   gpus_short(gpu, q->gpu_id), observe_text(text, q, OBSERVE_EXCEPTIONS),
			   observe_source_name(q->field[OBSERVE_EXCEPTIONS].source));
		what[0] = '\0';
	}
	if (what[0])
		print_line(what, "%s", diagnosis->exceptions_known ? "none" : TABLE_UNKNOWN);
}

/* Prints whether the process is suspended or held back now, how often that happened, and for how
 * long in total. */
static void print_held(const struct doctor_process *p, enum doctor_known held)
{
	static const char *const words[] = {"not now", "now"};
	char text[QUANTITY_BYTES];

	if (held == DOCTOR_UNKNOWN)
		print_line("held", TABLE_UNKNOWN);
	else if (p->suspends < 0 || p->suspended_us < 0)
		print_line("held", "%s", words[held]);
	else
		print_line("held", "%s; %lld times so far, %s in total", words[held],
			   (long long)p->suspends, quantity_us(text, (double)p->suspended_us));
}

/* Prints facts about GPU use. "by hand": whether suspend and preempt can suspend the process. */
static void print_gpu(const struct doctor_facts *facts, const struct diagnosis *diagnosis)
{
	static const char *const replies[] = {"no", "yes"};
	const struct diagnose_level *hand = &diagnosis->levels[BY_HAND];
	char why[WHY_BYTES];

	printf("\nGPU\n");
	print_line("uses one", "%s%s%s",
		   diagnosis->uses_gpu < 0 ? TABLE_UNKNOWN : replies[diagnosis->uses_gpu],
		   diagnosis->grounds[0] ? ": " : "", diagnosis->grounds);
	if (diagnosis->uses_gpu == DOCTOR_NO)
		return;
	print_queues(diagnosis);
	print_exceptions(facts, diagnosis);
	print_held(doctor_named_process(facts), diagnosis->held);
	print_line("runtime", "%s", diagnosis->runtime);
	print_line("by hand", "%s%s%s%s%s", diagnose_can_name(hand->can),
		   hand->reason.found[0] ? ": " : "", why_text(why, &hand->reason),
		   hand->reason.advice[0] ? "; do: " : "", hand->reason.advice);
}

/* Prints the levels as a table, the best first. */
static void print_levels(const struct diagnosis *diagnosis)
{
	struct table *table = table_new("<LEVEL|<AVAILABLE|<WHY");
	char why[WHY_BYTES];

	for (size_t i = 0; i < LEVELS; i++) {
		const struct diagnose_level *level = &diagnosis->levels[i];

		table_row(table);
		table_cell(table, "%s", doctor_level_name((enum doctor_level)i));
		table_cell(table, "%s", diagnose_can_name(level->can));
		table_cell(table, "%s", why_text(why, &level->reason));
	}
	printf("\n");
	table_print(table, stdout);
}

/* Prints the diagnosis as text on stdout. */
static void diagnose_print(const struct doctor_facts *facts, const struct diagnosis *diagnosis)
{
	char verdict_text[sizeof(diagnosis->verdict_text)];

	strcpy(verdict_text, diagnosis->verdict_text);
	plain_text(verdict_text);
	printf("%s\n", verdict_text);
	print_simulated(facts, "(", ")");
	print_process(facts, diagnosis);
	if (!doctor_is_dead(&facts->named))
		print_gpu(facts, diagnosis);
	if (diagnosis->uses_gpu != DOCTOR_NO)
		print_levels(diagnosis);
	if (diagnosis->findings.count) {
		printf("\n");
		findings_print(&diagnosis->findings, VIEW_OBSTACLES);
	}
}

/* ---- JSON ---- */

/* Returns a yes-or-no as JSON; null if it is not known. */
static json_t *yes_or_null(enum doctor_known known)
{
	return known == DOCTOR_UNKNOWN ? json_null() : json_boolean(known);
}

/* Returns the parent or the tracer of the process as {"pid", "comm"}; "comm" is null if its name
 * cannot be read. Returns null if there is no such process. */
static json_t *other_json(long long pid, const char *name)
{
	return pid > 0 ? json_pack("{sI so}", "pid", (json_int_t)pid, "comm", plain_or_null(name))
		       : json_null();
}

/* Returns the facts about the process itself: the keys of 'kfdsched pidmap --json', and more. */
static json_t *story_json(const struct doctor_facts *facts, const struct diagnosis *diagnosis)
{
	const struct doctor_process *p = doctor_named_process(facts);
	json_t *process = render_json(fields_process, &facts->named.identity);
	json_t *more = json_pack(
		"{so so so so so so}", "user", plain_or_null(facts->named.user), "state_text",
		plain_or_null(diagnosis->state), "paused", yes_or_null(facts->named.paused),
		"threads", json_number(facts->named.threads > 0, facts->named.threads), "parent",
		other_json(facts->named.parent, facts->named.parent_name), "tracer",
		other_json(p->tracer, p->tracer_name));

	/* Remove tracer_pid, which can be the number of a thread: `tracer` in `more` has its
	 * process. */
	json_object_del(process, "tracer_pid");
	json_object_update_missing(process, more);
	json_decref(more);
	return process;
}

/* Returns the queues by GPU, type and source; null if no source reported queues by id. */
static json_t *queues_json(const struct diagnosis *diagnosis)
{
	json_t *list = json_array();

	if (!diagnosis->queues_known) {
		json_decref(list);
		return json_null();
	}
	for (size_t i = 0; i < diagnosis->queue_kinds; i++) {
		const struct diagnose_queues *q = &diagnosis->queues[i];

		json_array_append_new(
			list,
			json_pack("{sI so sI so}", "gpu_id", (json_int_t)q->gpu_id, "type",
				  q->type < OBSERVE_TYPES ? json_string(observe_type_name(q->type))
							  : json_null(),
				  "count", (json_int_t)q->count, "source",
				  q->source == OBSERVE_NO_SOURCE
					  ? json_null()
					  : json_string(observe_source_name(q->source))));
	}
	return list;
}

/* Returns the queues for which the driver has reported a fault; null if faults are not known for
 * any queue. */
static json_t *exceptions_json(const struct diagnosis *diagnosis, const struct observation *seen)
{
	json_t *list = diagnosis->exceptions_known ? json_array() : json_null();

	for (size_t i = 0; json_is_array(list) && i < seen->queues.count; i++) {
		const struct observe_queue *q = &seen->queues.queue[i];
		const struct observe_value *mask = &q->field[OBSERVE_EXCEPTIONS];

		if (mask->source != OBSERVE_NO_SOURCE && mask->value != 0)
			json_array_append_new(list, json_pack("{sI sI sI so ss}", "context",
							      (json_int_t)q->context, "queue_id",
							      (json_int_t)q->id, "gpu_id",
							      (json_int_t)q->gpu_id, "names",
							      exception_json(mask->value), "source",
							      observe_source_name(mask->source)));
	}
	return list;
}

/* Returns the result of each source that was queried: its number of queues, or its problem. */
static json_t *sources_json(const struct observation *seen)
{
	json_t *sources = json_object();

	for (enum observe_source s = OBSERVE_DAEMON; s < OBSERVE_SOURCES; s++) {
		const struct observe_result *result = &seen->result[s];

		if (result->queried)
			json_object_set_new(
				sources, observe_source_name(s),
				json_pack("{so so}", "queues",
					  result->error
						  ? json_null()
						  : json_integer((json_int_t)result->list.count),
					  "problem",
					  result->error ? plain_or_null(result->why)
							: json_null()));
	}
	return sources;
}

/* Returns the facts about GPU use, queues and runtime. */
static json_t *gpu_json(const struct doctor_facts *facts, const struct diagnosis *diagnosis)
{
	const struct doctor_process *p = doctor_named_process(facts);
	char rocr[64] = "";

	if (p->rocr[0])
		doctor_rocr_name(rocr, p->rocr);
	return json_pack("{so so so so so so so so so so so so so}", "used",
			 yes_or_null(diagnosis->uses_gpu), "listed", yes_or_null(p->uses_gpu),
			 "device_open", yes_or_null(p->kfd_open), "registered",
			 yes_or_null(p->registered), "shim", yes_or_null(p->shim), "queues",
			 queues_json(diagnosis), "exceptions",
			 exceptions_json(diagnosis, &facts->named.seen), "sources",
			 sources_json(&facts->named.seen), "held", yes_or_null(diagnosis->held),
			 "suspends", json_number(p->suspends >= 0, p->suspends), "suspended_us",
			 json_number(p->suspended_us >= 0, p->suspended_us), "debug_enabled",
			 yes_or_null(diagnosis->debug_enabled), "rocr", plain_or_null(rocr));
}

/* Returns whether a level is possible, and why not. */
static json_t *can_json(const struct diagnose_level *level)
{
	char why[WHY_BYTES];

	return json_pack("{so so so}", "can",
			 level->can == DIAGNOSE_UNKNOWN
				 ? json_null()
				 : json_string(diagnose_can_name(level->can)),
			 "why", plain_or_null(why_text(why, &level->reason)), "advice",
			 plain_or_null(level->reason.advice));
}

/* Returns the levels, the best first. */
static json_t *levels_json(const struct diagnosis *diagnosis)
{
	json_t *list = json_array();

	for (size_t i = 0; i < LEVELS; i++) {
		json_t *can = can_json(&diagnosis->levels[i]);

		json_object_set_new(can, "level",
				    json_string(doctor_level_name((enum doctor_level)i)));
		json_array_append_new(list, can);
	}
	return list;
}

/* Returns the name of a level as JSON; null if it is not known. */
static json_t *level_json(enum doctor_level level)
{
	return level == LEVEL_UNKNOWN ? json_null() : json_string(doctor_level_name(level));
}

/* Returns the diagnosis as a JSON object with the keys of docs/reference/doctor.md. */
static json_t *diagnose_json(const struct doctor_facts *facts, const struct diagnosis *diagnosis)
{
	return json_pack("{sI sI so so so so so so so so so}", "asked",
			 (json_int_t)facts->named.queried, "pid",
			 (json_int_t)facts->named.identity.pid, "verdict",
			 plain_json(diagnosis->verdict_text), "preemptible",
			 yes_or_null(diagnosis->preemptible), "level", level_json(diagnosis->level),
			 "best_level", level_json(diagnosis->best), "process",
			 story_json(facts, diagnosis), "gpu", gpu_json(facts, diagnosis), "levels",
			 levels_json(diagnosis), "by_hand", can_json(&diagnosis->levels[BY_HAND]),
			 "findings", findings_json(&diagnosis->findings, true));
}

/* ---- the command ---- */

struct job {
	const char *socket, *container;
	struct container_names *names;
	int pid;	/* with a container: pid in it; 0: all processes that use a GPU */
	bool json;	/* print one JSON object */
	bool simulated; /* result: the machine is a simulation */
};

/* Examines one process. Prints the diagnosis, or appends it as JSON to `list` if that is not
 * NULL. */
static int diagnose(struct job *job, pid_t pid, json_t *list)
{
	struct doctor_facts facts;
	struct diagnosis diagnosis = {0};
	char why[PROCESS_ERRMSG];
	int rc = doctor_collect(&facts, job->socket, pid);

	if (!rc)
		rc = doctor_collect_queues(&facts, job->socket);
	if (rc) {
		cli_failed(&cmd_diagnose, "%s", process_errmsg(why, pid, rc));
	} else {
		container_names_query(job->names, &facts.named.identity.container);
		diagnose_evaluate(&facts, &diagnosis);
		if (list)
			json_array_append_new(list, diagnose_json(&facts, &diagnosis));
		else
			diagnose_print(&facts, &diagnosis);
	}
	job->simulated = facts.simulated;
	diagnosis_free(&diagnosis);
	doctor_facts_free(&facts);
	return rc ? CLI_FAILED : CLI_DONE;
}

/* Examines the processes. Returns the exit code: success if at least one could be examined. */
static int report(struct job *job, const pid_t *pids, size_t count)
{
	json_t *list = job->json ? json_array() : NULL;
	int code = CLI_FAILED;

	for (size_t i = 0; i < count; i++) {
		if (i && !job->json)
			printf("\n\n");
		/* If a process has ended in the meantime, the others are still reported. */
		if (diagnose(job, pids[i], list) == CLI_DONE)
			code = CLI_DONE;
	}
	if (job->json && code == CLI_DONE)
		render_print(json_pack("{sb sO so}", "simulated", (int)job->simulated, "processes",
				       list, "gpus", gpus_json()),
			     JSON_INDENT(2));
	json_decref(list);
	return code;
}

/* Examines the process with pid job->pid in the container, or if that is 0 all processes of the
 * container that use a GPU. */
static int report_container(struct job *job)
{
	struct snapshot_reader *reader = snapshot_open(job->socket);
	struct snapshot snapshot;
	int code = select_container(&cmd_diagnose, reader, job->container, job->names, job->pid,
				    &snapshot);
	pid_t *pids = allocate(snapshot.count, sizeof(*pids));
	size_t count = 0;

	for (size_t i = 0; i < snapshot.count; i++) {
		const struct snapshot_process *process = snapshot.processes[i];

		if (job->pid ||
		    (process->gpu == PROCESS_GPU_YES && !process_is_ours(process->identity.pid)))
			pids[count++] = process->identity.pid;
	}
	if (count > 0)
		code = report(job, pids, count);
	else if (code == CLI_GO_ON)
		code = cli_failed(
			&cmd_diagnose, "none of the %zu processes of container %s uses a GPU%s",
			snapshot.count, job->container,
			snapshot.hidden ? ", as far as this user can see: run this as root" : "");
	free(pids);
	snapshot_close(reader);
	return code;
}

static int run(int argc, char **argv)
{
	struct job job = {0};
	const struct cli_option options[] = {
		{OPTION_CONTAINER(&job.container)},
		{OPTION_JSON(&job.json)},
		{OPTION_SOCKET(&job.socket)},
		{WORD_PID(&job.pid), .optional = true},
		{0},
	};
	int code = options_read(&cmd_diagnose, argc, argv, options);

	if (code != CLI_GO_ON)
		return code;
	if (!job.pid && !job.container)
		return cli_usage(&cmd_diagnose, "no process given: give its PID or its container");
	job.names = container_names_new();
	code = job.container ? report_container(&job) : report(&job, &job.pid, 1);
	container_names_free(job.names);
	return code;
}

const struct cli_command cmd_diagnose = {
	.name = "diagnose",
	.summary = "diagnose one process: its state, its GPU use, can it be preempted",
	.usage = "[--container NAME|ID] [PID] [--json] [--socket PATH]",
	.help = "Prints in one line whether a process runs, uses a GPU and can be preempted, and at which\n"
		"level; then the details: its state, its pids and its container, its tracer, the evidence\n"
		"of its GPU use, its queues, whether its runtime is enabled for debugging, whether\n"
		"'kfdsched suspend' and 'preempt' can hold it now, each level and why it is not available,\n"
		"and the obstacles with a command that removes each. A value that cannot be read from here\n"
		"is '-'. The command stops, suspends and traces no process. 'kfdsched doctor' checks the\n"
		"machine.\n"
		"\n"
		"  --container X  PID is the pid in that container; without PID all processes in it that\n"
		"                 use a GPU. X: a name, the beginning of an id (4 digits), or the uid of a\n"
		"                 pod. Names are queried from docker, podman and crictl, if they are in\n"
		"                 PATH\n"
		"  --json         one object; docs/reference/doctor.md describes the keys\n" HELP_SOCKET
		"\n"
		"The exit code is 0 if the process was found, 1 if there is no such process.\n"
		"\n"
		"Examples:\n"
		"  kfdsched diagnose 4711\n"
		"  kfdsched diagnose --container serve --json | jq -r '.processes[].verdict'\n",
	.run = run,
};

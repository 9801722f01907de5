// SPDX-License-Identifier: MIT
/* The diagnosis as text: the verdict, its grounds, and what to do. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "cli/doctor/diagnosis.h"
#include "cli/output/table.h"
#include "cli/util/gpus.h"
#include "common/text.h"

const char *diagnose_why(char text[static DIAGNOSE_WHY], const struct doctor_finding *reason)
{
	char gpu[GPU_NAME_SHORT];

	if (reason->gpu_id)
		snprintf(text, DIAGNOSE_WHY, "GPU %s: %s", gpus_short(gpu, reason->gpu_id),
			 reason->found);
	else
		snprintf(text, DIAGNOSE_WHY, "%s", reason->found);
	return text;
}

static void print_line(const char *what, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/* Prints a line with a label, " state it sleeps"; an empty text is printed as "-". */
static void print_line(const char *what, const char *fmt, ...)
{
	char text[1280];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	plain_text(text);
	printf("  %-10s  %s\n", what, text[0] ? text : TABLE_UNKNOWN);
}

/* Prints the numbers of the process in each pid namespace, from kfdsched's to its own, and on the
 * machine. */
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

/* Prints the facts about the process itself. Of a kernel thread there is only the state. */
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

/* Prints whether the process is held now, and how often and how long it has been. */
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

/* Prints the facts about GPU use. "by hand": whether suspend and preempt can hold the process. */
static void print_gpu(const struct doctor_facts *facts, const struct diagnosis *diagnosis)
{
	static const char *const replies[] = {"no", "yes"};
	const struct diagnose_level *hand = &diagnosis->levels[BY_HAND];
	char why[DIAGNOSE_WHY];

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
		   hand->reason.found[0] ? ": " : "", diagnose_why(why, &hand->reason),
		   hand->reason.advice[0] ? "; do: " : "", hand->reason.advice);
}

/* Prints the levels as a table, the best first. */
static int print_levels(const struct diagnosis *diagnosis)
{
	struct table *table = table_new("<LEVEL|<AVAILABLE|<WHY");
	char why[DIAGNOSE_WHY];
	int rc;

	if (!table)
		return -ENOMEM;
	for (size_t i = 0; i < LEVELS; i++) {
		const struct diagnose_level *level = &diagnosis->levels[i];

		table_row(table);
		table_cell(table, "%s", doctor_level_name((enum doctor_level)i));
		table_cell(table, "%s", diagnose_can_name(level->can));
		table_cell(table, "%s", diagnose_why(why, &level->reason));
	}
	printf("\n");
	rc = table_print(table, stdout);
	table_free(table);
	return rc;
}

int diagnose_print(const struct doctor_facts *facts, const struct diagnosis *diagnosis)
{
	char verdict_text[sizeof(diagnosis->verdict_text)];
	int rc = 0;

	strcpy(verdict_text, diagnosis->verdict_text);
	plain_text(verdict_text);
	printf("%s\n", verdict_text);
	print_simulated(facts, "(", ")");
	print_process(facts, diagnosis);
	if (!doctor_is_dead(&facts->named))
		print_gpu(facts, diagnosis);
	if (diagnosis->uses_gpu != DOCTOR_NO)
		rc = print_levels(diagnosis);
	if (!rc && diagnosis->findings.count) {
		printf("\n");
		rc = findings_print(&diagnosis->findings, VIEW_OBSTACLES);
	}
	return rc < 0 ? rc : 0;
}

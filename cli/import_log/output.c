// SPDX-License-Identifier: MIT
/* Prints the totals of a HIP log as tables, as JSON, or as a Python literal. */
#include "cli/import_log/stats.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/output/fields.h"
#include "common/allocate.h"
#include "common/json_util.h"

#define QUEUES_PRINTED 6u /* queues in the row of a thread */

static bool any(const struct log_stats_packets *packets)
{
	return packets->dispatches || packets->barriers || packets->others;
}

/* Returns true if the log has packets of the process. If it has none, their counts are shown as not
 * known instead of 0, because the process's log level or mask may exclude such lines. */
static bool known_packets(const struct log_stats_process *process)
{
	return process->seen[HIPLOG_DISPATCH] || process->seen[HIPLOG_BARRIER] ||
	       process->seen[HIPLOG_PACKET];
}

/* Returns true if the packet counts of the queue are known. Some packets name their queue only by
 * an address that no line links to an hsa_queue_t (`apart`). They may belong to any queue of which
 * only the hsa_queue_t is known, so the counts of such a queue are not known. */
static bool known_of_queue(const struct log_stats_process *process,
			   const struct log_stats_queue *queue)
{
	return known_packets(process) && !(process->apart && queue->hsa_queue && !queue->ring);
}

/* Numbers the queues of each process from 1, in the order of the log. Returns the array of numbers,
 * which the caller frees. */
static uint32_t *number_queues(const struct log_stats *stats)
{
	uint32_t *of_process = allocate(LOG_STATS_PROCESSES, sizeof(*of_process));
	uint32_t *number = allocate(LOG_STATS_QUEUES, sizeof(*number));

	for (uint32_t i = 0; i < stats->queues; i++)
		number[i] = ++of_process[stats->queue[i].process];
	free(of_process);
	return number;
}

/* For each thread a linked list of its uses (struct log_stats_use) in the order of the log. first[]
 * has the first use of a thread, next[] the use that follows a use; UINT32_MAX ends a list. */
struct chains {
	uint32_t first[LOG_STATS_THREADS], next[LOG_STATS_USES];
};

/* Builds the lists of all threads. Adds the uses from the last to the first, because each is put in
 * front of the list of its thread. The caller frees the result. */
static struct chains *chain_uses(const struct log_stats *stats)
{
	struct chains *chains = allocate(1, sizeof(*chains));

	memset(chains, 0xff, sizeof(*chains));
	for (uint32_t i = stats->uses; i-- > 0;) {
		chains->next[i] = chains->first[stats->use[i].thread];
		chains->first[stats->use[i].thread] = i;
	}
	return chains;
}

/* Formats the column PID. add_row() adds the pid to the rows of queues and threads. */
static const char *pid_cell(char text[FIELD_CELL], const json_t *row)
{
	return field_cell(text, row, "pid");
}

/* Formats the address `key` of a queue. If the log does not show whether an address is that of the
 * hsa_queue_t or of the ring, both columns have the address with "?" behind it. */
static const char *address_cell(char text[FIELD_CELL], const json_t *queue, const char *key)
{
	const char *either = json_string_value(json_object_get(queue, "unresolved_address"));

	if (!either)
		return field_text(queue, key);
	snprintf(text, FIELD_CELL, "%s?", either);
	return text;
}

static const char *hsa_queue_cell(char text[FIELD_CELL], const json_t *queue)
{
	return address_cell(text, queue, "hsa_queue");
}

static const char *ring_cell(char text[FIELD_CELL], const json_t *queue)
{
	return address_cell(text, queue, "ring_address");
}

static const char *priority_cell(char text[FIELD_CELL], const json_t *queue)
{
	snprintf(text, FIELD_CELL, "%s%s", field_text(queue, "priority"),
		 json_is_true(json_object_get(queue, "cooperative")) ? ", cooperative" : "");
	return text;
}

static const char *state_cell(char text[FIELD_CELL], const json_t *queue)
{
	(void)text;
	if (json_is_null(json_object_get(queue, "error")) &&
	    json_is_integer(json_object_get(queue, "deleted_us")))
		return "deleted";
	return field_text(queue, "error");
}

/* Writes each queue that the thread has used, with the number of packets: "#1 (20), #3 (7)". */
static const char *uses_cell(char text[FIELD_CELL], const json_t *thread)
{
	size_t used = 0, i;
	const json_t *use;

	strcpy(text, TABLE_UNKNOWN);
	json_array_foreach(json_object_get(thread, "queues"), i, use)
	{
		double packets = field_number(use, "dispatches") + field_number(use, "barriers") +
				 field_number(use, "other_packets");

		if (i == QUEUES_PRINTED)
			return strcat(text, ", ...");
		used += (size_t)snprintf(text + used, FIELD_CELL - used, "%s#%.0f (%.0f)",
					 i ? ", " : "", field_number(use, "queue"), packets);
	}
	return text;
}

#include "cli/import_log/output.def"

/* Sets the value of `key` to null unless `is_known`. */
static void known_if(bool is_known, json_t *out, const char *key)
{
	if (!is_known)
		json_object_set_new(out, key, json_null());
}

static void packets_known_if(bool is_known, json_t *out, const struct log_stats_packets *packets)
{
	known_if(is_known, out, "dispatches");
	known_if(is_known, out, "barriers");
	known_if(is_known, out, "other_packets");
	known_if(any(packets), out, "first_packet_us");
	known_if(any(packets), out, "last_packet_us");
}

static json_t *queue_json(const struct log_stats *stats, const struct log_stats_queue *queue,
			  uint32_t number)
{
	const char *priority = hiplog_priority_name(queue->priority);
	json_t *out = render_json(fields_hip_queue, queue);

	json_object_set_new(out, "queue", json_integer(number));
	json_object_set_new(out, "priority", json_string(priority));
	known_if(queue->has & HIPLOG_HAS_PRIORITY && strcmp(priority, "-"), out, "priority");
	known_if(queue->has & HIPLOG_HAS_HSA_ID, out, "hsa_id");
	known_if(queue->has & HIPLOG_HAS_PACKETS, out, "ring_packets");
	known_if(queue->has & HIPLOG_HAS_COOPERATIVE, out, "cooperative");
	known_if(queue->has & HIPLOG_HAS_REFERENCES, out, "streams");
	known_if(queue->created, out, "created_us");
	known_if(queue->deleted, out, "deleted_us");
	known_if(queue->pointers, out, "rptr");
	known_if(queue->pointers, out, "wptr");
	known_if(queue->pointers, out, "backlog_packets");
	known_if(queue->pointers, out, "backlog_packets_max");
	known_if(queue->aborted, out, "error");
	packets_known_if(known_of_queue(&stats->process[queue->process], queue), out,
			 &queue->packets);
	return out;
}

/* Returns the JSON of a thread, with its packets in each queue that it has used. */
static json_t *thread_json(const struct log_stats *stats, uint32_t index,
			   const struct chains *chains, const uint32_t *number)
{
	const struct log_stats_thread *thread = &stats->thread[index];
	const struct log_stats_process *process = &stats->process[thread->process];
	json_t *out = render_json(fields_hip_thread, thread), *queues = json_array();

	known_if(thread->named, out, "thread");
	known_if(process->seen[HIPLOG_CALL], out, "calls");
	known_if(process->seen[HIPLOG_KERNEL], out, "kernels");
	known_if(process->seen[HIPLOG_COPY], out, "copies");
	known_if(process->seen[HIPLOG_COPY], out, "copies_with_size");
	known_if(thread->sized_copies, out, "copied_bytes");
	packets_known_if(known_packets(process), out, &thread->packets);
	for (uint32_t i = chains->first[index]; i != UINT32_MAX; i = chains->next[i]) {
		json_t *use = render_json(fields_hip_use, &stats->use[i]);

		json_object_set_new(use, "queue", json_integer(number[stats->use[i].queue]));
		packets_known_if(true, use, &stats->use[i].packets);
		json_array_append_new(queues, use);
	}
	json_object_set_new(out, "queues", queues);
	return out;
}

/* Returns the JSON of a process, with empty lists of queues and threads. */
static json_t *process_json(const struct log_stats_process *process)
{
	json_t *out = render_json(fields_hip_process, process);

	json_object_set_new(out, "pool_before_last",
			    process->seen[HIPLOG_POOL] ? render_json(fields_hip_pool, process)
						       : json_null());
	json_object_set_new(out, "queues", json_array());
	json_object_set_new(out, "threads", json_array());
	return out;
}

/* Returns the file's name as JSON, although its bytes need not be UTF-8; JSON null for stdin. */
static json_t *file_json(const char *file)
{
	return strcmp(file, "-") == 0 ? json_null() : plain_json(file);
}

/* Returns the whole result as JSON. */
static json_t *all_json(const struct import_read *read, const struct log_stats *stats,
			const struct chains *chains, const uint32_t *number)
{
	json_t *processes = json_array();
	json_t *out = json_pack("{s:s,s:b,s:o?,s:I,s:I,s:I,s:I,s:b,s:b,s:I,s:{s:i,s:i,s:i,s:i}}",
				"source", "hip_log", "complete", !read->stopped && !stats->left_out,
				"file", file_json(read->file), "bytes", (json_int_t)read->bytes,
				"lines", (json_int_t)read->lines, "log_lines",
				(json_int_t)stats->records, "cut_lines", (json_int_t)read->cut,
				"stopped", read->stopped, "full", stats->left_out > 0,
				"left_out_lines", (json_int_t)stats->left_out, "room", "processes",
				(int)LOG_STATS_PROCESSES, "threads", (int)LOG_STATS_THREADS,
				"queues", (int)LOG_STATS_QUEUES, "uses", (int)LOG_STATS_USES);

	for (uint32_t i = 0; i < stats->processes; i++)
		json_array_append_new(processes, process_json(&stats->process[i]));
	for (uint32_t i = 0; i < stats->queues; i++)
		json_array_append_new(
			json_object_get(json_array_get(processes, stats->queue[i].process),
					"queues"),
			queue_json(stats, &stats->queue[i], number[i]));
	for (uint32_t i = 0; i < stats->threads; i++)
		json_array_append_new(
			json_object_get(json_array_get(processes, stats->thread[i].process),
					"threads"),
			thread_json(stats, i, chains, number));
	json_object_set_new(out, "processes", processes);
	return out;
}

/* Prints a JSON value as a Python literal. Strings and numbers are written as in JSON, because
 * Python reads them, escapes included. */
static void print_python(const json_t *value, FILE *out, int depth)
{
	const char *key;
	json_t *entry;
	size_t i;
	bool first = true;

	switch (json_typeof(value)) {
	case JSON_OBJECT:
		fputc('{', out);
		json_object_foreach((json_t *)(uintptr_t)value, key, entry)
		{
			fprintf(out, "%s\n%*s\"%s\": ", first ? "" : ",", depth * 2 + 2, "", key);
			print_python(entry, out, depth + 1);
			first = false;
		}
		fprintf(out, "\n%*s}", depth * 2, "");
		break;
	case JSON_ARRAY:
		fputc('[', out);
		json_array_foreach(value, i, entry)
		{
			fprintf(out, "%s\n%*s", i ? "," : "", depth * 2 + 2, "");
			print_python(entry, out, depth + 1);
		}
		fputc(']', out);
		break;
	case JSON_TRUE:
		fputs("True", out);
		break;
	case JSON_FALSE:
		fputs("False", out);
		break;
	case JSON_NULL:
		fputs("None", out);
		break;
	default:
		plain_json_print(value, out, JSON_ENCODE_ANY);
		break;
	}
}

static void show_processes(const struct log_stats *stats)
{
	json_t *rows = json_array();

	for (uint32_t i = 0; i < stats->processes; i++) {
		const struct log_stats_process *process = &stats->process[i];
		json_t *row = render_json(fields_hip_process_row, process);
		uint32_t threads = 0, queues = 0;

		for (uint32_t k = 0; k < stats->threads; k++)
			threads += stats->thread[k].process == i && stats->thread[k].named;
		for (uint32_t k = 0; k < stats->queues; k++)
			queues += stats->queue[k].process == i;
		json_object_set_new(row, "threads", json_number(threads, threads));
		json_object_set_new(row, "queues", json_number(queues, queues));
		json_object_set_new(row, "span_us",
				    json_number(process->last_us >= process->first_us,
						(int64_t)(process->last_us - process->first_us)));
		known_if(process->seen[HIPLOG_POOL], row, "limit");
		known_if(known_packets(process), row, "dispatches");
		known_if(known_packets(process), row, "barriers");
		json_array_append_new(rows, row);
	}
	render_table(fields_hip_process_row,
		     "pid,log_lines,span_us,threads,queues,limit,calls,kernels,dispatches,"
		     "barriers,copies",
		     rows, stdout);
}

/* Adds the row of a queue or a thread to `rows`, with the pid of its process. */
static void add_row(json_t *rows, const struct log_stats_process *process, json_t *row)
{
	json_object_set_new(row, "pid", json_integer((json_int_t)process->pid));
	known_if(process->pid, row, "pid");
	json_array_append_new(rows, row);
}

static void show_queues(const struct log_stats *stats, const uint32_t *number)
{
	json_t *rows = json_array();

	for (uint32_t i = 0; i < stats->queues; i++)
		add_row(rows, &stats->process[stats->queue[i].process],
			queue_json(stats, &stats->queue[i], number[i]));
	render_table(fields_hip_queue,
		     "PID,queue,HSA_QUEUE_T,RING,hsa_id,ring_packets,priority,streams,"
		     "dispatches,barriers,rptr,wptr,backlog_packets,backlog_packets_max,STATE",
		     rows, stdout);
}

static void show_threads(const struct log_stats *stats, const struct chains *chains,
			 const uint32_t *number)
{
	json_t *rows = json_array();

	for (uint32_t i = 0; i < stats->threads; i++)
		add_row(rows, &stats->process[stats->thread[i].process],
			thread_json(stats, i, chains, number));
	render_table(fields_hip_thread,
		     "PID,thread,log_lines,calls,kernels,dispatches,barriers,copies,"
		     "copied_bytes,PACKETS IN QUEUE",
		     rows, stdout);
}

void import_show(const struct import_read *read, const struct log_stats *stats,
		 enum import_format format)
{
	uint32_t *number = number_queues(stats);
	struct chains *chains = chain_uses(stats);
	json_t *json = format == IMPORT_TABLE ? NULL : all_json(read, stats, chains, number);

	if (format == IMPORT_JSON) {
		render_print(json, JSON_INDENT(2));
	} else if (format == IMPORT_PYTHON) {
		print_python(json, stdout, 0);
		putchar('\n');
		json_decref(json);
	} else {
		show_processes(stats);
		putchar('\n');
		if (stats->queues)
			show_queues(stats, number);
		else
			puts("no queues");
		putchar('\n');
		show_threads(stats, chains, number);
	}
	free(number);
	free(chains);
}

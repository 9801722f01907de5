// SPDX-License-Identifier: MIT
#include "cli/top/collect.h"

#include <stdlib.h>
#include <string.h>

#include "cli/inspect/debugfs.h"
#include "cli/inspect/hqd_ratio.h"
#include "cli/inspect/sources.h"
#include "common/allocate.h"
#include "common/clock.h"

#define REREAD_NS 5000000000u /* 5 s: minimum time between two readings of debugfs */
/* The pause after a reading is at least RESTS times its duration, so that readings take at most
 * 0.5 % of a core. */
#define RESTS 200u

/* ---- the hardware slots of all processes ---- */

/* The queues of one process in debugfs, and how many hardware slots they occupy. */
struct found {
	pid_t pid;
	struct observe_list queues;
	struct ratio ratio;
};

struct registers {
	struct source_debugfs *debugfs;
	uint64_t next_ns; /* earliest time of the next reading; 0: now */
	struct found *found;
	size_t count, room;
};

struct registers *registers_open(void)
{
	struct registers *registers = allocate(1, sizeof(*registers));

	registers->debugfs = source_debugfs_new();
	return registers;
}

static void forget(struct registers *registers)
{
	for (size_t i = 0; i < registers->count; i++)
		observe_list_free(&registers->found[i].queues);
	registers->count = 0;
}

void registers_close(struct registers *registers)
{
	forget(registers);
	free(registers->found);
	source_debugfs_free(registers->debugfs);
	free(registers);
}

static struct found *find(struct registers *registers, pid_t pid)
{
	for (size_t i = 0; i < registers->count; i++)
		if (registers->found[i].pid == pid)
			return &registers->found[i];
	return NULL;
}

static struct found *find_or_add(struct registers *registers, pid_t pid)
{
	struct found *found = find(registers, pid);

	if (found)
		return found;
	registers->found =
		allocate_next(registers->found, registers->count, &registers->room, sizeof(*found));
	found = &registers->found[registers->count++];
	*found = (struct found){.pid = pid};
	return found;
}

/* Splits the text at the heading of each process and parses each part. So the text is read once,
 * not once for each process. A process with several contexts has several parts. */
static void take_mqds(struct registers *registers, struct debugfs_copy text)
{
	static const char head[] = "Process ";
	const char *at = text.at, *end = text.at + text.bytes, *next;
	char why[OBSERVE_WHY];

	for (; at < end; at = next) {
		struct found *found;
		size_t left;

		/* Find the next heading of a process. */
		for (next = at; next < end;) {
			next = memchr(next, '\n', (size_t)(end - next));
			next = next ? next + 1 : end;
			left = (size_t)(end - next);
			if (left >= strlen(head) && memcmp(next, head, strlen(head)) == 0)
				break;
		}
		left = (size_t)(next - at);
		if (left <= strlen(head) || memcmp(at, head, strlen(head)) != 0)
			continue;
		found = find_or_add(registers, (pid_t)strtol(at + strlen(head), NULL, 10));
		text.at = at;
		text.bytes = left;
		debugfs_mqds(&text, found->pid, &found->queues, why);
	}
}

static void read_all(struct registers *registers)
{
	struct topology_gpu gpus[TOPOLOGY_GPUS];
	struct debugfs_copy text = {.gpus = gpus, .n_gpus = topology_gpus(gpus, TOPOLOGY_GPUS)};
	struct observe_list hqds = {0}, none = {0};
	struct ratio one[TOPOLOGY_GPUS];
	char why[OBSERVE_WHY];
	size_t unmatched;
	int rc;

	forget(registers);
	source_debugfs_renew(registers->debugfs);
	rc = source_hqds(registers->debugfs, &hqds, why);
	/* Pass pid 0 to get only the text, which take_mqds() parses. */
	if (!rc)
		source_mqds(registers->debugfs, 0, &none, why);
	text.at = rc ? NULL : source_debugfs_text(registers->debugfs, OBSERVE_MQD, &text.bytes);
	if (text.at)
		take_mqds(registers, text);
	for (size_t i = 0; i < registers->count; i++) {
		struct found *found = &registers->found[i];

		observe_merge(&found->queues, &hqds, &unmatched);
		observe_none_active(&found->queues);
		ratio_of(&found->queues, gpus, text.n_gpus, one, TOPOLOGY_GPUS, &found->ratio);
	}
	observe_list_free(&hqds);
	observe_list_free(&none);
}

void registers_add(struct registers *registers, struct top_state *state)
{
	char text[RATIO_TEXT];

	if (!observe_names_match())
		return;
	if (state->ns >= registers->next_ns) {
		uint64_t took = clock_ns();

		read_all(registers);
		took = clock_ns() - took;
		registers->next_ns =
			state->ns + (took > REREAD_NS / RESTS ? RESTS * took : REREAD_NS);
	}
	for (size_t i = 0; i < state->process_count; i++) {
		struct top_process *process = &state->processes[i];
		const struct found *found = find(registers, process->pid);
		const struct ratio *ratio;

		if (!found)
			continue;
		ratio = &found->ratio;
		if (ratio->mqds_known)
			process->mqds = (int32_t)ratio->mqds;
		if (ratio->hqds_known)
			process->hqds = (int32_t)ratio->hqds;
		if (ratio->hqds_known && ratio->mapped && ratio->least == ratio->most)
			process->hqds_per_queue = (int32_t)ratio->most;
		ratio_text(text, ratio);
		if (strcmp(text, "-") != 0)
			strcpy(process->ratio, text);
	}
}

/* ---- the queues of one process ---- */

enum { REGISTERS = OBSERVE_BIT(OBSERVE_MQD) | OBSERVE_BIT(OBSERVE_HQD) };

struct detail {
	const char *socket;
	struct snapshot_reader *reader;
	pid_t pid;			     /* of the last sample */
	const struct snapshot_process *seen; /* last sample; NULL: none */
	struct observation registers;	     /* last sample with debugfs */
	uint64_t registers_ns;		     /* its time; 0: none */
};

struct detail *detail_open(const char *socket)
{
	struct detail *detail = allocate(1, sizeof(*detail));

	detail->socket = socket;
	detail->reader = snapshot_open(socket);
	return detail;
}

void detail_forget(struct detail *detail)
{
	const char *socket = detail->socket;

	snapshot_close(detail->reader);
	observation_free(&detail->registers);
	*detail = (struct detail){.socket = socket, .reader = snapshot_open(socket)};
}

void detail_close(struct detail *detail)
{
	snapshot_close(detail->reader);
	observation_free(&detail->registers);
	free(detail);
}

/* Adds the last values from debugfs to the current sample, because debugfs is slow and therefore
 * not read for every sample. Adds only values that no other source has reported in this sample. */
static void add_registers(const struct detail *detail, struct observation *seen)
{
	const struct observe_list *from = &detail->registers.queues;

	for (size_t i = 0; i < from->count; i++) {
		const struct observe_queue *older = &from->queue[i];
		struct observe_queue *queue =
			observe_list_find(&seen->queues, older->context, older->id);

		for (unsigned f = 0; queue && f < OBSERVE_FIELDS; f++)
			if (older->field[f].source != OBSERVE_NO_SOURCE &&
			    !observe_known(queue, (enum observe_field)f))
				observe_set(queue, (enum observe_field)f, older->field[f].value,
					    older->field[f].source);
	}
	seen->result[OBSERVE_MQD].queried = detail->registers.result[OBSERVE_MQD].queried;
	seen->result[OBSERVE_MQD].error = detail->registers.result[OBSERVE_MQD].error;
	seen->result[OBSERVE_HQD].queried = detail->registers.result[OBSERVE_HQD].queried;
	seen->result[OBSERVE_HQD].error = detail->registers.result[OBSERVE_HQD].error;
}

/* Takes a sample of the process from `sources` and returns it. */
static struct snapshot_process *read_process(struct detail *detail, unsigned sources)
{
	const struct snapshot_request request = {
		.pids = &detail->pid, .count = 1, .sources = sources};

	return snapshot_read(detail->reader, &request)->processes[0];
}

void detail_read(struct detail *detail, pid_t pid)
{
	struct snapshot_process *process;
	uint64_t now = clock_ns();

	if (detail->pid != pid)
		detail_forget(detail);
	detail->pid = pid;
	if (!detail->registers_ns || now - detail->registers_ns >= REREAD_NS) {
		process = read_process(detail, OBSERVE_ALL);
		observation_free(&detail->registers);
		detail->registers = process->seen;
		process->seen = (struct observation){0};
		detail->registers_ns = now;
	}
	process = read_process(detail, OBSERVE_ALL & ~REGISTERS);
	add_registers(detail, &process->seen);
	detail->seen = process;
}

const struct snapshot_process *detail_seen(const struct detail *detail)
{
	return detail->seen;
}

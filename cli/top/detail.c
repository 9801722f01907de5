// SPDX-License-Identifier: MIT
#include "cli/top/detail.h"

#include <errno.h>
#include <stdlib.h>

#include "common/clock.h"

#define DEBUGFS_NS 5000000000u /* 5 s: minimum time between two samples with debugfs */
enum { REGISTERS = OBSERVE_BIT(OBSERVE_MQD) | OBSERVE_BIT(OBSERVE_HQD) };

struct detail {
	const char *socket;
	pid_t pid;
	struct observer *often, *seldom;    /* without and with debugfs */
	struct observation seen, registers; /* last sample of each */
	uint64_t registers_ns;		    /* time of the last sample with debugfs; 0: none */
	bool any;			    /* `seen` is valid */
};

struct detail *detail_open(const char *socket)
{
	struct detail *detail = calloc(1, sizeof(*detail));

	if (detail)
		detail->socket = socket;
	return detail;
}

void detail_forget(struct detail *detail)
{
	observe_close(detail->seldom);
	observe_close(detail->often);
	observation_free(&detail->seen);
	observation_free(&detail->registers);
	*detail = (struct detail){.socket = detail->socket};
}

void detail_close(struct detail *detail)
{
	if (detail)
		detail_forget(detail);
	free(detail);
}

static int begin(struct detail *detail, pid_t pid)
{
	struct observe_options options = {.pid = pid, .socket = detail->socket};

	detail_forget(detail);
	detail->pid = pid;
	options.sources = OBSERVE_ALL & ~REGISTERS;
	detail->often = observe_open(&options);
	options.sources = OBSERVE_ALL;
	options.beside = detail->often;
	detail->seldom = observe_open(&options);
	if (detail->often && detail->seldom)
		return 0;
	detail_forget(detail);
	return -ENOMEM;
}

/* Merge the last debugfs values into the current sample, but only values that no other source has
 * reported in this sample. (debugfs is read less often, because it is expensive.) */
static void add_registers(struct detail *detail)
{
	const struct observe_list *from = &detail->registers.queues;

	for (size_t i = 0; i < from->count; i++) {
		const struct observe_queue *older = &from->queue[i];
		struct observe_queue *queue =
			observe_list_find(&detail->seen.queues, older->context, older->id);

		for (unsigned f = 0; queue && f < OBSERVE_FIELDS; f++)
			if (older->field[f].source != OBSERVE_NO_SOURCE &&
			    !observe_known(queue, (enum observe_field)f))
				observe_set(queue, (enum observe_field)f, older->field[f].value,
					    older->field[f].source);
	}
	detail->seen.result[OBSERVE_MQD].queried = detail->registers.result[OBSERVE_MQD].queried;
	detail->seen.result[OBSERVE_MQD].error = detail->registers.result[OBSERVE_MQD].error;
	detail->seen.result[OBSERVE_HQD].queried = detail->registers.result[OBSERVE_HQD].queried;
	detail->seen.result[OBSERVE_HQD].error = detail->registers.result[OBSERVE_HQD].error;
}

int detail_read(struct detail *detail, pid_t pid)
{
	uint64_t now = clock_ns();
	int rc = 0;

	if (detail->pid != pid || !detail->often)
		rc = begin(detail, pid);
	if (rc)
		return rc;
	rc = observe_sample(detail->often, &detail->seen);
	detail->any = rc == 0 || rc == -ESRCH;
	if (!rc && (!detail->registers_ns || now - detail->registers_ns >= DEBUGFS_NS)) {
		rc = observe_sample(detail->seldom, &detail->registers);
		detail->registers_ns = now;
	}
	if (!rc)
		add_registers(detail);
	return rc == -ENOMEM ? rc : 0;
}

const struct observation *detail_seen(const struct detail *detail)
{
	return detail->any ? &detail->seen : NULL;
}

// SPDX-License-Identifier: MIT
#include "cli/record/backlog.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Makes room for one more value. Returns 0 or -ENOMEM. */
static int make_room(struct backlog *b)
{
	size_t room = b->room ? 2 * b->room : 16;
	uint64_t *recorded;

	if (b->count < b->room)
		return 0;
	recorded = reallocarray(b->recorded, room, sizeof(*recorded));
	if (!recorded)
		return -ENOMEM;
	b->recorded = recorded;
	b->room = room;
	return 0;
}

/* Drops every second value. The values are in the order of size, so the median hardly changes. */
static void thin_out(struct backlog *b)
{
	for (size_t i = 0; i < b->count / 2; i++)
		b->recorded[i] = b->recorded[2 * i + 1];
	b->count /= 2;
	b->every *= 2;
}

int backlog_add(struct backlog *b, uint64_t packets)
{
	size_t at;

	if (b->every == 0)
		b->every = 1;
	b->samples++;
	b->waiting += packets > 0;
	if (packets > b->max)
		b->max = packets;
	if ((b->samples - 1) % b->every != 0)
		return 0;
	if (b->count == BACKLOG_SAMPLES)
		thin_out(b);
	if (make_room(b))
		return -ENOMEM;
	for (at = b->count++; at > 0 && b->recorded[at - 1] > packets; at--)
		b->recorded[at] = b->recorded[at - 1];
	b->recorded[at] = packets;
	return 0;
}

void backlog_free(struct backlog *b)
{
	free(b->recorded);
	*b = (struct backlog){0};
}

bool backlog_known(const struct backlog *b)
{
	return b && b->samples > 0;
}

double backlog_share(const struct backlog *b)
{
	return backlog_known(b) ? (double)b->waiting / (double)b->samples : 0;
}

double backlog_median(const struct backlog *b)
{
	if (!b || b->count == 0)
		return 0;
	return ((double)b->recorded[(b->count - 1) / 2] + (double)b->recorded[b->count / 2]) / 2;
}

int backlog_compare(const struct backlog *a, const struct backlog *b)
{
	const double left[] = {backlog_median(a), backlog_share(a), a ? (double)a->max : 0};
	const double right[] = {backlog_median(b), backlog_share(b), b ? (double)b->max : 0};

	for (unsigned i = 0; i < 3; i++)
		if (left[i] < right[i] || left[i] > right[i])
			return left[i] < right[i] ? -1 : 1;
	return 0;
}

json_t *backlog_json(const struct backlog *b)
{
	if (!backlog_known(b))
		return json_null();
	return json_pack("{s:I,s:f,s:f,s:I}", "samples", (json_int_t)b->samples, "waiting_ratio",
			 backlog_share(b), "median_packets", backlog_median(b), "max_packets",
			 (json_int_t)b->max);
}

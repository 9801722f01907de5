// SPDX-License-Identifier: MIT
#include "cli/inspect/verify.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/allocate.h"

/* Fields that are compared: they are constant for the life of a queue, or changed by its process
 * only. Other fields would differ merely because the sources are read at different times. */
static const enum observe_field compared[] = {
	OBSERVE_TYPE,	      OBSERVE_RING_BYTES, OBSERVE_RING_ADDRESS, OBSERVE_WPTR_ADDRESS,
	OBSERVE_RPTR_ADDRESS, OBSERVE_PRIORITY,	  OBSERVE_PERCENT,	OBSERVE_CWSR_ADDRESS,
	OBSERVE_CWSR_BYTES,   OBSERVE_HSA_QUEUE,  OBSERVE_PASID,	OBSERVE_DOORBELL,
};
#define COMPARED (sizeof(compared) / sizeof(compared[0]))

static bool replied(const struct observation *seen, enum observe_source source)
{
	return seen->result[source].queried && !seen->result[source].error;
}

static bool is_compute(const struct observe_queue *queue)
{
	return observe_is_compute(queue->field[OBSERVE_TYPE].value);
}

/* ---- rows ---- */

/* Returns true if a debugfs entry is this queue: it has the same node and ring address, and the
 * same doorbell if both doorbells are known. */
static bool fits(const struct observe_queue *queue, const struct observe_queue *entry)
{
	if (queue->gpu_id != entry->gpu_id || !observe_same(queue, entry, OBSERVE_RING_ADDRESS))
		return false;
	return !observe_known(queue, OBSERVE_DOORBELL) || !observe_known(entry, OBSERVE_DOORBELL) ||
	       observe_same(queue, entry, OBSERVE_DOORBELL);
}

static void set_reported(struct verify_row *row, enum observe_source source,
			 enum verify_reported how, const struct observe_queue *entry)
{
	row->reported[source] = how;
	row->by[source] = entry;
}

/* Returns true if the entry is the queue of the row: it has the same context and id, or has no id
 * but the same ring (fits()). */
static bool is_of_row(const struct verify_row *row, const struct observe_queue *entry)
{
	return entry->id != OBSERVE_NO_ID
		       ? row->queue->id == entry->id && row->queue->context == entry->context
		       : fits(row->queue, entry);
}

/* Returns true if the entry has the same addresses of write and read pointer as the row. The ring
 * addresses may differ: that is a difference to report, not another queue. */
static bool has_pointers_of(const struct verify_row *row, const struct observe_queue *entry)
{
	return row->queue->gpu_id == entry->gpu_id &&
	       observe_same(row->queue, entry, OBSERVE_WPTR_ADDRESS) &&
	       observe_same(row->queue, entry, OBSERVE_RPTR_ADDRESS);
}

/* Returns true if the entry may belong to the row: same node, engine and ring size, and no source
 * has reported the ring address of the row. */
static bool is_alike_row(const struct verify_row *row, const struct observe_queue *entry)
{
	return row->queue->id != OBSERVE_NO_ID &&
	       !observe_known(row->queue, OBSERVE_RING_ADDRESS) && observe_alike(row->queue, entry);
}

/* Returns true if the entry, a hardware slot, is the same queue as the MQD of the row (fits()).
 * Needed for rows whose ring address is known from debugfs only. */
static bool fits_descriptor(const struct verify_row *row, const struct observe_queue *entry)
{
	return row->by[OBSERVE_MQD] && fits(row->by[OBSERVE_MQD], entry);
}

/* Returns the first row for which is_row() accepts the entry, or NULL. A row that already has an
 * entry of this source is skipped. */
static struct verify_row *
find_row(struct verify *v, const struct observe_queue *entry, enum observe_source source,
	 bool (*is_row)(const struct verify_row *row, const struct observe_queue *entry))
{
	for (size_t i = 0; i < v->rows; i++)
		if (!v->row[i].by[source] && is_row(&v->row[i], entry))
			return &v->row[i];
	return NULL;
}

static void place(struct verify *v, const struct observe_queue *entry, enum observe_source source)
{
	enum verify_reported how = VERIFY_REPORTED;
	struct verify_row *row = find_row(v, entry, source, is_of_row);

	if (!row && source == OBSERVE_HQD)
		row = find_row(v, entry, source, fits_descriptor);
	if (!row && entry->id == OBSERVE_NO_ID)
		row = find_row(v, entry, source, has_pointers_of);
	if (!row && entry->id == OBSERVE_NO_ID) {
		row = find_row(v, entry, source, is_alike_row);
		how = VERIFY_ALIKE;
	}
	if (row) {
		set_reported(row, source, how, entry);
		return;
	}
	/* No other source lists this queue. */
	row = &v->row[v->rows++];
	memset(row, 0, sizeof(*row));
	row->queue = entry;
	set_reported(row, source, VERIFY_REPORTED, entry);
}

static bool is_placed(const struct verify *v, const struct observe_queue *entry,
		      enum observe_source source)
{
	for (size_t i = 0; i < v->rows; i++)
		if (v->row[i].by[source] == entry)
			return true;
	return false;
}

/* Places the entries in rows. First those for which is_of_row() finds a row. Then the others, by
 * weaker criteria, in a row that has no entry of this source yet, or in a new row. */
static void place_all(struct verify *v, const struct observe_list *list, enum observe_source source)
{
	for (size_t i = 0; i < list->count; i++)
		if (find_row(v, &list->queue[i], source, is_of_row))
			place(v, &list->queue[i], source);
	for (size_t i = 0; i < list->count; i++)
		if (!is_placed(v, &list->queue[i], source))
			place(v, &list->queue[i], source);
}

static void make_rows(const struct observation *seen, struct verify *v)
{
	size_t most = seen->queues.count;

	FOR_VERIFIED (s)
		most += seen->result[s].list.count;
	free(v->row);
	v->row = allocate(most, sizeof(*v->row));
	v->rows = seen->queues.count;
	for (size_t i = 0; i < v->rows; i++)
		v->row[i].queue = &seen->queues.queue[i];
	FOR_VERIFIED (s)
		place_all(v, &seen->result[s].list, s);
	for (size_t i = 0; i < v->rows; i++) {
		bool only_alike = false;

		FOR_VERIFIED (s) {
			if (replied(seen, s) && v->row[i].reported[s] == VERIFY_NO_RESULT)
				v->row[i].reported[s] = VERIFY_NOT;
			only_alike |= v->row[i].reported[s] == VERIFY_ALIKE;
		}
		v->alike += only_alike;
	}
}

/* ---- differences ---- */

static struct verify_difference *differ(struct verify *v, const struct verify_row *row,
					enum verify_what what)
{
	const struct observe_queue *queue = row->queue;
	struct verify_difference *out;

	v->difference = allocate_next(v->difference, v->differences, &v->room, sizeof(*out));
	out = &v->difference[v->differences++];
	*out = (struct verify_difference){
		.what = what,
		.context = queue->context,
		.id = queue->id,
		.gpu_id = queue->gpu_id,
		.ring = observe_known(queue, OBSERVE_RING_ADDRESS)
				? queue->field[OBSERVE_RING_ADDRESS].value
				: 0,
	};
	return out;
}

static void differ_by(struct verify *v, const struct verify_row *row, enum verify_what what,
		      enum observe_source a, enum observe_source b)
{
	struct verify_difference *out = differ(v, row, what);

	out->a = a;
	out->b = b;
}

/* Returns true if the source lists every queue of the kind that the row has, so that a missing
 * queue is a difference. OBSERVE_HQD does not, because hardware slots hold mapped queues only. */
static bool must_have(const struct verify_row *row, enum observe_source source)
{
	const struct observe_queue *queue = row->queue;

	if (observe_known(queue, OBSERVE_TYPE) && queue->field[OBSERVE_TYPE].value == OBSERVE_DRM)
		return false;
	if (queue->context && (source == OBSERVE_TRAP || source == OBSERVE_SYSFS))
		return false;
	return source != OBSERVE_HQD;
}

static void find_missing(struct verify *v, const struct verify_row *row)
{
	enum observe_source has = OBSERVE_DAEMON;

	while (has < OBSERVE_HQD && row->reported[has] < VERIFY_ALIKE)
		has++;
	FOR_VERIFIED (s)
		if (row->reported[s] == VERIFY_NOT && must_have(row, s))
			differ_by(v, row, VERIFY_MISSING, has, s);
}

static bool reports(const struct verify_row *row, enum observe_source source,
		    enum observe_field field)
{
	/* Do not compare an entry that is only alike: its type and size are equal by the definition
	 * of VERIFY_ALIKE, and its other values may be of another queue. */
	return row->reported[source] == VERIFY_REPORTED &&
	       row->by[source]->field[field].source == source;
}

static bool agree(enum observe_field field, uint64_t a, uint64_t b)
{
	bool finer = a == OBSERVE_COMPUTE || b == OBSERVE_COMPUTE;

	if (field == OBSERVE_TYPE && finer)
		return observe_is_compute(a) && observe_is_compute(b);
	return a == b;
}

/* Returns true if the two priorities differ only because the process is held at
 * PROTOCOL_LEVEL_WEIGHT: the shim then sets the lowest priority for its queues in the driver, but
 * reports to the daemon and in its shared memory the priority that the process set. */
static bool is_lowered(enum observe_field field, enum observe_source a, enum observe_source b,
		       uint64_t value_b)
{
	return field == OBSERVE_PRIORITY && (a == OBSERVE_SHM || a == OBSERVE_DAEMON) &&
	       b == OBSERVE_MQD && value_b == 0;
}

static void compare_field(struct verify *v, const struct verify_row *row, enum observe_field field)
{
	enum observe_source first = OBSERVE_NO_SOURCE;

	FOR_VERIFIED (s) {
		struct verify_difference *out;
		uint64_t a, b;

		if (!reports(row, s, field))
			continue;
		if (first == OBSERVE_NO_SOURCE) {
			first = s;
			continue;
		}
		a = row->by[first]->field[field].value;
		b = row->by[s]->field[field].value;
		if (agree(field, a, b))
			continue;
		if (is_lowered(field, first, s, b)) {
			v->lowered++;
			continue;
		}
		out = differ(v, row, VERIFY_FIELD);
		out->field = field;
		out->a = first;
		out->b = s;
		out->value_a = a;
		out->value_b = b;
	}
}

static void compare_nodes(struct verify *v, const struct verify_row *row)
{
	enum observe_source first = OBSERVE_NO_SOURCE;

	FOR_VERIFIED (s) {
		if (row->reported[s] != VERIFY_REPORTED)
			continue;
		if (first == OBSERVE_NO_SOURCE)
			first = s;
		else if (row->by[first]->gpu_id != row->by[s]->gpu_id)
			differ_by(v, row, VERIFY_NODE, first, s);
	}
}

static void compare_count(struct verify *v, const struct verify_row *row, uint32_t xccs,
			  enum verify_what what, enum observe_source source,
			  enum observe_field field)
{
	const struct observe_queue *entry = row->by[source];
	struct verify_difference *out;

	if (!entry || !observe_known(entry, field) || entry->field[field].value == xccs)
		return;
	out = differ(v, row, what);
	out->b = source;
	out->value_a = xccs;
	out->value_b = entry->field[field].value;
}

/* Returns the OBSERVE_BIT()s of the sources that replied and are independent of each other. If the
 * client's shared memory is among them, the daemon is left out, because it reads that memory.
 * Hardware slots are left out, because they hold mapped queues only. */
static uint32_t witnesses(const struct observation *seen)
{
	uint32_t sources = 0;

	FOR_VERIFIED (s)
		if (s != OBSERVE_HQD && replied(seen, s))
			sources |= OBSERVE_BIT(s);
	if (sources & OBSERVE_BIT(OBSERVE_SHM))
		sources &= ~OBSERVE_BIT(OBSERVE_DAEMON);
	return sources;
}

void verify_compare(const struct observation *observation, const struct topology_gpu *gpus,
		    size_t n_gpus, struct verify *out)
{
	out->differences = out->alike = out->lowered = 0;
	out->witnesses = witnesses(observation);
	make_rows(observation, out);
	for (size_t i = 0; i < out->rows; i++) {
		const struct verify_row *row = &out->row[i];
		const struct topology_gpu *gpu = topology_find(gpus, n_gpus, row->queue->gpu_id);

		find_missing(out, row);
		compare_nodes(out, row);
		for (size_t f = 0; f < COMPARED; f++)
			compare_field(out, row, compared[f]);
		if (!gpu || !gpu->xccs || !is_compute(row->queue))
			continue;
		compare_count(out, row, gpu->xccs, VERIFY_MQD_COUNT, OBSERVE_MQD, OBSERVE_MQDS);
		compare_count(out, row, gpu->xccs, VERIFY_HQD_COUNT, OBSERVE_HQD, OBSERVE_HQDS);
	}
}

static bool is_again(const struct verify_difference *a, const struct verify_difference *b)
{
	return a->what == b->what && a->context == b->context && a->id == b->id &&
	       a->gpu_id == b->gpu_id && a->ring == b->ring && a->field == b->field &&
	       a->a == b->a && a->b == b->b;
}

void verify_keep(struct verify *now, const struct verify *before)
{
	size_t n_valid = 0;

	for (size_t i = 0; i < now->differences; i++) {
		bool again = false;

		for (size_t k = 0; !again && k < before->differences; k++)
			again = is_again(&now->difference[i], &before->difference[k]);
		if (again)
			now->difference[n_valid++] = now->difference[i];
	}
	now->differences = n_valid;
}

void verify_free(struct verify *verify)
{
	free(verify->row);
	free(verify->difference);
	*verify = (struct verify){0};
}

enum verify_verdict verify_verdict(const struct verify *verify)
{
	if (verify->differences)
		return VERIFY_DIFFER;
	return __builtin_popcount(verify->witnesses) < 2 ? VERIFY_UNCERTAIN : VERIFY_AGREE;
}

/* ---- in words ---- */

static void value_text(char text[OBSERVE_TEXT], enum observe_field field, uint64_t value)
{
	struct observe_queue queue = {0};

	queue.field[field] = (struct observe_value){value, OBSERVE_DAEMON};
	observe_text(text, &queue, field);
}

static void queue_text(char text[72], const struct verify_difference *d, const char *gpu)
{
	if (d->id != OBSERVE_NO_ID && d->context)
		snprintf(text, 72, "queue %u.%u (GPU %s)", d->context, d->id, gpu);
	else if (d->id != OBSERVE_NO_ID)
		snprintf(text, 72, "queue %u (GPU %s)", d->id, gpu);
	else if (d->ring)
		snprintf(text, 72, "a queue of GPU %s with its ring at 0x%" PRIx64, gpu, d->ring);
	else
		snprintf(text, 72, "a queue of GPU %s", gpu);
}

const char *verify_text(char text[VERIFY_TEXT], const struct verify_difference *d, const char *gpu)
{
	const char *a = observe_source_name(d->a), *b = observe_source_name(d->b);
	char queue[72], value_a[OBSERVE_TEXT], value_b[OBSERVE_TEXT];

	queue_text(queue, d, gpu);
	switch (d->what) {
	case VERIFY_MISSING:
		snprintf(text, VERIFY_TEXT, "%s: %s lists it, %s does not", queue, a, b);
		break;
	case VERIFY_NODE:
		snprintf(text, VERIFY_TEXT, "%s: %s and %s do not name the same GPU", queue, a, b);
		break;
	case VERIFY_MQD_COUNT:
		snprintf(text, VERIFY_TEXT,
			 "%s: it has %" PRIu64 " MQDs, and its node has %" PRIu64 " XCCs", queue,
			 d->value_b, d->value_a);
		break;
	case VERIFY_HQD_COUNT:
		snprintf(text, VERIFY_TEXT,
			 "%s: it is active in %" PRIu64 " hardware slots, and its node has %" PRIu64
			 " XCCs",
			 queue, d->value_b, d->value_a);
		break;
	default:
		value_text(value_a, d->field, d->value_a);
		value_text(value_b, d->field, d->value_b);
		snprintf(text, VERIFY_TEXT, "%s: %s is %s in %s, and %s in %s", queue,
			 observe_field_info(d->field)->key, value_a, a, value_b, b);
	}
	return text;
}

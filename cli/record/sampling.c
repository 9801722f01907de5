// SPDX-License-Identifier: MIT
/* Updates the statistics by one sample after the other. Each sample is sorted by SAMPLING_KEY() and
 * merged in one pass into s->queue, which is sorted by the same key. */
#include "cli/record/sampling.h"

#include <stdlib.h>
#include <string.h>

#include "cli/util/gpus.h"
#include "cli/util/objects.h"
#include "common/allocate.h"

void sampling_free(struct sampling *s)
{
	free(s->queue);
	free(s->came);
	free(s->gone);
	free(s->entry);
	*s = (struct sampling){0};
}

static uint64_t key_of(const struct sampled_queue *queue)
{
	return SAMPLING_KEY(queue->context, queue->id);
}

/* ---- one sample ---- */

static int by_key(const void *a, const void *b)
{
	const struct observe_queue *const *x = a, *const *y = b;
	uint64_t left = SAMPLING_KEY((*x)->context, (*x)->id);
	uint64_t right = SAMPLING_KEY((*y)->context, (*y)->id);

	return (left > right) - (left < right);
}

/* Makes room for `entries` more queues in all arrays. */
static void make_room(struct sampling *s, size_t entries)
{
	size_t need = entries + s->count;

	if (need <= s->change_room)
		return;
	need += need / 2 + 16;
	s->came = allocated(reallocarray(s->came, need, sizeof(*s->came)));
	s->gone = allocated(reallocarray(s->gone, need, sizeof(*s->gone)));
	s->entry = allocated(reallocarray(s->entry, need, sizeof(*s->entry)));
	s->queue = allocated(reallocarray(s->queue, need, sizeof(*s->queue)));
	s->change_room = need;
}

/* Returns a hash of the values that distinguish a queue without an id. The hashes of a sample are
 * added up, so that the order of the queues has no influence. */
static uint64_t fingerprint_of(const struct observe_queue *queue)
{
	uint64_t x = queue->gpu_id;

	x = (x ^ queue->field[OBSERVE_RING_ADDRESS].value) * 0x9e3779b97f4a7c15u;
	x = (x ^ x >> 29 ^ queue->field[OBSERVE_TYPE].value) * 0xbf58476d1ce4e5b9u;
	return x ^ x >> 32;
}

/* Returns true if both values are known and not equal. */
static bool differ(const struct observe_value *a, const struct observe_value *b)
{
	return a->source != OBSERVE_NO_SOURCE && b->source != OBSERVE_NO_SOURCE &&
	       a->value != b->value;
}

bool sampling_types_differ(const struct observe_value *a, const struct observe_value *b)
{
	bool vague = a->value == OBSERVE_COMPUTE || b->value == OBSERVE_COMPUTE;

	if (vague && observe_is_compute(a->value) && observe_is_compute(b->value))
		return false;
	return differ(a, b);
}

/* Copies *value to *known if *value is known. */
static void keep(struct observe_value *known, const struct observe_value *value)
{
	if (value->source != OBSERVE_NO_SOURCE)
		*known = *value;
}

/* Updates the statistics `known` of a queue from its entry `queue` in this sample. If the node,
 * type or ring has changed, the id now belongs to another queue; known->another counts how
 * often. */
static void see(struct sampling *s, struct sampled_queue *known, const struct observe_queue *queue)
{
	const struct observe_value *type = &queue->field[OBSERVE_TYPE];
	const struct observe_value *bytes = &queue->field[OBSERVE_RING_BYTES];
	const struct observe_value *address = &queue->field[OBSERVE_RING_ADDRESS];
	bool another =
		known->seen > 0 &&
		(known->gpu_id != queue->gpu_id || sampling_types_differ(&known->type, type) ||
		 differ(&known->ring_bytes, bytes) || differ(&known->ring_address, address));

	if (!known->here)
		known->came++;
	if (another) {
		known->another++;
		known->type = known->ring_bytes = known->ring_address = (struct observe_value){0};
	}
	if (another && known->here)
		s->gone[s->gone_count++] = key_of(known);
	if (another || !known->here)
		s->came[s->came_count++] = key_of(known);
	known->here = true;
	known->seen++;
	known->gpu_id = queue->gpu_id;
	keep(&known->type, type);
	keep(&known->ring_bytes, bytes);
	keep(&known->ring_address, address);
}

/* Updates s->queue from the first `entries` of s->entry. Both are sorted by key, so one pass over
 * them is enough. Queues that are not in the sample are marked as gone. */
static void take_in(struct sampling *s, size_t entries)
{
	size_t added = 0, at = 0;

	for (size_t i = 0; i < entries; i++) {
		uint64_t key = SAMPLING_KEY(s->entry[i]->context, s->entry[i]->id);

		while (at < s->count && key_of(&s->queue[at]) < key) {
			if (s->queue[at].here)
				s->gone[s->gone_count++] = key_of(&s->queue[at]);
			s->queue[at++].here = false;
		}
		if (at == s->count || key_of(&s->queue[at]) != key) {
			if (s->count == SAMPLING_QUEUES) {
				s->unkept++;
				continue;
			}
			memmove(&s->queue[at + 1], &s->queue[at],
				(s->count - at) * sizeof(s->queue[0]));
			s->queue[at] = (struct sampled_queue){.context = s->entry[i]->context,
							      .id = s->entry[i]->id};
			s->count++;
			added++;
		}
		see(s, &s->queue[at++], s->entry[i]);
	}
	for (; at < s->count; at++) {
		if (s->queue[at].here)
			s->gone[s->gone_count++] = key_of(&s->queue[at]);
		s->queue[at].here = false;
	}
}

/* Fills s->entry with the queues that have an id, sorted and without duplicates.
 * Returns their number. */
static size_t sort_entries(struct sampling *s, const struct observe_list *list)
{
	bool sorted = true;
	size_t n = 0, unique = 0;

	for (size_t i = 0; i < list->count; i++) {
		const struct observe_queue *queue = &list->queue[i];

		if (queue->id == OBSERVE_NO_ID)
			continue;
		s->entry[n++] = queue;
		sorted = sorted && (n == 1 || by_key(&s->entry[n - 2], &s->entry[n - 1]) < 0);
	}
	if (sorted)
		return n;
	qsort(s->entry, n, sizeof(s->entry[0]), by_key);
	for (size_t i = 0; i < n; i++)
		if (i == 0 || by_key(&s->entry[i - 1], &s->entry[i]) != 0)
			s->entry[unique++] = s->entry[i];
	return unique;
}

void sampling_add(struct sampling *s, const struct observe_list *list, enum observe_source source)
{
	bool first = s->samples == 0;
	uint64_t fingerprint = 0;
	size_t unnamed = 0;

	s->came_count = s->gone_count = 0;
	s->changed = false;
	s->last_source = source;
	s->by_source[source]++;
	if (source == OBSERVE_NO_SOURCE) {
		s->unknown++;
		return;
	}
	make_room(s, list->count);
	for (size_t i = 0; i < list->count; i++) {
		if (list->queue[i].id != OBSERVE_NO_ID)
			continue;
		fingerprint += fingerprint_of(&list->queue[i]);
		unnamed++;
	}
	size_t named = sort_entries(s, list);
	bool names = unnamed == 0 || named > 0;
	size_t count = named + unnamed;

	/* A source without ids does not show which of the queues with known ids are still present.
	 * Their entries then stay as they are. */
	if (names)
		take_in(s, named);
	/* The fingerprint is of the queues without an id, and the source decides which these are.
	 * So it is compared only if their number is the same. Then a change of the source alone
	 * does not count as a change of the queues. */
	s->changed = !first && (count != s->now || s->came_count > 0 || s->gone_count > 0 ||
				(unnamed == s->now_unnamed && fingerprint != s->fingerprint));
	s->changes += s->changed;
	s->fingerprint = fingerprint;
	s->now = count;
	s->now_unnamed = unnamed;
	s->named += names;
	s->samples++;
	s->total += count;
	if (first || count < s->min)
		s->min = count;
	if (count > s->max)
		s->max = count;
}

/* ---- verdict ---- */

enum sampling_verdict sampling_verdict(const struct sampling *s)
{
	if (s->samples == 0)
		return SAMPLING_UNKNOWN;
	if (s->max == 0)
		return SAMPLING_NONE;
	if (s->count == 0)
		return SAMPLING_UNNAMED;
	if (s->samples == 1)
		return SAMPLING_ONCE;
	return s->changes > 0 ? SAMPLING_CHANGING : SAMPLING_STABLE;
}

static const char *verdict_name(enum sampling_verdict verdict)
{
	static const char *const names[SAMPLING_VERDICTS] = {
		[SAMPLING_UNKNOWN] = "unknown", [SAMPLING_NONE] = "none",
		[SAMPLING_UNNAMED] = "unnamed", [SAMPLING_ONCE] = "once",
		[SAMPLING_STABLE] = "stable",	[SAMPLING_CHANGING] = "changing",
	};

	return names[verdict];
}

const char *sampling_meaning(const struct sampling *s, const char *whose,
			     char text[static SAMPLING_MEANING])
{
	static const char *const meanings[SAMPLING_VERDICTS] = {
		[SAMPLING_UNKNOWN] = "No source reported the queues.",
		[SAMPLING_NONE] = "There was no queue in any sample.",
		[SAMPLING_UNNAMED] =
			"There were queues, but debugfs has no ids: use another source.",
		[SAMPLING_ONCE] = "Only one sample was taken, so it is not known whether the ids "
				  "are stable.",
	};
	enum sampling_verdict verdict = sampling_verdict(s);

	if (meanings[verdict])
		strcpy(text, meanings[verdict]);
	else if (verdict == SAMPLING_STABLE)
		snprintf(text, SAMPLING_MEANING,
			 "The ids were the same in all %zu samples. This does not show whether the "
			 "process can be suspended: use 'kfdsched diagnose %s'.",
			 s->samples, whose);
	else
		snprintf(text, SAMPLING_MEANING,
			 "The ids changed: a list of the queues of process %s that is collected at "
			 "one time is incomplete at another.",
			 whose);
	return text;
}

/* ---- output ---- */

void sampling_ranges(const uint64_t *keys, size_t count, FILE *out)
{
	for (size_t i = 0, end; i < count; i = end) {
		bool new_context = i == 0 || keys[i] >> 32 != keys[i - 1] >> 32;

		for (end = i + 1; end < count && keys[end] == keys[end - 1] + 1;)
			end++;
		if (i > 0)
			fputs(new_context ? ", " : ",", out);
		if (new_context && keys[i] >> 32 != 0)
			fprintf(out, "context %u: ", (unsigned)(keys[i] >> 32));
		fprintf(out, "%u", (unsigned)keys[i]);
		if (end - i > 1)
			fprintf(out, "-%u", (unsigned)keys[end - 1]);
	}
}

void sampling_ids(const struct sampling *s, FILE *out)
{
	uint64_t *keys = allocate(s->count, sizeof(*keys));
	size_t n = 0;

	for (size_t i = 0; i < s->count; i++)
		if (s->queue[i].here)
			keys[n++] = key_of(&s->queue[i]);
	sampling_ranges(keys, n, out);
	free(keys);
}

/* Prints the names of the sources. If there are several, prints behind each the number of its
 * samples. */
static void print_sources(const struct sampling *s, FILE *out)
{
	unsigned different = 0;

	for (unsigned i = OBSERVE_NO_SOURCE + 1; i < OBSERVE_SOURCES; i++)
		different += s->by_source[i] > 0;
	const char *before = "; source ";

	for (enum observe_source i = OBSERVE_NO_SOURCE + 1; i < OBSERVE_SOURCES; i++) {
		if (s->by_source[i] == 0)
			continue;
		fprintf(out, "%s%s", before, observe_source_name(i));
		if (different > 1)
			fprintf(out, " (%zu)", s->by_source[i]);
		before = ", ";
	}
}

void sampling_counts(const struct sampling *s, FILE *out)
{
	if (s->samples == 0) {
		fprintf(out, "queues: - (no source reported them in %zu sample%s)\n", s->unknown,
			s->unknown == 1 ? "" : "s");
		return;
	}
	if (s->samples == 1)
		fprintf(out, "queues: %zu in one sample", s->max);
	else if (s->min == s->max)
		fprintf(out, "queues: %zu in each of %zu samples", s->max, s->samples);
	else
		fprintf(out, "queues: %zu to %zu, %.1f in the mean of %zu samples", s->min, s->max,
			(double)s->total / (double)s->samples, s->samples);
	if (s->samples > 1 && s->changes == 0)
		fputs(", stable", out);
	else if (s->changes > 0)
		fprintf(out, ", not stable: %zu differ%s from the previous one", s->changes,
			s->changes == 1 ? "s" : "");
	print_sources(s, out);
	if (s->unknown > 0)
		fprintf(out, "; no source reported them in %zu more", s->unknown);
	fputc('\n', out);
}

double sampling_share(const struct sampling *s, const struct sampled_queue *queue)
{
	return queue && s->named ? (double)queue->seen / (double)s->named : 0;
}

static json_t *queue_type(const void *row)
{
	const struct observe_value *type = &((const struct sampled_queue *)row)->type;

	return type->source == OBSERVE_NO_SOURCE ? json_null()
						 : json_string(observe_type_name(type->value));
}

static json_t *queue_ring(const void *row)
{
	const struct observe_value *bytes = &((const struct sampled_queue *)row)->ring_bytes;

	return bytes->source == OBSERVE_NO_SOURCE ? json_null()
						  : json_integer((json_int_t)bytes->value);
}

#include "cli/record/sampling.def"

static json_t *presence_json(const struct sampling *s)
{
	json_t *list = render_list(fields_sampled_queue, s->queue, s->count, sizeof(*s->queue));

	for (size_t i = 0; i < s->count; i++)
		json_object_set_new(json_array_get(list, i), "present_ratio",
				    json_real(sampling_share(s, &s->queue[i])));
	return list;
}

void sampling_table(const struct sampling *s, const struct gpu_name *gpus, size_t n, FILE *out)
{
	bool contexts = s->count > 0 && s->queue[s->count - 1].context > 0;
	json_t *rows = presence_json(s);

	for (size_t i = 0; i < s->count; i++)
		gpus_set_text(json_array_get(rows, i), gpus, n, s->queue[i].gpu_id);
	render_table(fields_sampled_queue,
		     contexts ? "context,id,GPU,type,ring_bytes,samples,present_ratio"
			      : "id,GPU,type,ring_bytes,samples,present_ratio",
		     rows, out);
}

json_t *sampling_json(const struct sampling *s)
{
	json_t *sources = json_object(), *queues = json_null(), *stable = json_null();
	json_t *out = render_json(fields_sampled_basics, s);

	for (enum observe_source i = OBSERVE_NO_SOURCE + 1; i < OBSERVE_SOURCES; i++)
		if (s->by_source[i] > 0)
			json_object_set_new(sources, observe_source_name(i),
					    json_integer((json_int_t)s->by_source[i]));
	if (s->samples > 0)
		queues = json_pack("{s:f,s:I,s:I}", "mean", (double)s->total / (double)s->samples,
				   "min", (json_int_t)s->min, "max", (json_int_t)s->max);
	if (s->samples > 1)
		stable = json_boolean(s->changes == 0);
	json_object_update_new(out, json_pack("{s:o,s:o,s:s,s:o,s:o}", "queues", queues, "stable",
					      stable, "verdict", verdict_name(sampling_verdict(s)),
					      "sources", sources, "presence", presence_json(s)));
	return out;
}

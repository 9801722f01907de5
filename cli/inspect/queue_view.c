// SPDX-License-Identifier: MIT
#include "cli/inspect/queue_view.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/allocate.h"
#include "common/text.h"
#include "kfd/exception.h"
#include "kfd/uapi.h"

static const char *const sources[OBSERVE_SOURCES] = {
	"-", "daemon", "shm", "trap", "sysfs", "memory", "mqd", "hqd",
};
static const char *const types[OBSERVE_TYPES] = {"aql", "pm4", "compute", "sdma", "xgmi", "drm"};

static const struct observe_field_info fields[OBSERVE_FIELDS] = {
	[OBSERVE_TYPE] = {"type", OBSERVE_KIND_TYPE},
	[OBSERVE_RING_BYTES] = {"ring_bytes", OBSERVE_KIND_BYTES},
	[OBSERVE_RING_ADDRESS] = {"ring_address", OBSERVE_KIND_ADDRESS},
	[OBSERVE_WPTR_ADDRESS] = {"wptr_address", OBSERVE_KIND_ADDRESS},
	[OBSERVE_RPTR_ADDRESS] = {"rptr_address", OBSERVE_KIND_ADDRESS},
	[OBSERVE_WPTR] = {"wptr", OBSERVE_KIND_NUMBER},
	[OBSERVE_RPTR] = {"rptr", OBSERVE_KIND_NUMBER},
	[OBSERVE_BACKLOG_BYTES] = {"backlog_bytes", OBSERVE_KIND_BYTES},
	[OBSERVE_PRIORITY] = {"queue_priority", OBSERVE_KIND_NUMBER},
	[OBSERVE_PERCENT] = {"percent", OBSERVE_KIND_NUMBER},
	[OBSERVE_CU_BITS] = {"cu_bits", OBSERVE_KIND_NUMBER},
	[OBSERVE_CWSR_ADDRESS] = {"cwsr_address", OBSERVE_KIND_ADDRESS},
	[OBSERVE_CWSR_BYTES] = {"cwsr_bytes", OBSERVE_KIND_BYTES},
	[OBSERVE_HSA_QUEUE] = {"hsa_queue", OBSERVE_KIND_ADDRESS},
	[OBSERVE_ACTIVE] = {"active", OBSERVE_KIND_YES},
	[OBSERVE_SUSPENDED] = {"suspended", OBSERVE_KIND_YES},
	[OBSERVE_PASID] = {"pasid", OBSERVE_KIND_NUMBER},
	[OBSERVE_DOORBELL] = {"doorbell_offset", OBSERVE_KIND_NUMBER},
	[OBSERVE_MQDS] = {"mqds", OBSERVE_KIND_NUMBER},
	[OBSERVE_HQDS] = {"active_hqds", OBSERVE_KIND_NUMBER},
	[OBSERVE_HQD_XCCS] = {"hqd_xcc_mask", OBSERVE_KIND_NUMBER},
	[OBSERVE_EXCEPTIONS] = {"exceptions", OBSERVE_KIND_FAULTS},
};

const char *observe_source_name(enum observe_source source)
{
	return source < OBSERVE_SOURCES ? sources[source] : sources[OBSERVE_NO_SOURCE];
}

const char *observe_type_name(uint64_t type)
{
	return type < OBSERVE_TYPES ? types[type] : "-";
}

enum observe_type observe_type_of(const char *word)
{
	unsigned i = 0;

	while (i < OBSERVE_TYPES && strcmp(types[i], word) != 0)
		i++;
	return (enum observe_type)i;
}

enum observe_type observe_type_of_kfd(uint32_t type)
{
	switch (type) {
	case KFD_IOC_QUEUE_TYPE_COMPUTE:
		return OBSERVE_PM4;
	case KFD_IOC_QUEUE_TYPE_COMPUTE_AQL:
		return OBSERVE_AQL;
	case KFD_IOC_QUEUE_TYPE_SDMA:
	case KFDABI_QUEUE_TYPE_SDMA_BY_ENG_ID:
		return OBSERVE_SDMA;
	case KFD_IOC_QUEUE_TYPE_SDMA_XGMI:
		return OBSERVE_XGMI;
	default:
		return OBSERVE_TYPES;
	}
}

bool observe_is_compute(uint64_t type)
{
	return type == OBSERVE_AQL || type == OBSERVE_PM4 || type == OBSERVE_COMPUTE;
}

const struct observe_field_info *observe_field_info(enum observe_field field)
{
	return &fields[field];
}

/* ---- the list ---- */

struct observe_queue *observe_list_add(struct observe_list *list)
{
	struct observe_queue *queue;

	list->queue = allocate_next(list->queue, list->count, &list->room, sizeof(*queue));
	queue = &list->queue[list->count++];
	memset(queue, 0, sizeof(*queue));
	return queue;
}

void observe_list_clear(struct observe_list *list)
{
	list->count = 0;
}

void observe_list_free(struct observe_list *list)
{
	free(list->queue);
	*list = (struct observe_list){0};
}

static int compare(uint64_t a, uint64_t b)
{
	return (a > b) - (a < b);
}

static int in_order(const void *left, const void *right)
{
	const struct observe_queue *a = left, *b = right;
	int order = compare(a->id == OBSERVE_NO_ID, b->id == OBSERVE_NO_ID);

	if (!order)
		order = compare(a->context, b->context);
	if (!order)
		order = compare(a->id, b->id);
	if (!order)
		order = compare(a->gpu_id, b->gpu_id);
	if (!order)
		order = compare(a->field[OBSERVE_RING_ADDRESS].value,
				b->field[OBSERVE_RING_ADDRESS].value);
	return order;
}

void observe_list_sort(struct observe_list *list)
{
	if (list->count)
		qsort(list->queue, list->count, sizeof(*list->queue), in_order);
}

struct observe_queue *observe_list_find(const struct observe_list *list, uint32_t context,
					uint32_t id)
{
	for (size_t i = 0; i < list->count; i++)
		if (list->queue[i].id == id && list->queue[i].context == context)
			return &list->queue[i];
	return NULL;
}

void observe_set(struct observe_queue *queue, enum observe_field field, uint64_t value,
		 enum observe_source source)
{
	struct observe_value *at = &queue->field[field];
	/* OBSERVE_AQL and OBSERVE_PM4 replace OBSERVE_COMPUTE even if their source has a larger
	 * number, because they are more exact. */
	bool finer = field == OBSERVE_TYPE && at->value == OBSERVE_COMPUTE &&
		     (value == OBSERVE_AQL || value == OBSERVE_PM4);

	if (at->source == OBSERVE_NO_SOURCE || source < at->source || finer)
		*at = (struct observe_value){.value = value, .source = source};
}

/* ---- joining ---- */

bool observe_same(const struct observe_queue *a, const struct observe_queue *b,
		  enum observe_field field)
{
	return observe_known(a, field) && observe_known(b, field) &&
	       a->field[field].value == b->field[field].value;
}

static void join(struct observe_queue *into, const struct observe_queue *from)
{
	into->source_mask |= from->source_mask;
	for (unsigned f = 0; f < OBSERVE_FIELDS; f++)
		if (from->field[f].source != OBSERVE_NO_SOURCE)
			observe_set(into, f, from->field[f].value, from->field[f].source);
}

/* Returns the entry of `list` with the node of `queue` and the same value of `field`; NULL if there
 * is none or more than one. */
static struct observe_queue *only_one(const struct observe_list *list,
				      const struct observe_queue *queue, enum observe_field field)
{
	struct observe_queue *found = NULL;

	for (size_t i = 0; i < list->count; i++) {
		struct observe_queue *q = &list->queue[i];

		if (q->gpu_id != queue->gpu_id || !observe_same(q, queue, field))
			continue;
		if (found)
			return NULL;
		found = q;
	}
	return found;
}

bool observe_alike(const struct observe_queue *a, const struct observe_queue *b)
{
	return a->gpu_id == b->gpu_id && observe_known(a, OBSERVE_TYPE) &&
	       observe_known(b, OBSERVE_TYPE) && observe_same(a, b, OBSERVE_RING_BYTES) &&
	       observe_is_compute(a->field[OBSERVE_TYPE].value) ==
		       observe_is_compute(b->field[OBSERVE_TYPE].value);
}

static struct observe_queue *exactly(const struct observe_list *into,
				     const struct observe_queue *queue)
{
	struct observe_queue *found;

	if (queue->id != OBSERVE_NO_ID)
		return observe_list_find(into, queue->context, queue->id);
	found = only_one(into, queue, OBSERVE_DOORBELL);
	if (!found)
		found = only_one(into, queue, OBSERVE_RING_ADDRESS);
	/* Drop the match if the doorbells differ: the rings of two processes can have the same
	 * address. */
	if (found && observe_known(found, OBSERVE_DOORBELL) &&
	    observe_known(queue, OBSERVE_DOORBELL) && !observe_same(found, queue, OBSERVE_DOORBELL))
		found = NULL;
	return found;
}

/* Returns true if `entry`, which has no id, may be the same queue as `queue`: they are alike
 * (observe_alike()), and no source has reported the ring address of `queue`, which would show
 * that they differ. */
static bool may_be(const struct observe_queue *queue, const struct observe_queue *entry)
{
	return queue->id != OBSERVE_NO_ID && !observe_known(queue, OBSERVE_RING_ADDRESS) &&
	       observe_alike(queue, entry);
}

/* Keeps in *common only the values that *other has, too, from the same source. */
static void keep_common(struct observe_queue *common, const struct observe_queue *other)
{
	for (unsigned f = 0; f < OBSERVE_FIELDS; f++)
		if (common->field[f].source != other->field[f].source ||
		    common->field[f].value != other->field[f].value)
			common->field[f].source = OBSERVE_NO_SOURCE;
	common->source_mask |= other->source_mask;
}

/* Joins a group of entries to a group of queues. The entries and the queues are those that are
 * alike (observe_alike()) to from->queue[first]. It is not known which entry is which queue, so
 * each queue gets the values that all entries have in common. done[i]: entry i is joined. Returns
 * false, and joins nothing, if the groups do not have the same size. */
static bool join_alike(struct observe_list *into, const struct observe_list *from, size_t first,
		       bool *done)
{
	const struct observe_queue *entry = &from->queue[first];
	struct observe_queue common = *entry;
	size_t entries = 0, queues = 0;

	for (size_t i = 0; i < into->count; i++)
		queues += may_be(&into->queue[i], entry);
	for (size_t i = 0; queues && i < from->count; i++)
		entries += !done[i] && observe_alike(&from->queue[i], entry);
	if (!queues || entries != queues)
		return false;
	for (size_t i = first; i < from->count; i++) {
		if (done[i] || !observe_alike(&from->queue[i], entry))
			continue;
		keep_common(&common, &from->queue[i]);
		done[i] = true;
	}
	for (size_t i = 0; i < into->count; i++)
		if (may_be(&into->queue[i], entry))
			join(&into->queue[i], &common);
	return true;
}

bool observe_join(struct observe_list *into, const struct observe_queue *from)
{
	struct observe_queue *found = exactly(into, from);

	if (found)
		join(found, from);
	return found != NULL;
}

void observe_merge(struct observe_list *into, const struct observe_list *from, size_t *unmatched)
{
	bool *done = allocate(from->count, sizeof(*done));

	*unmatched = 0;
	for (size_t i = 0; i < from->count; i++) {
		const struct observe_queue *queue = &from->queue[i];
		struct observe_queue *found = exactly(into, queue);

		if (found) {
			join(found, queue);
			done[i] = true;
		} else if (queue->id != OBSERVE_NO_ID) {
			*observe_list_add(into) = *queue;
			done[i] = true;
		}
	}
	for (size_t i = 0; i < from->count; i++)
		if (!done[i] && !join_alike(into, from, i, done))
			++*unmatched;
	free(done);
}

/* ---- as text and JSON ---- */

/* Writes the name of the first exception in the mask, with "+N" behind it for N more; "none" if
 * there is no exception. */
static void faults_text(char text[OBSERVE_TEXT], uint64_t mask)
{
	const char *first = "none";
	unsigned n = 0;

	for (unsigned code = 1; code < EXCEPTION_CODES; code++) {
		if (!(mask & kfdabi_ec_mask(code)) || !exception_name(code))
			continue;
		if (n++ == 0)
			first = exception_name(code);
	}
	if (n > 1)
		snprintf(text, OBSERVE_TEXT, "%s +%u", first, n - 1);
	else
		snprintf(text, OBSERVE_TEXT, "%s", first);
}

int observe_faults_read(const json_t *names, uint64_t *mask)
{
	const json_t *name;
	size_t i;

	*mask = 0;
	if (!json_is_array(names))
		return -EINVAL;
	/* Names that this version of kfdsched does not know are left out. */
	json_array_foreach(names, i, name)
	{
		if (!json_is_string(name))
			return -EINVAL;
		*mask |= exception_mask(json_string_value(name));
	}
	return 0;
}

const char *observe_text(char text[OBSERVE_TEXT], const struct observe_queue *queue,
			 enum observe_field field)
{
	uint64_t value = queue->field[field].value;

	if (!observe_known(queue, field)) {
		strcpy(text, "-");
		return text;
	}
	switch (fields[field].kind) {
	case OBSERVE_KIND_TYPE:
		snprintf(text, OBSERVE_TEXT, "%s", observe_type_name(value));
		break;
	case OBSERVE_KIND_BYTES:
		return quantity_bytes(text, value);
	case OBSERVE_KIND_ADDRESS:
		snprintf(text, OBSERVE_TEXT, "0x%" PRIx64, value);
		break;
	case OBSERVE_KIND_YES:
		strcpy(text, value ? "yes" : "no");
		break;
	case OBSERVE_KIND_FAULTS:
		faults_text(text, value);
		break;
	default:
		snprintf(text, OBSERVE_TEXT, "%" PRIu64, value);
	}
	return text;
}

static json_t *value_json(const struct observe_queue *queue, enum observe_field field)
{
	uint64_t value = queue->field[field].value;
	char text[OBSERVE_TEXT];

	if (!observe_known(queue, field))
		return json_null();
	switch (fields[field].kind) {
	case OBSERVE_KIND_TYPE:
	case OBSERVE_KIND_ADDRESS:
		return json_string(observe_text(text, queue, field));
	case OBSERVE_KIND_YES:
		return json_boolean(value != 0);
	case OBSERVE_KIND_FAULTS:
		return exception_json(value);
	default:
		return json_integer((json_int_t)value);
	}
}

json_t *observe_json(const struct observe_queue *queue)
{
	json_t *id = queue->id == OBSERVE_NO_ID ? json_null() : json_integer(queue->id);
	json_t *json = json_pack("{so sI sI}", "id", id, "context", (json_int_t)queue->context,
				 "gpu_id", (json_int_t)queue->gpu_id);
	json_t *by_field = json_object();

	for (unsigned f = 0; f < OBSERVE_FIELDS; f++) {
		json_object_set_new(json, fields[f].key, value_json(queue, f));
		if (observe_known(queue, f))
			json_object_set_new(
				by_field, fields[f].key,
				json_string(observe_source_name(queue->field[f].source)));
	}
	json_object_set_new(json, "sources", by_field);
	return json;
}

/* ---- and back ---- */

static int number(const json_t *json, const char *key, uint64_t max, uint32_t *out)
{
	const json_t *value = json_object_get(json, key);

	if (!json_is_integer(value) || json_integer_value(value) < 0 ||
	    (uint64_t)json_integer_value(value) > max)
		return -EINVAL;
	*out = (uint32_t)json_integer_value(value);
	return 0;
}

enum observe_source observe_source_of(const char *word)
{
	for (unsigned i = 1; word && i < OBSERVE_SOURCES; i++)
		if (strcmp(sources[i], word) == 0)
			return (enum observe_source)i;
	return word && strcmp(word, "lane") == 0 ? OBSERVE_SHM : OBSERVE_NO_SOURCE;
}

static int read_value(const json_t *value, enum observe_kind kind, uint64_t *out)
{
	const char *text = json_string_value(value);
	char *end;

	switch (kind) {
	case OBSERVE_KIND_TYPE:
		*out = text ? observe_type_of(text) : OBSERVE_TYPES;
		return *out < OBSERVE_TYPES ? 0 : -EINVAL;
	case OBSERVE_KIND_ADDRESS:
		if (!text || strncmp(text, "0x", 2) != 0 || text[2] == '\0')
			return -EINVAL;
		errno = 0;
		*out = strtoull(text + 2, &end, 16);
		return errno || *end ? -EINVAL : 0;
	case OBSERVE_KIND_YES:
		*out = json_is_true(value);
		return json_is_boolean(value) ? 0 : -EINVAL;
	case OBSERVE_KIND_FAULTS:
		return observe_faults_read(value, out);
	default:
		*out = (uint64_t)json_integer_value(value);
		return json_is_integer(value) ? 0 : -EINVAL;
	}
}

void observe_read(struct observe_queue *queue, enum observe_field field, const json_t *value,
		  enum observe_source source)
{
	bool address = fields[field].kind == OBSERVE_KIND_ADDRESS;
	uint64_t number;

	if (json_integer_value(value) >= 0 && !read_value(value, fields[field].kind, &number) &&
	    (number || !address))
		observe_set(queue, field, number, source);
}

int observe_from_json(const json_t *json, struct observe_queue *out)
{
	const json_t *by_field = json_object_get(json, "sources");

	memset(out, 0, sizeof(*out));
	if (!json_is_object(by_field) || number(json, "context", UINT32_MAX, &out->context) ||
	    number(json, "gpu_id", UINT32_MAX, &out->gpu_id))
		return -EINVAL;
	out->id = OBSERVE_NO_ID;
	if (!json_is_null(json_object_get(json, "id")) &&
	    number(json, "id", OBSERVE_NO_ID - 1, &out->id))
		return -EINVAL;
	for (unsigned f = 0; f < OBSERVE_FIELDS; f++) {
		const json_t *value = json_object_get(json, fields[f].key);
		const json_t *source_name = json_object_get(by_field, fields[f].key);

		/* Skip a missing key: another version of kfdsched may not write it. */
		if (!value || json_is_null(value))
			continue;
		out->field[f].source = observe_source_of(json_string_value(source_name));
		if (out->field[f].source == OBSERVE_NO_SOURCE ||
		    read_value(value, fields[f].kind, &out->field[f].value))
			return -EINVAL;
		out->source_mask |= OBSERVE_BIT(out->field[f].source);
	}
	return 0;
}

// SPDX-License-Identifier: MIT
/* The diagnosis as JSON. */
#include "cli/doctor/diagnosis.h"
#include "cli/util/objects.h"
#include "common/text.h"
#include "kfd/exception_json.h"

static json_t *number_or_null(long long number)
{
	return number > 0 ? json_integer(number) : json_null();
}

/* Returns null for -1, which means not known. */
static json_t *count_or_null(int64_t count)
{
	return count >= 0 ? json_integer((json_int_t)count) : json_null();
}

/* Returns null if it is not known. */
static json_t *yes_or_null(enum doctor_known known)
{
	return known == DOCTOR_UNKNOWN ? json_null() : json_boolean(known);
}

/* Returns another process as {"pid", "comm"}, "comm" null if its name cannot be read. Returns null
 * if there is no such process. */
static json_t *other_json(long long pid, const char *name)
{
	return pid > 0 ? json_pack("{sI so}", "pid", (json_int_t)pid, "comm", plain_or_null(name))
		       : json_null();
}

/* Returns the keys that pidmap has for a process, and further ones. */
static json_t *story_json(const struct doctor_facts *facts, const struct diagnosis *diagnosis)
{
	const struct doctor_process *p = doctor_named_process(facts);
	json_t *process = render_json(fields_process, &facts->named.identity);
	json_t *more = json_pack("{so so so so so so}", "user", plain_or_null(facts->named.user),
				 "state_text", plain_or_null(diagnosis->state), "paused",
				 yes_or_null(facts->named.paused), "threads",
				 number_or_null(facts->named.threads), "parent",
				 other_json(facts->named.parent, facts->named.parent_name),
				 "tracer", other_json(p->tracer, p->tracer_name));

	/* tracer_pid can be the number of a thread. `tracer` has the process, and replaces it. */
	json_object_del(process, "tracer_pid");
	if (json_object_update_missing(process, more)) {
		json_decref(process);
		process = NULL;
	}
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

/* Returns the queues with a fault that the driver has reported; null if it is not known of any
 * queue whether it has one. */
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
			 "suspends", count_or_null(p->suspends), "suspended_us",
			 count_or_null(p->suspended_us), "debug_enabled",
			 yes_or_null(diagnosis->debug_enabled), "rocr", plain_or_null(rocr));
}

/* Returns whether a level is possible, and why not. */
static json_t *can_json(const struct diagnose_level *level)
{
	char why[DIAGNOSE_WHY];

	return json_pack("{so so so}", "can",
			 level->can == DIAGNOSE_UNKNOWN
				 ? json_null()
				 : json_string(diagnose_can_name(level->can)),
			 "why", plain_or_null(diagnose_why(why, &level->reason)), "advice",
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

/* Returns null if it is not known. */
static json_t *level_json(enum doctor_level level)
{
	return level == LEVEL_UNKNOWN ? json_null() : json_string(doctor_level_name(level));
}

json_t *diagnose_json(const struct doctor_facts *facts, const struct diagnosis *diagnosis)
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

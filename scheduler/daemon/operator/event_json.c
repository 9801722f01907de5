// SPDX-License-Identifier: MIT
#include "scheduler/daemon/operator/event_json.h"

#include <string.h>

static json_t *known(uint64_t value)
{
	return value ? json_integer((json_int_t)value) : json_null();
}

static json_t *text_or_null(const char *text)
{
	return text ? json_string(text) : json_null();
}

static json_t *priority_json(int priority)
{
	return priority == PRIORITY_UNSET ? json_null() : json_integer(priority);
}

static void set_by(json_t *json, const struct daemon_event *event)
{
	json_object_set_new(json, "by_pid",
			    event->by_operator ? json_integer(event->by_pid) : json_null());
	json_object_set_new(json, "by_uid",
			    event->by_operator ? json_integer(event->by_uid) : json_null());
}

static void set_act(json_t *json, const struct daemon_event *event)
{
	json_t *nodes = json_array();

	for (uint32_t i = 0; i < CLIENT_SHM_NODES && event->gpu_ids[i]; i++)
		json_array_append_new(nodes, json_integer(event->gpu_ids[i]));
	json_object_set_new(json, "gpu_ids", nodes);
	json_object_set_new(json, "level", json_string(event->level));
	json_object_set_new(json, "reason", text_or_null(event->cause));
	json_object_set_new(json, "cause_pid", known((uint64_t)event->cause_pid));
	json_object_set_new(json, "cause_gpu_id", known(event->cause_gpu_id));
	json_object_set_new(json, "latency_us",
			    event->has_latency ? json_integer((json_int_t)event->latency_us)
					       : json_null());
	json_object_set_new(json, "duration_us", json_integer((json_int_t)event->duration_us));
	json_object_set_new(json, "error",
			    event->error ? json_string(strerror(-event->error)) : json_null());
}

static void set_policy(json_t *json, const struct daemon_event *event)
{
	json_object_set_new(json, "gpu_id", known(event->gpu_id));
	json_object_set_new(json, "policy", json_string(policy_name(event->policy)));
	json_object_set_new(json, "share_percent",
			    policy_takes_share(event->policy) ? json_integer(event->share_percent)
							      : json_null());
	set_by(json, event);
}

static void set_details(json_t *json, const struct daemon_event *event)
{
	switch (event->kind) {
	case EVENT_LISTENING:
		json_object_set_new(json, "worker_pid", json_integer(event->pid));
		break;
	case EVENT_CAME:
		json_object_set_new(json, "priority", priority_json(event->priority));
		json_object_set_new(json, "uid", json_integer(event->uid));
		break;
	case EVENT_LEVEL:
		json_object_set_new(json, "level", json_string(event->level));
		/* fall through */
	case EVENT_WENT:
		json_object_set_new(json, "reason", json_string(event->reason));
		break;
	case EVENT_SUSPEND:
	case EVENT_RESUME:
		set_act(json, event);
		break;
	case EVENT_PRIORITY:
		json_object_set_new(json, "priority", priority_json(event->priority));
		set_by(json, event);
		break;
	case EVENT_LEASE:
		json_object_set_new(json, "leased", json_boolean(event->leased));
		break;
	case EVENT_POLICY:
		set_policy(json, event);
		break;
	}
}

json_t *event_to_json(const struct daemon_event *event)
{
	static const char *const names[] = {
		[EVENT_LISTENING] = "listening", [EVENT_CAME] = "came",
		[EVENT_WENT] = "went",		 [EVENT_LEVEL] = "level",
		[EVENT_SUSPEND] = "suspend",	 [EVENT_RESUME] = "resume",
		[EVENT_PRIORITY] = "priority",	 [EVENT_LEASE] = "lease",
		[EVENT_POLICY] = "policy",
	};
	json_t *json = json_pack("{sI sI ss}", "number", (json_int_t)event->number, "time_us",
				 (json_int_t)event->time_us, "kind", names[event->kind]);

	if (event->kind != EVENT_LISTENING && event->kind != EVENT_POLICY) {
		json_object_set_new(json, "pid", json_integer(event->pid));
		json_object_set_new(json, "comm", json_string(event->comm));
	}
	set_details(json, event);
	return json;
}

// SPDX-License-Identifier: MIT
#include "scheduler/daemon/events.h"

#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "common/clock.h"
#include "scheduler/daemon/status.h"
#include "scheduler/daemon/worker.h"

#define RETRY_NS 20000000u

/* ---- readers ---- */

static uint64_t wall_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	return (uint64_t)t.tv_sec * 1000000u + (uint64_t)t.tv_nsec / 1000;
}

static int send_text(const struct client *reader, const char *text)
{
	size_t length = strlen(text);

	return length <= PROTOCOL_EVENT_MAX ? protocol_send(reader->socket, text, length, NULL, 0)
					    : -EMSGSIZE;
}

static int send_lost(const struct client *reader)
{
	json_t *json = json_pack("{sI ss sI}", "time_us", (json_int_t)wall_us(), "kind", "lost",
				 "count", (json_int_t)reader->news.lost);
	char *text = json ? json_dumps(json, JSON_COMPACT) : NULL;
	int error = text ? send_text(reader, text) : -ENOMEM;

	free(text);
	json_decref(json);
	return error;
}

/* What is missing is told first, in its place. Who does not read is not tried at every
 * event: that would cost more than the events do. */
static bool is_told(struct client *reader)
{
	uint64_t now;

	if (!reader->news.lost)
		return true;
	now = clock_ns();
	if (now < reader->news.retry_ns)
		return false;
	reader->news.retry_ns = now + RETRY_NS;
	if (send_lost(reader) != 0)
		return false;
	reader->news.lost = 0;
	return true;
}

static void tell_reader(struct client *reader, const char *text)
{
	if (!is_told(reader) || !text || send_text(reader, text) != 0)
		reader->news.lost++;
}

/* The event `kind`, with what `details` has (taken; NULL: no memory). */
static void tell(struct worker *worker, const char *kind, json_t *details)
{
	json_t *json = json_pack("{sI sI ss}", "number", (json_int_t)++worker->events.number,
				 "time_us", (json_int_t)wall_us(), "kind", kind);
	char *text = NULL;

	if (json && details && json_object_update(json, details) == 0)
		text = json_dumps(json, JSON_COMPACT);
	for (uint32_t i = 0; i < worker->client_end; i++) {
		struct client *reader = worker->clients[i];

		if (reader && reader->phase == CLIENT_READING)
			tell_reader(reader, text);
	}
	free(text);
	json_decref(json);
	json_decref(details);
}

int events_subscribe(struct worker *worker, struct client *client)
{
	const struct protocol_welcome welcome = {.magic = PROTOCOL_MAGIC,
						 .version = PROTOCOL_VERSION};
	int error;

	if (worker->events.readers == EVENTS_READERS)
		return -EUSERS;
	error = protocol_send(client->socket, &welcome, sizeof(welcome), NULL, 0);
	if (error)
		return error;
	client->phase = CLIENT_READING;
	worker->events.readers++;
	tell(worker, "listening", json_pack("{sI}", "worker_pid", (json_int_t)getpid()));
	return 0;
}

void events_overdue(struct client *client)
{
	is_told(client);
}

void events_gone(struct worker *worker)
{
	worker->events.readers--;
}

/* ---- what happens ---- */

static json_t *who(const struct client *client)
{
	return json_pack("{sI ss}", "pid", (json_int_t)client->peer.pid, "comm", client->name);
}

static void set_by(json_t *json, const struct client *by)
{
	json_object_set_new(json, "by_pid", by ? json_integer(by->peer.pid) : json_null());
	json_object_set_new(json, "by_uid", by ? json_integer(by->peer.uid) : json_null());
}

static json_t *priority_json(int priority)
{
	return priority == PRIORITY_UNSET ? json_null() : json_integer(priority);
}

void events_came(struct worker *worker, const struct client *client)
{
	json_t *json;

	if (!worker->events.readers)
		return;
	json = who(client);
	json_object_set_new(json, "priority", priority_json(client->priority));
	json_object_set_new(json, "uid", json_integer(client->peer.uid));
	tell(worker, "came", json);
}

void events_went(struct worker *worker, const struct client *client, const char *why)
{
	json_t *json;

	if (!worker->events.readers)
		return;
	json = who(client);
	json_object_set_new(json, "reason", json_string(why));
	tell(worker, "went", json);
}

void events_level(struct worker *worker, const struct client *client, bool able)
{
	json_t *json;

	if (!worker->events.readers)
		return;
	json = who(client);
	json_object_set_new(json, "level",
			    json_string(!able		   ? "observe"
					: client->by_order ? lane_level_name(client->by_order)
							   : "trap"));
	json_object_set_new(json, "reason", json_string(able ? "" : client->reason));
	tell(worker, "level", json);
}

void events_priority(struct worker *worker, const struct client *client, const struct client *by)
{
	json_t *json;

	if (!worker->events.readers)
		return;
	json = who(client);
	json_object_set_new(json, "priority", priority_json(client->priority));
	set_by(json, by);
	tell(worker, "priority", json);
}

void events_lease(struct worker *worker, const struct client *client)
{
	json_t *json;

	if (!worker->events.readers)
		return;
	json = who(client);
	json_object_set_new(json, "leased", json_boolean(client->control.leased));
	tell(worker, "lease", json);
}

void events_policy(struct worker *worker, uint32_t gpu_id, const struct core_policy *policy,
		   const struct client *by)
{
	json_t *json;

	if (!worker->events.readers)
		return;
	json = json_pack(
		"{so ss so}", "gpu_id", gpu_id ? json_integer(gpu_id) : json_null(), "policy",
		protocol_policy_name((enum protocol_policy)policy->rule), "share_percent",
		policy->rule == CORE_SHARE ? json_integer(policy->share_percent) : json_null());
	set_by(json, by);
	tell(worker, "policy", json);
}

/* ---- decisions ---- */

static bool same_unit(const struct client *a, const struct client *b)
{
	return a == b ||
	       (a->group_number && a->group_number == b->group_number && a->tenant == b->tenant);
}

/* Does a person want its unit suspended? */
static bool unit_leased(const struct worker *worker, const struct client *client)
{
	for (uint32_t i = 0; i < worker->client_end; i++) {
		const struct client *other = worker->clients[i];

		if (other && other->phase == CLIENT_SERVED && other->control.leased &&
		    same_unit(other, client))
			return true;
	}
	return false;
}

/* The node where both are known, and `other` is active (or has become idle); 0: none. */
static uint32_t meeting(const struct client *client, const struct client *other, bool active,
			uint64_t *since)
{
	for (uint32_t a = 0; a < LANE_NODES && other->gpu_id[a]; a++)
		for (uint32_t b = 0; b < LANE_NODES && client->gpu_id[b]; b++)
			if (other->gpu_id[a] == client->gpu_id[b] &&
			    (other->activity[a] & 1) == active) {
				*since = active ? other->active_ns[a] : other->idle_ns[a];
				return other->gpu_id[a];
			}
	return 0;
}

/* For a suspend the most urgent that is active beside it, for a resume the last that
 * became idle. */
static void find_culprit(const struct worker *worker, struct client *client, bool suspend)
{
	uint64_t best = 0;

	for (uint32_t i = 0; i < worker->client_end; i++) {
		const struct client *other = worker->clients[i];
		uint64_t since = 0, rank;
		uint32_t gpu_id;

		if (!other || other->phase != CLIENT_SERVED || !standing_may(other, client) ||
		    other->priority <= client->priority)
			continue;
		gpu_id = meeting(client, other, suspend, &since);
		rank = suspend ? (uint64_t)other->priority + 1 : since;
		if (!gpu_id || rank <= best)
			continue;
		best = rank;
		client->news.cause_pid = other->peer.pid;
		client->news.cause_gpu_id = gpu_id;
	}
}

static const char *why_resumed(const struct worker *worker, const struct client *client,
			       const struct core_view *view)
{
	if (worker->leaving)
		return "daemon_leaves";
	if (client->leaving != client->left)
		return "leaving";
	if (view->spared == CORE_SPARED_FAILED)
		return "undone";
	if (view->spared == CORE_SPARED_SLOW)
		return "slow";
	if (view->pressed)
		return "bound";
	return client->news.by_lease ? "released" : "idle";
}

void events_decided(struct worker *worker, struct client *client, uint64_t now)
{
	bool suspend = client->acting == CORE_SUSPEND;
	struct core_view view = {0};

	client->news.cause_pid = 0;
	client->news.cause_gpu_id = 0;
	if (!worker->events.readers)
		return; /* of a thousand clients it takes time */
	if (suspend)
		client->news.by_lease = unit_leased(worker, client);
	core_look(worker->core, client->id, now, &view);
	client->news.reason = !suspend		      ? why_resumed(worker, client, &view)
			      : client->news.by_lease ? "leased"
						      : "preempted";
	if (suspend ? !client->news.by_lease : strcmp(client->news.reason, "idle") == 0)
		find_culprit(worker, client, suspend);
}

static json_t *nodes_json(const struct client *client)
{
	json_t *list = json_array();

	for (uint32_t i = 0; i < LANE_NODES && client->gpu_id[i]; i++)
		json_array_append_new(list, json_integer(client->gpu_id[i]));
	return list;
}

static json_t *known(uint64_t value)
{
	return value ? json_integer((json_int_t)value) : json_null();
}

void events_acted(struct worker *worker, const struct client *client,
		  const struct executor_report *report)
{
	bool suspend = client->acting == CORE_SUSPEND;
	json_t *json;

	if (!worker->events.readers)
		return;
	json = who(client);
	json_object_set_new(json, "gpu_ids", nodes_json(client));
	json_object_set_new(
		json, "level",
		json_string(client->by_order ? lane_level_name(client->by_order) : "trap"));
	json_object_set_new(json, "reason",
			    client->news.reason ? json_string(client->news.reason) : json_null());
	json_object_set_new(json, "cause_pid", known((uint64_t)client->news.cause_pid));
	json_object_set_new(json, "cause_gpu_id", known(client->news.cause_gpu_id));
	json_object_set_new(json, "latency_us", known(client->news.latency_ns / 1000));
	json_object_set_new(json, "duration_us",
			    json_integer((json_int_t)(report->cost.duration_ns / 1000)));
	json_object_set_new(json, "error",
			    report->error ? json_string(strerror(-report->error)) : json_null());
	tell(worker, suspend ? "suspend" : "resume", json);
}

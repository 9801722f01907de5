// SPDX-License-Identifier: MIT
#include "scheduler/daemon/operator/events.h"

#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "common/clock.h"
#include "scheduler/daemon/operator/event_json.h"

#define RETRY_NS 20000000u
#define SNDBUF_BYTES 100000 /* bytes; room for several hundred events */
/* Up to this number of clients, the cause of each decision is determined even if there are no
 * readers. */
#define FEW_CLIENTS 64u

static struct {
	uint32_t readers;
	uint64_t number; /* number of the last event */
	struct daemon_event ring[EVENTS_MAX];
} events;

/* ---- readers ---- */

static uint64_t wall_us(void)
{
	return clock_of(CLOCK_REALTIME) / 1000;
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
				 "count", (json_int_t)reader->pending_event.lost);
	char *text = json ? json_dumps(json, JSON_COMPACT) : NULL;
	int error = text ? send_text(reader, text) : -ENOMEM;

	free(text);
	json_decref(json);
	return error;
}

/* Reports lost events first, at their place in the sequence. A reader that does not read is not
 * tried at each event, because that would cost more than the events do. Returns true if nothing
 * is left to report. */
static bool report_loss(struct client *reader)
{
	uint64_t now;

	if (!reader->pending_event.lost)
		return true;
	now = clock_ns();
	if (now < reader->pending_event.retry_ns)
		return false;
	reader->pending_event.retry_ns = now + RETRY_NS;
	if (send_lost(reader) != 0)
		return false;
	reader->pending_event.lost = 0;
	return true;
}

static void notify_reader(struct client *reader, const char *text)
{
	if (!report_loss(reader) || !text || send_text(reader, text) != 0)
		reader->pending_event.lost++;
}

/* Returns the entry for the next event. The caller fills it and passes it to publish_event(). */
static struct daemon_event *begin(enum event_kind kind)
{
	struct daemon_event *event = &events.ring[++events.number % EVENTS_MAX];

	*event = (struct daemon_event){.number = events.number, .time_us = wall_us(), .kind = kind};
	return event;
}

static struct daemon_event *begin_of(enum event_kind kind, const struct client *client)
{
	struct daemon_event *event = begin(kind);

	event->pid = client->peer.pid;
	memcpy(event->comm, client->name, sizeof(event->comm));
	return event;
}

static void publish_event(struct worker *worker, const struct daemon_event *event)
{
	struct client *reader;
	json_t *json;
	char *text;

	if (!events.readers)
		return;
	json = event_to_json(event);
	text = json ? json_dumps(json, JSON_COMPACT) : NULL;
	for (uint32_t i = 0; (reader = worker_next(worker, CLIENT_READING, &i));)
		notify_reader(reader, text);
	free(text);
	json_decref(json);
}

uint64_t events_newest(void)
{
	return events.number;
}

json_t *events_recent(uint64_t *at, uint64_t newest)
{
	uint64_t number = events.number;
	json_t *list = json_array();

	/* Skip events that were overwritten since the reply was begun. */
	if (number > EVENTS_MAX && *at < number - EVENTS_MAX)
		*at = number - EVENTS_MAX;
	for (uint32_t i = 0; i < EVENTS_PIECE && *at < newest; i++)
		json_array_append_new(list, event_to_json(&events.ring[++*at % EVENTS_MAX]));
	return list;
}

/* A user that is not trusted can have a quarter of the places at most. */
static bool has_room(const struct worker *worker, const struct client *client)
{
	const struct client *reader;
	uint32_t same = 0;

	for (uint32_t i = 0; (reader = worker_next(worker, CLIENT_READING, &i));)
		same += reader->uid == client->uid;
	return events.readers < EVENTS_READERS && (client->trusted || same < EVENTS_READERS / 4);
}

int events_subscribe(struct worker *worker, struct client *client)
{
	const struct protocol_welcome welcome = {.magic = PROTOCOL_MAGIC,
						 .version = client->version};
	const int sndbuf = SNDBUF_BYTES;
	int error;

	if (!has_room(worker, client))
		return -EUSERS;
	setsockopt(client->socket, SOL_SOCKET, SO_SNDBUF, &sndbuf, sizeof(sndbuf));
	error = protocol_send(client->socket, &welcome, sizeof(welcome), NULL, 0);
	if (error)
		return error;
	client->phase = CLIENT_READING;
	events.readers++;
	struct daemon_event *event = begin(EVENT_LISTENING);

	event->pid = getpid();
	publish_event(worker, event);
	return 0;
}

void events_overdue(struct client *client)
{
	report_loss(client);
}

void events_gone(void)
{
	events.readers--;
}

/* ---- events ---- */

static void set_by(struct daemon_event *event, const struct client *by)
{
	event->by_operator = by != NULL;
	event->by_pid = by ? by->peer.pid : 0;
	event->by_uid = by ? by->peer.uid : 0;
}

void events_came(struct worker *worker, const struct client *client)
{
	struct daemon_event *event = begin_of(EVENT_CAME, client);

	event->priority = client->priority;
	event->uid = client->peer.uid;
	publish_event(worker, event);
}

void events_went(struct worker *worker, const struct client *client, const char *why)
{
	struct daemon_event *event = begin_of(EVENT_WENT, client);

	snprintf(event->reason, sizeof(event->reason), "%s", why);
	publish_event(worker, event);
}

void events_level(struct worker *worker, const struct client *client, bool able)
{
	struct daemon_event *event = begin_of(EVENT_LEVEL, client);

	event->level = able ? client_level_name(client) : "observe";
	snprintf(event->reason, sizeof(event->reason), "%s", able ? "" : client->reason);
	publish_event(worker, event);
}

void events_priority(struct worker *worker, const struct client *client, const struct client *by)
{
	struct daemon_event *event = begin_of(EVENT_PRIORITY, client);

	event->priority = client->priority;
	set_by(event, by);
	publish_event(worker, event);
}

void events_lease(struct worker *worker, const struct client *client)
{
	struct daemon_event *event = begin_of(EVENT_LEASE, client);

	event->leased = client->control.leased;
	publish_event(worker, event);
}

void events_policy(struct worker *worker, uint32_t gpu_id, const struct core_policy *policy,
		   const struct client *by)
{
	struct daemon_event *event = begin(EVENT_POLICY);

	event->gpu_id = gpu_id;
	event->policy = policy->rule;
	event->share_percent = policy->share_percent;
	set_by(event, by);
	publish_event(worker, event);
}

/* ---- decisions ---- */

static bool same_gang(const struct client *a, const struct client *b)
{
	return a == b ||
	       (a->group_number && a->group_number == b->group_number && a->tenant == b->tenant);
}

/* Returns true if a request holds a client of the same gang. */
static bool gang_leased(const struct worker *worker, const struct client *client)
{
	const struct client *other;

	for (uint32_t i = 0; (other = worker_next(worker, CLIENT_SERVED, &i));)
		if (other->control.leased && same_gang(other, client))
			return true;
	return false;
}

/* Returns a node that both clients use and on which `other` is active (or idle); 0: none. */
static uint32_t meeting(const struct client *client, const struct client *other, bool active,
			uint64_t *since)
{
	for (uint32_t a = 0; a < CLIENT_SHM_NODES && other->gpu_id[a]; a++) {
		if ((other->activity[a] & 1) != active)
			continue;
		for (uint32_t b = 0; b < CLIENT_SHM_NODES && client->gpu_id[b]; b++)
			if (other->gpu_id[a] == client->gpu_id[b]) {
				*since = active ? other->active_ns[a] : other->idle_ns[a];
				return other->gpu_id[a];
			}
	}
	return 0;
}

/* Determines the cause of an action: of a suspend, the active client with the highest priority
 * on a common node; of a resume, the client that became idle last. */
static void find_culprit(const struct worker *worker, struct client *client, bool suspend)
{
	const struct client *other;
	uint64_t best = 0;

	for (uint32_t i = 0; (other = worker_next(worker, CLIENT_SERVED, &i));) {
		uint64_t since = 0, rank;
		uint32_t gpu_id;

		if (!client_can_preempt(other, client) || other->priority <= client->priority)
			continue;
		gpu_id = meeting(client, other, suspend, &since);
		rank = suspend ? (uint64_t)other->priority + 1 : since;
		if (!gpu_id || rank <= best)
			continue;
		best = rank;
		client->pending_event.cause_pid = other->peer.pid;
		client->pending_event.cause_gpu_id = gpu_id;
	}
}

static const char *why_resumed(const struct worker *worker, const struct client *client,
			       const struct core_view *view)
{
	if (worker->stopping)
		return "daemon_leaves";
	if (client->teardown_begin != client->teardown_end)
		return "leaving";
	if (view->exempt == CORE_EXEMPT_FAILED)
		return "undone";
	if (view->exempt == CORE_EXEMPT_SLOW)
		return "slow";
	if (view->contended)
		return "bound";
	return client->pending_event.by_lease ? "released" : "idle";
}

void events_decided(struct worker *worker, struct client *client, uint64_t now)
{
	bool suspend = client->acting == CORE_SUSPEND;
	struct core_view view = {0};

	client->pending_event.reason = NULL;
	client->pending_event.cause_pid = 0;
	client->pending_event.cause_gpu_id = 0;
	/* With many clients this takes time, and the result may never be needed. */
	if (!events.readers && worker->client_end > FEW_CLIENTS)
		return;
	if (suspend)
		client->pending_event.by_lease = gang_leased(worker, client);
	core_view_client(worker->core, client->id, now, &view);
	client->pending_event.reason = !suspend ? why_resumed(worker, client, &view)
				       : client->pending_event.by_lease ? "leased"
									: "preempted";
	if (suspend ? !client->pending_event.by_lease
		    : strcmp(client->pending_event.reason, "idle") == 0)
		find_culprit(worker, client, suspend);
}

void events_acted(struct worker *worker, const struct client *client,
		  const struct executor_report *report)
{
	bool suspend = client->acting == CORE_SUSPEND;
	struct daemon_event *event = begin_of(suspend ? EVENT_SUSPEND : EVENT_RESUME, client);

	memcpy(event->gpu_ids, client->gpu_id, sizeof(event->gpu_ids));
	event->level = client_level_name(client);
	event->cause = client->pending_event.reason;
	event->cause_pid = client->pending_event.cause_pid;
	event->cause_gpu_id = client->pending_event.cause_gpu_id;
	event->has_latency = client->pending_event.has_latency;
	if (event->has_latency)
		event->latency_us = client->pending_event.latency_ns / 1000;
	event->duration_us = report->cost.duration_ns / 1000;
	event->error = report->error;
	publish_event(worker, event);
}

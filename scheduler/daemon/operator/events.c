// SPDX-License-Identifier: MIT
#include "scheduler/daemon/operator/events.h"

#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

#include "common/clock.h"
#include "common/json_util.h"

#define RETRY_NS 20000000u
#define SNDBUF_BYTES 100000 /* bytes; room for several hundred events */
/* Up to this number of clients, the cause of each action is determined even if no process receives
 * events. */
#define FEW_CLIENTS 64u

enum event_kind {
	EVENT_LISTENING, /* a reader has connected */
	EVENT_CAME,
	EVENT_WENT,
	EVENT_LEVEL,
	EVENT_SUSPEND,
	EVENT_RESUME,
	EVENT_PRIORITY,
	EVENT_LEASE,
	EVENT_POLICY,
};

/* An event as it is stored: small, and converted to JSON only when it is sent. */
struct daemon_event {
	uint64_t number;  /* counts from 1 in each worker */
	uint64_t time_us; /* wall time */
	enum event_kind kind;
	pid_t pid;	   /* process; EVENT_LISTENING: the worker; EVENT_POLICY: unused */
	char comm[16];	   /* name of the process */
	int priority;	   /* CAME, PRIORITY; or PRIORITY_UNSET */
	uid_t uid;	   /* CAME */
	const char *level; /* LEVEL, SUSPEND, RESUME; static string */
	/* of SUSPEND and RESUME: the reason, a static string; NULL: unknown */
	const char *cause;
	char reason[REASON_TEXT];	    /* WENT, LEVEL */
	uint32_t gpu_ids[CLIENT_SHM_NODES]; /* SUSPEND, RESUME; ends at the first 0 */
	pid_t cause_pid;		    /* process that caused the event; 0: none or unknown */
	uint32_t cause_gpu_id; /* node on which cause_pid is active; 0: none or unknown */
	bool has_latency;      /* SUSPEND, RESUME: latency_us is valid */
	/* latency_us: from cause to driver call; duration_us: of the driver call */
	uint64_t latency_us, duration_us;
	int error;	 /* 0, or a negative errno */
	bool leased;	 /* LEASE */
	uint32_t gpu_id; /* POLICY; 0: all nodes without their own */
	enum policy policy;
	uint32_t share_percent;
	/* of PRIORITY and POLICY: caused by a request of process by_pid, user by_uid */
	bool by_operator;
	pid_t by_pid;
	uid_t by_uid;
};

static struct {
	uint32_t readers;
	uint64_t number; /* number of the last event */
	struct daemon_event ring[EVENTS_MAX];
} events;

/* ---- JSON ---- */

static json_t *act_json(const struct daemon_event *event)
{
	json_t *nodes = json_array();

	for (uint32_t i = 0; i < CLIENT_SHM_NODES && event->gpu_ids[i]; i++)
		json_array_append_new(nodes, json_integer(event->gpu_ids[i]));
	return json_pack("{so ss ss? so so so sI ss?}", "gpu_ids", nodes, "level", event->level,
			 "reason", event->cause, "cause_pid",
			 json_number(event->cause_pid, event->cause_pid), "cause_gpu_id",
			 json_number(event->cause_gpu_id, event->cause_gpu_id), "latency_us",
			 json_number(event->has_latency, (int64_t)event->latency_us), "duration_us",
			 (json_int_t)event->duration_us, "error",
			 event->error ? strerror(-event->error) : NULL);
}

/* Returns the fields of an event that depend on its kind. */
static json_t *details_json(const struct daemon_event *event)
{
	bool by = event->by_operator;

	switch (event->kind) {
	case EVENT_LISTENING:
		return json_pack("{si}", "worker_pid", (int)event->pid);
	case EVENT_CAME:
		return json_pack("{so sI}", "priority",
				 json_number(event->priority != PRIORITY_UNSET, event->priority),
				 "uid", (json_int_t)event->uid);
	case EVENT_WENT:
		return json_pack("{ss}", "reason", event->reason);
	case EVENT_LEVEL:
		return json_pack("{ss ss}", "level", event->level, "reason", event->reason);
	case EVENT_PRIORITY:
		return json_pack("{so so so}", "priority",
				 json_number(event->priority != PRIORITY_UNSET, event->priority),
				 "by_pid", json_number(by, event->by_pid), "by_uid",
				 json_number(by, event->by_uid));
	case EVENT_LEASE:
		return json_pack("{sb}", "leased", (int)event->leased);
	case EVENT_POLICY:
		return json_pack(
			"{so ss so so so}", "gpu_id", json_number(event->gpu_id, event->gpu_id),
			"policy", policy_name(event->policy), "share_percent",
			json_number(policy_takes_share(event->policy), event->share_percent),
			"by_pid", json_number(by, event->by_pid), "by_uid",
			json_number(by, event->by_uid));
	default:
		return act_json(event);
	}
}

static json_t *event_to_json(const struct daemon_event *event)
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
	json_t *details = details_json(event);

	if (event->kind != EVENT_LISTENING && event->kind != EVENT_POLICY) {
		json_object_set_new(json, "pid", json_integer(event->pid));
		json_object_set_new(json, "comm", json_string(event->comm));
	}
	json_object_update(json, details);
	json_decref(details);
	return json;
}

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

/* Sends the number of lost events to a reader, before any further event, so that the gap is at its
 * place in the sequence. Returns true if there is nothing left to report. If the reader does not
 * read, tries only every RETRY_NS, because attempts cost more than events. */
bool events_overdue(struct client *reader)
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
	if (!events_overdue(reader) || !text || send_text(reader, text) != 0)
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

/* Returns true if there is room for one more reader. A user that is not trusted can have a quarter
 * of all readers at most. */
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
	snprintf(event->reason, sizeof(event->reason), "%s", able ? "" : client->reason.text);
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

/* Returns a node that both clients use and where `other` is active (`active`) or idle, and sets
 * *since to the time when that state of `other` began. Returns 0 if there is no such node. */
static uint32_t meeting(const struct client *client, const struct client *other, bool active,
			uint64_t *since)
{
	for (uint32_t a = 0; a < CLIENT_SHM_NODES && other->seen[a].gpu_id; a++) {
		if ((other->seen[a].activity & 1) != active)
			continue;
		for (uint32_t b = 0; b < CLIENT_SHM_NODES && client->seen[b].gpu_id; b++)
			if (other->seen[a].gpu_id == client->seen[b].gpu_id) {
				*since = active ? other->seen[a].active_ns : other->seen[a].idle_ns;
				return other->seen[a].gpu_id;
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
	/* With many clients the following takes long, and the result may never be needed. */
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

	for (uint32_t i = 0; i < CLIENT_SHM_NODES; i++)
		event->gpu_ids[i] = client->seen[i].gpu_id;
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

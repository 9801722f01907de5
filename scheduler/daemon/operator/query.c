// SPDX-License-Identifier: MIT
#include "scheduler/daemon/operator/query.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "common/clock.h"
#include "scheduler/daemon/clients/client_life.h"
#include "scheduler/daemon/operator/events.h"
#include "scheduler/daemon/operator/status.h"

#define WORK_NS 200000u
#define WORK_TRUSTED_NS 1000000u
#define REST_NS 1000000u
#define RETRY_NS 5000000u

/* The next piece of a reply. */
enum query_stage {
	QUERY_WAITING,		 /* not begun; waits for its turn */
	QUERY_PROCESS,		 /* the next process, or the end of the list */
	QUERY_QUEUES,		 /* queues of the process */
	QUERY_CLIENT_SHM,	 /* dump of the process's shared memory: its words */
	QUERY_CLIENT_SHM_QUEUES, /* dump: its queues */
	QUERY_CLIENT_SHM_EVENTS, /* dump: its events */
	QUERY_RECENT,		 /* last events of the daemon */
	QUERY_DONE,		 /* complete; the last piece is being sent */
	QUERY_SENT,		 /* sent; the client has not read all of it */
};

/* A reply to a client. */
struct query {
	enum query_stage stage;
	int pid;	       /* process to describe; 0: all; or QUERY_OF_EVENTS, QUERY_BRIEF */
	int error;	       /* negative errno that is sent at the end of the reply; 0: none */
	uint32_t slot, serial; /* slot and serial of the process that is described now */
	bool first;	       /* the list is still empty */
	/* queue: next queue to describe; unreadable: number of queues that a dump could not read */
	uint32_t queue, unreadable;
	uint64_t event, newest;	   /* event: last event written; newest: last event to write */
	uint64_t retry_ns;	   /* time of the next send(), if the client's socket was full */
	char *text;		   /* the piece that is being sent */
	size_t length, room, sent; /* bytes of text; bytes allocated; bytes already sent */
};

static struct {
	uint32_t askers; /* clients that are CLIENT_ASKING */
	uint32_t last;	 /* slot of the client that was served last */
	/* rested_ns: end of the pause; next_ns: time of the next query_step() */
	uint64_t rested_ns, next_ns;
} queries;

/* ---- text of a reply ---- */

static void put(struct query *query, const char *text, size_t length)
{
	if (ARRAY_GROW(query->text, query->room, query->length + length)) {
		query->error = -ENOMEM;
		return;
	}
	memcpy(query->text + query->length, text, length);
	query->length += length;
}

static void put_text(struct query *query, const char *text)
{
	put(query, text, strlen(text));
}

/* Appends the text of `json` without its first `front` and last `back` characters. Takes the
 * caller's reference to `json`. */
static void put_json(struct query *query, json_t *json, size_t front, size_t back)
{
	char *text = json ? json_dumps(json, JSON_COMPACT) : NULL;

	json_decref(json);
	if (text)
		put(query, text + front, strlen(text) - front - back);
	else
		query->error = -ENOMEM;
	free(text);
}

/* Appends an object without its closing brace, and then `next`: the begin of a list in it. */
static void put_open(struct query *query, json_t *object, const char *next)
{
	put_json(query, object, 0, 1);
	put_text(query, next);
	query->first = true;
}

/* Appends the elements of `list` to a list that was begun before. Takes the caller's reference to
 * `list`. */
static void put_elements(struct query *query, json_t *list)
{
	if (json_array_size(list) == 0) {
		json_decref(list);
		return;
	}
	if (!query->first)
		put_text(query, ",");
	query->first = false;
	put_json(query, list, 1, 1);
}

/* ---- pieces of a reply ---- */

static bool is_process(const struct client *client, int pid)
{
	return client && client->phase == CLIENT_SERVED && (pid <= 0 || client->peer.pid == pid);
}

/* Returns the process that is being described, or NULL if it has ended. */
static const struct client *process(const struct worker *worker, const struct query *query)
{
	const struct client *client = worker->clients[query->slot];

	return client && client->phase == CLIENT_SERVED && client->serial == query->serial ? client
											   : NULL;
}

static void next_process(const struct worker *worker, struct query *query, uint64_t now)
{
	const struct client *client = NULL;

	while (query->slot < worker->client_end &&
	       !is_process(client = worker->clients[query->slot], query->pid))
		query->slot++;
	if (query->slot >= worker->client_end) {
		if (query->pid > 0)
			query->error = -ESRCH;
		put_text(query, "]}");
		query->stage = QUERY_DONE;
		return;
	}
	query->serial = client->serial;
	query->queue = 0;
	if (query->pid > 0)
		put_text(query, "{\"process\":");
	else if (!query->first)
		put_text(query, ",");
	if (query->pid == QUERY_BRIEF)
		put_open(query, status_client_brief(worker, client, now), ",\"queue_counts\":[");
	else
		put_open(query, status_client(worker, client, now), ",\"queues\":[");
	query->stage = QUERY_QUEUES;
}

static void process_queues(const struct worker *worker, struct query *query)
{
	const struct client *client = process(worker, query);

	if (client && query->pid == QUERY_BRIEF) {
		put_elements(query, status_queue_counts(client));
	} else if (client && query->queue < CLIENT_SHM_QUEUES) {
		put_elements(query,
			     status_queues(client, false, &query->queue, &query->unreadable));
		return;
	}
	put_text(query, "]}");
	query->first = false;
	query->slot += query->pid > 0 ? 0 : 1;
	query->stage = query->pid > 0 ? QUERY_CLIENT_SHM : QUERY_PROCESS;
}

/* Appends a piece of a dump. If the process has ended, the dump ends with an error. */
static void dump(const struct worker *worker, struct query *query, uint64_t now)
{
	const struct client *client = process(worker, query);
	char text[64];

	if (!client) {
		query->error = -ESRCH;
		query->stage = QUERY_DONE;
	} else if (query->stage == QUERY_CLIENT_SHM) {
		put_text(query, ",\"client_shm\":");
		put_open(query, status_client_shm(client->shm, now), ",\"queues\":[");
		query->queue = query->unreadable = 0;
		query->stage = QUERY_CLIENT_SHM_QUEUES;
	} else if (query->stage == QUERY_CLIENT_SHM_QUEUES && query->queue < CLIENT_SHM_QUEUES) {
		put_elements(query, status_queues(client, true, &query->queue, &query->unreadable));
	} else if (query->stage == QUERY_CLIENT_SHM_QUEUES) {
		query->newest = __atomic_load_n(&client->shm->events_number, __ATOMIC_ACQUIRE);
		query->event =
			query->newest > CLIENT_SHM_EVENTS ? query->newest - CLIENT_SHM_EVENTS : 0;
		snprintf(text, sizeof(text), "],\"unreadable_queues\":%u,\"events\":[",
			 query->unreadable);
		put_text(query, text);
		query->first = true;
		query->stage = QUERY_CLIENT_SHM_EVENTS;
	} else if (query->event < query->newest) {
		put_elements(query, status_client_shm_events(client->shm, &query->event,
							     query->newest, now));
	} else {
		put_text(query, "]}}");
		query->stage = QUERY_DONE;
	}
}

static void begin_recent(struct query *query)
{
	query->newest = events_newest();
	query->event = query->newest > EVENTS_MAX ? query->newest - EVENTS_MAX : 0;
	put_text(query, "[");
	query->stage = QUERY_RECENT;
}

static void recent(struct query *query)
{
	if (query->event < query->newest) {
		put_elements(query, events_recent(&query->event, query->newest));
		return;
	}
	put_text(query, "]");
	query->stage = QUERY_DONE;
}

/* Returns the part of a reply before its list of processes. The brief form omits histograms,
 * because they are the longest part. */
static json_t *head(const struct worker *worker, const struct query *query, uint64_t now)
{
	json_t *json = status_head(worker, now), *totals = json_object_get(json, "totals");

	if (query->pid == QUERY_BRIEF) {
		json_object_del(totals, "resume_ns");
		json_object_del(totals, "holdover_ns");
		json_object_del(totals, "loop_ns");
	}
	return json;
}

static void begin(const struct worker *worker, struct query *query, uint64_t now)
{
	query->first = true;
	query->stage = QUERY_PROCESS;
	if (query->pid == QUERY_OF_EVENTS)
		begin_recent(query);
	else if (query->pid <= 0)
		put_open(query, head(worker, query, now), ",\"processes\":[");
}

static void piece(const struct worker *worker, struct query *query, uint64_t now)
{
	switch (query->stage) {
	case QUERY_WAITING:
		begin(worker, query, now);
		break;
	case QUERY_PROCESS:
		next_process(worker, query, now);
		break;
	case QUERY_QUEUES:
		process_queues(worker, query);
		break;
	case QUERY_RECENT:
		recent(query);
		break;
	default:
		dump(worker, query, now);
	}
	if (query->error)
		query->stage = QUERY_DONE;
}

/* ---- sending ---- */

/* Sends the rest of the piece. Returns 0; -EAGAIN if the socket has no room; or an error. */
static int send_piece(struct client *client)
{
	struct query *query = client->query;
	struct protocol_welcome head = {
		.magic = PROTOCOL_MAGIC, .version = client->version, .status = query->error};
	int error = 0;

	if (query->error) {
		query->sent = query->length; /* an error carries no text */
		return protocol_send_text(client->socket, &head, "");
	}
	while (!error && query->sent < query->length) {
		size_t left = query->length - query->sent;

		head.bytes = left < PROTOCOL_TEXT_MAX ? left : PROTOCOL_TEXT_MAX;
		head.more = query->stage != QUERY_DONE || head.bytes < left;
		error = protocol_send_text(client->socket, &head, query->text + query->sent);
		if (!error)
			query->sent += head.bytes;
	}
	return error;
}

static void forget_text(struct query *query)
{
	free(query->text);
	query->text = NULL;
	query->length = query->room = query->sent = 0;
}

/* Sends the rest of a piece, or makes and sends one more piece. The next call serves another
 * client. */
static void serve(struct worker *worker, struct client *client, uint64_t now)
{
	struct query *query = client->query;
	int error;

	if (query->stage == QUERY_SENT) {
		query->retry_ns = now + RETRY_NS;
		if (!admission_is_unread(client->socket))
			client_gone(worker, client, NULL);
		return;
	}
	if (query->stage == QUERY_WAITING)
		worker_user(worker, client)->queries++;
	if (query->length == query->sent && query->stage != QUERY_DONE)
		piece(worker, query, now);
	error = send_piece(client);
	if (error == -EAGAIN) {
		query->retry_ns = now + RETRY_NS;
		return;
	}
	forget_text(query);
	if (error)
		client_gone(worker, client, NULL);
	else if (query->stage == QUERY_DONE)
		query->stage = QUERY_SENT;
}

/* ---- order of clients ---- */

static bool is_due(struct worker *worker, const struct client *client, uint64_t now)
{
	if (!client || client->phase != CLIENT_ASKING || now < client->query->retry_ns)
		return false;
	return client->query->stage != QUERY_WAITING || client->trusted ||
	       worker_user(worker, client)->queries < QUERY_OF_USER;
}

/* Returns the client whose reply is continued next: a trusted one, otherwise the first in slot
 * order after the one that was served last; NULL: none can continue now. */
static struct client *next_asker(struct worker *worker, uint64_t now)
{
	struct client *found = NULL;
	uint32_t end = worker->client_end;

	for (uint32_t i = 1; i <= end; i++) {
		struct client *client = worker->clients[(queries.last + i) % end];

		if (!is_due(worker, client, now))
			continue;
		if (client->trusted)
			return client;
		if (!found)
			found = client;
	}
	return found;
}

void query_step(struct worker *worker, uint64_t now)
{
	uint64_t end = now + WORK_NS;
	bool done = false;

	if (now < query_next())
		return;
	do {
		struct client *client = next_asker(worker, now);

		if (!client)
			break;
		if (!done && client->trusted)
			end = now + WORK_TRUSTED_NS;
		done = true;
		queries.last = client->slot;
		serve(worker, client, now);
		now = clock_ns();
	} while (now < end);
	queries.rested_ns = now + REST_NS;
	queries.next_ns = now + (done ? REST_NS : RETRY_NS);
}

uint64_t query_next(void)
{
	return queries.askers ? queries.next_ns : UINT64_MAX;
}

void query_begin(struct worker *worker, struct client *client, int pid)
{
	client->query = calloc(1, sizeof(*client->query));
	if (!client->query) {
		client_gone(worker, client, NULL);
		return;
	}
	client->phase = CLIENT_ASKING;
	client->query->pid = pid;
	queries.askers++;
	queries.next_ns = queries.rested_ns;
}

void query_end(struct worker *worker, struct client *client)
{
	queries.askers--;
	if (client->query->stage != QUERY_WAITING)
		worker_user(worker, client)->queries--;
	free(client->query->text);
	free(client->query);
	client->query = NULL;
}

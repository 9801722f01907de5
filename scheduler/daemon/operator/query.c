// SPDX-License-Identifier: MIT
#include "scheduler/daemon/operator/query.h"

#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "channel/protocol.h"
#include "common/clock.h"
#include "scheduler/daemon/clients/client.h"
#include "scheduler/daemon/operator/status.h"
#include "scheduler/daemon/worker.h"

#define WORK_NS 200000u
#define WORK_TRUSTED_NS 1000000u
#define REST_NS 1000000u
#define RETRY_NS 5000000u

/* ---- text of a reply ---- */

static void put(struct answer *answer, const char *text, size_t length)
{
	size_t room = answer->room;
	char *grown;

	while (room < answer->length + length)
		room = room ? 2 * room : 4096;
	grown = room > answer->room ? realloc(answer->text, room) : answer->text;
	if (!grown) {
		answer->error = -ENOMEM;
		return;
	}
	answer->text = grown;
	answer->room = room;
	memcpy(grown + answer->length, text, length);
	answer->length += length;
}

static void put_text(struct answer *answer, const char *text)
{
	put(answer, text, strlen(text));
}

/* Appends the text of `json` without its first `front` and last `back` characters. Takes the
 * reference. */
static void put_json(struct answer *answer, json_t *json, size_t front, size_t back)
{
	char *text = json ? json_dumps(json, JSON_COMPACT) : NULL;

	json_decref(json);
	if (text)
		put(answer, text + front, strlen(text) - front - back);
	else
		answer->error = -ENOMEM;
	free(text);
}

/* Appends an object without its closing brace, and then `next`, which begins its next key. */
static void put_open(struct answer *answer, json_t *object, const char *next)
{
	put_json(answer, object, 0, 1);
	put_text(answer, next);
	answer->first = true;
}

/* Appends elements to a list that was begun before. Takes the reference. */
static void put_elements(struct answer *answer, json_t *list)
{
	if (json_array_size(list) == 0) {
		json_decref(list);
		return;
	}
	if (!answer->first)
		put_text(answer, ",");
	answer->first = false;
	put_json(answer, list, 1, 1);
}

/* ---- pieces of a reply ---- */

static bool is_process(const struct client *client, int pid)
{
	return client && client->phase == CLIENT_SERVED && (pid <= 0 || client->peer.pid == pid);
}

/* Returns the process that is being described, or NULL if it has ended. */
static const struct client *process(const struct worker *worker, const struct answer *answer)
{
	const struct client *client = worker->clients[answer->slot];

	return client && client->phase == CLIENT_SERVED && client->serial == answer->serial ? client
											    : NULL;
}

static void next_process(const struct worker *worker, struct answer *answer, uint64_t now)
{
	const struct client *client = NULL;

	while (answer->slot < worker->client_end &&
	       !is_process(client = worker->clients[answer->slot], answer->pid))
		answer->slot++;
	if (answer->slot >= worker->client_end) {
		if (answer->pid > 0)
			answer->error = -ESRCH;
		put_text(answer, "]}");
		answer->stage = ANSWER_DONE;
		return;
	}
	answer->serial = client->serial;
	answer->queue = 0;
	if (answer->pid > 0)
		put_text(answer, "{\"process\":");
	else if (!answer->first)
		put_text(answer, ",");
	if (answer->pid == ANSWER_BRIEF)
		put_open(answer, status_client_brief(worker, client, now), ",\"queue_counts\":[");
	else
		put_open(answer, status_client(worker, client, now), ",\"queues\":[");
	answer->stage = ANSWER_QUEUES;
}

static void process_queues(const struct worker *worker, struct answer *answer)
{
	const struct client *client = process(worker, answer);

	if (client && answer->pid == ANSWER_BRIEF) {
		put_elements(answer, status_queue_counts(client));
	} else if (client && answer->queue < CLIENT_SHM_QUEUES) {
		put_elements(answer, status_queues(client, &answer->queue));
		return;
	}
	put_text(answer, "]}");
	answer->first = false;
	answer->slot += answer->pid > 0 ? 0 : 1;
	answer->stage = answer->pid > 0 ? ANSWER_CLIENT_SHM : ANSWER_PROCESS;
}

/* Appends a piece of a dump. It ends with an error if the process ends. */
static void dump(const struct worker *worker, struct answer *answer, uint64_t now)
{
	const struct client *client = process(worker, answer);
	char text[64];

	if (!client) {
		answer->error = -ESRCH;
		answer->stage = ANSWER_DONE;
	} else if (answer->stage == ANSWER_CLIENT_SHM) {
		put_text(answer, ",\"lane\":");
		put_open(answer, status_client_shm(client->shm, now), ",\"queues\":[");
		answer->queue = answer->unreadable = 0;
		answer->stage = ANSWER_CLIENT_SHM_QUEUES;
	} else if (answer->stage == ANSWER_CLIENT_SHM_QUEUES && answer->queue < CLIENT_SHM_QUEUES) {
		put_elements(answer, status_client_shm_queues(client->shm, &answer->queue,
							      &answer->unreadable));
	} else if (answer->stage == ANSWER_CLIENT_SHM_QUEUES) {
		answer->newest = __atomic_load_n(&client->shm->events_number, __ATOMIC_ACQUIRE);
		answer->event =
			answer->newest > CLIENT_SHM_EVENTS ? answer->newest - CLIENT_SHM_EVENTS : 0;
		snprintf(text, sizeof(text), "],\"unreadable_queues\":%u,\"events\":[",
			 answer->unreadable);
		put_text(answer, text);
		answer->first = true;
		answer->stage = ANSWER_CLIENT_SHM_EVENTS;
	} else if (answer->event < answer->newest) {
		put_elements(answer, status_client_shm_events(client->shm, &answer->event,
							      answer->newest, now));
	} else {
		put_text(answer, "]}}");
		answer->stage = ANSWER_DONE;
	}
}

static void begin_recent(const struct worker *worker, struct answer *answer)
{
	answer->newest = worker->events.number;
	answer->event = answer->newest > EVENTS_KEPT ? answer->newest - EVENTS_KEPT : 0;
	put_text(answer, "[");
	answer->stage = ANSWER_RECENT;
}

static void recent(const struct worker *worker, struct answer *answer)
{
	if (answer->event < answer->newest) {
		put_elements(answer, events_recent(worker, &answer->event, answer->newest));
		return;
	}
	put_text(answer, "]");
	answer->stage = ANSWER_DONE;
}

/* The brief form omits histograms, because they are the longest part. */
static json_t *head(const struct worker *worker, const struct answer *answer, uint64_t now)
{
	json_t *json = status_head(worker, now), *totals = json_object_get(json, "totals");

	if (answer->pid == ANSWER_BRIEF) {
		json_object_del(totals, "resume_ns");
		json_object_del(totals, "holdover_ns");
		json_object_del(totals, "turn_ns");
	}
	return json;
}

static void begin(const struct worker *worker, struct answer *answer, uint64_t now)
{
	answer->first = true;
	answer->stage = ANSWER_PROCESS;
	if (answer->pid == ANSWER_OF_EVENTS)
		begin_recent(worker, answer);
	else if (answer->pid <= 0)
		put_open(answer, head(worker, answer, now), ",\"processes\":[");
}

static void piece(const struct worker *worker, struct answer *answer, uint64_t now)
{
	switch (answer->stage) {
	case ANSWER_WAITING:
		begin(worker, answer, now);
		break;
	case ANSWER_PROCESS:
		next_process(worker, answer, now);
		break;
	case ANSWER_QUEUES:
		process_queues(worker, answer);
		break;
	case ANSWER_RECENT:
		recent(worker, answer);
		break;
	default:
		dump(worker, answer, now);
	}
	if (answer->error)
		answer->stage = ANSWER_DONE;
}

/* ---- sending ---- */

/* Sends the rest of the piece. Returns -EAGAIN if the client has no room. */
static int send_piece(struct client *client)
{
	struct answer *answer = &client->answer;
	struct protocol_welcome head = {
		.magic = PROTOCOL_MAGIC, .version = client->version, .status = answer->error};
	int error = 0;

	if (answer->error) {
		answer->sent = answer->length; /* an error carries no text */
		return protocol_send_text(client->socket, &head, "");
	}
	while (!error && answer->sent < answer->length) {
		size_t left = answer->length - answer->sent;

		head.bytes = left < PROTOCOL_TEXT_MAX ? left : PROTOCOL_TEXT_MAX;
		head.more = answer->stage != ANSWER_DONE || head.bytes < left;
		error = protocol_send_text(client->socket, &head, answer->text + answer->sent);
		if (!error)
			answer->sent += head.bytes;
	}
	return error;
}

static void forget_text(struct answer *answer)
{
	free(answer->text);
	answer->text = NULL;
	answer->length = answer->room = answer->sent = 0;
}

/* Sends the rest of a piece, or makes and sends one more. Then it is the turn of another client. */
static void serve(struct worker *worker, struct client *client, uint64_t now)
{
	struct answer *answer = &client->answer;
	int error;

	if (answer->stage == ANSWER_SENT) {
		if (!door_is_unread(client->socket))
			client_gone(worker, client, NULL);
		answer->retry_ns = now + RETRY_NS;
		return;
	}
	if (answer->stage == ANSWER_WAITING)
		door_user(worker, client->uid)->answers++;
	if (answer->length == answer->sent && answer->stage != ANSWER_DONE)
		piece(worker, answer, now);
	error = send_piece(client);
	if (error == -EAGAIN) {
		answer->retry_ns = now + RETRY_NS;
		return;
	}
	forget_text(answer);
	if (error)
		client_gone(worker, client, NULL);
	else if (answer->stage == ANSWER_DONE)
		answer->stage = ANSWER_SENT;
}

/* ---- order of clients ---- */

static bool is_due(struct worker *worker, const struct client *client, uint64_t now)
{
	if (!client || client->phase != CLIENT_ASKING || now < client->answer.retry_ns)
		return false;
	return client->answer.stage != ANSWER_WAITING || client->trusted ||
	       door_user(worker, client->uid)->answers < ANSWER_OF_USER;
}

/* Returns the next client: a trusted one, otherwise the next after the last one; NULL: none can
 * continue now. */
static struct client *next_asker(struct worker *worker, uint64_t now)
{
	struct client *found = NULL;
	uint32_t end = worker->client_end;

	for (uint32_t i = 1; i <= end; i++) {
		struct client *client = worker->clients[(worker->answers.last + i) % end];

		if (!is_due(worker, client, now))
			continue;
		if (client->trusted)
			return client;
		if (!found)
			found = client;
	}
	return found;
}

void answer_step(struct worker *worker, uint64_t now)
{
	struct answers *answers = &worker->answers;
	uint64_t end = now + WORK_NS;
	bool done = false;

	if (now < answer_next(worker))
		return;
	do {
		struct client *client = next_asker(worker, now);

		if (!client)
			break;
		if (!done && client->trusted)
			end = now + WORK_TRUSTED_NS;
		done = true;
		answers->last = client->slot;
		serve(worker, client, now);
		now = clock_ns();
	} while (now < end);
	answers->rested_ns = now + REST_NS;
	answers->next_ns = now + (done ? REST_NS : RETRY_NS);
}

uint64_t answer_next(const struct worker *worker)
{
	return worker->answers.askers ? worker->answers.next_ns : UINT64_MAX;
}

void answer_ask(struct worker *worker, struct client *client, int pid)
{
	client->phase = CLIENT_ASKING;
	client->answer = (struct answer){.pid = pid};
	worker->answers.askers++;
	worker->answers.next_ns = worker->answers.rested_ns;
}

void answer_gone(struct worker *worker, struct client *client)
{
	if (client->phase != CLIENT_ASKING)
		return;
	worker->answers.askers--;
	if (client->answer.stage != ANSWER_WAITING)
		door_user(worker, client->uid)->answers--;
	forget_text(&client->answer);
}

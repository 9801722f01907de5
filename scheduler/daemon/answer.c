// SPDX-License-Identifier: MIT
#include "scheduler/daemon/answer.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "channel/protocol.h"
#include "common/clock.h"
#include "scheduler/daemon/client.h"
#include "scheduler/daemon/status.h"
#include "scheduler/daemon/worker.h"

#define WORK_NS 200000u
#define REST_NS 1000000u
/* Nobody who gets it can change it for the others. */
#define SEALS (F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE)

/* ---- its text ---- */

static void put(struct answer *answer, const char *text, size_t length)
{
	if (!answer->error && write(answer->memory, text, length) != (ssize_t)length)
		answer->error = -ENOMEM;
}

static void put_text(struct answer *answer, const char *text)
{
	put(answer, text, strlen(text));
}

/* Takes `json`; of its text what is left when so many characters are taken off. */
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

/* An object to which more keys are to come: `next` begins them. */
static void put_open(struct answer *answer, json_t *object, const char *next)
{
	put_json(answer, object, 0, 1);
	put_text(answer, next);
	answer->first = true;
}

/* The elements of a list go on. */
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

/* ---- its pieces ---- */

static bool is_process(const struct client *client, int pid)
{
	return client && client->phase == CLIENT_SERVED && (pid <= 0 || client->peer.pid == pid);
}

/* NULL: it has gone since. */
static const struct client *process(const struct worker *worker)
{
	const struct client *client = worker->clients[worker->answer.slot];

	return client && client->phase == CLIENT_SERVED && client->serial == worker->answer.serial
		       ? client
		       : NULL;
}

static void next_process(struct worker *worker, uint64_t now)
{
	struct answer *answer = &worker->answer;
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

static void process_queues(struct worker *worker)
{
	struct answer *answer = &worker->answer;
	const struct client *client = process(worker);

	if (client && answer->pid == ANSWER_BRIEF) {
		put_elements(answer, status_queue_counts(client));
	} else if (client && answer->queue < LANE_QUEUES) {
		put_elements(answer, status_queues(client, &answer->queue));
		return;
	}
	put_text(answer, "]}");
	answer->first = false;
	answer->slot += answer->pid > 0 ? 0 : 1;
	answer->stage = answer->pid > 0 ? ANSWER_LANE : ANSWER_PROCESS;
}

/* The parts of a dump; they end with the process. */
static void dump(struct worker *worker, uint64_t now)
{
	struct answer *answer = &worker->answer;
	const struct client *client = process(worker);
	char text[64];

	if (!client) {
		answer->error = -ESRCH;
		answer->stage = ANSWER_DONE;
	} else if (answer->stage == ANSWER_LANE) {
		put_text(answer, ",\"lane\":");
		put_open(answer, status_lane(client->lane, now), ",\"queues\":[");
		answer->queue = answer->unreadable = 0;
		answer->stage = ANSWER_LANE_QUEUES;
	} else if (answer->stage == ANSWER_LANE_QUEUES && answer->queue < LANE_QUEUES) {
		put_elements(answer,
			     status_lane_queues(client->lane, &answer->queue, &answer->unreadable));
	} else if (answer->stage == ANSWER_LANE_QUEUES) {
		answer->newest = __atomic_load_n(&client->lane->events_number, __ATOMIC_ACQUIRE);
		answer->event = answer->newest > LANE_EVENTS ? answer->newest - LANE_EVENTS : 0;
		snprintf(text, sizeof(text), "],\"unreadable_queues\":%u,\"events\":[",
			 answer->unreadable);
		put_text(answer, text);
		answer->first = true;
		answer->stage = ANSWER_LANE_EVENTS;
	} else if (answer->event < answer->newest) {
		put_elements(answer,
			     status_lane_events(client->lane, &answer->event, answer->newest, now));
	} else {
		put_text(answer, "]}}");
		answer->stage = ANSWER_DONE;
	}
}

static void begin_recent(struct worker *worker)
{
	struct answer *answer = &worker->answer;

	answer->newest = worker->events.number;
	answer->event = answer->newest > EVENTS_KEPT ? answer->newest - EVENTS_KEPT : 0;
	put_text(answer, "[");
	answer->stage = ANSWER_RECENT;
}

static void recent(struct worker *worker)
{
	struct answer *answer = &worker->answer;

	if (answer->event < answer->newest) {
		put_elements(answer, events_recent(worker, &answer->event, answer->newest));
		return;
	}
	put_text(answer, "]");
	answer->stage = ANSWER_DONE;
}

/* Histograms are what is longest of it. */
static json_t *head(const struct worker *worker, uint64_t now)
{
	json_t *json = status_head(worker, now), *totals = json_object_get(json, "totals");

	if (worker->answer.pid == ANSWER_BRIEF) {
		json_object_del(totals, "resume_ns");
		json_object_del(totals, "holdover_ns");
		json_object_del(totals, "turn_ns");
	}
	return json;
}

/* ---- whose it is ---- */

/* Who has waited longest gets his answer, and who waits for the same with him. */
static void begin(struct worker *worker, uint64_t now)
{
	struct answer *answer = &worker->answer;
	const struct client *longest = NULL;

	for (uint32_t i = 0; i < worker->client_end; i++) {
		const struct client *client = worker->clients[i];

		if (client && client->phase == CLIENT_ASKING &&
		    (!longest || (int32_t)(client->serial - longest->serial) < 0))
			longest = client;
	}
	answer->pid = longest->asked_pid;
	answer->number++;
	answer->error = 0;
	answer->slot = 0;
	answer->first = true;
	for (uint32_t i = 0; i < worker->client_end; i++) {
		struct client *client = worker->clients[i];

		if (client && client->phase == CLIENT_ASKING && client->asked_pid == answer->pid)
			client->answer = answer->number;
	}
	answer->memory = memfd_create("kfdschedd-status", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (answer->memory < 0)
		answer->error = -errno;
	answer->stage = ANSWER_PROCESS;
	if (answer->pid == ANSWER_OF_EVENTS)
		begin_recent(worker);
	else if (answer->pid <= 0)
		put_open(answer, head(worker, now), ",\"processes\":[");
}

static void finish(struct worker *worker)
{
	struct answer *answer = &worker->answer;
	struct protocol_welcome welcome = {
		.magic = PROTOCOL_MAGIC, .version = PROTOCOL_VERSION, .status = answer->error};

	if (!welcome.status && fcntl(answer->memory, F_ADD_SEALS, SEALS) < 0)
		welcome.status = -errno;
	if (!welcome.status)
		welcome.bytes = (uint64_t)lseek(answer->memory, 0, SEEK_CUR);
	for (uint32_t i = 0; i < worker->client_end; i++) {
		struct client *client = worker->clients[i];

		if (!client || client->phase != CLIENT_ASKING || client->answer != answer->number)
			continue;
		protocol_send(client->socket, &welcome, sizeof(welcome), &answer->memory,
			      welcome.status ? 0 : 1);
		client_gone(worker, client, NULL);
	}
	if (answer->memory >= 0)
		close(answer->memory);
	answer->error = 0;
	answer->stage = ANSWER_NONE;
}

static void piece(struct worker *worker, uint64_t now)
{
	switch (worker->answer.stage) {
	case ANSWER_NONE:
		begin(worker, now);
		break;
	case ANSWER_PROCESS:
		next_process(worker, now);
		break;
	case ANSWER_QUEUES:
		process_queues(worker);
		break;
	case ANSWER_RECENT:
		recent(worker);
		break;
	case ANSWER_DONE:
		finish(worker);
		break;
	default:
		dump(worker, now);
	}
	if (worker->answer.error)
		worker->answer.stage = ANSWER_DONE;
}

void answer_step(struct worker *worker, uint64_t now)
{
	struct answer *answer = &worker->answer;
	uint64_t end = now + WORK_NS;

	if (now < answer_next(worker))
		return;
	do {
		piece(worker, now);
		if (answer->stage == ANSWER_NONE && !answer->askers)
			break;
		now = clock_ns();
	} while (now < end);
	answer->next_ns = now + REST_NS;
}

uint64_t answer_next(const struct worker *worker)
{
	const struct answer *answer = &worker->answer;

	return answer->stage == ANSWER_NONE && !answer->askers ? UINT64_MAX : answer->next_ns;
}

void answer_ask(struct worker *worker, struct client *client, int pid)
{
	client->phase = CLIENT_ASKING;
	client->asked_pid = pid;
	client->answer = worker->answer.number; /* none that is to come */
	worker->answer.askers++;
}

void answer_gone(struct worker *worker, struct client *client)
{
	if (client->phase == CLIENT_ASKING)
		worker->answer.askers--;
}

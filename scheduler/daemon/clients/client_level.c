// SPDX-License-Identifier: MIT
#include "scheduler/daemon/clients/client_level.h"

#include <string.h>

#include "common/clock.h"
#include "kfd/ptrace.h"
#include "scheduler/daemon/clients/client_life.h"
#include "scheduler/daemon/operator/events.h"

#define SECOND_NS UINT64_C(1000000000)
#define PAUSE_MIN_NS SECOND_NS
#define PAUSE_MAX_NS (30 * SECOND_NS)
#define CHECK_NS SECOND_NS /* between two checks from outside */
#define IDLE_NS (SECOND_NS * 9 / 10)
#define MOVE_NS (2 * SECOND_NS)

static uint64_t session_moved_ns; /* when a debug session was last moved between processes */

/* Returns the level at which a client with KFDSHIM_LEVEL `level` holds itself on command;
 * CLIENT_SHM_LEVEL_NONE: it does not. */
static enum client_shm_level commanded(uint32_t level)
{
	switch (level) {
	case PROTOCOL_LEVEL_SELF:
		return CLIENT_SHM_LEVEL_SELF;
	case PROTOCOL_LEVEL_GATE:
		return CLIENT_SHM_LEVEL_GATE;
	case PROTOCOL_LEVEL_WEIGHT:
		return CLIENT_SHM_LEVEL_WEIGHT;
	default:
		return CLIENT_SHM_LEVEL_NONE;
	}
}

void level_begin(struct client *client, uint32_t wanted)
{
	client->hold_cmd_level = commanded(wanted);
	client->level.wanted = wanted <= PROTOCOL_LEVEL_OBSERVE ? (enum protocol_level)wanted
								: PROTOCOL_LEVEL_AUTO;
	/* A rule has set level auto for a client that does not give up its own session
	 * (shim/hold.c). Level self is the best level that works for that client. */
	if (client->level.wanted == PROTOCOL_LEVEL_AUTO &&
	    client->attrs.level == PROTOCOL_LEVEL_SELF) {
		client->hold_cmd_level = CLIENT_SHM_LEVEL_SELF;
		client->level.error = -EALREADY;
		reason_set(&client->level.why, REASON_holds_itself, 0, -EALREADY, NULL);
	}
}

bool level_may_change(const struct client *client)
{
	return client->level.wanted == PROTOCOL_LEVEL_AUTO && client->socket >= 0;
}

bool level_is_changing(const struct client *client)
{
	return client->level.changing || client->preparing;
}

bool level_explain(struct client *client)
{
	if (!level_may_change(client) || !client->level.error)
		return false;
	client->reason = client->level.why;
	return true;
}

void level_log(struct worker *worker, struct client *client)
{
	if (!client->level.logged) {
		log_info("process %d (%s): level %s: %s", (int)client->peer.pid, client->name,
			 client_level_name(client), client->level.why.text);
		events_level(worker, client, true);
	}
	client->level.logged = true;
}

/* ---- the only debug session of a GPU ---- */

/* Returns true if both clients may use a common node. A client without nodes may use any. */
static bool share_nodes(const struct client *a, const struct client *b)
{
	if (!a->seen[0].gpu_id || !b->seen[0].gpu_id)
		return true;
	for (uint32_t i = 0; i < CLIENT_SHM_NODES && a->seen[i].gpu_id; i++)
		for (uint32_t j = 0; j < CLIENT_SHM_NODES && b->seen[j].gpu_id; j++)
			if (a->seen[i].gpu_id == b->seen[j].gpu_id)
				return true;
	return false;
}

static bool has_session(const struct client *client)
{
	return client->executor || client->own_session == CLIENT_SHM_OWN_SESSION;
}

/* Returns the other client that has the only debug session of a GPU which `client` may use, or
 * NULL. */
static struct client *holder_for(const struct worker *worker, const struct client *client)
{
	struct client *other;

	for (uint32_t i = 0; (other = worker_next(worker, CLIENT_SERVED, &i));)
		if (other != client && has_session(other) && share_nodes(client, other))
			return other;
	return NULL;
}

/* ---- change to a lower level ---- */

/* Returns the level to try when level trap has failed with `error`. At level self the client opens
 * a debug session on itself, for which it needs no right to trace. But if the GPU has only one
 * session, the runtime is disabled or the firmware fails, level self fails as level trap does, so
 * the level is gate. */
static enum client_shm_level below_trap(int error)
{
	switch (error) {
	case -EPERM:
	case -EAGAIN:
	case -EALREADY:
	case -EACCES:
	case -ENOENT:
		return CLIENT_SHM_LEVEL_SELF;
	default:
		return CLIENT_SHM_LEVEL_GATE;
	}
}

static void plan_climb(struct level *level, uint64_t now)
{
	bool lasted = level->attached_ns && now > level->attached_ns + PAUSE_MAX_NS;

	level->attached_ns = 0;
	if (lasted || !level->pause_ns)
		level->pause_ns = PAUSE_MIN_NS;
	else if (level->pause_ns < PAUSE_MAX_NS / 2)
		level->pause_ns *= 2;
	else
		level->pause_ns = PAUSE_MAX_NS;
	level->climb_ns = now + level->pause_ns;
}

/* Starts a change of the level to `to`. The client is not held until the change is complete. */
static void leave_level(struct worker *worker, struct client *client, enum client_shm_level to)
{
	client->level.changing = true;
	client->level.to = to;
	feed_set_capability(&worker->feed, client->id, CORE_REFUSED);
	if (client->executor)
		executor_send(client->executor,
			      EXECUTOR_QUIT); /* the end of the executor resumes the client */
}

/* Makes the client one that is only observed and never held, because no other level is possible. */
static void observe(struct worker *worker, struct client *client)
{
	struct level *level = &client->level;
	struct reason why = level->why;
	bool logged = level->logged;

	if (level->wanted == PROTOCOL_LEVEL_TRAP)
		reason_add(&why, " (KFDSHIM_LEVEL=trap: no other level is tried)");
	if (client->executor)
		executor_send(client->executor, EXECUTOR_QUIT);
	level->logged = true;
	if (!logged) {
		client_cannot(worker, client, &why);
		return;
	}
	client->refused = true;
	client->reason = why;
	feed_set_capability(&worker->feed, client->id, CORE_REFUSED);
}

/* Records why the present level does not work: appends this to the reason why level trap failed. */
static void explain(const struct worker *worker, struct client *client, const struct reason *why)
{
	struct level *level = &client->level;
	const struct client *holder = why->error == -EBUSY ? holder_for(worker, client) : NULL;

	if (client->hold_cmd_level && level->error) {
		if (strstr(level->why.text, why->text))
			return;
		reason_add(&level->why, "; %s", why->text);
	} else {
		level->error = why->error;
		level->why = *why;
	}
	if (holder)
		reason_add(&level->why, "; process %d has the session", (int)holder->peer.pid);
	client->reason = level->why;
}

void level_fall(struct worker *worker, struct client *client, const struct reason *why,
		uint64_t now)
{
	struct level *level = &client->level;
	int error = why->error;
	bool by_trap = client->hold_cmd_level == CLIENT_SHM_LEVEL_NONE;

	if (client->refused || worker->stopping)
		return;
	level->never_trap |= error == -EIO || error == -EOPNOTSUPP;
	explain(worker, client, why);
	level->unseen = false;
	level->unjudged = error == -EPERM;
	if (by_trap && error != -ESRCH)
		plan_climb(level, now);
	/* EPROTO: the runtime is not enabled (RUNTIME_ENABLE). A process without the shim that
	 * already has queues will not enable it any more, so level trap is not tried again. */
	if (level->never_trap || (client->external && error == -EPROTO))
		level->climb_ns = 0;
	if (!level_may_change(client) || error == -ESRCH)
		observe(worker, client);
	/* On a time-out the client may only be stopped (SIGSTOP). It keeps its level, because it
	 * acknowledges when it runs again. */
	else if (error == -ETIMEDOUT)
		leave_level(worker, client, client->hold_cmd_level);
	else
		leave_level(worker, client, by_trap ? below_trap(error) : CLIENT_SHM_LEVEL_GATE);
}

void level_fall_by(struct worker *worker, struct client *client, enum reason_code code, int error,
		   uint64_t now)
{
	struct reason why;

	reason_set(&why, code, 0, error, NULL);
	level_fall(worker, client, &why, now);
}

void level_failed(struct worker *worker, struct client *client, int error, uint64_t now)
{
	struct reason why = client->reason;

	if (!level_may_change(client) || error == -ETIMEDOUT)
		return;
	/* At level self, an error other than ETIME is kept, because it can also mean that no debug
	 * session is possible. */
	if (client->hold_cmd_level == CLIENT_SHM_LEVEL_NONE || error == 0 || error == -ETIME)
		error = -EIO;
	why.error = error;
	level_fall(worker, client, &why, now);
}

/* Commands the client to prepare `level` (HOLD_CMD_PREPARE). When it acknowledges, level_prepared()
 * is called; a client that is stopped by a debugger acknowledges later. */
static void prepare(struct client *client, enum client_shm_level level, uint64_t now)
{
	client->preparing = true;
	client_command(client, level, HOLD_CMD_PREPARE, now);
}

/* Completes a change of the level, once the old debug session has ended and the client runs. */
static void arrive(struct worker *worker, struct client *client, uint64_t now)
{
	struct core_view view;

	if (client->executor || client->hold_cmd_pending ||
	    !core_view_client(worker->core, client->id, now, &view) || view.state != CORE_RUNNING)
		return;
	client->level.changing = false;
	client->hold_cmd_level = client->level.to;
	client->evaluated = false;
	feed_clear_exempt(&worker->feed, client->id);
	feed_set_capability(&worker->feed, client->id, CORE_PENDING);
	prepare(client, client->hold_cmd_level, now);
}

void level_again(struct worker *worker, struct client *client)
{
	leave_level(worker, client, client->hold_cmd_level);
}

/* ---- change to level trap ---- */

void client_attach(struct worker *worker, struct client *client, bool patient)
{
	const struct executor_tenant tenant = {
		.uid = client->peer.uid,
		.owner = owners_find(&worker->config.owners, client->peer.uid),
		.pid_ns = client->peer.pid_ns,
		.user_ns = client->peer.user_ns,
	};
	struct reason why;
	int error = executor_start(client->peer.pid, client->peer.started, &tenant, patient,
				   &client->executor);

	if (!error) {
		worker->by_executor[executor_number(client->executor)] = client;
		worker->executor_count++;
		return;
	}
	if (error == -EBUSY)
		reason_set(&why, REASON_executors_hang, 0, -EAGAIN, NULL);
	else
		reason_set(&why, REASON_no_executor, 0, -EAGAIN, "%s",
			   error == -ENOSPC ? "all are in use, or its user has half of them"
					    : strerror(-error));
	level_fall(worker, client, &why, worker->now_ns);
}

void level_risen(struct client *client, uint64_t now)
{
	client->level.error = 0;
	client->level.why = (struct reason){0};
	client->level.climb_ns = 0;
	client->level.logged = false;
	client->level.attached_ns = now;
	client->level.idle_ns = 0;
}

static bool has_work(const struct worker *worker, const struct client *client, uint64_t now)
{
	struct core_view view;

	return core_view_client(worker->core, client->id, now, &view) && view.active;
}

/* Returns true if `client` is the next one to get the GPU's only debug session: of the clients that
 * wait for it and have work, the one with the lowest priority, because it will be held most
 * often. */
static bool is_next(const struct worker *worker, const struct client *client, uint64_t now)
{
	const struct client *other;

	if (!has_work(worker, client, now))
		return false;
	for (uint32_t i = 0; (other = worker_next(worker, CLIENT_SERVED, &i));) {
		if (other == client || other->level.error != -EBUSY || !other->level.climb_ns ||
		    !share_nodes(client, other) || !has_work(worker, other, now))
			continue;
		if (other->priority < client->priority ||
		    (other->priority == client->priority && other->slot < client->slot))
			return false;
	}
	return true;
}

/* Returns true if the client was idle at two checks and not active between them. */
static bool stays_idle(const struct worker *worker, struct client *client, uint64_t now)
{
	struct level *level = &client->level;
	uint64_t transitions = 0;

	for (uint32_t i = 0; i < CLIENT_SHM_NODES; i++)
		transitions += client->seen[i].activity >> 1;
	if (has_work(worker, client, now)) {
		level->idle_ns = 0;
	} else if (!level->idle_ns || transitions != level->transitions) {
		level->idle_ns = now;
		level->transitions = transitions;
	}
	return level->idle_ns && now >= level->idle_ns + IDLE_NS;
}

/* Returns true if the client can take the only debug session of its GPU, because no other client
 * has it any more. If a client that has it was idle for long enough, lowers the level of that
 * client, which frees the session later. */
static bool may_take_session(struct worker *worker, const struct client *client, uint64_t now)
{
	struct client *holder;
	struct reason why;

	if (!is_next(worker, client, now))
		return false;
	holder = holder_for(worker, client);
	if (!holder)
		return true;
	if (!holder->attached || !level_may_change(holder) || level_is_changing(holder) ||
	    !stays_idle(worker, holder, now) || now < session_moved_ns + MOVE_NS)
		return false;
	session_moved_ns = now;
	reason_set(&why, REASON_session_given_away, client->peer.pid, -EBUSY, NULL);
	level_fall(worker, holder, &why, now);
	return false; /* the session becomes free soon */
}

/* Returns > 0 if level trap is likely to work now, 0 if not, and -EINPROGRESS while the answer of
 * kfdschedd-read is awaited. */
static int is_usable(struct worker *worker, const struct client *client, uint64_t now)
{
	switch (client->level.error) {
	case -EPERM:
		return client->level.unseen ? 0 : reader_right_has_come(client->peer.pid);
	case -EAGAIN:
		return tracer_is_free(client->peer.pid);
	case -EACCES:
	case -ENOENT:
		return access("/dev/kfd", R_OK | W_OK) == 0;
	case -EBUSY:
		return may_take_session(worker, client, now);
	default:
		return true;
	}
}

static void try_trap(struct worker *worker, struct client *client)
{
	client->level.climb_ns = 0;
	client->hold_cmd_level = CLIENT_SHM_LEVEL_NONE;
	client->refused = false;
	feed_set_capability(&worker->feed, client->id, CORE_PENDING);
	client_attach(worker, client, false);
}

static void climb(struct worker *worker, struct client *client, uint64_t now)
{
	struct core_view view;
	int good;

	if (client->executor || client->hold_cmd_pending ||
	    client->teardown_begin != client->teardown_end || !client_may_be_held(client) ||
	    !core_view_client(worker->core, client->id, now, &view) || view.state != CORE_RUNNING)
		return;
	good = is_usable(worker, client, now);
	if (good == -EINPROGRESS)
		return;
	if (good <= 0) {
		client->level.climb_ns =
			now + (client->level.error == -EBUSY ? CHECK_NS / 5 : CHECK_NS);
		return;
	}
	if (client->own_session == CLIENT_SHM_OWN_SESSION) {
		/* The client must give up its own debug session first. */
		feed_set_capability(&worker->feed, client->id, CORE_PENDING);
		prepare(client, CLIENT_SHM_LEVEL_GATE, now);
	} else if (client->external ||
		   shm_word(&client->shm->runtime) == CLIENT_SHM_RUNTIME_ENABLED) {
		try_trap(worker, client);
	}
}

void level_prepared(struct worker *worker, struct client *client, int error, uint64_t now)
{
	struct level *level = &client->level;

	if (level->changing || client->refused || worker->stopping)
		return;
	/* the client was prepared (HOLD_CMD_PREPARE) for an attempt to reach level trap */
	if (HOLD_CMD_LEVEL(client->hold_cmd) != (uint32_t)client->hold_cmd_level) {
		client->own_session = shm_word(&client->shm->own_session);
		if (!error && client->own_session == CLIENT_SHM_OWN_NONE)
			level->climb_ns = now; /* so that level_step() tries trap at once */
		else
			leave_level(worker, client, client->hold_cmd_level);
		return;
	}
	if (error && client->hold_cmd_level == CLIENT_SHM_LEVEL_SELF && !level_may_change(client)) {
		reason_set(&level->why, REASON_no_own_session, 0, error, NULL);
		client_cannot(worker, client, &level->why);
		return;
	}
	if (error && client->hold_cmd_level == CLIENT_SHM_LEVEL_SELF) {
		reason_add(&level->why, "; it cannot open one itself: %s", strerror(-error));
		leave_level(worker, client, CLIENT_SHM_LEVEL_GATE);
		return;
	}
	if (level->error)
		level_log(worker, client);
	client->evaluated = false; /* so that the next scan does */
}

/* Checks, after EPERM, whether the daemon seems to have the right to trace the client. If it does,
 * something else prevents tracing, and it does not help to wait for the right (`unseen`). */
static void evaluate_level(struct client *client)
{
	int right = reader_right_has_come(client->peer.pid);

	client->level.unjudged = right == -EINPROGRESS;
	client->level.unseen = right > 0;
}

void level_step(struct worker *worker, struct client *client, uint64_t now)
{
	struct level *level = &client->level;

	if (client->phase != CLIENT_SERVED || worker->stopping)
		return;
	if (level->unjudged)
		evaluate_level(client);
	if (level->changing)
		arrive(worker, client, now);
	else if (level->climb_ns && now >= level->climb_ns)
		climb(worker, client, now);
}

/* ---- whether a client can be suspended ---- */

void client_explain(struct client *client)
{
	enum reason_code code = REASON_runtime_not_yet;

	if (client->attached)
		code = REASON_NONE;
	else if (client->external)
		code = client->pending;
	else if (client->attrs.level == PROTOCOL_LEVEL_SELF && !client->hold_cmd_level)
		code = REASON_keeps_session;
	if (client->priority == PRIORITY_UNSET && !client->control.leased)
		code = REASON_no_priority;
	else if (client->priority == PRIORITY_ONLINE && !client->control.leased)
		code = REASON_highest_priority;
	reason_set(&client->reason, code, 0, 0, NULL);
}

void client_runtime_changed(struct worker *worker, struct client *client)
{
	struct reason why;

	if (!client_may_be_held(client) || client->refused || client->level.changing ||
	    worker->stopping)
		return;
	switch (client->runtime) {
	case CLIENT_SHM_RUNTIME_ENABLED:
		if (!client->executor)
			client_attach(worker, client, true);
		else if (client->attached)
			feed_set_capability(&worker->feed, client->id, CORE_ABLE);
		break;
	case CLIENT_SHM_RUNTIME_NEVER:
		if (client->attached)
			break;
		client_why_never(client, REASON_runtime_never, &why);
		level_fall(worker, client, &why, clock_ns());
		break;
	default:
		feed_set_capability(&worker->feed, client->id, CORE_PENDING);
	}
}

void client_reconsider(struct worker *worker, struct client *client)
{
	if (client->refused)
		return;
	client_explain(client);
	if (client->hold_cmd_level)
		client->evaluated = false; /* so that the next scan does */
	else
		client_runtime_changed(worker, client);
}

// SPDX-License-Identifier: MIT
#include "scheduler/daemon/clients/client_life.h"

#include <errno.h>
#include <string.h>

#include "scheduler/daemon/clients/client_level.h"
#include "scheduler/daemon/metrics/metrics.h"
#include "scheduler/daemon/operator/events.h"

/* Time that the firmware waits for a compute queue to leave the GPU. After that the driver
 * resets that queue only, and the suspend succeeds (KFD_UNMAP_LATENCY_MS in the driver's
 * kfd_priv.h). */
#define UNMAP_LATENCY_NS 4000000000ull
#define MUTEX_PART 100u
#define CAUSE_MAX_NS 1000000000u /* a longer delay means a wrong timestamp from the client */

static void set_suspended(struct client *client, bool suspended)
{
	__atomic_store_n(&client->shm->suspended, suspended, __ATOMIC_SEQ_CST);
}

/* Returns true if another driver call of the process may hold the mutex of the process now, so that
 * a suspend would wait for it. Also returns true if that is unknown (no shim or an older one), so
 * that the executor measures the wait; not for a process that suspends itself, because it does not
 * measure the wait. */
static bool mutex_may_be_held(const struct client *client)
{
	bool known = !client->external && client->version == PROTOCOL_VERSION;

	return (!known && !client->hold_cmd_level) || shm_word(&client->shm->pinning);
}

/* Cancels a suspend before it begins if the client has announced a call that a suspension would
 * block. Returns true if it was cancelled. */
static bool is_cancelled(struct worker *worker, struct client *client, uint64_t now)
{
	if (shm_word(&client->shm->teardown_begin) == shm_word(&client->shm->teardown_end))
		return false;
	set_suspended(client, false);
	client_scan_teardown(worker, client);
	feed_finished(&worker->feed, client->id, -ECANCELED, 0, now);
	/* teardown_begin and teardown_end may be equal again by now, so the core must decide again
	 * in any case */
	return true;
}

bool client_act(struct worker *worker, struct client *client, const struct core_action *action,
		uint64_t now)
{
	bool suspend = action->op == CORE_SUSPEND;

	client->acting = action->op;
	client->acting_prompt = action->prompt;
	client->acting_waits = mutex_may_be_held(client);
	client->cause_ns = 0;
	client->pending_event.reason = NULL;
	if (client->hold_cmd_level) {
		if (suspend && is_cancelled(worker, client, now))
			return false;
		client_command(client, client->hold_cmd_level,
			       suspend ? HOLD_CMD_HOLD : HOLD_CMD_RELEASE, now);
		return true;
	}
	if (!client->executor) {
		/* the end of the executor has ended the debug session, which resumed the process */
		feed_finished(&worker->feed, client->id, 0, 0, now);
		set_suspended(client, false);
		return true;
	}
	if (!suspend) {
		executor_send(client->executor, EXECUTOR_RESUME);
		return true;
	}
	/* Set `suspended` first, then read `teardown_begin`. The client increments `teardown_begin`
	 * first, then reads `suspended`. So at least one side sees the write of the other. */
	set_suspended(client, true);
	if (is_cancelled(worker, client, now))
		return false;
	executor_send(client->executor,
		      EXECUTOR_SUSPEND | (client->acting_waits ? EXECUTOR_MEASURE : 0));
	return true;
}

/* Returns the latest time when `other` became active (for a suspend) or idle (for a resume) on a
 * node that the client uses, in ns; 0: it did not. */
static uint64_t caused_ns(const struct client *client, const struct client *other, bool suspend)
{
	uint64_t latest = 0, at;

	for (uint32_t a = 0; a < CLIENT_SHM_NODES && other->seen[a].gpu_id; a++) {
		if ((other->seen[a].activity & 1) != suspend)
			continue;
		for (uint32_t b = 0; b < CLIENT_SHM_NODES && client->seen[b].gpu_id; b++) {
			if (other->seen[a].gpu_id != client->seen[b].gpu_id)
				continue;
			at = suspend ? other->seen[a].active_ns : other->seen[a].idle_ns;
			/* a suspend needs both clients active, so its cause is the later of the two
			 * begins */
			if (suspend && client->seen[b].active_ns > at)
				at = client->seen[b].active_ns;
			if (at > latest)
				latest = at;
		}
	}
	return latest;
}

void client_find_cause(struct worker *worker, struct client *client)
{
	bool suspend = client->acting == CORE_SUSPEND;
	const struct client *other;
	uint64_t latest = 0, at;

	for (uint32_t i = 0; (other = worker_next(worker, CLIENT_SERVED, &i));) {
		if (!client_can_preempt(other, client) || other->priority <= client->priority)
			continue;
		at = caused_ns(client, other, suspend);
		if (at > latest)
			latest = at;
	}
	client->cause_ns = latest;
}

static void measure(struct worker *worker, struct client *client,
		    const struct executor_report *report)
{
	struct totals *t = &worker->totals;
	bool suspend = client->acting == CORE_SUSPEND;
	uint64_t entry = report->cost.entry_ns;

	client->pending_event.has_latency = false;
	if (report->error) {
		t->failures++;
		metrics_acted(worker, client, suspend, true);
		return;
	}
	suspend ? t->suspends++ : t->resumes++;
	metrics_acted(worker, client, suspend, false);
	if (entry == 0)
		return;
	hist_add(suspend ? &t->suspend : &t->resume, report->cost.duration_ns);
	metrics_latency(worker, client, suspend ? METRICS_SUSPEND : METRICS_RESUME,
			report->cost.duration_ns);
	/* the time of the cause comes from the client, so it must be checked */
	if (client->acting_prompt && client->cause_ns && client->cause_ns <= entry &&
	    entry - client->cause_ns < CAUSE_MAX_NS) {
		client->pending_event.has_latency = true;
		client->pending_event.latency_ns = entry - client->cause_ns;
		hist_add(suspend ? &t->detection : &t->holdover, client->pending_event.latency_ns);
		metrics_latency(worker, client, suspend ? METRICS_DETECTION : METRICS_HOLDOVER,
				client->pending_event.latency_ns);
	}
}

/* Returns the time by which the core judges whether a suspend was slow. A suspend that was slow
 * because other calls of the process held its mutex, or because it has queues on many GPUs, does
 * not indicate a GPU that does not preempt. */
static uint64_t evaluated_ns(struct worker *worker, struct client *client,
			     const struct executor_report *report)
{
	uint64_t slow_ns = worker->config.core.slow_suspend_ns;
	const struct kfd_debug_cost *cost = &report->cost;

	/* Levels gate and weight save no waves. */
	if (client->hold_cmd_level == CLIENT_SHM_LEVEL_GATE ||
	    client->hold_cmd_level == CLIENT_SHM_LEVEL_WEIGHT)
		return 0;
	if (client->acting != CORE_SUSPEND || report->error ||
	    (cost->duration_ns <= slow_ns && cost->waited_ns <= slow_ns))
		return cost->duration_ns;
	if (client->hold_cmd_level && client->acting_waits) {
		/* The process suspends itself, and does not measure its wait for the mutex. */
		log_client(&client->log,
			   "process %d (%s): its suspend took %llu us while other driver calls "
			   "of the process were in progress; not counted as a slow suspend",
			   (int)client->peer.pid, client->name,
			   (unsigned long long)(cost->duration_ns / 1000));
		return slow_ns;
	}
	if (kfd_debug_gpu_ns(cost) > slow_ns)
		return cost->duration_ns;
	log_client(&client->log,
		   "process %d (%s): a suspend took %llu us on %u GPUs after a wait of %llu us for "
		   "other driver calls of the process; not counted as a slow suspend",
		   (int)client->peer.pid, client->name,
		   (unsigned long long)(cost->duration_ns / 1000), cost->gpus,
		   (unsigned long long)(cost->waited_ns / 1000));
	return cost->duration_ns < slow_ns ? cost->duration_ns : slow_ns;
}

void client_acted(struct worker *worker, struct client *client,
		  const struct executor_report *report, uint64_t now)
{
	const char *op = client->acting == CORE_SUSPEND ? "suspend" : "resume";
	struct core_view before = {0}, after = {0};

	if (report->error == -ECANCELED) {
		feed_finished(&worker->feed, client->id, -ECANCELED, 0, now);
		set_suspended(client, false);
		return;
	}
	measure(worker, client, report);
	events_acted(worker, client, report);
	core_view_client(worker->core, client->id, now, &before);
	feed_finished(&worker->feed, client->id, report->error,
		      evaluated_ns(worker, client, report), now);
	core_view_client(worker->core, client->id, now, &after);
	if (after.state == CORE_RUNNING)
		set_suspended(client, false);
	log_debug("process %d: %s took %llu us", (int)client->peer.pid, op,
		  (unsigned long long)(report->cost.duration_ns / 1000));
	/* A failed resume is repeated, so log only a new error. */
	if (report->error && report->error != client->logged_error)
		log_client(&client->log, "process %d (%s): %s failed: %s", (int)client->peer.pid,
			   client->name, op, strerror(-report->error));
	client->logged_error = report->error;
	if (after.exempt == before.exempt)
		return;
	if (after.exempt == CORE_EXEMPT_SLOW)
		reason_set(&client->reason, REASON_suspend_slow, 0, report->error,
			   "%llu us, the last of %u in a row that were slow",
			   (unsigned long long)(report->cost.duration_ns / 1000), CORE_SLOW_MAX);
	else
		reason_set(&client->reason, REASON_suspend_failed, 0, report->error, NULL);
	log_info("process %d (%s): not suspended again, because %s", (int)client->peer.pid,
		 client->name, client->reason.text);
	events_level(worker, client, false);
	level_failed(worker, client, report->error, now);
}

/* ---- debug session ---- */

static void attached(struct worker *worker, struct client *client, uint64_t now)
{
	client->attached = true;
	client->reason = (struct reason){0};
	level_risen(client, now);
	__atomic_store_n(&client->shm->session, 1, __ATOMIC_RELEASE);
	if (client->runtime == CLIENT_SHM_RUNTIME_ENABLED)
		feed_set_capability(&worker->feed, client->id, CORE_ABLE);
	log_info("process %d (%s): level trap", (int)client->peer.pid, client->name);
	events_level(worker, client, true);
	/* collect the queues that were created since the debug session began */
	executor_send(client->executor, EXECUTOR_COLLECT);
}

/* Records that the client cannot be held, for now or permanently. An earlier reason is kept. */
static void refuse(const struct worker *worker, struct client *client)
{
	client->refused = true;
	if (client->reason.code == REASON_NONE)
		reason_set(&client->reason,
			   worker->stopping ? REASON_daemon_stopping : REASON_process_ending, 0, 0,
			   NULL);
}

/* Handles that a debug session has ended, although the daemon has not ended it. */
static void lost(struct worker *worker, struct client *client, uint64_t now)
{
	if (!client->attached || client->refused || worker->stopping || client->level.changing)
		return;
	/* Usually the process is ending: the driver ends the debug session before the pidfd reports
	 * the end. Otherwise client_overdue() logs the loss after LOST_NS. */
	refuse(worker, client);
	client->lost_ns = now;
	feed_set_capability(&worker->feed, client->id, CORE_REFUSED);
}

/* Lowers the level of a client whose executor was ended. `hung`: it was ended because a driver call
 * did not return. */
static void aborted(struct worker *worker, struct client *client, bool hung, uint64_t now)
{
	if (hung)
		level_fall_by(worker, client, REASON_executor_hangs, -EIO, now);
	else
		level_fall_by(worker, client, REASON_executor_ended, -ECONNRESET, now);
}

/* Returns true if a suspend or ENABLE succeeded but took so long (UNMAP_LATENCY_NS) that the driver
 * has probably reset a queue of the client. The other cause of a long call is a wait for the mutex
 * of the process. To exclude it, the wait for the mutex that was measured before the call
 * (waited_ns) must be short in comparison. It need not be 0, because on a busy host any driver call
 * takes some ms. */
static bool has_cost_a_queue(const struct kfd_debug_cost *cost)
{
	return cost->duration_ns >= UNMAP_LATENCY_NS &&
	       cost->waited_ns < cost->duration_ns / MUTEX_PART;
}

/* Lowers the level if the driver has reset a queue in a successful suspend, or when the debug
 * session was opened (has_cost_a_queue()): the work of that queue is lost, and suspending the rest
 * of the process does not bring it back. `what` names the call. */
static void check_reset(struct worker *worker, struct client *client, const char *what,
			const struct kfd_debug_cost *cost, uint64_t now)
{
	struct reason why;

	reason_set(&why, REASON_queue_reset, 0, -EIO, "%s", what);
	if (!has_cost_a_queue(cost) || client->hold_cmd_level != CLIENT_SHM_LEVEL_NONE)
		return;
	log_info("process %d (%s): %s; restart the process if the queue was its own",
		 (int)client->peer.pid, client->name, why.text);
	level_fall(worker, client, &why, now);
}

void client_session_changed(struct client *client)
{
	client->queues_changed = true;
	if (client->executor)
		__atomic_store_n(&client->shm->runtime,
				 executor_runtime(client->executor) ? CLIENT_SHM_RUNTIME_ENABLED
								    : CLIENT_SHM_RUNTIME_UNKNOWN,
				 __ATOMIC_RELEASE);
}

void client_outcome(struct worker *worker, struct client *client, uint64_t now)
{
	struct executor_report report;
	uint32_t outcome;

	if (!client->executor)
		return;
	outcome = executor_take(client->executor, &report);
	if (outcome & EXECUTOR_ATTACHED) {
		attached(worker, client, now);
		if (!(outcome & EXECUTOR_ACTED)) /* so the report is about opening the session */
			check_reset(worker, client, "the beginning of its debug session",
				    &report.cost, now);
	}
	if (outcome & EXECUTOR_REFUSED) {
		const struct reason why = executor_reason(client->executor);

		level_fall(worker, client, &why, now);
	}
	if (outcome & EXECUTOR_ACTED) {
		client_acted(worker, client, &report, now);
		if (client->acting == CORE_SUSPEND && !report.error)
			check_reset(worker, client, "a suspend", &report.cost, now);
	}
	if (outcome & EXECUTOR_CHANGED)
		client_session_changed(client);
	if (outcome & EXECUTOR_NOT_COLLECTED && !client->refused)
		level_fall_by(worker, client, REASON_queue_not_suspended, -EIO, now);
	if (outcome & EXECUTOR_LOST)
		lost(worker, client, now);
	if (outcome & EXECUTOR_ABORTED)
		aborted(worker, client, outcome & EXECUTOR_HUNG, now);
	if (outcome & EXECUTOR_ENDED) {
		/* end an action in flight that the executor does not complete any more */
		feed_finished(&worker->feed, client->id, 0, 0, now);
		worker->by_executor[executor_number(client->executor)] = NULL;
		executor_free(client->executor);
		worker->executor_count--;
		client->executor = NULL;
		client->attached = false;
		if (!client->level.changing)
			refuse(worker, client);
		feed_set_capability(&worker->feed, client->id, CORE_REFUSED);
		__atomic_store_n(&client->shm->session, 0, __ATOMIC_RELEASE);
		set_suspended(client, false);
	}
}

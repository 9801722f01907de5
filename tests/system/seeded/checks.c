// SPDX-License-Identifier: MIT
#include "tests/system/seeded/checks.h"

#include <string.h>

#include "scheduler/daemon/config/config.h"
#include "scheduler/daemon/executor/executor_table.h"
#include "scheduler/daemon/worker.h"
#include "tests/system/seeded/daemon.h"
#include "tests/system/seeded/driver.h"
#include "tests/system/seeded/program.h"

#define SETTLED_NS (30 * MS)	/* from a change of a process to its required effect */
#define HEARTBEAT_NS (100 * MS) /* the limit that client_shm.h promises */
#define UNSEEN_NS (600 * US)	/* the delay that the worker's rate limit allows is shorter */
#define STOPPED_NS MS		/* until a stopped executor is killed and its sessions end */
#define WORK_NS (200 * MS)	/* time in which each program completes a packet */
#define SLOTS 256		/* maximum of clients and of executors */

static struct check_bounds bounds;
static uint64_t disturbed_ns, cause_ns[PROGRAMS];
/* The values in a client's shared memory that can change; from NODES on, the activity of each
 * node. */
enum { TEARDOWN, LEFT, QUEUES_CHANGED, RUNTIME, PRIORITY, HOLD_CMD_DONE, NODES };
#define WORDS (NODES + CLIENT_SHM_NODES)
/* Time, in ns, since there is something to do for a sleeping thread; 0: there is nothing. */
static struct {
	uint64_t shm[SLOTS][WORDS], hold_cmd[SLOTS], request[SLOTS], outcome[SLOTS], target[SLOTS];
	uint64_t seen[SLOTS][WORDS]; /* values that the worker has seen, per client */
	bool known[SLOTS];
} unseen;

void checks_begin(const struct check_bounds *of_run)
{
	bounds = *of_run;
	disturbed_ns = now_ns();
	memset(cause_ns, 0, sizeof(cause_ns));
	memset(&unseen, 0, sizeof(unseen));
}

void checks_disturbed(void)
{
	disturbed_ns = now_ns();
}

static uint64_t later(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

static const struct client *client_of(const struct program *program)
{
	const struct worker *worker = daemon_state();

	for (uint32_t i = 0; worker && i < worker->client_end; i++) {
		const struct client *client = worker->clients[i];

		if (client && client->phase == CLIENT_SERVED &&
		    client->peer.pid == program->process->pid &&
		    client->peer.image == program->process->program)
			return client;
	}
	return NULL;
}

/* Returns whether `a`, if it is more urgent, has the right to preempt `b`, and both use one
 * node. */
static bool can_preempt(const struct program *a, const struct program *b)
{
	const struct authority *authority = &daemon_config()->authority;
	bool same = a->ways.uid == b->ways.uid && a->ways.pid_ns == b->ways.pid_ns &&
		    a->ways.user_ns == b->ways.user_ns;

	for (uint32_t i = 0; !same && i < authority->count; i++)
		same = authority->grant[i].preemptor.id == a->ways.uid &&
		       authority->grant[i].victim.id == b->ways.uid;
	return same && a != b && a->ways.node == b->ways.node;
}

/* Returns the priority that a rule sets, else the program's own. */
static int priority_of(const struct program *program)
{
	const struct rules *rules = &daemon_config()->rules;

	for (uint32_t i = 0; i < rules->count; i++)
		if (rules->rule[i].uids.id[0] == program->ways.uid)
			return rules->rule[i].priority;
	return program->priority;
}

static bool is_before(const struct program *a, const struct program *b)
{
	return priority_of(a) > priority_of(b) && priority_of(b) >= 0 && can_preempt(a, b);
}

/* Returns whether there is, or was, a process for which this one can have been suspended. */
static bool has_rival(const struct program *program)
{
	for (int k = 0; k < PROGRAMS && programs[k].process; k++)
		if (can_preempt(&programs[k], program))
			return true;
	return false;
}

/* Returns whether the daemon has known the program for a while, and delays it can have caused are
 * over. */
static bool is_settled(const struct program *program, uint64_t *since)
{
	const struct client *client = client_of(program);

	if (!client || !client->seen[0].gpu_id)
		return false;
	*since = later(*since, program->made_ns);
	*since = later(*since, later(program->came_ns, client->since_ns) + SETTLED_NS);
	return true;
}

static void check_contention(const struct program *a, const struct driver_view *working,
			     const struct program *b, const struct driver_view *running)
{
	uint64_t since = later(later(working->work_ns, running->running_ns),
			       later(running->session_ns, disturbed_ns) + SETTLED_NS);

	if (!bounds.contention_ns || !running->running_ns || !running->session || running->exempt ||
	    working->suspended || !is_settled(a, &since) || !is_settled(b, &since) ||
	    now_ns() < since + bounds.contention_ns)
		return;
	fail("%d works beside %d, which is more urgent, for %.3f ms", (int)b->process->pid,
	     (int)a->process->pid, (double)(now_ns() - since) / 1e6);
}

static void check_slot(unsigned i)
{
	const struct program *program = &programs[i];
	struct driver_view its, other;

	if (!program_runs(program) || !driver_check(program->process, &its))
		return;
	for (int k = 0; k < PROGRAMS; k++) {
		if (!program_runs(&programs[k]) || !is_before(&programs[k], program) ||
		    !driver_check(programs[k].process, &other) || !other.work)
			continue;
		cause_ns[i] = now_ns();
		check_contention(&programs[k], &other, program, &its);
	}
	if (its.suspended && now_ns() > later(later(cause_ns[i], its.suspended_ns), disturbed_ns) +
						bounds.release_ns)
		fail("%d is suspended for %.3f ms, and %.3f ms without a cause",
		     (int)program->process->pid, (double)(now_ns() - its.suspended_ns) / 1e6,
		     (double)(now_ns() - cause_ns[i]) / 1e6);
	/* A new session suspends the process for a moment, until the daemon has found that it need
	 * not. */
	if (bounds.contention_ns && its.suspended && !has_rival(program) &&
	    now_ns() > later(later(its.suspended_ns, its.session_ns), disturbed_ns + SETTLED_NS) +
			       bounds.contention_ns)
		fail("%d is suspended, and there is none that may preempt it",
		     (int)program->process->pid);
	for (int k = 0; k < 2; k++)
		if (program->destroys_ns[k] &&
		    now_ns() > later(program->destroys_ns[k], disturbed_ns) + bounds.destroy_ns)
			fail("a DESTROY_QUEUE of %d has not returned for %.3f ms",
			     (int)program->process->pid,
			     (double)(now_ns() - program->destroys_ns[k]) / 1e6);
}

/* ---- no change is overlooked ---- */

static void must_be_seen(uint64_t *since, bool something, uint64_t most_ns, const char *what,
			 int pid)
{
	if (!something)
		*since = 0;
	else if (!*since)
		*since = now_ns();
	else if (now_ns() > *since + most_ns)
		fail("all sleep while there is %s (process %d) for %.3f ms", what, pid,
		     (double)(now_ns() - *since) / 1e6);
}

/* Returns whether the shared memory has a value that the worker has not seen and for which an agent
 * wakes the worker. *seen is the worker's last value. */
static bool is_new(const struct client *client, int words, uint64_t *seen)
{
	const struct client_shm *shm = client->shm;

	switch (words) {
	/* A call that a suspension would block is reported only while the process is suspended. */
	case TEARDOWN:
		*seen = client->teardown_begin;
		return shm->suspended && shm->teardown_begin != *seen;
	case LEFT:
		*seen = client->teardown_end;
		return shm->teardown_end != *seen;
	case QUEUES_CHANGED:
		*seen = client->generation;
		return shm->queue_generation != *seen;
	case RUNTIME:
		*seen = client->runtime;
		return shm->runtime != *seen;
	case PRIORITY:
		*seen = (uint64_t)client->control.own_priority;
		return shm->priority != client->control.own_priority;
	case HOLD_CMD_DONE:
		*seen = client->hold_cmd;
		return client->hold_cmd_pending && shm->hold_cmd_done == client->hold_cmd;
	default:
		*seen = client->seen[words - NODES].activity;
		return client_shm_node_id(shm, words - NODES) &&
		       client_shm_node((struct client_shm *)(uintptr_t)shm, words - NODES)
				       ->activity != *seen;
	}
}

/* If the worker has seen another value since the last check, a value that is new now is newer than
 * that check. */
static void check_shm(unsigned i, const struct client *client)
{
	bool known = client && client->phase == CLIENT_SERVED && !client->scan_limit.late;

	if (!known && unseen.known[i])
		memset(unseen.shm[i], 0, sizeof(unseen.shm[i]));
	unseen.known[i] = known;
	for (int words = 0; known && words < (int)WORDS; words++) {
		uint64_t seen;
		bool is = is_new(client, words, &seen);

		if (seen != unseen.seen[i][words])
			unseen.shm[i][words] = 0;
		unseen.seen[i][words] = seen;
		must_be_seen(&unseen.shm[i][words], is, UNSEEN_NS, "something new in a lane",
			     client->peer.pid);
	}
}

static void check_all_shm(const struct worker *worker)
{
	for (uint32_t i = 0; i < SLOTS; i++) {
		const struct client *client =
			worker && i < worker->client_end ? worker->clients[i] : NULL;
		bool served = client && client->phase == CLIENT_SERVED;
		int pid = served ? client->peer.pid : 0;
		bool runs = served && process_of(pid)->running;

		check_shm(i, client);
		must_be_seen(&unseen.hold_cmd[i],
			     runs && client->shm->hold_cmd != client->shm->hold_cmd_done,
			     bounds.hold_cmd_ns, "an order without an answer", pid);
	}
}

static void check_executors(const struct worker *worker)
{
	const struct executor_table *table = daemon_table();

	for (uint32_t i = 0; i < SLOTS; i++) {
		const struct executor *slot = &table->slots[i];
		bool used =
			slot->state == EXECUTOR_SLOT_USED && daemon_executor_runs(slot->process);

		must_be_seen(&unseen.target[i], used && !slot->taken, UNSEEN_NS, "a new target",
			     slot->pid);
		must_be_seen(&unseen.request[i],
			     used && slot->taken && !slot->busy && slot->requests, UNSEEN_NS,
			     "a request to an executor", slot->pid);
		must_be_seen(&unseen.outcome[i], worker && used && slot->outcome, UNSEEN_NS,
			     "an outcome", slot->pid);
	}
}

void checks_idle(void)
{
	uint64_t heartbeat_ns = daemon_heartbeat_ns(), stopped = daemon_stopped_ns();

	check_all_shm(daemon_state());
	if (daemon_table())
		check_executors(daemon_state());

	for (unsigned i = 0; i < PROGRAMS && programs[i].process; i++)
		check_slot(i);
	if (heartbeat_ns && now_ns() > heartbeat_ns + HEARTBEAT_NS)
		fail("the worker's heart has not beaten for %.3f ms",
		     (double)(now_ns() - heartbeat_ns) / 1e6);
	if (stopped && now_ns() > stopped + STOPPED_NS)
		fail("an executor has been stopped for %.3f ms",
		     (double)(now_ns() - stopped) / 1e6);
}

void check_rest(void)
{
	const struct client *client;
	struct driver_view its;

	for (unsigned i = 0; i < PROGRAMS && programs[i].process; i++) {
		if (!program_runs(&programs[i]) || !driver_check(programs[i].process, &its))
			continue;
		if (its.work)
			fail("the work of %d does not end", (int)programs[i].process->pid);
		if (its.suspended)
			fail("%d stays suspended while all rest", (int)programs[i].process->pid);
		client = client_of(&programs[i]);
		if (its.slow >= DRIVER_SLOW_MAX && client &&
		    client->hold_cmd_level != CLIENT_SHM_LEVEL_GATE)
			fail("%d is not to be held by its gate after %u slow suspends",
			     (int)programs[i].process->pid, its.slow);
	}
}

static uint64_t packets_before[PROGRAMS];

void check_without(void)
{
	struct driver_view its;

	if (daemon_worker())
		fail("the worker does not leave");
	for (unsigned i = 0; i < PROGRAMS && programs[i].process; i++) {
		if (!program_runs(&programs[i]) || !driver_check(programs[i].process, &its))
			continue;
		if (its.suspended)
			fail("%d stays suspended without the daemon",
			     (int)programs[i].process->pid);
		packets_before[i] = programs[i].packets;
	}
	fiber_sleep(WORK_NS);
	for (unsigned i = 0; i < PROGRAMS && programs[i].process; i++)
		if (program_runs(&programs[i]) && programs[i].process->program == 1 &&
		    programs[i].packets == packets_before[i])
			fail("%d stands still without the daemon", (int)programs[i].process->pid);
}

static void must_be_none(uint64_t count, const char *what)
{
	if (count)
		fail("at the end there are %llu %s", (unsigned long long)count, what);
}

void check_ended(void)
{
	const struct worker *worker = daemon_state();

	must_be_none(programs_running(), "programs");
	must_be_none(driver_queues(), "queues");
	must_be_none(driver_sessions(), "sessions");
	must_be_none(daemon_slots(), "slots of executors");
	if (!worker) {
		fail("at the end there is no worker");
		return;
	}
	must_be_none(worker->client_end, "clients");
	must_be_none(worker->dead, "dead clients");
	must_be_none(worker->release_count, "clients to release");
	must_be_none(worker->executor_count, "executors in use");
	must_be_none(worker->orphan_count, "orphans");
	must_be_none(worker->admission.users.taken, "slots of the door");
	must_be_none(worker->scans.late_count, "late looks");
	for (uint32_t i = 0; i < CLIENT_SHM_NODES; i++)
		must_be_none(worker->nodes.work[i].clients, "clients with work");
}

void check_left(void)
{
	if (daemon_worker())
		fail("the worker does not leave");
	must_be_none(daemon_executors(), "executor processes");
}

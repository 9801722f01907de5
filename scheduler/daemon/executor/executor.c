// SPDX-License-Identifier: MIT
#include "scheduler/daemon/executor/executor.h"

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "scheduler/daemon/admission/admission.h"
#include "scheduler/daemon/log.h"

#define ATTACH_TRIES 100 /* attempts to attach, within 2 s: longer than a debugger takes to end */
/* limit of executor processes of one tenant (struct executor_tenant) that were killed and do not
 * end */
#define STUCK_MAX 4u

static struct executor_table *table;
static int want_fd = -1;

static void wake(uint32_t *word)
{
	syscall(SYS_futex, word, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

static uint32_t state_of(const struct executor_process *process)
{
	return __atomic_load_n(&process->state, __ATOMIC_ACQUIRE);
}

static struct executor_process *process_of(const struct executor *executor)
{
	return &table->processes[executor->process % EXECUTOR_PROCESSES];
}

void executor_use(struct executor_table *shared, int fd)
{
	table = shared;
	want_fd = fd;
}

/* ---- processes ---- */

/* Counts one more target (traced process) of an executor process. Returns false if the process is
 * ending. */
static bool join(struct executor_process *process)
{
	uint32_t load = __atomic_load_n(&process->load, __ATOMIC_SEQ_CST);

	while (!(load & EXECUTOR_LEAVES))
		if (__atomic_compare_exchange_n(&process->load, &load, load + 1, false,
						__ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST))
			return true;
	return false;
}

/* Returns true for root and the daemon's own user: the limits do not apply to them. A subordinate
 * uid of root does not count as root. */
static bool is_trusted(const struct executor_tenant *tenant)
{
	return users_is_trusted(tenant->uid);
}

static bool same_tenant(const struct executor_tenant *a, const struct executor_tenant *b)
{
	return a->uid == b->uid && a->pid_ns == b->pid_ns && a->user_ns == b->user_ns;
}

static bool same_owner(const struct executor_tenant *a, const struct executor_tenant *b)
{
	return a->owner == b->owner;
}

/* Returns true if targets of tenant `a` can be in an executor process of tenant `b` when no better
 * process has room. */
static bool may_share(const struct executor_tenant *a, const struct executor_tenant *b)
{
	return is_trusted(a) || !is_trusted(b);
}

static bool may_share_of_owner(const struct executor_tenant *a, const struct executor_tenant *b)
{
	return same_owner(a, b) && may_share(a, b);
}

/* Adds a target to an executor process whose tenant `fits`; of several, to the one with the fewest
 * targets. Returns false if there is none. */
static bool join_one_of(const struct executor_tenant *tenant,
			bool (*fits)(const struct executor_tenant *a,
				     const struct executor_tenant *b),
			uint32_t *number)
{
	uint32_t least = EXECUTOR_LEAVES;

	for (uint32_t i = 0; i < EXECUTOR_PROCESSES; i++) {
		struct executor_process *process = &table->processes[i];
		uint32_t state = state_of(process);
		uint32_t load = __atomic_load_n(&process->load, __ATOMIC_SEQ_CST);

		if ((state != EXECUTOR_WANTED && state != EXECUTOR_RUNS) ||
		    !fits(tenant, &process->tenant) || load >= least)
			continue;
		least = load;
		*number = i;
	}
	return least != EXECUTOR_LEAVES && join(&table->processes[*number]);
}

/* Requests a new executor process from the watchdog. Returns false if the table is full. */
static bool want_another(const struct executor_tenant *tenant, uint32_t *number)
{
	uint64_t one = 1;

	for (uint32_t i = 0; i < EXECUTOR_PROCESSES; i++) {
		struct executor_process *process = &table->processes[i];

		if (state_of(process) != EXECUTOR_FREE)
			continue;
		process->tenant = *tenant;
		__atomic_store_n(&process->load, 1, __ATOMIC_RELAXED);
		__atomic_store_n(&process->state, EXECUTOR_WANTED, __ATOMIC_RELEASE);
		(void)!write(want_fd, &one, sizeof(one));
		*number = i;
		return true;
	}
	return false;
}

/* Number of processes or slots in use: all, and those of one owner. */
struct use {
	uint32_t all, own;
};

static bool has_room(const struct executor_tenant *tenant, const struct use *use, uint32_t total)
{
	return is_trusted(tenant) || (use->own < total / 2 && use->all < total - total / 16);
}

/* Selects an executor process for another target of the tenant (struct executor_tenant). Returns 0;
 * -EBUSY: too many of its processes do not end; -ENOSPC: there is no room. */
static int find_process(const struct executor_tenant *tenant, uint32_t *number)
{
	static bool logged;
	struct use use = {0};
	uint32_t stuck = 0;

	for (uint32_t i = 0; i < EXECUTOR_PROCESSES; i++) {
		const struct executor_process *process = &table->processes[i];
		uint32_t state = state_of(process);

		if (state == EXECUTOR_FREE)
			continue;
		use.all++;
		use.own += same_owner(tenant, &process->tenant);
		stuck += state == EXECUTOR_KILLED && same_tenant(tenant, &process->tenant);
	}
	if (stuck >= STUCK_MAX)
		return -EBUSY;
	if (join_one_of(tenant, same_tenant, number) ||
	    (has_room(tenant, &use, EXECUTOR_PROCESSES) && want_another(tenant, number)) ||
	    join_one_of(tenant, may_share_of_owner, number))
		return 0;
	if (!is_trusted(tenant) && use.own >= EXECUTOR_PROCESSES / 2)
		return -ENOSPC;
	if (!logged)
		log_info("the limit of %u executor processes is reached; tenants share them "
			 "from now on",
			 use.all);
	logged = true;
	return join_one_of(tenant, may_share, number) ? 0 : -ENOSPC;
}

void executor_count(uint32_t *processes, uint32_t *stuck)
{
	*processes = *stuck = 0;
	for (uint32_t i = 0; i < EXECUTOR_PROCESSES; i++) {
		uint32_t state = state_of(&table->processes[i]);

		*processes += state == EXECUTOR_RUNS || state == EXECUTOR_KILLED;
		*stuck += state == EXECUTOR_KILLED;
	}
}

/* ---- targets ---- */

/* Returns a free slot (struct executor); NULL if there is none, or the tenant's owner has reached
 * its limit. */
static struct executor *free_slot(const struct executor_tenant *tenant)
{
	struct executor *found = NULL;
	struct use use = {0};

	for (uint32_t i = 0; i < table->slot_end && i < EXECUTOR_SLOTS; i++) {
		struct executor *slot = &table->slots[i];

		if (slot->state != EXECUTOR_SLOT_FREE) {
			use.all++;
			use.own += slot->owner == tenant->owner;
		} else if (!found) {
			found = slot;
		}
	}
	if (!has_room(tenant, &use, EXECUTOR_SLOTS))
		return NULL;
	if (found || table->slot_end >= EXECUTOR_SLOTS)
		return found;
	return &table->slots[__atomic_fetch_add(&table->slot_end, 1, __ATOMIC_RELEASE)];
}

int executor_start(pid_t pid, uint64_t started, const struct executor_tenant *tenant, bool patient,
		   struct executor **out)
{
	struct executor *executor = free_slot(tenant);
	struct executor_process *process;
	uint32_t number;
	int error = executor ? find_process(tenant, &number) : -ENOSPC;

	if (error)
		return error;
	process = &table->processes[number];
	*executor = (struct executor){.process = number,
				      .owner = tenant->owner,
				      .pid = pid,
				      .started = started,
				      .tries = patient ? ATTACH_TRIES : 1};
	__atomic_store_n(&executor->state, EXECUTOR_SLOT_USED, __ATOMIC_RELEASE);
	__atomic_fetch_add(&process->calls, 1, __ATOMIC_SEQ_CST);
	wake(&process->calls);
	*out = executor;
	return 0;
}

void executor_send(struct executor *executor, uint32_t requests)
{
	if (__atomic_fetch_or(&executor->requests, requests, __ATOMIC_SEQ_CST) == 0)
		wake(&executor->requests);
}

uint32_t executor_take(struct executor *executor, struct executor_report *report)
{
	uint32_t outcome = __atomic_load_n(&executor->outcome, __ATOMIC_RELAXED);

	if (!outcome)
		return 0;
	outcome = __atomic_exchange_n(&executor->outcome, 0, __ATOMIC_SEQ_CST);
	if (outcome & (EXECUTOR_ACTED | EXECUTOR_ATTACHED))
		*report = executor->report;
	return outcome;
}

struct reason executor_reason(const struct executor *executor)
{
	struct reason reason = executor->reason;

	reason.error = executor->error;
	reason.text[sizeof(reason.text) - 1] = '\0';
	return reason;
}

bool executor_runtime(const struct executor *executor)
{
	return __atomic_load_n(&executor->runtime, __ATOMIC_ACQUIRE);
}

uint32_t executor_exceptions(const struct executor *executor, uint64_t out[EXECUTOR_EXCEPTIONS])
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < EXECUTOR_EXCEPTIONS; i++) {
		out[n] = __atomic_load_n(&executor->exceptions[i], __ATOMIC_RELAXED);
		n += out[n] != 0;
	}
	return n;
}

/* Frees the entry of an executor process if it has ended and no slot refers to it. */
static void clear(struct executor_process *process)
{
	if (state_of(process) == EXECUTOR_DIED &&
	    !(__atomic_load_n(&process->load, __ATOMIC_SEQ_CST) & ~EXECUTOR_LEAVES))
		__atomic_store_n(&process->state, EXECUTOR_FREE, __ATOMIC_RELEASE);
}

/* Frees the slot (struct executor) of an executor; no process uses the slot any more. */
static void give_back(struct executor *executor)
{
	struct executor_process *process = process_of(executor);

	__atomic_store_n(&executor->state, EXECUTOR_SLOT_FREE, __ATOMIC_RELEASE);
	if (__atomic_sub_fetch(&process->load, 1, __ATOMIC_SEQ_CST) == 0) {
		/* Wake the process: it now has no target, and begins to wait for its own end. */
		__atomic_fetch_add(&process->calls, 1, __ATOMIC_SEQ_CST);
		wake(&process->calls);
	}
	clear(process);
}

void executor_free(struct executor *executor)
{
	if (state_of(process_of(executor)) == EXECUTOR_KILLED)
		__atomic_store_n(&executor->state, EXECUTOR_SLOT_LEFT, __ATOMIC_RELEASE);
	else
		give_back(executor);
}

/* Aborts the executor in a slot. `state`: that of its process, EXECUTOR_KILLED or EXECUTOR_DIED. */
static void abort_slot(struct executor *executor, uint32_t state)
{
	if (executor->state == EXECUTOR_SLOT_USED) {
		__atomic_fetch_or(&executor->outcome,
				  EXECUTOR_ENDED | EXECUTOR_ABORTED |
					  (executor->hung ? EXECUTOR_HUNG : 0),
				  __ATOMIC_SEQ_CST);
		executor_table_notify(table, executor);
	} else if (executor->state == EXECUTOR_SLOT_LEFT && state == EXECUTOR_DIED) {
		give_back(executor);
	}
}

static void check_processes(void)
{
	bool any = false;

	for (uint32_t i = 0; i < EXECUTOR_PROCESSES && !any; i++)
		any = state_of(&table->processes[i]) >= EXECUTOR_KILLED;
	if (!any)
		return;
	for (uint32_t i = 0; i < table->slot_end && i < EXECUTOR_SLOTS; i++) {
		struct executor *executor = &table->slots[i];
		uint32_t state = state_of(process_of(executor));

		if (executor->state != EXECUTOR_SLOT_FREE &&
		    (state == EXECUTOR_KILLED || state == EXECUTOR_DIED))
			abort_slot(executor, state);
	}
	for (uint32_t i = 0; i < EXECUTOR_PROCESSES; i++)
		clear(&table->processes[i]);
}

uint32_t executor_number(const struct executor *executor)
{
	return (uint32_t)(executor - table->slots);
}

void executor_collect(void (*reported)(uint32_t number, void *context), void *context)
{
	check_processes();
	for (uint32_t i = 0; i < EXECUTOR_SLOTS / 64; i++) {
		uint64_t bits = __atomic_load_n(&table->reported[i], __ATOMIC_RELAXED);

		if (bits)
			bits = __atomic_exchange_n(&table->reported[i], 0, __ATOMIC_SEQ_CST);
		for (; bits; bits &= bits - 1)
			reported(i * 64 + (uint32_t)__builtin_ctzll(bits), context);
	}
}

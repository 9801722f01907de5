// SPDX-License-Identifier: MIT
#include "scheduler/daemon/clients/saved_state.h"

#include "channel/protocol.h"
#include "scheduler/daemon/reader/reader.h"

static bool used(const uint32_t *word)
{
	return __atomic_load_n(word, __ATOMIC_ACQUIRE) != 0;
}

static void set_used(uint32_t *word, bool is)
{
	__atomic_store_n(word, is, __ATOMIC_SEQ_CST);
}

static struct saved_process *find(const struct saved_state *saved, pid_t pid, uint64_t started)
{
	for (uint32_t i = 0; i < SAVED_PROCESSES; i++) {
		const struct saved_process *p = &saved->processes[i];

		if (used(&p->used) && p->pid == pid && p->started == started)
			return (struct saved_process *)(uintptr_t)p;
	}
	return NULL;
}

const struct saved_process *saved_find(const struct saved_state *saved, pid_t pid, uint64_t started)
{
	return find(saved, pid, started);
}

/* Returns a free entry, or the entry of a process that has ended, or NULL. An entry counts as
 * ended only if another process has its pid now, or if no process has it: then reader_facts()
 * reports another start time, or 0. */
static struct saved_process *room(struct saved_state *saved)
{
	for (uint32_t i = 0; i < SAVED_PROCESSES; i++)
		if (!used(&saved->processes[i].used))
			return &saved->processes[i];
	for (uint32_t i = 0; i < SAVED_PROCESSES; i++) {
		struct saved_process *p = &saved->processes[i];
		struct peer_facts its;

		if (!reader_has_none(reader_facts(p->pid, &its)) && its.started != p->started) {
			set_used(&p->used, false);
			return p;
		}
	}
	return NULL;
}

void saved_forget(struct saved_state *saved, pid_t pid, uint64_t started)
{
	struct saved_process *p = find(saved, pid, started);

	if (p)
		set_used(&p->used, false);
}

bool saved_store(struct saved_state *saved, const struct saved_process *process)
{
	struct saved_process *old = find(saved, process->pid, process->started), *p;

	if (process->priority == PRIORITY_OWN && !process->lease_ns) {
		if (old)
			set_used(&old->used, false);
		return true;
	}
	p = old ? old : room(saved);
	if (!p)
		return false;
	p->pid = process->pid;
	p->started = process->started;
	/* Each of the two is one word, so a worker that is killed here leaves no half-written
	 * value. */
	__atomic_store_n(&p->priority, process->priority, __ATOMIC_RELEASE);
	__atomic_store_n(&p->lease_ns, process->lease_ns, __ATOMIC_RELEASE);
	set_used(&p->used, true);
	return true;
}

bool saved_store_policy(struct saved_state *saved, uint32_t gpu_id,
			const struct core_policy *policy)
{
	struct saved_policy *entry = NULL, *before = NULL;

	for (uint32_t i = 0; i < SAVED_POLICIES; i++) {
		struct saved_policy *p = &saved->policies[i];

		if (used(&p->used) && p->gpu_id == gpu_id)
			before = p;
		else if (!used(&p->used))
			entry = p;
	}
	if (!entry)
		entry = before;
	if (!entry)
		return false;
	set_used(&entry->used, false);
	entry->gpu_id = gpu_id;
	entry->policy = *policy;
	set_used(&entry->used, true);
	/* A worker that is killed before leaves both policies, one killed above the old one, if the
	 * table is not full. */
	if (before && before != entry)
		set_used(&before->used, false);
	return true;
}

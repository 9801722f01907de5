// SPDX-License-Identifier: MIT
/* Takes a sample of one process: queries each source and joins the results. */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "cli/inspect/process.h"
#include "cli/inspect/sources.h"
#include "common/allocate.h"
#include "common/wait.h"

struct observer {
	const struct process_identity *process;
	struct observe_context *context;
	bool there; /* the process still existed at observer_open() */
	int pidfd;  /* detects a reused pid faster than the start time; -1: not available */
	struct source_shm *shm;
	struct source_sysfs *sysfs;
};

struct observer *observer_open(const struct process_identity *process,
			       struct observe_context *context)
{
	struct observer *observer = allocate(1, sizeof(*observer));

	observer->process = process;
	observer->context = context;
	observer->shm = source_shm_new();
	observer->sysfs = source_sysfs_new();
	/* Open the pidfd first: if the process exists after that, the pidfd is that of the process
	 * and not of a later one with the same pid. */
	observer->pidfd = (int)syscall(SYS_pidfd_open, process->pid, 0);
	observer->there = process_is(process);
	return observer;
}

void observer_close(struct observer *observer)
{
	if (!observer)
		return;
	source_shm_free(observer->shm);
	source_sysfs_free(observer->sysfs);
	if (observer->pidfd >= 0)
		close(observer->pidfd);
	free(observer);
}

static bool is_alive(const struct observer *observer)
{
	struct proc_stat stat;

	if (observer->pidfd >= 0)
		return observer->there && poll_now(observer->pidfd, POLLIN) == 0;
	return observer->there && proc_stat(observer->process->pid, &stat) &&
	       stat.started == observer->process->started && stat.state != 'Z' && stat.state != 'X';
}

static int query_daemon(const struct observer *observer, struct observe_list *daemon,
			struct observe_list *shm, WHY)
{
	struct observe_context *context = observer->context;

	if (!context->daemon_checked)
		context->other_daemon = source_daemon_counts_otherwise(context->socket);
	context->daemon_checked = true;
	return source_daemon(context->socket, context->other_daemon, observer->process->pid, daemon,
			     shm, why);
}

static int query(struct observer *observer, enum observe_source source, struct observe_list *out,
		 WHY)
{
	switch (source) {
	case OBSERVE_SHM:
		return source_shm(observer->shm, observer->process->pid, out, why);
	case OBSERVE_TRAP:
		return source_trap(observer->process->pid, out, why);
	case OBSERVE_SYSFS:
		return source_sysfs(observer->sysfs, observer->process->host_pid, out, why);
	case OBSERVE_MQD:
		return source_mqds(observer->context->debugfs, observer->process->host_pid, out,
				   why);
	case OBSERVE_HQD:
		return source_hqds(observer->context->debugfs, out, why);
	default:
		return -EINVAL;
	}
}

/* ---- a whole sample ---- */

static void query_all(struct observer *observer, unsigned sources, struct observation *out)
{
	struct observe_result *daemon = &out->result[OBSERVE_DAEMON];
	struct observe_result *shm = &out->result[OBSERVE_SHM];

	if (sources & OBSERVE_BIT(OBSERVE_DAEMON)) {
		daemon->queried = true;
		daemon->error = query_daemon(observer, &daemon->list, &shm->list, daemon->why);
		shm->queried = !daemon->error;
	}
	for (enum observe_source s = OBSERVE_SHM; s <= OBSERVE_HQD; s++) {
		struct observe_result *result = &out->result[s];

		/* Skip the shared memory if the daemon's reply had its content. Skip the memory of
		 * the process, too: it is read later, when the addresses are known. */
		if (!(sources & OBSERVE_BIT(s)) || result->queried || s == OBSERVE_MEMORY)
			continue;
		result->queried = true;
		result->error = query(observer, s, &result->list, result->why);
	}
	if (shm->queried && !shm->error && shm->list.count == 0 && !daemon->error &&
	    daemon->list.count > 0) {
		shm->error = -ENOENT;
		snprintf(shm->why, sizeof(shm->why),
			 "it runs without libkfdshim.so, so it has no shared memory");
	}
}

/* Joins each hardware slot to a queue of this process, and removes the slots that match none. The
 * registers of a slot do not name a process. So the slot is compared with the MQDs of the process,
 * by doorbell and ring address. If there are no MQDs, it is compared with the queues, by ring
 * address. */
static void keep_own_hqds(struct observation *out)
{
	const struct observe_result *mqds = &out->result[OBSERVE_MQD];
	struct observe_list *all = &out->result[OBSERVE_HQD].list;
	bool described = mqds->queried && mqds->list.count > 0;
	size_t n_valid = 0;

	for (size_t i = 0; i < all->count; i++) {
		struct observe_queue queue = all->queue[i];

		if (observe_join(described ? &out->result[OBSERVE_MQD].list : &out->queues, &queue))
			all->queue[n_valid++] = queue;
	}
	all->count = n_valid;
}

void observe_none_active(struct observe_list *list)
{
	for (size_t i = 0; i < list->count; i++) {
		struct observe_queue *queue = &list->queue[i];

		if (!observe_known(queue, OBSERVE_HQDS) &&
		    observe_known(queue, OBSERVE_RING_ADDRESS) &&
		    queue->field[OBSERVE_TYPE].value != OBSERVE_DRM) {
			observe_set(queue, OBSERVE_HQDS, 0, OBSERVE_HQD);
			if (observe_is_compute(queue->field[OBSERVE_TYPE].value))
				observe_set(queue, OBSERVE_HQD_XCCS, 0, OBSERVE_HQD);
		}
	}
}

static void join(struct observation *out)
{
	bool all_slots = out->result[OBSERVE_HQD].queried && !out->result[OBSERVE_HQD].error;

	for (enum observe_source s = OBSERVE_DAEMON; s <= OBSERVE_SYSFS; s++) {
		struct observe_result *result = &out->result[s];

		observe_merge(&out->queues, &result->list, &result->unmatched);
		if (result->queried && !result->error)
			out->listed |= OBSERVE_BIT(s);
	}
	/* Join slots to MQDs first, because both have ring addresses. The queues of other sources
	 * may have ids only, which slots do not have. */
	keep_own_hqds(out);
	if (all_slots)
		observe_none_active(&out->result[OBSERVE_MQD].list);
	observe_merge(&out->queues, &out->result[OBSERVE_MQD].list,
		      &out->result[OBSERVE_MQD].unmatched);
	if (all_slots)
		observe_none_active(&out->queues);
}

static void sample_all(struct observer *observer, unsigned sources, struct observation *out)
{
	struct observe_result *memory = &out->result[OBSERVE_MEMORY];

	query_all(observer, sources, out);
	join(out);
	if (sources & OBSERVE_BIT(OBSERVE_MEMORY)) {
		memory->queried = true;
		memory->error = source_memory(observer->process->pid, &out->queues, memory->why);
	}
	observe_backlog(&out->queues);
	observe_list_sort(&out->queues);
}

/* ---- only the list of queues ---- */

static int ids_from(struct observer *observer, enum observe_source source, struct observation *out)
{
	struct observe_result *result = &out->result[source];
	/* debugfs has no queue ids, so its queues stay in a list of their own, which
	 * observation_queues() returns if no other source has listed queues. */
	struct observe_list *list = source == OBSERVE_MQD ? &result->list : &out->queues;

	result->queried = true;
	result->error =
		source == OBSERVE_DAEMON
			? query_daemon(observer, list, &out->result[OBSERVE_SHM].list, result->why)
			: query(observer, source, list, result->why);
	if (!result->error)
		observe_list_sort(list);
	else
		observe_list_clear(list);
	return result->error;
}

static void sample_ids(struct observer *observer, unsigned sources, struct observation *out)
{
	for (enum observe_source s = OBSERVE_DAEMON; s <= OBSERVE_MQD; s++) {
		if (!(sources & OBSERVE_BIT(s)) || s == OBSERVE_MEMORY ||
		    ids_from(observer, s, out))
			continue;
		if (s != OBSERVE_MQD)
			out->listed = OBSERVE_BIT(s);
		return;
	}
}

int observer_sample(struct observer *observer, unsigned sources, bool ids_only,
		    struct observation *out)
{
	observation_clear(out);
	if (!is_alive(observer))
		return -ESRCH;
	if (ids_only)
		sample_ids(observer, sources, out);
	else
		sample_all(observer, sources, out);
	/* Check again: if the process ended meanwhile, the pid may have been reused, and the data
	 * may be of the new process. */
	return is_alive(observer) ? 0 : -ESRCH;
}

/* ---- observation ---- */

void observation_clear(struct observation *observation)
{
	observation->listed = 0;
	observe_list_clear(&observation->queues);
	for (unsigned i = 0; i < OBSERVE_SOURCES; i++) {
		struct observe_result *result = &observation->result[i];

		observe_list_clear(&result->list);
		*result = (struct observe_result){.list = result->list};
	}
}

void observation_free(struct observation *observation)
{
	observe_list_free(&observation->queues);
	for (unsigned i = 0; i < OBSERVE_SOURCES; i++)
		observe_list_free(&observation->result[i].list);
	*observation = (struct observation){0};
}

const struct observe_list *observation_queues(const struct observation *observation,
					      enum observe_source *source, int *error,
					      const char **why)
{
	const struct observe_result *mqds = &observation->result[OBSERVE_MQD];

	*error = 0;
	*why = "no source was queried";
	for (unsigned i = OBSERVE_NO_SOURCE + 1; i < OBSERVE_SOURCES; i++)
		if (observation->result[i].queried && observation->result[i].error) {
			*error = observation->result[i].error;
			*why = observation->result[i].why;
		}
	for (*source = OBSERVE_NO_SOURCE + 1; *source < OBSERVE_SOURCES; (*source)++)
		if (observation->listed & OBSERVE_BIT(*source))
			return &observation->queues;
	*source = mqds->queried && mqds->error == 0 ? OBSERVE_MQD : OBSERVE_NO_SOURCE;
	return &mqds->list;
}

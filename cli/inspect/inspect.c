// SPDX-License-Identifier: MIT
/* Takes samples: queries each source and joins the results. */
#include "cli/inspect/inspect.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "cli/inspect/sources.h"
#include "common/allocate.h"
#include "common/clock.h"
#include "common/proc.h"
#include "common/wait.h"

struct observer {
	struct observe_options options;
	bool there;	   /* the process existed at observe_open() */
	uint64_t started;  /* its start time (common/proc.h), to detect a reused pid */
	int pidfd;	   /* serves the same purpose, but is faster to check; -1: not available */
	pid_t host_pid;	   /* in the driver's numbering; 0: not known from here */
	bool other_daemon; /* the daemon is in another pid namespace */
	struct source_shm *shm;
	struct source_sysfs *sysfs;
	struct source_debugfs *debugfs; /* owned, or that of options.beside */
};

static bool wants(const struct observer *observer, enum observe_source source)
{
	return observer->options.sources & OBSERVE_BIT(source);
}

struct observer *observe_open(const struct observe_options *options)
{
	struct observer *observer = allocate(1, sizeof(*observer));
	struct proc_stat stat;

	observer->options = *options;
	if (!observer->options.sources)
		observer->options.sources = OBSERVE_ALL;
	observer->shm = source_shm_new();
	observer->sysfs = source_sysfs_new();
	observer->debugfs = options->beside ? source_debugfs_share(options->beside->debugfs)
					    : source_debugfs_new();
	/* Open the pidfd before the other values are read: while the pidfd reports a living
	 * process, these values are known to belong to the same process. */
	observer->pidfd = (int)syscall(SYS_pidfd_open, options->pid, 0);
	observer->there = proc_stat(options->pid, &stat);
	observer->started = stat.started;
	observer->host_pid = observe_host_pid(options->pid);
	if (wants(observer, OBSERVE_DAEMON))
		observer->other_daemon = options->beside && wants(options->beside, OBSERVE_DAEMON)
						 ? options->beside->other_daemon
						 : source_daemon_counts_otherwise(options->socket);
	return observer;
}

void observe_close(struct observer *observer)
{
	if (!observer)
		return;
	source_shm_free(observer->shm);
	source_sysfs_free(observer->sysfs);
	if (!observer->options.beside)
		source_debugfs_free(observer->debugfs);
	if (observer->pidfd >= 0)
		close(observer->pidfd);
	free(observer);
}

void observation_free(struct observation *observation)
{
	observe_list_free(&observation->queues);
	for (unsigned i = 0; i < OBSERVE_SOURCES; i++)
		observe_list_free(&observation->result[i].list);
	*observation = (struct observation){0};
}

static bool is_alive(const struct observer *observer)
{
	struct proc_stat stat;

	if (observer->pidfd >= 0)
		return observer->there && poll_now(observer->pidfd, POLLIN) == 0;
	return observer->there && proc_stat(observer->options.pid, &stat) &&
	       stat.started == observer->started && stat.state != 'Z' && stat.state != 'X';
}

static int query_daemon(const struct observer *observer, struct observe_list *daemon,
			struct observe_list *shm, WHY)
{
	return source_daemon(observer->options.socket, observer->other_daemon,
			     observer->options.pid, daemon, shm, why);
}

static int query(struct observer *observer, enum observe_source source, struct observe_list *out,
		 WHY)
{
	switch (source) {
	case OBSERVE_SHM:
		return source_shm(observer->shm, observer->options.pid, out, why);
	case OBSERVE_TRAP:
		return source_trap(observer->options.pid, out, why);
	case OBSERVE_SYSFS:
		return source_sysfs(observer->sysfs, observer->host_pid, out, why);
	case OBSERVE_MQD:
		return source_mqds(observer->debugfs, observer->host_pid, out, why);
	case OBSERVE_HQD:
		return source_hqds(observer->debugfs, out, why);
	default:
		return -EINVAL;
	}
}

/* ---- a whole sample ---- */

static void begin(struct observation *out, const struct observer *observer)
{
	out->ns = clock_ns();
	out->host_pid = observer->host_pid;
	out->listed = 0;
	observe_list_clear(&out->queues);
	for (unsigned i = 0; i < OBSERVE_SOURCES; i++) {
		out->result[i].queried = false;
		out->result[i].error = 0;
		out->result[i].why[0] = '\0';
		out->result[i].unmatched = 0;
		observe_list_clear(&out->result[i].list);
	}
}

static void query_all(struct observer *observer, struct observation *out)
{
	struct observe_result *daemon = &out->result[OBSERVE_DAEMON];
	struct observe_result *shm = &out->result[OBSERVE_SHM];

	if (wants(observer, OBSERVE_DAEMON)) {
		daemon->queried = true;
		daemon->error = query_daemon(observer, &daemon->list, &shm->list, daemon->why);
		shm->queried = !daemon->error;
	}
	for (enum observe_source s = OBSERVE_SHM; s <= OBSERVE_HQD; s++) {
		struct observe_result *result = &out->result[s];

		/* The daemon's reply contains the client's shared memory already. The memory of the
		 * process is read later, when the addresses are known. */
		if (!wants(observer, s) || result->queried || s == OBSERVE_MEMORY)
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

/* Keeps only the hardware slots that hold a queue of this process. Registers do not name a process,
 * so the slots are compared by doorbell with the MQDs of the process; without MQDs, by the ring
 * addresses of its queues. */
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
	/* Join slots to MQDs first, because both have ring addresses. The queues of the other
	 * sources may have ids only. */
	keep_own_hqds(out);
	if (all_slots)
		observe_none_active(&out->result[OBSERVE_MQD].list);
	observe_merge(&out->queues, &out->result[OBSERVE_MQD].list,
		      &out->result[OBSERVE_MQD].unmatched);
	if (all_slots)
		observe_none_active(&out->queues);
}

int observe_sample(struct observer *observer, struct observation *out)
{
	struct observe_result *memory = &out->result[OBSERVE_MEMORY];

	begin(out, observer);
	out->alive = is_alive(observer);
	if (!out->alive)
		return -ESRCH;
	query_all(observer, out);
	join(out);
	if (wants(observer, OBSERVE_MEMORY)) {
		memory->queried = true;
		memory->error = source_memory(observer->options.pid, &out->queues, memory->why);
	}
	observe_backlog(&out->queues);
	observe_list_sort(&out->queues);
	/* Check again: if the process ended meanwhile, the pid may have been reused, and the data
	 * may be of the new process. */
	out->alive = is_alive(observer);
	return out->alive ? 0 : -ESRCH;
}

const char *observe_raw(const struct observer *observer, enum observe_source source, size_t *bytes)
{
	*bytes = 0;
	return source_debugfs_text(observer->debugfs, source, bytes);
}

/* ---- which queues there are ---- */

static int ids_from(struct observer *observer, enum observe_source source, struct observe_list *out,
		    WHY)
{
	struct observe_list shm = {0};
	int rc;

	observe_list_clear(out);
	if (source != OBSERVE_DAEMON)
		return query(observer, source, out, why);
	rc = query_daemon(observer, out, &shm, why);
	observe_list_free(&shm);
	return rc;
}

int observe_ids(struct observer *observer, struct observe_list *out, enum observe_source *source,
		char why[static OBSERVE_WHY])
{
	int rc = -ENOENT;

	observe_list_clear(out);
	snprintf(why, OBSERVE_WHY, "no source was selected");
	if (!is_alive(observer)) {
		snprintf(why, OBSERVE_WHY, "process %d has ended", (int)observer->options.pid);
		return -ESRCH;
	}
	for (enum observe_source s = OBSERVE_DAEMON; s <= OBSERVE_MQD; s++) {
		if (!wants(observer, s) || s == OBSERVE_MEMORY)
			continue;
		rc = ids_from(observer, s, out, why);
		if (rc)
			continue;
		*source = s;
		observe_list_sort(out);
		return is_alive(observer) ? 0 : -ESRCH;
	}
	observe_list_clear(out);
	return is_alive(observer) ? rc : -ESRCH;
}

// SPDX-License-Identifier: MIT
#include "cli/inspect/snapshot.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>

#include "cli/inspect/sources.h"
#include "common/allocate.h"

/* A process of the latest snapshot. The entry is kept if the next snapshot requests its pid,
 * too. */
struct entry {
	struct snapshot_process process;
	struct observer *observer; /* NULL: no sources were requested yet */
	bool is_named;		   /* a request listed its pid; false: a search by scope found it */
	bool is_read;		   /* queues were read in this snapshot_read() */
};

struct snapshot_reader {
	struct observe_context context;
	struct entry **entries;
	size_t count, room;
	struct snapshot snapshot;
	size_t snapshot_room;
	struct topology_gpu gpus[TOPOLOGY_GPUS];
	size_t gpu_count;
	bool gpus_read;
};

struct snapshot_reader *snapshot_open(const char *socket)
{
	struct snapshot_reader *reader = allocate(1, sizeof(*reader));

	reader->context.socket = socket;
	reader->context.debugfs = source_debugfs_new();
	return reader;
}

static void free_entry(struct entry *entry)
{
	observer_close(entry->observer);
	observation_free(&entry->process.seen);
	free(entry);
}

void snapshot_close(struct snapshot_reader *reader)
{
	if (!reader)
		return;
	for (size_t i = 0; i < reader->count; i++)
		free_entry(reader->entries[i]);
	free(reader->entries);
	free(reader->snapshot.processes);
	source_debugfs_free(reader->context.debugfs);
	free(reader);
}

const struct topology_gpu *snapshot_gpus(struct snapshot_reader *reader, size_t *n)
{
	if (!reader->gpus_read)
		reader->gpu_count = topology_gpus(reader->gpus, TOPOLOGY_GPUS);
	reader->gpus_read = true;
	*n = reader->gpu_count;
	return reader->gpus;
}

const char *snapshot_raw(const struct snapshot_reader *reader, enum observe_source source)
{
	size_t bytes;

	return source_debugfs_text(reader->context.debugfs, source, &bytes);
}

/* ---- one process ---- */

static struct entry *find(const struct snapshot_reader *reader, pid_t pid)
{
	for (size_t i = 0; i < reader->count; i++)
		if (reader->entries[i]->process.identity.pid == pid)
			return reader->entries[i];
	return NULL;
}

static struct entry *add(struct snapshot_reader *reader, const struct process_identity *identity)
{
	struct entry *entry = allocate(1, sizeof(*entry));

	reader->entries = allocate_next(reader->entries, reader->count, &reader->room,
					sizeof(struct entry *));
	reader->entries[reader->count++] = entry;
	entry->process.identity = *identity;
	return entry;
}

/* Reads the queues of the process, unless the request has no sources. Sets `ended` if the process
 * has ended. */
static void read_queues(struct snapshot_reader *reader, const struct snapshot_request *request,
			struct entry *entry)
{
	struct snapshot_process *process = &entry->process;

	if (!request->sources || process->ended)
		return;
	if (!entry->observer)
		entry->observer = observer_open(&process->identity, &reader->context);
	if (observer_sample(entry->observer, request->sources, request->ids_only, &process->seen)) {
		process->ended = true;
		observation_clear(&process->seen);
	}
}

/* Adds the entry to the snapshot. */
static void append(struct snapshot_reader *reader, struct entry *entry)
{
	struct snapshot *snapshot = &reader->snapshot;

	snapshot->processes =
		allocate_next(snapshot->processes, snapshot->count, &reader->snapshot_room,
			      sizeof(struct snapshot_process *));
	snapshot->processes[snapshot->count++] = &entry->process;
}

/* ---- which processes ---- */

static void read_requested(struct snapshot_reader *reader, const struct snapshot_request *request)
{
	for (size_t i = 0; i < request->count; i++) {
		struct process_identity identity = {0};
		struct entry *entry = find(reader, request->pids[i]);

		if (!entry) {
			int rc = process_identify(request->pids[i], &identity);

			identity.pid = request->pids[i];
			entry = add(reader, &identity);
			entry->is_named = true;
			entry->process.ended = rc != 0;
		}
		if (!entry->is_read)
			read_queues(reader, request, entry);
		entry->is_read = true;
		append(reader, entry);
	}
}

/* Adds a process to the snapshot if it is in the requested scope and container. Counts the process
 * as hidden if it is not known whether it uses a GPU. */
static void read_found(struct snapshot_reader *reader, const struct snapshot_request *request,
		       pid_t pid, enum process_gpu gpu)
{
	bool searched = request->scope != SNAPSHOT_LISTED;
	struct process_identity identity;
	struct entry *entry;

	if (process_identify(pid, &identity))
		return;
	/* Kernel threads and zombies do not use a GPU, and /proc has no maps of them to check
	 * that. */
	if (searched && (identity.kernel || identity.state == 'Z'))
		gpu = PROCESS_GPU_NO;
	reader->snapshot.hidden += gpu == PROCESS_GPU_UNKNOWN;
	if (request->scope == SNAPSHOT_SEARCH && (gpu != PROCESS_GPU_YES || process_is_ours(pid)))
		return;
	if (request->container &&
	    !container_names_fit(request->names, &identity.container, request->container))
		return;
	entry = add(reader, &identity);
	entry->process.gpu = gpu;
	read_queues(reader, request, entry);
	/* Only requested processes are kept. The search can find thousands, each with three open
	 * files. */
	observer_close(entry->observer);
	entry->observer = NULL;
	if (!entry->process.ended)
		append(reader, entry);
}

static int is_pid(const struct dirent *entry)
{
	return isdigit((unsigned char)entry->d_name[0]);
}

/* Searches all processes of /proc and adds those of the requested scope. Returns 0 or a negative
 * errno. users: the processes that the daemon or the driver lists. */
static int search(struct snapshot_reader *reader, const struct snapshot_request *request,
		  const struct gpu_processes *users)
{
	struct dirent **entries = NULL;
	int count = scandir("/proc", &entries, is_pid, versionsort);

	if (count < 0)
		return -errno;
	for (int i = 0; i < count; i++) {
		pid_t pid = (pid_t)atoi(entries[i]->d_name);
		enum process_gpu gpu =
			gpu_processes_has(users, pid) ? PROCESS_GPU_YES : process_gpu(pid);

		if (gpu != PROCESS_GPU_NO || request->scope == SNAPSHOT_SEARCH_ALL)
			read_found(reader, request, pid, gpu);
		free(entries[i]);
	}
	free(entries);
	return 0;
}

static int read_scope(struct snapshot_reader *reader, const struct snapshot_request *request)
{
	struct gpu_processes users;
	int rc = 0;

	gpu_processes_read(OBSERVE_ALL, reader->context.socket, &users);
	if (request->scope != SNAPSHOT_LISTED)
		rc = search(reader, request, &users);
	else
		for (size_t i = 0; i < users.count; i++)
			read_found(reader, request, users.pid[i], PROCESS_GPU_YES);
	gpu_processes_free(&users);
	return rc;
}

static bool is_requested(const struct snapshot_request *request, pid_t pid)
{
	for (size_t i = 0; request->pids && i < request->count; i++)
		if (request->pids[i] == pid)
			return true;
	return false;
}

/* Returns true if the entry is that of a process which the request names. */
static bool is_kept(const struct snapshot_request *request, const struct entry *entry)
{
	const struct process_identity *identity = &entry->process.identity;

	if (!entry->is_named || !is_requested(request, identity->pid))
		return false;
	return !request->listed_now || (!entry->process.ended && process_is(identity));
}

/* Frees the entries that are not kept, and marks the others as not read. */
static void drop_others(struct snapshot_reader *reader, const struct snapshot_request *request)
{
	size_t n_valid = 0;

	for (size_t i = 0; i < reader->count; i++) {
		struct entry *entry = reader->entries[i];

		entry->is_read = false;
		if (is_kept(request, entry))
			reader->entries[n_valid++] = entry;
		else
			free_entry(entry);
	}
	reader->count = n_valid;
}

const struct snapshot *snapshot_read(struct snapshot_reader *reader,
				     const struct snapshot_request *request)
{
	struct snapshot *snapshot = &reader->snapshot;
	int rc = 0;

	drop_others(reader, request);
	snapshot->count = snapshot->hidden = 0;
	source_debugfs_renew(reader->context.debugfs);
	reader->context.daemon_checked = false; /* the daemon may be another one */
	if (request->pids)
		read_requested(reader, request);
	else
		rc = read_scope(reader, request);
	errno = -rc;
	return rc ? NULL : snapshot;
}

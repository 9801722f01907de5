/* SPDX-License-Identifier: MIT */
/*
 * Takes snapshots: the GPUs of this machine, the processes that use them and the queues of these
 * processes, at one moment. A command of kfdsched requests a snapshot, chooses the processes and
 * queues that it needs, and prints them.
 *
 * Each value of a queue has the source that reported it; a value that no source reports is unknown,
 * never 0 (queue_view.h). Reading does not suspend, stop or attach to a process, with one
 * exception: OBSERVE_TRAP opens a debug session on each process, takes a queue snapshot and ends
 * the session. This costs each GPU of the process one or two runlist updates, and fails while
 * another debugger has a session on the process. It is used only if `sources` names it.
 *
 * Threads: a reader is used by one thread at a time. Ownership: snapshot_open() and
 * snapshot_close(); a snapshot belongs to its reader and is valid until the next snapshot_read().
 */
#ifndef KFDSHIM_CLI_INSPECT_SNAPSHOT_H
#define KFDSHIM_CLI_INSPECT_SNAPSHOT_H

#include "cli/inspect/gpu_processes.h"
#include "cli/inspect/process.h"
#include "cli/inspect/queue_view.h"
#include "kfd/topology.h"

struct snapshot_process {
	struct process_identity identity; /* if `ended`: as last read; pid is always valid */
	enum process_gpu gpu; /* whether it uses a GPU; set only if its pid was not requested */
	bool ended;	      /* the process has ended or does not exist; `seen` is empty */
	/* What the sources report; empty if the request has no `sources`. The caller can keep it
	 * beyond the snapshot: copy the struct, zero this one, and free the copy by
	 * observation_free(). */
	struct observation seen;
};

struct snapshot {
	/* In the order of the request's `pids`; if it has none, sorted by pid. */
	struct snapshot_process **processes;
	size_t count;
	/* With SNAPSHOT_SEARCH: number of processes (in the snapshot or not) of which only root can
	 * find out whether they use a GPU. */
	size_t hidden;
};

/* Selects the processes of a snapshot if the request names no pids. */
enum snapshot_scope {
	SNAPSHOT_LISTED, /* those that the daemon or the driver lists (gpu_processes_read()) */
	/* Those of /proc that use a GPU, even if neither the daemon nor the driver lists them: they
	 * have /dev/kfd mapped (process_gpu()). */
	SNAPSHOT_SEARCH,
	SNAPSHOT_SEARCH_ALL, /* all of /proc, whether they use a GPU or not */
};

struct snapshot_request {
	/* The pids of the requested processes, `count` of them; NULL: those of `scope`. Each gets
	 * an entry, also if it has ended. An entry stays ended as long as each read requests its
	 * pid, so that a later process with the same pid is not mistaken for it. */
	const pid_t *pids;
	size_t count;
	/* The caller has just found `pids`, so each of them means the process that has it now, also
	 * if an earlier snapshot had another process with that pid. */
	bool listed_now;
	enum snapshot_scope scope;
	/* Only processes of this container (container_names_fit()); NULL: all. Needs `names`. */
	const char *container;
	struct container_names *names;
	/* OBSERVE_BIT()s of the sources to query for queues; 0: none, only identities are read. */
	unsigned sources;
	/* Read only the list of the queues: id, context, gpu_id, type and ring size. It comes from
	 * the first of `sources` that has data (in the order OBSERVE_DAEMON, SHM, TRAP, SYSFS, MQD).
	 * This is fast enough for a thousand reads a second, because the sysfs files of a queue are
	 * read again only if the directory of its id is new. */
	bool ids_only;
};

struct snapshot_reader;

/* Opens a reader. socket: path of the daemon's socket, which is kept, not copied; NULL:
 * libkfdsched's default. */
struct snapshot_reader *snapshot_open(const char *socket);
void snapshot_close(struct snapshot_reader *reader); /* NULL is allowed */

/*
 * Reads a snapshot. For processes whose pids the request names, the identity and data that is
 * costly to find (the shared memory of the shim, the directories of the queues) are kept for the
 * next read that names them, too. The processes of a snapshot share one copy of a debugfs text,
 * because reading the text reads registers on hardware. The copy is used for at most 200 ms,
 * because an older one would not match the queues.
 *
 * Returns NULL with errno if /proc cannot be listed (only if the scope searches /proc).
 */
const struct snapshot *snapshot_read(struct snapshot_reader *reader,
				     const struct snapshot_request *request);

/* Returns the GPUs of this machine, as the driver's topology lists them at the first call. *n: their
 * number. Valid until snapshot_close(). */
const struct topology_gpu *snapshot_gpus(struct snapshot_reader *reader, size_t *n);
/* Returns the raw text of debugfs kfd/mqds (OBSERVE_MQD) or kfd/hqds (OBSERVE_HQD) of the latest
 * snapshot, NUL-terminated, or NULL if it was not read. Valid until the next snapshot_read(). */
const char *snapshot_raw(const struct snapshot_reader *reader, enum observe_source source);

#endif

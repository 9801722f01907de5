/* SPDX-License-Identifier: MIT */
/*
 * The GPUs of this machine, the processes that use them and the queues of these processes, at one
 * moment. The verbs of kfdsched read processes and queues from here: each one requests a snapshot,
 * chooses its rows and prints them.
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
#include "cli/inspect/observation.h"
#include "cli/inspect/process.h"
#include "kfd/topology.h"

struct snapshot_process {
	struct process_identity identity; /* if it has ended: as it was read last; pid is valid */
	enum process_gpu gpu;		  /* of a process that the request did not name */
	bool ended; /* the process has ended or does not exist; `seen` is empty */
	/* What the sources report; empty without `sources`. The caller can take it over: copy the
	 * struct, zero this one, and free the copy by observation_free(). */
	struct observation seen;
};

struct snapshot {
	struct snapshot_process **processes; /* in the order of `pids`; without `pids` by pid */
	size_t count;
	/* With SNAPSHOT_SEARCH: processes (listed or not) of which only root can find out whether
	 * they use a GPU. */
	size_t hidden;
};

/* The processes of a snapshot for which the request names no pids. */
enum snapshot_scope {
	SNAPSHOT_LISTED, /* those that the daemon or the driver lists (gpu_processes_read()) */
	/* Those of /proc that use a GPU: also where neither daemon nor driver lists them, because a
	 * process that uses a GPU has /dev/kfd mapped (process_gpu()). */
	SNAPSHOT_SEARCH,
	SNAPSHOT_SEARCH_ALL, /* all of /proc, whether they use a GPU or not */
};

struct snapshot_request {
	/* Exactly these processes, `count` of them; NULL: those of `scope`. For each one there is
	 * an entry, also if it has ended. It stays ended as long as each read requests its pid, so
	 * a process that gets the same pid is not mistaken for it. */
	const pid_t *pids;
	size_t count;
	enum snapshot_scope scope;
	/* Only processes of this container (container_names_fit()); NULL: all. Needs `names`. */
	const char *container;
	struct container_names *names;
	/* OBSERVE_BIT()s of the sources to query for queues; 0: none, only identities are read. */
	unsigned sources;
	/* Read only the list of the queues: id, context, gpu_id, type and ring size, from the first
	 * of `sources` that has data (in the order daemon, shm, trap, sysfs, debugfs). Cheap enough
	 * for a thousand reads a second: from sysfs, the files of a queue are read again only if
	 * its id has a new directory. */
	bool ids_only;
};

struct snapshot_reader;

/* Opens a reader. socket: the daemon's; NULL: libkfdsched's default. Kept, not copied. */
struct snapshot_reader *snapshot_open(const char *socket);
void snapshot_close(struct snapshot_reader *reader); /* NULL is allowed */

/*
 * Reads a snapshot. Of the processes whose pids the request names, the identity and what is costly
 * to find (the shared memory of the shim, the directories of the queues) are kept for the next read
 * that names them, too. The texts of debugfs are read once for each snapshot, because on hardware
 * this reads registers.
 *
 * Returns NULL with errno if /proc cannot be listed (SNAPSHOT_SEARCH only).
 */
const struct snapshot *snapshot_read(struct snapshot_reader *reader,
				     const struct snapshot_request *request);

/* Returns the GPUs of this machine, as the driver's topology lists them at the first call. *n: their
 * number. Valid until snapshot_close(). */
const struct topology_gpu *snapshot_gpus(struct snapshot_reader *reader, size_t *n);
/* Returns the raw text of debugfs kfd/mqds (OBSERVE_MQD) or kfd/hqds (OBSERVE_HQD) of the last
 * snapshot, NUL-terminated, or NULL if it was not read. Valid until the next snapshot_read(). */
const char *snapshot_raw(const struct snapshot_reader *reader, enum observe_source source);

#endif

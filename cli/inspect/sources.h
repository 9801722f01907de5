/* SPDX-License-Identifier: MIT */
/*
 * Reads the queues of a process. Each source has a reader in a file of its own, and the observer
 * queries all sources. Used by snapshot.c and kfdsched top.
 *
 * Each reader adds the queues of the process to *out, which the caller has cleared, and sets itself
 * as the source of every value. Unless stated otherwise it returns 0, or a negative errno with a
 * sentence in `why`; -ENOENT: the source has no data about the process, or does not exist.
 *
 * Threads: any, one at a time for each struct. The structs keep state between samples.
 */
#ifndef KFDSHIM_CLI_INSPECT_SOURCES_H
#define KFDSHIM_CLI_INSPECT_SOURCES_H

#include <sys/types.h>

#include "cli/inspect/process.h"
#include "cli/inspect/queue_view.h"

#define WHY char why[static OBSERVE_WHY]

/*
 * Queries the daemon for the process. *daemon gets what the daemon knows itself, *shm what the
 * daemon has read in the client's shared memory (struct client_shm).
 *
 * pid: in the caller's pid namespace. socket: NULL: libkfdsched's default. otherwise: the daemon is
 * in another pid namespace (source_daemon_counts_otherwise()). Then the process is first looked up
 * in the daemon's list of all processes, which has the pids of each process in both namespaces.
 * -EPROTO: the daemon's reply has another format.
 */
int source_daemon(const char *socket, bool otherwise, pid_t pid, struct observe_list *daemon,
		  struct observe_list *shm, WHY);
/* Returns true if the daemon runs in another pid namespace, so that its pids differ from the
 * caller's. Returns false also if no daemon is there. */
bool source_daemon_counts_otherwise(const char *socket);
/* Returns the pid, in the caller's pid namespace, of an entry of the daemon's process list; 0 if
 * the process is in another namespace than the caller. otherwise: as in source_daemon(). */
pid_t source_daemon_number(const json_t *process, bool otherwise);
/* Returns the entry of process `pid` (of the caller's pid namespace) in the daemon's status of all
 * processes, or NULL. otherwise: as in source_daemon(). */
const json_t *source_daemon_process(const json_t *status, bool otherwise, pid_t pid);
/* Returns the client shared memory in the daemon's reply about one process, or NULL. A daemon from
 * before 0.1.0 names it "lane". */
json_t *source_daemon_shm(const json_t *reply);
/* Writes to `out` the pids, in the caller's namespace, of all processes that the daemon knows, at
 * most `max`. Returns their number; 0 also if the daemon does not reply. */
size_t source_daemon_processes(const char *socket, pid_t *out, size_t max);

/*
 * Reads the shared memory (struct client_shm) of a process whose shim runs without a daemon. It is
 * a file that the shim has open. The fd on it is kept between samples of the same process. If no
 * such file was found, not every sample searches for it again: a file that is created later is
 * found after at most one second.
 */
struct source_shm;
struct source_shm *source_shm_new(void);
void source_shm_free(struct source_shm *shm); /* NULL is allowed */
int source_shm(struct source_shm *shm, pid_t pid, struct observe_list *out, WHY);

/* Opens a debug session on the process, reads its queues from a queue snapshot, and ends the
 * session. -EBUSY: another debugger or the daemon has a session on the process, or the process is
 * traced. */
int source_trap(pid_t pid, struct observe_list *out, WHY);

/* Reads the driver's list of the queues of a process in sysfs, with a cache between samples.
 * host_pid: pid in the pid namespace that the driver uses; 0: not known, so that it returns
 * -EXDEV. */
struct source_sysfs;
struct source_sysfs *source_sysfs_new(void);
void source_sysfs_free(struct source_sysfs *sysfs); /* NULL is allowed */
int source_sysfs(struct source_sysfs *sysfs, pid_t host_pid, struct observe_list *out, WHY);

/*
 * Read debugfs kfd/mqds and kfd/hqds (format: debugfs.h), and keep the latest texts.
 *
 * source_mqds() adds the queues of one process, without ids. host_pid: pid in the pid namespace
 * that the driver uses; 0: not known, then it reads the text and returns -EXDEV.
 * source_hqds() adds an entry for each ring that is active in a hardware slot. OBSERVE_HQDS is the
 * number of its slots. The text names no process, so the caller joins the entries to those of other
 * sources.
 *
 * After -EBADMSG and -EOPNOTSUPP, *out has the entries that could be read: those before the error
 * in the text, or those of the GPUs whose format is known.
 */
struct source_debugfs;
struct source_debugfs *source_debugfs_new(void);
void source_debugfs_free(struct source_debugfs *debugfs); /* NULL is allowed */
/* Drops the texts. The next calls of source_mqds() and source_hqds() read them again; later calls
 * use these texts for 200 ms. */
void source_debugfs_renew(struct source_debugfs *debugfs);
int source_mqds(struct source_debugfs *debugfs, pid_t host_pid, struct observe_list *out, WHY);
int source_hqds(struct source_debugfs *debugfs, struct observe_list *out, WHY);
/* Returns the text of OBSERVE_MQD or OBSERVE_HQD, NUL-terminated, and its length; NULL (and *bytes
 * unchanged) if it was not read since source_debugfs_renew(). The text is valid until the next
 * source_debugfs_renew(). */
const char *source_debugfs_text(const struct source_debugfs *debugfs, enum observe_source source,
				size_t *bytes);

/* Reads from the memory of the process, without stopping it, the read and write pointers of the
 * queues in *list whose pointer addresses are known, and the faults that the driver has reported to
 * the runtime. Sets OBSERVE_WPTR, OBSERVE_RPTR and OBSERVE_EXCEPTIONS. */
int source_memory(pid_t pid, struct observe_list *list, WHY);
/* Sets OBSERVE_BACKLOG_BYTES of queues whose read and write pointer are from the same source. */
void observe_backlog(struct observe_list *list);
/* Sets OBSERVE_HQDS, the number of slots, to 0 for each queue with a known ring that was found in
 * no slot. May only be called if all slots were read, because only then such a queue is not on the
 * GPU. */
void observe_none_active(struct observe_list *list);

/* ---- all sources of one process (observer.c) ---- */

/* State that all observers of a snapshot reader share. */
struct observe_context {
	const char *socket; /* path of the daemon's socket; NULL: libkfdsched's default */
	/* other_daemon: the daemon is in another pid namespace; valid if daemon_checked. */
	bool daemon_checked, other_daemon;
	struct source_debugfs *debugfs;
};

struct observer;

/* Opens an observer of the process. It counts as ended if its pid belongs to another process
 * already. `process` and `context` must stay valid until observer_close(). */
struct observer *observer_open(const struct process_identity *process,
			       struct observe_context *context);
void observer_close(struct observer *observer); /* NULL is allowed */
/*
 * Queries all `sources` (OBSERVE_BIT()s) and joins their results in *out. ids_only: stops at the
 * first source that has data, and reads only the list of queues (struct snapshot_request).
 *
 * Returns 0, also if no source has data (see out->result[]), or -ESRCH if the process has ended
 * since observer_open() or did not exist then. A reused pid is detected.
 */
int observer_sample(struct observer *observer, unsigned sources, bool ids_only,
		    struct observation *out);

#endif

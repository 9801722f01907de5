/* SPDX-License-Identifier: MIT */
/*
 * The sources, a file each, for observe.c and top. Each fills *out (cleared by the caller)
 * with what it knows of the process, with itself as every value's source. 0, or a negative
 * errno with a sentence in why: -ENOENT: it knows nothing of that process, or is not there.
 */
#ifndef KFDSHIM_OBSERVE_SOURCES_H
#define KFDSHIM_OBSERVE_SOURCES_H

#include <jansson.h>
#include <sys/types.h>

#include "scheduler/observe/observe.h"

#define WHY char why[static OBSERVE_WHY]

/* The daemon's word and, in it, the lane's. Entries of either are in their own list. */
/* `otherwise`: it counts in another pid namespace than ours, so it is asked by its number
 * for the process, which it tells beside the process's own. */
int source_daemon(const char *socket, bool otherwise, pid_t pid, struct observe_list *daemon,
		  struct observe_list *lane, WHY);
/* false also where none is there. */
bool source_daemon_counts_otherwise(const char *socket);
/* Our number of a process in its list of all; 0: it is of another pid namespace. */
pid_t source_daemon_number(const json_t *process, bool otherwise);
/* All processes that it knows, by our numbers; 0 also where it does not answer. */
size_t source_daemon_processes(const char *socket, pid_t *out, size_t max);
/* The lane of a process without a daemon: a file that the shim has open, which is kept
 * between samples of the same process. One that comes later is told a second late at most. */
struct source_lane;
struct source_lane *source_lane_new(void);
void source_lane_free(struct source_lane *lane);
int source_lane(struct source_lane *lane, pid_t pid, struct observe_list *out, WHY);
/* A debug session, a snapshot, and its end. -EBUSY: another debugger, or the daemon, has one. */
int source_trap(pid_t pid, struct observe_list *out, WHY);

/* sysfs, with what is kept between samples. host_pid: the driver's number. */
struct source_sysfs;
struct source_sysfs *source_sysfs_new(void);
void source_sysfs_free(struct source_sysfs *sysfs);
int source_sysfs(struct source_sysfs *sysfs, pid_t host_pid, struct observe_list *out, WHY);

/* debugfs (debugfs.h), with the texts that were read last. `out` of mqds has no ids. Of
 * hqds: one entry for each ring that is active in a hardware slot, OBSERVE_HQDS its slots;
 * it names no process, so the caller joins it to what others told. -EBADMSG, -EOPNOTSUPP:
 * *out has all the same what was read, up to the text's fault or of the GPUs that are
 * known. */
struct source_debugfs;
struct source_debugfs *source_debugfs_new(void);
void source_debugfs_free(struct source_debugfs *debugfs);
/* From now on what was read within 200 ms is taken for new. Returns it. */
struct source_debugfs *source_debugfs_share(struct source_debugfs *debugfs);
int source_mqds(struct source_debugfs *debugfs, pid_t host_pid, struct observe_list *out, WHY);
int source_hqds(struct source_debugfs *debugfs, struct observe_list *out, WHY);
const char *source_debugfs_text(const struct source_debugfs *debugfs, enum observe_source source,
				size_t *bytes);

/* Write and read pointers of the queues in *list whose addresses are known, read in the
 * process without stopping it; sets OBSERVE_WPTR, OBSERVE_RPTR. */
int source_memory(pid_t pid, struct observe_list *list, WHY);
/* Sets OBSERVE_BACKLOG_BYTES where both pointers are known from the same source. */
void observe_backlog(struct observe_list *list);

#endif

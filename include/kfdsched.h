/* SPDX-License-Identifier: MIT */
/*
 * libkfdsched connects a program to the daemon kfdschedd. It has the functions of the kfdsched
 * command: query the state, suspend and resume processes, set priorities of processes and policies
 * of nodes, and receive events.
 *
 * Any local user can query the state and receive events. Control requests (suspend, hold, resume,
 * set_priority, set_policy) are for root and for the group that admin_group names in the daemon's
 * configuration. A suspension is always a lease: it lasts for a number of seconds, or while the
 * caller keeps an fd open. So no process stays suspended when the program that requested it has
 * ended. Priorities and policies last until the process, or the daemon, ends.
 *
 * Errors: the functions return 0 or an fd on success, and a negative errno otherwise;
 * kfdsched_errmsg() then returns one sentence with the cause and the remedy:
 *   -ENOENT, -ECONNREFUSED  there is no daemon      -ESRCH       no such workload
 *   -EPERM                  not permitted           -EOPNOTSUPP  it cannot be suspended
 *   -EAGAIN                 no reply in time        -EPROTO      not a daemon of this version
 *   -EINVAL                 invalid argument        -ENODEV      no such node
 *
 * Each request uses a new connection, so a restart of the daemon causes no error. A request fails
 * if there is no reply for two seconds, a request to suspend after five.
 * Threads: one at a time for each struct kfdsched. No signals, no global state.
 */
#ifndef KFDSCHED_H
#define KFDSCHED_H

#include <stddef.h>
#include <sys/types.h>

#ifdef __cplusplus
extern "C" {
#endif

#define KFDSCHED_EVENT_BYTES 4096 /* size of a buffer that any event fits in */

/* Values for kfdsched_set_priority() in addition to 0 to 15 (15 is the most urgent). */
#define KFDSCHED_PRIORITY_NONE (-1) /* shown, never scheduled */
#define KFDSCHED_PRIORITY_OWN (-2)  /* the priority that the process has set itself */

struct kfdsched;

/* Creates a handle; does not connect yet. socket: path of the daemon's socket; NULL:
 * $KFDSHIM_SOCKET, or /run/kfdsched/socket. Returns NULL if memory is short. */
struct kfdsched *kfdsched_open(const char *socket);
/* Frees a handle; NULL is allowed. */
void kfdsched_close(struct kfdsched *k);
/* Returns the result of the last call in one sentence: why it failed, or what the daemon has done.
 * Valid until the next call with this handle. */
const char *kfdsched_errmsg(const struct kfdsched *k);
/* Name that kfdsched_errmsg() had before 0.1.0. The next release removes this name. */
const char *kfdsched_sentence(const struct kfdsched *k);

/* ---- queries ---- */

/* Queries the daemon's state. Sets *json to it (docs/reference/status.md), or to NULL on an error;
 * the caller frees *json by free(). pid: the workload, in the daemon's PID namespace, of which
 * everything is reported; 0: all workloads. Returns 0 or an error. */
int kfdsched_status(struct kfdsched *k, pid_t pid, char **json);

/* As kfdsched_status() for all workloads, but brief ("queue_counts" in place of "queues"), for
 * programs that poll many times a second. A daemon of an older version reports everything. */
int kfdsched_summary(struct kfdsched *k, char **json);

/* ---- control ---- */

/* Suspends a process for 1 to 86400 seconds, and waits until it is suspended; the daemon gives up
 * after two seconds. A second call replaces the time of the first. */
int kfdsched_suspend(struct kfdsched *k, pid_t pid, unsigned seconds);
/* Suspends a process until the returned fd is closed, also by the end of the calling program. The
 * fd becomes readable when the suspension has ended for another reason; kfdsched_held() returns
 * that reason. */
int kfdsched_hold(struct kfdsched *k, pid_t pid);
/*
 * Waits for the end of a suspension by kfdsched_hold(), for up to timeout_ms (-1: no limit).
 * Returns
 *  0: the suspension has not ended in that time;
 *  -ECANCELED: the process was resumed by another request;
 *  -ESRCH: the process has ended; -ECONNRESET: the daemon is gone.
 */
int kfdsched_held(struct kfdsched *k, int fd, int timeout_ms);
/* Ends all suspensions of a process, also those that other programs have requested. */
int kfdsched_resume(struct kfdsched *k, pid_t pid);

/* Sets the priority of a process: 0 to 15, or KFDSCHED_PRIORITY_*. */
int kfdsched_set_priority(struct kfdsched *k, pid_t pid, int priority);
/* Sets the policy of a node: "strict", "share", "deadline" or "observe". share_percent: 1 to 99
 * with "share", else 0. gpu_id 0: sets the policy of all nodes that have none of their own. */
int kfdsched_set_policy(struct kfdsched *k, unsigned gpu_id, const char *policy,
			unsigned share_percent);

/* ---- events ---- */

/* Sets *json to a list of the last events that the daemon keeps (at most 256, the oldest first).
 * The caller frees *json by free(). */
int kfdsched_recent_events(struct kfdsched *k, char **json);
/* Subscribes to events. Returns an fd that is readable when there is one; the caller closes it. */
int kfdsched_events(struct kfdsched *k);
/*
 * Reads the next event as JSON text (docs/reference/events.md), waiting for up to timeout_ms (-1:
 * no limit). Returns the length of the text, or
 *  -EAGAIN: no event in time, or a signal handler has run;
 *  -ECONNRESET: the daemon is gone;
 *  -EMSGSIZE: the event does not fit in `size` bytes, and is lost.
 */
ssize_t kfdsched_next_event(struct kfdsched *k, int fd, char *text, size_t size, int timeout_ms);

#ifdef __cplusplus
}
#endif

#endif

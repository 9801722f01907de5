/* SPDX-License-Identifier: MIT */
/*
 * libkfdsched: what kfdsched asks kfdschedd, for programs of your own: see the state,
 * suspend and resume processes, give them priorities, nodes policies, and be told what
 * happens.
 *
 * Asking and events are for any local user. Orders are for root and for the group that
 * admin_group names in the daemon's configuration. A suspension is always a lease: for a
 * number of seconds, or for as long as you hold a descriptor; so nothing stays suspended
 * because the program that wanted it is gone. Priorities and policies last until the
 * process, or the daemon, ends.
 *
 * Errors: functions return 0 or a descriptor, or a negative errno, and then
 * kfdsched_sentence() says in one sentence what happened and what to do:
 *   -ENOENT, -ECONNREFUSED  no daemon is there      -ESRCH       no such workload
 *   -EPERM                  you may not             -EOPNOTSUPP  it cannot be suspended
 *   -EAGAIN                 no answer in time       -EPROTO      not a daemon of this version
 *   -EINVAL                 an argument             -ENODEV      no such node
 * Each question is a connection of its own: a daemon that was started again is no error.
 * Threads: one at a time for each struct kfdsched; no signals, no globals.
 */
#ifndef KFDSCHED_H
#define KFDSCHED_H

#include <stddef.h>
#include <sys/types.h>

#ifdef __cplusplus
extern "C" {
#endif

#define KFDSCHED_EVENT_BYTES 4096 /* enough for any event */

/* In kfdsched_set_priority(), beside 0 to 15 (15 is the most urgent). */
#define KFDSCHED_PRIORITY_NONE (-1) /* watched, never scheduled */
#define KFDSCHED_PRIORITY_OWN (-2)  /* what the process says itself */

struct kfdsched;

/* socket: where the daemon listens; NULL: KFDSHIM_SOCKET, or /run/kfdsched/socket.
 * Nothing is connected yet. NULL: no memory. */
struct kfdsched *kfdsched_open(const char *socket);
void kfdsched_close(struct kfdsched *k); /* NULL is allowed */
/* What the last call came to: why it failed, or what the daemon has done. Lives until the
 * next call. */
const char *kfdsched_sentence(const struct kfdsched *k);

/* The daemon's state as JSON (docs/formats.md), of all with pid 0, else all that is known
 * of that workload, named as the daemon sees it. *json is yours to free(). */
int kfdsched_status(struct kfdsched *k, pid_t pid, char **json);

/* The same of all in a few words ("queue_counts" in place of "queues"): for who asks many
 * times a second. A daemon of an older version answers in full. */
int kfdsched_summary(struct kfdsched *k, char **json);

/* Suspends a process for that many seconds, 1 to 86400, and waits until it is suspended,
 * two seconds at most. Again: the new time counts. */
int kfdsched_suspend(struct kfdsched *k, pid_t pid, unsigned seconds);
/* The same until the descriptor that it returns is closed (by your end, too). It becomes
 * readable when the suspension has ended otherwise: ask kfdsched_held(). */
int kfdsched_hold(struct kfdsched *k, pid_t pid);
/* Waits that long for that end (-1: without bound). 0: it goes on; -ECANCELED: somebody
 * resumed it; -ESRCH: it has ended; -ECONNRESET: the daemon is gone. */
int kfdsched_held(struct kfdsched *k, int fd, int timeout_ms);
/* Ends every lease on it, whoever gave it. */
int kfdsched_resume(struct kfdsched *k, pid_t pid);

int kfdsched_set_priority(struct kfdsched *k, pid_t pid, int priority);
/* policy: "strict", "share" (then share_percent is 1 to 99, else 0), "deadline",
 * "observe". gpu_id 0: on all nodes that have none of their own. */
int kfdsched_set_policy(struct kfdsched *k, unsigned gpu_id, const char *policy,
			unsigned share_percent);

/* What has happened lately, as JSON text: a list of the last events (256 at most, the
 * oldest first) that the daemon keeps. *json is yours to free(). */
int kfdsched_recent_events(struct kfdsched *k, char **json);
/* A descriptor that is readable when there is an event, to be closed by you. */
int kfdsched_events(struct kfdsched *k);
/* The next one as JSON text (docs/formats.md), within timeout_ms (-1: without bound).
 * Its length; -EAGAIN: none in time; -ECONNRESET: the daemon is gone; -EMSGSIZE: it did
 * not fit, and is lost. */
ssize_t kfdsched_next_event(struct kfdsched *k, int fd, char *text, size_t size, int timeout_ms);

#ifdef __cplusplus
}
#endif

#endif

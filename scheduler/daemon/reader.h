/* SPDX-License-Identifier: MIT */
/*
 * What the daemon reads of other processes in /proc, in a process of its own
 * (kfdschedd-read). Such a read can wait for as long as the other process likes: exec closes
 * descriptors with exec_update_lock held, a close of a FUSE file waits for its server, and
 * newer kernels take that lock for stat, exe, ns, maps and syscall. Only SIGKILL ends the
 * wait (status, comm and cgroup take no such lock). So the worker asks this process, and has
 * it killed and started again if it waits. It alone has CAP_SYS_PTRACE for that.
 *
 * The loop does not wait for an answer. A function below that has to ask returns -EINPROGRESS.
 * When the answer comes, the loop runs the same code again from its beginning, between the same
 * reader_begin() and reader_end(): the functions return what they have returned before, and now
 * the answer, too. So code that asks has no effect before its last answer, and a pidfd that must
 * be older than an answer is kept from run to run. -EAGAIN: there is no answer now.
 *
 * One request is on its way at a time. The processes of one user, or one process of a trusted
 * user, may cost 20 ms of waits in 10 s, in one read or in many, and 300 ms of reads that are
 * long; after that they are not read for 10 s, because the reads of all others come later by as
 * much. These are times in which the loop itself had a core.
 *
 * The functions are for the worker's loop.
 */
#ifndef KFDSHIM_SCHEDULER_DAEMON_READER_H
#define KFDSHIM_SCHEDULER_DAEMON_READER_H

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "scheduler/daemon/match.h"
#include "scheduler/daemon/owners.h"
#include "scheduler/daemon/peer.h"

/* In memory that worker and watchdog share. */
struct reader_state {
	pid_t pid;   /* watchdog: of the process that runs; 0: none does; -1: nor will one soon */
	pid_t stuck; /* worker: of the process that is to be killed */
};

/* At the worker's start. socket: its end of a connection to the process; wake_fd: the
 * eventfd that wakes the watchdog; owners: of uids, as long as the worker runs. */
void reader_use(int socket, struct reader_state *state, int wake_fd, const struct owners *owners);

/* At every turn of the loop: takes an answer, sends the next request, gives up one that takes too
 * long. */
void reader_step(uint64_t now);
/* When to do that again although nothing has come from the process; UINT64_MAX: no need. */
uint64_t reader_next(void);
/* Which code is to be run again, because an answer for it has come; 0: none, any more. */
uint64_t reader_answered(void);

/* An asker that is not a client: outsider_rules.h, which looks at every turn of the loop. */
#define READER_RULES 1u
/* The requests until reader_end() are those of `asker`, which is not 0. Without it no function
 * below asks: -EAGAIN. */
void reader_begin(uint64_t asker);
/* true: an answer is still to come. false: all answers for this asker are forgotten. */
bool reader_end(void);
/* Has a function returned -EINPROGRESS since reader_begin()? */
bool reader_waits(void);
/* Nothing will run again for this asker. */
void reader_forget(uint64_t asker);
static inline bool reader_has_none(int error)
{
	return error == -EAGAIN || error == -EINPROGRESS;
}

/* As peer_read(), subject_read(), peer_read_number() and target_open(), which closes its pidfd
 * here. */
int reader_facts(pid_t pid, struct peer_facts *out);
int reader_subject(pid_t pid, struct subject *out);
pid_t reader_number(pid_t of, pid_t pid);
int reader_target(pid_t pid, struct peer_facts *out, char *problem, size_t size);
/* As the functions of target.h and tracer.h: 1, 0 or a negative errno. */
int reader_has_shim(pid_t pid);
int reader_right_has_come(pid_t pid);
/* *took_ns: for how long the process has read, for it looks at each thread. */
int reader_destroys(pid_t pid, uint64_t *took_ns);

/* The process: returns its exit code. refused, as of filter_install(), lies in the shared
 * memory at `counts`, the only one that it can still write. */
int reader_run(int socket, const void *counts, uint64_t *refused);

#endif

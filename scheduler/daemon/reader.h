/* SPDX-License-Identifier: MIT */
/*
 * What the daemon reads of other processes in /proc, in a process of its own
 * (kfdschedd-read). Such a read can wait for as long as the other process likes: exec closes
 * descriptors with exec_update_lock held, a close of a FUSE file waits for its server, and
 * newer kernels take that lock for stat, exe, ns, maps and syscall. Only SIGKILL ends the
 * wait (status, comm and cgroup take no such lock). So the worker asks this process, and has
 * it killed and started again if it waits. It alone has CAP_SYS_PTRACE for that.
 *
 * The functions are for the worker's loop. The processes of one user, or one process of a
 * trusted user, cost the loop 20 ms of waits in 10 s, in one read or in many, and 300 ms of
 * reads that are long; after that they are not read for 10 s. The loop waits for a busy machine
 * 200 ms at most. These are times in which the loop itself had a core. -EAGAIN: there is no answer
 * now.
 */
#ifndef KFDSHIM_SCHEDULER_DAEMON_READER_H
#define KFDSHIM_SCHEDULER_DAEMON_READER_H

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

/* A turn of the loop begins: its requests together wait no longer than one may, because the loop's
 * heartbeat is once a turn. */
void reader_turn(void);

/* As peer_read(), subject_read(), peer_read_number() and target_open(), which closes its pidfd
 * here. */
int reader_facts(pid_t pid, struct peer_facts *out);
int reader_subject(pid_t pid, struct subject *out);
pid_t reader_number(pid_t of, pid_t pid);
int reader_target(pid_t pid, struct peer_facts *out, char *problem, size_t size);
/* As the functions of target.h and tracer.h; false also without an answer. */
bool reader_has_shim(pid_t pid);
bool reader_destroys(pid_t pid);
bool reader_right_has_come(pid_t pid);

/* The process: returns its exit code. refused, as of filter_install(), lies in the shared
 * memory at `counts`, the only one that it can still write. */
int reader_run(int socket, const void *counts, uint64_t *refused);

#endif

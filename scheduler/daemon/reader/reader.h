/* SPDX-License-Identifier: MIT */
/*
 * A separate process (kfdschedd-read) reads files of other processes in /proc.
 *
 * Such a read can block for as long as the other process wants. While a process calls exec, it
 * holds exec_update_lock and closes descriptors, and closing a file of FUSE waits for the FUSE
 * server. Newer kernels take exec_update_lock to read stat, exe, ns, maps and syscall (not status,
 * comm and cgroup). Only SIGKILL ends the wait. So the worker sends requests to kfdschedd-read, and
 * the watchdog kills and restarts kfdschedd-read if it blocks. It has CAP_SYS_PTRACE for these
 * reads; the worker has no capability.
 *
 * The loop does not wait for an answer. A function below that has to send a request returns
 * -EINPROGRESS. When the answer arrives, the loop runs the same code again from its beginning,
 * between the same reader_begin() and reader_end(). The functions then return what they returned
 * before, and now this answer, too. Therefore code that uses them must not have an effect before
 * its last answer. If a pidfd must be older than an answer, it is kept open between these runs.
 * -EAGAIN means that no answer is available now.
 *
 * One request is sent at a time. The processes of one user, or one process of a trusted user, may
 * cause 20 ms of waits and 300 ms of long reads within 10 s, in one read or in many. If they cause
 * more, they are not read for 10 s, because such reads delay the reads of all other processes. Only
 * time in which the loop itself had a CPU is counted.
 *
 * Threads: the worker's loop, except reader_run().
 */
#ifndef KFDSHIM_SCHEDULER_DAEMON_READER_READER_H
#define KFDSHIM_SCHEDULER_DAEMON_READER_READER_H

#include <errno.h>
#include <stddef.h>

#include "scheduler/daemon/config/match_rules.h"
#include "scheduler/daemon/peer.h"

/* Part of the memory that the worker and the watchdog share. */
struct reader_state {
	/* set by the watchdog: pid of kfdschedd-read; 0: not running; -1: will not run soon */
	pid_t pid;
	pid_t stuck; /* set by the worker: pid of the process that the watchdog must kill */
};

/* Initializes the module when a worker starts. `socket` is the worker's end of the connection to
 * kfdschedd-read, `wake_fd` the eventfd that wakes the watchdog, `owners` the owners of uids;
 * all must stay valid for the life of the worker. */
void reader_use(int socket, struct reader_state *state, int wake_fd, const struct owners *owners);

/* Receives all answers that have arrived. Called when the socket is readable, so that an answer for
 * which no request waits any more does not wake the loop again and again. */
void reader_receive(void);

/* Receives an answer if one is awaited, sends the next request, and aborts one that takes too long.
 * Called in each loop iteration. */
void reader_step(uint64_t now);

/* Returns the time at which reader_step() must be called again even if no answer arrives;
 * UINT64_MAX: none; 0: at once. */
uint64_t reader_next(void);

/* Returns the next `asker` (reader_begin()) whose code must be run again, because an answer for it
 * has arrived; 0: no further one. */
uint64_t reader_replied(void);

/* the `asker` (see reader_begin()) of external_rules_check() */
#define READER_RULES 1u

/* Marks the beginning of code that may call the functions below. `asker` is a number other than 0
 * that identifies the code, so that a later run gets the same answers. Outside of reader_begin()
 * and reader_end() these functions return -EAGAIN. */
void reader_begin(uint64_t asker);

/* Marks the end of the code after reader_begin(). Returns true if the code waits for an answer.
 * Otherwise drops all answers of the asker. */
bool reader_end(void);

/* Returns true if a function has returned -EINPROGRESS since reader_begin(). */
bool reader_waits(void);

/* Drops all requests and answers of an asker (code that waits for answers) whose code will not run
 * again. */
void reader_forget(uint64_t asker);

/* Returns true if `error` means that there is no answer now (-EAGAIN) or not yet (-EINPROGRESS). */
static inline bool reader_has_none(int error)
{
	return error == -EAGAIN || error == -EINPROGRESS;
}

/* Return and write the same as peer_read(), subject_read(), peer_read_number() and target_read(),
 * in this order, or return -EAGAIN or -EINPROGRESS. */
int reader_facts(pid_t pid, struct peer_facts *out);
int reader_subject(pid_t pid, struct proc_attrs *out);
pid_t reader_number(pid_t of, pid_t pid);
int reader_target(pid_t pid, struct peer_facts *out, char *problem, size_t size);

/* reader_has_shim() returns 1 if the process has the shim and it is not disabled, 0 if not or if
 * that cannot be read. reader_right_has_come() returns the result of tracer_right_has_come(). Both
 * can also return a negative errno. */
int reader_has_shim(pid_t pid);
int reader_right_has_come(pid_t pid);

/* Returns 1 if a thread of the process is in DESTROY_QUEUE, 0 if not, or a negative errno. *took_ns
 * is the time that the read took, because it reads a file for each thread. */
int reader_destroys(pid_t pid, uint64_t *took_ns);

/* The main function of kfdschedd-read. `refused` is the counter of filter_install(); it is in
 * the shared mapping at `counts`, the only one that this process can still write. Returns the
 * exit code of the process. */
int reader_run(int socket, const void *counts, uint64_t *refused);

/* ---- kfdschedd-read (reader_run.c) ---- */

/* Messages between the worker and kfdschedd-read, one packet each. */
#define READER_PROBLEM 256u

enum reader_what {
	READER_FACTS,
	READER_SUBJECT,
	READER_NUMBER,
	READER_TARGET,
	READER_HAS_SHIM,
	READER_DESTROYS,
	READER_RIGHT_HAS_COME,
};

struct reader_request {
	uint64_t number; /* number of the request, repeated in its answer */
	uint32_t what;
	pid_t pid;
	pid_t other; /* for READER_NUMBER: the pid to translate, in the PID namespace of `pid` */
};

struct reader_reply {
	uint64_t number;
	int32_t result;	  /* return value of the function */
	uint64_t took_ns; /* ns from the request's arrival to this answer */
	union {
		struct peer_facts facts; /* also with READER_TARGET */
		struct proc_attrs subject;
	};
	char problem[READER_PROBLEM]; /* READER_TARGET: one sentence */
};

/*
 * Checks that a process that a request or a rule names by pid can be an external process
 * (external.h). Such a process has no connection to the daemon, so only /proc and sysfs have
 * information about it. All that is read is about one process, not partly about a later one with
 * the same pid.
 *
 * Returns as peer_read(), or a negative errno with one sentence in `problem`:
 *   -ESRCH: no such process (wrong number, another namespace, a zombie);
 *   -EINVAL: it cannot have a priority (a thread, a kernel thread, the daemon itself);
 *   -ENODEV: it does not use the driver, or is not found in the driver's list;
 *   -EEXIST: it has the shim;
 *   -EACCES: its namespaces cannot be read.
 */
int target_read(pid_t pid, struct peer_facts *out, char *problem, size_t size);

#endif

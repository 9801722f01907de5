/* SPDX-License-Identifier: MIT */
/*
 * Samples the queues of one process from outside, as often as the caller likes.
 *
 * No source suspends, stops or attaches to the process, with one exception: OBSERVE_TRAP opens a
 * debug session, takes a queue snapshot and ends the session. This costs each GPU of the process
 * one or two runlist updates, and fails while another debugger has a session on the process. It is
 * used only if `sources` names it.
 *
 * Threads: an observer is used by one thread at a time. Ownership: observe_open() and
 * observe_close(). The caller zeroes a struct observation once, can pass it to any number of
 * samples, and ends it by observation_free(). Errors: negative errno, with a sentence in `why`
 * where a function has that parameter.
 */
#ifndef KFDSHIM_CLI_INSPECT_INSPECT_H
#define KFDSHIM_CLI_INSPECT_INSPECT_H

#include <sys/types.h>

#include "cli/inspect/queue_view.h"

#define OBSERVE_WHY 256 /* bytes of a buffer for one sentence, with its NUL */

/* Default set of sources (kfdsched queues and others): all but OBSERVE_TRAP. */
enum {
	OBSERVE_ALL = OBSERVE_BIT(OBSERVE_DAEMON) | OBSERVE_BIT(OBSERVE_SHM) |
		      OBSERVE_BIT(OBSERVE_SYSFS) | OBSERVE_BIT(OBSERVE_MEMORY) |
		      OBSERVE_BIT(OBSERVE_MQD) | OBSERVE_BIT(OBSERVE_HQD)
};

struct observer;

struct observe_options {
	pid_t pid;	    /* pid in the caller's pid namespace */
	unsigned sources;   /* OBSERVE_BIT()s; 0: OBSERVE_ALL */
	const char *socket; /* daemon's socket; NULL: libkfdsched's default. Kept, not copied */
	/* An observer with the same socket that stays open longer than this one; NULL: none. Both
	 * then share debugfs texts of the last 200 ms, because on hardware reading debugfs reads
	 * registers, and the knowledge whether the daemon runs in another pid namespace. */
	struct observer *beside;
};

/* Opens an observer. If the process does not exist, the first observe_sample() returns -ESRCH. */
struct observer *observe_open(const struct observe_options *options);
void observe_close(struct observer *observer); /* NULL is allowed */

/* Result of one source in a sample. */
struct observe_result {
	bool queried;	       /* the source was queried in this sample */
	int error;	       /* 0; -ENOENT: no data about this process; others: see why */
	char why[OBSERVE_WHY]; /* one sentence if error != 0 */
	struct observe_list list;
	size_t unmatched; /* entries that could not be joined to a queue id */
};

/* One sample: the result of each source, and the queues joined from all of them. */
struct observation {
	uint64_t ns;	 /* CLOCK_MONOTONIC at the begin of the sample */
	pid_t host_pid;	 /* pid in the driver's numbering; 0: not known from here */
	bool alive;	 /* false: the process has ended; its pid may be reused */
	uint32_t listed; /* OBSERVE_BIT()s of the sources that listed queues by id */
	struct observe_list queues;
	struct observe_result result[OBSERVE_SOURCES];
};

/*
 * Takes one sample from all sources of the observer.
 *
 * Returns 0 also if no source has data; see out->result[]. -ESRCH: the process has ended since
 * observe_open(); out->alive is false. A reused pid is noticed.
 */
int observe_sample(struct observer *observer, struct observation *out);
/* Frees the memory of an observation and zeroes it. */
void observation_free(struct observation *observation);

/*
 * Lists the queues only: id, context, gpu_id, type and ring size, from the first source of
 * `sources` that has data (in the order daemon, shm, trap, sysfs, debugfs). Cheap enough for a
 * thousand calls a second: from sysfs, the files of a queue are read again only if its id has a new
 * directory.
 *
 * *source: the source of the list. Returns 0, or a negative errno:
 * -ESRCH   as observe_sample()
 * others   no source has data; this is the error of the last source queried, with its reason in
 *          `why` (-ENOENT: it has no data about the process)
 */
int observe_ids(struct observer *observer, struct observe_list *out, enum observe_source *source,
		char why[static OBSERVE_WHY]);

/* Returns the raw text of debugfs kfd/mqds (OBSERVE_MQD) or kfd/hqds (OBSERVE_HQD) that the last
 * sample read, NUL-terminated, or NULL if there is none. *bytes: its length. The text belongs to
 * the observer and is valid until the next sample. */
const char *observe_raw(const struct observer *observer, enum observe_source source, size_t *bytes);

/*
 * Translates a pid of the caller's pid namespace into the driver's numbering (the host's pid).
 * Returns 0 if it cannot be known from here: /sys/class/kfd/kfd/proc uses the initial pid
 * namespace, and the caller is in another one. A daemon in the initial namespace may know the pid.
 */
pid_t observe_host_pid(pid_t pid);
/* Returns true if the caller is in the pid namespace whose pids the driver uses. */
bool observe_names_match(void);

#endif

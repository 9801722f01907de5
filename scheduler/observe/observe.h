/* SPDX-License-Identifier: MIT */
/*
 * Looks at the queues of one process, from outside, as often as one likes.
 *
 * Nothing here suspends, stops or attaches to a process, but for the source OBSERVE_TRAP,
 * which is asked only when it is named in `sources`: it opens a debug session for the
 * snapshot and ends it again (a bounce or two of each GPU, and it cannot be had beside
 * another debugger).
 *
 * Threads: one observer in one thread. Ownership: observe_open/observe_close; an
 * observation is zeroed to begin with, can be used for sample after sample, and is ended
 * by observation_free(). Errors: a negative errno, with a sentence where one is named.
 */
#ifndef KFDSHIM_OBSERVE_OBSERVE_H
#define KFDSHIM_OBSERVE_OBSERVE_H

#include <sys/types.h>

#include "scheduler/observe/queue.h"

#define OBSERVE_WHY 256 /* room for a sentence */

/* Whom `queues` and its like ask when nobody chose: all but TRAP. */
enum {
	OBSERVE_ALL = OBSERVE_BIT(OBSERVE_DAEMON) | OBSERVE_BIT(OBSERVE_LANE) |
		      OBSERVE_BIT(OBSERVE_SYSFS) | OBSERVE_BIT(OBSERVE_MEMORY) |
		      OBSERVE_BIT(OBSERVE_MQD) | OBSERVE_BIT(OBSERVE_HQD)
};

struct observer;

struct observe_options {
	pid_t pid;	    /* in our pid namespace */
	unsigned sources;   /* OBSERVE_BIT()s; 0: OBSERVE_ALL */
	const char *socket; /* of the daemon; NULL: the session's own. Kept, not copied */
	/* One of the same socket that is open for longer, or NULL: where the daemon counts is
	 * not asked again, and what it or another one beside it has read of debugfs a moment
	 * ago is not read again, for on hardware that reads registers. */
	struct observer *beside;
};

/* NULL: no memory. Whether there is such a process is found by the first sample. */
struct observer *observe_open(const struct observe_options *options);
void observe_close(struct observer *observer); /* NULL is allowed */

/* What one source said. */
struct observe_answer {
	bool asked;
	int error;	       /* 0; -ENOENT: it knows nothing of that process; others: see why */
	char why[OBSERVE_WHY]; /* one sentence, when error != 0 */
	struct observe_list list;
	size_t unmatched; /* entries that could not be joined to a queue id */
};

struct observation {
	uint64_t ns;	 /* CLOCK_MONOTONIC, when it began */
	pid_t host_pid;	 /* as the driver numbers it; 0: not known from here */
	bool alive;	 /* false: that process has ended (its number may be another's) */
	uint32_t listed; /* OBSERVE_BIT of the sources that told queues by id */
	struct observe_list queues;
	struct observe_answer answer[OBSERVE_SOURCES];
};

/*
 * One sample of all sources. 0 also where no source knows anything: see the answers.
 * -ESRCH: the process has ended since observe_open (a number that was used again is
 * noticed), and *out has alive false.
 */
int observe_sample(struct observer *observer, struct observation *out);
void observation_free(struct observation *observation);

/*
 * Only which queues there are: id, context, gpu_id, type, ring size, from the first source
 * of `sources` that knows (daemon, lane, trap, sysfs, debugfs); as cheap as can be, for a
 * thousand a second. sysfs: what a queue id says is read again only when its folder is
 * another one. *source: who it was. -ENOENT: nobody knows; why[] says for the last one
 * that was asked. -ESRCH as above.
 */
int observe_ids(struct observer *observer, struct observe_list *out, enum observe_source *source,
		char why[static OBSERVE_WHY]);

/* The raw text of debugfs kfd/mqds (OBSERVE_MQD) or kfd/hqds (OBSERVE_HQD) that the last
 * sample read, NUL-terminated; NULL: none. Valid until the next sample. */
const char *observe_raw(const struct observer *observer, enum observe_source source, size_t *bytes);

/*
 * The driver's number (host's pid) of a process of our pid namespace. 0: it cannot be
 * known from here, for /sys/class/kfd/kfd/proc counts in the machine's first pid namespace
 * and we are in another one. Where a daemon runs there, it may know: ask it.
 */
pid_t observe_host_pid(pid_t pid);
/* We are in the pid namespace in which the driver counts. */
bool observe_names_match(void);

/* All processes that use a GPU, by our own numbers: the daemon's and, where its numbers
 * are ours, sysfs', without those of kfdsched and kfdschedd. Their number (at most `max` are
 * written), sorted, or -errno. */
int observe_processes(const char *socket, pid_t *out, size_t max);
/*
 * Can such a list be complete here? 0: the driver's is, or a daemon answers. -ENODEV: there is no
 * driver; -EXDEV: the driver's numbers are of another pid namespace, and no daemon answers. `why`
 * is then a sentence without a full stop that says what to do.
 */
int observe_can_list(const char *socket, char why[static OBSERVE_WHY]);

#endif

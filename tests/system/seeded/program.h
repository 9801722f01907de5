/* SPDX-License-Identifier: MIT */
/*
 * What a workload does: a program that has the real agent in it, makes queues, has the GPU work
 * and waits for that, as an HSA runtime would; a second thread makes and destroys another queue.
 */
#ifndef KFDSHIM_TESTS_SEEDED_PROGRAM_H
#define KFDSHIM_TESTS_SEEDED_PROGRAM_H

#include <stdbool.h>
#include <stdint.h>

#include "tests/system/seeded/images.h"
#include "tests/system/seeded/process.h"

#define PROGRAMS 32 /* of one run */

struct program_ways {
	int priority;
	const char *level; /* KFDSHIM_LEVEL; NULL: none */
	uid_t uid;
	uint64_t pid_ns, user_ns;
	uint32_t node;			    /* 0 to DRIVER_NODES - 1 */
	uint64_t work_most_ns, gap_most_ns; /* a packet's, and between two */
	bool churn;			    /* it has the second thread */
};

struct program {
	struct program_ways ways;
	struct process *process; /* NULL: this place was never used */
	int priority;		 /* as it says now */
	uint64_t came_ns;	 /* or when its priority changed */
	uint64_t made_ns;	 /* when it made a queue last, or is in that */
	uint64_t destroys_ns[2]; /* since when a thread is in DESTROY_QUEUE; 0: it is not */
	bool rests, ends;	 /* it is to do no more work; to end */
	uint64_t packets;	 /* that were done */
};

extern struct image agent_images[AGENT_IMAGES];
extern struct program programs[PROGRAMS];

void programs_begin(void);
/* NULL: all images are in use. */
struct program *program_start(const struct program_ways *ways);
bool program_runs(const struct program *program);
/* It is another program from now on, `with` the agent or without. */
void program_exec(struct program *program, bool with);
/* From one of its threads to be: another priority. */
void program_wish(struct program *program, int priority);
/* All are to rest; all are to end. */
void programs_rest(void);
void programs_end(void);
unsigned programs_running(void);

#endif

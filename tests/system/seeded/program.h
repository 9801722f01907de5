/* SPDX-License-Identifier: MIT */
/*
 * A simulated workload: a program with the real agent. It creates queues, submits work to the GPU
 * and waits for it, as an HSA runtime does; a second thread creates and destroys another queue.
 *
 * Threads: fibers of one real thread (fiber.h).
 */
#ifndef KFDSHIM_TESTS_SEEDED_PROGRAM_H
#define KFDSHIM_TESTS_SEEDED_PROGRAM_H

#include <stdbool.h>
#include <stdint.h>

#include "tests/system/seeded/images.h"
#include "tests/system/seeded/process.h"

#define PROGRAMS 32 /* maximum of one run */

/* How a program behaves; constant during its life. */
struct program_ways {
	int priority;
	const char *level; /* value of KFDSHIM_LEVEL; NULL: unset */
	uid_t uid;
	uint64_t pid_ns, user_ns;
	uint32_t node;			    /* 0 to DRIVER_NODES - 1 */
	uint64_t work_most_ns, gap_most_ns; /* maximum duration of a packet, and of a pause */
	bool churn;			    /* it has the second thread */
};

/* A program of the run and its state, which the checks read. */
struct program {
	struct program_ways ways;
	struct process *process; /* NULL: this entry was never used */
	int priority;		 /* the priority that it currently declares */
	uint64_t came_ns;	 /* ns of its start or of its last change of priority */
	uint64_t made_ns;	 /* ns of the last creation of a queue, or of one in progress */
	uint64_t destroys_ns[2]; /* ns since which a thread is in DESTROY_QUEUE; 0: it is not */
	bool rests, ends;	 /* it must stop working; it must end */
	uint64_t packets;	 /* number of completed packets */
};

extern struct image agent_images[AGENT_IMAGES];
extern struct program programs[PROGRAMS];

/* Removes all programs; called at the begin of a run. */
void programs_begin(void);
/* Starts a program. Returns NULL if all images are in use. */
struct program *program_start(const struct program_ways *ways);
/* Returns whether the program's process runs. */
bool program_runs(const struct program *program);
/* Replaces the program by another one (exec), `with` the agent or without. */
void program_exec(struct program *program, bool with);
/* Changes the priority at run time, from a thread of the program. */
void program_setting(struct program *program, int priority);
/* Make all programs stop working; make all programs end. */
void programs_rest(void);
void programs_end(void);
/* Returns the number of programs that run. */
unsigned programs_running(void);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * Where the time of the GPU went while offline processes were to run on it, in shares that add up
 * to the whole. What kfdsim counts of the GPU (docs/formats.md, simulation.json) says all of it but
 * for how long the daemon held the process over, which the daemon says; on hardware nothing but
 * that is known.
 *
 * What is not known is NAN. Threads: none.
 */
#ifndef KFDSHIM_CLI_RESULT_TIME_H
#define KFDSHIM_CLI_RESULT_TIME_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/nodes.h"
#include "scheduler/cli/table.h"

enum time_share {
	TIME_OFFLINE,	   /* its work ran, beside others' or not */
	TIME_ONLINE,	   /* other work ran alone */
	TIME_BOUNCES,	   /* without the next */
	TIME_SAVE_RESTORE, /* of running work */
	TIME_DETECTION,	   /* suspended, and no other process had packets; but for the next: not yet
	                      known to have none */
	TIME_HOLD_OVER,	   /* suspended, and known not to be in the way of any */
	TIME_IDLE_HELD,	   /* suspended, and packets of others did not run yet */
	TIME_OWN_GAPS,	   /* it had no work there */
	TIME_SHARES
};
/* What the columns are called. */
extern const char *const time_titles[TIME_SHARES];

struct result_time {
	double us[TIME_SHARES]; /* model time */
	double all_us;
};

/* What kfdsim charges each nanosecond of a GPU to. */
enum time_part {
	PART_RUN,
	PART_BOUNCE,
	PART_SAVE,
	PART_RESTORE,
	PART_HELD_READY,
	PART_HELD,
	PART_IDLE,
	TIME_PARTS
};

#define TIME_GPUS GPU_NODES_MAX

/* What has been counted at one moment. */
struct time_reading {
	uint64_t wall_ns;
	double held_over_us; /* of the process, or the mean of several, by the daemon; wall */
	bool several;	     /* of processes: for how long work of any ran is not known */
	unsigned n_gpus;     /* 0: they are not known */
	struct time_gpu {
		uint64_t ns[TIME_PARTS];
		uint64_t process_ns;  /* for which work of the one process ran */
		bool process_unknown; /* because there are too many processes */
	} gpus[TIME_GPUS];
};

/* The GPUs of simulation.json, and what it says of the process @pid, a number of its own pid
 * namespace. 0; -ENOENT: no such file; -EINVAL: it is not as documented. Then no GPU is known. */
int time_read(const char *path, pid_t pid, struct time_reading *out);
/* What was spent between two moments: on the GPU that was idle for the shortest time. */
void time_between(const struct time_reading *earlier, const struct time_reading *later,
		  double time_scale, struct result_time *out);
/* Nothing is known. */
struct result_time time_unknown(void);

double time_percent(const struct result_time *time, enum time_share share);
json_t *time_json(const struct result_time *time);
/* A table, and a row of it. */
struct table *time_table(void);
void time_row(struct table *table, const char *arm, const struct result_time *time);

#endif

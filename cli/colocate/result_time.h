/* SPDX-License-Identifier: MIT */
/*
 * Divides the time of a GPU, while offline processes had to run on it, into shares that add up to
 * the whole.
 *
 * All shares come from the counters of kfdsim (docs/reference/kfdsim-files.md, simulation.json),
 * except TIME_HOLD_OVER, which the daemon reports. On hardware TIME_HOLD_OVER alone is known.
 *
 * A value that is not known is NAN. Threads: none.
 */
#ifndef KFDSHIM_CLI_COLOCATE_RESULT_TIME_H
#define KFDSHIM_CLI_COLOCATE_RESULT_TIME_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "cli/output/fields.h"
#include "common/nodes.h"

enum time_share {
	/* Offline work ran, with or without other work beside it. If k processes run at once, 1/k
	 * of that time counts for each of them. */
	TIME_OFFLINE,
	TIME_ONLINE,	   /* the rest of the run time: only other work ran */
	TIME_UPDATES,	   /* runlist updates, without save and restore */
	TIME_SAVE_RESTORE, /* save and restore of running waves */
	/* The offline process was suspended although no other process had packets: the daemon did
	 * not know yet that the other work had ended. Does not include TIME_HOLD_OVER. */
	TIME_DETECTION,
	TIME_HOLD_OVER, /* offline was suspended although the daemon knew of no other work */
	TIME_IDLE_HELD, /* offline was suspended; other processes had packets that did not run yet */
	TIME_OWN_GAPS,	/* the offline process had no work */
	TIME_SHARES
};

struct result_time {
	double us[TIME_SHARES]; /* model time */
	double all_us;
};

struct time_percents {
	double of[TIME_SHARES];
};

/* Categories to which kfdsim charges each nanosecond of a GPU. */
enum time_part {
	PART_RUN,
	PART_UPDATE,
	PART_SAVE,
	PART_RESTORE,
	PART_HELD_READY,
	PART_HELD,
	PART_IDLE,
	TIME_PARTS
};

#define TIME_GPUS GPU_NODES_MAX

/* Counters at one moment. */
struct time_reading {
	uint64_t wall_ns;
	/* Time for which the daemon held the process after the online work had ended (hold-over),
	 * as the daemon reports it; of several processes the mean; wall. */
	double held_over_us;
	unsigned n_gpus; /* 0: the GPUs are not known */
	struct time_gpu {
		uint64_t ns[TIME_PARTS];
		/* Sum of the times in which work of the processes of time_read() ran. */
		uint64_t process_ns;
		unsigned processes;   /* number of entries that process_ns adds up */
		bool process_unknown; /* too many processes: the file has no such counters */
	} gpus[TIME_GPUS];
};

/* Reads the GPUs of simulation.json and the counters of the n processes `pids`, which are numbers
 * in the pid namespace of that file. Returns 0; -ENOENT if there is no such file; -EINVAL if it is
 * not as documented. On an error out->n_gpus is 0. */
int time_read(const char *path, const pid_t *pids, unsigned n, struct time_reading *out);
/* Computes the shares between two readings, for the GPU that was idle for the shortest time. */
void time_between(const struct time_reading *earlier, const struct time_reading *later,
		  double time_scale, struct result_time *out);
/* Returns a result in which nothing is known. */
struct result_time time_unknown(void);

/* Makes the shares of a bit mask unknown. */
void time_forget(struct result_time *time, unsigned shares);

/* Returns a share in percent of all; NAN if it is not known. */
double time_percent(const struct result_time *time, enum time_share share);
/* Returns all shares in percent as a JSON object, null for those that are not known. */
json_t *time_json(const struct result_time *time);
/* Fields of struct time_percents, for JSON, and for a row of the table with the arm's name. */
extern const struct field fields_colocate_time[], fields_colocate_time_row[];

#endif

/* SPDX-License-Identifier: MIT */
/*
 * Evaluates a recording (recording.h): how many queues the processes had over time, with
 * which ids, how each queue was configured and whether that changed, how many hardware slots
 * (HQDs) a queue occupied, and how many packets waited.
 *
 * Samples are added one after the other. Memory grows with the number of different queues
 * in the recording, not with its length.
 *
 * Pure, except that analysis_chart() and analysis_svg() write to the FILE that they are given.
 * Threads: one at a time for each analysis. Ownership: the caller zeroes a struct analysis
 * before its first use and ends it with analysis_free().
 */
#ifndef KFDSHIM_CLI_RECORD_ANALYSIS_H
#define KFDSHIM_CLI_RECORD_ANALYSIS_H

#include <jansson.h>
#include <stdio.h>

#include "cli/record/recording.h"
#include "cli/record/sampling.h"
#include "cli/util/command.h"
#include "kfd/gpu_name.h"
#include "kfd/topology.h"

/* Points of the curve of the queue count. When all are used, neighbours are merged in pairs, so
 * that each point then stands for twice as many samples. */
#define ANALYSIS_POINTS 512u
#define ANALYSIS_PROCESSES 4096u
#define ANALYSIS_NODES 256u
#define ANALYSIS_XCCS 16u /* XCCs that are counted separately, by their number in the GPU */

/*
 * Statistics of a backlog: how many packets waited in an AQL queue, or in several together, in
 * each sample of a series.
 *
 * The values are kept in their order of size. If there are more than BACKLOG_SAMPLES, every second
 * one is dropped and from then on only every second sample is kept, and so on; the median is then
 * that of the samples that are left. The other figures count every sample.
 *
 * The caller zeroes a struct backlog before its first use and ends it with backlog_free(). Where a
 * pointer to a backlog is const, NULL is allowed and means one without samples.
 */
#define BACKLOG_SAMPLES 1024u

struct backlog {
	size_t samples;	    /* samples in which the backlog was known */
	size_t waiting;	    /* part of `samples` with at least one packet */
	uint64_t max;	    /* packets */
	uint64_t *recorded; /* packets, ascending; owned */
	size_t count, room;
	size_t every; /* one of so many samples is kept; 0: no sample yet */
};

/* Adds a sample in which `packets` waited. */
void backlog_add(struct backlog *backlog, uint64_t packets);
void backlog_free(struct backlog *backlog);

/* Returns true if the backlog was known in a sample. */
bool backlog_known(const struct backlog *backlog);
/* Returns the share of the samples in which a packet waited, 0 to 1; 0 without samples. */
double backlog_share(const struct backlog *backlog);
/* Returns the median in packets, of an even number of samples the mean of the middle two; 0
 * without samples. */
double backlog_median(const struct backlog *backlog);
/* Compares two backlogs by their median, then by the share of samples with a packet, then by their
 * maximum. Returns a number below 0 if `a` is the smaller one, 0 if they are equal, else one above
 * 0. */
int backlog_compare(const struct backlog *a, const struct backlog *b);
/* Returns {"samples", "waiting_ratio", "median_packets", "max_packets"}
 * (docs/reference/recordings.md, kfdsched compare --json), or null if the backlog was not known in
 * any sample. */
json_t *backlog_json(const struct backlog *backlog);

struct analysed_queue {
	struct observe_queue last; /* for each field, the last value that was known */
	uint32_t changed;	   /* bit mask of enum observe_field: fields with several values */
	struct backlog backlog;	   /* of an AQL queue; owned */
};

struct analysed_process {
	pid_t pid, host_pid;
	uint64_t started;	  /* with pid, identifies the process */
	char comm[RECORDED_COMM]; /* of the last sample: an exec changes it */
	double first_seconds,
		last_seconds;	      /* samples with this process; s since the recording began */
	struct sampling sampling;     /* ids over time */
	struct backlog backlog;	      /* of its AQL queues together; owned */
	struct analysed_queue *queue; /* sorted by context, then id; owned */
	size_t count, room;	      /* entries used and allocated */
};

/* One GPU node: maxima over the samples, all processes together. */
struct analysed_node {
	uint32_t gpu_id;
	struct backlog backlog;	     /* of its AQL queues together; owned */
	int64_t compute_slots, xccs; /* from the recording's first line; -1: not known */
	size_t queues, compute;	     /* most queues, most compute queues, in one sample */
	/* In the sample with the most HQDs: sums of MQDs and of HQDs; compute queues with a slot in
	 * each XCC; compute queues with a slot in any XCC. */
	uint64_t mqds, hqds;
	size_t in_xcc[ANALYSIS_XCCS];
	size_t mapped;
	bool hqds_known;      /* false: mqds, hqds, in_xcc and mapped mean nothing */
	uint64_t least, most; /* HQDs of one mapped compute queue; 0: none was ever mapped */
};

/* Consecutive samples, merged into one point of the curve. */
struct analysed_point {
	double from, to; /* first and last sample; s since the recording began */
	size_t min, max; /* queues of all processes */
};

/* GPU use by other processes, before the recorded command began or after it ended. */
struct analysed_others {
	bool known; /* false: the recording has no such sample */
	size_t processes, queues;
};

struct analysis {
	size_t samples;			  /* without those before the command and after it */
	struct analysed_process *process; /* in order of appearance; owned */
	size_t count, room;		  /* processes: used and allocated */
	size_t unkept; /* entries dropped: beyond ANALYSIS_PROCESSES or ANALYSIS_NODES */
	struct analysed_node node[ANALYSIS_NODES];
	size_t nodes;
	struct topology_gpu gpu[TOPOLOGY_GPUS]; /* GPUs of the machine that was recorded */
	size_t gpus;
	struct gpu_name name[TOPOLOGY_GPUS]; /* of these GPUs, as far as the recording has names */
	size_t names;
	struct analysed_point point[ANALYSIS_POINTS];
	size_t points;
	size_t per_point, in_point; /* samples a full point has; samples in the last point */
	struct analysed_others before, after;
};

/* Takes the compute slots, XCCs and names of the GPUs from `nodes`, the array in the recording's
 * first line. To be called before the first analysis_add(). Entries without a gpu_id are
 * ignored. */
void analysis_nodes(struct analysis *analysis, const json_t *nodes);
/* Adds the next sample of the recording. A sample of the time before the command began or after
 * it ended only sets `before` or `after`. */
void analysis_add(struct analysis *analysis, const struct recorded_sample *sample);
void analysis_free(struct analysis *analysis);
/* Returns the names of a GPU of the recorded machine. NULL: the recording has none. */
const struct gpu_name *analysis_gpu(const struct analysis *analysis, uint32_t gpu_id);
/* Returns the queue of the process with that context and id; NULL: the process has none. */
const struct analysed_queue *analysis_queue(const struct analysed_process *process,
					    uint32_t context, uint32_t id);

/* Returns true if a change of the field means that the queue was reconfigured (ring, priority,
 * CU mask, ...), false for fields that change while it runs: pointers, backlog, activity,
 * suspension, hardware slots and exceptions. */
bool analysis_is_setting(enum observe_field field);

/* Prints the queue count over time as a text chart of at most 8 rows and 60 columns. Prints
 * nothing if no sample has a count. */
void analysis_chart(const struct analysis *analysis, FILE *out);
/* Writes the queue count over time as a self-contained SVG plot. */
void analysis_svg(const struct analysis *analysis, const char *title, FILE *out);
/* Prints the nodes as a table on stdout. */
void analysis_node_table(const struct analysis *analysis);
/* Returns the findings as a JSON array of sentences, owned by the caller. */
json_t *analysis_conclusion(const struct analysis *analysis);
/* Returns the keys of `kfdsched analyze --json` (docs/reference/recordings.md), except those about
 * the recording itself, which the caller adds. The caller owns the object. */
json_t *analysis_json(const struct analysis *analysis);
/*
 * Reads a whole recording into the analysis; if it was cut off or is damaged, the part that can be
 * read. `name`: name of the recording in messages. The caller closes *out, also after an error.
 * Returns CLI_DONE; or CLI_FAILED, after one line on stderr, also if it has no complete sample.
 */
int analyze_read(const struct cli_command *cmd, const char *dir, const char *name,
		 struct analysis *analysis, struct recording **out);
extern const struct field fields_settings_row[], fields_gpu_user_row[]; /* rows of tables */

#endif

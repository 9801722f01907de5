/* SPDX-License-Identifier: MIT */
/*
 * Evaluates a recording (record.h): how many queues the processes had over time, with which ids,
 * how each queue was configured and whether that changed, how many hardware slots (HQDs) a queue
 * occupied, and how many packets waited.
 *
 * Samples are added one after the other. Memory grows with the number of different queues in the
 * recording, not with its length.
 *
 * Pure, except for the functions that write to a FILE or to stdout, and for analyze_read(), which
 * reads a recording. Threads: one at a time for each analysis. Ownership: the caller zeroes a
 * struct analysis before its first use and frees it by analysis_free().
 */
#ifndef KFDSHIM_CLI_RECORD_ANALYSIS_H
#define KFDSHIM_CLI_RECORD_ANALYSIS_H

#include "cli/inspect/process.h"
#include "cli/record/record.h"
#include "cli/record/sampling.h"

/* Maximum number of points of the curve that shows the queue count over time. When all are used,
 * neighbours are merged in pairs, so that each point then stands for twice as many samples. */
#define ANALYSIS_POINTS 512u
#define ANALYSIS_PROCESSES 4096u
#define ANALYSIS_NODES 256u
#define ANALYSIS_XCCS 16u /* maximum of XCCs of a GPU that are counted one by one */

/*
 * Statistics of a backlog: in each sample of a series, how many packets waited in an AQL queue, or
 * in several queues together.
 *
 * The values are kept in ascending order. When BACKLOG_SAMPLES values are kept, every second one is
 * dropped, and from then on only every second sample is kept; this is repeated whenever the limit
 * is reached again. The median is that of the values that are kept. All other figures count every
 * sample.
 *
 * The caller zeroes a struct backlog before its first use and frees it by backlog_free(). A
 * function with a const pointer to a backlog accepts NULL, which means a backlog without samples.
 */
#define BACKLOG_SAMPLES 1024u

struct backlog {
	size_t samples;	    /* samples in which the backlog was known */
	size_t waiting;	    /* samples in which at least one packet waited */
	uint64_t max;	    /* packets */
	uint64_t *recorded; /* packets, ascending; owned */
	size_t count, room;
	size_t every; /* only every N-th sample is kept; 0: no sample yet */
};

/* Adds a sample in which `packets` waited. */
void backlog_add(struct backlog *backlog, uint64_t packets);
void backlog_free(struct backlog *backlog);

/* Returns true if the backlog was known in at least one sample. */
bool backlog_known(const struct backlog *backlog);
/* Returns the share of the samples in which a packet waited, 0 to 1; 0 without samples. */
double backlog_share(const struct backlog *backlog);
/* Returns the median number of packets. If the number of samples is even, that is the mean of the
 * two in the middle. Returns 0 without samples. */
double backlog_median(const struct backlog *backlog);
/* Compares two backlogs by their median, then by the share of samples with a packet, then by their
 * maximum. Returns a number below 0 if `a` is smaller, 0 if they are equal, and a number above 0 if
 * `b` is smaller. */
int backlog_compare(const struct backlog *a, const struct backlog *b);
/* Returns {"samples", "waiting_ratio", "median_packets", "max_packets"}
 * (docs/reference/recordings.md, kfdsched compare --json), or null if the backlog was not known in
 * any sample. */
json_t *backlog_json(const struct backlog *backlog);

struct analysed_queue {
	struct observe_queue last; /* for each field, the latest known value */
	uint32_t changed;	   /* bit N: field N of enum observe_field had several values */
	struct backlog backlog;	   /* of an AQL queue; owned */
};

struct analysed_process {
	pid_t pid, host_pid;
	uint64_t started;	  /* start time in clock ticks; with pid, identifies the process */
	char comm[RECORDED_COMM]; /* name in the last sample, because an exec changes it */
	/* Times of the first and the last sample with the process, in seconds since the recording
	 * began. */
	double first_seconds, last_seconds;
	struct sampling sampling;     /* ids over time */
	struct backlog backlog;	      /* of its AQL queues together; owned */
	struct analysed_queue *queue; /* sorted by context, then id; owned */
	size_t count, room;	      /* entries used and allocated */
};

/* Results for one GPU node: maxima over the samples. Each sample counts the queues of all processes
 * together. */
struct analysed_node {
	uint32_t gpu_id;
	struct backlog backlog;	     /* of its AQL queues together; owned */
	int64_t compute_slots, xccs; /* from the recording's first line; -1: not known */
	size_t queues, compute;	     /* highest numbers in one sample: all queues, compute queues */
	/* Values of the sample with the most HQDs. mqds, hqds: sums over all queues. in_xcc[N]:
	 * compute queues with a slot in XCC N. mapped: compute queues with a slot in any XCC. */
	uint64_t mqds, hqds;
	size_t in_xcc[ANALYSIS_XCCS];
	size_t mapped;
	bool hqds_known; /* false: mqds, hqds, in_xcc and mapped mean nothing */
	/* Fewest and most HQDs of one mapped compute queue; 0: no queue was ever mapped. */
	uint64_t least, most;
};

/* Consecutive samples, merged into one point of the curve. */
struct analysed_point {
	double from, to; /* times of first and last sample; s since the recording began */
	size_t min, max; /* lowest and highest queue count of all processes together */
};

/* GPU use by other processes, before the recorded command began or after it ended. */
struct analysed_others {
	bool known; /* false: the recording has no such sample */
	size_t processes, queues;
};

struct analysis {
	size_t samples;			  /* samples of phase RECORDED_SAMPLE */
	struct analysed_process *process; /* in order of appearance; owned */
	size_t count, room;		  /* processes: used and allocated */
	/* Number of ignored entries of samples: processes beyond ANALYSIS_PROCESSES, and queues on
	 * nodes beyond ANALYSIS_NODES. */
	size_t unkept;
	struct analysed_node node[ANALYSIS_NODES];
	size_t nodes;
	struct topology_gpu gpu[TOPOLOGY_GPUS]; /* GPUs of the machine that was recorded */
	size_t gpus;
	struct gpu_name name[TOPOLOGY_GPUS]; /* names of these GPUs that the recording has */
	size_t names;
	struct analysed_point point[ANALYSIS_POINTS];
	size_t points;
	/* Samples that fill a point; samples that the last point has so far. */
	size_t per_point, in_point;
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
/* Returns the names of a GPU of the recorded machine, or NULL if the recording has none for it. */
const struct gpu_name *analysis_gpu(const struct analysis *analysis, uint32_t gpu_id);
/* Returns the queue of the process with this context and id, or NULL if there is none. */
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
 * Reads a whole recording into the analysis. If the recording was cut off or is damaged, reads the
 * part that is intact. `name`: name of the recording in messages. The caller closes *out, also
 * after an error. Returns CLI_DONE; or CLI_FAILED, after one line on stderr, if the recording
 * cannot be opened or has no complete sample.
 */
int analyze_read(const struct cli_command *cmd, const char *dir, const char *name,
		 struct analysis *analysis, struct recording **out);
extern const struct field fields_settings_row[], fields_gpu_user_row[]; /* rows of tables */

/* ---- comparison.c ---- */

/*
 * Compares two analyses, of recordings or of running processes: which queues both have, whether
 * queue ids can be predicted from one run to the next, how many packets waited on each side, and
 * whether both use the same GPUs and fit into their hardware slots.
 *
 * The processes of each side are sorted by pid, and the first is compared with the first, the
 * second with the second, because KFD numbers the queues of each process separately.
 *
 * Pure, except for compare_show(). Threads: one at a time. Ownership: comparison_make() fills a
 * struct comparison, which the caller frees by comparison_free(). The two analyses are borrowed and
 * have to outlive it.
 */

enum comparison_where {
	COMPARED_BOTH,	  /* same id, same node, same type */
	COMPARED_DIFFERS, /* same id, but another node or type */
	COMPARED_A,	  /* only in the first analysis */
	COMPARED_B,	  /* only in the second analysis */
	COMPARED_KINDS
};

struct compared_queue {
	enum comparison_where where;
	const char *where_name; /* JSON word: "both", "differs", "only_a", "only_b" */
	size_t process;		/* index in comparison.process of the pair that has the queue */
	uint32_t context, id;
	const struct sampled_queue *a, *b; /* borrowed from the analyses; NULL: not on that side */
	double a_share, b_share;	   /* share of the samples with the queue, 0 to 1 */
	uint32_t a_gpu_id, b_gpu_id;	   /* 0: that side does not have the queue */
	const char *a_type, *b_type;	   /* NULL: none, or not known */
	const struct backlog *a_backlog, *b_backlog; /* borrowed; NULL: not known */
};

/* Two processes that are compared with each other. */
struct compared_process {
	const struct analysed_process *a, *b; /* NULL: that side has fewer processes */
};

struct compared_node {
	uint32_t gpu_id;
	size_t a, b;   /* highest number of compute queues in one sample of each side */
	int64_t slots; /* hardware slots for compute queues; -1: not known */
	/* Backlog of all processes together on each side, borrowed from the analyses; NULL: not
	 * known. */
	const struct backlog *a_backlog, *b_backlog;
};

struct comparison {
	const struct analysis *a, *b; /* borrowed */
	bool same_process;	      /* both sides are one and the same process */
	struct compared_queue *queue; /* owned */
	size_t count;
	size_t kind[COMPARED_KINDS];	  /* number of queues for each enum comparison_where */
	struct compared_process *process; /* in the order of pids; owned */
	size_t processes;
	struct compared_node node[2 * ANALYSIS_NODES];
	size_t nodes, shared; /* shared: nodes on which both sides have compute queues */
	/* Whether the ids of one run predict those of the next: 1 yes, 0 no, -1 not known,
	 * because a side has no queue with an id or too few samples. */
	int predictable;
};

/* Compares two analyses and fills *out with the result. */
void comparison_make(const struct analysis *a, const struct analysis *b, struct comparison *out);
void comparison_free(struct comparison *comparison);
/* Returns the findings as a JSON array of sentences, owned by the caller. `a` and `b`: names of
 * the two sides. */
json_t *comparison_conclusion(const struct comparison *comparison, const char *a, const char *b);

/* ---- output of the command (compare_output.c) ---- */

struct side {
	char name[128];	       /* name in messages: the directory, process or command */
	const char *dir;       /* directory of the recording; NULL: the side is a process */
	int exit_code, signal; /* of the recorded command; -1: none, or not known */
	struct process_identity process; /* pid 0: the side is a recording */
	struct snapshot_reader *reader;	 /* reads the process */
	struct analysis analysis;
};

/* Prints the comparison of two sides as text. */
void compare_show(const struct comparison *comparison, const struct side sides[2]);
/* Returns the object of `kfdsched compare --json` (docs/reference/recordings.md), owned by the
 * caller. */
json_t *compare_json(const struct comparison *comparison, const struct side sides[2]);
extern const struct field fields_compared_row[]; /* row of both tables */

#endif

/* SPDX-License-Identifier: MIT */
/*
 * A folder with samples of processes' queues and what debugfs said to each
 * (docs/formats.md, Recordings), written sample by sample and read one after the other.
 *
 * A line of the index is written at once, after the files that it names, so that whoever
 * is killed in the middle leaves a recording that can be read up to there. A folder that
 * is read may come from anywhere: nothing in it is believed, links in it are not followed,
 * and memory is bounded by its longest line.
 *
 * Threads: one at a time for each. Errors: a negative errno with a sentence in `why`.
 */
#ifndef KFDSHIM_CLI_RECORDING_H
#define KFDSHIM_CLI_RECORDING_H

#include <jansson.h>

#include "scheduler/observe/observe.h"

#define RECORDING_VERSION 1
#define RECORDING_WHY 384 /* room for a sentence with a path */
#define RECORDING_INDEX "index.jsonl"

/* ---- writing ---- */

struct recorder;

/*
 * Makes the folder, of mode 0700 (a recording says where processes' memory lies), or takes
 * one that is there and empty; -EEXIST: it is not. `head`, which is not kept, is the first
 * line: this version and the nodes of this machine are added.
 */
int recorder_open(const char *dir, json_t *head, struct recorder **out, char why[RECORDING_WHY]);
void recorder_close(struct recorder *recorder); /* NULL is allowed */
/* A new file in the folder, of mode 0600, to be closed by the caller. */
int recorder_file(struct recorder *recorder, const char *name, char why[RECORDING_WHY]);

/* What was seen of one process, for a sample. `source` NOBODY: `unknown` says why not. */
struct recorded_word {
	pid_t pid, host_pid;
	uint64_t started; /* common/proc_stat.h */
	const char *comm;
	enum observe_source source;
	const char *unknown;
	const struct observe_list *queues;
};
/* Of one sample: the queues of whoever told ids, or else the descriptors that debugfs tells
 * without any. *source NOBODY: there are none, and *unknown says why. */
const struct observe_list *recorded_best(const struct observation *observation,
					 enum observe_source *source, const char **unknown);
/* NULL: no memory. */
json_t *recorded_word_json(const struct recorded_word *word);
/* One sample: `processes` is an array of those, and taken over. Raw texts may be NULL. */
int recorder_sample(struct recorder *recorder, const char *phase, double seconds, json_t *processes,
		    const char *mqds, const char *hqds, char why[RECORDING_WHY]);
/* The last line. `end` is taken over. */
int recorder_end(struct recorder *recorder, json_t *end, char why[RECORDING_WHY]);

/* ---- reading ---- */

#define RECORDED_COMM 64

struct recorded_process {
	pid_t pid, host_pid; /* host_pid 0: not known */
	uint64_t started;
	char comm[RECORDED_COMM]; /* control characters are '?' */
	enum observe_source source;
	char unknown[OBSERVE_WHY];
	struct observe_list queues;
};

enum recorded_phase { RECORDED_BASELINE, RECORDED_SAMPLE, RECORDED_FINAL };

/* Zeroed to begin with, used for sample after sample, ended by recorded_sample_free(). */
struct recorded_sample {
	enum recorded_phase phase;
	double seconds; /* since the recording began */
	struct recorded_process *process;
	size_t count, room;
};
void recorded_sample_free(struct recorded_sample *sample);

struct recording;

/* -ENOENT: no such folder, or no recording in it. -EINVAL: it is none. -EPROTO: of another
 * version. */
int recording_open(const char *dir, struct recording **out, char why[RECORDING_WHY]);
void recording_close(struct recording *recording); /* NULL is allowed */
/* 1: *sample is the next one. 0: there is no more. -ENOMEM. */
int recording_next(struct recording *recording, struct recorded_sample *sample);
/* The first line, and after the last sample the last one: NULL, it was not ended. */
const json_t *recording_head(const struct recording *recording);
const json_t *recording_ended(const struct recording *recording);
/* Lines so far that could not be read. */
size_t recording_damaged(const struct recording *recording);
/* The GPUs of this machine, as the first line has them. */
json_t *recording_nodes(void);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * Records the queues of a command, from before its start until after its end, and its output, in
 * one directory (below). Used by the commands record and compare.
 *
 * Threads: none; one command at a time in a process (subprocess.h). compare therefore
 * records each of its commands in a process of its own.
 */
#ifndef KFDSHIM_CLI_RECORD_RECORD_H
#define KFDSHIM_CLI_RECORD_RECORD_H

#include "cli/inspect/snapshot.h"
#include "cli/util/command.h"
#include "cli/util/sample_loop.h"

#define RECORD_SAMPLES_MAX 1000000
#define RECORD_INTERVAL_MIN_US 1e3
#define RECORD_INTERVAL_MAX_US 86400e6

/* All pointers are borrowed. */
struct record_options {
	const char *dir;       /* directory to record into; is created, or must be empty */
	const char *socket;    /* path of the daemon's socket */
	const char *prefix;    /* prefix of the lines on stderr: "kfdsched record" */
	char **command;	       /* argv, ends with NULL */
	double interval_us;    /* between samples */
	unsigned long samples; /* maximum; after these only the command's end is awaited */
	bool to_stderr;	       /* the command's stdout is shown on stderr */
	bool temporary;	       /* the caller removes `dir`, so the last message does not name it */
	bool json;	       /* print an object at the end (docs/reference/recordings.md) */
};

/*
 * Takes a baseline sample, runs the command, takes samples while it runs, and takes a final sample
 * when its processes are gone. Installs the signal handlers of interrupt.h.
 *
 * Returns
 * - the exit code of the command;
 * - CLI_DONE after a signal to stop (interrupt.h);
 * - CLI_FAILED, after a line on stderr, if the command could not be started or the recording is not
 *   complete.
 */
int record_command(const struct record_options *options);

/* ---- monitor ---- */

/*
 * Options of a monitor, which samples the queues of one process repeatedly, prints a line for each
 * sample and, at the end, a summary of all samples. The commands monitor and watch use it; watch
 * has several monitors at once. Errors are printed on stderr, as messages of the command.
 */
struct monitor_options {
	pid_t pid;
	double seconds;	    /* duration; 0: until the process ends or a signal to stop arrives */
	double interval_us; /* between samples; > 0 */
	unsigned sources;   /* mask of OBSERVE_BIT(); 0: chosen to suit the interval */
	const char *socket; /* path of the daemon's socket; NULL: query_socket() */
	const char *record; /* directory for a recording; NULL: nothing is recorded */
	bool json;	    /* print only one object at the end, no line per sample */
	bool one_line;	    /* print that object on one line */
	bool labelled;	    /* put the process's pid in front of each line */
};

/* Shortest interval, in us, at which the daemon is queried even if `sources` does not name it. A
 * query costs time in which the daemon's worker should schedule, because the reply is long. */
#define MONITOR_DAEMON_US 100e3

/*
 * Begins to monitor a process: opens the sources, begins the recording (if options->record is set),
 * takes the first sample, and adds a task to the loop. The task takes the further samples and
 * prints the summary at its end. It ends when options->seconds are over, when the process has
 * ended, or when the recording cannot be written; the loop then frees it. *options is copied, the
 * strings in it are borrowed.
 * Prints an error, sets loop->code and adds no task if there is no such process, no source reports
 * its queues, or the directory of the recording cannot be made.
 */
void monitor_open(const struct cli_command *cmd, const struct monitor_options *options,
		  struct sample_loop *loop);

/* ---- the recording: recording_write.c, recording_read.c ---- */

/*
 * Writes and reads a recording: a directory with samples of the queues of processes, and with the
 * debugfs texts of each sample (docs/reference/recordings.md, Recordings).
 *
 * Each line of the index is written without delay, after the files that the line names. If the
 * writer is killed, the recording can therefore be read up to the last complete line. A directory
 * that is read can come from anywhere, so the reader trusts nothing in it: every value is checked,
 * symbolic links are not followed, and memory is bounded by the longest line, which is limited.
 *
 * Threads: one at a time for each recorder and recording. Errors: a negative errno, with an
 * explanation in `why` where a function takes it.
 */

#define RECORDING_VERSION 1
#define RECORDING_WHY 384 /* room for an explanation with a path */
#define RECORDING_INDEX "index.jsonl"

#define RECORDED_COMM 64

/* The queues of one process as one sample has them. If `source` is OBSERVE_NO_SOURCE, `unknown`
 * explains why the queues are not known. */
struct recorded_process {
	pid_t pid, host_pid; /* host_pid 0: not known */
	uint64_t started;
	char comm[RECORDED_COMM]; /* control characters replaced by '?' */
	enum observe_source source;
	char unknown[OBSERVE_WHY];
	struct observe_list queues;
};

/* ---- writing ---- */

struct recorder;

/*
 * Creates directory `dir` with mode 0700, because a recording contains addresses in the memory of
 * processes. An existing directory is used if it is empty. Writes the first line of the index: the
 * keys of `head` (borrowed), the version, and the nodes of this machine, read by `reader`.
 *
 * Returns 0, -EEXIST if the directory is not empty, or another negative errno.
 */
int recorder_open(const char *dir, json_t *head, struct snapshot_reader *reader,
		  struct recorder **out, char why[RECORDING_WHY]);
void recorder_close(struct recorder *recorder); /* NULL is allowed */
/* Creates file `name` in the directory, with mode 0600. Returns its fd, which the caller closes, or
 * a negative errno. */
int recorder_file(struct recorder *recorder, const char *name, char why[RECORDING_WHY]);

/* Converts a process of a snapshot for the recording. Its queues are those of observation_queues(),
 * borrowed from the snapshot. */
struct recorded_process recorded_from(const struct snapshot_process *process);
/* Returns a process and its queues as JSON, as recorder_sample() writes them. */
json_t *recorded_process_json(const struct recorded_process *process);
/* Writes one sample: the files with the raw debugfs texts `mqds` and `hqds` (each can be NULL, and
 * is written only if it has changed), then the line of the index. `processes` is an array of
 * recorded_process_json() results; its reference is taken, also on an error. `phase`: "baseline",
 * "sample" or "final". `seconds`: since the recording began. */
int recorder_sample(struct recorder *recorder, const char *phase, double seconds, json_t *processes,
		    const char *mqds, const char *hqds, char why[RECORDING_WHY]);
/* Writes the last line of the index with the object `end`, whose reference is taken. */
int recorder_end(struct recorder *recorder, json_t *end, char why[RECORDING_WHY]);

/* ---- reading ---- */

/* When a sample was taken: before the command was started, while it ran, or after its end. */
enum recorded_phase { RECORDED_BASELINE, RECORDED_SAMPLE, RECORDED_FINAL };

/* One sample. The caller zeroes it once, passes it to recording_next() for each sample, and frees
 * it by recorded_sample_free(). Names of processes are cut to RECORDED_COMM - 1 bytes. */
struct recorded_sample {
	enum recorded_phase phase;
	double seconds; /* since the recording began */
	struct recorded_process *process;
	size_t count, room;
};
/* Frees the sample, which can then be used again. */
void recorded_sample_free(struct recorded_sample *sample);

struct recording;

/*
 * Opens the recording in directory `dir` and reads its first line.
 *
 * Returns:
 * 0: *out is open
 * -ENOENT: no such directory, or no recording in it
 * -EINVAL: it is not a recording
 * -EPROTO: it has another version
 * or another negative errno.
 */
int recording_open(const char *dir, struct recording **out, char why[RECORDING_WHY]);
void recording_close(struct recording *recording); /* NULL is allowed */
/* Reads the next sample into *sample. Lines that cannot be read are skipped and counted
 * (recording_damaged()). Returns false if there is no further sample. */
bool recording_next(struct recording *recording, struct recorded_sample *sample);
/* recording_head() returns the first line. recording_ended() returns the `end` object of the last
 * line, or NULL if the last sample has not been read yet or the recording was not finished. Both
 * results are borrowed. */
const json_t *recording_head(const struct recording *recording);
const json_t *recording_ended(const struct recording *recording);
/* Returns how many of the lines read so far were damaged and therefore skipped. */
size_t recording_damaged(const struct recording *recording);
/* Returns the GPUs of this machine as a JSON array, as it is in the first line of a recording. */
json_t *recording_nodes(struct snapshot_reader *reader);

/*
 * Returns the processes that use a GPU now, in the form in which a recording stores them at its
 * begin and its end: an array of {"pid", "comm", "role"}, sorted by pid, with at most
 * RECORDED_USERS entries. The role is the one that the daemon at `socket` reports for the process;
 * null if no daemon replies or if the daemon does not know the process. Returns JSON null if the
 * processes cannot be listed.
 */
#define RECORDED_USERS 1024
json_t *gpu_users_now(const char *socket);

#endif

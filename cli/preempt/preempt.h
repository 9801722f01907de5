/* SPDX-License-Identifier: MIT */
/*
 * Shared by the commands that suspend a process or change how it is suspended: suspend, resume, set
 * and policy, which send a control request to the daemon, and preempt.
 *
 * Threads: none.
 */
#ifndef KFDSHIM_CLI_PREEMPT_PREEMPT_H
#define KFDSHIM_CLI_PREEMPT_PREEMPT_H

#include "cli/util/parse_options.h"
#include "cli/util/select_process.h"
#include "include/kfdsched.h"
#include "kfd/debug_target.h"
#include "kfd/device.h"

/* ---- control requests: set_resume.c ---- */

/*
 * Functions of the commands that send a control request to the daemon (suspend, resume and set for
 * one process, policy for nodes): they parse the arguments and print the daemon's reply.
 */

struct control_req {
	struct kfdsched *daemon; /* closed by kfdsched_close() */
	const char *socket;
	int pid; /* 0: policy */
	bool json;
};

/* Parses the command line by `options`, whose variables can be members of *req, and opens
 * req->daemon (no connection yet). Returns CLI_GO_ON, or the exit code to end with; req->daemon
 * is open only after CLI_GO_ON. */
int control_req_read(const struct cli_command *cmd, int argc, char **argv,
		     const struct cli_option *options, struct control_req *req);

/* Returns true if the result `rc` of a request means that no daemon is responsible for process
 * `pid`: no daemon answers (-ENOENT, -ECONNREFUSED), or the daemon does not know the process
 * (-ESRCH) although the process exists. */
bool control_req_needs_daemon(int rc, int pid);

/* Prints the daemon's reply (kfdsched_errmsg()) in one line: on stdout if rc >= 0, else on stderr
 * as an error. Returns CLI_DONE or CLI_FAILED. */
int control_req_print(const struct cli_command *cmd, const struct control_req *req, int rc);
/* As control_req_print(), but if req->json is set and rc >= 0, prints the reply as JSON with
 * `more`, the keys of this command (reference taken; can be NULL). */
int control_req_print_done(const struct cli_command *cmd, const struct control_req *req, int rc,
			   json_t *more);
/* Prints one JSON object: "request" (the command), "pid" unless it is 0, the keys of `more`
 * (reference taken; can be NULL) and "reply". */
void control_req_print_json(const struct cli_command *cmd, int pid, const char *reply,
			    json_t *more);

/* ---- suspend ---- */

#define SUSPEND_IDS_MAX 1024u /* limit of the ids that --queues accepts: 0 to 1023 */

struct suspend_ids {
	uint32_t id[SUSPEND_IDS_MAX]; /* ascending, without duplicates */
	uint32_t count;
};

/* Parses a list of queue ids, "0,2-5"; `ids` is a struct suspend_ids. Returns 0, or -EINVAL if the
 * text is not such a list. */
int suspend_read_ids(const char *text, void *ids);

/* ---- the child that keeps a process suspended: hold_child.c ---- */

/*
 * Suspends the queues of another process from within a child process, while the parent watches the
 * child.
 *
 * The work is done in a child because the child's death undoes it, whatever its cause: the
 * driver ends the debug sessions of a debugger that has died and resumes their queues, and
 * the daemon ends the suspensions of a connection that was closed. The parent opens nothing, so
 * that it can always kill a child that was stopped (SIGSTOP, a debugger) during its work.
 * If the parent dies, the kernel kills the child (PR_SET_PDEATHSIG).
 *
 * One child at a time.
 */

enum hold_child_end {
	HOLD_CHILD_RETURNED, /* act() returned, or the child could not be started */
	HOLD_CHILD_KILLED,   /* ended by a signal: a kill, or a crash */
	HOLD_CHILD_STOPPED,  /* stopped by a signal, and therefore killed by the parent */
};

/*
 * Maps `bytes` of memory, all 0, that the parent and the child of hold_child_run() share. It is
 * never unmapped. What the child has stored there is still readable after its death.
 */
void *hold_child_memory(size_t bytes);

/*
 * Runs act() in a child process and waits until the child ends.
 *
 * signals (argument of act()): a non-blocking signalfd, owned by the child. SIGCHLD in it means
 * that a process that the child traces may have stopped. On every other signal in it (SIGINT,
 * SIGTERM, SIGHUP, SIGQUIT) act() has to finish early and return. Ctrl-Z (SIGTSTP) is blocked in
 * the child and has no effect, so that the target is not kept suspended.
 *
 * Returns what act() returned, which has to be below 256, or CLI_FAILED:
 *   no child could be started: a line was printed, and *end is HOLD_CHILD_RETURNED;
 *   the child was ended by a signal: *end is HOLD_CHILD_KILLED or HOLD_CHILD_STOPPED.
 * When the child has ended, the earlier handlers of the forwarded signals are restored.
 */
int hold_child_run(const struct cli_command *cmd, int (*act)(void *context, int signals),
		   void *context, enum hold_child_end *end);

/* Returns why the child delivers no more results, as the beginning of a message: "the child that
 * holds the process was killed". The text is static. */
const char *hold_child_errmsg(enum hold_child_end end);

/* ---- the debug session of the child ---- */

/*
 * A debug session of kfdsched itself on a process that no daemon knows.
 *
 * A traced process stops at each signal and runtime event until its debugger answers. So while the
 * caller waits, session_wait_us() forwards its signals and answers its events. A queue that the
 * process creates while it is suspended is suspended, too.
 *
 * Threads: all calls from the thread that opened the session. Errors are reported in one line on
 * stderr.
 */
struct session {
	struct trap *trap;
	const struct target_process *target;
	int signals;
	double opening_us; /* duration of the first suspend; NAN: there was no queue */
	bool interrupted;  /* a signal requested the end */
	/* Static text: why the suspension is over (the process or the session has ended). NULL: it
	 * is not over. */
	const char *gone;
	/* 0, or the negative errno of the failed suspend of a queue that was created while the
	 * process was suspended. */
	int ran_on;
};

/* Opens a session on `target` (borrowed until session_close()). `signals`: the signalfd of
 * hold_child_run(). Returns CLI_GO_ON, or the exit code after one line on stderr: CLI_FAILED if
 * the process has ended or its queues could not be suspended; otherwise
 * CLI_IMPOSSIBLE, for example if another debugger has the process or the caller has no right to
 * trace it. */
int hold_session_open(struct session *session, const struct cli_command *cmd,
		      const struct target_process *target, int signals);
/* Waits for `us` microseconds (INFINITY: no limit) and handles the session's events meanwhile.
 * Returns earlier if session->interrupted or session->gone gets set. */
void session_wait_us(struct session *session, double us);
/* Ends the session. The driver then resumes all queues. */
void session_close(struct session *session);

/* ---- preempt ---- */

/*
 * Shared by the files of the command "kfdsched preempt": preempt.c is the command itself;
 * preempt_rounds.c suspends and resumes the process, in a child (hold_child_run());
 * preempt_output.c prints and draws the result.
 *
 * Times are wall time in microseconds.
 */

/* Options of the measurement. Filled by preempt.c, read-only for the other files. */
struct preempt_job {
	struct target_process target;
	unsigned times;
	/* Time in suspension, time between two rounds, and the longest suspend that is tolerated
	 * (INFINITY: no limit). */
	double hold_us, pause_us, slow_us;
	/* The pid by which the daemon knows the process; the daemon then suspends it. 0: no daemon
	 * knows the process, and kfdsched suspends it by a debug session of its own. */
	pid_t daemon_pid;
	bool simulated;
	/* Shell command that is one request; it is repeated during the whole measurement, which
	 * then also has a pause before the first round. NULL: no requests. */
	const char *online;
	const char *socket;
};

/* One run of job->online that has succeeded; CLOCK_MONOTONIC, ns. */
struct preempt_request {
	uint64_t begin_ns, end_ns;
};
#define PREEMPT_REQUESTS 65536u

/* Runs of job->online, in memory shared with the process that makes them. */
struct preempt_online {
	pid_t pid; /* process that makes the runs, a group leader; 0: it has ended */
	/* True when the first run is over: its status is in first_status, and `list` does not
	 * contain it. */
	bool begun;
	int first_status;
	unsigned count, failed;
	unsigned left_out; /* runs that succeeded when the list was full */
	struct preempt_request list[PREEMPT_REQUESTS]; /* `count` entries, in order of time */
};

/* Measured values. They lie in memory that the child shares with its parent, so that the parent can
 * print what a killed child had measured. */
struct preempt_result {
	unsigned tried;
	unsigned done;		       /* rounds completed: suspended and resumed */
	double opening_us;	       /* first suspend of our own session; NAN: not known */
	char problem[REASON_TEXT];     /* why further rounds were not done; empty: all were done */
	struct preempt_online *online; /* NULL: no requests were made */
	struct preempt_round {
		/* `held_us`: from the end of the suspend to the start of the resume. */
		double suspend_us, held_us, resume_us;
		uint64_t held_ns; /* end of the suspend, CLOCK_MONOTONIC */
	} rounds[];		  /* `done` entries */
};

/* Adds a completed round. Returns false if the suspend took longer than job->slow_us; then
 * result->problem is set and no further round must follow. */
bool preempt_count(const struct preempt_job *job, struct preempt_result *result,
		   struct preempt_round round);
/* Shows the progress on a terminal, as the live line of progress.h. */
void preempt_progress(const struct preempt_job *job, const struct preempt_result *result);

/*
 * Runs all rounds: by leases of the daemon (suspensions that end with their fd) if job->daemon_pid
 * is set, else by a debug session of kfdsched's own. The process is not suspended any more after
 * the return. `signals`: the signalfd of hold_child_run().
 *
 * Returns CLI_GO_ON if *result has the outcome (also an incomplete one, see `problem`), or the exit
 * code if nothing could be done, which was then reported in one line on stderr.
 */
int preempt_rounds(const struct preempt_job *job, int signals, struct preempt_result *result);

/* Statistics of a list of durations. If count is 0, all other members are NAN. */
struct preempt_times {
	unsigned count;
	double min, mean, p50, p90, p99, max;
	double *sorted; /* `count` values, ascending */
};

/* Statistics. `suspend`, `held` and `resume` cover all rounds but the first, which is printed
 * separately. */
struct preempt_stats {
	struct preempt_times suspend, held, resume;
	/* Requests that began and ended within one suspension, and those that began and ended while
	 * the process ran, up to the end of the last round. */
	struct preempt_times online_held, online_outside;
	unsigned online_across; /* requests during which a suspend or resume began or ended */
};

/* Computes the statistics; preempt_stats_free() frees *out. */
void preempt_stats(const struct preempt_result *result, struct preempt_stats *out);
/* Frees the sorted values. */
void preempt_stats_free(struct preempt_stats *stats);

/* Print the result on stdout, as text and as JSON. `columns`: width of the terminal. `blocks`: the
 * terminal can show block characters (U+2581 and the like) in the histogram. */
void preempt_print(const struct preempt_job *job, const struct preempt_result *result,
		   const struct preempt_stats *stats, unsigned columns, bool blocks);
void preempt_print_json(const struct preempt_job *job, const struct preempt_result *result,
			const struct preempt_stats *stats);
/* Draws the cumulative distribution as SVG: the share of rounds that took at most a given time. */
void preempt_svg(const struct preempt_job *job, const struct preempt_result *result,
		 const struct preempt_stats *stats, FILE *out);

/*
 * Prints durations as a text histogram: one line per bucket on a logarithmic scale (each bucket
 * is wider than the one before by the same factor), and several series side by side that share
 * the buckets.
 */
#define HISTOGRAM_ROWS 16 /* most buckets */

struct histogram_series {
	const char *name;
	const double *us;
	unsigned count;
};

/*
 * Prints the n series to `out`, fitted to a width of `columns` (60 or more; below that the lines
 * may be longer). blocks: draw bars with U+2588 to U+258F; false: with '#'. Values below 1 us
 * count as 1 us. Prints nothing if no series has a value.
 */
void histogram_print(const struct histogram_series *series, unsigned n, unsigned columns,
		     bool blocks, FILE *out);

#endif

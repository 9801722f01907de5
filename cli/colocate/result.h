/* SPDX-License-Identifier: MIT */
/*
 * Measured values of one run of "kfdsched colocate", what is computed from them, and their output:
 * JSON (docs/reference/colocate.md) and tables.
 *
 * Units: model time (wall time x time scale) unless a comment says wall. A value that is not known
 * is NAN, which is printed as null in JSON and as "-" in a table. Threads: none. Ownership: strings
 * are borrowed for the life of the struct.
 */
#ifndef KFDSHIM_CLI_COLOCATE_RESULT_H
#define KFDSHIM_CLI_COLOCATE_RESULT_H

#include <math.h>
#include <sys/types.h>

#include "cli/output/fields.h"
#include "cli/util/sim_info.h"
#include "common/nodes.h"

/* ---- the clairvoyant scheduler: possible.c ---- */

/*
 * Computes the result of a clairvoyant scheduler, which knows all arrivals and service times in
 * advance: the offline throughput beside the given requests, as a share of the throughput without
 * them, and the latencies of these requests. It is the upper bound to which the result of the real
 * scheduler is compared. Pure, but for request_list_read().
 *
 * The model: one node; one server that serves the requests in the order of their arrival; one
 * offline process that always has work, and does not run while a request is served.
 *
 *   - The gap between the end of a request and the next arrival is given to the offline process if
 *     the gap is longer than the cost of a resume, which is subtracted from it.
 *   - The request after such a gap begins later by the cost of a suspend. This delay propagates: to
 *     the requests that wait behind it, and to the gap that becomes shorter.
 *
 * The rule ignores that the next gap becomes shorter. For Poisson arrivals the best threshold,
 * found by trying, gives at most 2 % more of the share.
 *
 * Requests of several online clients form one list, merged by arrival; each service time is the one
 * measured when its client ran alone. This is conservative: on a GPU two requests of different
 * clients that overlap can run side by side, so that both are done earlier and the gap behind them
 * is longer.
 *
 * Times are microseconds since the start of the window. Threads: any.
 */

/* A request as it was measured when the online client ran alone. */
struct request_time {
	double due_us; /* arrival */
	double end_us; /* end; NAN: not done by the end of the window */
};

struct request_list {
	struct request_time *times; /* NULL: none were measured */
	size_t count;
};

/*
 * Reads the request times that kfdreplay --request-times writes (docs/reference/kfdreplay.md).
 * Times must not decrease within a line, nor arrivals from line to line. On success the caller
 * frees the list by request_list_free(); on an error *out is empty.
 *
 * Returns 0, -EINVAL if the file is not as documented, or another negative errno.
 */
int request_list_read(const char *path, struct request_list *out);
/* Frees the list. *list is empty afterwards. */
void request_list_free(struct request_list *list);

struct possible_request {
	double due_us;
	double service_us; /* INFINITY: longer than the rest of the window */
};

struct possible_costs {
	/* Cost of a suspend (runlist update and save): from the arrival until the node is free. */
	double suspend_us;
	/* Cost of a resume (runlist update, restore): from a request's end until offline runs. */
	double resume_us;
};

struct possible {
	double share; /* offline throughput, as a fraction of that without online work; 0 to 1 */
	double p50_us, p99_us; /* latencies, nearest rank; NAN: no request was completed */
	/* Number of suspends: one for each gap that was given to the offline process. */
	uint64_t suspends;
};
#define POSSIBLE_UNKNOWN ((struct possible){NAN, NAN, NAN, 0})

/* Computes the service times of `count` requests of one client, which serves them one by one. A
 * service time lasts from the request's arrival, or from the end of the request before if that is
 * later, until the request's end. Writes `count` entries to `out`. */
void possible_service(const struct request_time *times, size_t count, struct possible_request *out);

/* Sorts the requests of several clients by arrival. */
void possible_merge(struct possible_request *requests, size_t count);

/*
 * Runs the model on `count` requests, sorted by arrival, in a window of `window_us`. Returns 0.
 * Returns -EINVAL and sets *out to POSSIBLE_UNKNOWN if `window_us` is not above 0, or if a cost is
 * negative or NAN.
 */
int possible_play(const struct possible_request *requests, size_t count, double window_us,
		  const struct possible_costs *costs, struct possible *out);

/* ---- shares of the GPU's time: result_time.c ---- */

/*
 * Divides the time for which offline processes were to run on a GPU into shares, whose sum is the
 * whole time.
 *
 * All shares come from the counters of kfdsim (docs/reference/kfdsim-files.md, simulation.json),
 * except TIME_HOLD_OVER, which the daemon reports. On hardware only TIME_HOLD_OVER is known.
 */

enum time_share {
	/* Offline work ran, with or without other work beside it. While k processes run at once,
	 * 1/k of the time counts for each of them. */
	TIME_OFFLINE,
	TIME_ONLINE,	   /* PART_RUN without TIME_OFFLINE: other work ran */
	TIME_UPDATES,	   /* runlist updates, without save and restore */
	TIME_SAVE_RESTORE, /* save and restore of running waves */
	/* The offline process was suspended although no other process had packets: the daemon did
	 * not know yet that the other work had ended. Does not include TIME_HOLD_OVER. */
	TIME_DETECTION,
	TIME_HOLD_OVER, /* offline was suspended although the daemon knew of no other work */
	TIME_IDLE_HELD, /* offline was suspended; others had packets, but none of them ran yet */
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

/* Categories; kfdsim counts each nanosecond of a GPU in one of them. */
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
	/* Hold-over: how long the daemon kept an offline process suspended after the online work
	 * had ended, as the daemon reports it. Wall time; mean of the processes. */
	double held_over_us;
	unsigned n_gpus; /* 0: the GPUs are not known */
	struct time_gpu {
		uint64_t ns[TIME_PARTS];
		/* Sum of the times in which work of the processes of time_read() ran. */
		uint64_t process_ns;
		unsigned processes;   /* number of entries that process_ns adds up */
		bool process_unknown; /* true: the file has no counters of so many processes */
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

/* Sets the shares in the bit mask `shares` to unknown (NAN). */
void time_forget(struct result_time *time, unsigned shares);

/* Returns a share in percent of the whole time (all_us); NAN if it is not known. */
double time_percent(const struct result_time *time, enum time_share share);
/* Fields of struct time_percents, for JSON. fields_colocate_time_row[] also has the arm's name, for
 * a row of the table. */
json_t *time_json(const struct result_time *time);
/* Fields of struct time_percents, for JSON, and for a row of the table with the arm's name. */
extern const struct field fields_colocate_time[], fields_colocate_time_row[];

/* ---- the arms and their values ---- */

/* Configurations ("arms") that a run compares. ARM_ALONE: each online client by itself, and all
 * offline clients together without online clients. ARM_SHARED: online and offline clients together,
 * without preemption. ARM_TRAP, ARM_SELF, ARM_GATE: as ARM_SHARED, with a daemon; the offline
 * clients have the level of that name. ARM_PEERS: without a daemon; each client's shim suspends its
 * own process (level "self"). */
enum arm { ARM_ALONE, ARM_SHARED, ARM_TRAP, ARM_SELF, ARM_GATE, ARM_PEERS, ARM_COUNT };

struct arm_kind {
	const char *name;
	bool by_default; /* measured without --arms */
	bool daemon;	 /* a private kfdschedd schedules the clients */
	bool preempts;	 /* the driver suspends the clients: costs a runlist update and a save */
	/* Level of the offline clients; NULL: all clients run without libkfdshim.so. */
	const char *level;
	/* value of KFDSHIM_LEVEL for the offline clients; NULL: not set, which means "auto" */
	const char *level_setting;
	/* Bit mask of the time shares that neither kfdsim nor the daemon measures
	 * separately in this arm, so that only their sum is known. */
	unsigned unknown;
	/* Text that names the delays which floor_us does not include, for a note; NULL: there are
	 * none. */
	const char *beyond;
};
extern const struct arm_kind arm_kinds[ARM_COUNT];

/* Returns true if the numbers of suspends and resumes, and their delays, are known. They are if a
 * daemon counts them. Without the shim they are known, too: there are none. */
static inline bool arm_is_counted(enum arm arm)
{
	return arm_kinds[arm].daemon || !arm_kinds[arm].level;
}

/* Online values of an arm. If `keeps_up` is false, the backlog grew during the whole window, so the
 * percentiles reflect the length of the window and not the scheduler. */
struct online_stats {
	double p50_us, p90_us, p99_us, p999_us;
	json_int_t requests;
	double gpu_busy_ratio;
	bool keeps_up;
	double gpu_us; /* GPU time of one request: sum of the durations in its trace */
};

/* Offline values of an arm. An unfinished step counts as the fraction of it that is done. */
struct offline_stats {
	double steps;
	double gpu_busy_ratio;
	double gpu_us; /* GPU time of one step: sum of the durations in its trace */
};

#define RESULT_CLIENTS_MAX 8u /* of each kind, online and offline */

/* All clients of one kind. */
struct client_set {
	unsigned count;
	const char *traces[RESULT_CLIENTS_MAX];
	const char *groups[RESULT_CLIENTS_MAX]; /* KFDSHIM_GROUP; NULL: none */
};

struct arm_stats {
	bool ran;
	/* `online` and `offline`: the clients of that kind together; online_of and offline_of: each
	 * client. */
	struct online_stats online, online_of[RESULT_CLIENTS_MAX];
	struct offline_stats offline, offline_of[RESULT_CLIENTS_MAX];
	/* Level of the offline clients, if the daemon confirmed it for all of them when the window
	 * began; NULL: it did not. */
	const char *level;
	uint64_t suspends, resumes; /* see arm_is_counted() */
	struct result_time time;    /* shares of the window in which offline work ran */
	/* suspend_delay_us: sum of the times from the activity that caused a suspend to the
	 * daemon's driver call. resume_delay_us: from the end of the activity to the call that
	 * resumes. */
	double suspend_delay_us, resume_delay_us;
	struct hist save, restore; /* ns */
};

#define RESULT_SEEDS_MAX 32u

/* Lowest and highest value of all seeds. */
struct value_range {
	double low, high;
};

struct spread {
	struct value_range p50_us, p90_us, p99_us, p999_us, steps, of_alone;
};

struct colocation {
	const char *online, *offline;			   /* names of the clients for a title */
	struct client_set online_clients, offline_clients; /* names of the traces of each client */
	const char *arrivals;	 /* kind of arrivals, in the terms of kfdreplay; NULL: poisson */
	double load, rate_per_s; /* sums over all clients; one of the two is NAN */
	double seconds;		 /* wall; length of one measured window */
	unsigned seeds;		 /* number of seeds; each arm is measured once per seed */
	bool simulated;
	bool is_virtual;   /* simulated with virtual time, independent of the machine's speed */
	double time_scale; /* 1 on hardware */
	char profile[64];
	double update_us;	     /* NAN on hardware */
	struct hist doorbell;	     /* ns, wall; of all measured windows */
	struct hist suspend, resume; /* ns, wall; durations of the daemon's driver calls */
	/* Request times of each online client in ARM_ALONE, per seed. */
	struct request_list requests[RESULT_SEEDS_MAX][RESULT_CLIENTS_MAX];
	struct arm_stats by_seed[RESULT_SEEDS_MAX][ARM_COUNT];
	/* Values of all seeds, filled by result_combine(): the median of each percentile, the mean
	 * of ratios and steps, the sum of counts and times. */
	struct arm_stats arms[ARM_COUNT];
	struct spread spread[ARM_COUNT];
};

enum validity { RESULT_VALID, RESULT_INVALID, RESULT_NOT_EVALUATED };

struct result_verdict {
	enum validity validity;
	char reason[256]; /* why the run is not valid, or not evaluated; empty: it is valid */
	double save_us, restore_us; /* medians under kfdsim, of the arms with arm_kind.preempts */
	double doorbell_p50_us, doorbell_p99_us; /* wall */
	/* The latency floor of the arms with the shim: the P99 of ARM_ALONE, plus 2 bounces
	 * (runlist updates) and a save if the driver preempts; 2, because a request that arrives
	 * just as a resume begins waits for that update, too. */
	double floor_us[ARM_COUNT];
	double bound[ARM_COUNT]; /* P99 / floor */
	/* Offline throughput relative to ARM_ALONE; 1: equal. */
	double of_alone[ARM_COUNT];
	/* Result of the clairvoyant scheduler, which knows all arrivals in advance (above), and
	 * of_possible...: share and P99 of an arm with the shim, relative to that result. */
	struct possible_costs possible_costs;
	struct possible possible;
	double of_possible[ARM_COUNT], of_possible_p99[ARM_COUNT];
};

/* Decode the JSON output of an online or an offline kfdreplay. Return 0, or -EINVAL if it is not as
 * documented in docs/reference/kfdreplay.md. */
int result_online(const json_t *replay, struct online_stats *out);
int result_offline(const json_t *replay, struct offline_stats *out);
/* Adds the histograms that kfdsim measured in one window: saves and restores to run->arms[arm],
 * doorbell delays to run->doorbell. */
void result_charge(struct colocation *run, enum arm arm, const struct simulation *window);

/* ---- several clients of one kind; with one client the combined values are those of that client
 * ---- */

/* Return the values of client `i` in `arm`, which is an arm of one seed or the combination of all
 * seeds. */
const struct online_stats *client_online(const struct colocation *run, const struct arm_stats *arm,
					 unsigned i);
const struct offline_stats *client_offline(const struct colocation *run,
					   const struct arm_stats *arm, unsigned i);

/* Returns offline client `i`'s steps in an arm relative to those in ARM_ALONE; NAN if not known. */
double client_of_alone(const struct colocation *run, enum arm arm, unsigned i);

/* Computes arm->online from arm->online_of. `requests`: the request times of each client, read only
 * if there are several clients; the percentiles are those of all requests in one list, by nearest
 * rank. */
void result_all_online(const struct colocation *run, const struct request_list *requests,
		       struct arm_stats *arm);
/* Computes arm->offline from arm->offline_of. The clients' steps differ in GPU time, so each step
 * counts as its GPU time divided by the mean GPU time of a step. The throughput of all clients
 * together relative to ARM_ALONE is therefore the sum of the clients' relative throughputs, each
 * weighted by the client's share of the GPU time in ARM_ALONE. */
void result_all_offline(const struct colocation *run, struct arm_stats *arm);

/* Returns the number of clients in the smallest gang, that is, of clients that are suspended and
 * resumed together: the members of a group, or one client without a group. */
unsigned client_smallest_hold(const struct client_set *clients);

/* Writes the names of the clients, and how many have the same name and group, such as "serve + 2 x
 * train (a)". Cuts them if `text` is too short. Returns `text`. */
const char *result_title(const struct client_set *clients, char *text, size_t size);

/* ---- several seeds ---- */

/* Computes `arms` and `spread` from `by_seed`. */
void result_combine(struct colocation *run);
/* Returns the median of the values that are not NAN; NAN if there are none. Reorders `values`. */
double result_median(double *values, unsigned count);
/* Returns the median of a histogram of ns, in us; NAN if the histogram is empty. */
double result_hist_median_us(const struct hist *h);
/* Describes the load of the online clients for the user: "Poisson arrivals, load 20 %".
 * Returns `text`. */
const char *result_arrivals(const struct colocation *run, char *text, size_t size);

/*
 * Compares the run with the clairvoyant scheduler (above), which runs on the requests of
 * ARM_ALONE and with the costs that the run has measured.
 *
 * The result is unknown (NAN, null in JSON) if ARM_ALONE did not run or did not keep up, or if a
 * cost is not known. On a simulated GPU the costs are its runlist update (bounce) and the median
 * save and restore of the arms that preempt (0 if nothing was saved); on hardware they are the
 * medians of the daemon's calls. The driver suspends and resumes one process per call. The
 * clairvoyant scheduler makes as many calls as the smallest gang (clients that are suspended
 * together) has members, because one gang at a time is enough to use the GPU.
 *
 * Fills possible, possible_costs, of_possible and of_possible_p99 of *out; reads the other members.
 * Of several seeds: the mean share, the median of each percentile, the sum of the suspends. */
void result_find_possible(const struct colocation *run, struct result_verdict *out);
extern const struct field fields_colocate_possible[]; /* struct result_verdict */
/* Returns the result as a JSON object; null if it is unknown. */
json_t *result_possible_json(const struct result_verdict *verdict);
/* Prints the result in one line; prints nothing if it is unknown. */
void result_print_possible(const struct colocation *run, const struct result_verdict *verdict,
			   FILE *out);

/* Computes *out: validity, costs, floor, bound and the comparison with the clairvoyant scheduler.
 * Needs result_combine() first. */
void result_evaluate(const struct colocation *run, struct result_verdict *out);
/* Returns the whole result as JSON (docs/reference/colocate.md, kfdsched colocate). */
json_t *result_json(const struct colocation *run, const struct result_verdict *verdict);
/* Writes one line about the GPU on which the run was measured: "mi210, time scale 0.1, bounce 200
 * us ..." for a simulated GPU, or a note about hardware. */
void result_conditions(const struct colocation *run, const struct result_verdict *verdict,
		       char *text, size_t size);
/* Prints the tables and the verdict. */
void result_print(const struct colocation *run, const struct result_verdict *verdict, FILE *out);
/* Draws the result as self-contained SVG without scripts, legible on light and dark backgrounds:
 * online latency by arm (a compared configuration) on the left, offline throughput by arm on the
 * right, and below both how the GPU's time was spent. The caller checks ferror(). */
void colocate_svg(const struct colocation *run, const struct result_verdict *verdict, FILE *out);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * The figures of one colocate run, what follows from them, and how they are
 * told: as JSON (docs/formats.md) and as a table.
 *
 * Units: model time (wall time x time scale) unless a name says wall. A figure
 * that is not known is NAN, which is null in JSON and "-" in the table.
 * Threads: none. Ownership: strings are borrowed for the life of the struct.
 */
#ifndef KFDSHIM_CLI_RESULT_H
#define KFDSHIM_CLI_RESULT_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "common/hist.h"
#include "scheduler/cli/possible_read.h"
#include "scheduler/cli/result_time.h"
#include "scheduler/cli/simulation.h"

enum arm { ARM_ALONE, ARM_SHARED, ARM_TRAP, ARM_COUNT };
extern const char *const arm_names[ARM_COUNT];

/* An arm's online client. keeps_up false: the backlog grew throughout, and the
 * percentiles tell the length of the run. */
struct online_figures {
	double p50_us, p90_us, p99_us, p999_us;
	json_int_t requests;
	double gpu_busy_ratio;
	bool keeps_up;
	double gpu_us; /* a request's, the trace's own sum of durations */
};

/* Started steps count by the share of them that is done. */
struct offline_figures {
	double steps;
	double gpu_busy_ratio;
	double gpu_us; /* a step's, the trace's own sum of durations */
};

#define RESULT_CLIENTS_MAX 8u /* of each kind */

/* The clients of one kind. */
struct client_set {
	unsigned count;
	const char *traces[RESULT_CLIENTS_MAX];
	const char *groups[RESULT_CLIENTS_MAX]; /* NULL: it is in none */
};

struct arm_figures {
	bool ran;
	/* Of all clients of the kind (result_clients.h), and of each. */
	struct online_figures online, online_of[RESULT_CLIENTS_MAX];
	struct offline_figures offline, offline_of[RESULT_CLIENTS_MAX];
	uint64_t suspends, resumes;
	struct result_time time; /* of the window in which offline ran */
	/* The daemon's delays, in sum: from the activity that caused a suspend, and from the end
	 * that caused a resume, to the driver call's entry. */
	double suspend_delay_us, resume_delay_us;
	struct hist save, restore; /* ns */
};

#define RESULT_SEEDS_MAX 32u

/* The lowest and the highest of the seeds' figures. */
struct range {
	double low, high;
};

struct spread {
	struct range p50_us, p90_us, p99_us, p999_us, steps, of_alone;
};

struct colocation {
	const char *online, *offline; /* the clients' names, as a title has them */
	struct client_set online_clients, offline_clients; /* the names of their traces */
	const char *arrivals;	 /* kfdreplay's name of their kind; NULL: poisson */
	double load, rate_per_s; /* of all clients; one of them, the other is NAN */
	double seconds;		 /* wall, of one measured window */
	unsigned seeds;		 /* each arm was measured so often, with other arrivals */
	bool simulated;
	bool is_virtual;   /* simulated, and its times do not depend on the machine */
	double time_scale; /* 1 on hardware */
	char profile[64];
	double bounce_us;	     /* NAN on hardware */
	struct hist doorbell;	     /* ns, wall, all measured windows */
	struct hist suspend, resume; /* ns, wall: the daemon's calls */
	/* Of each online client in arm alone. */
	struct request_list requests[RESULT_SEEDS_MAX][RESULT_CLIENTS_MAX];
	struct arm_figures by_seed[RESULT_SEEDS_MAX][ARM_COUNT];
	/* Of all seeds: the median of each percentile, the mean of ratios and steps, the sum of all
	 * that is counted, and of times (result_combine). */
	struct arm_figures arms[ARM_COUNT];
	struct spread spread[ARM_COUNT];
};

enum validity { RESULT_VALID, RESULT_INVALID, RESULT_NOT_JUDGED };

struct verdict {
	enum validity validity;
	char reason[256];			 /* why it is not valid; empty if it is */
	double save_us, restore_us;		 /* medians charged in the trap arm */
	double doorbell_p50_us, doorbell_p99_us; /* wall */
	double floor_us;			 /* alone P99 + 2 bounces + save */
	double bound;				 /* trap P99 / floor */
	double of_alone[ARM_COUNT];		 /* offline throughput, 1 = alone */
	/* result_possible.h; trap's share and P99 in relation to it */
	struct possible_costs possible_costs;
	struct possible possible;
	double of_possible, of_possible_p99;
};

/* What kfdreplay wrote. -EINVAL: not as docs/formats.md tells. */
int result_online(const json_t *replay, struct online_figures *out);
int result_offline(const json_t *replay, struct offline_figures *out);
/* Adds what a measured window charged to its arm and to the whole. */
void result_charge(struct colocation *run, enum arm arm, const struct simulation *window);

/* Fills arms and spread from by_seed. */
void result_combine(struct colocation *run);
/* Sorts the values; those that are NAN do not count. NAN: there is no other. */
double result_median(double *values, unsigned count);
/* Of a histogram of ns. NAN: it is empty. */
double result_hist_median_us(const struct hist *h);
/* Of the online client, for people: "Poisson arrivals, load 20 %". Returns `text`. */
const char *result_arrivals(const struct colocation *run, char *text, size_t size);

void result_judge(const struct colocation *run, struct verdict *out);
json_t *result_json(const struct colocation *run, const struct verdict *verdict);
/* "SIMULATED GPU: mi210, time scale 0.1, bounce 200 us ..." or what hardware means. */
void result_world(const struct colocation *run, const struct verdict *verdict, char *text,
		  size_t size);
int result_print(const struct colocation *run, const struct verdict *verdict, FILE *out);

#endif

// SPDX-License-Identifier: MIT
/* Writes the report at the end of a simulation. Format: docs/reference/kfdsim-report.md. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/array.h"
#include "common/clock.h"
#include "common/json_util.h"
#include "sim/driver/files.h"
#include "sim/host/sim.h"

uint32_t report_kernel_index(struct sim *sim, const char *name, bool executed)
{
	for (size_t i = 0; i < sim->n_kernels; i++)
		if (!strcmp(sim->kernels[i].name, name))
			return (uint32_t)i;
	if (ARRAY_GROW(sim->kernels, sim->cap_kernels, sim->n_kernels + 1))
		return UINT32_MAX;
	sim->kernels[sim->n_kernels] = (struct kernel_record){
		.name = strdup(name),
		.executed = executed,
	};
	if (!sim->kernels[sim->n_kernels].name)
		return UINT32_MAX;
	return (uint32_t)sim->n_kernels++;
}

void report_kernel(struct sim *sim, uint32_t kernel)
{
	if (kernel < sim->n_kernels)
		sim->kernels[kernel].dispatches++;
}

/* Iterates over the kernels that were timed and not executed, in descending order of their
 * dispatches. Returns the one after @before (NULL: the first one), or NULL after the last one. */
static const struct kernel_record *next_timed(const struct sim *sim,
					      const struct kernel_record *before)
{
	const struct kernel_record *next = NULL;

	for (const struct kernel_record *kernel = sim->kernels;
	     kernel < sim->kernels + sim->n_kernels; kernel++) {
		if (kernel->executed || !kernel->dispatches ||
		    (before && (kernel->dispatches > before->dispatches ||
				(kernel->dispatches == before->dispatches && kernel <= before))))
			continue;
		if (!next || kernel->dispatches > next->dispatches)
			next = kernel;
	}
	return next;
}

uint64_t sim_timed_only(const struct sim *sim, char *names, size_t room)
{
	const struct kernel_record *kernel = NULL;
	uint64_t dispatches = 0;
	size_t n = 0;

	*names = '\0';
	while ((kernel = next_timed(sim, kernel))) {
		const char *before = dispatches ? ", " : "";

		dispatches += kernel->dispatches;
		if (n + strlen(kernel->name) + sizeof ", ..." <= room)
			n += (size_t)snprintf(names + n, room - n, "%s%s", before, kernel->name);
		else if (n + sizeof ", ..." <= room && (!n || names[n - 1] != '.'))
			n += (size_t)snprintf(names + n, room - n, "%s...", before);
	}
	return dispatches;
}

void report_unknown(struct sim *sim, uint8_t type, uint32_t nr)
{
	for (size_t i = 0; i < sim->n_unknown; i++)
		if (sim->unknown[i].type == type && sim->unknown[i].nr == nr) {
			sim->unknown[i].count++;
			return;
		}
	if (ARRAY_GROW(sim->unknown, sim->cap_unknown, sim->n_unknown + 1))
		return;
	sim->unknown[sim->n_unknown++] = (struct ioctl_count){type, nr, 1};
}

/* Returns the number of ring packets that were passed to the GPU model and are not complete. */
static uint64_t in_flight(const struct queue *queue)
{
	uint64_t n = 0;

	for (uint64_t i = queue->done; i < queue->submitted; i++)
		n += queue->ahead[i % QUEUE_AHEAD].count;
	return n;
}

static const char *why_stopped(const struct queue *queue)
{
	return queue->record->stopped[0] ? queue->record->stopped
					 : queue->process->lost[queue->node];
}

void report_queue_gone(struct queue *queue)
{
	struct node *node = &queue->process->sim->nodes[queue->node];
	const char *why = why_stopped(queue);

	if (why && why != queue->record->stopped)
		snprintf(queue->record->stopped, sizeof queue->record->stopped, "%s", why);
	gpu_queue_stats(node->gpu, (uint32_t)queue->gpu_queue, &queue->record->stats);
	queue->record->discarded += in_flight(queue);
	queue->record->live = NULL;
}

static const char *type_name(uint32_t type)
{
	switch (type) {
	case KFD_IOC_QUEUE_TYPE_COMPUTE:
		return "pm4";
	case KFD_IOC_QUEUE_TYPE_SDMA:
		return "sdma";
	case KFD_IOC_QUEUE_TYPE_COMPUTE_AQL:
		return "aql";
	default:
		return "xgmi";
	}
}

static json_t *queue_json(struct queue_record *record)
{
	struct gpu_queue_stats stats = record->stats;
	const char *stopped = record->stopped[0] ? record->stopped : NULL;
	uint64_t discarded = record->discarded;

	if (record->live) { /* the queue still existed when the simulation ended */
		const struct queue *queue = record->live;

		gpu_queue_stats(queue->process->sim->nodes[queue->node].gpu,
				(uint32_t)queue->gpu_queue, &stats);
		discarded += in_flight(queue);
		stopped = why_stopped(queue);
	}
	return json_pack("{s:i, s:s, s:i, s:I, s:I, s:I, s:I, s:I, s:f, s:I, s:I, s:I, s:I, s:s?}",
			 "id", (int)record->id, "type", type_name(record->type), "gpu_id",
			 (int)record->gpu_id, "submitted", (json_int_t)record->submitted, "packets",
			 (json_int_t)record->packets, "discarded", (json_int_t)discarded,
			 "dispatches", (json_int_t)record->dispatches, "timed_only",
			 (json_int_t)record->timed_only, "busy_us", (double)stats.busy_ns / 1000.0,
			 "workgroups", (json_int_t)stats.wgs_done, "suspends",
			 (json_int_t)record->suspends, "resumes", (json_int_t)record->resumes,
			 "preempted", (json_int_t)stats.preempted, "stopped", stopped);
}

static json_t *processes_json(struct sim *sim)
{
	json_t *list = json_array();
	struct process_record *process;
	struct queue_record *queue;

	STAILQ_FOREACH(process, &sim->records, link)
	{
		json_t *queues = json_array();

		STAILQ_FOREACH(queue, &process->queues, link)
		json_array_append_new(queues, queue_json(queue));
		json_array_append_new(list, json_pack("{s:i, s:s%, s:b, s:o}", "pid", process->pid,
						      "comm", process->comm, strlen(process->comm),
						      "kfd_open_only", process->open_only, "queues",
						      queues));
	}
	return list;
}

static json_t *kernels_json(const struct sim *sim)
{
	json_t *list = json_array();

	for (size_t i = 0; i < sim->n_kernels; i++)
		if (sim->kernels[i].dispatches)
			json_array_append_new(list,
					      json_pack("{s:s, s:I, s:b}", "name",
							sim->kernels[i].name, "dispatches",
							(json_int_t)sim->kernels[i].dispatches,
							"executed", sim->kernels[i].executed));
	return list;
}

static json_t *ioctls_json(const struct sim *sim)
{
	json_t *list = json_array();

	for (uint32_t nr = 0; nr < KFDABI_NR_END; nr++)
		if (sim->ioctls[nr])
			json_array_append_new(
				list, json_pack("{s:s, s:i, s:I}", "name", ioctl_name(nr), "nr",
						(int)nr, "count", (json_int_t)sim->ioctls[nr]));
	return list;
}

static json_t *unknown_json(const struct sim *sim)
{
	json_t *list = json_array();

	for (size_t i = 0; i < sim->n_unknown; i++) {
		char type[2] = {(char)sim->unknown[i].type, '\0'};

		json_array_append_new(list, json_pack("{s:s, s:i, s:I}", "type", type, "nr",
						      (int)sim->unknown[i].nr, "count",
						      (json_int_t)sim->unknown[i].count));
	}
	return list;
}

static json_t *spinning_json(const struct sim *sim)
{
	json_t *list = json_array();
	const struct process_record *process;

	STAILQ_FOREACH(process, &sim->records, link)
	{
		if (!process->spinning_waits)
			continue;
		json_array_append_new(
			list,
			json_pack("{s:i, s:I, s:s}", "pid", process->pid, "count",
				  (json_int_t)process->spinning_waits, "what",
				  "A thread called WAIT_EVENTS repeatedly with an outdated event "
				  "age, so that it never waited: ROCr 6.4 does so, on real GPUs "
				  "too."));
	}
	return list;
}

static json_t *named_json(const struct virtual_named named[VIRTUAL_NAMED])
{
	json_t *list = json_array();

	for (unsigned i = 0; i < VIRTUAL_NAMED; i++)
		if (named[i].rounds)
			json_array_append_new(list,
					      json_pack("{s:s, s:I}", "command", named[i].command,
							"rounds", (json_int_t)named[i].rounds));
	return list;
}

/* Returns the counts of virtual time as a new object, or NULL for a simulation in real time. */
static json_t *virtual_json(const struct sim *sim)
{
	const struct virtual_counts *counts = &sim->virtual;

	if (!sim->time)
		return NULL;
	return json_pack(
		"{s:f, s:I, s:I, s:I, s:o, s:I, s:I, s:I, s:f, s:o, s:I, s:O?, s:O?, s:O?}",
		"seconds", (double)(clock_ns() - sim->start_ns) / 1e9, "rounds",
		(json_int_t)counts->rounds, "busy", (json_int_t)counts->busy, "forced",
		(json_int_t)counts->forced, "forced_by", named_json(counts->spinners), "outrun",
		(json_int_t)counts->outrun, "wakes", (json_int_t)counts->wakes, "waits",
		(json_int_t)counts->waits, "proof_us",
		counts->rounds ? (double)counts->proof_ns / 1e3 / (double)counts->rounds : 0.0,
		"stopped", named_json(counts->stopped), "long_jumps", (json_int_t)counts->jumps,
		"jumps", counts->first_jumps, "standstill", counts->standstill, "bypasses",
		counts->bypasses);
}

json_t *sim_report(struct sim *sim)
{
	enum kfdabi_rule broken_rule = sim->config.broken_rule;

	return json_pack(
		"{s:o*, s:b, s:s, s:s, s:s*, s:f, s:b, s:o, s:o, s:o, s:I, s:o, s:o, s:o, s:o, s:o, s:I, "
		"s:I, s:I}",
		"virtual", virtual_json(sim), "simulated", 1, "profile", sim->config.node.name,
		"kernel", kfdabi_kernel_name(sim->config.kernel), "broken",
		broken_rule == KFDABI_RULE_NONE ? NULL : kfdabi_rule(broken_rule)->name,
		"time_scale", sim->config.time_scale, "sync_wake", sim->sync_wake, "processes",
		processes_json(sim), "kernels", kernels_json(sim), "doorbell_delay_ns",
		hist_to_json(&sim->totals.doorbell_delay), "bounces",
		(json_int_t)sim->totals.updates, "save_ns", hist_to_json(&sim->totals.save),
		"restore_ns", hist_to_json(&sim->totals.restore), "ioctls", ioctls_json(sim),
		"unknown_ioctls", unknown_json(sim), "spinning_waits", spinning_json(sim),
		"lost_ns", (json_int_t)sim->totals.lost_ns, "host_full", (json_int_t)sim->host_full,
		"plain_updates", (json_int_t)sim->plain_updates);
}

/*
 * Writes simulation.json while the simulation runs (docs/reference/kfdsim-files.md). Formatting the
 * histograms takes longer than a doorbell poll is allowed to be late, so a separate thread does it.
 * The thread also writes the texts of debugfs. The main loop copies the statistics for the thread
 * and never waits for it.
 */

#define NAME "simulation.json"
#define NEXT ".simulation.json.next"
#define GAP_NS 100000000u

struct stats_writer {
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t cond;
	bool pending, stop;	  /* under lock */
	struct sim_stats given;	  /* under lock */
	struct sim_stats written; /* of the thread only */
	struct sim *sim; /* read for constants (profile, costs, directory); debugfs: under lock */
};

static json_t *live_costs(const struct sim *sim)
{
	const struct gpu_config *gpu = &sim->config.gpu;

	return json_pack("{s:f, s:f, s:f}", "bounce_us",
			 (double)(gpu->unmap_ns + gpu->map_ns) / 1000.0, "packet_us",
			 (double)gpu->packet_ns / 1000.0, "unknown_kernel_us",
			 sim->config.node.unknown_kernel_us);
}

/* Appends to @totals the run time of a process on each node. */
static void take_runs(struct sim_stats *totals, const struct process *process)
{
	const struct sim *sim = process->sim;
	const struct queue *queue;
	struct gpu_client_run run, more;
	uint64_t here = 0;

	TAILQ_FOREACH(queue, &process->queues, link)
	here |= UINT64_C(1) << queue->node;
	for (uint32_t i = 0; i < sim->nodes_n; i++) {
		run = process->run[i];
		if (here >> i & 1) {
			more = gpu_client_run(sim->nodes[i].gpu, process->token);
			run.ns += more.ns;
			run.share_ns += more.share_ns;
		}
		if (!run.ns)
			continue;
		totals->more_runs |= totals->n_runs == STATS_RUNS;
		if (totals->more_runs)
			return;
		totals->runs[totals->n_runs].pid = process->record->pid;
		totals->runs[totals->n_runs].node = i;
		totals->runs[totals->n_runs++].run = run;
	}
}

/* Copies the times that the GPU models count to sim->totals. */
static void take_times(struct sim *sim)
{
	struct sim_stats *totals = &sim->totals;
	const struct process *process;

	for (uint32_t i = 0; i < sim->nodes_n; i++)
		gpu_times(sim->nodes[i].gpu, &totals->times[i]);
	totals->n_runs = 0;
	totals->more_runs = false;
	TAILQ_FOREACH(process, &sim->processes, link)
	take_runs(totals, process);
}

static json_t *runs_json(const struct sim_stats *totals, uint32_t node)
{
	json_t *list = totals->more_runs ? json_null() : json_array();

	for (uint32_t i = 0; !totals->more_runs && i < totals->n_runs; i++)
		if (totals->runs[i].node == node)
			json_array_append_new(
				list, json_pack("{s:i, s:I, s:I}", "pid", (int)totals->runs[i].pid,
						"run_ns", (json_int_t)totals->runs[i].run.ns,
						"run_share_ns",
						(json_int_t)totals->runs[i].run.share_ns));
	return list;
}

static json_t *gpus_json(const struct sim *sim, const struct sim_stats *totals)
{
	static const char *const names[GPU_TIMES] = {
		[GPU_TIME_RUN] = "run",
		[GPU_TIME_RUNLIST_UPDATE] = "bounce",
		[GPU_TIME_SAVE] = "save",
		[GPU_TIME_RESTORE] = "restore",
		[GPU_TIME_HELD_READY] = "held_ready",
		[GPU_TIME_HELD] = "held",
		[GPU_TIME_IDLE] = "idle",
	};
	json_t *list = json_array();

	for (uint32_t i = 0; i < sim->nodes_n; i++) {
		json_t *times = json_object();

		for (unsigned t = 0; t < GPU_TIMES; t++)
			json_object_set_new(times, names[t],
					    json_integer((json_int_t)totals->times[i].ns[t]));
		json_array_append_new(list, json_pack("{s:I, s:o, s:o}", "gpu_id",
						      (json_int_t)sim->config.gpu_ids[i], "time_ns",
						      times, "processes", runs_json(totals, i)));
	}
	return list;
}

/* Writes a temporary file and renames it, so that a reader never sees a part of it. */
static void write_file(const struct sim *sim, const struct sim_stats *totals)
{
	json_t *json = json_pack(
		"{s:b, s:s, s:s, s:f, s:b, s:o, s:o, s:I, s:I, s:o, s:o, s:o, s:I, s:I}",
		"simulated", 1, "profile", sim->config.node.name, "kernel",
		kfdabi_kernel_name(sim->config.kernel), "time_scale", sim->config.time_scale,
		"virtual", sim->time != NULL, "costs", live_costs(sim), "doorbell_delay_ns",
		hist_to_json(&totals->doorbell_delay), "bounces", (json_int_t)totals->updates,
		"bounce_ns", (json_int_t)totals->update_model_ns, "save_ns",
		hist_to_json(&totals->save), "restore_ns", hist_to_json(&totals->restore), "gpus",
		gpus_json(sim, totals), "lost_ns", (json_int_t)totals->lost_ns, "pid_namespace",
		(json_int_t)sim->pid_namespace);
	int dir = sim->config.sim_json_dirfd, fd;

	if (json && sim->config.broken_rule != KFDABI_RULE_NONE)
		json_object_set_new(json, "broken",
				    json_string(kfdabi_rule(sim->config.broken_rule)->name));
	if (!json)
		return;
	fd = openat(dir, NEXT, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0444);
	if (fd >= 0) {
		if (!json_dumpfd(json, fd, JSON_COMPACT))
			renameat(dir, NEXT, dir, NAME);
		close(fd);
	}
	json_decref(json);
}

static void *writer(void *arg)
{
	struct stats_writer *live = arg;

	pthread_mutex_lock(&live->lock);
	for (;;) {
		bool stats, texts;

		while (!live->pending && !debugfs_pending(live->sim) && !live->stop)
			pthread_cond_wait(&live->cond, &live->lock);
		if (live->stop)
			break;
		stats = live->pending;
		texts = debugfs_pending(live->sim);
		live->pending = false;
		if (stats)
			live->written = live->given;
		if (texts)
			debugfs_take(live->sim);
		pthread_mutex_unlock(&live->lock);
		if (stats)
			write_file(live->sim, &live->written);
		if (texts)
			debugfs_write(live->sim);
		pthread_mutex_lock(&live->lock);
	}
	pthread_mutex_unlock(&live->lock);
	return NULL;
}

/* Returns false while the writer thread has the lock, which it has only to copy the data. The main
 * loop tries again later. */
bool live_trylock(struct sim *sim)
{
	return !pthread_mutex_trylock(&sim->live->lock);
}

void live_unlock(struct sim *sim)
{
	pthread_cond_signal(&sim->live->cond);
	pthread_mutex_unlock(&sim->live->lock);
}

int live_start(struct sim *sim)
{
	sigset_t all, old;
	struct stats_writer *live;
	int rc;

	if (sim->config.sim_json_dirfd < 0 && !sim->debugfs)
		return 0;
	live = calloc(1, sizeof *live);
	if (!live)
		return -ENOMEM;
	live->sim = sim;
	pthread_mutex_init(&live->lock, NULL);
	pthread_cond_init(&live->cond, NULL);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	rc = pthread_create(&live->thread, NULL, writer, live);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	if (rc) {
		free(live);
		return -rc;
	}
	sim->live = live;
	return 0;
}

void live_stop(struct sim *sim)
{
	struct stats_writer *live = sim->live;

	sim->live = NULL;
	if (live) {
		pthread_mutex_lock(&live->lock);
		live->stop = true;
		pthread_cond_signal(&live->cond);
		pthread_mutex_unlock(&live->lock);
		pthread_join(live->thread, NULL);
		pthread_cond_destroy(&live->cond);
		pthread_mutex_destroy(&live->lock);
		free(live);
	}
	live_write(sim);
}

/* Writes simulation.json in the calling thread, which is possible because no task runs yet. */
void sim_counts_in(struct sim *sim, uint64_t pid_namespace)
{
	sim->pid_namespace = pid_namespace;
	live_write(sim);
}

void live_write(struct sim *sim)
{
	if (sim->config.sim_json_dirfd < 0)
		return;
	take_times(sim);
	write_file(sim, &sim->totals);
}

/* Returns a number that changes when the statistics change. */
static uint64_t mark(const struct sim *sim)
{
	const struct sim_stats *totals = &sim->totals;

	return totals->doorbell_delay.count + totals->updates + totals->restore.count +
	       totals->lost_ns;
}

uint64_t live_due(const struct sim *sim)
{
	if ((!sim->live && !sim->time) || sim->live_mark == mark(sim))
		return UINT64_MAX;
	return sim->live_ns + GAP_NS;
}

void live_update(struct sim *sim, uint64_t now_ns)
{
	struct stats_writer *live = sim->live;

	if (now_ns < live_due(sim))
		return;
	sim->live_ns = now_ns;
	if (sim->time) { /* without a thread, because virtual time would have to wait for it */
		sim->live_mark = mark(sim);
		take_times(sim);
		write_file(sim, &sim->totals);
		return;
	}
	if (!live_trylock(sim))
		return;
	sim->live_mark = mark(sim);
	take_times(sim);
	live->given = sim->totals;
	live->pending = true;
	live_unlock(sim);
}

// SPDX-License-Identifier: MIT
/*
 * Writes simulation.json while the simulation runs (docs/reference/kfdsim-files.md). Formatting the
 * histograms takes longer than a doorbell poll is allowed to be late, so a separate thread does it.
 * The thread also writes the texts of debugfs. The main loop copies the statistics for the thread
 * and never waits for it.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/json_util.h"
#include "sim/driver/files.h"
#include "sim/host/sim.h"

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

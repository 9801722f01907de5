// SPDX-License-Identifier: MIT
/*
 * simulation.json while the simulation runs (docs/reference/kfdsim-files.md). Formatting the
 * histograms takes longer than a doorbell poll is allowed to be late, so a thread of its own does
 * it. The main loop copies the statistics out and never waits for the thread.
 */
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/json_util.h"
#include "sim/host/sim_priv.h"

#define NAME "simulation.json"
#define NEXT ".simulation.json.next"
#define GAP_NS 100000000u

struct live {
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t cond;
	bool pending, stop;	   /* under lock */
	struct figures given;	   /* under lock */
	struct figures written;	   /* of the thread only */
	const struct world *world; /* only what never changes: profile, costs, directory */
};

json_t *live_costs(const struct world *world)
{
	const struct gpu_config *gpu = &world->config.gpu;

	return json_pack("{s:f, s:f, s:f}", "bounce_us",
			 (double)(gpu->unmap_ns + gpu->map_ns) / 1000.0, "packet_us",
			 (double)gpu->packet_ns / 1000.0, "unknown_kernel_us",
			 (double)world->config.unknown_kernel_ns / 1000.0);
}

/* Appends the run time of a process on each node. */
static void take_runs(struct figures *figures, const struct process *process)
{
	const struct world *world = process->world;
	const struct queue *queue;
	struct gpu_client_run run, more;
	uint64_t here = 0;

	TAILQ_FOREACH(queue, &process->queues, link)
	here |= UINT64_C(1) << queue->node;
	for (uint32_t i = 0; i < world->nodes_n; i++) {
		run = process->run[i];
		if (here >> i & 1) {
			more = gpu_client_run(world->nodes[i].gpu, process->token);
			run.ns += more.ns;
			run.share_ns += more.share_ns;
		}
		if (!run.ns)
			continue;
		figures->more_runs |= figures->n_runs == FIGURES_RUNS;
		if (figures->more_runs)
			return;
		figures->runs[figures->n_runs].pid = process->record->pid;
		figures->runs[figures->n_runs].node = i;
		figures->runs[figures->n_runs++].run = run;
	}
}

/* Copies the times that the GPU models count. */
static void take_times(struct world *world)
{
	struct figures *figures = &world->figures;
	const struct process *process;

	for (uint32_t i = 0; i < world->nodes_n; i++)
		gpu_times(world->nodes[i].gpu, &figures->times[i]);
	figures->n_runs = 0;
	figures->more_runs = false;
	TAILQ_FOREACH(process, &world->processes, link)
	take_runs(figures, process);
}

static json_t *runs_json(const struct figures *figures, uint32_t node)
{
	json_t *list = figures->more_runs ? json_null() : json_array();

	for (uint32_t i = 0; !figures->more_runs && i < figures->n_runs; i++)
		if (figures->runs[i].node == node)
			json_array_append_new(
				list, json_pack("{s:i, s:I, s:I}", "pid", (int)figures->runs[i].pid,
						"run_ns", (json_int_t)figures->runs[i].run.ns,
						"run_share_ns",
						(json_int_t)figures->runs[i].run.share_ns));
	return list;
}

static json_t *gpus_json(const struct world *world, const struct figures *figures)
{
	static const char *const names[GPU_TIMES] = {
		[GPU_TIME_RUN] = "run",
		[GPU_TIME_BOUNCE] = "bounce",
		[GPU_TIME_SAVE] = "save",
		[GPU_TIME_RESTORE] = "restore",
		[GPU_TIME_HELD_READY] = "held_ready",
		[GPU_TIME_HELD] = "held",
		[GPU_TIME_IDLE] = "idle",
	};
	json_t *list = json_array();

	for (uint32_t i = 0; i < world->nodes_n; i++) {
		json_t *times = json_object();

		for (unsigned t = 0; t < GPU_TIMES; t++)
			json_object_set_new(times, names[t],
					    json_integer((json_int_t)figures->times[i].ns[t]));
		json_array_append_new(list,
				      json_pack("{s:I, s:o, s:o}", "gpu_id",
						(json_int_t)world->config.gpu_ids[i], "time_ns",
						times, "processes", runs_json(figures, i)));
	}
	return list;
}

/* Writes a temporary file and renames it, so that a reader never sees a part of it. */
static void write_file(const struct world *world, const struct figures *figures)
{
	json_t *json = json_pack(
		"{s:b, s:s, s:s, s:f, s:b, s:o, s:o, s:I, s:I, s:o, s:o, s:o, s:I, s:I}",
		"simulated", 1, "profile", world->profile, "kernel",
		kfdabi_kernel_name(world->config.kernel), "time_scale", world->config.time_scale,
		"virtual", world->time != NULL, "costs", live_costs(world), "doorbell_delay_ns",
		hist_to_json(&figures->doorbell_delay), "bounces", (json_int_t)figures->bounces,
		"bounce_ns", (json_int_t)figures->bounce_model_ns, "save_ns",
		hist_to_json(&figures->save), "restore_ns", hist_to_json(&figures->restore), "gpus",
		gpus_json(world, figures), "lost_ns", (json_int_t)figures->lost_ns, "pid_namespace",
		(json_int_t)world->pid_namespace);
	int dir = world->config.sim_json_dirfd, fd;

	if (json && world->config.broken != KFDABI_RULE_NONE)
		json_object_set_new(json, "broken",
				    json_string(kfdabi_rule(world->config.broken)->name));
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
	struct live *live = arg;

	pthread_mutex_lock(&live->lock);
	for (;;) {
		while (!live->pending && !live->stop)
			pthread_cond_wait(&live->cond, &live->lock);
		if (live->stop)
			break;
		live->pending = false;
		live->written = live->given;
		pthread_mutex_unlock(&live->lock);
		write_file(live->world, &live->written);
		pthread_mutex_lock(&live->lock);
	}
	pthread_mutex_unlock(&live->lock);
	return NULL;
}

int live_start(struct world *world)
{
	sigset_t all, old;
	struct live *live;
	int rc;

	if (world->config.sim_json_dirfd < 0)
		return 0;
	live = calloc(1, sizeof *live);
	if (!live)
		return -ENOMEM;
	live->world = world;
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
	world->live = live;
	return 0;
}

void live_stop(struct world *world)
{
	struct live *live = world->live;

	world->live = NULL;
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
	live_write(world);
}

/* Written at once, because no task runs yet. */
void world_counts_in(struct world *world, uint64_t pid_namespace)
{
	world->pid_namespace = pid_namespace;
	live_write(world);
}

void live_write(struct world *world)
{
	if (world->config.sim_json_dirfd < 0)
		return;
	take_times(world);
	write_file(world, &world->figures);
}

/* Returns a number that changes when the statistics change. */
static uint64_t mark(const struct world *world)
{
	const struct figures *figures = &world->figures;

	return figures->doorbell_delay.count + figures->bounces + figures->restore.count +
	       figures->lost_ns;
}

uint64_t live_due(const struct world *world)
{
	if ((!world->live && !world->time) || world->live_mark == mark(world))
		return UINT64_MAX;
	return world->live_ns + GAP_NS;
}

void live_update(struct world *world, uint64_t now_ns)
{
	struct live *live = world->live;

	if (now_ns < live_due(world))
		return;
	world->live_ns = now_ns;
	if (world->time) { /* no thread: virtual time would have to wait for it */
		world->live_mark = mark(world);
		take_times(world);
		write_file(world, &world->figures);
		return;
	}
	/* The thread holds the lock only for one copy. If it does so now, try again in the next
	 * iteration. */
	if (pthread_mutex_trylock(&live->lock))
		return;
	world->live_mark = mark(world);
	take_times(world);
	live->given = world->figures;
	live->pending = true;
	pthread_cond_signal(&live->cond);
	pthread_mutex_unlock(&live->lock);
}

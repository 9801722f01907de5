// SPDX-License-Identifier: MIT
/*
 * Writes the debugfs files kfd/mqds, rls, mem_limit and hang_hws, and proc/<pid>/pasid_<gpuid> of
 * releases after Linux 6.12.
 *
 * On hardware the driver creates the text when a program reads the file. Here the writer thread
 * (sim/host/report.c) creates it after a change, at most every 20 ms, and then pauses for ten
 * times the CPU time that it used. The main loop copies what the texts need and never waits for the
 * thread.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/inotify.h>
#include <time.h>
#include <unistd.h>

#include "common/array.h"
#include "common/clock.h"
#include "sim/driver/debugfs_text.h"
#include "sim/driver/files.h"
#include "sim/driver/runlist_update.h"

#define GAP_NS 20000000u
#define REST 10
#define PATH_BYTES 64

#define HANG_HWS "hang_hws"
#define HANG_HWS_TEXT "echo gpu_id > hang_hws\n" /* what a reader gets */

struct debugfs {
	bool pending; /* under the writer's lock */
	/* copy of the driver's state for the next texts; under the writer's lock */
	struct debugfs_view view;
	/* copy from which the writer thread makes the texts; used only by this thread */
	struct debugfs_view written;
	/* buffer of the writer thread or, without this thread, of the main loop */
	struct debugfs_text text;
	_Atomic uint64_t took_ns; /* CPU time of the last debugfs_write() */
	bool changed;
	uint64_t given_ns;
	int proc;		   /* directory proc; -1: none */
	int hang_hws, hang_events; /* file hang_hws, and the inotify fd that watches it; -1: none */
};

/* Appends a copy of a process and its queues to @view. Returns 0 or -ENOMEM. */
static int copy_process(struct debugfs_view *view, const struct process *process)
{
	struct debugfs_process *to;
	const struct queue *queue;

	if (ARRAY_GROW(view->processes, view->cap_processes, view->n_processes + 1))
		return -ENOMEM;
	to = &view->processes[view->n_processes++];
	*to = (struct debugfs_process){.pid = process->record->pid,
				       .pasid = process->pasid,
				       .debugged = process->session,
				       .first = view->n_queues};
	TAILQ_FOREACH(queue, &process->queues, link)
	{
		if (ARRAY_GROW(view->queues, view->cap_queues, view->n_queues + 1))
			return -ENOMEM;
		image_of(queue, &view->queues[view->n_queues++]);
		to->n++;
	}
	return 0;
}

static int copy_sim(struct debugfs_view *view, const struct sim *sim)
{
	const struct process *process;
	int r = 0;

	view->n_processes = view->n_queues = 0;
	view->gtt_used = sim->gtt_used;
	TAILQ_FOREACH(process, &sim->processes, link)
	if (!r)
		r = copy_process(view, process);
	return r;
}

static void write_texts(struct sim *sim, const struct debugfs_view *view)
{
	struct debugfs_text *text = &sim->debugfs->text;
	int dir = sim->config.debugfs_dirfd;

	text_mqds(text, sim, view);
	text_write(text, dir, "mqds", 0444);
	text_rls(text, sim, view);
	text_write(text, dir, "rls", 0444);
	text_mem_limit(text, sim, view);
	text_write(text, dir, "mem_limit", 0200); /* root can read it nevertheless */
}

bool debugfs_pending(const struct sim *sim)
{
	return sim->debugfs && sim->debugfs->pending;
}

void debugfs_take(struct sim *sim)
{
	struct debugfs *debugfs = sim->debugfs;
	struct debugfs_view given = debugfs->view;

	debugfs->pending = false;
	debugfs->view = debugfs->written;
	debugfs->written = given;
}

void debugfs_write(struct sim *sim)
{
	uint64_t start = clock_of(CLOCK_THREAD_CPUTIME_ID);

	write_texts(sim, &sim->debugfs->written);
	atomic_store(&sim->debugfs->took_ns, clock_of(CLOCK_THREAD_CPUTIME_ID) - start);
}

static void view_free(struct debugfs_view *view)
{
	free(view->processes);
	free(view->queues);
}

/* Creates hang_hws and watches it: a program writes a gpu_id to it to make that GPU's firmware
 * hang. */
static int hang_hws_start(struct sim *sim)
{
	struct epoll_event event = {.events = EPOLLIN, .data.ptr = sim->debugfs};
	struct debugfs *debugfs = sim->debugfs;
	char path[PATH_BYTES];

	debugfs->hang_hws = openat(sim->config.debugfs_dirfd, HANG_HWS,
				   O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0200);
	debugfs->hang_events = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
	if (debugfs->hang_hws < 0 || debugfs->hang_events < 0 ||
	    write(debugfs->hang_hws, HANG_HWS_TEXT, strlen(HANG_HWS_TEXT)) < 0)
		return -errno;
	snprintf(path, sizeof path, "/proc/self/fd/%d", debugfs->hang_hws);
	if (inotify_add_watch(debugfs->hang_events, path, IN_MODIFY) < 0 ||
	    epoll_ctl(sim->poll_fd, EPOLL_CTL_ADD, debugfs->hang_events, &event))
		return -errno;
	return 0;
}

void debugfs_written(struct sim *sim)
{
	struct debugfs *debugfs = sim->debugfs;
	char events[1024], text[PATH_BYTES] = "", *end;
	unsigned long id;

	while (read(debugfs->hang_events, events, sizeof events) > 0)
		;
	if (pread(debugfs->hang_hws, text, sizeof text - 1, 0) <= 0 || !strcmp(text, HANG_HWS_TEXT))
		return;
	id = strtoul(text, &end, 10);
	for (uint32_t i = 0; i < sim->nodes_n; i++)
		if (end != text && (!*end || *end == '\n') && sim->nodes[i].gpu_id == id)
			firmware_hang(sim, i);
	if (pwrite(debugfs->hang_hws, HANG_HWS_TEXT, strlen(HANG_HWS_TEXT), 0) < 0 ||
	    ftruncate(debugfs->hang_hws, (off_t)strlen(HANG_HWS_TEXT)))
		sim_log("cannot write " HANG_HWS " (%s)", strerror(errno));
}

int debugfs_start(struct sim *sim)
{
	int dir = sim->config.debugfs_dirfd;
	struct debugfs *debugfs;
	int r;

	if (dir < 0)
		return 0;
	debugfs = calloc(1, sizeof *debugfs);
	if (!debugfs)
		return -ENOMEM;
	sim->debugfs = debugfs;
	debugfs->proc = debugfs->hang_hws = debugfs->hang_events = -1;
	if (linux_7(sim)) {
		mkdirat(dir, "proc", 0755);
		debugfs->proc = openat(dir, "proc", O_PATH | O_DIRECTORY | O_CLOEXEC);
	}
	write_texts(sim, &debugfs->view);
	r = hang_hws_start(sim);
	return r ? r : hqd_start(sim);
}

void debugfs_stop(struct sim *sim)
{
	struct debugfs *debugfs = sim->debugfs;

	hqd_stop(sim);
	if (!debugfs)
		return;
	if (debugfs->proc >= 0)
		close(debugfs->proc);
	if (debugfs->hang_hws >= 0)
		close(debugfs->hang_hws);
	if (debugfs->hang_events >= 0)
		close(debugfs->hang_events);
	view_free(&debugfs->view);
	view_free(&debugfs->written);
	free(debugfs->text.at);
	free(debugfs);
	sim->debugfs = NULL;
}

void debugfs_changed(struct sim *sim)
{
	if (sim->debugfs)
		sim->debugfs->changed = true;
}

uint64_t debugfs_due(const struct sim *sim)
{
	const struct debugfs *debugfs = sim->debugfs;

	if (!debugfs || (!sim->live && !sim->time) || !debugfs->changed)
		return UINT64_MAX;
	return debugfs->given_ns + GAP_NS;
}

void debugfs_update(struct sim *sim, uint64_t now_ns)
{
	struct debugfs *debugfs = sim->debugfs;

	if (now_ns < debugfs_due(sim))
		return;
	debugfs->given_ns = now_ns;
	if (sim->time) { /* no writer thread, because virtual time would have to wait for it */
		debugfs->changed = false;
		if (!copy_sim(&debugfs->view, sim))
			write_texts(sim, &debugfs->view);
		return;
	}
	if (!live_trylock(sim))
		return;
	if (debugfs->took_ns > GAP_NS / REST)
		debugfs->given_ns += REST * debugfs->took_ns - GAP_NS;
	debugfs->changed = false;
	debugfs->pending |= !copy_sim(&debugfs->view, sim);
	live_unlock(sim);
}

/* Writes the name of the process's directory to @out. The directory of a secondary context is
 * inside that of its process. */
static void process_dir(const struct process *process, char *out, size_t size)
{
	int n = snprintf(out, size, "%d", process->record->pid);

	if (process->primary)
		snprintf(out + n, size - (size_t)n, "/context_%u", process->context);
}

void debugfs_process_new(struct process *process)
{
	struct debugfs *debugfs = process->sim->debugfs;
	char name[PATH_BYTES], text[16], directory[PATH_BYTES / 2];

	debugfs_changed(process->sim);
	if (!debugfs || debugfs->proc < 0)
		return;
	process_dir(process, directory, sizeof directory);
	mkdirat(debugfs->proc, directory, 0755);
	snprintf(text, sizeof text, "%u\n",
		 rule_holds(process->sim, RULE_debugfs_tells_the_pasid) ? process->pasid : 0);
	for (uint32_t i = 0; i < process->sim->nodes_n; i++) {
		int fd;

		snprintf(name, sizeof name, "%s/pasid_%u", directory,
			 process->sim->nodes[i].gpu_id);
		fd = openat(debugfs->proc, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0444);
		if (fd < 0 || write(fd, text, strlen(text)) < 0)
			sim_log("cannot write %s in debugfs (%s)", name, strerror(errno));
		if (fd >= 0)
			close(fd);
	}
}

void debugfs_process_end(struct process *process)
{
	struct debugfs *debugfs = process->sim->debugfs;
	char directory[PATH_BYTES / 2];

	debugfs_changed(process->sim);
	if (!debugfs || debugfs->proc < 0)
		return;
	process_dir(process, directory, sizeof directory);
	remove_dir(debugfs->proc, directory);
}

// SPDX-License-Identifier: MIT
/*
 * Writes the files of /sys/class/kfd/kfd/proc/<pid>, with names, formats and types as in the
 * driver's kfd_process.c. Each file contains one number; those of queues have no newline, the
 * others have one.
 *
 * Fds of files that change often are kept open, so that a new value costs one system call. A value
 * is written over the old one and the file is then cut, so a reader sees the old or the new first
 * line, never a mixture.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "sim/driver/files.h"

#define SAMPLE_NS 10000000u
#define TEXT_BYTES 32

struct procfs {
	int dir; /* directory kfd/proc */
	uint64_t due_ns;
	bool complained;
};

#define VRAM "vram_%u"
#define SDMA "sdma_%u"
#define EVICTED "stats_%u/evicted_ms"
#define OCCUPANCY "stats_%u/cu_occupancy"

/* A file that contains one number. */
struct number {
	int fd; /* -1: the file has not been written since it was created */
	uint64_t value;
	int length; /* length of its text */
};

/* The files of one process for one node. */
struct dir_node {
	struct number vram, sdma, occupancy;
	/* SDMA time (model time) of the process's destroyed queues on the node */
	uint64_t sdma_past_ns;
	/* the last sample found 0 CUs, which is not written until the next sample confirms it */
	bool doubted;
};

struct procfs_dir {
	int dir, queues;
	struct dir_node nodes[SIM_NODES_MAX];
};

/* Logs that @what could not be written, only at the first failure. */
static void fail(struct sim *sim, const char *what, int error)
{
	if (!sim->procfs->complained)
		sim_log("cannot write %s in kfd/proc (%s): its content is not reliable from now on",
			what, strerror(error));
	sim->procfs->complained = true;
}

static int write_new(const struct sim *sim, int dir, const char *name, const char *text)
{
	int fd = openat(dir, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0444);
	ssize_t n = (ssize_t)strlen(text);

	if (fd < 0)
		return -errno;
	if (write(fd, text, (size_t)n) != n) {
		close(fd);
		return -EIO;
	}
	if (!rule_holds(sim, RULE_proc_files_are_read_only))
		fchmod(fd, 0644);
	return fd;
}

/* Writes a file that does not change later. If that fails, logs it and returns false. */
static bool put_text(struct sim *sim, int dir, const char *name, const char *text)
{
	int fd = write_new(sim, dir, name, text);

	if (fd < 0) {
		fail(sim, name, -fd);
		return false;
	}
	close(fd);
	return true;
}

static void number_start(struct sim *sim, int dir, const char *name, struct number *number)
{
	put_text(sim, dir, name, "0\n");
	*number = (struct number){.fd = -1, .length = 2};
}

/* Writes a new value into a number's file. @name: printf format of the file's name, with the node's
 * gpu_id. */
static void number_set(struct process *process, uint32_t node, const char *name,
		       struct number *number, uint64_t value)
{
	struct sim *sim = process->sim;
	char text[TEXT_BYTES];
	int length;

	if (number->value == value)
		return;
	if (number->fd < 0) {
		snprintf(text, sizeof text, name, sim->nodes[node].gpu_id);
		number->fd = openat(process->directory->dir, text, O_WRONLY | O_CLOEXEC);
	}
	length = snprintf(text, sizeof text, "%" PRIu64 "\n", value);
	if (pwrite(number->fd, text, (size_t)length, 0) != length ||
	    (length < number->length && ftruncate(number->fd, length)))
		fail(sim, "a number", errno);
	number->value = value;
	number->length = length;
}

static void number_end(struct number *number)
{
	if (number->fd >= 0)
		close(number->fd);
}

int procfs_start(struct sim *sim)
{
	struct rlimit files;

	if (sim->config.sim_json_dirfd < 0)
		return 0;
	sim->procfs = calloc(1, sizeof *sim->procfs);
	if (!sim->procfs)
		return -ENOMEM;
	sim->procfs->due_ns = UINT64_MAX;
	mkdirat(sim->config.sim_json_dirfd, "proc", 0755);
	sim->procfs->dir =
		openat(sim->config.sim_json_dirfd, "proc", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (sim->procfs->dir < 0)
		return -errno;
	/* Raise the limit of open files, because kfdsim keeps one fd for each number of a
	 * process. */
	if (!getrlimit(RLIMIT_NOFILE, &files)) {
		files.rlim_cur = files.rlim_max;
		setrlimit(RLIMIT_NOFILE, &files);
	}
	return 0;
}

void procfs_stop(struct sim *sim)
{
	if (!sim->procfs)
		return;
	if (sim->procfs->dir >= 0)
		close(sim->procfs->dir);
	free(sim->procfs);
	sim->procfs = NULL;
}

static int dir_at(struct sim *sim, int dir, const char *name)
{
	int fd;

	if (mkdirat(dir, name, 0755) && errno != EEXIST) {
		fail(sim, name, errno);
		return -1;
	}
	fd = openat(dir, name, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		fail(sim, name, errno);
	return fd;
}

/* Creates all files that a process has for one node. */
static void node_start(struct process *process, struct procfs_dir *directory, uint32_t i)
{
	static const char *const counters[] = {"faults", "page_in", "page_out"};
	struct sim *sim = process->sim;
	struct dir_node *node = &directory->nodes[i];
	uint32_t gpu_id = sim->nodes[i].gpu_id;
	char name[TEXT_BYTES];
	int dir;

	snprintf(name, sizeof name, VRAM, gpu_id);
	number_start(sim, directory->dir, name, &node->vram);
	snprintf(name, sizeof name, SDMA, gpu_id);
	number_start(sim, directory->dir, name, &node->sdma);
	snprintf(name, sizeof name, "stats_%u", gpu_id);
	dir = dir_at(sim, directory->dir, name);
	number_start(sim, dir, "cu_occupancy", &node->occupancy);
	put_text(sim, dir, "evicted_ms", "0\n");
	close(dir);
	snprintf(name, sizeof name, "counters_%u", gpu_id);
	dir = dir_at(sim, directory->dir, name);
	for (size_t c = 0; c < sizeof counters / sizeof *counters; c++)
		put_text(sim, dir, counters[c], "0\n");
	close(dir);
}

/* Returns the fd of the directory that contains the process's directory: kfd/proc or, for a
 * secondary context, the directory of its process. */
static int parent_dir(const struct process *process)
{
	return process->primary && process->primary->directory ? process->primary->directory->dir
							       : process->sim->procfs->dir;
}

static void dir_name(const struct process *process, char *name, size_t size)
{
	if (process->primary)
		snprintf(name, size,
			 rule_holds(process->sim, RULE_proc_context_has_a_folder) ? "context_%u"
										  : "%u",
			 process->context);
	else
		snprintf(name, size, "%d", process->record->pid);
}

void procfs_process_new(struct process *process)
{
	struct sim *sim = process->sim;
	struct procfs_dir *directory;
	char text[TEXT_BYTES];

	if (!sim->procfs)
		return;
	directory = calloc(1, sizeof *directory);
	if (!directory) {
		fail(sim, "a process's directory", ENOMEM);
		return;
	}
	dir_name(process, text, sizeof text);
	directory->dir = dir_at(sim, parent_dir(process), text);
	directory->queues = dir_at(sim, directory->dir, "queues");
	/* In releases after Linux 6.12 this file shows 0, because a process has one pasid for each
	 * GPU. debugfs shows those. */
	snprintf(text, sizeof text, "%u\n",
		 like_linux_7(sim, RULE_proc_pasid_is_the_processs, RULE_proc_pasid_is_0)
			 ? 0
			 : process->pasid);
	put_text(sim, directory->dir, "pasid", text);
	for (uint32_t i = 0; i < sim->nodes_n; i++)
		node_start(process, directory, i);
	process->directory = directory;
}

int remove_dir(int parent, const char *name)
{
	int fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	const struct dirent *entry;

	while (dir && (entry = readdir(dir)))
		if (entry->d_name[0] != '.' && unlinkat(fd, entry->d_name, 0))
			remove_dir(fd, entry->d_name);
	if (dir)
		closedir(dir);
	else if (fd >= 0)
		close(fd);
	return unlinkat(parent, name, AT_REMOVEDIR);
}

void procfs_process_end(struct process *process)
{
	struct procfs_dir *directory = process->directory;
	struct sim *sim = process->sim;
	char name[TEXT_BYTES];

	if (!directory || !rule_holds(sim, RULE_proc_folder_comes_and_goes))
		return;
	process->directory = NULL;
	for (uint32_t i = 0; i < sim->nodes_n; i++) {
		number_end(&directory->nodes[i].vram);
		number_end(&directory->nodes[i].sdma);
		number_end(&directory->nodes[i].occupancy);
	}
	close(directory->queues);
	close(directory->dir);
	dir_name(process, name, sizeof name);
	if (remove_dir(parent_dir(process), name))
		fail(sim, name, errno);
	free(directory);
}

/* Returns the queue's type as a number of the driver's enum kfd_queue_type, which differs from the
 * ioctl's numbers. XGMI changed from 4 to 3 with Linux 7, because a type for the debugger was
 * removed. */
static unsigned type_number(const struct queue *queue)
{
	const struct sim *sim = queue->process->sim;

	switch (queue->type) {
	case KFD_IOC_QUEUE_TYPE_SDMA:
		return rule_holds(sim, RULE_proc_sdma_queue_is_type_1) ? 1 : 0;
	case KFD_IOC_QUEUE_TYPE_SDMA_XGMI:
		return like_linux_7(sim, RULE_proc_xgmi_queue_is_type_4,
				    RULE_proc_xgmi_queue_is_type_3)
			       ? 3
			       : 4;
	default:
		return 0;
	}
}

void procfs_queue_new(const struct queue *queue)
{
	struct sim *sim = queue->process->sim;
	struct procfs_dir *directory = queue->process->directory;
	bool stale = !rule_holds(sim, RULE_proc_id_used_again_tells_the_new_queue);
	const char *end = rule_holds(sim, RULE_proc_queue_files_have_no_newline) ? "" : "\n";
	char text[TEXT_BYTES];
	int dir;

	if (!directory)
		return;
	if (!rule_holds(sim, RULE_smi_queue_changes_are_silent))
		smi_queue_eviction(queue->process, queue->node, SMI_BY_TTM);
	snprintf(text, sizeof text, "%u", queue->id);
	if (stale && !faccessat(directory->queues, text, F_OK, 0))
		return;
	dir = dir_at(sim, directory->queues, text);
	if (dir < 0)
		return;
	snprintf(text, sizeof text, "%u%s", sim->nodes[queue->node].gpu_id, end);
	put_text(sim, dir, "gpuid", text);
	snprintf(text, sizeof text, "%" PRIu64 "%s", queue->ring_bytes, end);
	put_text(sim, dir, "size", text);
	snprintf(text, sizeof text, "%u%s", type_number(queue), end);
	put_text(sim, dir, "type", text);
	close(dir);
}

static uint64_t sdma_ns(const struct queue *queue)
{
	struct gpu_queue_stats stats;

	if (queue->gpu_queue < 0 || gpu_queue_stats(queue->process->sim->nodes[queue->node].gpu,
						    (uint32_t)queue->gpu_queue, &stats))
		return 0;
	return stats.busy_ns;
}

void procfs_queue_gone(const struct queue *queue)
{
	const struct sim *sim = queue->process->sim;
	struct procfs_dir *directory = queue->process->directory;
	char name[TEXT_BYTES];

	if (!directory)
		return;
	if (!is_compute_type(queue->type))
		directory->nodes[queue->node].sdma_past_ns += sdma_ns(queue);
	if (!rule_holds(sim, RULE_proc_queue_is_listed) ||
	    !rule_holds(sim, RULE_proc_id_used_again_tells_the_new_queue))
		return;
	snprintf(name, sizeof name, "%u", queue->id);
	remove_dir(directory->queues, name);
}

void procfs_queue_resized(struct queue *queue)
{
	struct procfs_dir *directory = queue->process->directory;
	char name[TEXT_BYTES], text[TEXT_BYTES];

	queue->position.stale = true;
	if (!directory || !rule_holds(queue->process->sim, RULE_proc_queue_size_follows_update))
		return;
	snprintf(name, sizeof name, "%u/size", queue->id);
	snprintf(text, sizeof text, "%" PRIu64, queue->ring_bytes);
	put_text(queue->process->sim, directory->queues, name, text);
}

void procfs_vram(struct process *process, uint32_t node)
{
	if (process->directory && rule_holds(process->sim, RULE_proc_vram_counts_vram))
		number_set(process, node, VRAM, &process->directory->nodes[node].vram,
			   process->vram[node]);
}

void procfs_evicted(struct process *process, uint32_t node)
{
	struct sim *sim = process->sim;
	char name[2 * TEXT_BYTES], text[TEXT_BYTES];

	if (!process->directory)
		return;
	snprintf(name, sizeof name, EVICTED, sim->nodes[node].gpu_id);
	snprintf(text, sizeof text, "%llu\n",
		 (unsigned long long)(process->evicted_ns[node] / 1000000));
	put_text(sim, process->directory->dir, name, text);
}

/* Writes the wrong content into the process's files if --break names a driver rule about suspended
 * queues in sysfs. */
static void reply_wrongly(const struct queue *queue)
{
	struct sim *sim = queue->process->sim;
	int dir = queue->process->directory->dir;
	char name[2 * TEXT_BYTES];

	if (!rule_holds(sim, RULE_proc_suspended_queue_stays_listed)) {
		procfs_queue_gone(queue);
	} else if (!rule_holds(sim, RULE_proc_evicted_ms_excludes_suspension)) {
		snprintf(name, sizeof name, EVICTED, sim->nodes[queue->node].gpu_id);
		put_text(sim, dir, name, "20\n");
	} else if (!rule_holds(sim, RULE_proc_vram_of_suspended_stays)) {
		snprintf(name, sizeof name, VRAM, sim->nodes[queue->node].gpu_id);
		put_text(sim, dir, name, "0\n");
	}
}

/* Work of a process on one node at the time of a sample. */
struct sample {
	uint64_t wave_slots, sdma_ns;
	/* a mapped queue has packets; if it holds no wave slots, a runlist update may be the
	 * reason */
	bool between;
};

/* Adds up the work of the process's queues on each node, in samples[node]. */
static void sample_queues(const struct process *process, struct sample *samples)
{
	const struct queue *queue;

	TAILQ_FOREACH(queue, &process->queues, link)
	{
		const struct gpu *gpu = process->sim->nodes[queue->node].gpu;
		struct sample *sample = &samples[queue->node];
		uint32_t id = (uint32_t)queue->gpu_queue;

		if (!is_compute_type(queue->type)) {
			sample->sdma_ns += sdma_ns(queue);
			continue;
		}
		if (queue->suspended)
			reply_wrongly(queue);
		sample->wave_slots += gpu_queue_wave_slots(gpu, id);
		sample->between |= gpu_queue_mapped(gpu, id) && gpu_queue_depth(gpu, id);
	}
}

/* Updates the files that are sampled: cu_occupancy and SDMA time. The driver counts waves and
 * rounds up to whole compute units. SDMA time is in the GPU's own clock, which runs at wall
 * speed. */
static void sample(struct process *process)
{
	struct sim *sim = process->sim;
	uint32_t wave_slots_per_cu = sim->config.gpu.wave_slots_per_cu;
	struct sample samples[SIM_NODES_MAX] = {0};

	sample_queues(process, samples);
	for (uint32_t i = 0; i < sim->nodes_n; i++) {
		struct dir_node *node = &process->directory->nodes[i];
		uint64_t cus = (samples[i].wave_slots + wave_slots_per_cu - 1) / wave_slots_per_cu;
		double sdma = (double)(node->sdma_past_ns + samples[i].sdma_ns);

		number_set(process, i, SDMA, &node->sdma,
			   (uint64_t)(sdma / sim->config.time_scale / 1000));
		/* During a runlist update nothing runs, although work is left. So write 0 only if
		 * the next sample finds 0 again. */
		if (!cus && samples[i].between && node->occupancy.value && !node->doubted) {
			node->doubted = true;
			continue;
		}
		node->doubted = false;
		if (!rule_holds(sim, RULE_proc_cu_occupancy_tells_running_waves) ||
		    (!cus && !rule_holds(sim, RULE_proc_cu_occupancy_of_suspended_is_0)))
			continue;
		number_set(process, i, OCCUPANCY, &node->occupancy, cus);
	}
}

void procfs_touch(struct sim *sim)
{
	if (sim->procfs)
		sim->procfs->due_ns = 0;
}

static bool anything_runs(const struct sim *sim)
{
	for (uint32_t i = 0; i < sim->nodes_n; i++)
		if (gpu_next(sim->nodes[i].gpu) != UINT64_MAX)
			return true;
	return false;
}

uint64_t procfs_due(const struct sim *sim)
{
	return sim->procfs ? sim->procfs->due_ns : UINT64_MAX;
}

void procfs_update(struct sim *sim, uint64_t now_ns)
{
	struct procfs *procfs = sim->procfs;
	struct process *process;
	bool doubt = false;

	if (!procfs)
		return;
	if (procfs->due_ns == UINT64_MAX && anything_runs(sim))
		procfs->due_ns = now_ns + SAMPLE_NS;
	if (now_ns < procfs->due_ns)
		return;
	TAILQ_FOREACH(process, &sim->processes, link)
	{
		if (!process->directory)
			continue;
		sample(process);
		for (uint32_t i = 0; i < sim->nodes_n; i++)
			doubt |= process->directory->nodes[i].doubted;
	}
	hqd_pointers(sim);
	procfs->due_ns = doubt || anything_runs(sim) ? now_ns + SAMPLE_NS : UINT64_MAX;
}

// SPDX-License-Identifier: MIT
/* Creation and end of a simulation, and its main loop. */
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/wait.h"
#include "sim/driver/files.h"
#include "sim/host/idle.h"
#include "sim/host/time_slots.h"
#include "sim/host/timers.h"
#include "sim/host/virtual.h"

#define KFD_BYTES (1ull << 62) /* doorbell pages are at multiples of 1 << 46 */
#define SLOTS_MAX 8192u
#define POLL_NS 20000u
#define POLL_HOLD_NS 100000000u
#define POLL_IDLE_NS 5000000u
#define END_MODEL_NS (3600ull * 1000000000u) /* enough for every update in progress */

static bool config_good(const struct world_config *c)
{
	if (!c->profile || !c->nodes || c->nodes > WORLD_NODES_MAX || !(c->time_scale > 0) ||
	    !c->blit_bytes_us || !c->lds_bytes_per_cu)
		return false;
	for (uint32_t i = 0; i < c->nodes; i++)
		if (!c->gpu_ids[i])
			return false;
	return c->kfd_fd >= 0 && c->render_fd >= 0;
}

static int node_new(struct world *world, uint32_t i)
{
	struct node *node = &world->nodes[i];

	node->world = world;
	node->gpu_id = world->config.gpu_ids[i];
	TAILQ_INIT(&node->stuck);
	world->nodes_n = i + 1;
	node->gpu = gpu_new(&world->config.gpu);
	return node->gpu ? heap_init(node) : -EINVAL;
}

/* With priority inheritance, because the main loop may have real-time priority and the server has
 * not. */
static void lock_init(pthread_mutex_t *lock)
{
	pthread_mutexattr_t attributes;

	pthread_mutexattr_init(&attributes);
	pthread_mutexattr_setprotocol(&attributes, PTHREAD_PRIO_INHERIT);
	pthread_mutex_init(lock, &attributes);
	pthread_mutexattr_destroy(&attributes);
}

int world_new(const struct world_config *config, struct world **out)
{
	struct world *world;
	struct stat st;
	int r = -ENOMEM;

	if (!config_good(config))
		return -EINVAL;
	world = calloc(1, sizeof *world);
	if (!world)
		return -ENOMEM;
	world->config = *config;
	if (!config->poll_ns)
		world->config.poll_ns = POLL_NS;
	if (!config->poll_hold_ns)
		world->config.poll_hold_ns = POLL_HOLD_NS;
	if (!config->poll_idle_ns)
		world->config.poll_idle_ns = POLL_IDLE_NS;
	TAILQ_INIT(&world->processes);
	TAILQ_INIT(&world->unheard);
	LIST_INIT(&world->smi_clients);
	STAILQ_INIT(&world->records);
	world->listener = world->wake_fd = -1;
	world->drm_poll_fd = world->dmabuf_fd = -1;
	lock_init(&world->lock);
	pthread_cond_init(&world->move_begun, NULL);
	TAILQ_INIT(&world->moves);
	TAILQ_INIT(&world->moved);
	world->next_deadline_ns = UINT64_MAX;
	world->next_pinned_ns = UINT64_MAX;
	world->start_ns = clock_ns();
	world->profile = strdup(config->profile);
	world->slots = calloc(SLOTS_MAX / 64, sizeof *world->slots);
	world->poll_fd = epoll_create1(EPOLL_CLOEXEC);
	world->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (!world->profile || !world->slots || world->poll_fd < 0 || world->wake_fd < 0)
		goto fail;
	if (fstat(config->kfd_fd, &st) || ftruncate(config->kfd_fd, (off_t)KFD_BYTES)) {
		r = -errno;
		goto fail;
	}
	world->kfd_dev = st.st_dev;
	world->kfd_ino = st.st_ino;
	if (fstat(config->render_fd, &st) ||
	    ftruncate(config->render_fd, (off_t)(NODE_MEMORY_BYTES * config->nodes))) {
		r = -errno;
		goto fail;
	}
	world->render_ino = st.st_ino;
	r = drm_files_start(world);
	if (r)
		goto fail;
	for (uint32_t i = 0; i < config->nodes; i++) {
		r = node_new(world, i);
		if (r)
			goto fail;
	}
	r = procfs_start(world);
	if (!r)
		r = debugfs_start(world);
	if (r)
		goto fail;
	live_write(world);
	*out = world;
	return 0;
fail:
	world_free(world);
	return r;
}

static void free_records(struct world *world)
{
	struct process_record *process;
	struct queue_record *queue;

	while ((process = STAILQ_FIRST(&world->records))) {
		STAILQ_REMOVE_HEAD(&world->records, link);
		while ((queue = STAILQ_FIRST(&process->queues))) {
			STAILQ_REMOVE_HEAD(&process->queues, link);
			free(queue);
		}
		free(process);
	}
}

void world_free(struct world *world)
{
	struct process *process;

	if (!world)
		return;
	while ((process = TAILQ_FIRST(&world->processes)))
		process_die(process);
	calls_forget_all(world);
	drm_files_stop(world);
	for (uint32_t i = 0; i < world->nodes_n; i++) {
		struct node *node = &world->nodes[i];
		struct gpu_event event;

		firmware_forget(node);
		/* Run the GPUs until all updates are over, because only then the queues that they
		 * name are freed. */
		while (node->gpu && gpu_step(node->gpu, gpu_now(node->gpu) + END_MODEL_NS, &event))
			if (event.type == GPU_EVENT_UNMAPPED)
				bounce_event(node, &event);
	}
	for (uint32_t i = 0; i < world->nodes_n; i++) {
		gpu_free(world->nodes[i].gpu);
		heap_done(&world->nodes[i]);
		free(world->nodes[i].by_gpu_queue);
	}
	procfs_stop(world);
	debugfs_stop(world);
	smi_stop(world);
	free_records(world);
	for (size_t i = 0; i < world->n_kernels; i++)
		free(world->kernels[i].name);
	free(world->kernels);
	free(world->unknown);
	free(world->slots);
	free(world->profile);
	if (world->poll_fd >= 0)
		close(world->poll_fd);
	if (world->wake_fd >= 0)
		close(world->wake_fd);
	clock_use(NULL);
	virtual_counts_free(&world->virtual);
	idle_close(world->idle);
	timers_close(world->timers);
	time_slots_close(world->time);
	pthread_cond_destroy(&world->move_begun);
	pthread_mutex_destroy(&world->lock);
	free(world);
}

/* Doorbells are noticed by polling, so this thread should run as soon as it is due: with real-time
 * priority where that is allowed, with a better nice value otherwise. */
static void be_prompt(void)
{
	struct sched_param param = {.sched_priority = 1};

	prctl(PR_SET_TIMERSLACK, 1000);
	if (sched_setscheduler(0, SCHED_FIFO | SCHED_RESET_ON_FORK, &param))
		setpriority(PRIO_PROCESS, 0, -10);
}

enum { FD_LISTENER, FD_STOP, FD_PROCESSES, FD_WAKE, FDS };

/* The main loop in real time: sleeps until something is due, a call has made something due earlier,
 * or a process has ended. */
static int run_loop(struct world *world, int stop_fd)
{
	struct pollfd fds[FDS] = {
		[FD_LISTENER] = {.fd = world->listener}, /* only its end is reported */
		[FD_STOP] = {.fd = stop_fd, .events = POLLIN},
		[FD_PROCESSES] = {.fd = world->poll_fd, .events = POLLIN},
		[FD_WAKE] = {.fd = world->wake_fd, .events = POLLIN},
	};

	for (;;) {
		uint64_t due, count;
		int ready;

		world_lock(world);
		if (fds[FD_PROCESSES].revents)
			process_reap(world);
		drive(world);
		due = world->sleeps_until_ns = drive_due(world);
		pthread_mutex_unlock(&world->lock);
		ready = poll_until_ns(fds, FDS, due);
		if (ready < 0)
			return ready;
		if (fds[FD_STOP].revents || fds[FD_LISTENER].revents)
			return 0;
		if (fds[FD_WAKE].revents && read(world->wake_fd, &count, sizeof count) < 0)
			continue;
	}
}

int world_virtual(struct world *world, int page_fd, pid_t init)
{
	int r = time_slots_open(page_fd, world->start_ns, &world->time);

	if (!r)
		r = timers_open(time_slots_page(world->time), &world->timers);
	if (!r) /* now: once the process runs, it may end at any time */
		r = idle_open(init, &world->idle);
	if (r)
		return r;
	clock_use(time_slots_clock(world->time));
	world->init = init;
	time_slots_charge(world->time, world->config.wake_ns, world->config.ioctl_ns);
	if (world->config.seed)
		time_slots_take_turns(world->time, world->config.seed);
	return 0;
}

/* A debugger may have closed its end of the pipe that events are written to. */
static void block_sigpipe(sigset_t *pipe, sigset_t *old)
{
	sigemptyset(pipe);
	sigaddset(pipe, SIGPIPE);
	sigprocmask(SIG_BLOCK, pipe, old);
}

static void unblock_sigpipe(const sigset_t *pipe, const sigset_t *old)
{
	const struct timespec now = {0, 0};

	while (sigtimedwait(pipe, NULL, &now) > 0)
		;
	sigprocmask(SIG_SETMASK, old, NULL);
}

static int run_virtual(struct world *world, int listener_fd, int stop_fd)
{
	sigset_t pipe, old;
	int r;

	world->listener = listener_fd;
	block_sigpipe(&pipe, &old);
	r = virtual_loop(world, stop_fd);
	unblock_sigpipe(&pipe, &old);
	live_write(world);
	return r;
}

int world_run(struct world *world, int listener_fd, int stop_fd)
{
	sigset_t pipe, old;
	int r;

	if (world->time)
		return run_virtual(world, listener_fd, stop_fd);
	r = live_start(world);

	if (!r)
		r = debugfs_run(world);
	if (r)
		return r;
	block_sigpipe(&pipe, &old);
	r = moves_start(world);
	if (!r) {
		r = notify_start(world, listener_fd);
		if (!r) {
			be_prompt(); /* for this thread only */
			r = run_loop(world, stop_fd);
			notify_stop(world);
		}
		moves_stop(world);
	}
	unblock_sigpipe(&pipe, &old);
	live_stop(world);
	return r;
}

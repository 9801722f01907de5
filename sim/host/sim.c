// SPDX-License-Identifier: MIT
/* Creates and frees a simulation, and runs its main loop. */
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/wait.h"
#include "sim/driver/files.h"
#include "sim/driver/memory.h"
#include "sim/driver/runlist_update.h"
#include "sim/host/idle.h"
#include "sim/host/sim.h"
#include "sim/host/time_slots.h"
#include "sim/host/timers.h"

#define KFD_BYTES (1ull << 62) /* size of kfd_fd; doorbell pages are at multiples of 1 << 46 */
#define SLOTS_MAX 8192u
#define END_MODEL_NS (3600ull * 1000000000u) /* enough for every update in progress */

static bool config_good(const struct sim_config *c)
{
	if (!c->nodes || c->nodes > SIM_NODES_MAX || !(c->time_scale > 0))
		return false;
	for (uint32_t i = 0; i < c->nodes; i++)
		if (!c->gpu_ids[i])
			return false;
	return c->kfd_fd >= 0 && c->render_fd >= 0;
}

static int node_new(struct sim *sim, uint32_t i)
{
	struct node *node = &sim->nodes[i];

	node->sim = sim;
	node->gpu_id = sim->config.gpu_ids[i];
	TAILQ_INIT(&node->stuck);
	sim->nodes_n = i + 1;
	node->gpu = gpu_new(&sim->config.gpu);
	return node->gpu ? heap_init(node) : -EINVAL;
}

/* Creates a lock with priority inheritance, because the main loop may have real-time priority and
 * the server thread has not. */
static void lock_init(pthread_mutex_t *lock)
{
	pthread_mutexattr_t attributes;

	pthread_mutexattr_init(&attributes);
	pthread_mutexattr_setprotocol(&attributes, PTHREAD_PRIO_INHERIT);
	pthread_mutex_init(lock, &attributes);
	pthread_mutexattr_destroy(&attributes);
}

int sim_new(const struct sim_config *config, struct sim **out)
{
	struct sim *sim;
	struct stat st;
	int r = -ENOMEM;

	if (!config_good(config))
		return -EINVAL;
	sim = calloc(1, sizeof *sim);
	if (!sim)
		return -ENOMEM;
	sim->config = *config;
	TAILQ_INIT(&sim->processes);
	TAILQ_INIT(&sim->undelivered);
	LIST_INIT(&sim->smi_clients);
	STAILQ_INIT(&sim->records);
	sim->listener = sim->wake_fd = -1;
	sim->drm_poll_fd = sim->dmabuf_fd = -1;
	lock_init(&sim->lock);
	pthread_cond_init(&sim->move_begun, NULL);
	TAILQ_INIT(&sim->copies);
	TAILQ_INIT(&sim->moved);
	sim->next_deadline_ns = UINT64_MAX;
	sim->next_pinned_ns = UINT64_MAX;
	sim->start_ns = clock_ns();
	sim->slots = calloc(SLOTS_MAX / 64, sizeof *sim->slots);
	sim->poll_fd = epoll_create1(EPOLL_CLOEXEC);
	sim->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (!sim->slots || sim->poll_fd < 0 || sim->wake_fd < 0)
		goto fail;
	if (fstat(config->kfd_fd, &st) || ftruncate(config->kfd_fd, (off_t)KFD_BYTES)) {
		r = -errno;
		goto fail;
	}
	sim->kfd_dev = st.st_dev;
	sim->kfd_ino = st.st_ino;
	if (fstat(config->render_fd, &st) ||
	    ftruncate(config->render_fd, (off_t)(NODE_MEMORY_BYTES * config->nodes))) {
		r = -errno;
		goto fail;
	}
	sim->render_ino = st.st_ino;
	r = drm_files_start(sim);
	if (r)
		goto fail;
	for (uint32_t i = 0; i < config->nodes; i++) {
		r = node_new(sim, i);
		if (r)
			goto fail;
	}
	r = procfs_start(sim);
	if (!r)
		r = debugfs_start(sim);
	if (r)
		goto fail;
	live_write(sim);
	*out = sim;
	return 0;
fail:
	sim_free(sim);
	return r;
}

static void free_records(struct sim *sim)
{
	struct process_record *process;
	struct queue_record *queue;

	while ((process = STAILQ_FIRST(&sim->records))) {
		STAILQ_REMOVE_HEAD(&sim->records, link);
		while ((queue = STAILQ_FIRST(&process->queues))) {
			STAILQ_REMOVE_HEAD(&process->queues, link);
			free(queue);
		}
		free(process);
	}
}

void sim_free(struct sim *sim)
{
	struct process *process;

	if (!sim)
		return;
	while ((process = TAILQ_FIRST(&sim->processes)))
		process_die(process);
	calls_forget_all(sim);
	drm_files_stop(sim);
	for (uint32_t i = 0; i < sim->nodes_n; i++) {
		struct node *node = &sim->nodes[i];
		struct gpu_event event;

		firmware_forget(node);
		/* Run the GPUs until all runlist updates are over, because the queues that they
		 * name are freed only then. */
		while (node->gpu && gpu_step(node->gpu, gpu_now(node->gpu) + END_MODEL_NS, &event))
			if (event.type == GPU_EVENT_UNMAPPED)
				runlist_update_event(node, &event);
	}
	for (uint32_t i = 0; i < sim->nodes_n; i++) {
		gpu_free(sim->nodes[i].gpu);
		heap_done(&sim->nodes[i]);
		free(sim->nodes[i].by_gpu_queue);
	}
	procfs_stop(sim);
	debugfs_stop(sim);
	smi_stop(sim);
	free_records(sim);
	for (size_t i = 0; i < sim->n_kernels; i++)
		free(sim->kernels[i].name);
	free(sim->kernels);
	free(sim->unknown);
	free(sim->slots);
	if (sim->poll_fd >= 0)
		close(sim->poll_fd);
	if (sim->wake_fd >= 0)
		close(sim->wake_fd);
	clock_use(NULL);
	virtual_counts_free(&sim->virtual);
	idle_close(sim->idle);
	timers_close(sim->timers);
	time_slots_close(sim->time);
	pthread_cond_destroy(&sim->move_begun);
	pthread_mutex_destroy(&sim->lock);
	free(sim);
}

/* Makes this thread run as soon as it is due, because it polls the doorbells: with real-time
 * priority if that is allowed, otherwise with a better nice value. */
static void be_prompt(void)
{
	struct sched_param param = {.sched_priority = 1};

	prctl(PR_SET_TIMERSLACK, 1000);
	if (sched_setscheduler(0, SCHED_FIFO | SCHED_RESET_ON_FORK, &param))
		setpriority(PRIO_PROCESS, 0, -10);
}

enum { FD_LISTENER, FD_STOP, FD_PROCESSES, FD_WAKE, FDS };

/* Runs the main loop in real time: sleeps until something is due, a call has made something due
 * earlier, or a process has ended. */
static int run_loop(struct sim *sim, int stop_fd)
{
	struct pollfd fds[FDS] = {
		[FD_LISTENER] = {.fd = sim->listener}, /* only its end is reported */
		[FD_STOP] = {.fd = stop_fd, .events = POLLIN},
		[FD_PROCESSES] = {.fd = sim->poll_fd, .events = POLLIN},
		[FD_WAKE] = {.fd = sim->wake_fd, .events = POLLIN},
	};

	for (;;) {
		uint64_t due, count;
		int ready;

		sim_lock(sim);
		if (fds[FD_PROCESSES].revents)
			process_reap(sim);
		engine_run(sim);
		due = sim->sleeps_until_ns = engine_due(sim);
		pthread_mutex_unlock(&sim->lock);
		ready = poll_until_ns(fds, FDS, due);
		if (ready < 0)
			return ready;
		if (fds[FD_STOP].revents || fds[FD_LISTENER].revents)
			return 0;
		if (fds[FD_WAKE].revents && read(sim->wake_fd, &count, sizeof count) < 0)
			continue;
	}
}

int sim_virtual(struct sim *sim, int page_fd, pid_t init)
{
	struct time_page *page;
	int r = time_slots_open(page_fd, sim->start_ns, &sim->time);

	if (!r)
		r = timers_open(time_slots_page(sim->time), &sim->timers);
	if (!r) /* before the process runs, because it may end at any time after that */
		r = idle_open(init, &sim->idle);
	if (r)
		return r;
	clock_use(time_slots_clock(sim->time));
	sim->init = init;
	page = time_slots_page(sim->time);
	page->wake_ns = (uint32_t)us_ns(sim->config.node.host_wake_us);
	page->ioctl_ns = (uint32_t)us_ns(sim->config.node.host_ioctl_us);
	if (sim->config.seed)
		time_slots_take_turns(sim->time, sim->config.seed);
	return 0;
}

/* Blocks SIGPIPE, because a debugger may have closed its end of a pipe for notifications. */
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

static int run_virtual(struct sim *sim, int listener_fd, int stop_fd)
{
	sigset_t pipe, old;
	int r;

	sim->listener = listener_fd;
	block_sigpipe(&pipe, &old);
	r = virtual_loop(sim, stop_fd);
	unblock_sigpipe(&pipe, &old);
	live_write(sim);
	return r;
}

int sim_run(struct sim *sim, int listener_fd, int stop_fd)
{
	sigset_t pipe, old;
	int r;

	if (sim->time)
		return run_virtual(sim, listener_fd, stop_fd);
	r = live_start(sim);
	if (r)
		return r;
	block_sigpipe(&pipe, &old);
	r = copy_thread_start(sim);
	if (!r) {
		r = notify_start(sim, listener_fd);
		if (!r) {
			be_prompt(); /* for this thread only */
			r = run_loop(sim, stop_fd);
			notify_stop(sim);
		}
		copy_thread_stop(sim);
	}
	unblock_sigpipe(&pipe, &old);
	live_stop(sim);
	return r;
}

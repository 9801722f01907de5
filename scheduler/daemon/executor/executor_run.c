// SPDX-License-Identifier: MIT
#include "scheduler/daemon/executor/executor.h"

#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/queue.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/ratelimit.h"
#include "common/wait.h"
#include "kfd/ptrace.h"
#include "scheduler/daemon/log.h"
#include "scheduler/daemon/memory.h"
#include "scheduler/daemon/peer.h"
#include "scheduler/daemon/privileges.h"

#define STACK_BYTES (128u * 1024u)
#define ATTACH_PAUSE_NS 20000000
#define IDLE_S 3 /* seconds without a target before the process ends */
#define EVENTS 16
/* Up to this number of targets, SIGCHLD for one of them causes a check of all. */
#define FEW 16u
/* With more targets: time from a signal to the check of all, and the maximum time between such
 * checks while some targets are stopped. */
#define CHECK_MIN_NS 5000000u
#define CHECK_MAX_NS 80000000u
#define BY_PID 1024u /* hash chains; a power of two */

/* Rate limit for handling stops of a target (traced process). Each takes CPU time at this process's
 * priority, and a target can send itself signals without end. */
static const struct ratelimit_rule stops = {.burst = 100, .period_ns = 1000000};

/* A target (the process that is traced) and its debug session, used by its thread. */
struct executor_target {
	struct executor *slot;
	struct trap *trap;
	pid_t pid; /* copy of slot->pid, made when the thread starts */
	int pidfd;
	uint64_t serial; /* identifies the target in events of epoll; 0: not in `targets` */
	bool watching;	 /* trap_watch_queues() is active */
	bool stopped;	 /* a stop has not been handled yet */
	struct ratelimit stops;
	/* next: link of `targets`; same: of the chain in by_pid[] */
	LIST_ENTRY(executor_target) next, same;
};
LIST_HEAD(target_list, executor_target);

static struct executor_table *the_table;
static struct executor_process *self;
static int done_fd, epoll_fd, signals_fd;
/* protects `targets`, target_count, by_pid, last_serial and device_fd */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct target_list targets, by_pid[BY_PID];
static unsigned target_count;
static uint64_t last_serial; /* 0 is used for signals */
static int device_fd = -1;

/* Opens /dev/kfd at the first call. Returns the descriptor, or a negative errno and *reason. */
static int the_device(struct reason *reason)
{
	int result;

	pthread_mutex_lock(&lock);
	if (device_fd < 0)
		device_fd = kfd_device_open(reason);
	result = device_fd;
	pthread_mutex_unlock(&lock);
	return result;
}

static int futex_wait(uint32_t *word, uint32_t value, const struct timespec *wait)
{
	return syscall(SYS_futex, word, FUTEX_WAIT, value, wait, NULL, 0) < 0 ? -errno : 0;
}

/* Returns and clears all pending requests. If there is none, waits for one. If `wait_ns` is not
 * negative, waits no longer than that, and returns 0 if none has come. */
static uint32_t wait_request(struct executor *slot, long wait_ns)
{
	const struct timespec wait = {.tv_nsec = wait_ns};
	uint32_t requests;

	for (;;) {
		requests = __atomic_exchange_n(&slot->requests, 0, __ATOMIC_SEQ_CST);
		if (requests)
			return requests;
		if (futex_wait(&slot->requests, 0, wait_ns < 0 ? NULL : &wait) == -ETIMEDOUT)
			return 0;
	}
}

/* Reports outcomes to the worker. */
static void report_outcome(struct executor *slot, uint32_t outcome)
{
	uint64_t one = 1;

	__atomic_fetch_or(&slot->outcome, outcome, __ATOMIC_SEQ_CST);
	executor_table_notify(the_table, slot);
	(void)!write(done_fd, &one, sizeof(one));
}

/* Marks that work on a target (traced process) begins. The watchdog limits the time until
 * end_work(). */
static void begin_work(struct executor *slot)
{
	__atomic_store_n(&slot->busy, 1, __ATOMIC_RELEASE);
}

static void end_work(struct executor *slot)
{
	__atomic_store_n(&slot->busy, 0, __ATOMIC_RELEASE);
	__atomic_fetch_add(&slot->turns, 1, __ATOMIC_RELEASE);
}

/* ---- target ---- */

static int suspend(struct executor_target *target, struct kfd_debug_cost *cost)
{
	int error = kfd_debug_suspend(trap_session(target->trap), cost);

	/* EPERM: the runtime was disabled meanwhile, which a process without the shim does not
	 * announce. */
	bool off = error == -EPERM && target->watching;
	bool gone = error && trap_is_gone(target->trap, error);
	struct kfd_debug_cost undo;

	if (!off && !gone)
		return error;
	kfd_debug_resume(trap_session(target->trap), &undo);
	if (gone)
		report_outcome(target->slot, EXECUTOR_LOST);
	return -ECANCELED;
}

static void act(struct executor_target *target, uint32_t requests)
{
	struct executor_report *report = &target->slot->report;

	if (requests & EXECUTOR_MEASURE)
		kfd_debug_measure(trap_session(target->trap));
	if (requests & EXECUTOR_SUSPEND)
		report->error = suspend(target, &report->cost);
	else
		report->error = kfd_debug_resume(trap_session(target->trap), &report->cost);
	report_outcome(target->slot, EXECUTOR_ACTED);
}

/* Copies to the slot the faults that the last queue snapshot (the driver's list of the queues) has
 * shown. Each entry is one word, so the worker never reads half of one. */
static void report_exceptions(struct executor_target *target)
{
	uint64_t found[EXECUTOR_EXCEPTIONS] = {0};

	trap_exceptions(target->trap, found, EXECUTOR_EXCEPTIONS);
	for (uint32_t i = 0; i < EXECUTOR_EXCEPTIONS; i++)
		__atomic_store_n(&target->slot->exceptions[i], found[i], __ATOMIC_RELAXED);
}

/* Handles an event of the session. */
static void reply(struct executor_target *target)
{
	bool enabled = target->slot->runtime;
	int error;

	if (!target->watching) {
		trap_handle_runtime(target->trap);
		return;
	}
	error = trap_handle_events(target->trap, &enabled);
	__atomic_store_n(&target->slot->runtime, enabled, __ATOMIC_RELEASE);
	report_outcome(target->slot, EXECUTOR_CHANGED | (error ? EXECUTOR_NOT_COLLECTED : 0));
}

/* Opens a pidfd of the target and checks by the start time that it refers to the requested process.
 * Returns 0, or a negative errno with the reason in *reason. */
static int open_target(struct executor_target *target, struct reason *reason)
{
	struct executor *slot = target->slot;
	int error = 0;

	target->pidfd = (int)syscall(SYS_pidfd_open, slot->pid, 0);
	if (target->pidfd < 0)
		error = -errno;
	else if (peer_started(slot->pid) != slot->started)
		error = -ESRCH;
	if (!error) {
		target->trap = trap_create(slot->pid, target->pidfd);
		error = target->trap ? 0 : -ENOMEM;
	}
	if (error)
		reason_set(reason, REASON_executor_failed, slot->pid, error, NULL);
	return error;
}

/* Opens the debug session, which suspends and resumes existing queues once. Returns 0; -ECANCELED
 * if EXECUTOR_QUIT was requested; otherwise a negative errno with the reason in the slot. */
static int attach(struct executor_target *target)
{
	struct executor *slot = target->slot;
	struct kfd_debug_cost enable;
	int error, device = -1;

	begin_work(slot); /* a read in /proc can block, too (reader.h) */
	error = open_target(target, &slot->reason);
	if (!error)
		device = the_device(&slot->reason);
	end_work(slot);
	if (!error)
		error = device < 0 ? device : -EAGAIN;
	for (uint32_t i = 0; error == -EAGAIN && i < slot->tries; i++) {
		if (i && wait_request(slot, ATTACH_PAUSE_NS) & EXECUTOR_QUIT)
			return -ECANCELED;
		begin_work(slot);
		error = trap_attach(target->trap, device, &slot->report.cost, &slot->reason);
		end_work(slot);
	}
	if (error)
		return error;
	enable = trap_enable_cost(target->trap);
	if (enable.duration_ns > slot->report.cost.duration_ns)
		slot->report.cost = enable;
	return 0;
}

static void watch_session(struct executor_target *target)
{
	struct epoll_event event = {.events = EPOLLIN | EPOLLET, .data.u64 = target->serial};

	epoll_ctl(epoll_fd, EPOLL_CTL_ADD, trap_events_fd(target->trap), &event);
}

/* Carries out requests. Returns false if the thread must end: EXECUTOR_QUIT, or the target has
 * ended. */
static bool carry_out(struct executor_target *target, uint32_t requests)
{
	struct trap *trap = target->trap;

	if (requests & (EXECUTOR_SUSPEND | EXECUTOR_RESUME))
		act(target, requests);
	if (requests & EXECUTOR_WATCH)
		target->watching = trap_watch_queues(trap) == 0;
	if (requests & EXECUTOR_RUNTIME)
		reply(target);
	if (requests & EXECUTOR_COLLECT && trap_collect(trap) != 0)
		report_outcome(target->slot, EXECUTOR_NOT_COLLECTED);
	if (requests & EXECUTOR_KICK && trap_serve(trap) == -ESRCH)
		return false;
	if (!(requests & EXECUTOR_QUIT))
		return true;
	trap_detach(trap);
	return false;
}

/* Returns the time in ns until the rate limit allows a stop (by a signal) of the target to be
 * handled; -1: it is not stopped. */
static long until_stop(const struct executor_target *target)
{
	uint64_t now = clock_ns();

	return target->stopped ? (long)(ratelimit_next(&target->stops, &stops, now) - now) : -1;
}

/* Returns the requests that are to be carried out now: all except EXECUTOR_KICK, which is delayed
 * until the rate limit allows it. */
static uint32_t due(struct executor_target *target, uint32_t requests)
{
	target->stopped |= requests & EXECUTOR_KICK;
	if (!target->stopped || !ratelimit_take(&target->stops, &stops, clock_ns()))
		return requests & ~(uint32_t)EXECUTOR_KICK;
	target->stopped = false;
	return requests | EXECUTOR_KICK;
}

static void serve(struct executor_target *target)
{
	bool going = true;

	while (going) {
		uint32_t requests = due(target, wait_request(target->slot, until_stop(target)));

		begin_work(target->slot);
		going = carry_out(target, requests);
		report_exceptions(target);
		end_work(target->slot);
	}
}

static struct target_list *chain_of(pid_t pid)
{
	return &by_pid[(uint32_t)pid % BY_PID];
}

static void add(struct executor_target *target)
{
	pthread_mutex_lock(&lock);
	target->serial = ++last_serial;
	LIST_INSERT_HEAD(&targets, target, next);
	LIST_INSERT_HEAD(chain_of(target->pid), target, same);
	target_count++;
	pthread_mutex_unlock(&lock);
}

static void dispose(struct executor_target *target)
{
	pthread_mutex_lock(&lock);
	if (target->serial) {
		LIST_REMOVE(target, next);
		LIST_REMOVE(target, same);
		target_count--;
	}
	pthread_mutex_unlock(&lock);
	trap_destroy(target->trap);
	if (target->pidfd >= 0)
		close(target->pidfd);
	free(target);
}

static void *run(void *arg)
{
	struct executor_target *target = arg;
	struct executor *slot = target->slot;
	int error = attach(target);

	slot->error = error;
	if (error == 0) {
		slot->runtime = 1; /* a debug session is only opened on an enabled runtime */
		report_outcome(slot, EXECUTOR_ATTACHED);
		add(target);
		watch_session(target);
		executor_send(slot, EXECUTOR_KICK); /* a signal may have arrived before add() */
		serve(target);
	} else if (error != -ECANCELED) {
		report_outcome(slot, EXECUTOR_REFUSED);
	}
	dispose(target);
	report_outcome(slot, EXECUTOR_ENDED); /* the worker owns the slot again */
	return NULL;
}

/* ---- process ---- */

/* Starts a thread, which is detached, because nothing waits for its end. Returns 0 or a negative
 * errno. */
static int start_thread(void *(*body)(void *), void *arg)
{
	pthread_attr_t attr;
	pthread_t thread;
	int error;

	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, STACK_BYTES);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	error = pthread_create(&thread, &attr, body, arg);
	pthread_attr_destroy(&attr);
	return -error;
}

static int begin(struct executor *slot)
{
	struct executor_target *target = calloc(1, sizeof(*target));
	int error;

	if (!target)
		return -ENOMEM;
	target->slot = slot;
	target->pid = slot->pid;
	target->pidfd = -1;
	error = start_thread(run, target);
	if (error)
		free(target);
	return error;
}

/* Starts a thread for each new slot (struct executor) of this process. */
static void take_new(struct executor_table *table, uint32_t number)
{
	uint32_t end = __atomic_load_n(&table->slot_end, __ATOMIC_ACQUIRE);

	for (uint32_t i = 0; i < end && i < EXECUTOR_SLOTS; i++) {
		struct executor *slot = &table->slots[i];
		int error;

		if (__atomic_load_n(&slot->state, __ATOMIC_ACQUIRE) != EXECUTOR_SLOT_USED ||
		    slot->process != number || slot->taken)
			continue;
		slot->taken = 1;
		error = begin(slot);
		if (!error)
			continue;
		slot->error = error;
		reason_set(&slot->reason, REASON_executor_failed, slot->pid, error, NULL);
		report_outcome(slot, EXECUTOR_REFUSED | EXECUTOR_ENDED);
	}
}

static void kick(struct executor_target *target)
{
	if (trap_pending(target->trap))
		executor_send(target->slot, EXECUTOR_KICK);
}

static void kick_all(void)
{
	struct executor_target *target;

	LIST_FOREACH(target, &targets, next)
	kick(target);
}

static void kick_named(pid_t pid)
{
	struct executor_target *target;

	LIST_FOREACH(target, chain_of(pid), same)
	if (target->pid == pid)
		kick(target);
}

/* The next check of all targets. due_ns: its time, 0: none; wait_ns: its delay. */
struct check {
	uint64_t due_ns, wait_ns;
};

/* Checks targets after SIGCHLD, which reports that a target was stopped or has ended. It names one
 * target, but several pending SIGCHLD are merged into one, so all targets must be checked. Few
 * targets are all checked at once. Of many, which cost a system call each, the named one is checked
 * at once and the others a little later (check_all()). */
static void take_signals(struct check *check)
{
	struct signalfd_siginfo info;
	bool few;

	pthread_mutex_lock(&lock);
	few = target_count <= FEW;
	while (read(signals_fd, &info, sizeof(info)) == (ssize_t)sizeof(info))
		if (!few)
			kick_named((pid_t)info.ssi_pid);
	if (few)
		kick_all();
	pthread_mutex_unlock(&lock);
	if (!few && !check->due_ns)
		*check = (struct check){clock_ns() + CHECK_MIN_NS, CHECK_MIN_NS};
}

/* Checks all targets, unless tracer_any_pending() shows by one call that none needs it. */
static void check_all(struct check *check)
{
	if (!tracer_any_pending()) {
		check->due_ns = 0;
		return;
	}
	pthread_mutex_lock(&lock);
	kick_all();
	pthread_mutex_unlock(&lock);
	/* A thread that does not handle its target, because a driver call of it does not return,
	 * must not cause a check every 5 ms. */
	if (check->wait_ns < CHECK_MAX_NS)
		check->wait_ns *= 2;
	check->due_ns = clock_ns() + check->wait_ns;
}

static void session_event(uint64_t serial, uint32_t events)
{
	struct executor_target *target;

	pthread_mutex_lock(&lock);
	LIST_FOREACH(target, &targets, next)
	if (target->serial == serial)
		break;
	if (target && events & EPOLLIN)
		executor_send(target->slot, EXECUTOR_RUNTIME);
	if (target && events & (EPOLLHUP | EPOLLERR))
		report_outcome(target->slot, EXECUTOR_LOST);
	pthread_mutex_unlock(&lock);
}

static void *wait_for_events(void *arg)
{
	struct epoll_event events[EVENTS];
	struct check check = {0};

	for (;;) {
		int n = epoll_until_ns(epoll_fd, events, EVENTS,
				       check.due_ns ? check.due_ns : WAIT_FOREVER);

		for (int i = 0; i < n; i++)
			if (events[i].data.u64)
				session_event(events[i].data.u64, events[i].events);
			else
				take_signals(&check);
		if (check.due_ns && clock_ns() >= check.due_ns)
			check_all(&check);
	}
	return arg;
}

/* Opens signalfd and epoll and starts the thread that waits for them. Returns 0 or a negative
 * errno. SIGCHLD is blocked in all threads; the watchdog has blocked it before the fork. */
static int begin_events(void)
{
	struct epoll_event event = {.events = EPOLLIN, .data.u64 = 0};
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	signals_fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (signals_fd < 0 || epoll_fd < 0 ||
	    epoll_ctl(epoll_fd, EPOLL_CTL_ADD, signals_fd, &event) < 0)
		return -errno;
	return start_thread(wait_for_events, NULL);
}

/* Returns true if the process has no target (traced process), so that it must end; it then accepts
 * no new target. */
static bool leaves(void)
{
	uint32_t none = 0;

	return __atomic_compare_exchange_n(&self->load, &none, EXECUTOR_LEAVES, false,
					   __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
}

int executor_run(struct executor_table *table, uint32_t number, int outcome_fd, uint64_t *refused)
{
	const struct timespec wait = {.tv_sec = IDLE_S};
	struct rlimit files;
	int error;

	the_table = table;
	self = &table->processes[number];
	done_fd = outcome_fd;
	if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
		files.rlim_cur = files.rlim_max;
		setrlimit(RLIMIT_NOFILE, &files);
	}
	memory_lock();
	privilege_urgent(false);
	privilege_drop(FILTER_EXECUTOR, refused);
	error = begin_events();
	if (error) {
		log_error("an executor process cannot start: %s", strerror(-error));
		return 1;
	}
	for (;;) {
		uint32_t calls = __atomic_load_n(&self->calls, __ATOMIC_SEQ_CST);

		take_new(table, number);
		filter_report();
		if (futex_wait(&self->calls, calls, &wait) == -ETIMEDOUT && leaves())
			return 0;
	}
}

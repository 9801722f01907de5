// SPDX-License-Identifier: MIT
#include "shim/hold.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>

#include "common/clock.h"
#include "shim/activity.h"
#include "shim/config.h"
#include "shim/kfd_context.h"
#include "shim/publish.h"
#include "shim/queue_override.h"
#include "shim/self_session.h"
#include "shim/submit_gate.h"
#include "shim/thread.h"
#include "shim/topology.h"

#define RUN_NS 200000000u /* after hold_span_ns on hold the process runs for this time */
/* Period of hold_step() while held. */
#define CHECK_NS 100000000u
#define RETRY_NS 10000000u /* delay before hold_step() repeats what has failed */

uint64_t hold_span_ns = 30000000000u;
uint64_t hold_lease_ns = 3000000000u;

/* This lock is taken before the agent's lock, never with the agent's lock held. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static struct {
	const struct kfdshim_preload_iface *host;
	/* Positive errno of the last attempt to open the device or a session; 0: no error. */
	int session_error;
	struct {
		bool hold;
		/* positive errno that has ended a granted hold; 0: none, or hold_lost() has
		 * returned it */
		int lost;
		uint64_t renewed_ns;
	} holds[HOLD_BY_END];
	enum client_shm_level level; /* the level that the last hold request named */
	bool held;		     /* a hold is in effect, by `level` */
	uint64_t since_ns;	     /* begin of the current time on hold; 0: not on hold */
	/* End of the pause after hold_span_ns. */
	uint64_t run_until_ns;
	/* number of threads in driver calls that would sleep if the process were held */
	uint32_t teardown_threads;
	/* A queue was created since the last hold_step(). */
	bool new_queues;
	bool published_session; /* the session was published to the daemon */
} it;

bool hold_stands(void)
{
	return self_is_suspended() || updates_stand();
}

static void publish_event(enum client_shm_event_kind kind, uint64_t value)
{
	agent_lock();
	link_event(kind, NULL, value);
	agent_unlock();
}

static void set_held(bool held)
{
	if (held != it.held)
		publish_event(held ? CLIENT_SHM_EVENT_HELD : CLIENT_SHM_EVENT_RELEASED, it.level);
	it.held = held;
}

static bool wanted(void)
{
	for (int i = 0; i < HOLD_BY_END; i++)
		if (it.holds[i].hold)
			return true;
	return false;
}

static void drop_holds(int err)
{
	for (int i = 0; i < HOLD_BY_END; i++) {
		if (it.holds[i].hold)
			it.holds[i].lost = -err;
		it.holds[i].hold = false;
	}
}

/* Publishes whether CLIENT_SHM_LEVEL_SELF can hold the process, by a session or by UPDATE_QUEUE. */
static void publish_self(void)
{
	bool updates = config.update_queue && config.level == PROTOCOL_LEVEL_SELF &&
		       device_is_open() && topology_saves_waves();

	agent_lock();
	link_session(self_is_open(), it.session_error, updates);
	agent_unlock();
}

static void publish_session(void)
{
	publish_self();
	publish_event(CLIENT_SHM_EVENT_SESSION, self_is_open());
	it.published_session = self_is_open();
}

static int open_session(void)
{
	int err;

	if (self_is_open())
		return 0;
	if (!topology_saves_waves())
		return -EOPNOTSUPP;
	err = self_open(it.host);
	it.session_error = -err;
	if (err)
		kfdshim_log(LOG_ERROR, "cannot open a debug session on this process: %s; %s",
			    strerror(-err),
			    remedy(-err, "end its debugger, if any, or set KFDSHIM_LEVEL=gate"));
	publish_session();
	if (err)
		publish_event(CLIENT_SHM_EVENT_FAILED, (uint64_t)-err);
	return err;
}

/* ---- levels ---- */

static bool is_by_updates(enum client_shm_level level)
{
	return level == CLIENT_SHM_LEVEL_WEIGHT ||
	       (level == CLIENT_SHM_LEVEL_SELF && config.update_queue);
}

static enum queue_override as_of(enum client_shm_level level)
{
	return level == CLIENT_SHM_LEVEL_WEIGHT ? OVERRIDE_LOWEST : OVERRIDE_STOPPED;
}

static int take(enum client_shm_level level)
{
	int err;

	if (level == CLIENT_SHM_LEVEL_GATE)
		return gate_set(true);
	/* Without CWSR each change of a queue waits for the kernels on the GPU, and a wait that is
	 * too long resets the GPU. */
	if ((level != CLIENT_SHM_LEVEL_WEIGHT && level != CLIENT_SHM_LEVEL_SELF) ||
	    !topology_saves_waves())
		return -EOPNOTSUPP;
	if (is_by_updates(level)) {
		err = updates_set(it.host, device_fd(), as_of(level));
		if (err)
			updates_set(it.host, device_fd(), OVERRIDE_NONE);
		return err;
	}
	/* Try again if the first attempt finds that another process has ended the session. */
	for (int i = 0; i < 2; i++) {
		err = open_session();
		if (!err)
			err = self_suspend();
		if (err != -EINVAL || self_is_open())
			break;
	}
	if (err && self_is_open())
		self_resume();
	return err;
}

static int give_back(enum client_shm_level level)
{
	if (level == CLIENT_SHM_LEVEL_GATE)
		return gate_set(false);
	if (is_by_updates(level))
		return !device_is_open() ? 0 : updates_set(it.host, device_fd(), OVERRIDE_NONE);
	return level == CLIENT_SHM_LEVEL_SELF ? self_resume() : 0;
}

/* ---- decision ---- */

static int release(void)
{
	int err = it.held ? give_back(it.level) : 0;

	if (!err)
		set_held(false);
	return err;
}

/* Returns true if the level is CLIENT_SHM_LEVEL_SELF or CLIENT_SHM_LEVEL_WEIGHT and cannot hold the
 * process now. This is so until the runtime is enabled, because the agent has no open device before
 * that, and while a thread is in a driver call that sleeps if the session has queues suspended. A
 * granted request is kept, and applied afterwards. */
static bool must_wait(void)
{
	if (it.level != CLIENT_SHM_LEVEL_SELF && it.level != CLIENT_SHM_LEVEL_WEIGHT)
		return false;
	return !device_is_open() || (it.teardown_threads > 0 && !is_by_updates(it.level));
}

/* Holds or releases the process as the requests and the time limits demand. A release for a driver
 * call does not restart the time on hold (since_ns). Otherwise a process that makes such calls
 * often enough would never get its pause after hold_span_ns. */
static int apply(uint64_t now_ns)
{
	bool due = wanted() && now_ns >= it.run_until_ns;
	bool want = due && !must_wait();
	int err = 0;

	if (it.held && !want)
		err = release();
	if (!it.held && !due)
		it.since_ns = 0;
	if (it.held || !want)
		return err;
	err = take(it.level);
	if (err)
		drop_holds(err);
	if (!it.since_ns)
		it.since_ns = now_ns;
	/* A failed attempt may leave queues suspended: treat it as a hold; hold_step() releases
	 * it. */
	set_held(!err || hold_stands());
	if (err)
		publish_event(CLIENT_SHM_EVENT_FAILED, (uint64_t)-err);
	return err;
}

static int change(enum hold_by by, enum client_shm_level level, bool hold, uint64_t now_ns)
{
	int err;

	if (hold && level != it.level) {
		err = release();
		if (err)
			return err;
		it.level = level;
	}
	it.holds[by].hold = hold;
	if (hold && must_wait() && !it.held) {
		it.holds[by].hold = false;
		return -ECANCELED;
	}
	return apply(now_ns);
}

int hold_set(enum hold_by by, enum client_shm_level level, bool hold)
{
	int err;

	pthread_mutex_lock(&lock);
	err = change(by, level, hold, clock_ns());
	/* Read the clock again, because the driver call may take long. */
	it.holds[by].renewed_ns = clock_ns();
	it.holds[by].lost = 0; /* the caller learns a failure from `err` */
	pthread_mutex_unlock(&lock);
	return err;
}

int hold_lost(enum hold_by by)
{
	int lost;

	pthread_mutex_lock(&lock);
	lost = it.holds[by].lost;
	it.holds[by].lost = 0;
	pthread_mutex_unlock(&lock);
	return lost;
}

static bool something_lost(void)
{
	for (int i = 0; i < HOLD_BY_END; i++)
		if (it.holds[i].lost)
			return true;
	return false;
}

void hold_renew(enum hold_by by)
{
	pthread_mutex_lock(&lock);
	it.holds[by].renewed_ns = clock_ns();
	pthread_mutex_unlock(&lock);
}

static void end_leases(uint64_t now_ns)
{
	for (int i = 0; i < HOLD_BY_END; i++)
		if (it.holds[i].hold && now_ns > it.holds[i].renewed_ns + hold_lease_ns)
			it.holds[i].hold = false;
	if (it.held && now_ns >= it.since_ns + hold_span_ns)
		it.run_until_ns = now_ns + RUN_NS;
}

static int hold_new_queues(void)
{
	if (is_by_updates(it.level))
		return !device_is_open() ? 0 : updates_set(it.host, device_fd(), as_of(it.level));
	return it.level == CLIENT_SHM_LEVEL_SELF ? self_suspend() : 0;
}

static void collect(void)
{
	int err;

	if (!it.new_queues)
		return;
	it.new_queues = false;
	/* self_collect() fails if another process has ended the session, and nothing is suspended
	 * then. */
	if (self_is_open() && (err = self_collect()) != 0) {
		if (it.held && it.level == CLIENT_SHM_LEVEL_SELF && !config.update_queue)
			drop_holds(err);
		return;
	}
	err = it.held ? hold_new_queues() : 0;
	if (!err)
		return;
	kfdshim_log(LOG_ERROR, "a new queue of this held process cannot be held: %s; %s",
		    strerror(-err),
		    remedy(-err, "set KFDSHIM_LEVEL=gate, which needs no driver calls"));
	publish_event(CLIENT_SHM_EVENT_FAILED, (uint64_t)-err);
	drop_holds(err);
}

/* Drops the hold requests if the debug session by which the process is held no longer exists. If
 * another process ends it, the driver resumes this process without any notification. */
static void check_session(void)
{
	if (it.held && self_is_suspended() && self_check() == -EINVAL)
		drop_holds(-EINVAL);
}

uint64_t hold_step(uint64_t now_ns)
{
	uint64_t next_ns = UINT64_MAX;

	pthread_mutex_lock(&lock);
	end_leases(now_ns);
	check_session();
	collect();
	if (apply(now_ns) != 0)
		next_ns = now_ns + RETRY_NS;
	else if (something_lost())
		next_ns = now_ns; /* link_step() reports it to the daemon */
	else if (it.held)
		next_ns = now_ns + CHECK_NS;
	else if (wanted() && it.run_until_ns > now_ns)
		next_ns = it.run_until_ns;
	if (self_is_open() != it.published_session) /* another process has ended the session */
		publish_session();
	pthread_mutex_unlock(&lock);
	return next_ns;
}

/* ---- events of the process ---- */

static void keep_device(const struct kfdshim_preload_iface *host, int fd)
{
	int err;

	if (device_is_open())
		return;
	/* Read the files for this now, because later calls come under the agent's lock. */
	(void)topology_saves_waves();
	it.host = host;
	err = device_keep(fd);
	if (err)
		it.session_error = -err;
}

void hold_device(const struct kfdshim_preload_iface *host, int fd)
{
	int saved = errno;

	if ((config.level != PROTOCOL_LEVEL_WEIGHT && !config.update_queue) || device_is_open() ||
	    context_of_fd(fd) != CONTEXT_PRIMARY)
		return;
	pthread_mutex_lock(&lock);
	keep_device(host, fd);
	publish_self();
	pthread_mutex_unlock(&lock);
	errno = saved;
}

/*
 * Returns true if the process should open the debug session on itself now, before a queue exists,
 * because ENABLE on a busy runtime was seen to kill the process. Returns false if there is a
 * daemon, because the daemon opens the session. Returns false if the process is never held, because
 * a GPU can have only one session (it has one VMID for debugging).
 */
static bool session_may_be_needed(void)
{
	int priority = config_priority();

	if (config.update_queue || !topology_saves_waves())
		return false;
	switch (config.level) {
	case PROTOCOL_LEVEL_SELF:
		return true;
	case PROTOCOL_LEVEL_AUTO:
	case PROTOCOL_LEVEL_TRAP:
		return priority != PRIORITY_UNSET && priority < PRIORITY_ONLINE &&
		       !link_has_daemon();
	default:
		return false;
	}
}

void hold_runtime_on(const struct kfdshim_preload_iface *host, int fd)
{
	int saved = errno;

	pthread_mutex_lock(&lock);
	keep_device(host, fd);
	if (device_is_open() && session_may_be_needed())
		open_session();
	publish_self();
	pthread_mutex_unlock(&lock);
	sampler_wake(); /* apply hold requests that had to wait for the runtime */
	errno = saved;
}

static void close_session(void)
{
	if (!self_is_open())
		return;
	release();
	self_close();
	set_held(false);
	publish_session();
}

void hold_runtime_off(void)
{
	int saved = errno;

	pthread_mutex_lock(&lock);
	close_session();
	/* Keep the device open if a release failed, because hold_step() needs it to try again. */
	if (!it.held || !is_by_updates(it.level) || release() == 0)
		device_drop();
	publish_self();
	pthread_mutex_unlock(&lock);
	errno = saved;
}

int hold_prepare(enum client_shm_level level)
{
	int err = 0;

	pthread_mutex_lock(&lock);
	if (level != CLIENT_SHM_LEVEL_SELF && config.level != PROTOCOL_LEVEL_SELF)
		close_session();
	else if (level == CLIENT_SHM_LEVEL_SELF && !config.update_queue)
		err = device_is_open() ? open_session() : -ECANCELED;
	pthread_mutex_unlock(&lock);
	return err;
}

void hold_hand_over(void)
{
	pthread_mutex_lock(&lock);
	it.holds[HOLD_BY_PEERS].hold = false;
	if (config.level != PROTOCOL_LEVEL_SELF)
		close_session();
	pthread_mutex_unlock(&lock);
}

void hold_leave_begin(void)
{
	int saved = errno, err = 0;

	pthread_mutex_lock(&lock);
	it.teardown_threads++;
	if (self_is_suspended())
		err = apply(clock_ns());
	pthread_mutex_unlock(&lock);
	if (err)
		sampler_wake(); /* hold_step() tries again */
	errno = saved;
}

void hold_leave_end(void)
{
	int saved = errno;
	bool last;

	pthread_mutex_lock(&lock);
	/* It is 0 in a child that a signal handler has forked during the call (hold_forget()). */
	last = it.teardown_threads && --it.teardown_threads == 0;
	pthread_mutex_unlock(&lock);
	if (last)
		sampler_wake();
	errno = saved;
}

void hold_queue_created(void)
{
	pthread_mutex_lock(&lock);
	it.new_queues = true;
	pthread_mutex_unlock(&lock);
	sampler_wake();
}

void hold_forget(void)
{
	pthread_mutex_init(&lock, NULL);
	self_forget();
	device_forget();
	memset(&it, 0, sizeof(it));
}

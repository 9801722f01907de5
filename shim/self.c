// SPDX-License-Identifier: MIT
#include "shim/self.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "abi/kfd_abi.h"
#include "common/wait.h"
#include "shim/descriptor.h"
#include "shim/device.h"

#define GRACE_SHORTEST 1u /* 0 would mean the default on some kernels */
/* Tries to suspend queues that are created meanwhile. */
#define SUSPEND_TRIES 10
#define HASTY_TRIES 4 /* tries without a pause */
#define PAUSE_NS 100000

struct entry {
	uint32_t id;
	bool suspended; /* or still flagged after a failure */
};

static struct {
	const struct kfdshim_host *host;
	int event_fd; /* required by ENABLE; never read */
	bool open, suspended;
	uint32_t count;
	struct entry queues[KFDABI_QUEUE_ARRAY_MAX];
} self = {.event_fd = -1};

/* Buffers for the driver. Static, so that pages that no queue needs are never touched. */
static uint32_t call[KFDABI_QUEUE_ARRAY_MAX];
static struct kfdabi_queue_snapshot snapshot[KFDABI_QUEUE_ARRAY_MAX];

bool self_is_open(void)
{
	return __atomic_load_n(&self.open, __ATOMIC_ACQUIRE);
}

bool self_is_suspended(void)
{
	return __atomic_load_n(&self.suspended, __ATOMIC_ACQUIRE);
}

static void set_open(bool open)
{
	__atomic_store_n(&self.open, open, __ATOMIC_RELEASE);
}

static void set_suspended(bool suspended)
{
	__atomic_store_n(&self.suspended, suspended, __ATOMIC_RELEASE);
}

/* Calls DBG_TRAP. A positive result is the number of queues. Any living thread can name the
 * process; its first thread may have ended, and the driver finds no process by that number
 * (ESRCH). */
static int trap(struct kfdabi_dbg_trap *args)
{
	int r;

	args->pid = (uint32_t)gettid();
	do {
		r = self.host->ioctl(device_fd(), KFDABI_IOC_DBG_TRAP, args);
	} while (r < 0 && errno == EINTR);
	return r < 0 ? -errno : r;
}

/* Records that no queue is suspended. */
static void all_run(void)
{
	for (uint32_t i = 0; i < self.count; i++)
		self.queues[i].suspended = false;
	set_suspended(false);
}

static void session_over(void)
{
	descriptor_close(&self.event_fd);
	all_run();
	self.count = 0;
	set_open(false);
}

/* Calls GET_QUEUE_SNAPSHOT. -EINVAL means that there is no session; no other error does. If there
 * was one, another process has ended it, which has resumed everything. (Before Linux 6.12.103
 * ending it requires no right.) */
static int call_snapshot(struct kfdabi_dbg_trap *args)
{
	int r = trap(args);

	if (r == -EINVAL && self.open)
		session_over();
	return r;
}

/* Checks for a session by a snapshot without queues. Returns -EINVAL if there is none. */
static int probe(void)
{
	struct kfdabi_dbg_trap args = {.op = KFDABI_TRAP_GET_QUEUE_SNAPSHOT};

	args.u.queue_snapshot.entry_size = sizeof(struct kfdabi_queue_snapshot);
	return call_snapshot(&args);
}

static const struct entry *entry_of(uint32_t id)
{
	for (uint32_t i = 0; i < self.count; i++)
		if (self.queues[i].id == id)
			return &self.queues[i];
	return NULL;
}

/* Reads the list of compute queues, and clears their flag "new". */
static int take_snapshot(void)
{
	const uint64_t new_bit = kfdabi_ec_mask(KFDABI_EC_QUEUE_NEW);
	struct kfdabi_dbg_trap args = {.op = KFDABI_TRAP_GET_QUEUE_SNAPSHOT};
	struct entry fresh[KFDABI_QUEUE_ARRAY_MAX];
	uint32_t count = 0, got;
	int r;

	args.u.queue_snapshot.exception_mask = new_bit;
	args.u.queue_snapshot.snapshot_buf_ptr = (uintptr_t)snapshot;
	args.u.queue_snapshot.num_queues = KFDABI_QUEUE_ARRAY_MAX;
	args.u.queue_snapshot.entry_size = sizeof(snapshot[0]);
	r = call_snapshot(&args);
	if (r < 0)
		return r;
	got = args.u.queue_snapshot.num_queues;
	for (uint32_t i = 0; i < got && i < KFDABI_QUEUE_ARRAY_MAX; i++) {
		const struct kfdabi_queue_snapshot *s = &snapshot[i];
		const struct entry *old = entry_of(s->queue_id);

		if (s->queue_type != KFD_IOC_QUEUE_TYPE_COMPUTE &&
		    s->queue_type != KFD_IOC_QUEUE_TYPE_COMPUTE_AQL)
			continue;
		fresh[count].id = s->queue_id;
		/* A new queue with the id of an old one is not the old queue. */
		fresh[count].suspended = old && old->suspended && !(s->exception_status & new_bit);
		count++;
	}
	memcpy(self.queues, fresh, count * sizeof(fresh[0]));
	self.count = count;
	return 0;
}

/* Fills call[] with the ids of the queues in this state. Returns their number. */
static uint32_t gather(bool suspended)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < self.count; i++)
		if (self.queues[i].suspended == suspended)
			call[n++] = self.queues[i].id;
	return n;
}

/* Suspends the queues that are not suspended yet, once. Returns 0, -EAGAIN if the driver has
 * skipped some (new ones), or another negative errno. */
static int suspend_rest(void)
{
	struct kfdabi_dbg_trap args = {.op = KFDABI_TRAP_SUSPEND_QUEUES};
	uint32_t n = gather(false), next = 0;
	int r, result = 0;

	if (n == 0)
		return 0;
	args.u.suspend.queue_array_ptr = (uintptr_t)call;
	args.u.suspend.num_queues = n;
	args.u.suspend.grace_period = GRACE_SHORTEST;
	r = trap(&args);
	if (r < 0)
		return r;
	for (uint32_t i = 0; i < self.count; i++) {
		struct entry *q = &self.queues[i];
		uint32_t flags;

		if (q->suspended)
			continue;
		flags = call[next++];
		if (flags & KFDABI_QUEUE_ERROR)
			result = -EIO;
		else if (flags & KFDABI_QUEUE_INVALID && result == 0)
			result = -EAGAIN;
		/* After a failure of the firmware the queue stays flagged as suspended in the
		 * driver. */
		q->suspended = flags & KFDABI_QUEUE_ERROR || !(flags & KFDABI_QUEUE_INVALID);
	}
	return result;
}

int self_suspend(void)
{
	int err;

	set_suspended(true);
	for (int i = 0; i < SUSPEND_TRIES; i++) {
		err = suspend_rest();
		if (err == -EINVAL)
			probe();
		if (err != -EAGAIN)
			return err;
		if (i >= HASTY_TRIES)
			sleep_ns(PAUSE_NS);
		err = take_snapshot();
		if (err)
			return err;
	}
	return -EBUSY;
}

int self_resume(void)
{
	struct kfdabi_dbg_trap args = {.op = KFDABI_TRAP_RESUME_QUEUES};
	uint32_t n = gather(true), next = 0;
	int r, result = 0;

	if (n == 0) {
		set_suspended(false);
		return 0;
	}
	args.u.resume.queue_array_ptr = (uintptr_t)call;
	args.u.resume.num_queues = n;
	r = trap(&args);
	if (r < 0) {
		int session = probe();

		/* Without a session, or with the runtime disabled, the driver has resumed
		 * everything. */
		if (session != -EINVAL && !(r == -EPERM && session >= 0))
			return r;
		all_run();
		return 0;
	}
	for (uint32_t i = 0; i < self.count; i++) {
		struct entry *q = &self.queues[i];

		if (!q->suspended)
			continue;
		/* INVALID means that the queue is gone. */
		q->suspended = call[next++] & KFDABI_QUEUE_ERROR;
		if (q->suspended)
			result = -EIO;
	}
	if (!result)
		set_suspended(false);
	return result;
}

int self_check(void)
{
	int r = probe();

	return r < 0 ? r : 0;
}

int self_collect(void)
{
	return take_snapshot();
}

static void end_session(void)
{
	struct kfdabi_dbg_trap args = {.op = KFDABI_TRAP_DISABLE};

	trap(&args); /* resumes everything, also queues that RESUME could not */
	session_over();
}

/* Suspends and resumes queues that existed before the session, so that their state is known: ENABLE
 * was seen to leave them stopped. */
static int settle(void)
{
	int err = take_snapshot(), undo;

	if (err || self.count == 0)
		return err;
	err = self_suspend();
	undo = self_resume();
	return err ? err : undo;
}

static int start_session(void)
{
	struct kfdabi_dbg_trap args = {.op = KFDABI_TRAP_ENABLE};
	struct kfdabi_runtime_info info = {0};
	int err;

	self.event_fd = descriptor_keep(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
	if (self.event_fd < 0)
		return -errno;
	args.u.enable.rinfo_ptr = (uintptr_t)&info;
	args.u.enable.rinfo_size = sizeof(info);
	args.u.enable.dbg_fd = (uint32_t)self.event_fd;
	err = trap(&args);
	if (err < 0) {
		descriptor_close(&self.event_fd);
		return err;
	}
	set_open(true);
	if (info.runtime_state == KFDABI_RUNTIME_ENABLED)
		return 0;
	end_session();
	return -EBUSY;
}

int self_open(const struct kfdshim_host *host)
{
	int err;

	if (self.open)
		return 0;
	self.host = host;
	err = probe();
	if (err >= 0)
		return -EALREADY;
	if (err != -EINVAL)
		return err;
	err = start_session();
	if (err)
		return err;
	err = settle();
	if (err)
		end_session();
	return err;
}

void self_close(void)
{
	if (!self.open)
		return;
	self_resume();
	end_session();
}

void self_forget(void)
{
	descriptor_close(&self.event_fd);
	self.open = self.suspended = false;
	self.count = 0;
}

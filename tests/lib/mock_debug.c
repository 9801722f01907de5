// SPDX-License-Identifier: MIT
#include "tests/lib/mock_debug.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <sys/uio.h>

struct fake_trap fake_trap;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static int refuse(int err)
{
	errno = err;
	return -1;
}

static void resume_all(void)
{
	for (unsigned i = 0; i < 1024; i++)
		fake_trap.suspended[i] = 0;
}

static int enable(struct kfdabi_dbg_trap *args)
{
	struct kfdabi_runtime_info *info = (void *)(uintptr_t)args->u.enable.rinfo_ptr;

	if (fake_trap.session || fake_trap.foreign)
		return refuse(EALREADY);
	fake_trap.unasked += !fake_trap.runtime;
	fake_trap.session = true;
	info->runtime_state = fake_trap.runtime ? KFDABI_RUNTIME_ENABLED : KFDABI_RUNTIME_DISABLED;
	for (unsigned i = 0; i < 1024; i++)
		fake_trap.fresh[i] = fake_trap.compute[i];
	return 0;
}

static int take_snapshot(struct kfdabi_dbg_trap *args)
{
	struct kfdabi_queue_snapshot *out =
		(void *)(uintptr_t)args->u.queue_snapshot.snapshot_buf_ptr;
	uint32_t room = args->u.queue_snapshot.num_queues, n = 0;

	if (!fake_trap.session)
		return fake_trap.foreign ? 0 : refuse(EINVAL);
	fake_trap.snapshots += room > 0;
	for (uint32_t i = 0; i < 1024; i++) {
		if (!fake_trap.compute[i])
			continue;
		if (n < room) {
			out[n] = (struct kfdabi_queue_snapshot){
				.queue_id = i, .queue_type = KFD_IOC_QUEUE_TYPE_COMPUTE_AQL};
			if (fake_trap.fresh[i])
				out[n].exception_status = kfdabi_ec_mask(KFDABI_EC_QUEUE_NEW);
			fake_trap.fresh[i] = 0;
		}
		n++;
	}
	args->u.queue_snapshot.num_queues = n;
	return 0;
}

static int suspend(struct kfdabi_dbg_trap *args)
{
	uint32_t *ids = (void *)(uintptr_t)args->u.suspend.queue_array_ptr;
	int done = 0;

	if (!fake_trap.runtime)
		return refuse(EPERM);
	fake_trap.suspends++;
	for (uint32_t i = 0; i < args->u.suspend.num_queues; i++) {
		uint32_t id = ids[i] & KFDABI_QUEUE_ID_MASK;

		if (!fake_trap.compute[id] || fake_trap.fresh[id]) {
			ids[i] |= KFDABI_QUEUE_INVALID;
			continue;
		}
		fake_trap.suspended[id] = 1;
		if (fake_trap.fail_suspend)
			ids[i] |= KFDABI_QUEUE_ERROR;
		else
			done++;
	}
	return done;
}

static int resume(struct kfdabi_dbg_trap *args)
{
	uint32_t *ids = (void *)(uintptr_t)args->u.resume.queue_array_ptr;
	int done = 0;

	fake_trap.resumes++;
	for (uint32_t i = 0; i < args->u.resume.num_queues; i++) {
		uint32_t id = ids[i] & KFDABI_QUEUE_ID_MASK;

		if (!fake_trap.compute[id]) {
			ids[i] |= KFDABI_QUEUE_INVALID;
			continue;
		}
		fake_trap.not_suspended += !fake_trap.suspended[id];
		fake_trap.suspended[id] = 0;
		done++;
	}
	return done;
}

static int reply(struct kfdabi_dbg_trap *args)
{
	if (args->op == KFDABI_TRAP_ENABLE)
		return enable(args);
	if (args->op == KFDABI_TRAP_GET_QUEUE_SNAPSHOT)
		return take_snapshot(args);
	if (!fake_trap.session)
		return refuse(EINVAL);
	switch (args->op) {
	case KFDABI_TRAP_DISABLE:
		fake_trap.session = false;
		resume_all();
		return 0;
	case KFDABI_TRAP_SUSPEND_QUEUES:
		return suspend(args);
	case KFDABI_TRAP_RESUME_QUEUES:
		return resume(args);
	default:
		return 0;
	}
}

/* Returns whether thread `tid` has memory. The driver looks up the memory of the named thread and
 * fails if that thread has ended, even if it was the first thread of a process that still runs. */
static bool has_memory(uint32_t tid)
{
	char from = 0, to;
	struct iovec local = {&to, 1}, remote = {&from, 1};

	return process_vm_readv((pid_t)tid, &local, 1, &remote, 1, 0) == 1 || errno != ESRCH;
}

int fake_trap_ioctl(struct kfdabi_dbg_trap *args)
{
	void (*then)(void) = NULL;
	int result;

	if (!has_memory(args->pid))
		return refuse(ESRCH);
	pthread_mutex_lock(&lock);
	result = reply(args);
	pthread_mutex_unlock(&lock);
	if (args->op == KFDABI_TRAP_SUSPEND_QUEUES)
		then = fake_trap.on_suspend;
	if (args->op == KFDABI_TRAP_RESUME_QUEUES)
		then = fake_trap.on_resume;
	if (then)
		then();
	return result;
}

void fake_trap_created(uint32_t id, uint32_t type)
{
	pthread_mutex_lock(&lock);
	fake_trap.compute[id] =
		type == KFD_IOC_QUEUE_TYPE_COMPUTE || type == KFD_IOC_QUEUE_TYPE_COMPUTE_AQL;
	fake_trap.fresh[id] = fake_trap.compute[id];
	fake_trap.suspended[id] = 0;
	pthread_mutex_unlock(&lock);
}

void fake_trap_destroyed(uint32_t id)
{
	pthread_mutex_lock(&lock);
	fake_trap.slept += fake_trap.suspended[id];
	fake_trap.compute[id] = fake_trap.suspended[id] = 0;
	pthread_mutex_unlock(&lock);
}

void fake_trap_runtime(bool on)
{
	pthread_mutex_lock(&lock);
	fake_trap.slept += !on && fake_trap.session;
	fake_trap.runtime = on;
	pthread_mutex_unlock(&lock);
}

void fake_trap_end_session(void)
{
	pthread_mutex_lock(&lock);
	fake_trap.session = false;
	resume_all();
	pthread_mutex_unlock(&lock);
}

unsigned fake_trap_attached(void)
{
	unsigned n = 0;

	pthread_mutex_lock(&lock);
	for (unsigned i = 0; i < 1024; i++)
		n += fake_trap.suspended[i];
	pthread_mutex_unlock(&lock);
	return n;
}

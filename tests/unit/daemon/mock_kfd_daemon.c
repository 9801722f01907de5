// SPDX-License-Identifier: MIT
#include "tests/unit/daemon/mock_kfd_daemon.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
/* cmocka.h needs the three headers above */
#include <cmocka.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

struct played_kfd played;

int __wrap_ioctl(int fd, unsigned long request, void *arg);

static int fails(int error)
{
	errno = error;
	return -1;
}

static int play_snapshot(struct kfdabi_dbg_trap *a)
{
	struct kfdabi_queue_snapshot *out = (void *)(uintptr_t)a->u.queue_snapshot.snapshot_buf_ptr;
	uint32_t room = a->u.queue_snapshot.num_queues;
	uint32_t n = 0;

	played.snapshots++;
	played.now_ns += UINT64_C(1000) * played.snapshot_us;
	for (uint32_t i = 0; i < PLAYED_QUEUES; i++) {
		struct played_queue *q = &played.queues[i];

		if (!q->exists)
			continue;
		if (n < room) {
			memset(&out[n], 0, sizeof(out[n]));
			out[n].queue_id = i;
			out[n].queue_type = q->type;
			out[n].gpu_id = q->gpu_id;
			out[n].exception_status = q->faults;
			if (q->is_new)
				out[n].exception_status |= kfdabi_ec_mask(KFDABI_EC_QUEUE_NEW);
			q->is_new = q->new_again > 0;
			q->new_again -= q->new_again > 0;
		}
		n++;
	}
	a->u.queue_snapshot.num_queues = n;
	return 0;
}

static int play_suspend(struct kfdabi_dbg_trap *a)
{
	uint32_t *ids = (void *)(uintptr_t)a->u.suspend.queue_array_ptr;
	int count = 0;

	played.suspends++;
	assert_int_equal(a->u.suspend.grace_period, 1);
	played.now_ns += UINT64_C(1000) * played.suspend_us;
	if (played.suspend_error)
		return fails(played.suspend_error);
	for (uint32_t i = 0; i < a->u.suspend.num_queues; i++) {
		struct played_queue *q = ids[i] < PLAYED_QUEUES ? &played.queues[ids[i]] : NULL;

		if (!q || !q->exists || q->is_new) {
			ids[i] |= KFDABI_QUEUE_INVALID;
			continue;
		}
		assert_int_not_equal(q->type, KFD_IOC_QUEUE_TYPE_SDMA);
		q->suspended = true;
		if (played.firmware_fails)
			ids[i] |= KFDABI_QUEUE_ERROR;
		else
			count++;
	}
	return count;
}

static int play_resume(struct kfdabi_dbg_trap *a)
{
	uint32_t *ids = (void *)(uintptr_t)a->u.resume.queue_array_ptr;
	int count = 0;

	played.resumes++;
	assert_non_null(ids);
	for (uint32_t i = 0; i < a->u.resume.num_queues; i++) {
		struct played_queue *q = ids[i] < PLAYED_QUEUES ? &played.queues[ids[i]] : NULL;

		if (!q || !q->exists) {
			ids[i] |= KFDABI_QUEUE_INVALID;
			continue;
		}
		/* The daemon must never resume a queue that it has not suspended. */
		assert_true(q->suspended);
		q->suspended = false;
		count++;
	}
	return count;
}

static int play_enable(struct kfdabi_dbg_trap *a)
{
	struct kfdabi_runtime_info info = {.runtime_state = played.runtime_state};

	if (played.enable_error)
		return fails(played.enable_error);
	assert_int_equal(a->u.enable.rinfo_size, sizeof(info));
	memcpy((void *)(uintptr_t)a->u.enable.rinfo_ptr, &info, sizeof(info));
	played.dbg_fd = dup((int)a->u.enable.dbg_fd);
	played.subscribed = a->u.enable.exception_mask;
	played.session = true;
	return 0;
}

void played_event(uint64_t mask)
{
	if (played.session && played.subscribed & mask)
		assert_int_equal(write(played.dbg_fd, ".", 1), 1);
}

static int play_query(const struct kfdabi_dbg_trap *a)
{
	struct kfdabi_runtime_info info = {.runtime_state = played.runtime_state};

	assert_int_equal(a->u.query_info.exception_code, KFDABI_EC_PROCESS_RUNTIME);
	assert_int_equal(a->u.query_info.info_size, sizeof(info));
	if (!played.runtime_raised)
		return fails(ENODATA);
	memcpy((void *)(uintptr_t)a->u.query_info.info_ptr, &info, sizeof(info));
	played.runtime_raised = !a->u.query_info.clear_exception;
	return 0;
}

void played_session_end(void)
{
	played.session = false;
	close(played.dbg_fd);
	for (int i = 0; i < PLAYED_QUEUES; i++)
		played.queues[i].suspended = false;
}

bool played_is_traced(void)
{
	char path[64], line[256];
	long tracer = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/status", (int)played.target);
	f = fopen(path, "re");
	assert_non_null(f);
	while (fgets(line, sizeof(line), f) && sscanf(line, "TracerPid: %ld", &tracer) != 1)
		;
	fclose(f);
	return tracer != 0;
}

/* Replaces ioctl() (linker option --wrap): every call goes to the mock driver. */
int __wrap_ioctl(int fd, unsigned long request, void *arg)
{
	struct kfdabi_dbg_trap *a = arg;

	assert_int_equal(fd, PLAYED_FD);
	assert_int_equal(request, KFDABI_IOC_DBG_TRAP);
	assert_int_equal(a->pid, played.target);
	played.now_ns += 1000;
	if (played.lost_right ||
	    (played.tracer_only && !played_is_traced() && a->op != KFDABI_TRAP_DISABLE))
		return fails(EPERM);
	if (a->op == KFDABI_TRAP_ENABLE)
		return played.session ? fails(EALREADY) : play_enable(a);
	if (!played.session)
		return fails(EINVAL);
	switch (a->op) {
	case KFDABI_TRAP_GET_QUEUE_SNAPSHOT:
		return play_snapshot(a);
	case KFDABI_TRAP_SEND_RUNTIME_EVENT:
		played.posted++;
		return 0;
	case KFDABI_TRAP_DISABLE:
		played.disables++;
		played_session_end();
		return 0;
	case KFDABI_TRAP_SUSPEND_QUEUES:
		return played.runtime_state == 1 ? play_suspend(a) : fails(EPERM);
	case KFDABI_TRAP_RESUME_QUEUES:
		return played.runtime_state == 1 ? play_resume(a) : fails(EPERM);
	case KFDABI_TRAP_SET_EXCEPTIONS_ENABLED:
		played.subscribed = a->u.set_exceptions_enabled.exception_mask;
		return 0;
	case KFDABI_TRAP_QUERY_EXCEPTION_INFO:
		return play_query(a);
	}
	return fails(EINVAL);
}

void played_queue_made(uint32_t id, uint32_t type)
{
	played.queues[id] = (struct played_queue){.exists = true, .is_new = true, .type = type};
	played_event(kfdabi_ec_mask(KFDABI_EC_QUEUE_NEW));
}

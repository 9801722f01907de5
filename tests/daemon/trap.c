// SPDX-License-Identifier: MIT
/*
 * Proves the trap level's dealings with the driver, against a driver played by
 * this program (ioctl is wrapped): new queues are collected, skipped ones are
 * tried again, failures are undone, nothing is resumed that was not suspended,
 * sessions are opened in the right state only and never over another's.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka needs the four above */
#include <cmocka.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "abi/kfd_abi.h"
#include "scheduler/kfd/trap.h"

#define KFD 1000 /* a descriptor that nobody has */
#define QUEUES 8

struct played_queue {
	bool exists, is_new, suspended;
	uint32_t type;
	unsigned new_again; /* becomes new so many times after a snapshot */
};

/* The driver's side of one target. */
static struct {
	bool session, lost_right;
	bool tracer_only; /* before Linux 6.12.103 */
	unsigned runtime_state;
	int enable_error;
	bool firmware_fails;
	unsigned posted; /* runtime events */
	unsigned suspends, resumes, snapshots, disables;
	int dbg_fd;
	uint64_t subscribed;
	bool runtime_raised;
	struct played_queue queues[QUEUES];
} kfd;

static pid_t child;
static int pidfd;
static struct trap *trap;
static char reason[KFD_REASON];
static struct trap_cost cost;

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

	kfd.snapshots++;
	for (uint32_t i = 0; i < QUEUES; i++) {
		struct played_queue *q = &kfd.queues[i];

		if (!q->exists)
			continue;
		if (n < room) {
			memset(&out[n], 0, sizeof(out[n]));
			out[n].queue_id = i;
			out[n].queue_type = q->type;
			if (q->is_new)
				out[n].exception_status = kfdabi_ec_mask(KFDABI_EC_QUEUE_NEW);
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

	kfd.suspends++;
	assert_int_equal(a->u.suspend.grace_period, 1);
	for (uint32_t i = 0; i < a->u.suspend.num_queues; i++) {
		struct played_queue *q = ids[i] < QUEUES ? &kfd.queues[ids[i]] : NULL;

		if (!q || !q->exists || q->is_new) {
			ids[i] |= KFDABI_QUEUE_INVALID;
			continue;
		}
		assert_int_not_equal(q->type, KFD_IOC_QUEUE_TYPE_SDMA);
		q->suspended = true;
		if (kfd.firmware_fails)
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

	kfd.resumes++;
	assert_non_null(ids);
	for (uint32_t i = 0; i < a->u.resume.num_queues; i++) {
		struct played_queue *q = ids[i] < QUEUES ? &kfd.queues[ids[i]] : NULL;

		if (!q || !q->exists) {
			ids[i] |= KFDABI_QUEUE_INVALID;
			continue;
		}
		assert_true(q->suspended); /* never resume what was not suspended */
		q->suspended = false;
		count++;
	}
	return count;
}

static int play_enable(struct kfdabi_dbg_trap *a)
{
	struct kfdabi_runtime_info info = {.runtime_state = kfd.runtime_state};

	if (kfd.enable_error)
		return fails(kfd.enable_error);
	assert_int_equal(a->u.enable.rinfo_size, sizeof(info));
	memcpy((void *)(uintptr_t)a->u.enable.rinfo_ptr, &info, sizeof(info));
	kfd.dbg_fd = dup((int)a->u.enable.dbg_fd);
	kfd.subscribed = a->u.enable.exception_mask;
	kfd.session = true;
	return 0;
}

static void raise_event(uint64_t mask)
{
	if (kfd.session && kfd.subscribed & mask)
		assert_int_equal(write(kfd.dbg_fd, ".", 1), 1);
}

static int play_query(const struct kfdabi_dbg_trap *a)
{
	struct kfdabi_runtime_info info = {.runtime_state = kfd.runtime_state};

	assert_int_equal(a->u.query_info.exception_code, KFDABI_EC_PROCESS_RUNTIME);
	assert_int_equal(a->u.query_info.info_size, sizeof(info));
	if (!kfd.runtime_raised)
		return fails(ENODATA);
	memcpy((void *)(uintptr_t)a->u.query_info.info_ptr, &info, sizeof(info));
	kfd.runtime_raised = !a->u.query_info.clear_exception;
	return 0;
}

static void end_session(void)
{
	kfd.session = false;
	close(kfd.dbg_fd);
	for (int i = 0; i < QUEUES; i++)
		kfd.queues[i].suspended = false;
}

static bool traced(void)
{
	char path[64], line[256];
	long tracer = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/status", (int)child);
	f = fopen(path, "re");
	assert_non_null(f);
	while (fgets(line, sizeof(line), f) && sscanf(line, "TracerPid: %ld", &tracer) != 1)
		;
	fclose(f);
	return tracer != 0;
}

/* cmocka's wrapper of ioctl: everything goes to the played driver. */
int __wrap_ioctl(int fd, unsigned long request, void *arg)
{
	struct kfdabi_dbg_trap *a = arg;

	assert_int_equal(fd, KFD);
	assert_int_equal(request, KFDABI_IOC_DBG_TRAP);
	assert_int_equal(a->pid, child);
	if (kfd.lost_right || (kfd.tracer_only && !traced() && a->op != KFDABI_TRAP_DISABLE))
		return fails(EPERM);
	if (a->op == KFDABI_TRAP_ENABLE)
		return kfd.session ? fails(EALREADY) : play_enable(a);
	if (!kfd.session)
		return fails(EINVAL);
	switch (a->op) {
	case KFDABI_TRAP_GET_QUEUE_SNAPSHOT:
		return play_snapshot(a);
	case KFDABI_TRAP_SEND_RUNTIME_EVENT:
		kfd.posted++;
		return 0;
	case KFDABI_TRAP_DISABLE:
		kfd.disables++;
		end_session();
		return 0;
	case KFDABI_TRAP_SUSPEND_QUEUES:
		return kfd.runtime_state == 1 ? play_suspend(a) : fails(EPERM);
	case KFDABI_TRAP_RESUME_QUEUES:
		return kfd.runtime_state == 1 ? play_resume(a) : fails(EPERM);
	case KFDABI_TRAP_SET_EXCEPTIONS_ENABLED:
		kfd.subscribed = a->u.set_exceptions_enabled.exception_mask;
		return 0;
	case KFDABI_TRAP_QUERY_EXCEPTION_INFO:
		return play_query(a);
	}
	return fails(EINVAL);
}

static void add(uint32_t id, uint32_t type)
{
	kfd.queues[id] = (struct played_queue){.exists = true, .is_new = true, .type = type};
	raise_event(kfdabi_ec_mask(KFDABI_EC_QUEUE_NEW));
}

static int setup(void **state)
{
	(void)state;
	memset(&kfd, 0, sizeof(kfd));
	kfd.runtime_state = KFDABI_RUNTIME_ENABLED;
	child = fork();
	if (child == 0)
		for (;;)
			pause();
	pidfd = (int)syscall(SYS_pidfd_open, child, 0);
	trap = trap_create(child, pidfd);
	return trap ? 0 : -1;
}

static int teardown(void **state)
{
	(void)state;
	trap_destroy(trap);
	kill(child, SIGKILL);
	waitpid(child, NULL, __WALL);
	close(pidfd);
	return 0;
}

static void attach(void)
{
	assert_int_equal(trap_attach(trap, KFD, &cost, reason), 0);
}

static void opens_a_session_and_settles_queues(void **state)
{
	(void)state;
	add(0, KFD_IOC_QUEUE_TYPE_COMPUTE_AQL);
	add(1, KFD_IOC_QUEUE_TYPE_SDMA);
	attach();
	assert_true(kfd.session);
	assert_int_equal(kfd.posted, 1); /* one runtime event ahead */
	assert_int_equal(kfd.suspends, 1);
	assert_int_equal(kfd.resumes, 1);
	assert_false(kfd.queues[0].suspended);
	trap_detach(trap);
	assert_int_equal(kfd.disables, 1);
	assert_true(kfd.posted >= 2); /* and one before the end */
}

static void no_queues_no_bounce(void **state)
{
	(void)state;
	attach();
	assert_int_equal(kfd.suspends + kfd.resumes, 0);
}

/* Which of the two a driver is shows by what it does. */
static void lets_go_of_the_thread_where_the_driver_allows_it(void **state)
{
	(void)state;
	add(0, KFD_IOC_QUEUE_TYPE_COMPUTE_AQL);
	attach();
	assert_false(traced());
	assert_int_equal(trap_suspend(trap, &cost), 0);
	assert_true(kfd.queues[0].suspended);
	assert_int_equal(trap_serve(trap), 0);
	trap_detach(trap);
	assert_int_equal(kfd.disables, 1);
	assert_false(kfd.session || kfd.queues[0].suspended);
}

static void stays_attached_where_the_driver_wants_it(void **state)
{
	(void)state;
	kfd.tracer_only = true;
	add(0, KFD_IOC_QUEUE_TYPE_COMPUTE_AQL);
	attach();
	assert_true(traced());
	assert_int_equal(trap_suspend(trap, &cost), 0);
	assert_true(kfd.queues[0].suspended);
	trap_detach(trap);
	assert_false(kfd.session || traced());
}

static void the_first_suspend_is_told(void **state)
{
	(void)state;
	attach();
	assert_int_equal(cost.entry_ns, 0);
	trap_detach(trap);
	add(0, KFD_IOC_QUEUE_TYPE_COMPUTE_AQL);
	attach();
	assert_true(cost.entry_ns > 0 && cost.duration_ns > 0);
	trap_detach(trap);
	kfd.firmware_fails = true;
	assert_int_equal(trap_attach(trap, KFD, &cost, reason), -EIO);
	assert_false(kfd.session || kfd.queues[0].suspended || traced());
}

static void one_call_in_the_steady_state(void **state)
{
	unsigned before;

	(void)state;
	add(0, KFD_IOC_QUEUE_TYPE_COMPUTE_AQL);
	add(5, KFD_IOC_QUEUE_TYPE_COMPUTE);
	attach();
	before = kfd.suspends + kfd.snapshots + kfd.resumes;
	assert_int_equal(trap_suspend(trap, &cost), 0);
	assert_true(cost.entry_ns > 0);
	assert_int_equal(kfd.suspends + kfd.snapshots + kfd.resumes, before + 1);
	assert_true(kfd.queues[0].suspended && kfd.queues[5].suspended);
	assert_int_equal(trap_resume(trap, &cost), 0);
	assert_int_equal(kfd.suspends + kfd.snapshots + kfd.resumes, before + 2);
	assert_false(kfd.queues[0].suspended || kfd.queues[5].suspended);
	assert_int_equal(trap_resume(trap, &cost), 0); /* nothing: no call */
	assert_int_equal(kfd.suspends + kfd.snapshots + kfd.resumes, before + 2);
	assert_int_equal(cost.entry_ns, 0);
}

static void new_twice_is_tried_again(void **state)
{
	(void)state;
	attach();
	add(2, KFD_IOC_QUEUE_TYPE_COMPUTE_AQL);
	kfd.queues[2].new_again = 3;
	assert_int_equal(trap_collect(trap), 0);
	assert_false(kfd.queues[2].suspended);
	assert_int_equal(trap_suspend(trap, &cost), 0);
	assert_true(kfd.queues[2].suspended);
}

static void never_ready_is_a_failure_that_can_be_undone(void **state)
{
	(void)state;
	add(0, KFD_IOC_QUEUE_TYPE_COMPUTE_AQL);
	attach();
	add(2, KFD_IOC_QUEUE_TYPE_COMPUTE_AQL);
	kfd.queues[2].new_again = 1000000;
	trap_collect(trap);
	assert_int_equal(trap_suspend(trap, &cost), -EBUSY);
	assert_true(kfd.queues[0].suspended);
	assert_int_equal(trap_resume(trap, &cost), 0);
	assert_false(kfd.queues[0].suspended);
}

static void born_while_suspended_is_suspended(void **state)
{
	(void)state;
	add(0, KFD_IOC_QUEUE_TYPE_COMPUTE_AQL);
	attach();
	assert_int_equal(trap_suspend(trap, &cost), 0);
	add(1, KFD_IOC_QUEUE_TYPE_COMPUTE_AQL);
	assert_int_equal(trap_collect(trap), 0);
	assert_true(kfd.queues[1].suspended);
	assert_int_equal(trap_resume(trap, &cost), 0);
	assert_false(kfd.queues[0].suspended || kfd.queues[1].suspended);
	/* and once resumed, a new one runs */
	add(3, KFD_IOC_QUEUE_TYPE_COMPUTE_AQL);
	assert_int_equal(trap_collect(trap), 0);
	assert_false(kfd.queues[3].suspended);
}

static void chosen_queues_alone_are_suspended(void **state)
{
	const uint32_t chosen[] = {5, 1}, wrong[] = {1, 2};
	uint32_t missing = 0, ids[QUEUES];

	(void)state;
	add(0, KFD_IOC_QUEUE_TYPE_COMPUTE_AQL);
	add(1, KFD_IOC_QUEUE_TYPE_COMPUTE_AQL);
	add(2, KFD_IOC_QUEUE_TYPE_SDMA);
	attach();
	add(5, KFD_IOC_QUEUE_TYPE_COMPUTE);
	assert_int_equal(trap_choose(trap, wrong, 2, &missing), -ENOENT);
	assert_int_equal(missing, 2);
	assert_int_equal(trap_choose(trap, chosen, 2, &missing), 0);
	assert_int_equal(trap_suspend(trap, &cost), 0);
	assert_true(kfd.queues[1].suspended && kfd.queues[5].suspended);
	assert_false(kfd.queues[0].suspended);
	assert_int_equal(trap_suspended(trap, ids, QUEUES), 2);
	assert_true(ids[0] == 1 && ids[1] == 5);
	/* neither a new one, nor one that has taken the number of a chosen one */
	add(3, KFD_IOC_QUEUE_TYPE_COMPUTE_AQL);
	add(1, KFD_IOC_QUEUE_TYPE_COMPUTE_AQL);
	assert_int_equal(trap_collect(trap), 0);
	assert_false(kfd.queues[3].suspended || kfd.queues[1].suspended);
	assert_int_equal(trap_suspended(trap, ids, 0), 1);
	assert_int_equal(trap_resume(trap, &cost), 0);
	assert_false(kfd.queues[5].suspended);
}

static void a_wrong_choice_chooses_all(void **state)
{
	const uint32_t wrong[] = {7};
	uint32_t missing = 0;

	(void)state;
	add(0, KFD_IOC_QUEUE_TYPE_COMPUTE_AQL);
	attach();
	assert_int_equal(trap_choose(trap, wrong, 1, &missing), -ENOENT);
	assert_int_equal(trap_suspend(trap, &cost), 0);
	assert_true(kfd.queues[0].suspended);
	assert_int_equal(trap_resume(trap, &cost), 0);
}

static bool told(void)
{
	struct pollfd p = {.fd = trap_events_fd(trap), .events = POLLIN};

	return poll(&p, 1, 0) == 1;
}

/* As the driver: the state changes, it is told, and what was posted ahead is used. */
static void turn_runtime(unsigned state)
{
	kfd.runtime_state = state;
	kfd.runtime_raised = true;
	raise_event(kfdabi_ec_mask(KFDABI_EC_PROCESS_RUNTIME));
	assert_true(kfd.posted > 0); /* or the target would sleep */
	kfd.posted--;
}

static void who_is_watched_tells_of_queues_by_events(void **state)
{
	bool enabled = true;

	(void)state;
	add(0, KFD_IOC_QUEUE_TYPE_COMPUTE_AQL);
	attach();
	assert_int_equal(trap_watch_queues(trap), 0);
	assert_int_equal(trap_suspend(trap, &cost), 0);
	assert_false(told());
	add(1, KFD_IOC_QUEUE_TYPE_COMPUTE_AQL);
	add(2, KFD_IOC_QUEUE_TYPE_COMPUTE_AQL);
	assert_true(told());
	assert_int_equal(trap_answer_events(trap, &enabled), 0);
	assert_false(told());
	assert_true(enabled);
	assert_true(kfd.queues[1].suspended && kfd.queues[2].suspended);
	assert_int_equal(kfd.posted, 1); /* as ENABLE left it: no runtime event was used */
	assert_int_equal(trap_resume(trap, &cost), 0);
}

static void its_runtime_never_waits(void **state)
{
	bool enabled = true;

	(void)state;
	attach();
	assert_int_equal(trap_watch_queues(trap), 0);
	for (int i = 0; i < 5; i++) {
		turn_runtime(KFDABI_RUNTIME_DISABLED);
		assert_int_equal(trap_answer_events(trap, &enabled), 0);
		assert_false(enabled);
		turn_runtime(KFDABI_RUNTIME_ENABLED);
		/* between the event and our answer it makes a queue */
		add((uint32_t)i, KFD_IOC_QUEUE_TYPE_COMPUTE_AQL);
		assert_int_equal(trap_answer_events(trap, &enabled), 0);
		assert_true(enabled);
		assert_int_equal(kfd.posted, 1);
	}
}

static void an_id_used_again_is_another_queue(void **state)
{
	(void)state;
	add(0, KFD_IOC_QUEUE_TYPE_COMPUTE_AQL);
	attach();
	assert_int_equal(trap_suspend(trap, &cost), 0);
	add(0, KFD_IOC_QUEUE_TYPE_COMPUTE_AQL); /* destroyed and created */
	assert_int_equal(trap_collect(trap), 0);
	assert_true(kfd.queues[0].suspended);
	assert_int_equal(trap_resume(trap, &cost), 0);
	assert_false(kfd.queues[0].suspended);
}

static void gone_queues_do_not_matter(void **state)
{
	(void)state;
	add(0, KFD_IOC_QUEUE_TYPE_COMPUTE_AQL);
	add(1, KFD_IOC_QUEUE_TYPE_COMPUTE_AQL);
	attach();
	kfd.queues[1].exists = false;
	assert_int_equal(trap_suspend(trap, &cost), 0);
	assert_true(kfd.queues[0].suspended);
	kfd.queues[0].exists = false;
	assert_int_equal(trap_resume(trap, &cost), 0);
}

static void a_firmware_failure_is_undone(void **state)
{
	(void)state;
	add(0, KFD_IOC_QUEUE_TYPE_COMPUTE_AQL);
	attach();
	kfd.firmware_fails = true;
	assert_int_equal(trap_suspend(trap, &cost), -EIO);
	assert_true(kfd.queues[0].suspended); /* it stays flagged */
	assert_int_equal(trap_resume(trap, &cost), 0);
	assert_false(kfd.queues[0].suspended);
}

static void a_session_of_another_is_left_alone(void **state)
{
	(void)state;
	kfd.session = true;
	assert_int_equal(trap_attach(trap, KFD, &cost, reason), -EAGAIN);
	assert_int_equal(kfd.disables, 0);
	assert_non_null(strstr(reason, "session already"));
	/* not even one that came between the look and the ENABLE */
	kfd.session = false;
	kfd.enable_error = EALREADY;
	assert_int_equal(trap_attach(trap, KFD, &cost, reason), -EALREADY);
	assert_int_equal(kfd.disables, 0);
	kfd.enable_error = 0;
	attach(); /* nothing was left behind */
}

static void only_state_one_counts(void **state)
{
	(void)state;
	for (unsigned s = 0; s < 4; s++) {
		if (s == KFDABI_RUNTIME_ENABLED)
			continue;
		kfd.runtime_state = s;
		kfd.posted = kfd.disables = 0;
		assert_int_equal(trap_attach(trap, KFD, &cost, reason),
				 s == KFDABI_RUNTIME_BUSY ? -EBUSY : -EPROTO);
		assert_int_equal(kfd.posted, 1); /* the event, then DISABLE */
		assert_int_equal(kfd.disables, 1);
		assert_false(kfd.session);
		assert_non_null(strstr(reason, "runtime is in state"));
	}
}

static void a_session_that_was_ended_has_resumed(void **state)
{
	(void)state;
	add(0, KFD_IOC_QUEUE_TYPE_COMPUTE_AQL);
	attach();
	assert_int_equal(trap_suspend(trap, &cost), 0);
	end_session();
	assert_int_equal(trap_resume(trap, &cost), 0);
}

static void a_runtime_that_was_disabled_has_resumed(void **state)
{
	(void)state;
	add(0, KFD_IOC_QUEUE_TYPE_COMPUTE_AQL);
	attach();
	assert_int_equal(trap_suspend(trap, &cost), 0);
	kfd.runtime_state = KFDABI_RUNTIME_DISABLED;
	kfd.queues[0].suspended = false;
	assert_int_equal(trap_resume(trap, &cost), 0);
	assert_int_equal(trap_suspend(trap, &cost), -EPERM);
}

static void a_lost_right_is_no_resume(void **state)
{
	(void)state;
	add(0, KFD_IOC_QUEUE_TYPE_COMPUTE_AQL);
	attach();
	assert_int_equal(trap_suspend(trap, &cost), 0);
	kfd.lost_right = true;
	assert_int_equal(trap_resume(trap, &cost), -EPERM);
	kfd.lost_right = false;
	assert_int_equal(trap_resume(trap, &cost), 0);
	assert_false(kfd.queues[0].suspended);
}

static void runtime_events_are_replaced(void **state)
{
	(void)state;
	attach();
	assert_int_equal(kfd.posted, 1);
	assert_int_equal(write(kfd.dbg_fd, ".", 1), 1);
	trap_answer_runtime(trap);
	assert_int_equal(kfd.posted, 2);
	trap_answer_runtime(trap);
	assert_int_equal(kfd.posted, 2);
}

static void the_dead_are_not_attached_to(void **state)
{
	(void)state;
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	assert_int_equal(trap_attach(trap, KFD, &cost, reason), -ESRCH);
}

#define HERE(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		HERE(opens_a_session_and_settles_queues),
		HERE(no_queues_no_bounce),
		HERE(lets_go_of_the_thread_where_the_driver_allows_it),
		HERE(stays_attached_where_the_driver_wants_it),
		HERE(the_first_suspend_is_told),
		HERE(one_call_in_the_steady_state),
		HERE(new_twice_is_tried_again),
		HERE(never_ready_is_a_failure_that_can_be_undone),
		HERE(born_while_suspended_is_suspended),
		HERE(chosen_queues_alone_are_suspended),
		HERE(a_wrong_choice_chooses_all),
		HERE(who_is_watched_tells_of_queues_by_events),
		HERE(its_runtime_never_waits),
		HERE(an_id_used_again_is_another_queue),
		HERE(gone_queues_do_not_matter),
		HERE(a_firmware_failure_is_undone),
		HERE(a_session_of_another_is_left_alone),
		HERE(only_state_one_counts),
		HERE(a_session_that_was_ended_has_resumed),
		HERE(a_runtime_that_was_disabled_has_resumed),
		HERE(a_lost_right_is_no_resume),
		HERE(runtime_events_are_replaced),
		HERE(the_dead_are_not_attached_to),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

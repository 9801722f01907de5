// SPDX-License-Identifier: MIT
/*
 * Proves how level trap uses the driver, against a mock driver (mock_kfd_daemon.h): new queues are
 * collected, skipped queues are tried again, a failed suspend is undone, only suspended queues are
 * resumed, and a session is opened only in the right runtime state and never beside another
 * debugger's.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h needs the four headers above */
#include <cmocka.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/clock.h"
#include "kfd/debug_target.h"
#include "kfd/uapi.h"
#include "tests/unit/daemon/mock_kfd_daemon.h"

static int pidfd;
static struct trap *trap;
static struct reason reason;
static struct kfd_debug_cost cost;

static int setup(void **state)
{
	(void)state;
	memset(&played, 0, sizeof(played));
	played.runtime_state = KFDABI_RUNTIME_ENABLED;
	played.now_ns = 1;
	clock_use(&played.now_ns);
	played.target = fork();
	if (played.target == 0)
		for (;;)
			pause();
	pidfd = (int)syscall(SYS_pidfd_open, played.target, 0);
	trap = trap_create(played.target, pidfd);
	return trap ? 0 : -1;
}

static int teardown(void **state)
{
	(void)state;
	trap_destroy(trap);
	kill(played.target, SIGKILL);
	waitpid(played.target, NULL, __WALL);
	close(pidfd);
	return 0;
}

static void attach(void)
{
	assert_int_equal(trap_attach(trap, PLAYED_FD, &cost, &reason), 0);
}

static void opens_a_session_and_settles_queues(void **state)
{
	(void)state;
	played_queue_made(0, KFD_IOC_QUEUE_TYPE_COMPUTE_AQL);
	played_queue_made(1, KFD_IOC_QUEUE_TYPE_SDMA);
	attach();
	assert_true(played.session);
	assert_int_equal(played.posted, 1); /* one runtime event is posted ahead */
	assert_int_equal(played.suspends, 1);
	assert_int_equal(played.resumes, 1);
	assert_false(played.queues[0].suspended);
	trap_detach(trap);
	assert_int_equal(played.disables, 1);
	assert_true(played.posted >= 2); /* and another one before DISABLE */
}

static void no_queues_no_runlist_update(void **state)
{
	(void)state;
	attach();
	assert_int_equal(played.suspends + played.resumes, 0);
}

/* Whether a driver requires the tracer (Linux before 6.12.103) is found by trying without. */
static void lets_go_of_the_thread_where_the_driver_allows_it(void **state)
{
	(void)state;
	played_queue_made(0, KFD_IOC_QUEUE_TYPE_COMPUTE_AQL);
	attach();
	assert_false(played_is_traced());
	assert_int_equal(kfd_debug_suspend(trap_session(trap), &cost), 0);
	assert_true(played.queues[0].suspended);
	assert_int_equal(trap_serve(trap), 0);
	trap_detach(trap);
	assert_int_equal(played.disables, 1);
	assert_false(played.session || played.queues[0].suspended);
}

static void stays_attached_where_the_driver_wants_it(void **state)
{
	(void)state;
	played.tracer_only = true;
	played_queue_made(0, KFD_IOC_QUEUE_TYPE_COMPUTE_AQL);
	attach();
	assert_true(played_is_traced());
	assert_int_equal(kfd_debug_suspend(trap_session(trap), &cost), 0);
	assert_true(played.queues[0].suspended);
	trap_detach(trap);
	assert_false(played.session || played_is_traced());
}

static void the_first_suspend_is_reported(void **state)
{
	(void)state;
	attach();
	assert_int_equal(cost.entry_ns, 0);
	trap_detach(trap);
	played_queue_made(0, KFD_IOC_QUEUE_TYPE_COMPUTE_AQL);
	attach();
	assert_true(cost.entry_ns > 0 && cost.duration_ns > 0);
	trap_detach(trap);
	played.firmware_fails = true;
	assert_int_equal(trap_attach(trap, PLAYED_FD, &cost, &reason), -EIO);
	assert_false(played.session || played.queues[0].suspended || played_is_traced());
}

static void one_call_in_the_steady_state(void **state)
{
	unsigned before;

	(void)state;
	played_queue_made(0, KFD_IOC_QUEUE_TYPE_COMPUTE_AQL);
	played_queue_made(5, KFD_IOC_QUEUE_TYPE_COMPUTE);
	attach();
	before = played.suspends + played.snapshots + played.resumes;
	assert_int_equal(kfd_debug_suspend(trap_session(trap), &cost), 0);
	assert_true(cost.entry_ns > 0);
	assert_int_equal(played.suspends + played.snapshots + played.resumes, before + 1);
	assert_true(played.queues[0].suspended && played.queues[5].suspended);
	assert_int_equal(kfd_debug_resume(trap_session(trap), &cost), 0);
	assert_int_equal(played.suspends + played.snapshots + played.resumes, before + 2);
	assert_false(played.queues[0].suspended || played.queues[5].suspended);
	/* no queue is suspended, so no ioctl is made */
	assert_int_equal(kfd_debug_resume(trap_session(trap), &cost), 0);
	assert_int_equal(played.suspends + played.snapshots + played.resumes, before + 2);
	assert_int_equal(cost.entry_ns, 0);
}

static void new_twice_is_tried_again(void **state)
{
	(void)state;
	attach();
	played_queue_made(2, KFD_IOC_QUEUE_TYPE_COMPUTE_AQL);
	played.queues[2].new_again = 3;
	assert_int_equal(trap_collect(trap), 0);
	assert_false(played.queues[2].suspended);
	assert_int_equal(kfd_debug_suspend(trap_session(trap), &cost), 0);
	assert_true(played.queues[2].suspended);
}

static void never_ready_is_a_failure_that_can_be_undone(void **state)
{
	(void)state;
	played_queue_made(0, KFD_IOC_QUEUE_TYPE_COMPUTE_AQL);
	attach();
	played_queue_made(2, KFD_IOC_QUEUE_TYPE_COMPUTE_AQL);
	played.queues[2].new_again = 1000000;
	trap_collect(trap);
	assert_int_equal(kfd_debug_suspend(trap_session(trap), &cost), -EBUSY);
	assert_true(played.queues[0].suspended);
	assert_int_equal(kfd_debug_resume(trap_session(trap), &cost), 0);
	assert_false(played.queues[0].suspended);
}

static void born_while_suspended_is_suspended(void **state)
{
	(void)state;
	played_queue_made(0, KFD_IOC_QUEUE_TYPE_COMPUTE_AQL);
	attach();
	assert_int_equal(kfd_debug_suspend(trap_session(trap), &cost), 0);
	played_queue_made(1, KFD_IOC_QUEUE_TYPE_COMPUTE_AQL);
	assert_int_equal(trap_collect(trap), 0);
	assert_true(played.queues[1].suspended);
	assert_int_equal(kfd_debug_resume(trap_session(trap), &cost), 0);
	assert_false(played.queues[0].suspended || played.queues[1].suspended);
	/* After the resume a new queue keeps running. */
	played_queue_made(3, KFD_IOC_QUEUE_TYPE_COMPUTE_AQL);
	assert_int_equal(trap_collect(trap), 0);
	assert_false(played.queues[3].suspended);
}

static void chosen_queues_alone_are_suspended(void **state)
{
	const uint32_t chosen[] = {5, 1}, wrong[] = {1, 2};
	uint32_t missing = 0, ids[PLAYED_QUEUES];

	(void)state;
	played_queue_made(0, KFD_IOC_QUEUE_TYPE_COMPUTE_AQL);
	played_queue_made(1, KFD_IOC_QUEUE_TYPE_COMPUTE_AQL);
	played_queue_made(2, KFD_IOC_QUEUE_TYPE_SDMA);
	attach();
	played_queue_made(5, KFD_IOC_QUEUE_TYPE_COMPUTE);
	assert_int_equal(kfd_debug_select(trap_session(trap), wrong, 2, &missing), -ENOENT);
	assert_int_equal(missing, 2);
	assert_int_equal(kfd_debug_select(trap_session(trap), chosen, 2, &missing), 0);
	assert_int_equal(kfd_debug_suspend(trap_session(trap), &cost), 0);
	assert_true(played.queues[1].suspended && played.queues[5].suspended);
	assert_false(played.queues[0].suspended);
	assert_int_equal(kfd_debug_suspended(trap_session(trap), ids, PLAYED_QUEUES), 2);
	assert_true(ids[0] == 1 && ids[1] == 5);
	/* Neither a new queue is suspended, nor a new queue that has got the id of a chosen one. */
	played_queue_made(3, KFD_IOC_QUEUE_TYPE_COMPUTE_AQL);
	played_queue_made(1, KFD_IOC_QUEUE_TYPE_COMPUTE_AQL);
	assert_int_equal(trap_collect(trap), 0);
	assert_false(played.queues[3].suspended || played.queues[1].suspended);
	assert_int_equal(kfd_debug_suspended(trap_session(trap), ids, 0), 1);
	assert_int_equal(kfd_debug_resume(trap_session(trap), &cost), 0);
	assert_false(played.queues[5].suspended);
}

static void a_wrong_choice_chooses_all(void **state)
{
	const uint32_t wrong[] = {7};
	uint32_t missing = 0;

	(void)state;
	played_queue_made(0, KFD_IOC_QUEUE_TYPE_COMPUTE_AQL);
	attach();
	assert_int_equal(kfd_debug_select(trap_session(trap), wrong, 1, &missing), -ENOENT);
	assert_int_equal(kfd_debug_suspend(trap_session(trap), &cost), 0);
	assert_true(played.queues[0].suspended);
	assert_int_equal(kfd_debug_resume(trap_session(trap), &cost), 0);
}

static bool event_pending(void)
{
	struct pollfd p = {.fd = trap_events_fd(trap), .events = POLLIN};

	return poll(&p, 1, 0) == 1;
}

/* Simulates a change of the runtime state as the driver makes it: the state changes, the event is
 * raised, and one event that was posted ahead is used up. */
static void switch_runtime(unsigned state)
{
	played.runtime_state = state;
	played.runtime_raised = true;
	played_event(kfdabi_ec_mask(KFDABI_EC_PROCESS_RUNTIME));
	/* without a posted event the target would sleep in its ioctl */
	assert_true(played.posted > 0);
	played.posted--;
}

static void a_watched_process_reports_queues_by_events(void **state)
{
	bool enabled = true;

	(void)state;
	played_queue_made(0, KFD_IOC_QUEUE_TYPE_COMPUTE_AQL);
	attach();
	assert_int_equal(trap_watch_queues(trap), 0);
	assert_int_equal(kfd_debug_suspend(trap_session(trap), &cost), 0);
	assert_false(event_pending());
	played_queue_made(1, KFD_IOC_QUEUE_TYPE_COMPUTE_AQL);
	played_queue_made(2, KFD_IOC_QUEUE_TYPE_COMPUTE_AQL);
	assert_true(event_pending());
	assert_int_equal(trap_handle_events(trap, &enabled), 0);
	assert_false(event_pending());
	assert_true(enabled);
	assert_true(played.queues[1].suspended && played.queues[2].suspended);
	/* the value after ENABLE: no runtime event was used up */
	assert_int_equal(played.posted, 1);
	assert_int_equal(kfd_debug_resume(trap_session(trap), &cost), 0);
}

static void its_runtime_never_waits(void **state)
{
	bool enabled = true;

	(void)state;
	attach();
	assert_int_equal(trap_watch_queues(trap), 0);
	for (int i = 0; i < 5; i++) {
		switch_runtime(KFDABI_RUNTIME_DISABLED);
		assert_int_equal(trap_handle_events(trap, &enabled), 0);
		assert_false(enabled);
		switch_runtime(KFDABI_RUNTIME_ENABLED);
		/* The target creates a queue between the event and the daemon's reply. */
		played_queue_made((uint32_t)i, KFD_IOC_QUEUE_TYPE_COMPUTE_AQL);
		assert_int_equal(trap_handle_events(trap, &enabled), 0);
		assert_true(enabled);
		assert_int_equal(played.posted, 1);
	}
}

static void an_id_used_again_is_another_queue(void **state)
{
	(void)state;
	played_queue_made(0, KFD_IOC_QUEUE_TYPE_COMPUTE_AQL);
	attach();
	assert_int_equal(kfd_debug_suspend(trap_session(trap), &cost), 0);
	/* the queue was destroyed and its id was given to another one */
	played_queue_made(0, KFD_IOC_QUEUE_TYPE_COMPUTE_AQL);
	assert_int_equal(trap_collect(trap), 0);
	assert_true(played.queues[0].suspended);
	assert_int_equal(kfd_debug_resume(trap_session(trap), &cost), 0);
	assert_false(played.queues[0].suspended);
}

static void gone_queues_do_not_matter(void **state)
{
	(void)state;
	played_queue_made(0, KFD_IOC_QUEUE_TYPE_COMPUTE_AQL);
	played_queue_made(1, KFD_IOC_QUEUE_TYPE_COMPUTE_AQL);
	attach();
	played.queues[1].exists = false;
	assert_int_equal(kfd_debug_suspend(trap_session(trap), &cost), 0);
	assert_true(played.queues[0].suspended);
	played.queues[0].exists = false;
	assert_int_equal(kfd_debug_resume(trap_session(trap), &cost), 0);
}

static void a_firmware_failure_is_undone(void **state)
{
	(void)state;
	played_queue_made(0, KFD_IOC_QUEUE_TYPE_COMPUTE_AQL);
	attach();
	played.firmware_fails = true;
	assert_int_equal(kfd_debug_suspend(trap_session(trap), &cost), -EIO);
	assert_true(played.queues[0].suspended); /* the driver keeps it marked as suspended */
	assert_int_equal(kfd_debug_resume(trap_session(trap), &cost), 0);
	assert_false(played.queues[0].suspended);
}

static void a_session_of_another_is_left_alone(void **state)
{
	(void)state;
	played.session = true;
	assert_int_equal(trap_attach(trap, PLAYED_FD, &cost, &reason), -EAGAIN);
	assert_int_equal(played.disables, 0);
	assert_non_null(strstr(reason.text, "session already"));
	/* Another debugger may open its session between the probe and ENABLE: it is not disabled
	 * either. */
	played.session = false;
	played.enable_error = EALREADY;
	assert_int_equal(trap_attach(trap, PLAYED_FD, &cost, &reason), -EALREADY);
	assert_int_equal(played.disables, 0);
	played.enable_error = 0;
	attach(); /* the failed attempts left no state behind */
}

static void only_state_one_counts(void **state)
{
	(void)state;
	for (unsigned s = 0; s < 4; s++) {
		if (s == KFDABI_RUNTIME_ENABLED)
			continue;
		played.runtime_state = s;
		played.posted = played.disables = 0;
		assert_int_equal(trap_attach(trap, PLAYED_FD, &cost, &reason),
				 s == KFDABI_RUNTIME_BUSY ? -EBUSY : -EPROTO);
		assert_int_equal(played.posted, 1); /* runtime event, then DISABLE */
		assert_int_equal(played.disables, 1);
		assert_false(played.session);
		assert_non_null(strstr(reason.text, "runtime is in state"));
	}
}

static void a_session_that_was_ended_has_resumed(void **state)
{
	(void)state;
	played_queue_made(0, KFD_IOC_QUEUE_TYPE_COMPUTE_AQL);
	attach();
	assert_int_equal(kfd_debug_suspend(trap_session(trap), &cost), 0);
	played_session_end();
	assert_int_equal(kfd_debug_resume(trap_session(trap), &cost), 0);
}

static void a_runtime_that_was_disabled_has_resumed(void **state)
{
	(void)state;
	played_queue_made(0, KFD_IOC_QUEUE_TYPE_COMPUTE_AQL);
	attach();
	assert_int_equal(kfd_debug_suspend(trap_session(trap), &cost), 0);
	played.runtime_state = KFDABI_RUNTIME_DISABLED;
	played.queues[0].suspended = false;
	assert_int_equal(kfd_debug_resume(trap_session(trap), &cost), 0);
	assert_int_equal(kfd_debug_suspend(trap_session(trap), &cost), -EPERM);
}

static void a_lost_right_is_no_resume(void **state)
{
	(void)state;
	played_queue_made(0, KFD_IOC_QUEUE_TYPE_COMPUTE_AQL);
	attach();
	assert_int_equal(kfd_debug_suspend(trap_session(trap), &cost), 0);
	played.lost_right = true;
	assert_int_equal(kfd_debug_resume(trap_session(trap), &cost), -EPERM);
	played.lost_right = false;
	assert_int_equal(kfd_debug_resume(trap_session(trap), &cost), 0);
	assert_false(played.queues[0].suspended);
}

static void runtime_events_are_replaced(void **state)
{
	(void)state;
	attach();
	assert_int_equal(played.posted, 1);
	assert_int_equal(write(played.dbg_fd, ".", 1), 1);
	trap_handle_runtime(trap);
	assert_int_equal(played.posted, 2);
	trap_handle_runtime(trap);
	assert_int_equal(played.posted, 2);
}

static void suspend_takes(unsigned us, unsigned snapshots)
{
	unsigned before = played.snapshots;

	played.suspend_us = us;
	assert_int_equal(kfd_debug_suspend(trap_session(trap), &cost), 0);
	assert_int_equal(played.snapshots, before + snapshots);
	assert_true(cost.duration_ns >= us * 1000);
	played.suspend_us = 0;
}

static void resumed(void)
{
	struct kfd_debug_cost resume;

	assert_int_equal(kfd_debug_resume(trap_session(trap), &resume), 0);
}

/* A suspend waits for the target's mutex while other calls of the target hold it. That time is
 * measured apart from the GPU's. */
static void a_wait_for_the_mutex_is_distinguished(void **state)
{
	(void)state;
	played_queue_made(0, KFD_IOC_QUEUE_TYPE_COMPUTE_AQL);
	attach();
	suspend_takes(15000, 0); /* no additional call while suspends are quick */
	assert_int_equal(kfd_debug_gpu_ns(&cost), cost.duration_ns);
	resumed();
	played.snapshot_us = 5000;
	suspend_takes(15000, 1);
	assert_true(cost.waited_ns >= 5000000);
	assert_int_equal(kfd_debug_gpu_ns(&cost), 0);
	resumed();
	played.snapshot_us = 0;
	suspend_takes(0, 1);
	resumed();
	suspend_takes(0, 0);
}

/* The first suspend of a session and one that the caller expects to wait are measured, although no
 * suspend was slow before. */
static void a_first_wait_is_distinguished(void **state)
{
	(void)state;
	played_queue_made(0, KFD_IOC_QUEUE_TYPE_COMPUTE_AQL);
	played.snapshot_us = 5000;
	attach();
	assert_true(cost.waited_ns >= 5000000);
	assert_int_equal(kfd_debug_gpu_ns(&cost), 0);
	played.snapshot_us = 0;
	suspend_takes(0, 1);
	resumed();
	kfd_debug_measure(trap_session(trap));
	suspend_takes(0, 1);
}

static void gpus_take_their_time_one_after_another(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < 6; i++) {
		played_queue_made(i, KFD_IOC_QUEUE_TYPE_COMPUTE_AQL);
		played.queues[i].gpu_id = 100 + i / 2;
	}
	attach();
	suspend_takes(30000, 0);
	assert_int_equal(cost.gpus, 3);
	assert_int_equal(kfd_debug_gpu_ns(&cost), cost.duration_ns / 3);
}

static void ending_is_distinguished_from_failing(void **state)
{
	(void)state;
	played_queue_made(0, KFD_IOC_QUEUE_TYPE_COMPUTE_AQL);
	attach();
	played.suspend_error = ESRCH;
	assert_int_equal(kfd_debug_suspend(trap_session(trap), &cost), -ESRCH);
	assert_true(trap_is_gone(trap, -ESRCH));
	assert_false(trap_is_gone(trap, -EIO));
	assert_false(trap_is_gone(trap, -EINVAL));
	played_session_end();
	assert_true(trap_is_gone(trap, -EINVAL));
}

static void the_dead_are_not_attached_to(void **state)
{
	(void)state;
	kill(played.target, SIGKILL);
	waitpid(played.target, NULL, 0);
	assert_int_equal(trap_attach(trap, PLAYED_FD, &cost, &reason), -ESRCH);
}

/* Faults of compute queues are known from the last snapshot; "new" is no fault. */
static void faults_are_reported_by_queue(void **state)
{
	const uint64_t fault = kfdabi_ec_mask(KFDABI_EC_QUEUE_PACKET_UNSUPPORTED);
	uint64_t found[2];

	(void)state;
	for (uint32_t id = 0; id < 4; id++)
		played_queue_made(id, KFD_IOC_QUEUE_TYPE_COMPUTE_AQL);
	attach();
	assert_int_equal(trap_exceptions(trap, found, 2), 0);
	played.queues[1].faults = fault | kfdabi_ec_mask(KFDABI_EC_QUEUE_NEW);
	played.queues[2].faults = played.queues[3].faults = fault;
	assert_int_equal(trap_collect(trap), 0);
	assert_int_equal(trap_exceptions(trap, found, 2), 2);
	assert_int_equal(found[0], UINT64_C(1) << 32 | fault);
	assert_int_equal(found[1], UINT64_C(2) << 32 | fault);
	trap_detach(trap);
}

#define HERE(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		HERE(opens_a_session_and_settles_queues),
		HERE(no_queues_no_runlist_update),
		HERE(lets_go_of_the_thread_where_the_driver_allows_it),
		HERE(stays_attached_where_the_driver_wants_it),
		HERE(the_first_suspend_is_reported),
		HERE(one_call_in_the_steady_state),
		HERE(new_twice_is_tried_again),
		HERE(never_ready_is_a_failure_that_can_be_undone),
		HERE(born_while_suspended_is_suspended),
		HERE(chosen_queues_alone_are_suspended),
		HERE(a_wrong_choice_chooses_all),
		HERE(a_watched_process_reports_queues_by_events),
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
		HERE(a_wait_for_the_mutex_is_distinguished),
		HERE(a_first_wait_is_distinguished),
		HERE(gpus_take_their_time_one_after_another),
		HERE(ending_is_distinguished_from_failing),
		HERE(the_dead_are_not_attached_to),
		HERE(faults_are_reported_by_queue),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

// SPDX-License-Identifier: MIT
/*
 * Proves the rules of the suspend protocol that depend on who uses it (a debugger of another
 * process, or a process on itself), and on sessions that another process ends. The driver is a mock
 * (mock_debug.h). For the rest see unit/daemon/trap and unit/shim/hold.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h needs the four headers above */
#include <cmocka.h>
#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <unistd.h>

#include "kfd/debug_session.h"
#include "tests/lib/mock_debug.h"

#define QUEUE 3u /* id of the only queue */

static struct kfd_debug_session session;
static struct {
	uint32_t pid;		    /* of the last call */
	unsigned calls[64];	    /* by operation */
	uint32_t refused, refused2; /* operations that fail, with `error` */
	int error;
} driver;

static int call_driver(void *context, unsigned long request, void *arg)
{
	struct kfdabi_dbg_trap *args = arg;

	assert_ptr_equal(context, &driver);
	assert_int_equal(request, KFDABI_IOC_DBG_TRAP);
	driver.pid = args->pid;
	driver.calls[args->op]++;
	if (driver.error && (args->op == driver.refused || args->op == driver.refused2)) {
		errno = driver.error;
		return -1;
	}
	return fake_trap_ioctl(args);
}

/* The driver refuses both operations from now on. */
static void refuse(int error, uint32_t op, uint32_t op2)
{
	driver.error = error;
	driver.refused = op;
	driver.refused2 = op2;
}

static int setup(void **state)
{
	(void)state;
	memset(&driver, 0, sizeof(driver));
	memset(&session, 0, sizeof(session));
	fake_trap_end_session();
	fake_trap.foreign = false;
	fake_trap_created(QUEUE, KFD_IOC_QUEUE_TYPE_COMPUTE_AQL);
	fake_trap_runtime(true);
	session.ioctl = call_driver;
	session.context = &driver;
	return 0;
}

/* Opens the session on this process. target: 0, or a thread's id, as on another process. */
static void open_session(pid_t target)
{
	uint32_t runtime = KFDABI_RUNTIME_DISABLED;

	session.target = target;
	assert_int_equal(kfd_debug_probe(&session), -EINVAL);
	assert_int_equal(kfd_debug_enable(&session, 0, 1, &runtime), 0);
	assert_int_equal(runtime, KFDABI_RUNTIME_ENABLED);
	assert_true(kfd_debug_is_enabled(&session));
	assert_int_equal(kfd_debug_settle(&session, NULL), 0);
	assert_false(kfd_debug_is_holding(&session));
	assert_int_equal(fake_trap_attached(), 0);
}

static void suspend(void)
{
	assert_int_equal(kfd_debug_suspend(&session, NULL), 0);
	assert_true(kfd_debug_is_holding(&session));
	assert_int_equal(fake_trap_attached(), 1);
}

/* The list of the session agrees with the driver. */
static void assert_runs(void)
{
	assert_false(kfd_debug_is_holding(&session));
	assert_int_equal(kfd_debug_suspended(&session, NULL, 0), 0);
	assert_int_equal(fake_trap_attached(), 0);
}

static void *suspend_from_thread(void *arg)
{
	suspend();
	*(uint32_t *)arg = (uint32_t)gettid();
	return NULL;
}

/* The first thread may have ended, so each call names the thread that makes it. */
static void own_process_is_named_by_the_calling_thread(void **state)
{
	uint32_t tid = 0;
	pthread_t thread;

	(void)state;
	open_session(0);
	assert_int_equal(pthread_create(&thread, NULL, suspend_from_thread, &tid), 0);
	pthread_join(thread, NULL);
	assert_int_equal(driver.pid, tid);
	assert_int_not_equal(tid, getpid());
	assert_int_equal(kfd_debug_resume(&session, NULL), 0);
	assert_int_equal(driver.pid, gettid());
	assert_runs();
}

/* Ends the session as another process can, which then opens its own. */
static void taken_over(void)
{
	fake_trap_end_session();
	fake_trap.foreign = true;
}

static void suspend_without_a_session_fails(void **state)
{
	(void)state;
	open_session(gettid());
	fake_trap_end_session();
	assert_int_equal(kfd_debug_suspend(&session, NULL), -EINVAL);
	assert_false(kfd_debug_is_enabled(&session));
	assert_runs();
	assert_int_equal(kfd_debug_suspend(&session, NULL), -EINVAL);
	assert_int_equal(driver.calls[KFDABI_TRAP_SUSPEND_QUEUES],
			 2); /* one by kfd_debug_settle() */
}

/* The snapshot that measures the wait for the mutex shows that the session has ended. */
static void end_found_before_the_suspend_is_a_failure(void **state)
{
	struct kfd_debug_cost cost;

	(void)state;
	open_session(gettid());
	fake_trap_end_session();
	kfd_debug_measure(&session);
	assert_int_equal(kfd_debug_suspend(&session, &cost), -EINVAL);
	assert_int_equal(cost.entry_ns, 0);
	assert_runs();
}

static void session_of_another_is_not_ended(void **state)
{
	(void)state;
	open_session(gettid());
	suspend();
	fake_trap_end_session();
	assert_int_equal(kfd_debug_resume(&session, NULL), 0);
	assert_runs();
	taken_over();
	kfd_debug_disable(&session);
	assert_int_equal(driver.calls[KFDABI_TRAP_DISABLE], 0);
	fake_trap.foreign = false;
	open_session(gettid());
	kfd_debug_disable(&session);
	assert_int_equal(driver.calls[KFDABI_TRAP_DISABLE], 1);
}

static void process_that_has_ended_is_resumed(void **state)
{
	(void)state;
	open_session(gettid());
	suspend();
	refuse(ESRCH, KFDABI_TRAP_RESUME_QUEUES, KFDABI_TRAP_GET_QUEUE_SNAPSHOT);
	assert_int_equal(kfd_debug_resume(&session, NULL), 0);
	assert_false(kfd_debug_is_holding(&session));
	assert_int_equal(kfd_debug_suspended(&session, NULL, 0), 0);
}

/* The calling process lives, so its queues are still suspended. */
static void own_process_cannot_have_ended(void **state)
{
	uint32_t id = 0;

	(void)state;
	open_session(0);
	suspend();
	refuse(ESRCH, KFDABI_TRAP_RESUME_QUEUES, KFDABI_TRAP_GET_QUEUE_SNAPSHOT);
	assert_int_equal(kfd_debug_resume(&session, NULL), -ESRCH);
	assert_true(kfd_debug_is_holding(&session));
	assert_int_equal(kfd_debug_suspended(&session, &id, 1), 1);
	assert_int_equal(id, QUEUE);
	refuse(0, 0, 0);
	assert_int_equal(kfd_debug_resume(&session, NULL), 0);
	assert_runs();
}

/* EPERM of RESUME_QUEUES alone: the runtime is off, and has resumed the queues. EPERM of every
 * call: the right to make it is lost. */
static void refusal_is_a_lost_right_or_a_runtime_that_is_off(void **state)
{
	(void)state;
	open_session(0);
	suspend();
	refuse(EPERM, KFDABI_TRAP_RESUME_QUEUES, KFDABI_TRAP_GET_QUEUE_SNAPSHOT);
	assert_int_equal(kfd_debug_resume(&session, NULL), -EPERM);
	assert_true(kfd_debug_is_holding(&session));
	refuse(EPERM, KFDABI_TRAP_RESUME_QUEUES, KFDABI_TRAP_RESUME_QUEUES);
	assert_int_equal(kfd_debug_resume(&session, NULL), 0);
	assert_false(kfd_debug_is_holding(&session));
}

static void failed_suspend_is_resumed(void **state)
{
	(void)state;
	open_session(0);
	fake_trap.fail_suspend = true;
	assert_int_equal(kfd_debug_suspend(&session, NULL), -EIO);
	fake_trap.fail_suspend = false;
	assert_true(kfd_debug_is_holding(&session));
	assert_int_equal(kfd_debug_suspended(&session, NULL, 0), 1);
	assert_int_equal(kfd_debug_resume(&session, NULL), 0);
	assert_runs();
}

static void fork_child_calls_nothing(void **state)
{
	(void)state;
	open_session(0);
	suspend();
	kfd_debug_forget(&session);
	assert_false(kfd_debug_is_enabled(&session) || kfd_debug_is_holding(&session));
	assert_int_equal(kfd_debug_resume(&session, NULL), 0);
	kfd_debug_disable(&session);
	assert_int_equal(driver.calls[KFDABI_TRAP_DISABLE], 0);
	assert_int_equal(fake_trap_attached(), 1); /* the parent's */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(own_process_is_named_by_the_calling_thread, setup),
		cmocka_unit_test_setup(suspend_without_a_session_fails, setup),
		cmocka_unit_test_setup(end_found_before_the_suspend_is_a_failure, setup),
		cmocka_unit_test_setup(session_of_another_is_not_ended, setup),
		cmocka_unit_test_setup(process_that_has_ended_is_resumed, setup),
		cmocka_unit_test_setup(own_process_cannot_have_ended, setup),
		cmocka_unit_test_setup(refusal_is_a_lost_right_or_a_runtime_that_is_off, setup),
		cmocka_unit_test_setup(failed_suspend_is_resumed, setup),
		cmocka_unit_test_setup(fork_child_calls_nothing, setup),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

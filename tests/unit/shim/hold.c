// SPDX-License-Identifier: MIT
/*
 * Proves how a process holds itself: it executes the daemon's order by a debug session on itself
 * (level self) or by UPDATE_QUEUE. The driver is a mock, the daemon a stub. For level gate see
 * gate.c.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "common/clock.h"
#include "kfd/uapi.h"
#include "shim/hold.h"
#include "tests/lib/mock_debug.h"
#include "tests/lib/mock_kfd.h"
#include "tests/lib/shim_stub_daemon.h"

#define AQL KFD_IOC_QUEUE_TYPE_COMPUTE_AQL

static struct fake_daemon daemon_;
static struct fake_queue q, other;
static unsigned number;

static void begin(const char *level)
{
	setenv("KFDSHIM_LEVEL", level, 1);
	fake_daemon_open(&daemon_);
	fake_start();
	CHECK(fake_runtime(1) == 0);
}

static void meet(void)
{
	CHECK(fake_daemon_accept(&daemon_, MEETS_MS) == 0);
	fake_daemon_remove(&daemon_);
	__atomic_store_n(&daemon_.daemon_shm->heartbeat_ns, clock_ns() + 60000000000u,
			 __ATOMIC_RELAXED);
}

/* Sends an order to the client and waits until it is acknowledged. Returns the client's errno. */
static int send_hold_cmd(enum client_shm_level level, unsigned what)
{
	uint32_t word = HOLD_CMD(level, what, ++number);

	__atomic_store_n(&daemon_.shm->hold_cmd, word, __ATOMIC_RELEASE);
	fake_daemon_wake(&daemon_);
	EVENTUALLY(__atomic_load_n(&daemon_.shm->hold_cmd_done, __ATOMIC_ACQUIRE) == word, 1000);
	return daemon_.shm->hold_cmd_errno;
}

static void nothing_forbidden(void)
{
	CHECK(fake_trap.slept == 0);
	CHECK(fake_trap.not_suspended == 0);
	CHECK(fake_trap.unasked == 0);
}

/* Starts the agent with two queues and a daemon, held at level self. */
static void begin_held(void)
{
	begin("self");
	CHECK(fake_queue_create(&q, AQL) == 0);
	CHECK(fake_queue_create(&other, AQL) == 0);
	meet();
	CHECK(send_hold_cmd(CLIENT_SHM_LEVEL_SELF, true) == 0);
	CHECK(fake_trap_attached() == 2);
}

static void session_from_the_runtime_on(void)
{
	begin("self");
	CHECK(fake_trap.session);
	CHECK(fake_queue_create(&q, AQL) == 0);
	EVENTUALLY(!fake_trap.fresh[q.id], 1000); /* the agent has collected the new queue */
	meet();
	EVENTUALLY(daemon_.shm->own_session == 1, 1000);
	CHECK(daemon_.shm->runtime == CLIENT_SHM_RUNTIME_UNKNOWN);
	nothing_forbidden();
}

static void no_session_at_other_levels(void)
{
	begin("auto");
	CHECK(fake_queue_create(&q, AQL) == 0);
	meet();
	EVENTUALLY(daemon_.shm->runtime == CLIENT_SHM_RUNTIME_ENABLED, 1000);
	CHECK(daemon_.shm->own_session == 0);
	CHECK(!fake_trap.session);
}

static void command_is_carried_out(void)
{
	begin_held();
	CHECK(send_hold_cmd(CLIENT_SHM_LEVEL_SELF, false) == 0);
	CHECK(fake_trap_attached() == 0);
	CHECK(send_hold_cmd(CLIENT_SHM_LEVEL_SELF, true) == 0);
	CHECK(fake_trap_attached() == 2);
	CHECK(send_hold_cmd(CLIENT_SHM_LEVEL_SELF, false) == 0);
	CHECK(fake_trap.suspends == 2 && fake_trap.resumes == 2);
	nothing_forbidden();
}

static void created_while_held(void)
{
	struct fake_queue third;

	begin_held();
	CHECK(fake_queue_create(&third, AQL) == 0);
	EVENTUALLY(fake_trap_attached() == 3, 1000);
	CHECK(send_hold_cmd(CLIENT_SHM_LEVEL_SELF, false) == 0);
	CHECK(fake_trap_attached() == 0);
	nothing_forbidden();
}

static void destroyed_while_held(void)
{
	begin_held();
	CHECK(fake_queue_destroy(&q) == 0);
	nothing_forbidden();
	EVENTUALLY(fake_trap_attached() == 1, 1000); /* the remaining queue is suspended again */
	CHECK(send_hold_cmd(CLIENT_SHM_LEVEL_SELF, false) == 0);
	CHECK(fake_trap_attached() == 0);
}

static void runtime_ends_while_held(void)
{
	begin_held();
	CHECK(fake_runtime(0) == 0);
	nothing_forbidden();
	CHECK(!fake_trap.session && fake_trap_attached() == 0);
	CHECK(daemon_.shm->own_session == 0);
	CHECK(send_hold_cmd(CLIENT_SHM_LEVEL_SELF, true) == ECANCELED);
	CHECK(fake_runtime(1) == 0);
	CHECK(fake_trap.session && daemon_.shm->own_session == 1);
	CHECK(send_hold_cmd(CLIENT_SHM_LEVEL_SELF, true) == 0);
	CHECK(fake_trap_attached() == 2);
}

static void failed_disable_keeps_the_session(void)
{
	begin_held();
	fake.enable_errno = EINTR;
	CHECK(fake_runtime(0) == -1 && errno == EINTR);
	CHECK(fake_trap.session);
}

static void daemon_dies(void)
{
	begin_held();
	fake_daemon_die(&daemon_);
	EVENTUALLY(fake_trap_attached() == 0, 1000);
	CHECK(fake_trap.session);
	nothing_forbidden();
}

/* The daemon lives, but its heartbeat has stopped: the lease ends, long before the 30 s after which
 * every held process runs for a moment. */
static void daemon_hangs(void)
{
	uint64_t begun = clock_ns();

	begin_held();
	__atomic_store_n(&daemon_.daemon_shm->heartbeat_ns, 0, __ATOMIC_RELAXED);
	EVENTUALLY(fake_trap_attached() == 0, 10000);
	CHECK(clock_ns() - begun < 25000000000u);
	nothing_forbidden();
}

static void session_of_another_process(void)
{
	setenv("KFDSHIM_LEVEL", "self", 1);
	fake_daemon_open(&daemon_);
	fake_start();
	fake_trap.foreign = true;
	CHECK(fake_runtime(1) == 0);
	CHECK(!fake_trap.session);
	CHECK(fake_queue_create(&q, AQL) == 0);
	meet();
	EVENTUALLY(daemon_.shm->runtime == CLIENT_SHM_RUNTIME_NEVER, 1000);
	CHECK(daemon_.shm->runtime_errno == EALREADY);
	CHECK(send_hold_cmd(CLIENT_SHM_LEVEL_SELF, true) == EALREADY);
}

/* At level auto the process opens a session on itself when the daemon orders it, and keeps it until
 * the daemon ends it. */
static void prepares_as_commanded(void)
{
	begin("auto");
	CHECK(fake_queue_create(&q, AQL) == 0);
	meet();
	EVENTUALLY(daemon_.shm->runtime == CLIENT_SHM_RUNTIME_ENABLED, 1000);
	CHECK(send_hold_cmd(CLIENT_SHM_LEVEL_SELF, HOLD_CMD_PREPARE) == 0);
	CHECK(fake_trap.session && fake_trap_attached() == 0);
	CHECK(daemon_.shm->own_session == CLIENT_SHM_OWN_SESSION);
	CHECK(daemon_.shm->runtime == CLIENT_SHM_RUNTIME_UNKNOWN);
	CHECK(send_hold_cmd(CLIENT_SHM_LEVEL_SELF, HOLD_CMD_HOLD) == 0);
	CHECK(fake_trap_attached() == 1);
	CHECK(send_hold_cmd(CLIENT_SHM_LEVEL_GATE, HOLD_CMD_PREPARE) == 0);
	CHECK(!fake_trap.session && fake_trap_attached() == 0);
	CHECK(daemon_.shm->own_session == CLIENT_SHM_OWN_NONE);
	CHECK(daemon_.shm->runtime == CLIENT_SHM_RUNTIME_ENABLED);
	fake_trap.foreign = true;
	CHECK(send_hold_cmd(CLIENT_SHM_LEVEL_SELF, HOLD_CMD_PREPARE) == EALREADY);
	CHECK(daemon_.shm->own_session == CLIENT_SHM_OWN_NONE);
	nothing_forbidden();
}

static void firmware_fails(void)
{
	begin("self");
	CHECK(fake_queue_create(&q, AQL) == 0);
	meet();
	fake_trap.fail_suspend = true;
	CHECK(send_hold_cmd(CLIENT_SHM_LEVEL_SELF, true) == EIO);
	CHECK(fake_trap_attached() == 0);
	fake_trap.fail_suspend = false;
	CHECK(send_hold_cmd(CLIENT_SHM_LEVEL_SELF, true) == 0);
	CHECK(fake_trap_attached() == 1);
}

/* The child has neither the session nor the order; the parent keeps both. */
static void fork_child_forgets(void)
{
	int status;
	pid_t pid;

	begin_held();
	pid = fork();
	if (pid == 0) {
		struct fake_queue mine;
		unsigned resumes = fake_trap.resumes;

		CHECK(fake_queue_create(&mine, AQL) == 0);
		fake_trap.suspended[mine.id] = 0;
		CHECK(fake_queue_destroy(&mine) == 0);
		CHECK(fake_trap.resumes == resumes);
		_exit(0);
	}
	CHECK(waitpid(pid, &status, 0) == pid && status == 0);
	CHECK(fake_trap_attached() == 2);
	CHECK(send_hold_cmd(CLIENT_SHM_LEVEL_SELF, false) == 0);
	CHECK(fake_trap_attached() == 0);
}

/* Updates by the runtime during the hold take effect at the release. A new queue is held, too. */
static void weight_is_merged(void)
{
	struct client_shm_queue entry;

	begin("weight");
	CHECK(fake_queue_create(&q, AQL) == 0);
	CHECK(fake_queue_update(&q, 9, 100) == 0);
	CHECK(fake.priorities[q.id] == 9);
	meet();
	CHECK(send_hold_cmd(CLIENT_SHM_LEVEL_WEIGHT, true) == 0);
	CHECK(fake.priorities[q.id] == 0);
	CHECK(fake_queue_update(&q, 11, 100) == 0);
	CHECK(fake.priorities[q.id] == 0);
	CHECK(fake_daemon_queue(&daemon_, q.id, &entry) == 0 && entry.priority == 11);
	fake.priorities[1] = 99;
	CHECK(fake_queue_create(&other, AQL) == 0);
	EVENTUALLY(fake.priorities[other.id] == 0, 1000);
	CHECK(send_hold_cmd(CLIENT_SHM_LEVEL_WEIGHT, false) == 0);
	CHECK(fake.priorities[q.id] == 11 && fake.priorities[other.id] == 7);
	CHECK(fake_queue_update(&q, 12, 100) == 0);
	CHECK(fake.priorities[q.id] == 12);
	CHECK(!fake_trap.session);
}

/* By UPDATE_QUEUE: the driver is called only for changes, and the XCC bits stay. */
static void stopped_by_updates(void)
{
	setenv("KFDSHIM_UPDATE_QUEUE", "may-reset-the-gpu", 1);
	begin("self");
	CHECK(fake_queue_create(&q, AQL) == 0);
	CHECK(fake_queue_create(&other, AQL) == 0);
	CHECK(fake_queue_update(&other, 7, 0) == 0);
	CHECK(fake.updates == 1);
	meet();
	EVENTUALLY(daemon_.shm->own_session == CLIENT_SHM_OWN_UPDATES, 1000);
	CHECK(send_hold_cmd(CLIENT_SHM_LEVEL_SELF, true) == 0);
	CHECK(fake.updates == 2 && fake.percents[q.id] == 0);
	CHECK(fake_queue_update(&q, 9, 100) == 0);
	CHECK(fake.percents[q.id] == 0 && fake.priorities[q.id] == 9);
	CHECK(send_hold_cmd(CLIENT_SHM_LEVEL_SELF, false) == 0);
	CHECK(fake.updates == 4 && fake.percents[q.id] == 100 && fake.percents[other.id] == 0);
	CHECK(!fake_trap.session && fake_trap.suspends == 0);
	CHECK(fake_queue_destroy(&q) == 0);
}

/* If one queue cannot be held, the hold fails as a whole. A queue that cannot be released is tried
 * again. */
static void updates_fail(void)
{
	setenv("KFDSHIM_UPDATE_QUEUE", "may-reset-the-gpu", 1);
	begin("self");
	CHECK(fake_queue_create(&q, AQL) == 0);
	meet();
	fake.update_errno = EIO;
	CHECK(send_hold_cmd(CLIENT_SHM_LEVEL_SELF, true) == EIO);
	CHECK(fake.percents[q.id] == 100);
	fake.update_errno = 0;
	CHECK(send_hold_cmd(CLIENT_SHM_LEVEL_SELF, true) == 0);
	CHECK(fake.percents[q.id] == 0);
	fake.update_errno = EIO;
	CHECK(send_hold_cmd(CLIENT_SHM_LEVEL_SELF, false) == EIO);
	fake.update_errno = 0;
	EVENTUALLY(fake.percents[q.id] == 100, 1000);
}

static void updates_need_the_danger_named(void)
{
	setenv("KFDSHIM_UPDATE_QUEUE", "1", 1);
	begin_held();
	CHECK(fake.updates == 0);
}

/* A new queue cannot be held. The daemon sees the errno after its order was acknowledged. */
static void lost_hold_is_published(void)
{
	struct fake_queue third;

	begin_held();
	fake_trap.fail_suspend = true;
	CHECK(fake_queue_create(&third, AQL) == 0);
	EVENTUALLY(daemon_.shm->hold_cmd_errno == EIO, 1000);
	EVENTUALLY(fake_trap_attached() == 0, 1000);
	CHECK(HOLD_CMD_IS_HOLD(daemon_.shm->hold_cmd_done));
	fake_trap.fail_suspend = false;
	CHECK(send_hold_cmd(CLIENT_SHM_LEVEL_SELF, false) == 0);
	nothing_forbidden();
}

#define HOLD_SPAN_NS 800000000u /* longer than a stall of this thread at the beginning */

static _Atomic uint64_t released_ns, held_again_ns; /* time of the first call each */

static void note_release(void)
{
	uint64_t none = 0;

	__atomic_compare_exchange_n(&released_ns, &none, clock_ns(), false, __ATOMIC_SEQ_CST,
				    __ATOMIC_SEQ_CST);
}

static void note_hold(void)
{
	uint64_t none = 0;

	if (released_ns != 0)
		__atomic_compare_exchange_n(&held_again_ns, &none, clock_ns(), false,
					    __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
}

/* After the longest hold the process runs for 200 ms and is held again. The mock driver notes the
 * times, because this thread may see the changes late. */
static void runs_after_a_hold_span(void)
{
	uint64_t begun = clock_ns();

	hold_span_ns = HOLD_SPAN_NS;
	fake_trap.on_resume = note_release;
	fake_trap.on_suspend = note_hold;
	begin_held();
	EVENTUALLY(released_ns != 0, 2000);
	CHECK(released_ns - begun >= HOLD_SPAN_NS);
	EVENTUALLY(held_again_ns != 0, 2000);
	CHECK(held_again_ns - released_ns >= 100000000u);
	EVENTUALLY(fake_trap_attached() == 2, 2000);
	CHECK(daemon_.shm->hold_cmd_errno == 0);
	CHECK(send_hold_cmd(CLIENT_SHM_LEVEL_SELF, false) == 0);
	nothing_forbidden();
}

/* The same limit holds if a queue is destroyed every 20 ms, for which the process is resumed for a
 * moment each time. */
static void runs_after_a_hold_span_of_pieces(void)
{
	uint64_t now = clock_ns(), end = now + 6000000000u, seen = now, destroyed = now;

	hold_span_ns = HOLD_SPAN_NS;
	begin_held();
	while (now < end && now - seen < 100000000u) {
		if (now - destroyed >= 20000000u) {
			CHECK(fake_queue_destroy(&other) == 0);
			CHECK(fake_queue_create(&other, AQL) == 0);
			destroyed = now;
		}
		fake_sleep_us(500);
		now = clock_ns();
		if (fake_trap_attached() > 0)
			seen = now;
	}
	CHECK(now < end);
	EVENTUALLY(fake_trap_attached() == 2, 2000);
	CHECK(send_hold_cmd(CLIENT_SHM_LEVEL_SELF, false) == 0);
	nothing_forbidden();
}

IN_CHILD(weight_is_merged)
IN_CHILD(stopped_by_updates)
IN_CHILD(updates_fail)
IN_CHILD(updates_need_the_danger_named)
IN_CHILD(lost_hold_is_published)
IN_CHILD(runs_after_a_hold_span)
IN_CHILD(runs_after_a_hold_span_of_pieces)
IN_CHILD(session_from_the_runtime_on)
IN_CHILD(no_session_at_other_levels)
IN_CHILD(command_is_carried_out)
IN_CHILD(prepares_as_commanded)
IN_CHILD(created_while_held)
IN_CHILD(destroyed_while_held)
IN_CHILD(runtime_ends_while_held)
IN_CHILD(failed_disable_keeps_the_session)
IN_CHILD(daemon_dies)
IN_CHILD(daemon_hangs)
IN_CHILD(session_of_another_process)
IN_CHILD(firmware_fails)
IN_CHILD(fork_child_forgets)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_session_from_the_runtime_on),
		cmocka_unit_test(test_no_session_at_other_levels),
		cmocka_unit_test(test_command_is_carried_out),
		cmocka_unit_test(test_prepares_as_commanded),
		cmocka_unit_test(test_created_while_held),
		cmocka_unit_test(test_destroyed_while_held),
		cmocka_unit_test(test_runtime_ends_while_held),
		cmocka_unit_test(test_failed_disable_keeps_the_session),
		cmocka_unit_test(test_daemon_dies),
		cmocka_unit_test(test_daemon_hangs),
		cmocka_unit_test(test_session_of_another_process),
		cmocka_unit_test(test_firmware_fails),
		cmocka_unit_test(test_fork_child_forgets),
		cmocka_unit_test(test_weight_is_merged),
		cmocka_unit_test(test_stopped_by_updates),
		cmocka_unit_test(test_updates_fail),
		cmocka_unit_test(test_updates_need_the_danger_named),
		cmocka_unit_test(test_lost_hold_is_published),
		cmocka_unit_test(test_runs_after_a_hold_span),
		cmocka_unit_test(test_runs_after_a_hold_span_of_pieces),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

// SPDX-License-Identifier: MIT
/* Proves:
 *  - One user has at most half of the executor processes and half of the slots for targets, however
 *    many tenants the user has and however many of its processes do not end. Therefore another
 *    user's target gets a process that holds no target of the first user.
 *  - All users together leave the last sixteenth to root.
 *  - A tenant has at most four processes that do not end, even if the tenant has left and come back
 *    in the meantime.
 *  - executor_collect() handles only the targets that have something to report. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h needs the four headers above */
#include <cmocka.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "scheduler/daemon/executor/executor.h"

#define ALICE (geteuid() + 1) /* not geteuid(), because the daemon's own user has no limit */
#define BOB (geteuid() + 2)
#define SUBORDINATE (geteuid() + 1000123)

static struct executor_table *table;
static int want_fd;

/* Stands in for the watchdog: starts every process that is wanted. */
static void start_all(void)
{
	for (uint32_t i = 0; i < EXECUTOR_PROCESSES; i++)
		if (table->processes[i].state == EXECUTOR_WANTED)
			table->processes[i].state = EXECUTOR_RUNS;
}

static uint32_t reported[EXECUTOR_SLOTS], reported_count;

static void note(uint32_t number, void *context)
{
	(void)context;
	reported[reported_count++] = number;
}

static void check_all(void)
{
	reported_count = 0;
	executor_collect(note, NULL);
}

/* Adds a target of the given tenant of a user. Returns the index of its process, or a negative
 * errno. */
static int target_of_uid(uid_t uid, uid_t owner, uint64_t tenant, struct executor **out)
{
	const struct executor_tenant from = {
		.uid = uid, .owner = owner, .pid_ns = tenant, .user_ns = tenant};
	struct executor *executor;
	int error = executor_start(1, 1, &from, false, out ? out : &executor);

	start_all();
	return error ? error : (int)(out ? *out : executor)->process;
}

static int target_of(uid_t owner, uint64_t tenant, struct executor **out)
{
	return target_of_uid(owner, owner, tenant, out);
}

static int begin(void **state)
{
	(void)state;
	memset(table, 0, sizeof(*table));
	executor_use(table, want_fd);
	return 0;
}

/* Simulates an executor process that does not end after SIGKILL. */
static void kill_process(int number)
{
	table->processes[number].state = EXECUTOR_KILLED;
	check_all();
}

static void a_user_of_many_tenants_has_half_of_the_processes(void **state)
{
	uint32_t processes, stuck;
	int bobs;

	(void)state;
	for (uint64_t tenant = 1; tenant <= 300; tenant++)
		assert_in_range(target_of(ALICE, tenant, NULL), 0, EXECUTOR_PROCESSES - 1);
	executor_count(&processes, &stuck);
	assert_int_equal(processes, EXECUTOR_PROCESSES / 2);
	bobs = target_of(BOB, 1, NULL);
	assert_true(bobs >= 0);
	assert_int_equal(table->processes[bobs].load, 1);
	/* No later target of ALICE is put into BOB's process. */
	for (uint64_t tenant = 301; tenant <= 600; tenant++)
		target_of(ALICE, tenant, NULL);
	assert_int_equal(table->processes[bobs].load, 1);
}

static void nor_does_it_take_others_when_its_own_are_stuck(void **state)
{
	int bobs = target_of(BOB, 1, NULL), alices;

	(void)state;
	for (uint64_t tenant = 1; tenant <= EXECUTOR_PROCESSES / 2; tenant++) {
		alices = target_of(ALICE, tenant, NULL);
		assert_true(alices >= 0);
		kill_process(alices);
	}
	assert_int_equal(target_of(ALICE, 900, NULL), -ENOSPC);
	assert_int_equal(target_of(BOB, 1, NULL), bobs);
	assert_true(target_of(BOB, 2, NULL) >= 0);
}

static void users_together_leave_some_to_root(void **state)
{
	uint32_t processes, stuck;
	int roots;

	(void)state;
	for (uint64_t tenant = 1; tenant <= 300; tenant++) {
		target_of(ALICE, tenant, NULL);
		target_of(BOB, tenant, NULL);
	}
	executor_count(&processes, &stuck);
	assert_int_equal(processes, EXECUTOR_PROCESSES - EXECUTOR_PROCESSES / 16);
	roots = target_of(0, 1, NULL);
	assert_true(roots >= 0);
	for (uid_t other = geteuid() + 3; other < geteuid() + 103; other++)
		assert_int_not_equal(target_of(other, 1, NULL), roots);
}

/* /etc/subuid can assign uids to root for containers. Such a uid has the limits of an ordinary
 * user. */
static void subordinate_uids_of_root_are_not_root(void **state)
{
	uint32_t processes, stuck;
	int roots = target_of(0, 1, NULL);

	(void)state;
	assert_true(roots >= 0);
	for (uint64_t tenant = 1; tenant <= 600; tenant++)
		assert_int_not_equal(target_of_uid(SUBORDINATE, 0, tenant, NULL), roots);
	executor_count(&processes, &stuck);
	assert_in_range(processes, 2, EXECUTOR_PROCESSES / 2 + 1);
}

static void a_user_has_half_of_the_slots(void **state)
{
	uint32_t taken = 0;

	(void)state;
	while (target_of(ALICE, taken % 3, NULL) >= 0)
		taken++;
	assert_int_equal(taken, EXECUTOR_SLOTS / 2);
	assert_true(target_of(BOB, 1, NULL) >= 0);
	assert_true(target_of(0, 1, NULL) >= 0);
}

static void a_slot_that_is_given_back_counts_no_more(void **state)
{
	struct executor *executor;

	(void)state;
	assert_true(target_of(ALICE, 1, &executor) >= 0);
	while (target_of(ALICE, 1, NULL) >= 0)
		;
	executor_free(executor);
	assert_true(target_of(ALICE, 1, NULL) >= 0);
	assert_int_equal(target_of(ALICE, 1, NULL), -ENOSPC);
}

static void four_stuck_processes_are_a_tenants_most(void **state)
{
	struct executor *executor;

	(void)state;
	for (int i = 0; i < 4; i++) {
		int number = target_of(ALICE, 1, &executor);

		assert_true(number >= 0);
		kill_process(number);
		/* the client has gone and the tenant has no other client */
		executor_free(executor);
	}
	assert_int_equal(target_of(ALICE, 1, NULL), -EBUSY);
	assert_true(target_of(ALICE, 2, NULL) >= 0);
	assert_true(target_of(BOB, 1, NULL) >= 0);
	/* One of the killed processes has ended, so the tenant can have another. */
	table->processes[executor->process].state = EXECUTOR_DIED;
	check_all();
	assert_true(target_of(ALICE, 1, NULL) >= 0);
}

/* However many targets there are, executor_collect() reports only those with something to
 * report. */
static void only_signalled_targets_are_checked(void **state)
{
	struct executor *executors[100];
	struct executor_report report;

	(void)state;
	for (uint32_t i = 0; i < 100; i++)
		assert_true(target_of(ALICE, 1, &executors[i]) >= 0);
	check_all();
	assert_int_equal(reported_count, 0);
	for (uint32_t i = 17; i < 100; i += 50) {
		executors[i]->outcome = EXECUTOR_ACTED;
		executor_table_notify(table, executors[i]);
	}
	check_all();
	assert_int_equal(reported_count, 2);
	for (uint32_t i = 0; i < 2; i++) {
		struct executor *executor = executors[17 + 50 * i];

		assert_int_equal(reported[i], executor_number(executor));
		assert_int_equal(executor_take(executor, &report), EXECUTOR_ACTED);
	}
	check_all();
	assert_int_equal(reported_count, 0);
	/* The process of target 3 is killed before the outcome was collected. */
	executors[3]->outcome = EXECUTOR_ACTED;
	table->processes[executors[3]->process].state = EXECUTOR_KILLED;
	check_all();
	assert_int_equal(reported_count, 100);
	assert_true(executor_take(executors[3], &report) & EXECUTOR_ENDED);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(a_user_of_many_tenants_has_half_of_the_processes, begin),
		cmocka_unit_test_setup(nor_does_it_take_others_when_its_own_are_stuck, begin),
		cmocka_unit_test_setup(users_together_leave_some_to_root, begin),
		cmocka_unit_test_setup(subordinate_uids_of_root_are_not_root, begin),
		cmocka_unit_test_setup(a_user_has_half_of_the_slots, begin),
		cmocka_unit_test_setup(a_slot_that_is_given_back_counts_no_more, begin),
		cmocka_unit_test_setup(four_stuck_processes_are_a_tenants_most, begin),
		cmocka_unit_test_setup(only_signalled_targets_are_checked, begin),
	};

	table = calloc(1, sizeof(*table));
	want_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (!table || want_fd < 0)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}

// SPDX-License-Identifier: MIT
/*
 * Proves that each function with which a program announces work to the HSA runtime, or waits for
 * its end, is seen; and kinds of queues, and the effect of the levels on them as the driver shows
 * it.
 *
 *   test_shim_ways CASE WORKLOAD
 *
 * BUILD in the environment names the directory of the libraries.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>

#include <cmocka.h>

#include "common/clock.h"
#include "tests/matrix/driver_files.h"
#include "tests/system/shim/driver_mqds.h"
#include "tests/system/shim/workload.h"
#include "tests/system/shim/world.h"

#define TIMES 8
#define TURNS 30 /* maximum; turns in which the machine stalled do not count */
#define MS 1000000ull
#define STOOD_STILL_MS 30 /* ms without a check, of checks that are a millisecond apart */

static const char *command_of(const char *word, int n)
{
	static char command[32];

	snprintf(command, sizeof(command), "%s %d", word, n);
	return command;
}

/* A reserved slot counts as work, whichever function reserved it. */
static void reserved(void)
{
	char command[32];

	testbed_start();
	testbed_create();
	for (int way = 0; way < RESERVE_WAYS; way++) {
		snprintf(command, sizeof(command), "reserve %d", way);
		while (testbed_repeat(command, TIMES, 2)) {
			EVENTUALLY(testbed_active() == 0, 1000);
			testbed_start_work(command);
			testbed_query("publish");
			AT_ONCE(testbed_active() == 0);
		}
	}
	testbed_end();
}

/* A doorbell is the first sign of work, by each function; and each wait and load shows the end. */
static void rung(void)
{
	char bell[32], await[32];

	testbed_start();
	testbed_create();
	for (int way = 0; way < AWAIT_WAYS; way++) {
		snprintf(bell, sizeof(bell), "bell %d", way % BELL_WAYS);
		snprintf(await, sizeof(await), "await %d", way);
		while (testbed_repeat(bell, 2 * TIMES, 2)) {
			EVENTUALLY(testbed_active() == 0, 1000);
			testbed_start_work(bell);
			testbed_query(await);
			AT_ONCE(testbed_active() == 0);
		}
	}
	testbed_end();
}

/* A copy is seen when the runtime has taken it, whereas the sampler needs up to 16 ms. */
static void copied(void)
{
	testbed_start();
	testbed_create();
	for (int way = 0; way < COPY_WAYS; way++) {
		/* The first copy, at which the runtime creates its queues and allocates memory. */
		if (strcmp(testbed_query(command_of("copy", way)), "none") == 0)
			continue;
		testbed_query("await");
		while (testbed_repeat(command_of("copy", way), 2 * TIMES, 1)) {
			EVENTUALLY(testbed_active() == 0, 1000);
			fake_sleep_us(40000); /* so that the sampler polls at its longest period */
			testbed_start_work(command_of("copy", way));
			testbed_query("await");
		}
	}
	testbed_end();
}

/*
 * Checks that the node is active until `ms` after `begun_ns`. Returns false if that was not checked
 * all the time: if the machine stalled, the shim's own polls may have come too late, too, and so
 * may a wait that continues from one to the next.
 */
static bool stays_active(uint64_t begun_ns, unsigned ms)
{
	uint64_t now, checked = begun_ns;
	bool active;

	for (;;) {
		active = testbed_active() == 1;
		now = clock_ns();
		if (now - begun_ns >= ms * MS)
			return true;
		if (now - checked > STOOD_STILL_MS * MS)
			return false;
		CHECK(active);
		checked = now;
		fake_sleep_us(1000);
	}
}

/* Reports turns that were not checked all the time (see stays_active()). */
static void print_turns(int seen, int turns)
{
	if (turns > seen)
		fprintf(stderr, "tried again: %d of %d turns were looked at in time\n", seen,
			turns);
}

static bool worked_once(const struct client_shm_queue *q, bool consumed)
{
	bool equal, checked;
	uint64_t begun;

	EVENTUALLY(testbed_active() == 0, 2000);
	begun = clock_ns();
	testbed_start_work("work 90");
	do
		equal = testbed_word(q->rptr_address) == testbed_word(q->wptr_address);
	while (equal != consumed && clock_ns() - begun < 50 * MS);
	/* On a busy machine the answer can be so late that the kernel may be over by now. */
	checked = clock_ns() - begun < 90 * MS;
	CHECK(equal == consumed || !checked);
	checked = checked && stays_active(begun, 90);
	EVENTUALLY(testbed_active() == 0, 2000); /* no thread has waited for it */
	begun = clock_ns();
	testbed_start_work("work 250");
	testbed_send("await");
	checked = checked && stays_active(begun, 250);
	testbed_reply();
	AT_ONCE(testbed_active() == 0);
	return checked;
}

/*
 * A kernel runs alone in its queue. Where the read pointer passes it when it is taken up
 * (RPTR=consumption), both pointers are equal all the time. Its signal must then keep the queue
 * active: for 100 ms, and as long as a thread waits for it.
 */
static void worked(void)
{
	bool consumed = getenv("RPTR") && strcmp(getenv("RPTR"), "consumption") == 0;
	struct client_shm_queue q;
	uint64_t mine;
	int seen = 0, turns = 0;

	testbed_start();
	mine = testbed_create();
	testbed_query("work 1"); /* so that the kernel is loaded */
	testbed_query("await");
	CHECK(testbed_queue(mine, &q));
	while (seen < 3 && turns < TURNS)
		for (; testbed_repeat("end of a kernel", 3, 3); turns++)
			seen += worked_once(&q, consumed);
	print_turns(seen, turns);
	CHECK(seen >= 3);
	testbed_end();
}

/* One packet stands for 2250 kernels of 40 us, one after the other: the write pointer moves by 1,
 * no hook is called, and the queue is active until the last kernel is over. */
static void jumped(void)
{
	struct client_shm_queue q;
	uint64_t begun, mine, before, changes;
	int seen = 0, turns = 0;

	testbed_start();
	mine = testbed_create();
	CHECK(testbed_queue(mine, &q));
	for (; turns < TURNS && seen < 5; turns++) {
		EVENTUALLY(testbed_active() == 0, 2000);
		changes = testbed_changes();
		before = testbed_word(q.wptr_address);
		begun = clock_ns();
		testbed_query("jump 2250");
		CHECK(testbed_word(q.wptr_address) == before + 1);
		EVENTUALLY(testbed_changes() > changes, LATE_MS);
		/* On a busy machine the sampler may poll when the work is nearly over. */
		if (clock_ns() - begun > 50 * MS)
			continue;
		seen += stays_active(begun, 90);
	}
	print_turns(seen, turns);
	CHECK(seen == 5);
	testbed_end();
}

/* While the gate is closed no slot is taken, by whichever function: the write pointer does not
 * move. When the gate opens the program continues. */
static void gated(void)
{
	struct client_shm_queue q;
	uint64_t mine, before;

	setenv("KFDSHIM_PRIORITY", "offline", 1);
	setenv("KFDSHIM_LEVEL", "gate", 1);
	testbed_start();
	mine = testbed_create();
	CHECK(testbed_queue(mine, &q));
	for (int way = 0; way < RESERVE_WAYS; way++) {
		before = testbed_word(q.wptr_address);
		testbed_command_hold(CLIENT_SHM_LEVEL_GATE, true);
		testbed_send(command_of("reserve", way));
		if (testbed_has_reply(25) || testbed_word(q.wptr_address) != before)
			fake_failed(command_of("reserve", way), 0, "it passed the gate");
		testbed_command_hold(CLIENT_SHM_LEVEL_GATE, false);
		testbed_reply();
		CHECK(testbed_word(q.wptr_address) == before + 1);
		testbed_query("publish");
	}
	testbed_end();
}

/* Returns whether this address of the workload is in memory that is mapped from a render node. */
static bool in_device_memory(uint64_t address)
{
	unsigned long long from, to;
	char path[64], line[512];
	bool found = false;
	FILE *maps;

	snprintf(path, sizeof(path), "/proc/%d/maps", (int)testbed.workload);
	maps = fopen(path, "re");
	CHECK(maps != NULL);
	while (!found && fgets(line, sizeof(line), maps))
		found = strstr(line, "/dev/dri/renderD") &&
			sscanf(line, "%llx-%llx", &from, &to) == 2 && from <= address &&
			address < to;
	fclose(maps);
	return found;
}

/* Checks the pointers of each listed queue, and returns the number of queues. */
static unsigned words_in_device_memory(void)
{
	struct client_shm_queue q;
	unsigned n = 0;

	for (uint32_t i = 0; i < CLIENT_SHM_QUEUES; i++) {
		if (fake_daemon_entry(&testbed.daemon, i, &q) != 0)
			continue;
		CHECK(in_device_memory(q.rptr_address) && in_device_memory(q.wptr_address));
		n++;
	}
	return n;
}

/* Checks with the kernel itself that process_vm_readv refuses the address. */
static bool is_refused(uint64_t address)
{
	uint64_t value;
	struct iovec local = {.iov_base = &value, .iov_len = sizeof(value)};
	struct iovec remote = {.iov_base = (void *)(uintptr_t)address, .iov_len = sizeof(value)};

	return process_vm_readv(testbed.workload, &local, 1, &remote, 1, 0) == -1 &&
	       errno == EFAULT;
}

/* The runtime's memory is GTT, and so are its queues' pointers, which process_vm_readv refuses.
 * Work is still seen by hooks, by the pointers alone, and as a copy. */
static void in_gtt(void)
{
	struct client_shm_queue q;
	uint64_t mine, changes, begun;
	int seen = 0, turns = 0;

	setenv("HSA_USERPTR_FOR_PAGED_MEM", "0", 1);
	testbed_start();
	mine = testbed_create();
	CHECK(testbed_queue(mine, &q) && in_device_memory(mine));
	CHECK(words_in_device_memory() == 2 && is_refused(q.rptr_address));
	testbed_query("work 1"); /* so that the kernel is loaded */
	testbed_query("await");
	testbed_query("copy 0"); /* so that the queues for copies exist */
	testbed_query("await");
	CHECK(words_in_device_memory() > 2);
	for (; turns < TURNS && seen < 3; turns++) {
		EVENTUALLY(testbed_active() == 0, 2000);
		changes = testbed_changes();
		begun = clock_ns();
		testbed_query("work 90");
		EVENTUALLY(testbed_changes() > changes, LATE_MS);
		seen += stays_active(begun, 90);
		EVENTUALLY(testbed_active() == 0, 2000); /* no thread has waited for it */
		changes = testbed_changes();
		testbed_query("jump 100"); /* no hook is called */
		EVENTUALLY(testbed_changes() > changes, LATE_MS);
		EVENTUALLY(testbed_active() == 0, 2000);
		changes = testbed_changes();
		testbed_query("copy 0");
		EVENTUALLY(testbed_changes() > changes, LATE_MS);
		testbed_query("await");
	}
	print_turns(seen, turns);
	CHECK(seen == 3);
	EVENTUALLY(testbed_active() == 0, 2000);
	testbed_end();
}

/* A cooperative queue and a CU mask are reported as the runtime has made them. */
static void kinds(void)
{
	struct client_shm_queue q;
	uint64_t mine, cooperative;

	testbed_start();
	mine = testbed_create();
	CHECK(testbed_queue(mine, &q) && !q.cooperative && q.cu_bits == 0);
	CHECK(strcmp(testbed_query("cumask 40"), "ok") == 0);
	CHECK(testbed_queue(mine, &q) && q.cu_bits == 40);
	cooperative = strtoull(testbed_query("queue 1"), NULL, 16);
	CHECK(cooperative != mine && testbed_queue(cooperative, &q) && q.cooperative);
	CHECK(testbed_queue(mine, &q) && !q.cooperative && q.cu_bits == 40);
	testbed_end();
}

/* Checks the driver's own value: the lowest priority during the hold, and the program's after
 * it. */
static void weighed(void)
{
	struct client_shm_queue q;
	uint64_t mine;

	setenv("KFDSHIM_PRIORITY", "offline", 1);
	setenv("KFDSHIM_LEVEL", "weight", 1);
	testbed_start();
	mine = testbed_create();
	CHECK(testbed_queue(mine, &q) && q.priority == 7);
	EVENTUALLY(driver_mqds_priority(testbed.workload, q.ring_address) == 7, 1000);
	for (int i = 0; i < 3; i++) {
		testbed_command_hold(CLIENT_SHM_LEVEL_WEIGHT, true);
		EVENTUALLY(driver_mqds_priority(testbed.workload, q.ring_address) == 0, 1000);
		CHECK(testbed_queue(mine, &q) && q.priority == 7); /* the runtime's value */
		testbed_command_hold(CLIENT_SHM_LEVEL_WEIGHT, false);
		EVENTUALLY(driver_mqds_priority(testbed.workload, q.ring_address) == 7, 1000);
	}
	testbed_end();
}

/* Lets the runtime set the queue's priority during the hold. `lowest`: the driver must keep the
 * lowest priority, otherwise it gets the new one. Returns the runtime's value. */
static uint32_t set_while_held(uint64_t mine, int urgency, bool lowest)
{
	struct client_shm_queue q;
	int has;

	fake_sleep_us(100000); /* the driver's file lags; after this time it shows the hold */
	CHECK(strcmp(testbed_query(command_of("urgency", urgency)), "ok") == 0);
	CHECK(testbed_queue(mine, &q));
	has = lowest ? 0 : (int)q.priority;
	EVENTUALLY(driver_mqds_priority(testbed.workload, q.ring_address) == has, 1000);
	fake_sleep_us(100000);
	CHECK(driver_mqds_priority(testbed.workload, q.ring_address) == has);
	return q.priority;
}

/* A priority that the runtime sets while its queue has the lowest one neither undoes that nor gets
 * lost. */
static void set_while_weighed(void)
{
	struct client_shm_queue q;
	uint32_t high, normal;
	uint64_t mine;

	setenv("KFDSHIM_PRIORITY", "offline", 1);
	setenv("KFDSHIM_LEVEL", "weight", 1);
	testbed_start();
	mine = testbed_create();
	CHECK(testbed_queue(mine, &q) && q.priority == 7);
	testbed_command_hold(CLIENT_SHM_LEVEL_WEIGHT, true);
	high = set_while_held(mine, 2, true);
	CHECK(high > 7);
	testbed_command_hold(CLIENT_SHM_LEVEL_WEIGHT, false);
	EVENTUALLY(driver_mqds_priority(testbed.workload, q.ring_address) == (int)high, 1000);
	testbed_command_hold(CLIENT_SHM_LEVEL_WEIGHT, true);
	normal = set_while_held(mine, 1, true);
	CHECK(normal == 7);
	testbed_command_hold(CLIENT_SHM_LEVEL_WEIGHT, false);
	EVENTUALLY(driver_mqds_priority(testbed.workload, q.ring_address) == 7, 1000);
	testbed_end();
}

/* The same while the queue is stopped by UPDATE_QUEUE: the runtime's call, which passes the full
 * percentage, starts nothing. The driver has the new priority at once, and maps no queue before the
 * release. */
static void set_while_stopped(void)
{
	struct client_shm_queue q;
	uint64_t mine, read;

	setenv("KFDSHIM_PRIORITY", "offline", 1);
	setenv("KFDSHIM_LEVEL", "self", 1);
	setenv("KFDSHIM_UPDATE_QUEUE", "may-reset-the-gpu", 1);
	testbed_start();
	mine = strtoull(testbed_query("queue"), NULL, 16);
	CHECK(fake_daemon_accept(&testbed.daemon, MEETS_MS) == 0);
	EVENTUALLY(testbed.daemon.shm->own_session == CLIENT_SHM_OWN_UPDATES, 1000);
	EVENTUALLY(fake_daemon_queue_count(&testbed.daemon) == 2, 1000);
	testbed_query("work 1"); /* so that the kernel is loaded */
	testbed_query("await");
	CHECK(testbed_queue(mine, &q) && q.priority == 7);
	for (int urgency = 2; urgency >= 1; urgency--) {
		EVENTUALLY(testbed_active() == 0, 2000);
		CHECK(hqds_active() > 0);
		testbed_command_hold(CLIENT_SHM_LEVEL_SELF, true);
		testbed_query("work 1");
		read = testbed_word(q.rptr_address);
		CHECK((set_while_held(mine, urgency, false) > 7) == (urgency > 1));
		CHECK(hqds_active() == 0 && testbed_word(q.rptr_address) == read);
		CHECK(read < testbed_word(q.wptr_address));
		testbed_command_hold(CLIENT_SHM_LEVEL_SELF, false);
		testbed_query("await");
		CHECK(hqds_active() > 0);
		CHECK(testbed_queue(mine, &q));
		CHECK(driver_mqds_priority(testbed.workload, q.ring_address) == (int)q.priority);
	}
	testbed_end();
}

IN_CHILD(reserved)
IN_CHILD(rung)
IN_CHILD(copied)
IN_CHILD(worked)
IN_CHILD(jumped)
IN_CHILD(gated)
IN_CHILD(in_gtt)
IN_CHILD(kinds)
IN_CHILD(weighed)
IN_CHILD(set_while_weighed)
IN_CHILD(set_while_stopped)

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_reserved),
		cmocka_unit_test(test_rung),
		cmocka_unit_test(test_copied),
		cmocka_unit_test(test_worked),
		cmocka_unit_test(test_jumped),
		cmocka_unit_test(test_gated),
		cmocka_unit_test(test_in_gtt),
		cmocka_unit_test(test_kinds),
		cmocka_unit_test(test_weighed),
		cmocka_unit_test(test_set_while_weighed),
		cmocka_unit_test(test_set_while_stopped),
	};

	return testbed_main(argc, argv, tests, sizeof(tests) / sizeof(tests[0]));
}

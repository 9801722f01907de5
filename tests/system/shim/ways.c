// SPDX-License-Identifier: MIT
/*
 * Each single way in which a program tells the HSA runtime of work, or waits for its
 * end, is heard; kinds of queues, and what the levels do to them, as the driver has it.
 * Usage: test_shim_ways CASE WORKLOAD; BUILD names the libraries.
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
#define TURNS 30 /* at most; those in which the machine stood still do not count */
#define MS 1000000ull
#define STOOD_STILL_MS 30 /* no look for so long, of looks that are a millisecond apart */

static const char *order_of(const char *word, int n)
{
	static char order[32];

	snprintf(order, sizeof(order), "%s %d", word, n);
	return order;
}

/* A slot that is reserved is work, by which ever function. */
static void reserved(void)
{
	char order[32];

	world_start();
	world_create();
	for (int way = 0; way < RESERVE_WAYS; way++) {
		snprintf(order, sizeof(order), "reserve %d", way);
		while (world_again(order, TIMES, 2)) {
			EVENTUALLY(world_active() == 0, 1000);
			world_tell_work(order);
			world_tell("publish");
			AT_ONCE(world_active() == 0);
		}
	}
	world_end();
}

/* A doorbell that is the first to tell, by each function; and each wait and load. */
static void rung(void)
{
	char bell[32], await[32];

	world_start();
	world_create();
	for (int way = 0; way < AWAIT_WAYS; way++) {
		snprintf(bell, sizeof(bell), "bell %d", way % BELL_WAYS);
		snprintf(await, sizeof(await), "await %d", way);
		while (world_again(bell, 2 * TIMES, 2)) {
			EVENTUALLY(world_active() == 0, 1000);
			world_tell_work(bell);
			world_tell(await);
			AT_ONCE(world_active() == 0);
		}
	}
	world_end();
}

/* A copy is seen when the runtime has taken it: the sampler needs up to 16 ms. */
static void copied(void)
{
	world_start();
	world_create();
	for (int way = 0; way < COPY_WAYS; way++) {
		/* At first, where the runtime makes its queues and asks for its memory. */
		if (strcmp(world_tell(order_of("copy", way)), "none") == 0)
			continue;
		world_tell("await");
		while (world_again(order_of("copy", way), 2 * TIMES, 1)) {
			EVENTUALLY(world_active() == 0, 1000);
			fake_sleep_us(40000); /* the sampler looks seldom now */
			world_tell_work(order_of("copy", way));
			world_tell("await");
		}
	}
	world_end();
}

/*
 * Active until `ms` after `begun_ns`. False if that was not looked at: where the machine
 * stood still for a while, the shim's own looks, and a wait that is to go on from one to
 * the next, may have come too late.
 */
static bool stays_active(uint64_t begun_ns, unsigned ms)
{
	uint64_t now, looked = begun_ns;
	bool active;

	for (;;) {
		active = world_active() == 1;
		now = clock_ns();
		if (now - begun_ns >= ms * MS)
			return true;
		if (now - looked > STOOD_STILL_MS * MS)
			return false;
		CHECK(active);
		looked = now;
		fake_sleep_us(1000);
	}
}

/* The others were not looked at throughout (stays_active). */
static void say_turns(int seen, int turns)
{
	if (turns > seen)
		fprintf(stderr, "tried again: %d of %d turns were looked at in time\n", seen,
			turns);
}

static bool worked_once(const struct lane_queue *q, bool consumed)
{
	bool equal, looked;
	uint64_t begun;

	EVENTUALLY(world_active() == 0, 2000);
	begun = clock_ns();
	world_tell_work("work 90");
	do
		equal = world_word(q->rptr_address) == world_word(q->wptr_address);
	while (equal != consumed && clock_ns() - begun < 50 * MS);
	/* Now it may be over: the answer came late on a busy machine. */
	looked = clock_ns() - begun < 90 * MS;
	CHECK(equal == consumed || !looked);
	looked = looked && stays_active(begun, 90);
	EVENTUALLY(world_active() == 0, 2000); /* nobody has waited */
	begun = clock_ns();
	world_tell_work("work 250");
	world_order("await");
	looked = looked && stays_active(begun, 250);
	world_answer();
	AT_ONCE(world_active() == 0);
	return looked;
}

/*
 * A kernel runs, and is alone in its queue. Where the read pointer passes it when it
 * is taken up (RPTR=consumption), both pointers are equal all the time: its signal
 * has to tell, for 100 ms, and for as long as somebody waits for it.
 */
static void worked(void)
{
	bool consumed = getenv("RPTR") && strcmp(getenv("RPTR"), "consumption") == 0;
	struct lane_queue q;
	uint64_t mine;
	int seen = 0, turns = 0;

	world_start();
	mine = world_create();
	world_tell("work 1"); /* the kernel is loaded */
	world_tell("await");
	CHECK(world_queue(mine, &q));
	while (seen < 3 && turns < TURNS)
		for (; world_again("end of a kernel", 3, 3); turns++)
			seen += worked_once(&q, consumed);
	say_turns(seen, turns);
	CHECK(seen >= 3);
	world_end();
}

/* One packet stands for 2250 kernels of 40 us, one after the other: the write pointer
 * moves by 1, no hook is told, and it is work until the last of them is over. */
static void jumped(void)
{
	struct lane_queue q;
	uint64_t begun, mine, before, changes;
	int seen = 0, turns = 0;

	world_start();
	mine = world_create();
	CHECK(world_queue(mine, &q));
	for (; turns < TURNS && seen < 5; turns++) {
		EVENTUALLY(world_active() == 0, 2000);
		changes = world_changes();
		before = world_word(q.wptr_address);
		begun = clock_ns();
		world_tell("jump 2250");
		CHECK(world_word(q.wptr_address) == before + 1);
		EVENTUALLY(world_changes() > changes, LATE_MS);
		/* On a busy machine the sampler may come when it is nearly over. */
		if (clock_ns() - begun > 50 * MS)
			continue;
		seen += stays_active(begun, 90);
	}
	say_turns(seen, turns);
	CHECK(seen == 5);
	world_end();
}

/* No slot is taken while the gate is closed, by which ever function: the write pointer
 * stands where it was. When the gate opens the program goes on. */
static void gated(void)
{
	struct lane_queue q;
	uint64_t mine, before;

	setenv("KFDSHIM_PRIORITY", "offline", 1);
	setenv("KFDSHIM_LEVEL", "gate", 1);
	world_start();
	mine = world_create();
	CHECK(world_queue(mine, &q));
	for (int way = 0; way < RESERVE_WAYS; way++) {
		before = world_word(q.wptr_address);
		world_order_hold(LANE_LEVEL_GATE, true);
		world_order(order_of("reserve", way));
		if (world_answered(25) || world_word(q.wptr_address) != before)
			fake_failed(order_of("reserve", way), 0, "it passed the gate");
		world_order_hold(LANE_LEVEL_GATE, false);
		world_answer();
		CHECK(world_word(q.wptr_address) == before + 1);
		world_tell("publish");
	}
	world_end();
}

/* Is that word of the workload in memory that it has from a render node? */
static bool in_device_memory(uint64_t address)
{
	unsigned long long from, to;
	char path[64], line[512];
	bool found = false;
	FILE *maps;

	snprintf(path, sizeof(path), "/proc/%d/maps", (int)world.workload);
	maps = fopen(path, "re");
	CHECK(maps != NULL);
	while (!found && fgets(line, sizeof(line), maps))
		found = strstr(line, "/dev/dri/renderD") &&
			sscanf(line, "%llx-%llx", &from, &to) == 2 && from <= address &&
			address < to;
	fclose(maps);
	return found;
}

/* Of each queue that is listed; how many those are. */
static unsigned words_in_device_memory(void)
{
	struct lane_queue q;
	unsigned n = 0;

	for (uint32_t i = 0; i < LANE_QUEUES; i++) {
		if (fake_daemon_entry(&world.daemon, i, &q) != 0)
			continue;
		CHECK(in_device_memory(q.rptr_address) && in_device_memory(q.wptr_address));
		n++;
	}
	return n;
}

/* As the kernel would, not only by where it lies. */
static bool is_refused(uint64_t address)
{
	uint64_t value;
	struct iovec local = {.iov_base = &value, .iov_len = sizeof(value)};
	struct iovec remote = {.iov_base = (void *)(uintptr_t)address, .iov_len = sizeof(value)};

	return process_vm_readv(world.workload, &local, 1, &remote, 1, 0) == -1 && errno == EFAULT;
}

/* The runtime's memory is GTT, and so are its queues' words, which process_vm_readv
 * refuses. Work is seen by hooks, by the words alone, and as a copy. */
static void in_gtt(void)
{
	struct lane_queue q;
	uint64_t mine, changes, begun;
	int seen = 0, turns = 0;

	setenv("HSA_USERPTR_FOR_PAGED_MEM", "0", 1);
	world_start();
	mine = world_create();
	CHECK(world_queue(mine, &q) && in_device_memory(mine));
	CHECK(words_in_device_memory() == 2 && is_refused(q.rptr_address));
	world_tell("work 1"); /* the kernel is loaded */
	world_tell("await");
	world_tell("copy 0"); /* its queues are made */
	world_tell("await");
	CHECK(words_in_device_memory() > 2);
	for (; turns < TURNS && seen < 3; turns++) {
		EVENTUALLY(world_active() == 0, 2000);
		changes = world_changes();
		begun = clock_ns();
		world_tell("work 90");
		EVENTUALLY(world_changes() > changes, LATE_MS);
		seen += stays_active(begun, 90);
		EVENTUALLY(world_active() == 0, 2000); /* nobody has waited */
		changes = world_changes();
		world_tell("jump 100"); /* no hook is told */
		EVENTUALLY(world_changes() > changes, LATE_MS);
		EVENTUALLY(world_active() == 0, 2000);
		changes = world_changes();
		world_tell("copy 0");
		EVENTUALLY(world_changes() > changes, LATE_MS);
		world_tell("await");
	}
	say_turns(seen, turns);
	CHECK(seen == 3);
	EVENTUALLY(world_active() == 0, 2000);
	world_end();
}

/* A cooperative queue, and a CU mask, are told as the runtime has made them. */
static void kinds(void)
{
	struct lane_queue q;
	uint64_t mine, cooperative;

	world_start();
	mine = world_create();
	CHECK(world_queue(mine, &q) && !q.cooperative && q.cu_bits == 0);
	CHECK(strcmp(world_tell("cumask 40"), "ok") == 0);
	CHECK(world_queue(mine, &q) && q.cu_bits == 40);
	cooperative = strtoull(world_tell("queue 1"), NULL, 16);
	CHECK(cooperative != mine && world_queue(cooperative, &q) && q.cooperative);
	CHECK(world_queue(mine, &q) && !q.cooperative && q.cu_bits == 40);
	world_end();
}

/* The driver's own word: the lowest priority while held, and the program's after. */
static void weighed(void)
{
	struct lane_queue q;
	uint64_t mine;

	setenv("KFDSHIM_PRIORITY", "offline", 1);
	setenv("KFDSHIM_LEVEL", "weight", 1);
	world_start();
	mine = world_create();
	CHECK(world_queue(mine, &q) && q.priority == 7);
	EVENTUALLY(driver_mqds_priority(world.workload, q.ring_address) == 7, 1000);
	for (int i = 0; i < 3; i++) {
		world_order_hold(LANE_LEVEL_WEIGHT, true);
		EVENTUALLY(driver_mqds_priority(world.workload, q.ring_address) == 0, 1000);
		CHECK(world_queue(mine, &q) && q.priority == 7); /* what the runtime said */
		world_order_hold(LANE_LEVEL_WEIGHT, false);
		EVENTUALLY(driver_mqds_priority(world.workload, q.ring_address) == 7, 1000);
	}
	world_end();
}

/* The runtime sets the queue's priority while it is held: of the driver it then has
 * the lowest, or that one. Returns what the runtime said. */
static uint32_t set_while_held(uint64_t mine, int urgency, bool lowest)
{
	struct lane_queue q;
	int has;

	fake_sleep_us(100000); /* the driver's file lags: it has the hold now */
	CHECK(strcmp(world_tell(order_of("urgency", urgency)), "ok") == 0);
	CHECK(world_queue(mine, &q));
	has = lowest ? 0 : (int)q.priority;
	EVENTUALLY(driver_mqds_priority(world.workload, q.ring_address) == has, 1000);
	fake_sleep_us(100000);
	CHECK(driver_mqds_priority(world.workload, q.ring_address) == has);
	return q.priority;
}

/* What the runtime sets while its queue has the lowest priority does not undo that, and
 * is not lost by it. */
static void set_while_weighed(void)
{
	struct lane_queue q;
	uint32_t high, normal;
	uint64_t mine;

	setenv("KFDSHIM_PRIORITY", "offline", 1);
	setenv("KFDSHIM_LEVEL", "weight", 1);
	world_start();
	mine = world_create();
	CHECK(world_queue(mine, &q) && q.priority == 7);
	world_order_hold(LANE_LEVEL_WEIGHT, true);
	high = set_while_held(mine, 2, true);
	CHECK(high > 7);
	world_order_hold(LANE_LEVEL_WEIGHT, false);
	EVENTUALLY(driver_mqds_priority(world.workload, q.ring_address) == (int)high, 1000);
	world_order_hold(LANE_LEVEL_WEIGHT, true);
	normal = set_while_held(mine, 1, true);
	CHECK(normal == 7);
	world_order_hold(LANE_LEVEL_WEIGHT, false);
	EVENTUALLY(driver_mqds_priority(world.workload, q.ring_address) == 7, 1000);
	world_end();
}

/* The same while it is stopped by UPDATE_QUEUE: the runtime's call, which names the full
 * percentage, starts nothing. The driver has the new priority at once, and maps no queue
 * before the release. */
static void set_while_stopped(void)
{
	struct lane_queue q;
	uint64_t mine, read;

	setenv("KFDSHIM_PRIORITY", "offline", 1);
	setenv("KFDSHIM_LEVEL", "self", 1);
	setenv("KFDSHIM_UPDATE_QUEUE", "may-reset-the-gpu", 1);
	world_start();
	mine = strtoull(world_tell("queue"), NULL, 16);
	CHECK(fake_daemon_accept(&world.daemon, MEETS_MS) == 0);
	EVENTUALLY(world.daemon.lane->own_session == LANE_OWN_UPDATES, 1000);
	EVENTUALLY(fake_daemon_queue_count(&world.daemon) == 2, 1000);
	world_tell("work 1"); /* the kernel is loaded */
	world_tell("await");
	CHECK(world_queue(mine, &q) && q.priority == 7);
	for (int urgency = 2; urgency >= 1; urgency--) {
		EVENTUALLY(world_active() == 0, 2000);
		CHECK(hqds_active() > 0);
		world_order_hold(LANE_LEVEL_SELF, true);
		world_tell("work 1");
		read = world_word(q.rptr_address);
		CHECK((set_while_held(mine, urgency, false) > 7) == (urgency > 1));
		CHECK(hqds_active() == 0 && world_word(q.rptr_address) == read);
		CHECK(read < world_word(q.wptr_address));
		world_order_hold(LANE_LEVEL_SELF, false);
		world_tell("await");
		CHECK(hqds_active() > 0);
		CHECK(world_queue(mine, &q));
		CHECK(driver_mqds_priority(world.workload, q.ring_address) == (int)q.priority);
	}
	world_end();
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

	return world_main(argc, argv, tests, sizeof(tests) / sizeof(tests[0]));
}

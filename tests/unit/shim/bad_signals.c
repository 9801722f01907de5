// SPDX-License-Identifier: MIT
/*
 * Proves, in virtual time (sampled_queues.h): whatever a program does with its completion signals
 * and copies, a queue is not idle while its kernel runs, as far as the signal can show it, and not
 * active for ever after its end. Each case is played for both meanings of the read pointer: it
 * passes a packet at its end, or when the packet is taken up.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <sys/mman.h>

#include <cmocka.h>

#include "tests/lib/sampled_queues.h"

/* A value above 0 keeps a queue for 100 ms; 1.5 times the kernels of 80 ms in this test are longer.
 * Two polling periods of at most 16 ms are added, one of them to the measured kernel. */
#define UNFINISHED (180 * MS)

static const bool meanings[] = {false, true}; /* true: when it is taken up */
#define FOR_MEANINGS(m) for (const bool *(m) = meanings; (m) < meanings + 2; (m)++)

/* The last packet of queue `i` runs. */
static void run(unsigned i, bool taken_up)
{
	if (taken_up)
		fake_drain(&made[i]);
	else
		fake_drain_but_last(&made[i]);
}

static uint64_t handle_of(const struct fake_signal *signal)
{
	return (uint64_t)(uintptr_t)signal;
}

static void loaded(const struct fake_signal *signal)
{
	fake.agent->loaded(handle_of(signal));
}

/* The hooks read the real clock, so virtual time continues from there. */
static void catch_up(void)
{
	now = clock_ns() > now ? clock_ns() : now;
	due = now;
}

static void never_final(void)
{
	struct fake_signal last = {.kind = 1};
	uint32_t ticket;

	begin();
	queue(0, AQL);
	FOR_MEANINGS(m)
	{
		fake_ring(&made[0], &last);
		run(0, *m);
		catch_up();
		pass(80 * MS);
		CHECK(q[0]->active);
		fake_drain(&made[0]); /* it is over, and does not say so */
		CHECK(wait_for(q[0], false) <= UNFINISHED);
	}
	/* A thread waits for it, and its wait times out. */
	fake_ring(&made[0], &last);
	fake_drain(&made[0]);
	catch_up();
	ticket = fake.agent->wait_begin(handle_of(&last));
	pass(SECOND / 2);
	CHECK(q[0]->active);
	fake.agent->wait_end(ticket, handle_of(&last), false);
	CHECK(q[0]->active);
	CHECK(wait_for(q[0], false) <= UNFINISHED);
}

/* A thread has seen the end of a packet, and another one has used the signal for the next packet
 * before the hook looks. */
static void used_again_at_once(void)
{
	struct fake_signal last = {.kind = 1};

	begin();
	queue(0, AQL);
	FOR_MEANINGS(m)
	{
		fake_ring(&made[0], &last);
		fake_drain(&made[0]);
		fake_ring(&made[0], &last);
		run(0, *m);
		fake.agent->wait_end(KFDSHIM_NO_TICKET, handle_of(&last), true);
		loaded(&last);
		fake.agent->events_end();
		CHECK(q[0]->active);
		fake_drain(&made[0]);
		fake_waited(&last);
		CHECK(!q[0]->active);
	}
}

/* The first queue is over, and its signal is used again at once for a kernel of the second one. */
static void used_again_in_another_queue(void)
{
	struct fake_signal last = {.kind = 1};

	begin();
	queue(0, AQL);
	queue(1, AQL);
	FOR_MEANINGS(m)
	{
		fake_ring(&made[0], &last);
		fake_drain(&made[0]);
		fake_ring(&made[1], &last);
		run(1, *m);
		fake.agent->wait_end(KFDSHIM_NO_TICKET, handle_of(&last), true);
		CHECK(q[1]->active);
		fake_drain(&made[1]);
		fake_waited(&last);
		CHECK(!q[0]->active && !q[1]->active);
	}
}

/* The signal counts the packets of two queues. */
static void shared_by_two_queues(void)
{
	struct fake_signal last = {.kind = 1};

	begin();
	queue(0, AQL);
	queue(1, AQL);
	FOR_MEANINGS(m)
	{
		fake_ring(&made[0], &last);
		fake_ring(&made[1], &last);
		last.value = 1; /* of 2: the first queue is over */
		fake_drain(&made[0]);
		run(1, *m);
		fake.agent->wait_end(KFDSHIM_NO_TICKET, handle_of(&last), true);
		fake.agent->events_end();
		catch_up();
		pass(80 * MS);
		CHECK(q[1]->active);
		fake_drain(&made[1]);
		last.value = 0;
		loaded(&last);
		CHECK(!q[0]->active && !q[1]->active);
	}
}

/* It counts from 0 downwards instead, so it is final while the second queue runs. The read pointer
 * shows that the end was none; where it passes a packet that is taken up, nothing does. */
static void shared_and_final_too_soon(void)
{
	struct fake_signal last = {.kind = 1};

	begin();
	queue(0, AQL);
	queue(1, AQL);
	fake_ring(&made[0], &last);
	fake_ring(&made[1], &last);
	last.value = -1;
	fake_drain(&made[0]);
	fake_drain_but_last(&made[1]);
	loaded(&last);
	CHECK(!q[0]->active && !q[1]->active);
	catch_up();
	CHECK(wait_for(q[1], true) <= 4 * MS);
	for (unsigned i = 0; i < 50; i++) {
		loaded(&last);
		pass(10 * MS);
		CHECK(q[1]->active && !q[0]->active);
	}
	fake_drain(&made[1]);
	CHECK(wait_for(q[1], false) <= 40 * MS);
}

/* The program unmaps the signal while the kernel runs. */
static void destroyed_in_flight(void)
{
	struct fake_signal *last;

	begin();
	queue(0, AQL);
	FOR_MEANINGS(m)
	{
		last = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		CHECK(last != MAP_FAILED);
		fake_ring(&made[0], last);
		run(0, *m);
		munmap(last, 4096);
		loaded(last);
		fake.agent->wait_end(KFDSHIM_NO_TICKET, handle_of(last), true);
		fake.agent->events_end();
		CHECK(q[0]->active);
		catch_up();
		/* Equal pointers are then all that is known. */
		pass(*m ? MS : SECOND);
		CHECK(q[0]->active);
		fake_drain(&made[0]);
		CHECK(wait_for(q[0], false) <= SECOND / 4);
	}
}

/* The runtime has taken a copy and waits for something before it submits it. */
static void copy_that_is_never_submitted(void)
{
	struct fake_signal copy = {.kind = 1}, last = {.kind = 1};

	begin();
	queue(0, AQL);
	queue(1, SDMA);
	fake.agent->copied(handle_of(&copy));
	CHECK(fake.active == 0);
	catch_up();
	pass(SECOND);
	CHECK(fake.active == 0);
	FOR_MEANINGS(m)
	{
		fake_ring(&made[0], &last);
		run(0, *m);
		loaded(&copy);
		CHECK(q[0]->active && fake.active == 1);
		fake_drain(&made[0]);
		fake_waited(&last);
		CHECK(fake.active == 0);
	}
}

IN_CHILD(never_final)
IN_CHILD(used_again_at_once)
IN_CHILD(used_again_in_another_queue)
IN_CHILD(shared_by_two_queues)
IN_CHILD(shared_and_final_too_soon)
IN_CHILD(destroyed_in_flight)
IN_CHILD(copy_that_is_never_submitted)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_never_final),
		cmocka_unit_test(test_used_again_at_once),
		cmocka_unit_test(test_used_again_in_another_queue),
		cmocka_unit_test(test_shared_by_two_queues),
		cmocka_unit_test(test_shared_and_final_too_soon),
		cmocka_unit_test(test_destroyed_in_flight),
		cmocka_unit_test(test_copy_that_is_never_submitted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

// SPDX-License-Identifier: MIT
/*
 * Proves the simulator's side of the page of virtual time: which thread is woken, in which order,
 * and how.
 */
#include <fcntl.h>
#include <linux/futex.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
/* clang-format off: cmocka wants some of the above first */
#include <cmocka.h>
/* clang-format on */

#include "common/proc.h"
#include "sim/host/time/page.h"
#include "sim/host/time_slots.h"

#define START 1000u
#define NO_TASK 5000000 /* above the greatest thread id of any kernel (PID_MAX_LIMIT) */

struct fixture {
	int fd;
	struct time_slots *slots;
	struct time_page *page; /* as a simulated program has it mapped */
};

static int open_slots(void **state)
{
	static struct fixture f;

	f.fd = memfd_create("page", MFD_CLOEXEC);
	assert_true(f.fd >= 0);
	assert_int_equal(time_slots_open(f.fd, START, &f.slots), 0);
	f.page = mmap(NULL, sizeof(*f.page), PROT_READ | PROT_WRITE, MAP_SHARED, f.fd, 0);
	assert_ptr_not_equal(f.page, MAP_FAILED);
	*state = &f;
	return 0;
}

static int close_slots(void **state)
{
	struct fixture *f = *state;

	munmap(f->page, sizeof(*f->page));
	time_slots_close(f->slots);
	close(f->fd);
	return 0;
}

/* Begins a wait, as the time library does for thread `tid`. Returns its slot. */
static int wait_until(struct fixture *f, pid_t tid, uint64_t deadline, enum time_wait wait)
{
	int at = time_slots_of(f->slots, tid);
	struct time_slot *slot;

	assert_in_range(at, 0, TIME_SLOTS - 1);
	slot = &f->page->slots[at];
	atomic_store(&slot->due, 0);
	atomic_store(&slot->wait, wait);
	slot->effects = atomic_load(&f->page->effects);
	atomic_store(&slot->deadline_ns, deadline);
	return at;
}

static void page_is_filled(void **state)
{
	const struct fixture *f = *state;

	assert_true(f->page->magic == TIME_MAGIC);
	assert_int_equal(f->page->version, TIME_VERSION);
	assert_int_equal(f->page->slots_n, TIME_SLOTS);
	assert_int_equal(f->page->now_ns, START);
	assert_int_equal(*time_slots_clock(f->slots), START);
	assert_int_equal(f->page->turns, 0);
	assert_true(time_slots_first(f->slots) == UINT64_MAX);
	assert_false(time_slots_wake(f->slots));
}

static void clock_never_goes_back(void **state)
{
	struct fixture *f = *state;

	time_slots_set_clock(f->slots, START + 5);
	assert_int_equal(f->page->now_ns, START + 5);
	time_slots_set_clock(f->slots, START + 4);
	assert_int_equal(f->page->now_ns, START + 5);
}

/* Wakes once. Returns the slot that was woken; -1: none. */
static int next_woken(struct fixture *f)
{
	uint32_t before[64];

	for (unsigned i = 0; i < 64; i++)
		before[i] = atomic_load(&f->page->slots[i].due);
	if (!time_slots_wake(f->slots))
		return -1;
	for (unsigned i = 0; i < 64; i++)
		if (atomic_load(&f->page->slots[i].due) != before[i])
			return (int)i;
	fail_msg("a wake of no slot");
	return -1;
}

static void earliest_is_first(void **state)
{
	static const uint64_t times[] = {START + 30, START + 10, START + 20, START + 10};
	struct fixture *f = *state;
	int at[4];

	for (int i = 0; i < 4; i++)
		at[i] = wait_until(f, NO_TASK + i, times[i], TIME_WAIT_FUTEX);
	assert_int_equal(time_slots_first(f->slots), START + 10);
	assert_int_equal(next_woken(f), -1); /* not due yet */
	time_slots_set_clock(f->slots, START + 9);
	assert_int_equal(next_woken(f), -1);
	time_slots_set_clock(f->slots, START + 25);
	assert_int_equal(next_woken(f), at[1]); /* due at the same time: the lower slot first */
	assert_int_equal(next_woken(f), at[3]);
	assert_int_equal(next_woken(f), at[2]);
	assert_int_equal(next_woken(f), -1);
	assert_int_equal(time_slots_first(f->slots), START + 30);
}

/* A woken slot is not woken again before it has begun another wait. */
static void woken_once(void **state)
{
	struct fixture *f = *state;
	int at = wait_until(f, NO_TASK, START, TIME_WAIT_FUTEX);

	assert_int_equal(next_woken(f), at);
	assert_int_equal(next_woken(f), -1);
	assert_true(time_slots_first(f->slots) == UINT64_MAX);
	assert_int_equal(wait_until(f, NO_TASK, START, TIME_WAIT_FUTEX), at);
	assert_int_equal(next_woken(f), at);
}

/* A wait without an end gives no time to which the clock could advance. */
static void never_is_no_time(void **state)
{
	struct fixture *f = *state;

	wait_until(f, NO_TASK, UINT64_MAX, TIME_WAIT_FUTEX);
	assert_true(time_slots_first(f->slots) == UINT64_MAX);
	assert_int_equal(next_woken(f), -1);
	wait_until(f, NO_TASK + 1, START + 1, TIME_WAIT_FUTEX);
	assert_int_equal(time_slots_first(f->slots), START + 1);
}

static void effect_ends_a_spin(void **state)
{
	struct fixture *f = *state;
	int spins = wait_until(f, NO_TASK, START + 100, TIME_WAIT_SPIN);

	wait_until(f, NO_TASK + 1, START + 100, TIME_WAIT_FUTEX);
	wait_until(f, NO_TASK + 2, START + 100, TIME_WAIT_EVENT);
	assert_int_equal(next_woken(f), -1);
	time_slots_effect(f->slots);
	assert_int_equal(time_slots_effects(f->slots), 1);
	assert_int_equal(time_slots_first(f->slots), START);
	assert_int_equal(next_woken(f), spins);
	assert_int_equal(next_woken(f), -1);
	/* The effect was before this wait began. */
	wait_until(f, NO_TASK, START + 100, TIME_WAIT_SPIN);
	assert_int_equal(next_woken(f), -1);
}

/* Writes the order in which slots due at the same time are woken, as a text. */
static void sequence_of(struct fixture *f, char text[static 33])
{
	for (int i = 0; i < 16; i++)
		wait_until(f, NO_TASK + i, START, TIME_WAIT_FUTEX);
	for (int i = 0; i < 16; i++)
		text[i] = (char)('a' + next_woken(f));
	text[16] = '\0';
	assert_int_equal(next_woken(f), -1);
}

static void seed_draws_the_order(void **state)
{
	char plain[33], one[33], again[33], two[33];
	struct fixture *f = *state;

	sequence_of(f, plain);
	assert_string_equal(plain, "abcdefghijklmnop");
	time_slots_take_turns(f->slots, 1);
	assert_int_equal(f->page->turns, 1);
	sequence_of(f, one);
	sequence_of(f, again);
	time_slots_take_turns(f->slots, 2);
	sequence_of(f, two);
	assert_string_equal(one, again);
	assert_string_not_equal(one, two);
	assert_string_not_equal(one, plain);
	for (char c = 'a'; c < 'q'; c++)
		assert_non_null(strchr(one, c));
}

/* A seed changes the order of slots that are due at the same time, and of no others. */
static void seed_keeps_time(void **state)
{
	struct fixture *f = *state;

	for (uint64_t seed = 1; seed < 50; seed++) {
		int late, early;

		time_slots_take_turns(f->slots, seed);
		late = wait_until(f, NO_TASK, START - 1, TIME_WAIT_FUTEX);
		early = wait_until(f, NO_TASK + 1, START - 2, TIME_WAIT_FUTEX);
		assert_int_equal(next_woken(f), early);
		assert_int_equal(next_woken(f), late);
	}
}

static void slots_are_used_again(void **state)
{
	struct fixture *f = *state;
	int one = wait_until(f, NO_TASK, START, TIME_WAIT_FUTEX);
	int two = time_slots_of(f->slots, NO_TASK + 1);

	assert_int_not_equal(one, two);
	assert_int_equal(time_slots_of(f->slots, NO_TASK + 1), two);
	time_slots_end(f->slots, NO_TASK);
	assert_int_equal(next_woken(f), -1); /* it does not wait any more */
	time_slots_end(f->slots, NO_TASK);   /* a second call has no effect */
	assert_int_equal(time_slots_of(f->slots, NO_TASK + 2), one);
	assert_int_equal(next_woken(f), -1);
}

/* A thread that asks for its slot again (after exec) does not wait any more. */
static void asking_ends_the_wait(void **state)
{
	struct fixture *f = *state;
	int at = wait_until(f, NO_TASK, START, TIME_WAIT_FUTEX);

	assert_int_equal(time_slots_of(f->slots, NO_TASK), at);
	assert_int_equal(next_woken(f), -1);
}

static bool is_readable(int fd)
{
	struct pollfd one = {.fd = fd, .events = POLLIN};

	return poll(&one, 1, 0) == 1 && one.revents == POLLIN;
}

static void event_is_written(void **state)
{
	struct fixture *f = *state;
	int at = wait_until(f, NO_TASK, START, TIME_WAIT_EVENT);
	int old = time_slots_event(f->slots, NO_TASK), event = time_slots_event(f->slots, NO_TASK);
	uint64_t count;

	assert_true(old >= 0 && event >= 0);
	assert_false(is_readable(event));
	assert_int_equal(next_woken(f), at);
	assert_true(is_readable(event));
	assert_false(is_readable(old)); /* replaced by the newer one */
	assert_int_equal(read(event, &count, sizeof(count)), sizeof(count));
	assert_int_equal(count, 1);
	wait_until(f, NO_TASK, START, TIME_WAIT_FUTEX);
	/* time_slots_of() has removed the eventfd; besides, this kind of wait does not write
	 * one. */
	assert_int_equal(next_woken(f), at);
	assert_false(is_readable(event));
	close(old);
	close(event);
}

/* A slot that is due without an eventfd, because its thread is ending, is skipped. */
static void event_without_descriptor(void **state)
{
	struct fixture *f = *state;
	int at = wait_until(f, NO_TASK, START, TIME_WAIT_EVENT);

	assert_int_equal(next_woken(f), at);
	assert_int_equal(next_woken(f), -1);
}

static unsigned open_descriptors(void)
{
	unsigned n = 0;

	for (int fd = 0; fd < 1024; fd++)
		n += fcntl(fd, F_GETFD) >= 0;
	return n;
}

static void descriptors_are_closed(void **state)
{
	struct fixture *f = *state;
	unsigned before = open_descriptors();

	for (int i = 0; i < 100; i++) {
		close(time_slots_event(f->slots, NO_TASK + i));
		close(time_slots_event(f->slots, NO_TASK + i));
		time_slots_of(f->slots, NO_TASK + i);
		close(time_slots_event(f->slots, NO_TASK + i));
		time_slots_end(f->slots, NO_TASK + i);
	}
	assert_int_equal(open_descriptors(), before);
}

/* If the table is full, slots of threads that have ended are reused, and no others. */
static void full_table(void **state)
{
	struct fixture *f = *state;
	int living = wait_until(f, getpid(), START + 7, TIME_WAIT_FUTEX);

	for (int i = 1; i < (int)TIME_SLOTS; i++)
		assert_int_equal(wait_until(f, NO_TASK + i, START + 5, TIME_WAIT_FUTEX), i);
	assert_int_equal(time_slots_first(f->slots), START + 5);
	assert_in_range(time_slots_of(f->slots, 1), 1, TIME_SLOTS - 1);
	assert_int_equal(time_slots_first(f->slots), START + 7);
	time_slots_set_clock(f->slots, START + 7);
	assert_int_equal(next_woken(f), living);
}

static _Atomic pid_t sleeper;

static void *wait_for_due(void *due)
{
	atomic_store(&sleeper, (pid_t)syscall(SYS_gettid));
	while (!atomic_load((_Atomic uint32_t *)due))
		syscall(SYS_futex, due, FUTEX_WAIT, 0, NULL, NULL, 0);
	return NULL;
}

static void await_sleep(void)
{
	struct proc_stat stat = {0};

	while (!atomic_load(&sleeper) || !proc_stat(sleeper, &stat) || stat.state != 'S')
		sched_yield();
}

/* A thread that sleeps in the kernel on another mapping of the page is woken. */
static void sleeper_runs(void **state)
{
	struct fixture *f = *state;
	int at = wait_until(f, NO_TASK, START, TIME_WAIT_FUTEX);
	struct timespec end;
	pthread_t thread;

	assert_int_equal(
		pthread_create(&thread, NULL, wait_for_due, (void *)&f->page->slots[at].due), 0);
	await_sleep();
	assert_int_equal(next_woken(f), at);
	clock_gettime(CLOCK_REALTIME, &end);
	end.tv_sec += 60;
	assert_int_equal(pthread_timedjoin_np(thread, NULL, &end), 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, open_slots, close_slots)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(page_is_filled),	      TEST(clock_never_goes_back),
		TEST(earliest_is_first),      TEST(woken_once),
		TEST(never_is_no_time),	      TEST(effect_ends_a_spin),
		TEST(seed_draws_the_order),   TEST(seed_keeps_time),
		TEST(slots_are_used_again),   TEST(asking_ends_the_wait),
		TEST(event_is_written),	      TEST(event_without_descriptor),
		TEST(descriptors_are_closed), TEST(full_table),
		TEST(sleeper_runs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

// SPDX-License-Identifier: MIT
#include "tests/system/seeded/fiber.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif
#ifdef SEEDED_THREAD_SANITIZER /* this file itself is compiled without instrumentation */
#include <sanitizer/tsan_interface.h>
void AnnotateIgnoreReadsBegin(const char *file, int line);
void AnnotateIgnoreReadsEnd(const char *file, int line);
void AnnotateIgnoreWritesBegin(const char *file, int line);
void AnnotateIgnoreWritesEnd(const char *file, int line);
#endif

#define FIBERS 128
#define STACK_BYTES (512u * 1024u)
#define CLOCK_NS 50 /* time that a read of the clock takes */

enum state { FREE, READY, WAITING, ENDED };

struct fiber {
	enum state state;
	unsigned number;
	const char *name;
	struct process *owner;
	void (*body)(void *arg);
	void *arg;
	ucontext_t context;
	char *stack;
	unsigned weight; /* relative probability of being chosen */
	int error;	 /* the fiber's errno */
	const void *specific;
	/* while WAITING */
	bool (*ready)(void *arg);
	void *ready_arg;
	uint64_t until_ns, seen;
	const void *futex;
	bool woken, frozen;
	/* for the sanitizers */
	void *fake_stack, *thread;
	unsigned ignoring;
};

static struct fiber fibers[FIBERS], first, *current;
static struct {
	uint64_t now_ns, end_ns, random, changes, switches;
	unsigned end, numbers;
	/* number of points until the next switch at a point, and its mean */
	unsigned points, points_mean;
	bool stopped;
	void (*idle)(void);
} run;

/* ---- random numbers and time ---- */

static uint64_t next_random(void)
{
	uint64_t z = run.random += UINT64_C(0x9e3779b97f4a7c15);

	z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
	return z ^ (z >> 31);
}

uint64_t random_below(uint64_t below)
{
	return below ? next_random() % below : 0;
}

uint64_t random_between(uint64_t least, uint64_t most)
{
	return least + random_below(most - least + 1);
}

bool one_in(unsigned n)
{
	return random_below(n) == 0;
}

uint64_t now_ns(void)
{
	return run.now_ns;
}

uint64_t fiber_switches(void)
{
	return run.switches;
}

void fiber_stop(void)
{
	run.stopped = true;
}

/* ---- sanitizers ---- */

#ifdef SEEDED_THREAD_SANITIZER
static void thread_create(struct fiber *fiber)
{
	fiber->thread = __tsan_create_fiber(0);
}

static void thread_switch(const struct fiber *to)
{
	__tsan_switch_to_fiber(to->thread, __tsan_switch_to_fiber_no_sync);
}

void fiber_release(const void *at)
{
	__tsan_release((void *)(uintptr_t)at);
}

void fiber_acquire(const void *at)
{
	__tsan_acquire((void *)(uintptr_t)at);
}

void harness_begin(void)
{
	AnnotateIgnoreReadsBegin(__FILE__, __LINE__);
	AnnotateIgnoreWritesBegin(__FILE__, __LINE__);
	if (current)
		current->ignoring++;
}

void harness_end(const int *unused)
{
	(void)unused;
	if (current)
		current->ignoring--;
	AnnotateIgnoreWritesEnd(__FILE__, __LINE__);
	AnnotateIgnoreReadsEnd(__FILE__, __LINE__);
}

/* Makes ThreadSanitizer order what an ended fiber did before everything that follows in this
 * one. */
static void thread_end(struct fiber *fiber)
{
	struct fiber *me = current ? current : &first;

	thread_switch(fiber);
	for (; fiber->ignoring; fiber->ignoring--) {
		AnnotateIgnoreWritesEnd(__FILE__, __LINE__);
		AnnotateIgnoreReadsEnd(__FILE__, __LINE__);
	}
	__tsan_release(fiber);
	if (fiber->owner)
		__tsan_release(fiber->owner);
	thread_switch(me);
	__tsan_acquire(fiber);
	__tsan_destroy_fiber(fiber->thread);
	fiber->thread = NULL;
}

static void thread_first(void)
{
	first.thread = __tsan_get_current_fiber();
}
#else
static void thread_create(struct fiber *fiber)
{
	(void)fiber;
}

static void thread_switch(const struct fiber *to)
{
	(void)to;
}

static void thread_end(struct fiber *fiber)
{
	(void)fiber;
}

static void thread_first(void)
{
}

void fiber_release(const void *at)
{
	(void)at;
}

void fiber_acquire(const void *at)
{
	(void)at;
}

void harness_begin(void)
{
}

void harness_end(const int *unused)
{
	(void)unused;
}
#endif

#if defined(__SANITIZE_ADDRESS__)
static const void *first_stack;
static size_t first_bytes;

static void stack_leave(struct fiber *from, const struct fiber *to)
{
	__sanitizer_start_switch_fiber(from->state == ENDED ? NULL : &from->fake_stack,
				       to->stack ? to->stack : first_stack,
				       to->stack ? STACK_BYTES : first_bytes);
}

static void stack_arrive(struct fiber *me, bool from_first)
{
	const void *bottom;
	size_t bytes;

	__sanitizer_finish_switch_fiber(me->fake_stack, &bottom, &bytes);
	if (!from_first || first_stack)
		return;
	first_stack = bottom;
	first_bytes = bytes;
}

static void stack_reset(struct fiber *fiber)
{
	__asan_unpoison_memory_region(fiber->stack, STACK_BYTES);
	fiber->fake_stack = NULL;
}
#else
static void stack_leave(struct fiber *from, const struct fiber *to)
{
	(void)from;
	(void)to;
}

static void stack_arrive(struct fiber *me, bool from_first)
{
	(void)me;
	(void)from_first;
}

static void stack_reset(struct fiber *fiber)
{
	(void)fiber;
}
#endif

/* ---- switches ---- */

static void switch_to(struct fiber *to)
{
	struct fiber *from = current ? current : &first;

	if (from == to)
		return;
	run.switches++;
	current = to == &first ? NULL : to;
	stack_leave(from, to);
	thread_switch(to);
	swapcontext(&from->context, &to->context);
	stack_arrive(from, false);
}

static bool can_run(struct fiber *fiber)
{
	if (fiber->frozen)
		return false;
	if (fiber->state != WAITING)
		return fiber->state == READY;
	if (run.now_ns >= fiber->until_ns)
		return true;
	if (fiber->seen == run.changes)
		return false;
	if (fiber->ready(fiber->ready_arg))
		return true;
	fiber->seen = run.changes;
	return false;
}

/* Returns a random fiber that can run; NULL: none can. */
static struct fiber *choose(void)
{
	struct fiber *chosen = NULL;
	uint64_t total = 0;

	for (unsigned i = 0; i < run.end; i++) {
		struct fiber *fiber = &fibers[i];

		if (!can_run(fiber))
			continue;
		total += fiber->weight;
		if (random_below(total) < fiber->weight)
			chosen = fiber;
	}
	return chosen;
}

static uint64_t next_deadline(void)
{
	uint64_t next = NEVER;

	for (unsigned i = 0; i < run.end; i++)
		if (fibers[i].state == WAITING && !fibers[i].frozen && fibers[i].until_ns < next)
			next = fibers[i].until_ns;
	return next;
}

/* Returns the fiber that runs next; `first` when the run is over. */
static struct fiber *next_fiber(void)
{
	while (!run.stopped) {
		struct fiber *fiber = choose();
		uint64_t next;

		if (fiber)
			return fiber;
		run.idle();
		next = next_deadline();
		if (next == NEVER || next > run.end_ns)
			break;
		run.now_ns = next;
	}
	return &first;
}

static void go_on(void)
{
	switch_to(next_fiber());
}

void fiber_yield(void)
{
	HARNESS;

	if (current)
		go_on();
}

void played_point(void)
{
	if (--run.points)
		return;
	run.points = 1 + (unsigned)random_below(2 * run.points_mean);
	fiber_yield();
}

void fiber_changed(void)
{
	run.changes++;
}

bool fiber_wait(bool (*ready)(void *arg), void *arg, uint64_t until_ns)
{
	HARNESS;

	/* A fiber that waits may be switched away, even if its condition already holds. */
	current->ready = ready;
	current->ready_arg = arg;
	current->until_ns = until_ns;
	current->seen = run.changes - 1;
	current->state = WAITING;
	go_on();
	current->state = READY;
	return ready(arg);
}

static bool not_ready(void *arg)
{
	(void)arg;
	return false;
}

void fiber_sleep(uint64_t ns)
{
	fiber_wait(not_ready, NULL, run.now_ns + ns);
}

static bool is_woken(void *arg)
{
	return ((struct fiber *)arg)->woken;
}

bool fiber_futex_wait(const void *word, uint64_t until_ns)
{
	bool woken;

	current->futex = word;
	current->woken = false;
	woken = fiber_wait(is_woken, current, until_ns);
	current->futex = NULL;
	return woken;
}

int fiber_futex_wake(const void *word, int most)
{
	int woken = 0;

	for (unsigned i = 0; i < run.end && woken < most; i++)
		if (fibers[i].state == WAITING && fibers[i].futex == word && !fibers[i].woken) {
			fibers[i].woken = true;
			woken++;
		}
	fiber_changed();
	return woken;
}

/* ---- fibers ---- */

static void end(struct fiber *fiber)
{
	fiber->state = ENDED;
	thread_end(fiber);
}

static void enter(void)
{
	stack_arrive(current, true);
	current->body(current->arg);
	current->state = ENDED;
	go_on();
}

static struct fiber *free_fiber(void)
{
	for (unsigned i = 0; i < FIBERS; i++)
		if (fibers[i].state == FREE ||
		    (fibers[i].state == ENDED && &fibers[i] != current)) {
			if (i >= run.end)
				run.end = i + 1;
			return &fibers[i];
		}
	fprintf(stderr, "seeded: more than %d fibers\n", FIBERS);
	abort();
}

static void get_stack(struct fiber *fiber)
{
	if (!fiber->stack)
		fiber->stack = mmap(NULL, STACK_BYTES, PROT_READ | PROT_WRITE,
				    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (fiber->stack == MAP_FAILED)
		abort();
	stack_reset(fiber);
}

struct fiber *fiber_start(struct process *owner, const char *name, void (*body)(void *), void *arg)
{
	static const unsigned weights[] = {1, 1, 4, 16};
	struct fiber *fiber = free_fiber();
	char *stack;

	if (fiber->thread)
		thread_end(fiber);
	fiber_acquire(fiber);
	stack = fiber->stack;
	memset(fiber, 0, sizeof(*fiber));
	fiber->stack = stack;
	get_stack(fiber);
	fiber->state = READY;
	fiber->number = ++run.numbers;
	fiber->name = name;
	fiber->owner = owner;
	fiber->body = body;
	fiber->arg = arg;
	fiber->weight = weights[random_below(4)];
	thread_create(fiber);
	getcontext(&fiber->context);
	fiber->context.uc_stack.ss_sp = fiber->stack;
	fiber->context.uc_stack.ss_size = STACK_BYTES;
	makecontext(&fiber->context, enter, 0);
	return fiber;
}

const void **fiber_specific(void)
{
	return &current->specific;
}

struct fiber *fiber_self(void)
{
	return current;
}

struct process *fiber_process(void)
{
	return current ? current->owner : NULL;
}

int *fiber_errno(void)
{
	return current ? &current->error : &first.error;
}

const char *fiber_name(const struct fiber *fiber)
{
	return fiber ? fiber->name : "-";
}

unsigned fiber_number(const struct fiber *fiber)
{
	return fiber ? fiber->number : 0;
}

void fiber_kill(const struct process *owner)
{
	bool me = false;

	for (unsigned i = 0; i < run.end; i++) {
		if (fibers[i].owner != owner ||
		    (fibers[i].state != READY && fibers[i].state != WAITING))
			continue;
		if (&fibers[i] == current)
			me = true;
		else
			end(&fibers[i]);
	}
	if (!me)
		return;
	fiber_release(owner);
	current->state = ENDED;
	go_on();
}

void fiber_freeze(const struct process *owner, bool frozen)
{
	for (unsigned i = 0; i < run.end; i++)
		if (fibers[i].owner == owner)
			fibers[i].frozen = frozen;
}

bool fiber_any(const struct process *owner)
{
	for (unsigned i = 0; i < run.end; i++)
		if (fibers[i].owner == owner &&
		    (fibers[i].state == READY || fibers[i].state == WAITING))
			return true;
	return false;
}

/* ---- a run ---- */

void fiber_begin(uint64_t seed)
{
	static const unsigned means[] = {1, 3, 10, 40, 400};

	memset(&run, 0, sizeof(run));
	run.random = seed * UINT64_C(0x2545f4914f6cdd1d) + 1;
	run.now_ns = 1000 * SECOND + random_below(SECOND);
	run.points_mean = means[random_below(5)];
	run.points = 1;
	thread_first();
}

void fiber_run(uint64_t end_ns, void (*idle)(void))
{
	run.end_ns = end_ns;
	run.idle = idle;
	switch_to(next_fiber());
	for (unsigned i = 0; i < run.end; i++) {
		if (fibers[i].state == READY || fibers[i].state == WAITING)
			fibers[i].state = ENDED;
		if (fibers[i].thread)
			thread_end(&fibers[i]);
	}
}

uint64_t played_clock_ns(void)
{
	fiber_yield();
	return run.now_ns += CLOCK_NS;
}

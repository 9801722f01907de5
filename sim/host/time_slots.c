// SPDX-License-Identifier: MIT
#include "sim/host/time_slots.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "common/clock.h"
#include "sim/host/time/page.h"

struct slot_owner {
	pid_t tid; /* 0: the slot is free */
	int event; /* the supervisor's copy of the thread's eventfd; -1: it has none */
};

struct time_slots {
	struct time_page *page;
	struct slot_owner owners[TIME_SLOTS];
	uint64_t seed; /* 0: the lowest slot goes first */
	unsigned used; /* slots from this one on were never used */
};

/* Returns by how much the machine's @clock is ahead of the machine's CLOCK_MONOTONIC. */
static uint64_t offset_of(clockid_t clock)
{
	uint64_t monotonic = clock_of(CLOCK_MONOTONIC);

	return clock_of(clock) - monotonic;
}

int time_slots_open(int fd, uint64_t now_ns, struct time_slots **out)
{
	struct time_slots *slots = calloc(1, sizeof(*slots));
	struct time_page *page;

	if (!slots)
		return -ENOMEM;
	page = ftruncate(fd, sizeof(*page))
		       ? MAP_FAILED
		       : mmap(NULL, sizeof(*page), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (page == MAP_FAILED) {
		free(slots);
		return -errno;
	}
	page->version = TIME_VERSION;
	page->slots_n = TIME_SLOTS;
	page->realtime_ns = offset_of(CLOCK_REALTIME);
	page->boottime_ns = offset_of(CLOCK_BOOTTIME);
	atomic_store(&page->now_ns, now_ns);
	page->magic = TIME_MAGIC;
	slots->page = page;
	*out = slots;
	return 0;
}

void time_slots_close(struct time_slots *slots)
{
	if (!slots)
		return;
	for (unsigned i = 0; i < slots->used; i++)
		if (slots->owners[i].tid && slots->owners[i].event >= 0)
			close(slots->owners[i].event);
	munmap(slots->page, sizeof(*slots->page));
	free(slots);
}

void time_slots_take_turns(struct time_slots *slots, uint64_t seed)
{
	slots->seed = seed;
	slots->page->turns = 1;
}

const volatile uint64_t *time_slots_clock(const struct time_slots *slots)
{
	return (const volatile uint64_t *)&slots->page->now_ns;
}

struct time_page *time_slots_page(const struct time_slots *slots)
{
	return slots->page;
}

void time_slots_set_clock(struct time_slots *slots, uint64_t now_ns)
{
	if (now_ns > atomic_load(&slots->page->now_ns))
		atomic_store(&slots->page->now_ns, now_ns);
}

void time_slots_effect(struct time_slots *slots)
{
	atomic_fetch_add(&slots->page->effects, 1);
}

uint64_t time_slots_effects(const struct time_slots *slots)
{
	return atomic_load(&slots->page->effects);
}

static int find(const struct time_slots *slots, pid_t tid)
{
	for (unsigned i = 0; i < slots->used; i++)
		if (slots->owners[i].tid == tid)
			return (int)i;
	return -ENOENT;
}

/* Frees the slots of threads whose end was not reported by time_slots_end(). idle.c reports the end
 * only of threads that it has found before. */
static void free_those_of_the_dead(struct time_slots *slots)
{
	for (unsigned i = 0; i < slots->used; i++)
		if (slots->owners[i].tid && kill(slots->owners[i].tid, 0) && errno == ESRCH)
			time_slots_end(slots, slots->owners[i].tid);
}

int time_slots_of(struct time_slots *slots, pid_t tid)
{
	int at = find(slots, tid);

	if (at < 0 && slots->used == TIME_SLOTS && find(slots, 0) < 0)
		free_those_of_the_dead(slots);
	if (at < 0)
		at = find(slots, 0); /* a free slot */
	if (at < 0 && slots->used < TIME_SLOTS)
		at = (int)slots->used++;
	if (at < 0)
		return -ENOSPC;
	/* If the thread has executed another program, its wait is over and its eventfd is
	 * closed. */
	atomic_store(&slots->page->slots[at].deadline_ns, 0);
	atomic_store(&slots->page->slots[at].due, 0);
	if (slots->owners[at].tid == tid && slots->owners[at].event >= 0)
		close(slots->owners[at].event);
	slots->owners[at] = (struct slot_owner){tid, -1};
	return at;
}

int time_slots_event(struct time_slots *slots, pid_t tid)
{
	int at = find(slots, tid), fd;
	struct slot_owner *owner;

	if (at < 0)
		at = time_slots_of(slots, tid);
	if (at < 0)
		return at;
	owner = &slots->owners[at];
	fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (fd < 0)
		return -errno;
	fcntl(fd, F_SETSIG, TIME_EVENT_SIGNAL);
	if (owner->event >= 0)
		close(owner->event);
	owner->event = fd;
	fd = dup(fd);
	return fd < 0 ? -errno : fd;
}

void time_slots_end(struct time_slots *slots, pid_t tid)
{
	int at = find(slots, tid);

	if (at < 0)
		return;
	if (slots->owners[at].event >= 0)
		close(slots->owners[at].event);
	slots->owners[at] = (struct slot_owner){0, -1};
	atomic_store(&slots->page->slots[at].deadline_ns, 0);
}

/* Returns the time at which the wait of a slot ends; UINT64_MAX if there is no wait, or if the
 * thread was woken and has not run yet. */
static uint64_t ends(const struct time_slots *slots, unsigned at)
{
	struct time_slot *slot = &slots->page->slots[at];
	uint64_t deadline = atomic_load(&slot->deadline_ns);

	if (!slots->owners[at].tid || !deadline || atomic_load(&slot->due))
		return UINT64_MAX;
	if (atomic_load(&slot->wait) == TIME_WAIT_SPIN &&
	    slot->effects != atomic_load(&slots->page->effects))
		return atomic_load(&slots->page->now_ns);
	return deadline;
}

uint64_t time_slots_deadline(const struct time_slots *slots, pid_t tid)
{
	int at = find(slots, tid);

	return at < 0 ? UINT64_MAX : ends(slots, (unsigned)at);
}

/* Returns a pseudo-random rank of the slot among those that are due at the same instant. Calculates
 * it with the finalizer of splitmix64. */
static uint64_t draw(const struct time_slots *slots, unsigned at, uint64_t when)
{
	uint64_t x = slots->seed + when + (at + 1) * 0x9e3779b97f4a7c15ull;

	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ull;
	x = (x ^ x >> 27) * 0x94d049bb133111ebull;
	return x ^ x >> 31;
}

/* Returns the time at which the first wait ends, and sets *at to the slot of that wait. With a
 * seed, draw() decides between slots that are due at the same instant. */
static uint64_t first(const struct time_slots *slots, unsigned *at)
{
	uint64_t when = UINT64_MAX;

	for (unsigned i = 0; i < slots->used; i++) {
		uint64_t end = ends(slots, i);

		if (end < when || (end == when && end != UINT64_MAX && slots->seed &&
				   draw(slots, i, end) < draw(slots, *at, end))) {
			when = end;
			*at = i;
		}
	}
	return when;
}

uint64_t time_slots_first(const struct time_slots *slots)
{
	unsigned at;

	return first(slots, &at);
}

bool time_slots_charged_first(const struct time_slots *slots)
{
	unsigned at;

	return first(slots, &at) != UINT64_MAX &&
	       atomic_load(&slots->page->slots[at].wait) == TIME_WAIT_CHARGE;
}

bool time_slots_wake(struct time_slots *slots)
{
	const uint64_t one = 1;
	struct time_slot *slot;
	unsigned at = 0;

	if (first(slots, &at) > atomic_load(&slots->page->now_ns))
		return false;
	slot = &slots->page->slots[at];
	atomic_store(&slot->due, 1);
	if (atomic_load(&slot->wait) != TIME_WAIT_EVENT)
		syscall(SYS_futex, &slot->due, FUTEX_WAKE, 1, NULL, NULL, 0);
	else if (slots->owners[at].event >= 0 &&
		 write(slots->owners[at].event, &one, sizeof(one)) < 0)
		atomic_store(&slot->due, 1); /* the eventfd is readable already */
	return true;
}

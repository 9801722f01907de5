/* SPDX-License-Identifier: MIT */
/*
 * The supervisor's side of the time page (sim/time/page.h): which thread has which slot, which
 * of them is due first, and how it is woken.
 *
 * A slot belongs to a thread, known by its number in the supervisor's PID namespace, until
 * the thread has ended. One thread.
 */
#ifndef KFDSHIM_SIM_HOST_TIME_SLOTS_H
#define KFDSHIM_SIM_HOST_TIME_SLOTS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct time_page;
struct time_slots;

/* Maps the page in the file @fd, which it makes as long as a page is; the file stays the
 * caller's. The clock begins at @now_ns. 0 or a negative errno. */
int time_slots_open(int fd, uint64_t now_ns, struct time_slots **out);
void time_slots_close(struct time_slots *slots);

/* Threads that are due at one instant are woken in an order drawn from @seed, not 0, and no thread
 * changes its core or its scheduling policy. */
void time_slots_take_turns(struct time_slots *slots, uint64_t seed);

/* What a thread is charged for having slept, and for a call of the driver. */
void time_slots_charge(struct time_slots *slots, uint64_t wake_ns, uint64_t ioctl_ns);

/* The world's clock, for clock_use(). */
const volatile uint64_t *time_slots_clock(const struct time_slots *slots);
/* The page itself, for the supervisor's other modules; it is there until time_slots_close(). */
struct time_page *time_slots_page(const struct time_slots *slots);
/* CLOCK_BOOTTIME minus CLOCK_MONOTONIC. */
uint64_t time_slots_boottime(const struct time_slots *slots);
/* Time never goes back: an earlier @now_ns is ignored. */
void time_slots_set_clock(struct time_slots *slots, uint64_t now_ns);

/* A GPU has written to memory: what spins on memory may look again. */
void time_slots_effect(struct time_slots *slots);
/* How often it has. */
uint64_t time_slots_effects(const struct time_slots *slots);

/* The slot of the thread @tid, a new one if it has none; -ENOSPC. */
int time_slots_of(struct time_slots *slots, pid_t tid);
/* A descriptor, the caller's to hand on and close, that is readable when that slot is due. */
int time_slots_event(struct time_slots *slots, pid_t tid);
void time_slots_end(struct time_slots *slots, pid_t tid);

/* When the thread's wait ends; UINT64_MAX: it does not wait for time. */
uint64_t time_slots_deadline(const struct time_slots *slots, pid_t tid);
/* When the first of all waits ends; UINT64_MAX: none waits for time. The threads must be
 * asleep. */
uint64_t time_slots_first(const struct time_slots *slots);
/* Is the first of them only charged? */
bool time_slots_charged_first(const struct time_slots *slots);
/* Wakes the first thread whose wait is over by now. False: there is none. */
bool time_slots_wake(struct time_slots *slots);

#endif

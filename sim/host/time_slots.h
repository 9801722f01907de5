/* SPDX-License-Identifier: MIT */
/*
 * Manages the supervisor's side of the time page (sim/host/time/page.h): assigns slots to threads,
 * finds the thread that is due first, and wakes it.
 *
 * A slot belongs to a thread, identified by its id in the supervisor's PID namespace, until the
 * thread has ended.
 *
 * Threads: one at a time. All times are ns of the simulation's CLOCK_MONOTONIC.
 */
#ifndef KFDSHIM_SIM_HOST_TIME_SLOTS_H
#define KFDSHIM_SIM_HOST_TIME_SLOTS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct time_page;
struct time_slots;

/* Maps the page in the file @fd after setting the length of the file; the file stays the caller's.
 * The clock starts at @now_ns. Returns 0 or a negative errno. Release with time_slots_close(). */
int time_slots_open(int fd, uint64_t now_ns, struct time_slots **out);
void time_slots_close(struct time_slots *slots);

/* Makes threads that are due at the same instant wake in an order that is drawn from @seed, which
 * must not be 0. Threads of the simulation then cannot change their core or scheduling policy. */
void time_slots_take_turns(struct time_slots *slots, uint64_t seed);

/* Returns the simulation's clock, for clock_use(). */
const volatile uint64_t *time_slots_clock(const struct time_slots *slots);
/* Returns the time page, for other modules of the supervisor; valid until time_slots_close(). */
struct time_page *time_slots_page(const struct time_slots *slots);
/* Sets the clock. An earlier @now_ns is ignored, because time never goes back. */
void time_slots_set_clock(struct time_slots *slots, uint64_t now_ns);

/* Records that a GPU has written to memory, so that threads that poll memory check it again. */
void time_slots_effect(struct time_slots *slots);
/* Returns the number of time_slots_effect() calls. */
uint64_t time_slots_effects(const struct time_slots *slots);

/* Returns the slot of the thread @tid, a new one if it has none, or -ENOSPC. If the slot contains a
 * wait, ends that wait. */
int time_slots_of(struct time_slots *slots, pid_t tid);
/* Returns a new file descriptor (an eventfd) that becomes readable when the wait in the thread's
 * slot is over, or a negative errno. The caller passes it on and closes it. */
int time_slots_event(struct time_slots *slots, pid_t tid);
/* Frees the slot of a thread that has ended. */
void time_slots_end(struct time_slots *slots, pid_t tid);

/* Returns the time at which the thread's wait ends; UINT64_MAX if it does not wait for time. */
uint64_t time_slots_deadline(const struct time_slots *slots, pid_t tid);
/* Returns the time at which the first of all waits ends; UINT64_MAX if no thread waits for time.
 * The threads must be asleep. */
uint64_t time_slots_first(const struct time_slots *slots);
/* Returns true if the thread that is due first is not in a wait of the program, but only in a
 * charge (a delay, page.h). */
bool time_slots_charged_first(const struct time_slots *slots);
/* Wakes the first thread whose wait has ended by now. Returns false if there is none. */
bool time_slots_wake(struct time_slots *slots);

#endif

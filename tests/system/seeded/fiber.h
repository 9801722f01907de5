/* SPDX-License-Identifier: MIT */
/*
 * Threads of the played processes, as fibers of one real thread: exactly one runs, and a random
 * number generator with a seed decides which, at every point where it matters (points.h, and
 * each played call). Time is played, too: it stands still while a fiber can run, and jumps to
 * the next deadline when none can. So a run depends on its seed alone.
 *
 * ThreadSanitizer takes each fiber for a thread. A switch is no synchronisation for it: only
 * what the code itself does is (atomics, locks, and a played file or futex that one fiber has
 * written and another waited for), so that it finds races of fibers that never run at once.
 * All of this folder is compiled without its instrumentation.
 */
#ifndef KFDSHIM_TESTS_SEEDED_FIBER_H
#define KFDSHIM_TESTS_SEEDED_FIBER_H

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#define NEVER UINT64_MAX
#define US UINT64_C(1000)
#define MS UINT64_C(1000000)
#define SECOND UINT64_C(1000000000)

struct fiber;
struct process;

/* ---- a run ---- */

/* Before the first fiber of a run: time, and the random numbers, begin anew. */
void fiber_begin(uint64_t seed);
/* Runs fibers until the time is end_ns, no fiber has anything to wait for, or fiber_stop().
 * `idle` is called whenever no fiber can run, before time goes on. Then all fibers have ended. */
void fiber_run(uint64_t end_ns, void (*idle)(void));
/* Ends the run at the next switch. */
void fiber_stop(void);
/* How many switches there were. */
uint64_t fiber_switches(void);

uint64_t now_ns(void);
/* The same for played code: another fiber may run first, and a little time passes. */
uint64_t played_clock_ns(void);
/* From 0 to below - 1. */
uint64_t random_below(uint64_t below);
/* From `least` to `most`. */
uint64_t random_between(uint64_t least, uint64_t most);
bool one_in(unsigned n);

/* ---- fibers ---- */

struct fiber *fiber_start(struct process *owner, const char *name, void (*body)(void *), void *arg);
/* NULL before the first, and between two runs. */
struct fiber *fiber_self(void);
struct process *fiber_process(void);
const char *fiber_name(const struct fiber *fiber);
/* From 1 on, in the order of their starts. */
unsigned fiber_number(const struct fiber *fiber);
/* All fibers of a process end where they are; does not return if this is one of them. For
 * ThreadSanitizer they release the process. */
void fiber_kill(const struct process *owner);
/* None of them runs until it is false again, or they are killed (SIGSTOP). */
void fiber_freeze(const struct process *owner, bool frozen);
bool fiber_any(const struct process *owner);

/* Each has its own errno. */
int *fiber_errno(void);
#undef errno
#define errno (*fiber_errno())

/* What it keeps by pthread_setspecific(): a process has one key. NULL at first. */
const void **fiber_specific(void);

/* Another fiber may run now. And the same at a point (points.h), mostly not. */
void fiber_yield(void);
void played_point(void);
/* Until ready(arg) or until_ns: was it ready? `ready` is called in any fiber, and only after
 * fiber_changed(). */
bool fiber_wait(bool (*ready)(void *arg), void *arg, uint64_t until_ns);
void fiber_sleep(uint64_t ns);
/* Something that a fiber may wait for is another now. */
void fiber_changed(void);

/* futex(2): is the waiter woken, or is it `until_ns`? And: how many were woken. */
bool fiber_futex_wait(const void *word, uint64_t until_ns);
int fiber_futex_wake(const void *word, int most);

/* ---- ThreadSanitizer ---- */

/* What one fiber does before the release comes before what another does after its acquire of
 * the same address. */
void fiber_release(const void *at);
void fiber_acquire(const void *at);

/* To the end of the block, what libc's functions do is none of its business. */
void harness_begin(void);
void harness_end(const int *unused);
#define HARNESS                                                                                    \
	__attribute__((cleanup(harness_end), unused)) const int harness_block = (harness_begin(), 0)

#endif

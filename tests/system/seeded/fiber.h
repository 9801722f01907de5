/* SPDX-License-Identifier: MIT */
/*
 * Threads of the simulated processes, as fibers of one real thread: exactly one runs. A random
 * number generator with a seed decides which one runs next, at every point where it matters
 * (points.h, and each simulated call). Time is simulated, too: it stands still while a fiber can
 * run, and jumps to the next deadline when none can. So the result of a run depends only on its
 * seed.
 *
 * ThreadSanitizer sees each fiber as a thread. A switch does not count as synchronisation; only
 * what the code itself does counts (atomics, locks, and a simulated file or futex that one fiber
 * has written and another has waited for). So it finds races of fibers that never run at the same
 * time. All files of this directory are compiled without its instrumentation.
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

/* Resets time and random numbers; called before the first fiber of a run. */
void fiber_begin(uint64_t seed);
/* Runs fibers until the time is end_ns, no fiber waits for anything, or fiber_stop() is called.
 * `idle` is called whenever no fiber can run, before the time advances. All fibers have ended at
 * the return. */
void fiber_run(uint64_t end_ns, void (*idle)(void));
/* Ends the run at the next switch. */
void fiber_stop(void);
/* Returns the number of switches of this run. */
uint64_t fiber_switches(void);

/* Returns the simulated time. */
uint64_t now_ns(void);
/* The same for simulated code: another fiber may run first, and the time advances a little. */
uint64_t played_clock_ns(void);
/* Returns a random number from 0 to below - 1. */
uint64_t random_below(uint64_t below);
/* Returns a random number from `least` to `most`. */
uint64_t random_between(uint64_t least, uint64_t most);
/* Returns true with a probability of 1/n. */
bool one_in(unsigned n);

/* ---- fibers ---- */

/* Starts a fiber of `owner` (NULL: of no process). `name` must stay valid. */
struct fiber *fiber_start(struct process *owner, const char *name, void (*body)(void *), void *arg);
/* Return the current fiber and its process; NULL before the first fiber and between two runs. */
struct fiber *fiber_self(void);
struct process *fiber_process(void);
const char *fiber_name(const struct fiber *fiber);
/* Returns the fiber's number, from 1 on in the order of their starts. */
unsigned fiber_number(const struct fiber *fiber);
/* Ends all fibers of a process where they are. Does not return if the caller is one of them. For
 * ThreadSanitizer the fibers release the process. */
void fiber_kill(const struct process *owner);
/* `frozen`: no fiber of the process runs until this is called with false, or they are killed
 * (SIGSTOP). */
void fiber_freeze(const struct process *owner, bool frozen);
/* Returns whether the process has a fiber. */
bool fiber_any(const struct process *owner);

/* Each fiber has its own errno. */
int *fiber_errno(void);
#undef errno
#define errno (*fiber_errno())

/* Returns the place of the fiber's value for pthread_setspecific(), NULL at first. A process has
 * one key. */
const void **fiber_specific(void);

/* Lets another fiber run. played_point() does the same at a point (points.h), but rarely. */
void fiber_yield(void);
void played_point(void);
/* Waits until ready(arg) or until_ns, and returns ready(arg). `ready` is called in any fiber, and
 * only after fiber_changed(). */
bool fiber_wait(bool (*ready)(void *arg), void *arg, uint64_t until_ns);
/* Waits for `ns`. */
void fiber_sleep(uint64_t ns);
/* Must be called after a change of anything that a fiber can wait for. */
void fiber_changed(void);

/* futex(2). fiber_futex_wait() returns true if the fiber was woken, false if `until_ns` has come;
 * fiber_futex_wake() returns the number of woken fibers. */
bool fiber_futex_wait(const void *word, uint64_t until_ns);
int fiber_futex_wake(const void *word, int most);

/* ---- ThreadSanitizer ---- */

/* Orders what one fiber does before its release before what another does after its acquire of the
 * same address. */
void fiber_release(const void *at);
void fiber_acquire(const void *at);

/* HARNESS makes ThreadSanitizer ignore the accesses of the rest of the block, because they belong
 * to the simulation and not to the tested code. */
void harness_begin(void);
void harness_end(const int *unused);
#define HARNESS                                                                                    \
	__attribute__((cleanup(harness_end), unused)) const int harness_block = (harness_begin(), 0)

#endif

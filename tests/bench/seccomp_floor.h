/* SPDX-License-Identifier: MIT */
/*
 * Floors: the minimum cost of an operation on this machine.
 *
 * The floor of a trapped call is a system call that the kernel forwards to another process
 * (seccomp's user notification, with the wake-up on the caller's core where the kernel supports
 * it), which replies to it without doing anything.
 */
#ifndef KFDSHIM_TESTS_BENCH_SECCOMP_FLOOR_H
#define KFDSHIM_TESTS_BENCH_SECCOMP_FLOOR_H

/* Measures n such calls, made by a child process one after another. `us`: n durations in
 * microseconds. Returns 0, or -1 if the kernel does not permit it. Forks, so call it with one
 * thread. */
int bare_round_trips(double *us, unsigned n);

/* Measures n wakes of a process that sleeps in a read() of an eventfd, on another CPU if there are
 * two. Each time is from before the write() to the return from the read(). The process has slept
 * for 0.25 to 1 ms before. `us`: n times in microseconds. Returns 0 or -1. Forks, so call it with
 * one thread. */
int bare_wakes(double *us, unsigned n);

#endif

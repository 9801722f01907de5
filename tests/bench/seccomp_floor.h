/* SPDX-License-Identifier: MIT */
/*
 * Floors, the least that something can cost on this machine.
 *
 * Under a trapped call: a system call that the kernel hands to another
 * process (seccomp's user notification, with the wake-up on the caller's core
 * where the kernel has it) and that is answered there with nothing done.
 */
#ifndef KFDSHIM_TESTS_BENCH_SECCOMP_FLOOR_H
#define KFDSHIM_TESTS_BENCH_SECCOMP_FLOOR_H

/* Measures n such calls, made by a child, one after another. us: n doubles.
 * 0, or -1: the kernel does not let us. Forks; call it with one thread. */
int bare_round_trips(double *us, unsigned n);

/* Measures n wakes of a process that sleeps in a read of an eventfd, on another CPU where there
 * are two: from before the write to its return from the read. It has slept for 0.25 to 1 ms.
 * us: n doubles. 0 or -1. Forks; call it with one thread. */
int bare_wakes(double *us, unsigned n);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * The result format of the matrix programs: on stdout one line per step with the name, a tab, and
 * "pass", "not applicable: WHY", or the reason of the failure. The first failed step ends the
 * program with exit status 1, because later steps depend on it.
 */
#ifndef KFDSHIM_TESTS_MATRIX_STEP_H
#define KFDSHIM_TESTS_MATRIX_STEP_H

#include <stddef.h>

/* Begins a step. The previous step has passed. */
void step(const char *name);
/* Ends the last step. Returns the program's exit status. */
int step_end(void);
/* Ends the current step: this runtime cannot do it with this driver. */
void step_not_applicable(const char *why);
/* Fails the current step with a reason, and ends the program. */
_Noreturn void step_fail(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Returns how long each spin kernel runs, in microseconds: `usual`, or what the environment
 * variable MATRIX_KERNEL_MS says, for a test that suspends the program during its kernels. */
unsigned step_kernel_us(unsigned usual);

/* Returns the code object of kfdreplay_spin for the first GPU of the topology, from the directory
 * of built programs. Never NULL; it stays mapped. *bytes: its size. */
const void *step_code_object(const char *directory, size_t *bytes);

#endif

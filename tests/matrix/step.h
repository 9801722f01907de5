/* SPDX-License-Identifier: MIT */
/*
 * How a program of the matrix tells what it did: on stdout one line a step,
 * NAME, a tab, and "pass", "not applicable: WHY", or the reason why it failed. The
 * first step that fails ends the program (exit status 1), as later ones build on it.
 */
#ifndef KFDSHIM_TESTS_MATRIX_STEP_H
#define KFDSHIM_TESTS_MATRIX_STEP_H

#include <stddef.h>

/* The step that everything is part of from now on; the one before has passed. */
void step(const char *name);
/* All is done. Returns the program's exit status. */
int step_end(void);
/* The present step is over: it cannot be done by this runtime with this driver. */
void step_not_applicable(const char *why);
/* Ends the program. */
_Noreturn void step_fail(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* The code object of kfdreplay_spin for the first GPU of the topology, from the
 * folder of built programs. Never NULL; lives as long as the program. */
const void *step_code_object(const char *folder, size_t *bytes);

#endif

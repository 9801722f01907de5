/* SPDX-License-Identifier: MIT */
/*
 * Prints messages of a long-running command on stderr: notes, each on a line of its own, and, if
 * stderr is a terminal, one live line that is rewritten in place.
 *
 * Threads: none.
 */
#ifndef KFDSHIM_CLI_OUTPUT_PROGRESS_H
#define KFDSHIM_CLI_OUTPUT_PROGRESS_H

/* Prints a permanent line: "kfdsched colocate: ...". */
void progress_note(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* Replaces the live line. Does nothing if stderr is not a terminal. */
void progress_live(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* Returns 1 if stderr is a terminal, so that live lines are visible; else 0. */
int progress_is_live(void);
/* Erases the live line, if there is one. */
void progress_clear(void);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * Talk of a long verb on stderr: notes, each a line of its own, and on a
 * terminal one live line that is rewritten. Threads: none.
 */
#ifndef KFDSHIM_CLI_PROGRESS_H
#define KFDSHIM_CLI_PROGRESS_H

/* A line that stays: "kfdsched colocate: ...". */
void progress_note(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* Replaces the live line; does nothing unless stderr is a terminal. */
void progress_live(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* 1: stderr is a terminal, so live lines are seen. */
int progress_is_live(void);
/* Takes the live line away. */
void progress_clear(void);

#endif

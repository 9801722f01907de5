/* SPDX-License-Identifier: MIT */
/*
 * The terminal of kfdsched top, through ncurses: shows screens and reads keys. terminal_end()
 * restores the terminal. So does a handler of fatal signals (SIGSEGV, SIGABRT ...) before the
 * process ends.
 *
 * Threads: one. A process has one terminal, so the state is global in terminal.c.
 */
#ifndef KFDSHIM_CLI_TOP_TERMINAL_H
#define KFDSHIM_CLI_TOP_TERMINAL_H

#include "cli/top/screen.h"

/*
 * Takes over the terminal of stdin and stdout. Returns 0, or a negative errno:
 * -ENOTTY  stdin or stdout is no terminal
 * -ENODEV  the terminal type in TERM is not known
 */
int terminal_begin(void);
void terminal_end(void); /* allowed also if terminal_begin() failed */

/* Empties `screen` and sets it to the current size and encoding of the terminal. */
void terminal_screen(struct screen *screen);
/* Draws the screen on the terminal. */
void terminal_show(const struct screen *screen);
/*
 * Reads the next key without waiting. Returns a character or an enum ui_key (keys.h), 0 for a key
 * without meaning, TERMINAL_NO_KEY if no key is waiting, or TERMINAL_RESIZED if the size of the
 * terminal has changed.
 */
#define TERMINAL_NO_KEY (-1)
#define TERMINAL_RESIZED (-2)
int terminal_key(void);

#endif

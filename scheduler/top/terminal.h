/* SPDX-License-Identifier: MIT */
/*
 * The terminal of kfdsched top, by ncurses: shows screens, tells keys. It is restored by
 * terminal_end(), and by fatal signals (SIGSEGV, SIGABRT ...) before they end us.
 *
 * Threads: one. There is one terminal, so these are globals of terminal.c.
 */
#ifndef KFDSHIM_TOP_TERMINAL_H
#define KFDSHIM_TOP_TERMINAL_H

#include "scheduler/top/screen.h"

/* Of stdin and stdout. -ENOTTY: one of them is no terminal; -ENODEV: nobody knows what
 * TERM names. */
int terminal_begin(void);
void terminal_end(void);

/* As it is now, and whether it shows UTF-8. 0 or -ENOMEM. */
int terminal_screen(struct screen *screen);
void terminal_show(const struct screen *screen);
/* The next key (ui.h); TERMINAL_NO_KEY: none is waiting; TERMINAL_RESIZED: it has another
 * size. Does not wait. */
#define TERMINAL_NO_KEY (-1)
#define TERMINAL_RESIZED (-2)
int terminal_key(void);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * The queues of the one process that somebody has opened, from all sources that neither
 * stop nor attach to it. debugfs, which makes the driver read registers, is read once in
 * five seconds at most; what it told stands until then.
 *
 * Threads: one. Errors: negative errno.
 */
#ifndef KFDSHIM_TOP_DETAIL_H
#define KFDSHIM_TOP_DETAIL_H

#include "scheduler/observe/observe.h"

struct detail;

/* socket: as in observe_options. NULL: no memory. */
struct detail *detail_open(const char *socket);
void detail_close(struct detail *detail); /* NULL is allowed */

/* Looks at that process, which may be another one than last time. -ENOMEM; that it has
 * ended is no error: see detail_seen(). */
int detail_look(struct detail *detail, pid_t pid);
/* What was seen last; NULL: nothing. Valid until the next look. */
const struct observation *detail_seen(const struct detail *detail);
/* The next look begins anew, also at the same number. */
void detail_forget(struct detail *detail);

#endif

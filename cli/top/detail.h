/* SPDX-License-Identifier: MIT */
/*
 * Queues of the process that the user has opened in kfdsched top, from all sources that neither
 * stop the process nor attach to it. debugfs makes the driver read registers, so it is read at most
 * every 5 s; its last values are shown in between.
 *
 * Threads: one. Errors: negative errno.
 */
#ifndef KFDSHIM_CLI_TOP_DETAIL_H
#define KFDSHIM_CLI_TOP_DETAIL_H

#include "cli/inspect/inspect.h"

struct detail;

/* socket: as in struct observe_options; kept, not copied. Returns NULL if there is no memory. */
struct detail *detail_open(const char *socket);
void detail_close(struct detail *detail); /* NULL is allowed */

/* Samples the process, which may be another one than in the last call. Returns 0 or -ENOMEM. The
 * end of the process is no error; detail_seen() shows it. */
int detail_read(struct detail *detail, pid_t pid);
/* Returns the last sample, or NULL if there is none. Valid until the next detail_read(). */
const struct observation *detail_seen(const struct detail *detail);
/* Drops all samples, so that the next detail_read() starts anew even for the same pid. */
void detail_forget(struct detail *detail);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * What top orders of the daemon. Who is suspended here stays so until it is resumed, or
 * until we end: by a descriptor that the daemon watches, so also by kill -9.
 *
 * Threads: one. Errors: told as a sentence, as the daemon says it.
 */
#ifndef KFDSHIM_TOP_ORDERS_H
#define KFDSHIM_TOP_ORDERS_H

#include <poll.h>
#include <stddef.h>
#include <sys/types.h>

#define ORDERS_HOLDS 32u /* processes that are suspended at once */

struct orders;

/* socket: as for gather_open(). NULL: no memory. */
struct orders *orders_open(const char *socket);
void orders_close(struct orders *orders); /* who is held runs again; NULL is allowed */

/* Each writes what came of it. */
void orders_suspend(struct orders *orders, pid_t pid, char *said, size_t size);
void orders_resume(struct orders *orders, pid_t pid, char *said, size_t size);
/* word: online, offline, 0 to 15, none or own. */
void orders_set_priority(struct orders *orders, pid_t pid, const char *word, char *said,
			 size_t size);

unsigned orders_holds(const struct orders *orders);
/* Descriptors to poll for the end of a hold that somebody else ended; their number. */
unsigned orders_poll(const struct orders *orders, struct pollfd out[static ORDERS_HOLDS]);
/* After that: forgets those that have ended, and says so (or leaves `said` alone). */
void orders_ended(struct orders *orders, char *said, size_t size);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * Control requests of kfdsched top to the daemon. A process that is suspended here stays suspended
 * until it is resumed or this process ends, also by SIGKILL: the daemon watches a connection, which
 * ends with the process.
 *
 * Threads: one. Errors: reported as a sentence for the user, mostly the daemon's own.
 */
#ifndef KFDSHIM_CLI_TOP_ACTIONS_H
#define KFDSHIM_CLI_TOP_ACTIONS_H

#include <poll.h>
#include <stddef.h>
#include <sys/types.h>

#define ORDERS_HOLDS 32u /* maximum number of processes that are suspended at a time */

struct orders;

/* socket: as for gather_open(). Returns NULL if there is no memory. */
struct orders *orders_open(const char *socket);
/* Resumes the processes that are suspended here. NULL is allowed. */
void orders_close(struct orders *orders);

/*
 * Send a request and wait for the result (up to about 2 s). Each writes the result as a sentence to
 * said[size]. orders_resume() ends every suspension of the process that was requested by an
 * operator, also those from elsewhere.
 */
void orders_suspend(struct orders *orders, pid_t pid, char *said, size_t size);
void orders_resume(struct orders *orders, pid_t pid, char *said, size_t size);
/* word: "online", "offline", "0" to "15", "none" or "own". */
void orders_set_priority(struct orders *orders, pid_t pid, const char *word, char *said,
			 size_t size);

/* Returns the number of processes that are suspended here. */
unsigned orders_holds(const struct orders *orders);
/* Writes the fds that become readable when a suspension ends otherwise (it was resumed elsewhere,
 * the process or the daemon ended). Returns their number. */
unsigned orders_poll(const struct orders *orders, struct pollfd out[static ORDERS_HOLDS]);
/* To be called after the poll: removes the suspensions that have ended and writes a sentence about
 * the last of them to `said`; leaves `said` unchanged if there is none. */
void orders_ended(struct orders *orders, char *said, size_t size);

#endif

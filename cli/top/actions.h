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

#define ACTIONS_HOLDS 32u /* maximum number of processes that are suspended at a time */

struct top_actions;

/* socket: as for collect_open(). Returns NULL if there is no memory. */
struct top_actions *actions_open(const char *socket);
/* Resumes the processes that are suspended here. NULL is allowed. */
void actions_close(struct top_actions *actions);

/*
 * Send a request and wait for the result (up to about 2 s). Each writes the result as a sentence to
 * said[size]. actions_resume() ends every suspension of the process that was requested by an
 * operator, also those from elsewhere.
 */
void actions_suspend(struct top_actions *actions, pid_t pid, char *message, size_t size);
void actions_resume(struct top_actions *actions, pid_t pid, char *message, size_t size);
/* word: "online", "offline", "0" to "15", "none" or "own". */
void actions_set_priority(struct top_actions *actions, pid_t pid, const char *word, char *message,
			  size_t size);

/* Returns the number of processes that are suspended here. */
unsigned actions_holds(const struct top_actions *actions);
/* Writes the fds that become readable when a suspension ends otherwise (it was resumed elsewhere,
 * the process or the daemon ended). Returns their number. */
unsigned actions_poll(const struct top_actions *actions, struct pollfd out[static ACTIONS_HOLDS]);
/* To be called after the poll: removes the suspensions that have ended and writes a sentence about
 * the last of them to `message`; leaves `message` unchanged if there is none. */
void actions_ended(struct top_actions *actions, char *message, size_t size);

#endif

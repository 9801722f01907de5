/* SPDX-License-Identifier: MIT */
/* The daemon's listening socket: a list of connections whose hello has arrived or not yet. */
#ifndef KFDSHIM_TESTS_SEEDED_LISTENER_H
#define KFDSHIM_TESTS_SEEDED_LISTENER_H

#include <stdbool.h>
#include <stddef.h>

struct file;

/* Empties the list; called at the begin of a run. */
void listener_begin(void);
/* Returns whether a connection has something to read. */
bool listener_any(void);
/* Returns the oldest connection with a hello, which then belongs to the caller, and copies the
 * hello. NULL: what arrived was not a hello. */
struct file *listener_take(void *hello, size_t size);

/* Replace the functions of channel/protocol.h for the simulated processes. */
int played_protocol_connect(const char *path);
bool played_protocol_is_served(const char *path);

#endif

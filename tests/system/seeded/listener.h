/* SPDX-License-Identifier: MIT */
/* The daemon's socket: connections whose hello is there, or not yet. */
#ifndef KFDSHIM_TESTS_SEEDED_LISTENER_H
#define KFDSHIM_TESTS_SEEDED_LISTENER_H

#include <stdbool.h>
#include <stddef.h>

struct file;

void listener_begin(void);
bool listener_any(void);
/* The oldest connection with a hello, which is the caller's. NULL: what came was none. */
struct file *listener_take(void *hello, size_t size);

int played_protocol_connect(const char *path);
bool played_protocol_is_served(const char *path);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * Asks the daemon for its state, by libkfdsched (scheduler/lib/kfdsched.h).
 *
 * Threads: none. Errors: a negative errno; ask_status() makes it a sentence.
 */
#ifndef KFDSHIM_CLI_ASK_H
#define KFDSHIM_CLI_ASK_H

#include <jansson.h>

#include "scheduler/cli/cli.h"

/* The socket of this session: KFDSHIM_SOCKET, or the default. */
const char *ask_socket(void);
/* The daemon's JSON (docs/formats.md); the caller owns *out. -ENOENT and
 * -ECONNREFUSED: no daemon there. -EPROTO: the answer was not understood.
 * -EAGAIN: none within two seconds. Others: as the daemon refused. `pid` 0: of
 * all; else all that it knows of that workload, -ESRCH: there is none. */
int ask_daemon(const char *socket, int pid, json_t **out);
/* The same, and one line says why not: CLI_GO_ON, or the exit code to end with. */
int ask_status(const struct verb *verb, const char *socket, int pid, json_t **out);
/* The same of all, with a count of each process's queues per node (`queue_counts`) in the
 * place of the queues. */
int ask_summary(const struct verb *verb, const char *socket, json_t **out);
/* A daemon answers, and knows that process: its number for it, which is another than ours
 * where it counts in another pid namespace. Then it alone acts on it. 0: it does not. */
int ask_number(const char *socket, int pid);

#endif

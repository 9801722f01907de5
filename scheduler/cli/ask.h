/* SPDX-License-Identifier: MIT */
/*
 * Asks the daemon for its state (channel/protocol.h, PROTOCOL_ASK).
 *
 * Threads: none. Errors: a negative errno; ask_explain() makes it a sentence.
 */
#ifndef KFDSHIM_CLI_ASK_H
#define KFDSHIM_CLI_ASK_H

#include <jansson.h>

#include "scheduler/cli/cli.h"

/* The socket of this session: KFDSHIM_SOCKET, or the default. */
const char *ask_socket(void);
/* The daemon's JSON (docs/formats.md); the caller owns *out. -ENOENT and
 * -ECONNREFUSED: no daemon there. -EPROTO: the answer was not understood.
 * -EAGAIN: none within two seconds. Others: as the daemon refused. */
int ask_daemon(const char *socket, json_t **out);
/* The line for what ask_daemon returned. CLI_FAILED. */
int ask_explain(const struct verb *verb, const char *socket, int error);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * The daemon's end of the handshake inside a benchmark's own process, so that it can
 * read in the lane what the agent tells, and when. It suspends nobody.
 *
 * Threads: one. A failed call ends the process with 1 and a line on stderr.
 */
#ifndef KFDSHIM_TESTS_BENCH_STUB_DAEMON_H
#define KFDSHIM_TESTS_BENCH_STUB_DAEMON_H

#include "channel/lane.h"

/* Listens at a path of its own, which KFDSHIM_SOCKET names from then on. */
void greeter_open(void);
/* Waits up to 5 s for the agent; its lane. Removes the path. */
const struct lane *greeter_accept(void);

#endif

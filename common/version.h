/* SPDX-License-Identifier: MIT */
/* Prints the version of a binary: the release, the commit of its source, and the protocol between
 * workloads, daemon and command. Threads: any. */
#ifndef KFDSHIM_COMMON_VERSION_H
#define KFDSHIM_COMMON_VERSION_H

#include <stdbool.h>

/* If the only argument is --version, prints "PROGRAM 0.1.0, commit c0b3e2a1f9d4, protocol 4" on
 * stdout and returns true; the caller should then exit with 0. The commit ends with "-dirty" if the
 * source had changes, and is "unknown" if the source was no git clone. */
bool version_print(int argc, char **argv, const char *program);

#endif

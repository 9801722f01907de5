/* SPDX-License-Identifier: MIT */
/* What a binary was made of: the release, the commit of the source and the protocol between
 * workloads, daemon and command. Threads: any. */
#ifndef KFDSHIM_COMMON_VERSION_H
#define KFDSHIM_COMMON_VERSION_H

#include <stdbool.h>

/* If the only argument is --version, prints "PROGRAM 0.1.0, commit c0b3e2a1f9d4, protocol 5" on
 * stdout and returns true: the program then ends with 0. "-dirty" behind a commit: the source had
 * changes; "unknown": it was no clone. */
bool version_shown(int argc, char **argv, const char *program);

#endif

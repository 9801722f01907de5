/* SPDX-License-Identifier: MIT */
/*
 * A name as one word of a command line that the user is to copy. Names of cgroups, files and
 * sockets are other users' choice, and a shell would run what stands in them.
 * Threads: any.
 */
#ifndef KFDSHIM_COMMON_SHELL_WORD_H
#define KFDSHIM_COMMON_SHELL_WORD_H

#include <stdbool.h>
#include <stddef.h>

/* In single quotes if a shell would not take it as it is. false, and `out` is empty: it is
 * empty, does not fit, or a terminal would not show it as it is, so that a copy were another name. */
bool shell_word(char *out, size_t size, const char *text);
/* The same word, or else `otherwise`: what the user is to put there, as "USER". */
const char *shell_word_or(char *out, size_t size, const char *text, const char *otherwise);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * Quotes a name as one word of a command line that a message suggests to the user. Names of
 * cgroups, files and sockets can be chosen by other users, and a shell would run commands in them.
 * Threads: any.
 */
#ifndef KFDSHIM_COMMON_SHELL_WORD_H
#define KFDSHIM_COMMON_SHELL_WORD_H

#include <stdbool.h>
#include <stddef.h>

/* Writes the text as a word to `out`, in single quotes if it contains characters that a shell may
 * interpret. Returns false, with `out` empty, if the text is empty, begins with "-" (an option),
 * does not fit, or would be shown differently on a terminal, so that a copy of it would be another
 * name. */
bool shell_word(char *out, size_t size, const char *text);
/* Returns the word that shell_word() writes, or, if shell_word() fails, `otherwise`: a placeholder
 * that the user replaces, such as "USER". */
const char *shell_word_or(char *out, size_t size, const char *text, const char *otherwise);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * Texts from elsewhere (names of processes and files, logs, what clients say of themselves)
 * on their way to a terminal, which obeys control characters, or into JSON, which takes
 * UTF-8 alone. Threads: any.
 */
#ifndef KFDSHIM_COMMON_PLAIN_TEXT_H
#define KFDSHIM_COMMON_PLAIN_TEXT_H

#include <jansson.h>

/* Control characters become '?': C0, DEL, and C1 in UTF-8. Returns `text`. */
char *plain_text(char *text);
/* All but the printable ones of ASCII do. */
char *plain_ascii(char *text);

/* Where it is no UTF-8, the bytes that are not ASCII become '?'. NULL: no memory. */
json_t *plain_json(const char *text);
/* The same; null for an empty one, and for none (NULL). */
json_t *plain_or_null(const char *text);

#endif

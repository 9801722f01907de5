/* SPDX-License-Identifier: MIT */
/*
 * Texts from elsewhere (names of processes and files, logs, what clients say of themselves)
 * on their way to a terminal, which obeys control characters, or into JSON, which takes
 * UTF-8 alone. Threads: any.
 */
#ifndef KFDSHIM_COMMON_PLAIN_TEXT_H
#define KFDSHIM_COMMON_PLAIN_TEXT_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* Each byte becomes '?' of a character that a terminal obeys or does not show (controls C0,
 * DEL and C1, what turns the direction of writing, what has no width, tags), and of what is no
 * UTF-8. Returns `text`. */
char *plain_text(char *text);
/* It would stay as it is. */
bool plain_is(const char *text);
/* The bytes of the character that a text begins with; 0: it is no UTF-8. */
size_t plain_decode(const char *text, uint32_t *out);
/* false: a terminal obeys the character or does not show it. */
bool plain_is_shown(uint32_t c);
/* All but the printable ones of ASCII do. */
char *plain_ascii(char *text);

/* Where it is no UTF-8, the bytes that are not ASCII become '?'. NULL: no memory. */
json_t *plain_json(const char *text);
/* The same; null for an empty one, and for none (NULL). */
json_t *plain_or_null(const char *text);
/* json_dumpf() in ASCII alone: names stay as they are, and the characters of them that a
 * terminal would obey or hide are escaped. */
int plain_json_print(const json_t *json, FILE *out, size_t flags);
/* plain_text() of all strings in it. */
void plain_json_strings(json_t *json);

#endif

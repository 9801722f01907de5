/* SPDX-License-Identifier: MIT */
/*
 * Sanitises texts from untrusted sources (names of processes and files, logs, values from clients)
 * for a terminal, which obeys control characters, and for JSON, which accepts only UTF-8.
 * Threads: any.
 */
#ifndef KFDSHIM_COMMON_TEXT_H
#define KFDSHIM_COMMON_TEXT_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* Replaces by '?', in place, each byte of a character that a terminal obeys or does not show
 * (controls C0, DEL and C1, characters that change the direction of writing or have no width,
 * tags), and each byte that is no UTF-8. Returns `text`. */
char *plain_text(char *text);
/* Returns true if plain_text() would not change the text. */
bool plain_is(const char *text);
/* Decodes the first character of a text to *out. Returns its length in bytes; 0: it is no UTF-8. */
size_t plain_decode(const char *text, uint32_t *out);
/* Returns true if a terminal shows the character and does not obey it. */
bool plain_is_printable(uint32_t c);
/* Replaces by '?', in place, each byte that is not a printable character of ASCII. Returns
 * `text`. */
char *plain_ascii(char *text);

/* Returns a JSON string, a new reference. If the text is no UTF-8, the bytes in it that are not
 * ASCII become '?'. NULL: memory is short. */
json_t *plain_json(const char *text);
/* As plain_json(), but JSON null for an empty text and for NULL. */
json_t *plain_or_null(const char *text);
/* json_dumpf() in ASCII only: characters outside ASCII are escaped, so that names keep their value
 * and a terminal cannot obey or hide a part of them. */
int plain_json_print(const json_t *json, FILE *out, size_t flags);
/* Applies plain_text() to all strings in the JSON, but not to keys. */
void plain_json_strings(json_t *json);

#endif

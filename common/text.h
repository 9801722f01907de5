/* SPDX-License-Identifier: MIT */
/*
 * Sanitises texts from untrusted sources (names of processes and files, logs, values from clients)
 * for output on a terminal, which obeys control characters; json_util.h does so for JSON. Threads:
 * any.
 */
#ifndef KFDSHIM_COMMON_TEXT_H
#define KFDSHIM_COMMON_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Replaces by '?', in place, each byte of a character that a terminal obeys or does not show
 * (controls C0, DEL and C1, characters that change the direction of writing or have no width,
 * tags), and each byte of invalid UTF-8. Returns `text`. */
char *plain_text(char *text);
/* Returns true if plain_text() would not change the text. */
bool plain_is(const char *text);
/* Decodes the first character of a text to *out. Returns its length in bytes, or 0 if the text does
 * not begin with valid UTF-8. */
size_t plain_decode(const char *text, uint32_t *out);
/* Returns true if a terminal shows the character and does not interpret it as a command. */
bool plain_is_printable(uint32_t c);
/* Replaces by '?', in place, each byte that is not a printable ASCII character. Returns `text`. */
char *plain_ascii(char *text);

#endif

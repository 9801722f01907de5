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

/* ---- words of a shell ---- */

/*
 * Quotes a name as one word of a command line that a message suggests to the user. Names of
 * cgroups, files and sockets can be chosen by other users, and a shell would run commands in them.
 *
 * Writes the text as a word to `out`, in single quotes if it contains characters that a shell may
 * interpret. Returns false, with `out` empty, if the text is empty, begins with "-" (an option),
 * does not fit, or would be shown differently on a terminal, so that a copy of it would be another
 * name.
 */
bool shell_word(char *out, size_t size, const char *text);
/* Returns the word that shell_word() writes, or, if shell_word() fails, `otherwise`: a placeholder
 * that the user replaces, such as "USER". */
const char *shell_word_or(char *out, size_t size, const char *text, const char *otherwise);

/* ---- quantities ---- */

#define QUANTITY_BYTES 32 /* size of a buffer for a formatted quantity */

/* Formats a time in us with three digits and a fitting unit: "909 us", "2.48 ms", "1.20 s"; "-" for
 * NAN. Returns `text`. */
const char *quantity_us(char text[QUANTITY_BYTES], double us);
/* Formats a size in its largest whole unit, such as "64 KiB" or "100 B". Returns `text`. */
const char *quantity_bytes(char text[QUANTITY_BYTES], unsigned long long bytes);

#endif

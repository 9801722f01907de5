// SPDX-License-Identifier: MIT
#include "common/shell_word.h"

#include <string.h>

#include "common/text.h"

#define HARMLESS                                                                                   \
	"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789" /* and, in a path, */     \
	"/._-+:@%,"

static bool add(char *out, size_t size, size_t *used, const char *piece)
{
	size_t length = strlen(piece);

	if (*used + length >= size)
		return false;
	memcpy(out + *used, piece, length + 1);
	*used += length;
	return true;
}

static bool add_quoted(char *out, size_t size, const char *text)
{
	size_t used = 0;
	bool fits = add(out, size, &used, "'");

	for (; *text && fits; text++) {
		const char one[] = {*text, '\0'};

		/* A quote cannot be escaped within quotes: end them, escape it, begin again. */
		fits = add(out, size, &used, *text == '\'' ? "'\\''" : one);
	}
	return fits && add(out, size, &used, "'");
}

bool shell_word(char *out, size_t size, const char *text)
{
	size_t used = 0;
	bool done = false;

	/* Refuse a text that begins with "-": it would be an option, quoted or not. */
	if (*text && plain_is(text) && text[0] != '-')
		done = strspn(text, HARMLESS) == strlen(text) ? add(out, size, &used, text)
							      : add_quoted(out, size, text);
	if (!done)
		out[0] = '\0';
	return done;
}

const char *shell_word_or(char *out, size_t size, const char *text, const char *otherwise)
{
	return shell_word(out, size, text) ? out : otherwise;
}

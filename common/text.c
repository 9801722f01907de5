// SPDX-License-Identifier: MIT
#include "common/text.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Characters that a terminal obeys or does not show: controls, the default ignorable ones of
 * Unicode (DerivedCoreProperties.txt), line separators, annotations. Sorted. */
static const struct {
	uint32_t first, last;
} hidden[] = {
	{0x00, 0x1f},	    {0x7f, 0x9f},	{0xad, 0xad},	    {0x34f, 0x34f},
	{0x61c, 0x61c},	    {0x115f, 0x1160},	{0x17b4, 0x17b5},   {0x180b, 0x180f},
	{0x200b, 0x200f},   {0x2028, 0x202e},	{0x2060, 0x206f},   {0x3164, 0x3164},
	{0xfe00, 0xfe0f},   {0xfeff, 0xfeff},	{0xffa0, 0xffa0},   {0xfff0, 0xfffb},
	{0x1bca0, 0x1bca3}, {0x1d173, 0x1d17a}, {0xe0000, 0xe0fff},
};

size_t plain_decode(const char *text, uint32_t *out)
{
	/* The smallest character that needs n bytes; a longer encoding than needed is invalid. */
	static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
	const unsigned char *at = (const unsigned char *)text;
	size_t n = at[0] < 0x80 ? 1 : at[0] < 0xc2 ? 0 : at[0] < 0xe0 ? 2 : at[0] < 0xf0 ? 3 : 4;
	uint32_t c;

	if (at[0] >= 0xf5)
		n = 0;
	if (n <= 1) {
		*out = at[0];
		return n;
	}
	c = at[0] & (0x7fu >> n);
	for (size_t i = 1; i < n; i++) {
		if ((at[i] & 0xc0u) != 0x80u)
			return 0;
		c = c << 6 | (at[i] & 0x3fu);
	}
	if (c < least[n] || c > 0x10ffff || (c >= 0xd800 && c < 0xe000))
		return 0;
	*out = c;
	return n;
}

bool plain_is_printable(uint32_t c)
{
	for (size_t i = 0; i < sizeof(hidden) / sizeof(hidden[0]) && c >= hidden[i].first; i++)
		if (c <= hidden[i].last)
			return false;
	return true;
}

bool plain_is(const char *text)
{
	uint32_t c;
	size_t n;

	for (; *text; text += n) {
		n = plain_decode(text, &c);
		if (!n || !plain_is_printable(c))
			return false;
	}
	return true;
}

char *plain_text(char *text)
{
	uint32_t c;

	for (char *at = text; *at;) {
		size_t n = plain_decode(at, &c);

		if (!n || !plain_is_printable(c))
			memset(at, '?', n ? n : 1);
		at += n ? n : 1;
	}
	return text;
}

char *plain_ascii(char *text)
{
	for (char *c = text; *c; c++)
		if (*c < ' ' || *c > '~')
			*c = '?';
	return text;
}

/* ---- words of a shell ---- */

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

/* ---- quantities ---- */

const char *quantity_us(char text[QUANTITY_BYTES], double us)
{
	static const char *const suffixes[] = {"us", "ms", "s"};
	unsigned suffix = 0;

	if (isnan(us)) {
		strcpy(text, "-");
		return text;
	}
	/* From 999.5 on the rounded number would be 1000, so use the next unit. */
	while (suffix < 2 && us >= 999.5) {
		us /= 1000;
		suffix++;
	}
	int decimals = us >= 99.95 || us == 0 ? 0 : us >= 9.995 ? 1 : 2;

	snprintf(text, QUANTITY_BYTES, "%.*f %s", decimals, us, suffixes[suffix]);
	return text;
}

const char *quantity_bytes(char text[QUANTITY_BYTES], unsigned long long bytes)
{
	static const char *const suffixes[] = {"B", "KiB", "MiB", "GiB"};
	unsigned suffix = 0;

	while (suffix < 3 && bytes >= 1024 && bytes % 1024 == 0) {
		bytes /= 1024;
		suffix++;
	}
	snprintf(text, QUANTITY_BYTES, "%llu %s", bytes, suffixes[suffix]);
	return text;
}

// SPDX-License-Identifier: MIT
#include "cli/inspect/debugfs_line.h"

#include <string.h>

#define NO_DIGIT 0xffu
#define WORD_DIGITS 8u

bool line_next(struct lines *lines)
{
	const char *end;

	if (lines->next == lines->end)
		return false;
	lines->at = lines->next;
	lines->number++;
	end = memchr(lines->at, '\n', (size_t)(lines->end - lines->at));
	lines->cut = !end;
	if (!end)
		end = lines->end;
	lines->length = (size_t)(end - lines->at);
	lines->next = lines->cut ? end : end + 1;
	return true;
}

static unsigned digit(char c)
{
	if (c >= '0' && c <= '9')
		return (unsigned)(c - '0');
	if (c >= 'a' && c <= 'f')
		return (unsigned)(c - 'a' + 10);
	return NO_DIGIT;
}

static bool word(const char *at, uint32_t *out)
{
	uint32_t value = 0;
	unsigned bad = 0;

	for (unsigned i = 0; i < WORD_DIGITS; i++) {
		unsigned d = digit(at[i]);

		bad |= d;
		value = value << 4 | (d & 15);
	}
	*out = value;
	return bad != NO_DIGIT && bad < 16;
}

unsigned line_row(const struct lines *lines, uint32_t *offset, uint32_t words[LINE_WORDS])
{
	const char *at = lines->at, *end = at + lines->length;
	unsigned n = 0;

	while (at < end && *at == ' ')
		at++;
	if (end - at < (ptrdiff_t)WORD_DIGITS + 1 || !word(at, offset) || at[WORD_DIGITS] != ':')
		return 0;
	for (at += WORD_DIGITS + 1; n < LINE_WORDS && end - at > (ptrdiff_t)WORD_DIGITS; n++) {
		if (*at != ' ' || !word(at + 1, &words[n]))
			return 0;
		at += WORD_DIGITS + 1;
	}
	return at == end ? n : 0;
}

/* Returns false if there is no number, or if it does not fit 32 bits. */
static bool number(const char **at, const char *end, unsigned base, uint32_t *out)
{
	uint64_t value = 0;
	const char *begin = *at;

	for (; *at < end && digit(**at) < base; ++*at) {
		value = value * base + digit(**at);
		if (value > UINT32_MAX)
			return false;
	}
	*out = (uint32_t)value;
	return *at != begin;
}

bool line_is(const struct lines *lines, const char *form, uint32_t *numbers)
{
	const char *at = lines->at, *end = at + lines->length;

	for (; *form; form++) {
		if (*form == '%') {
			form++;
			if (!number(&at, end, *form == 'x' ? 16 : 10, numbers++))
				return false;
		} else if (at == end || *at++ != *form) {
			return false;
		}
	}
	return at == end;
}

bool line_begins(const struct lines *lines, const char *text)
{
	size_t n = strlen(text);

	return lines->length >= n && memcmp(lines->at, text, n) == 0;
}

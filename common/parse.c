// SPDX-License-Identifier: MIT
#include "common/parse.h"

#include <stddef.h>
#include <string.h>

struct suffix {
	const char *name;
	uint64_t factor;
};

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* Parses the digits at the beginning of the text to *out, which is 0 if there are none. Returns the
 * text behind the digits, or NULL if the number does not fit in 64 bits. */
static const char *read_digits(const char *text, uint64_t *out)
{
	*out = 0;
	for (; is_digit(*text); text++)
		if (__builtin_mul_overflow(*out, 10, out) ||
		    __builtin_add_overflow(*out, (uint64_t)(*text - '0'), out))
			return NULL;
	return text;
}

bool parse_uint(const char *text, uint64_t *out)
{
	uint64_t value;
	const char *end = read_digits(text, &value);

	if (!end || end == text || *end)
		return false;
	*out = value;
	return true;
}

static const struct suffix *find_suffix(const struct suffix *suffixes, size_t n, const char *name)
{
	for (size_t i = 0; i < n; i++)
		if (strcmp(suffixes[i].name, name) == 0)
			return &suffixes[i];
	return NULL;
}

/* Returns the decimal fraction 0.DIGITS multiplied by factor, rounded down. Works from the last
 * digit to the first, so that the intermediate values lose only what is below 1. */
static uint64_t fraction_of(const char *digits, size_t n, uint64_t factor)
{
	uint64_t value = 0;

	while (n--)
		value = ((uint64_t)(digits[n] - '0') * factor + value) / 10;
	return value;
}

static bool read_quantity(const char *text, const struct suffix *suffixes, size_t n, uint64_t *out)
{
	const char *end, *fraction = "";
	const struct suffix *suffix;
	size_t digits, blanks;
	uint64_t value;

	end = read_digits(text, &value);
	if (!end)
		return false;
	digits = (size_t)(end - text);
	if (*end == '.') {
		fraction = ++end;
		while (is_digit(*end))
			end++;
		digits += (size_t)(end - fraction);
	}
	blanks = strspn(end, " \t");
	suffix = blanks && !end[blanks] ? NULL : find_suffix(suffixes, n, end + blanks);
	if (!digits || !suffix || __builtin_mul_overflow(value, suffix->factor, &value) ||
	    __builtin_add_overflow(
		    value, fraction_of(fraction, strspn(fraction, "0123456789"), suffix->factor),
		    &value))
		return false;
	*out = value;
	return true;
}

bool parse_time_ns(const char *text, uint64_t *out)
{
	static const struct suffix suffixes[] = {{"us", 1000}, {"ms", 1000000}, {"s", 1000000000}};

	return read_quantity(text, suffixes, sizeof(suffixes) / sizeof(*suffixes), out);
}

bool parse_bytes(const char *text, uint64_t *out)
{
	static const struct suffix suffixes[] = {
		{"", 1},
		{"K", UINT64_C(1) << 10},
		{"M", UINT64_C(1) << 20},
		{"G", UINT64_C(1) << 30},
		{"T", UINT64_C(1) << 40},
	};

	return read_quantity(text, suffixes, sizeof(suffixes) / sizeof(*suffixes), out);
}

// SPDX-License-Identifier: MIT
#include "tests/unit/scheduler_core/recorded_value.h"

#include <stdlib.h>
#include <string.h>

#include "scheduler/core/sched.h"

#define CLIENTS_MAX 65535u

bool recorded_number(const char *text, uint64_t max, uint64_t *out)
{
	uint64_t value = 0;

	if (!*text)
		return false;
	for (; *text; text++) {
		unsigned digit = (unsigned)(*text - '0');

		if (digit > 9 || digit > max || value > (max - digit) / 10)
			return false;
		value = value * 10 + digit;
	}
	*out = value;
	return true;
}

static bool take_bits(const char *text, uint64_t *out)
{
	if (strcmp(text, "0") == 0) {
		*out = 0;
		return true;
	}
	if (strncmp(text, "0x", 2) != 0)
		return false;
	text += 2;
	if (!*text || strlen(text) > 16 || text[strspn(text, "0123456789abcdef")])
		return false;
	*out = strtoull(text, NULL, 16);
	return true;
}

/* A number from -low to high; a negative one is returned as two's complement. */
static bool take_signed(const char *text, uint64_t low, uint64_t high, uint64_t *out)
{
	bool negative = *text == '-';

	if (!recorded_number(text + negative, negative ? low : high, out))
		return false;
	if (negative)
		*out = -*out;
	return true;
}

/* Returns in `out` the index of the word in a list that ends with NULL. */
static bool take_word(const char *text, const char *const *words, uint64_t *out)
{
	for (*out = 0; words[*out]; (*out)++)
		if (strcmp(text, words[*out]) == 0)
			return true;
	return false;
}

static const char *const capabilities[] = {"pending", "able", "refused", NULL};
static const char *const yes_no[] = {"no", "yes", NULL};

static bool take_policy(const char *text, uint64_t *out)
{
	enum policy policy;

	if (policy_parse(text, &policy))
		return false;
	*out = policy;
	return true;
}

/* A time in ns after the start, or "never". `none`: "none" is also allowed and gives 0. */
static bool take_time(const char *text, uint64_t start_ns, bool none, uint64_t *out)
{
	if (strcmp(text, "never") == 0) {
		*out = CORE_NEVER;
		return true;
	}
	if (none && strcmp(text, "none") == 0) {
		*out = 0;
		return true;
	}
	if (!recorded_number(text, RECORDED_TIME_MAX, out))
		return false;
	*out += start_ns;
	return true;
}

bool recorded_value(char kind, const char *text, uint64_t start_ns, uint64_t *out)
{
	switch (kind) {
	case 'i':
		return recorded_number(text, UINT32_MAX, out);
	case 'k':
		return recorded_number(text, CLIENTS_MAX, out) && *out;
	case 't':
		return recorded_number(text, RECORDED_TIME_MAX, out);
	case '%':
		return recorded_number(text, 99, out);
	case 'o':
		return recorded_number(text, 100, out);
	case 'w':
		return recorded_number(text, 1000, out);
	case 'p':
		return take_signed(text, 1, CORE_PRIORITIES - 1, out);
	case 'e':
		return take_signed(text, 4095, 0, out);
	case 'x':
		return take_bits(text, out);
	case 'd':
	case 'l':
		return take_time(text, start_ns, kind == 'l', out);
	case 'r':
		return take_policy(text, out);
	case 'a':
		return take_word(text, capabilities, out);
	default:
		return take_word(text, yes_no, out);
	}
}

const char *recorded_allowed(char kind)
{
	switch (kind) {
	case 'c':
		return "a client that was added, and not removed";
	case 'n':
		return "the number of a new client, of which the lower 16 bits are below the "
		       "worker's number of clients and no other client's";
	case 'i':
		return "a number, 0..4294967295";
	case 'k':
		return "a number of clients, 1..65535";
	case 't':
		return "a number of nanoseconds, at most 2^60";
	case '%':
		return "a percentage, 0..99 (of share 1..99)";
	case 'o':
		return "a percentage, 0..100";
	case 'w':
		return "a number, 0..1000";
	case 'p':
		return "a priority, -1..15";
	case 'e':
		return "0 or a negative errno, -4095..0";
	case 'x':
		return "0, or 0x and at most 16 hexadecimal digits (0-9, a-f)";
	case 'd':
		return "a time in nanoseconds after the start, at most 2^60, or never";
	case 'l':
		return "a time in nanoseconds after the start, at most 2^60, or never, or none";
	case 'r':
		return policy_names();
	case 'a':
		return "pending, able or refused";
	default:
		return "yes or no";
	}
}

// SPDX-License-Identifier: MIT
#include "scheduler/daemon/config/owners.h"

#include <pwd.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LINE_BYTES 512

static bool parse_number(const char *text, uint32_t *out)
{
	unsigned long long value;
	char *end;

	if (*text < '0' || *text > '9')
		return false;
	value = strtoull(text, &end, 10);
	if (*end || value > UINT32_MAX)
		return false;
	*out = (uint32_t)value;
	return true;
}

/* A user name or a number. */
static bool parse_user(const char *text, uid_t *out)
{
	const struct passwd *user;
	uint32_t number;

	if (parse_number(text, &number)) {
		*out = number;
		return true;
	}
	user = *text ? getpwnam(text) : NULL;
	if (user)
		*out = user->pw_uid;
	return user != NULL;
}

/* Parses USER:FIRST:COUNT. Writes NUL bytes into `line` at the colons. */
static bool parse_line(char *line, struct owner_range *out)
{
	char *first = strchr(line, ':'), *count = first ? strchr(first + 1, ':') : NULL;

	if (!count)
		return false;
	*first++ = '\0';
	*count++ = '\0';
	return parse_number(first, &out->first) && parse_number(count, &out->count) &&
	       out->count > 0 && out->first > 0 && parse_user(line, &out->owner);
}

static void add_line(struct owners *out, char *line)
{
	struct owner_range range;

	if (*line == '\0' || *line == '#')
		return;
	if (!parse_line(line, &range))
		out->bad_lines++;
	else if (out->count == OWNERS_MAX)
		out->unused++;
	else
		out->ranges[out->count++] = range;
}

void owners_read(const char *path, struct owners *out)
{
	char line[LINE_BYTES];
	FILE *f = fopen(path, "re");
	bool whole = true;

	*out = (struct owners){0};
	while (f && fgets(line, sizeof(line), f)) {
		/* A line longer than the buffer arrives in several pieces. It is counted as bad
		 * once, at its first piece, and its other pieces are skipped. */
		bool begins = whole;
		char *end = strchr(line, '\n');

		whole = end != NULL || feof(f);
		if (end)
			*end = '\0';
		if (begins && whole)
			add_line(out, line);
		else if (begins)
			out->bad_lines++;
	}
	if (f)
		fclose(f);
}

uid_t owners_find(const struct owners *owners, uid_t uid)
{
	for (uint32_t i = 0; i < owners->count; i++)
		if (uid >= owners->ranges[i].first &&
		    uid - owners->ranges[i].first < owners->ranges[i].count)
			return owners->ranges[i].owner;
	return uid;
}

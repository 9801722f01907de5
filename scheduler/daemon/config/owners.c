// SPDX-License-Identifier: MIT
#include "scheduler/daemon/config/owners.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "scheduler/daemon/config/value.h"

#define LINE_BYTES 512

/* Parses USER:FIRST:COUNT. Writes NUL bytes into `line` at the colons. */
static bool parse_line(char *line, struct owner_range *out)
{
	char *first = strchr(line, ':'), *count = first ? strchr(first + 1, ':') : NULL;
	uint64_t first_uid, uids;

	if (!count)
		return false;
	*first++ = '\0';
	*count++ = '\0';
	if (!value_number(first, 1, UINT32_MAX, &first_uid) ||
	    !value_number(count, 1, UINT32_MAX, &uids))
		return false;
	out->first = (uid_t)first_uid;
	out->count = (uint32_t)uids;
	return value_user(line, &out->owner);
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

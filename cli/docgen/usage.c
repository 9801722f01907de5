// SPDX-License-Identifier: MIT
#include "cli/docgen/usage.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>

bool usage_is_choice(const char *value)
{
	return strchr(value, '|') && !isupper((unsigned char)value[0]);
}

/* Reads the next word between blanks, without its brackets and dots. *closed: a bracket ends with
 * this word, so the next word is not its value. Returns false at the end of the line. */
static bool next_word(const char **line, char text[USAGE_TEXT], bool *closed)
{
	size_t n = 0;

	*closed = false;
	*line += strspn(*line, " ");
	if (**line == '\0')
		return false;
	for (; **line != '\0' && **line != ' '; ++*line) {
		if (**line == '[')
			continue;
		if (**line == ']')
			*closed = true;
		else if (n < USAGE_TEXT - 1)
			text[n++] = **line;
	}
	while (n >= 3 && strncmp(text + n - 3, "...", 3) == 0)
		n -= 3;
	text[n] = '\0';
	return true;
}

int usage_parse(const char *line, struct usage *out)
{
	struct usage_word *before = NULL; /* the option whose value the next word can be */
	char text[USAGE_TEXT];
	bool closed;

	memset(out, 0, sizeof(*out));
	while (next_word(&line, text, &closed)) {
		/* "|" separates alternatives; "--" begins the words of another command, "::" those
		 * of a second one. */
		if (strcmp(text, "|") == 0 || strcmp(text, "--") == 0 || strcmp(text, "::") == 0 ||
		    text[0] == '\0') {
			before = NULL;
			continue;
		}
		if (before && text[0] != '-') {
			strcpy(before->value, text);
			before = NULL;
			continue;
		}
		if (out->count == USAGE_WORDS)
			return -EINVAL;
		before = &out->word[out->count++];
		strcpy(text[0] == '-' ? before->option : before->value, text);
		if (closed || text[0] != '-')
			before = NULL;
	}
	return 0;
}

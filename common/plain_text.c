// SPDX-License-Identifier: MIT
#include "common/plain_text.h"

#include <stdlib.h>
#include <string.h>

char *plain_text(char *text)
{
	for (unsigned char *c = (unsigned char *)text; *c; c++) {
		if (*c < 0x20 || *c == 0x7f)
			*c = '?';
		else if (*c == 0xc2 && c[1] >= 0x80 && c[1] <= 0x9f)
			c[0] = c[1] = '?';
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

json_t *plain_json(const char *text)
{
	json_t *json = json_string(text);
	char *copy = json ? NULL : strdup(text);

	for (char *c = copy; c && *c; c++)
		if ((unsigned char)*c >= 0x80)
			*c = '?';
	if (copy)
		json = json_string(copy);
	free(copy);
	return json;
}

json_t *plain_or_null(const char *text)
{
	return text && text[0] ? plain_json(text) : json_null();
}

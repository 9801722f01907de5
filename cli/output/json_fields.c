// SPDX-License-Identifier: MIT
#include "cli/output/json_fields.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

const char *field_integer(char text[FIELD_BYTES], const json_t *object, const char *key)
{
	const json_t *value = json_object_get(object, key);

	if (json_is_integer(value))
		snprintf(text, FIELD_BYTES, "%" JSON_INTEGER_FORMAT, json_integer_value(value));
	else
		snprintf(text, FIELD_BYTES, "%s", TABLE_UNKNOWN);
	return text;
}

const char *field_text(const json_t *object, const char *key)
{
	const char *value = json_string_value(json_object_get(object, key));

	return value && value[0] != '\0' ? value : TABLE_UNKNOWN;
}

const char *field_yes(const json_t *object, const char *key)
{
	const json_t *value = json_object_get(object, key);

	if (!json_is_boolean(value))
		return TABLE_UNKNOWN;
	return json_is_true(value) ? "yes" : "no";
}

double field_number(const json_t *object, const char *key)
{
	const json_t *value = json_object_get(object, key);

	return json_is_number(value) ? json_number_value(value) : NAN;
}

int field_table(const char *titles, const json_t *list,
		void (*row)(struct table *table, const json_t *entry))
{
	struct table *table = table_new(titles);
	json_t *entry;
	size_t i;
	int rc;

	if (!table)
		return -ENOMEM;
	json_array_foreach(list, i, entry) row(table, entry);
	rc = table_print(table, stdout);
	table_free(table);
	return rc;
}

void field_print(json_t *list, const char *fmt, ...)
{
	char *text = NULL;
	va_list ap;

	va_start(ap, fmt);
	if (vasprintf(&text, fmt, ap) < 0)
		text = NULL;
	va_end(ap);
	if (text)
		json_array_append_new(list, json_string(text));
	free(text);
}

// SPDX-License-Identifier: MIT
#include "cli/output/fields.h"

#include <inttypes.h>
#include <libsmartcols/libsmartcols.h>
#include <locale.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "common/allocate.h"
#include "common/json_util.h"

/* ---- tables ---- */

struct table {
	struct libscols_table *lines;
	struct libscols_line *row; /* the last one */
	unsigned columns, cells;   /* cells of the last row */
};

struct table *table_new(const char *titles)
{
	struct table *table = allocate(1, sizeof(*table));
	size_t length;

	table->lines = allocated(scols_new_table());
	scols_table_set_column_separator(table->lines, "  ");
	scols_table_enable_minout(table->lines, 1);
	scols_table_enable_noencoding(table->lines, 1);
	for (;; titles += length + 1) {
		bool left = titles[0] == '<';
		char *name;

		titles += left;
		length = strcspn(titles, "|");
		name = allocated(strndup(titles, length));
		allocated(scols_table_new_column(table->lines, name, 0, left ? 0 : SCOLS_FL_RIGHT));
		free(name);
		table->columns++;
		if (titles[length] == '\0')
			return table;
	}
}

void table_free(struct table *table)
{
	scols_unref_table(table->lines);
	free(table);
}

void table_row(struct table *table)
{
	table->row = allocated(scols_table_new_line(table->lines, NULL));
	table->cells = 0;
}

void table_cell(struct table *table, const char *fmt, ...)
{
	char *text = NULL;
	va_list ap;

	va_start(ap, fmt);
	if (vasprintf(&text, fmt, ap) < 0)
		allocated(NULL);
	va_end(ap);
	plain_text(text);
	scols_line_refer_data(table->row, table->cells++, text);
}

/* Sets a UTF-8 locale in place of a single-byte one, because only in UTF-8 the width of a character
 * on a terminal is known. */
static void use_utf8(void)
{
	if (MB_CUR_MAX == 1)
		setlocale(LC_CTYPE, "C.UTF-8");
}

/* Prints the titles of a table without rows, for which libsmartcols prints nothing. */
static void print_titles(const struct table *table, FILE *out)
{
	for (unsigned i = 0; i < table->columns; i++)
		fprintf(out, "%s%s", i ? "  " : "",
			scols_column_get_name(scols_table_get_column(table->lines, i)));
	fputc('\n', out);
}

void table_print(struct table *table, FILE *out)
{
	if (!table->row)
		print_titles(table, out);
	use_utf8();
	/* Do not limit lines to the width of the terminal: libsmartcols could wrap only the last
	 * column, to the width that the other columns leave. */
	scols_table_set_termforce(table->lines, SCOLS_TERMFORCE_NEVER);
	scols_table_set_stream(table->lines, out);
	scols_print_table(table->lines);
	table_free(table);
}

/* ---- fields ---- */

const struct field_type field_types[] = {
#define INTEGER(name, minimum, maximum) {name, "integer", minimum, maximum, NULL},
#define NUMBER(name, minimum, maximum) {name, "number", minimum, maximum, NULL},
#define TEXT(name, minimum, maximum, pattern) {name, "string", minimum, maximum, pattern},
#define BOOLEAN(name) {name, "boolean", 0, 1, NULL},
#include "cli/output/types.def"
	{0},
};

const struct field_type *field_type(const char **text, size_t *length)
{
	*text += (*text)[0] == '[';
	*length = strcspn(*text, "?~");
	for (const struct field_type *type = field_types; type->name; type++)
		if (strlen(type->name) == *length && !strncmp(type->name, *text, *length))
			return type;
	return NULL;
}

bool field_is_nullable(const struct field *field)
{
	return strchr(field->type, '?') != NULL;
}

bool field_is_optional(const struct field *field)
{
	return strchr(field->type, '~') != NULL;
}

/* ---- JSON ---- */

/* Converts an integer to the JSON type of the field. Returns JSON null if the field can be unknown
 * and the number is below the minimum of its type. */
static json_t *integer(const struct field *field, bool is_unsigned, int64_t number)
{
	const char *text = field->type;
	size_t length;
	const struct field_type *type = field_type(&text, &length);
	/* Addresses are integers of a string type. The minimum of a string type is a length, so do
	 * not compare an address with it. An address is known unless it is 0. */
	int64_t least = strcmp(type->json, "string") ? type->minimum : 1;
	bool below = is_unsigned ? least > 0 && (uint64_t)number < (uint64_t)least : number < least;

	if (field_is_nullable(field) && below)
		return json_null();
	if (!strcmp(type->json, "boolean"))
		return json_boolean(number);
	if (!strcmp(type->json, "string"))
		return json_sprintf("0x%" PRIx64, (uint64_t)number);
	return json_integer(number);
}

static json_t *real(double number)
{
	return isnan(number) ? json_null() : json_real(number);
}

static json_t *value_of(const struct field *field, const void *row)
{
	const void *at = (const char *)row + field->offset;
	const void *count;
	const char *text;

	if (field->value)
		return field->value(row);
	switch (field->storage) {
	case FIELD_BOOL:
		return json_boolean(*(const bool *)at);
	case FIELD_I8:
		return integer(field, false, *(const int8_t *)at);
	case FIELD_I32:
		return integer(field, false, *(const int32_t *)at);
	case FIELD_U32:
		return integer(field, true, *(const uint32_t *)at);
	case FIELD_I64:
		return integer(field, false, *(const int64_t *)at);
	case FIELD_U64:
		return integer(field, true, (int64_t) * (const uint64_t *)at);
	case FIELD_DOUBLE:
		return real(*(const double *)at);
	case FIELD_PAIR_OF:
		return json_pack("[o,o]", real(((const double *)at)[0]),
				 real(((const double *)at)[1]));
	case FIELD_CHARS:
	case FIELD_STRING:
		text = field->storage == FIELD_CHARS ? at : *(const char *const *)at;
		return field_is_nullable(field) ? plain_or_null(text) : plain_json(text);
	case FIELD_STRUCT:
		return render_json(field->of, at);
	case FIELD_POINTER:
		at = *(const void *const *)at;
		return at ? render_json(field->of, at) : json_null();
	case FIELD_ROWS:
		count = (const char *)row + field->count;
		return render_list(field->of, *(const void *const *)at, *(const size_t *)count,
				   field->size);
	default:
		return NULL;
	}
}

json_t *render_json(const struct field *fields, const void *row)
{
	json_t *out = json_object();

	for (const struct field *field = fields + 1; !field_is_end(field); field++) {
		if (!field->value && !field->storage)
			continue; /* the caller adds it */
		if (field->kind == FIELD_BASE)
			json_object_update_new(out, value_of(field, row));
		else
			json_object_set_new(out, field->key, value_of(field, row));
	}
	return out;
}

json_t *render_list(const struct field *fields, const void *rows, size_t n, size_t size)
{
	json_t *list = json_array();

	for (size_t i = 0; i < n; i++)
		json_array_append_new(list, render_json(fields, (const char *)rows + i * size));
	return list;
}

void render_print(json_t *root, size_t flags)
{
	plain_json_print(root, stdout, flags);
	putchar('\n');
	json_decref(root);
}

/* ---- tables ---- */

/* Finds a field by its key. A field without a key is found by its title. "a.b" finds field b of the
 * object of field a. */
static const struct field *find(const struct field *fields, const char *name, size_t length)
{
	const struct field *found = NULL;

	for (const struct field *field = fields + 1; !found && !field_is_end(field); field++) {
		const char *own = field->key ? field->key : field->title;
		size_t dot = strcspn(name, ".");

		own += own && !field->key && own[0] == '<';
		if (field->kind == FIELD_BASE)
			found = find(field->of, name, length);
		else if (strlen(own) == length && !strncmp(own, name, length))
			found = field;
		else if (field->of && dot < length && strlen(own) == dot &&
			 !strncmp(own, name, dot))
			found = find(field->of, name + dot + 1, length - dot - 1);
	}
	return found;
}

/* Returns true if the key ends with `unit`, which is then the unit of its value. */
static bool has_unit(const char *key, const char *unit)
{
	size_t length = strlen(key);

	return length > strlen(unit) && !strcmp(key + length - strlen(unit), unit);
}

/* Formats the value of `key` in `row` as the text of a cell. `type`: type of the field. Returns
 * `text`, a string of the row, or a constant; TABLE_UNKNOWN if the value is not known. */
static const char *text_of(char text[FIELD_CELL], const char *key, const char *type,
			   const json_t *row)
{
	const json_t *value = json_object_get(row, key);
	double number = json_number_value(value);

	if (json_is_string(value) && json_string_length(value))
		return json_string_value(value);
	if (json_is_boolean(value))
		return json_is_true(value) ? "yes" : "no";
	if (!json_is_number(value))
		return TABLE_UNKNOWN;
	if (has_unit(key, "_us") || !strncmp(type, "us", 2))
		return quantity_us(text, number);
	if (has_unit(key, "_bytes"))
		return quantity_bytes(text, (unsigned long long)number);
	if (has_unit(key, "_ratio"))
		snprintf(text, FIELD_CELL, "%.1f %%", 100 * number);
	else if (!strncmp(type, "percentage", 10))
		snprintf(text, FIELD_CELL, "%.1f %%", number);
	else if (json_is_integer(value))
		snprintf(text, FIELD_CELL, "%" JSON_INTEGER_FORMAT, json_integer_value(value));
	else
		snprintf(text, FIELD_CELL, "%.1f", number);
	return text;
}

/* Sets *value to the text of the key behind the next '{'. Returns false if the key has no value. */
static bool next_value(char text[FIELD_CELL], const char **value, const char *format,
		       const json_t *object)
{
	const char *begin = strchr(format, '{') + 1;
	char key[32];

	snprintf(key, sizeof(key), "%.*s", (int)strcspn(begin, "}"), begin);
	*value = text_of(text, key, "", object);
	return strcmp(*value, TABLE_UNKNOWN) != 0;
}

void render_text(FILE *out, const char *format, const json_t *object)
{
	char text[FIELD_CELL];
	const char *value;

	for (size_t length;; format += length + 1) {
		length = strcspn(format, "{[|]");
		fwrite(format, 1, length, out);
		format += length;
		length = 0;
		if (!*format)
			return;
		if (*format == '{') {
			next_value(text, &value, format, object);
			fputs(value, out);
			length = strcspn(format, "}");
		} else if (*format == '[' && !next_value(text, &value, format, object)) {
			length = strcspn(format, "|]");
		} else if (*format == '|') {
			length = strcspn(format, "]");
		}
	}
}

struct column {
	const struct field *field;
	/* JSON key of the object in the row that has the value; empty: the row itself has the
	 * value. */
	char inside[24];
};

/* Parses the list of columns and writes their titles to `titles`. Returns their number. */
static unsigned read_columns(const struct field *fields, const char *columns, struct column *out,
			     char *titles)
{
	unsigned count = 0;

	for (size_t length; *columns; columns += length + (columns[length] == ',')) {
		struct column *column = &out[count];
		bool left = columns[0] == '<';
		size_t dot = strcspn(columns, ".");

		length = strcspn(columns, ",");
		column->field = find(fields, columns + left, length - left);
		snprintf(column->inside, sizeof(column->inside), "%.*s",
			 dot < length ? (int)dot : 0, columns);
		titles += sprintf(titles, "%s%s%s", count++ ? "|" : "", left ? "<" : "",
				  column->field->title);
	}
	return count;
}

void render_table(const struct field *fields, const char *columns, json_t *rows, FILE *out)
{
	struct column column[FIELD_COLUMNS];
	char titles[FIELD_COLUMNS * 24], text[FIELD_CELL];
	unsigned count = read_columns(fields, columns, column, titles);
	struct table *table = table_new(titles);
	const json_t *row;
	size_t i;

	json_array_foreach(rows, i, row)
	{
		table_row(table);
		for (unsigned c = 0; c < count; c++) {
			const struct field *field = column[c].field;
			const json_t *in =
				column[c].inside[0] ? json_object_get(row, column[c].inside) : row;

			table_cell(table, "%s",
				   field->cell ? field->cell(text, in)
					       : text_of(text, field->key, field->type, in));
		}
	}
	table_print(table, out);
	json_decref(rows);
}

/* ---- values of a JSON object, for a cell or a sentence ---- */

const char *field_cell(char text[FIELD_CELL], const json_t *object, const char *key)
{
	return text_of(text, key, "", object);
}

const char *field_text(const json_t *object, const char *key)
{
	const char *value = json_string_value(json_object_get(object, key));

	return value && value[0] != '\0' ? value : TABLE_UNKNOWN;
}

double field_number(const json_t *object, const char *key)
{
	const json_t *value = json_object_get(object, key);

	return json_is_number(value) ? json_number_value(value) : NAN;
}

void field_print(json_t *list, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	json_array_append_new(list, json_vsprintf(fmt, ap));
	va_end(ap);
}

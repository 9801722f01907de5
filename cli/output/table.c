// SPDX-License-Identifier: MIT
#include "cli/output/table.h"

#include <errno.h>
#include <libsmartcols/libsmartcols.h>
#include <locale.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "common/text.h"

struct table {
	struct libscols_table *lines;
	struct libscols_line *row; /* the last one */
	unsigned columns, cells;   /* cells of the last row */
	bool failed;		   /* memory was short, or a row had too many cells */
};

static bool add_column(struct table *table, const char *title, size_t length)
{
	bool left = title[0] == '<';
	char *name = strndup(title + left, length - left);
	bool added =
		name && scols_table_new_column(table->lines, name, 0, left ? 0 : SCOLS_FL_RIGHT);

	free(name);
	table->columns += added;
	return added;
}

struct table *table_new(const char *titles)
{
	struct table *table = calloc(1, sizeof(*table));
	size_t length;

	if (!table)
		return NULL;
	table->lines = scols_new_table();
	if (!table->lines || scols_table_set_column_separator(table->lines, "  ") < 0)
		goto failed;
	scols_table_enable_minout(table->lines, 1);
	scols_table_enable_noencoding(table->lines, 1);
	for (;; titles += length + 1) {
		length = strcspn(titles, "|");
		if (!add_column(table, titles, length))
			goto failed;
		if (titles[length] == '\0')
			return table;
	}
failed:
	table_free(table);
	return NULL;
}

void table_free(struct table *table)
{
	if (table)
		scols_unref_table(table->lines);
	free(table);
}

void table_row(struct table *table)
{
	table->row = scols_table_new_line(table->lines, NULL);
	table->cells = 0;
	table->failed |= !table->row;
}

void table_cell(struct table *table, const char *fmt, ...)
{
	char *text = NULL;
	va_list ap;

	va_start(ap, fmt);
	if (vasprintf(&text, fmt, ap) < 0)
		text = NULL;
	va_end(ap);
	if (text)
		plain_text(text);
	if (!text || !table->row || table->cells == table->columns ||
	    scols_line_refer_data(table->row, table->cells++, text) < 0) {
		free(text);
		table->failed = true;
	}
}

/* The width of a character on a terminal is known in a UTF-8 locale only. */
static void use_utf8(void)
{
	if (MB_CUR_MAX == 1)
		setlocale(LC_CTYPE, "C.UTF-8");
}

/* libsmartcols prints nothing if there are no lines. */
static void print_titles(const struct table *table, FILE *out)
{
	for (unsigned i = 0; i < table->columns; i++)
		fprintf(out, "%s%s", i ? "  " : "",
			scols_column_get_name(scols_table_get_column(table->lines, i)));
	fputc('\n', out);
}

int table_print(const struct table *table, FILE *out)
{
	if (table->failed)
		return -ENOMEM;
	if (!table->row) {
		print_titles(table, out);
		return 0;
	}
	use_utf8();
	/* A line has any length: only the last column could be wrapped, to what the others
	 * leave. */
	scols_table_set_termforce(table->lines, SCOLS_TERMFORCE_NEVER);
	scols_table_set_stream(table->lines, out);
	return scols_print_table(table->lines) < 0 ? -ENOMEM : 0;
}

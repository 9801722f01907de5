// SPDX-License-Identifier: MIT
#include "cli/output/table.h"

#include <libsmartcols/libsmartcols.h>
#include <locale.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "common/allocate.h"
#include "common/text.h"

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

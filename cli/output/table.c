// SPDX-License-Identifier: MIT
/* All rows are kept until table_print(), because the width of a column depends on all of its cells.
 * Blanks at the end of a line are not printed. */
#include "cli/output/table.h"

#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "common/text.h"

/* Blanks between two columns. */
#define GAP 2u

struct cell {
	char *text;
	unsigned columns; /* above 1: the cell spans columns */
};

struct row {
	struct cell cells[TABLE_COLUMNS];
	unsigned count;	  /* number of cells */
	unsigned columns; /* columns that the cells cover */
};

struct table {
	unsigned columns;
	bool left[TABLE_COLUMNS];
	/* Memory was short, or a row had too many cells. */
	bool failed;
	struct row *rows; /* rows[0]: the titles */
	size_t count;
};

/* Width on a terminal, counted in code points, which is enough for names of commands. */
static unsigned width(const char *text)
{
	unsigned n = 0;

	for (; *text; text++)
		n += ((unsigned char)*text & 0xc0u) != 0x80u;
	return n;
}

/* Adds a cell to the last row. Takes ownership of `text`. */
static void put(struct table *table, unsigned columns, char *text)
{
	struct row *row = table->count ? &table->rows[table->count - 1] : NULL;

	if (!text || !row || row->columns + columns > TABLE_COLUMNS) {
		free(text);
		table->failed = true;
		return;
	}
	plain_text(text);
	row->cells[row->count++] = (struct cell){.text = text, .columns = columns};
	row->columns += columns;
}

struct table *table_new(const char *titles)
{
	struct table *table = calloc(1, sizeof(*table));

	if (!table)
		return NULL;
	table_row(table);
	for (const char *title = titles; table->columns < TABLE_COLUMNS;) {
		size_t length = strcspn(title, "|");
		bool left = title[0] == '<';

		table->left[table->columns++] = left;
		put(table, 1, strndup(title + left, length - left));
		if (title[length] == '\0')
			break;
		title += length + 1;
	}
	return table;
}

void table_free(struct table *table)
{
	if (!table)
		return;
	for (size_t i = 0; i < table->count; i++)
		for (unsigned c = 0; c < table->rows[i].count; c++)
			free(table->rows[i].cells[c].text);
	free(table->rows);
	free(table);
}

void table_row(struct table *table)
{
	struct row *rows = reallocarray(table->rows, table->count + 1, sizeof(*rows));

	if (!rows) {
		table->failed = true;
		return;
	}
	table->rows = rows;
	rows[table->count++] = (struct row){0};
}

void table_cell(struct table *table, const char *fmt, ...)
{
	char *text = NULL;
	va_list ap;

	va_start(ap, fmt);
	if (vasprintf(&text, fmt, ap) < 0)
		text = NULL;
	va_end(ap);
	put(table, 1, text);
}

void table_span(struct table *table, unsigned columns, const char *text)
{
	put(table, columns, strdup(text));
}

static unsigned span_width(const unsigned *widths, unsigned first, unsigned columns)
{
	unsigned sum = GAP * (columns - 1);

	for (unsigned c = first; c < first + columns; c++)
		sum += widths[c];
	return sum;
}

/* Widens the columns to their cells. Called first for single cells, then for spans, so that a span
 * adds only what its columns lack; the last of these columns gets wider. */
static void measure(const struct table *table, bool spans, unsigned widths[TABLE_COLUMNS])
{
	for (size_t i = 0; i < table->count; i++) {
		const struct row *row = &table->rows[i];
		unsigned column = 0;

		for (unsigned c = 0; c < row->count; column += row->cells[c++].columns) {
			unsigned columns = row->cells[c].columns;
			unsigned need = width(row->cells[c].text);
			unsigned have = span_width(widths, column, columns);

			if ((columns > 1) == spans && need > have)
				widths[column + columns - 1] += need - have;
		}
	}
}

int table_print(const struct table *table, FILE *out)
{
	unsigned widths[TABLE_COLUMNS] = {0};

	if (table->failed)
		return -ENOMEM;
	measure(table, false, widths);
	measure(table, true, widths);
	for (size_t i = 0; i < table->count; i++) {
		const struct row *row = &table->rows[i];
		unsigned column = 0;
		unsigned owed = 0; /* blanks, printed only if more text follows */

		for (unsigned c = 0; c < row->count; c++) {
			const struct cell *cell = &row->cells[c];
			unsigned pad =
				span_width(widths, column, cell->columns) - width(cell->text);
			unsigned before = table->left[column] ? 0 : pad;

			if (cell->columns > 1)
				before = pad / 2;
			if (cell->text[0] != '\0') {
				fprintf(out, "%*s%s", (int)(owed + before), "", cell->text);
				owed = pad - before + GAP;
			} else {
				owed += pad + GAP;
			}
			column += cell->columns;
		}
		fputc('\n', out);
	}
	return 0;
}

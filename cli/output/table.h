/* SPDX-License-Identifier: MIT */
/*
 * A text table with aligned columns, by libsmartcols. The cell of a value that is not known is "-",
 * never 0. All rows are kept until table_print(), because the width of a column depends on all of
 * its cells.
 *
 * Threads: none. Ownership: cells are copied; table_print() or table_free() frees the table.
 */
#ifndef KFDSHIM_CLI_OUTPUT_TABLE_H
#define KFDSHIM_CLI_OUTPUT_TABLE_H

#include <stdio.h>

#include "common/quantity.h" /* text of times and sizes in cells */

#define TABLE_UNKNOWN "-"

struct table;

/* Creates a table. `titles` are separated by '|'. A column is right-aligned, or left-aligned if its
 * title begins with '<'. */
struct table *table_new(const char *titles);
void table_free(struct table *table);
/* Begins a new row. */
void table_row(struct table *table);
/* Adds the next cell of the row. A row has at most as many cells as the table has columns. Control
 * characters are replaced by '?', because names come from processes and a terminal would interpret
 * the characters. */
void table_cell(struct table *table, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Prints the titles and all rows, and frees the table. */
void table_print(struct table *table, FILE *out);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * A text table with aligned columns, by libsmartcols. The cell of a value that is not known is "-",
 * never 0. All rows are kept until table_print(), because the width of a column depends on all of
 * its cells.
 *
 * Threads: none. Ownership: cells are copied; table_free() frees the table. If memory is short
 * while a table is filled, table_print() returns -ENOMEM.
 */
#ifndef KFDSHIM_CLI_OUTPUT_TABLE_H
#define KFDSHIM_CLI_OUTPUT_TABLE_H

#include <stdio.h>

#include "common/quantity.h" /* text of times and sizes in cells */

#define TABLE_UNKNOWN "-"

struct table;

/* Creates a table. `titles` are separated by '|'. A column is right-aligned, or left-aligned if its
 * title begins with '<'. Returns NULL if memory is short. */
struct table *table_new(const char *titles);
/* NULL is allowed. */
void table_free(struct table *table);
/* Begins a new row. */
void table_row(struct table *table);
/* Adds the next cell of the row. Control characters are replaced by '?', because names come from
 * processes and a terminal would interpret the characters. */
void table_cell(struct table *table, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Prints all rows; the titles alone if there are none. Returns 0, or -ENOMEM if memory was short or
 * a row had too many cells. */
int table_print(const struct table *table, FILE *out);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * A text table with aligned columns.
 * A cell that is not known says "-", never 0.
 *
 * Threads: none. Ownership: cells are copied; table_free() ends it. A failed
 * allocation is remembered and told by table_print() (-ENOMEM).
 */
#ifndef KFDSHIM_CLI_TABLE_H
#define KFDSHIM_CLI_TABLE_H

#include <stdio.h>

#include "common/quantity.h" /* how its cells are written */

#define TABLE_COLUMNS 24
#define TABLE_UNKNOWN "-"

struct table;

/* `titles`, one for each column, separated by '|'; a leading '<' makes the
 * column left-aligned, otherwise it stands right. */
struct table *table_new(const char *titles);
void table_free(struct table *table);
void table_row(struct table *table);
/* The next cell of the row. Control characters become '?': names come from
 * processes, and a terminal obeys them. */
void table_cell(struct table *table, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* One text over the next `columns` columns, centred. */
void table_span(struct table *table, unsigned columns, const char *text);
int table_print(const struct table *table, FILE *out);

#endif

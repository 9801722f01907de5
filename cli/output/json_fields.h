/* SPDX-License-Identifier: MIT */
/*
 * Formats fields of a JSON object for a table. A field that is not known (missing, null, or of
 * another type) is never shown as 0: a text becomes "-", a number NAN.
 *
 * Threads: none. Functions with a `text` argument return it. Ownership: nothing that the caller
 * has to free is allocated.
 */
#ifndef KFDSHIM_CLI_OUTPUT_JSON_FIELDS_H
#define KFDSHIM_CLI_OUTPUT_JSON_FIELDS_H

#include <jansson.h>

#include "cli/output/table.h"

#define FIELD_BYTES 32 /* of a text buffer */

/* Formats an integer. */
const char *field_integer(char text[FIELD_BYTES], const json_t *object, const char *key);
/* Returns a string, valid as long as the object. An empty string is "-" too, because an empty
 * cell of a table is easily taken for a mistake. */
const char *field_text(const json_t *object, const char *key);
/* Returns a boolean as "yes" or "no"; otherwise "-". */
const char *field_yes(const json_t *object, const char *key);
/* Returns a number; otherwise NAN. */
double field_number(const json_t *object, const char *key);
/*
 * Prints a list of objects as a table on stdout. titles: the columns, in the format of table.h;
 * row(): called for each entry, begins a row of the table and fills it.
 * Returns 0 or -ENOMEM.
 */
int field_table(const char *titles, const json_t *list,
		void (*row)(struct table *table, const json_t *entry));

/* Formats a sentence and appends it to the JSON array `list`; without memory the sentence is left
 * out. */
void field_print(json_t *list, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

#endif

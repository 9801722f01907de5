/* SPDX-License-Identifier: MIT */
/*
 * One field of a JSON object as text or number for a reader who must not take
 * "not known" (missing, null, another type) for 0: text becomes "-", a number
 * NAN; and a list of objects as a table. Threads: none. `text` is returned, and
 * nothing is left allocated.
 */
#ifndef KFDSHIM_CLI_FIELD_H
#define KFDSHIM_CLI_FIELD_H

#include <jansson.h>

#include "scheduler/cli/table.h"

#define FIELD_BYTES 32

const char *field_integer(char text[FIELD_BYTES], const json_t *object, const char *key);
/* An empty string is "-" too: an empty cell would look like a mistake. Lives
 * as long as the object. */
const char *field_text(const json_t *object, const char *key);
const char *field_yes(const json_t *object, const char *key); /* yes, no, - */
double field_number(const json_t *object, const char *key);
/* Prints a table on stdout, its titles as in table.h: `row` begins a row for each entry
 * of the list and fills it. 0, or -ENOMEM. */
int field_table(const char *titles, const json_t *list,
		void (*row)(struct table *table, const json_t *entry));

/* A sentence more in a list of them; left out where there is no memory for it. */
void field_say(json_t *list, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

#endif

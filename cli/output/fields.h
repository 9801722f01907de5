/* SPDX-License-Identifier: MIT */
/*
 * Describes the output of commands as data: one line for each value gives its JSON key, its table
 * column, its type and its meaning. JSON, tables, the JSON schemas and docs/reference/json.md are
 * generated from these lines.
 *
 * An object of the output is an array of struct field, written in a .def file:
 *
 *	#define ROW struct top_node
 *	OBJECT(top_node, "a GPU in kfdsched top")
 *	MEMBER("gpu_id", "GPU", "positive", gpu_id, "gpu_id of the node")
 *	END
 *
 * Types are words of the table in fields.c ("pid", "count", "us", ...), or the allowed words with
 * '|' between them ("idle|active", or "|idle" for one word). '?' at the end: null if the value is
 * not known, that is, if it is below the minimum of its type, NAN, or an empty text. '~' at the
 * end: the key can be missing. '[' in front: an array of values of this type.
 *
 * Threads: none. Ownership: field tables are constant; the caller owns the JSON that is returned.
 */
#ifndef KFDSHIM_CLI_OUTPUT_FIELDS_H
#define KFDSHIM_CLI_OUTPUT_FIELDS_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "common/text.h" /* text of times and sizes in cells */

/* ---- tables ---- */

/*
 * A text table with aligned columns, by libsmartcols. The cell of a value that is not known is "-",
 * never 0. All rows are kept until table_print(), because the width of a column depends on all of
 * its cells.
 *
 * Ownership: cells are copied; table_print() or table_free() frees the table.
 */
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

/* ---- fields ---- */

#define FIELD_CELL 256	 /* bytes of the text of a cell */
#define FIELD_COLUMNS 32 /* maximum of columns of a table */

/* How the row, the struct that is rendered, stores the value. */
enum field_storage {
	FIELD_NONE, /* not in the row: the caller adds its JSON, or it is only a column */
	FIELD_BOOL,
	FIELD_I8,
	FIELD_I32,
	FIELD_U32,
	FIELD_I64,
	FIELD_U64,
	FIELD_DOUBLE,
	FIELD_CHARS,   /* char[] */
	FIELD_STRING,  /* const char * */
	FIELD_STRUCT,  /* a struct, which `of` describes */
	FIELD_POINTER, /* a pointer to such a struct; NULL: JSON null */
	FIELD_ROWS,    /* a pointer to an array of such structs */
	FIELD_PAIR_OF, /* two doubles, as an array */
};

enum field_kind {
	FIELD_VALUE,
	FIELD_OBJECT, /* an object, which `of` describes */
	FIELD_LIST,   /* an array of such objects */
	/* An object whose keys are not fixed. Its values are objects with the fields `of`, or have
	 * type `type`. */
	FIELD_MAP,
	FIELD_BASE, /* all keys of another object, added to those of this one */
};

/* One value of an object. An object is an array of these: its first entry holds the name and the
 * meaning of the object itself, and its last entry is empty. */
struct field {
	const char *key;   /* NULL: a column only */
	const char *title; /* title of the column; '<' in front: left-aligned; NULL: JSON only */
	const char *type, *doc;
	const struct field *of;
	enum field_kind kind;
	enum field_storage storage;
	size_t offset;
	/* FIELD_ROWS: offset of the member with the number of structs; size of one struct, bytes. */
	size_t count, size;
	/* If not NULL, value() makes the JSON value, and cell() the text of the table cell. */
	json_t *(*value)(const void *row);
	const char *(*cell)(char text[FIELD_CELL], const json_t *row);
};

#define FIELD_STORAGE(member)                                                                      \
	_Generic(((ROW *)0)->member,                                                               \
		 bool: FIELD_BOOL,                                                                 \
		 int8_t: FIELD_I8,                                                                 \
		 int32_t: FIELD_I32,                                                               \
		 uint32_t: FIELD_U32,                                                              \
		 int64_t: FIELD_I64,                                                               \
		 long long: FIELD_I64,                                                             \
		 uint64_t: FIELD_U64,                                                              \
		 unsigned long long: FIELD_U64,                                                    \
		 double: FIELD_DOUBLE,                                                             \
		 char *: FIELD_CHARS,                                                              \
		 const char *: FIELD_STRING)

#define FIELD_TEXTS(k, t, ty, d) .key = k, .title = t, .type = ty, .doc = d
#define FIELD_PART(k, ty, o, d, kd) FIELD_TEXTS(k, NULL, ty, d), .of = fields_##o, .kind = kd
#define FIELD_FROM(s, m) .storage = s, .offset = offsetof(ROW, m)

/* Macros for the lines of a .def file. Parameters: k JSON key, t column title, ty type, o object, m
 * member of ROW, f or c function, d meaning. */
#define OBJECT(o, d) const struct field fields_##o[] = {{.key = #o, .doc = d},
/* clang-format off */
#define END {0}};
/* clang-format on */
/* MEMBER: the value is member m of the row. PAIR: member m is an array of two doubles. VALUE:
 * f(row) makes the value. KEY: the caller of render_json() adds the value. */
#define MEMBER(k, t, ty, m, d) {FIELD_TEXTS(k, t, ty, d), FIELD_FROM(FIELD_STORAGE(m), m)},
#define PAIR(k, m, d) {FIELD_TEXTS(k, NULL, "number?", d), FIELD_FROM(FIELD_PAIR_OF, m)},
#define VALUE(k, t, ty, f, d) {FIELD_TEXTS(k, t, ty, d), .value = f},
#define KEY(k, t, ty, d) {FIELD_TEXTS(k, t, ty, d)},
/* SHOWN: like KEY, but c() formats the cell. COLUMN: only a column of tables; c() formats it. */
#define SHOWN(k, t, ty, c, d) {FIELD_TEXTS(k, t, ty, d), .cell = c},
#define COLUMN(t, c) {.title = t, .cell = c},
/* The value is an object with the fields of o. OBJECT_OF: the caller of render_json() adds it.
 * OBJECT_VALUE: f(row) makes it. BEHIND: it is made from the struct to which pointer m of the row
 * points. SELF: it is made from the row itself. */
#define OBJECT_OF(k, ty, o, d) {FIELD_PART(k, ty, o, d, FIELD_OBJECT)},
#define OBJECT_VALUE(k, ty, o, f, d) {FIELD_PART(k, ty, o, d, FIELD_OBJECT), .value = f},
#define BEHIND(k, ty, o, m, d)                                                                     \
	{FIELD_PART(k, ty, o, d, FIELD_OBJECT), FIELD_FROM(FIELD_POINTER, m)},
#define SELF(k, o, d) {FIELD_PART(k, "", o, d, FIELD_OBJECT), .storage = FIELD_STRUCT},
/* The value is an array of objects with the fields of o. LIST_OF: the caller of render_json() adds
 * it. LIST_AT: it is made from the array of structs at pointer m, whose number is in member n. */
#define LIST_OF(k, ty, o, d) {FIELD_PART(k, ty, o, d, FIELD_LIST)},
#define LIST_AT(k, o, m, n, d)                                                                     \
	{FIELD_PART(k, "", o, d, FIELD_LIST), FIELD_FROM(FIELD_ROWS, m),                           \
	 .count = offsetof(ROW, n), .size = sizeof(*((ROW *)0)->m)},
/* The value is an object whose keys are not fixed. MAP_OF: its values have type ty. MAP_OF_OBJECTS:
 * its values are objects with the fields of o. */
#define MAP_OF(k, ty, d) {FIELD_TEXTS(k, NULL, ty, d), .kind = FIELD_MAP},
#define MAP_OF_OBJECTS(k, o, d) {FIELD_PART(k, "", o, d, FIELD_MAP)},
/* Adds all keys of object o to the keys of this object. BASE: the caller of render_json() adds
 * their values. The other macros take the values from the row itself (BASE_SELF), from its struct m
 * (BASE_AT), or from the struct to which its pointer m points (BASE_BEHIND). */
#define BASE(o) {.of = fields_##o, .kind = FIELD_BASE},
#define BASE_SELF(o) {.of = fields_##o, .kind = FIELD_BASE, .storage = FIELD_STRUCT},
#define BASE_AT(o, m) {.of = fields_##o, .kind = FIELD_BASE, FIELD_FROM(FIELD_STRUCT, m)},
#define BASE_BEHIND(o, m) {.of = fields_##o, .kind = FIELD_BASE, FIELD_FROM(FIELD_POINTER, m)},

/* Returns a JSON object with all fields whose value is in the row or is made by a function of the
 * field. The caller adds the other fields. */
json_t *render_json(const struct field *fields, const void *row);
/* Returns an array of n objects; `size`: bytes from one row to the next. */
json_t *render_list(const struct field *fields, const void *rows, size_t n, size_t size);
/* Prints JSON on stdout and ends the line; `flags` as of json_dumpf(3). Frees the JSON. */
void render_print(json_t *root, size_t flags);
/*
 * Prints an array of objects as a table on `out`. `columns` lists the columns from left to right,
 * separated by ','. A column is named by its key, or by its title if it has no key; "a.b" is key b
 * of the object in key a. '<' in front of the key or title aligns the column left. Frees the array.
 */
void render_table(const struct field *fields, const char *columns, json_t *rows, FILE *out);

/* A type of the table in fields.c. */
struct field_type {
	const char *name;
	const char *json;	  /* "integer", "number", "string", "boolean" */
	int64_t minimum, maximum; /* limits of a number, or of the length of a text */
	const char *pattern;	  /* pattern that a text matches; NULL: any text */
};
extern const struct field_type field_types[]; /* the last has no name */
/* Returns the type that *text, the `type` of a field, names; NULL if *text is a choice of words
 * instead. Moves *text past a '[' in front, and stores in *length the bytes of the name without '?'
 * and '~'. */
const struct field_type *field_type(const char **text, size_t *length);
bool field_is_nullable(const struct field *field);
bool field_is_optional(const struct field *field);
/* Returns true if `field` is the empty one that ends the fields of an object. */
static inline bool field_is_end(const struct field *field)
{
	return !field->type && !field->cell && !field->of;
}

/*
 * Prints `format`. In it "{key}" stands for a value of the object, formatted as in a table cell.
 * "[A]" prints A only if the first key in A has a value; "[A|B]" prints B instead if that key has
 * none.
 */
void render_text(FILE *out, const char *format, const json_t *object);

/* ---- values of a JSON object ---- */

/* These functions never return 0 for a value that is not known (missing, null, or of another type):
 * a text becomes "-", a number NAN. */
/* Formats a value as in a cell of a table. Returns `text` or a string that belongs to `object`. */
const char *field_cell(char text[FIELD_CELL], const json_t *object, const char *key);
/* Returns the string of `key`, valid as long as the object. An empty string becomes "-", too,
 * because an empty cell of a table is easily taken for a mistake. */
const char *field_text(const json_t *object, const char *key);
/* Returns the number of `key`, or NAN. */
double field_number(const json_t *object, const char *key);
/* Formats a sentence and appends it to the JSON array `list`. */
void field_print(json_t *list, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

#endif

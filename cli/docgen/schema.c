// SPDX-License-Identifier: MIT
/* Writes JSON schemas and docs/reference/json.md from the descriptions of the commands' output. */
#include <inttypes.h>
#include <string.h>

#include "cli/docgen/docgen.h"

#define OBJECTS 256 /* maximum of objects in all schemas */

/* Objects to print, each as a schema or as a section of json.md. Those that are printed already
 * stay in the list. */
struct objects {
	const struct field *list[OBJECTS];
	unsigned count;
};

static void add(struct objects *objects, const struct field *object)
{
	for (unsigned i = 0; i < objects->count; i++)
		if (objects->list[i] == object)
			return;
	objects->list[objects->count++] = object;
}

/* Adds the objects that the values of an object consist of. The object of a FIELD_BASE is not
 * added, because its keys stand among those of `object`. Only the objects in these keys are
 * added. */
static void add_inner(struct objects *objects, const struct field *object)
{
	for (const struct field *f = object + 1; !field_is_end(f); f++) {
		if (f->kind == FIELD_BASE)
			add_inner(objects, f->of);
		else if (f->of)
			add(objects, f->of);
	}
}

/* Calls print() for each key of the object, including those of an object that a FIELD_BASE
 * includes. *n counts the keys so far. */
static void each_key(const struct field *object, FILE *out, unsigned *n,
		     void (*print)(const struct field *f, FILE *out, unsigned n))
{
	for (const struct field *f = object + 1; !field_is_end(f); f++) {
		if (f->kind == FIELD_BASE)
			each_key(f->of, out, n, print);
		else if (f->key)
			print(f, out, (*n)++);
	}
}

/* ---- schemas ---- */

static void print_words(const char *text, size_t length, bool nullable, FILE *out)
{
	const char *before = "";

	fputs("{\"enum\": [", out);
	for (size_t at = 0, n; at < length; at += n + 1) {
		n = strcspn(text + at, "|?~");
		if (n)
			fprintf(out, "%s\"%.*s\"", before, (int)n, text + at);
		before = n ? ", " : before;
	}
	fputs(nullable ? ", null]}" : "]}", out);
}

static void print_limits(const struct field_type *type, FILE *out)
{
	bool text = !strcmp(type->json, "string");

	if (!strcmp(type->json, "boolean"))
		return;
	if (type->minimum != INT64_MIN && !(text && type->minimum == 0))
		fprintf(out, ", \"%s\": %" PRId64, text ? "minLength" : "minimum", type->minimum);
	if (type->maximum != INT64_MAX)
		fprintf(out, ", \"%s\": %" PRId64, text ? "maxLength" : "maximum", type->maximum);
	if (type->pattern)
		fprintf(out, ", \"pattern\": \"%s\"", type->pattern);
}

/* Prints the schema of a value whose type is `text`. */
static void print_type(const char *text, bool nullable, FILE *out)
{
	const struct field_type *type;
	size_t length;

	if (text[0] == '[') {
		fprintf(out, "{\"type\": %s, \"items\": ",
			nullable ? "[\"array\", \"null\"]" : "\"array\"");
		print_type(text + 1, false, out);
		fputc('}', out);
		return;
	}
	type = field_type(&text, &length);
	if (!type) {
		print_words(text, length, nullable, out);
		return;
	}
	fprintf(out, nullable ? "{\"type\": [\"%s\", \"null\"]" : "{\"type\": \"%s\"", type->json);
	print_limits(type, out);
	fputc('}', out);
}

static void print_property(const struct field *f, FILE *out, unsigned n)
{
	bool nullable = field_is_nullable(f);

	fprintf(out, "%s        \"%s\": ", n ? ",\n" : "", f->key);
	if (f->kind == FIELD_MAP)
		fputs("{\"type\": \"object\", \"additionalProperties\": ", out);
	if (f->storage == FIELD_PAIR_OF)
		fputs("{\"type\": \"array\", \"minItems\": 2, \"maxItems\": 2, \"items\": ", out);
	if (f->kind == FIELD_LIST)
		fprintf(out, "{\"type\": %s, \"items\": ",
			nullable ? "[\"array\", \"null\"]" : "\"array\"");
	else if (f->of && nullable)
		fputs("{\"oneOf\": [{\"type\": \"null\"}, ", out);
	if (f->of)
		fprintf(out, "{\"$ref\": \"#/definitions/%s\"}", f->of->key);
	else
		print_type(f->type, nullable, out);
	if (f->of && nullable && f->kind != FIELD_LIST)
		fputc(']', out);
	if (f->kind == FIELD_MAP || f->kind == FIELD_LIST || f->storage == FIELD_PAIR_OF ||
	    (f->of && nullable))
		fputc('}', out);
}

static void print_required(const struct field *f, FILE *out, unsigned n)
{
	if (!field_is_optional(f))
		fprintf(out, "%s\"%s\"", n ? ", " : "", f->key);
}

static void print_object(const struct field *object, FILE *out)
{
	unsigned n = 0;

	fprintf(out,
		"    \"%s\": {\n"
		"      \"type\": \"object\",\n"
		"      \"additionalProperties\": false,\n"
		"      \"required\": [",
		object->key);
	each_key(object, out, &n, print_required);
	fputs("],\n"
	      "      \"properties\": {\n",
	      out);
	n = 0;
	each_key(object, out, &n, print_property);
	fputs("\n      }\n    }", out);
}

const struct pages_schema *pages_schema(const struct pages_schema *schema, FILE *out)
{
	const struct pages_schema *first = schema;
	struct objects objects = {0};

	fprintf(out,
		"{\n"
		"  \"$schema\": \"http://json-schema.org/draft-07/schema#\",\n"
		"  \"title\": \"%s\",\n"
		"  \"oneOf\": [",
		schema->title);
	for (; schema->name && !strcmp(schema->name, first->name); schema++) {
		fprintf(out, "%s{\"$ref\": \"#/definitions/%s\"}", schema == first ? "" : ", ",
			schema->object->key);
		add(&objects, schema->object);
	}
	fputs("],\n  \"definitions\": {\n", out);
	for (unsigned i = 0; i < objects.count; i++) {
		add_inner(&objects, objects.list[i]);
		fputs(i ? ",\n" : "", out);
		print_object(objects.list[i], out);
	}
	fputs("\n  }\n}\n", out);
	return schema;
}

/* ---- docs/reference/json.md ---- */

static void print_row(const struct field *f, FILE *out, unsigned n)
{
	const char *text = f->type;
	size_t length;
	const struct field_type *type = field_type(&text, &length);

	(void)n;
	fprintf(out, "| `\"%s\"` | ", f->key);
	if (f->kind == FIELD_LIST || f->type[0] == '[')
		fputs("array of ", out);
	if (f->storage == FIELD_PAIR_OF)
		fputs("pair of ", out);
	if (f->kind == FIELD_MAP)
		fputs("object of ", out);
	if (f->of)
		fprintf(out, "[%s](#%s)", f->of->key, f->of->key);
	else if (type)
		fputs(type->name, out);
	else
		for (size_t at = 0, part; at < length; at += part + 1) {
			part = strcspn(text + at, "|?~");
			fprintf(out, part ? "%s`%.*s`" : "", at > 1 ? ", " : "", (int)part,
				text + at);
		}
	fprintf(out, "%s%s | %s |\n", field_is_nullable(f) ? ", null" : "",
		field_is_optional(f) ? ", or missing" : "", f->doc);
}

static void print_section(struct objects *objects, const struct field *object, FILE *out)
{
	unsigned n = 0;

	add_inner(objects, object);
	fprintf(out,
		"\n### %s\n\n%s\n\n"
		"| key | value | meaning |\n"
		"|---|---|---|\n",
		object->key, object->doc);
	each_key(object, out, &n, print_row);
}

void pages_reference(FILE *out)
{
	struct objects objects = {0};
	unsigned done = 0;

	fputs("# JSON of the commands\n"
	      "\n"
	      "Generated from the descriptions of the output in cli/. Each section has the keys of "
	      "a command, then the objects in it that no section before has. The JSON schemas "
	      "are installed in share/doc/kfdshim/docs/schemas (build: pages/schemas).\n"
	      "\n"
	      "| value | schema |\n"
	      "|---|---|\n",
	      out);
	for (const struct field_type *type = field_types; type->name; type++) {
		fprintf(out, "| %s | `", type->name);
		print_type(type->name, false, out);
		fputs("` |\n", out);
	}
	for (const struct pages_schema *schema = pages_schemas; schema->name; schema++) {
		if (schema->title)
			fprintf(out, "\n## %s\n\nSchema: %s.json\n", schema->title, schema->name);
		add(&objects, schema->object);
		for (; done < objects.count; done++)
			print_section(&objects, objects.list[done], out);
	}
}

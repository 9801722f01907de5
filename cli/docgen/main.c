// SPDX-License-Identifier: MIT
/* kfdsched_pages DIR: writes the sources of the manual pages, the completions, the schemas
 * and docs/reference/json.md to DIR. */
#include <limits.h>
#include <stdarg.h>
#include <stdlib.h>

#include "cli/docgen/docgen.h"
#include "cli/util/objects.h"

const struct pages_entry pages_commands[] = {
#define COMMAND_HEADING(text) {.heading = (text)},
#define COMMAND(name) {.cmd = &cmd_##name},
#include "cli/commands.def"
#undef COMMAND
#undef COMMAND_HEADING
	{0},
};

#include "cli/docgen/output.def"

#define SCHEMA(name, title, object) extern const struct field fields_##object[];
#include "cli/docgen/schemas.def"
#undef SCHEMA

const struct pages_schema pages_schemas[] = {
#define SCHEMA(name, title, object) {name, title, fields_##object},
#include "cli/docgen/schemas.def"
#undef SCHEMA
	{0},
};

static FILE *create(const char *dir, const char *format, ...) __attribute__((format(printf, 2, 3)));

static FILE *create(const char *dir, const char *format, ...)
{
	char path[PATH_MAX], name[128];
	va_list ap;
	FILE *file;

	va_start(ap, format);
	vsnprintf(name, sizeof(name), format, ap);
	va_end(ap);
	snprintf(path, sizeof(path), "%s/%s", dir, name);
	file = fopen(path, "we");
	if (!file) {
		fprintf(stderr, "kfdsched_pages: %s cannot be written: %m\n", path);
		exit(1);
	}
	return file;
}

static void finish(FILE *file)
{
	int bad = ferror(file);

	if (fclose(file) != 0 || bad) {
		fprintf(stderr, "kfdsched_pages: a page could not be written whole: %m\n");
		exit(1);
	}
}

int main(int argc, char **argv)
{
	FILE *file;

	if (argc != 2) {
		fprintf(stderr, "usage: kfdsched_pages DIR\n");
		return 2;
	}
	for (const struct pages_entry *e = pages_commands; e->cmd || e->heading; e++) {
		if (!e->cmd)
			continue;
		file = create(argv[1], "kfdsched-%s.1.scd", e->cmd->name);
		pages_man_command(e->cmd, file);
		finish(file);
	}
	file = create(argv[1], "kfdsched.1.scd");
	pages_man_overview(file);
	finish(file);
	for (const struct pages_schema *schema = pages_schemas; schema->name;) {
		file = create(argv[1], "schemas/%s.json", schema->name);
		schema = pages_schema(schema, file);
		finish(file);
	}
	file = create(argv[1], "json.md");
	pages_reference(file);
	finish(file);
	file = create(argv[1], "kfdsched.bash");
	if (pages_bash(file))
		return 1;
	finish(file);
	file = create(argv[1], "_kfdsched");
	if (pages_zsh(file))
		return 1;
	finish(file);
	return 0;
}

// SPDX-License-Identifier: MIT
/* kfdsched_pages DIR: writes the sources of the manual pages, the completions, the schemas
 * and docs/reference/json.md to DIR. */
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

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

/* ---- manual pages, in the language of scdoc: paragraphs of the help text are filled, indented
 * lines are kept as they are ---- */

/* Writes text with the special characters of scdoc escaped. */
static void plain(const char *text, size_t length, FILE *out)
{
	for (size_t i = 0; i < length; i++) {
		if (strchr("*_\\<>[]#|.-~`:", text[i]))
			fputc('\\', out);
		fputc(text[i], out);
	}
}

static bool is_block(const char *line)
{
	return line[0] == ' ';
}

/* Returns true if the next line belongs to the same paragraph or, if `block`, to the same indented
 * block. `end`: the newline in front of this line. */
static bool goes_on(const char *end, bool block)
{
	return end[0] == '\n' && end[1] != '\0' && end[1] != '\n' && is_block(end + 1) == block;
}

/* Writes the paragraph or indented block at `text`. Returns where the next one begins. */
static const char *piece(const char *text, FILE *out)
{
	bool block = is_block(text);

	if (block)
		fputs("```\n", out);
	for (;;) {
		size_t length = strcspn(text, "\n");
		const char *end = text + length;

		if (block)
			fwrite(text, 1, length, out);
		else
			plain(text, length, out);
		text = end;
		if (!goes_on(end, block))
			break;
		fputc(block ? '\n' : ' ', out);
		text++;
	}
	fputs(block ? "\n```\n\n" : "\n\n", out);
	return text + strspn(text, "\n");
}

static void header(const char *name, const char *summary, FILE *out)
{
	fprintf(out, "%s(1)\n\n# NAME\n\n", name);
	plain(name, strlen(name), out);
	fputs(" - ", out);
	plain(summary, strlen(summary), out);
	fputs("\n\n# SYNOPSIS\n\n", out);
}

static void man_command(const struct cli_command *cmd, FILE *out)
{
	const char *text = cmd->help;
	char name[64];

	snprintf(name, sizeof(name), "kfdsched-%s", cmd->name);
	header(name, cmd->summary, out);
	fprintf(out, "*kfdsched %s* ", cmd->name);
	plain(cmd->usage, strlen(cmd->usage), out);
	fputs("\n\n# DESCRIPTION\n\n", out);
	while (*text) {
		static const char examples[] = "Examples:\n";

		if (strncmp(text, examples, strlen(examples)) == 0) {
			fputs("# EXAMPLES\n\n", out);
			text += strlen(examples);
			continue;
		}
		text = piece(text, out);
	}
	text = cmd->exits ? cmd->exits : CLI_EXITS;
	fputs("# EXIT STATUS\n\n", out);
	plain(text, strlen(text), out);
	fputs("\n\n# SEE ALSO\n\n*kfdsched*(1)\n", out);
}

static void man_overview(FILE *out)
{
	header("kfdsched", "priorities for processes that share an AMD GPU", out);
	fputs("*kfdsched* COMMAND \\[OPTIONS\\]\n"
	      "\n"
	      "# DESCRIPTION\n"
	      "\n"
	      "Each command has its own page, kfdsched-COMMAND(1); 'kfdsched help COMMAND' "
	      "prints the same.\n"
	      "\n",
	      out);
	for (const struct pages_entry *e = pages_commands; e->cmd || e->heading; e++) {
		if (e->heading) {
			fprintf(out, "## %s\n\n", e->heading);
			continue;
		}
		fprintf(out, "*%s*\n\t", e->cmd->name);
		plain(e->cmd->summary, strlen(e->cmd->summary), out);
		fputs("\n\n", out);
	}
	fputs("# EXIT STATUS\n\n" CLI_EXITS " run, record and trace exit with the status of the "
	      "command they run.\n",
	      out);
}

/* ---- files ---- */

__attribute__((format(printf, 2, 3))) static FILE *create(const char *dir, const char *format, ...)
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
		man_command(e->cmd, file);
		finish(file);
	}
	file = create(argv[1], "kfdsched.1.scd");
	man_overview(file);
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

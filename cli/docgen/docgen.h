/* SPDX-License-Identifier: MIT */
/*
 * Generates documents from the commands of the kfdsched command: a manual page for each (source for
 * scdoc), completions for bash and zsh, the schemas of the JSON, and docs/reference/json.md. The
 * program is run when kfdsched is built.
 *
 * Threads: none. The functions write everything to `out` and do not check it for errors; the caller
 * does.
 */
#ifndef KFDSHIM_CLI_DOCGEN_DOCGEN_H
#define KFDSHIM_CLI_DOCGEN_DOCGEN_H

#include "cli/output/fields.h"
#include "cli/util/command.h"

/* A command, or a heading of the commands that follow. */
struct pages_entry {
	const struct cli_command *cmd; /* NULL: a heading */
	const char *heading;
};

/* The commands and headings in the order of commands.def. The last entry has neither. */
extern const struct pages_entry pages_commands[];

/* pages_bash() writes the completion for bash, pages_zsh() that for zsh. Return 0, or -EINVAL if
 * the usage line of a command cannot be parsed; a message is printed on stderr then. */
int pages_bash(FILE *out);
int pages_zsh(FILE *out);

/* Describes the JSON of a command. If the JSON can have several forms, there is one entry for each
 * form: these entries follow each other and have the same name. */
struct pages_schema {
	const char *name, *title;
	const struct field *object;
};

/* The last entry has no name. */
extern const struct pages_schema pages_schemas[];

/* Writes one JSON schema for `schema` and for the entries behind it that have the same name.
 * Returns the first entry with another name. */
const struct pages_schema *pages_schema(const struct pages_schema *schema, FILE *out);
/* Writes docs/reference/json.md, which describes the JSON of all commands. */
void pages_reference(FILE *out);

#endif

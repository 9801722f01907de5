// SPDX-License-Identifier: MIT
/* Generates the manual pages in scdoc's language. Paragraphs of the help text are filled; indented
 * lines are kept as they are. */
#include <string.h>

#include "cli/docgen/docgen.h"

/* Writes text with scdoc's special characters escaped. */
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

/* Does the paragraph or indented block go on in the next line? */
static bool goes_on(const char *end, bool block)
{
	return end[0] == '\n' && end[1] != '\0' && end[1] != '\n' && is_block(end + 1) == block;
}

/* Writes one paragraph or one indented block. Returns the text behind it. */
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

void pages_man_command(const struct cli_command *cmd, FILE *out)
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

void pages_man_overview(FILE *out)
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

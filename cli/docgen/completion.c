// SPDX-License-Identifier: MIT
/* Generates the completions: finds out the possible values of each argument, and writes them in the
 * language of bash or zsh. */
#include <ctype.h>
#include <errno.h>
#include <string.h>

#include "cli/docgen/docgen.h"

/*
 * A usage line (command.h, struct cli_command) consists of words: --option, -o, VALUE or a|b|c
 * behind an option, VALUE or a|b|c without an option; [ ] around optional words, "..." behind a
 * word that can be repeated. The usage line is the only description of a command's arguments.
 */
#define USAGE_WORDS 32
#define USAGE_TEXT 128

struct usage_word {
	char option[USAGE_TEXT]; /* "--seconds"; empty: an argument without an option */
	char value[USAGE_TEXT];	 /* "N", "table|c|json"; empty: the option has no value */
};

struct usage {
	struct usage_word word[USAGE_WORDS];
	size_t count;
};

/* Returns true if the value is a list of possible words in lower case, such as table|c|json. */
static bool usage_is_choice(const char *value)
{
	return strchr(value, '|') && !isupper((unsigned char)value[0]);
}

/* Reads the next word of *line into `text`, without its brackets and dots. Sets *closed if a
 * bracket ends with this word, so that the next word is not the value of this word. Returns false
 * at the end. */
static bool next_word(const char **line, char text[USAGE_TEXT], bool *closed)
{
	size_t n = 0;

	*closed = false;
	*line += strspn(*line, " ");
	if (**line == '\0')
		return false;
	for (; **line != '\0' && **line != ' '; ++*line) {
		if (**line == '[')
			continue;
		if (**line == ']')
			*closed = true;
		else if (n < USAGE_TEXT - 1)
			text[n++] = **line;
	}
	while (n >= 3 && strncmp(text + n - 3, "...", 3) == 0)
		n -= 3;
	text[n] = '\0';
	return true;
}

/* Parses a usage line. Returns 0, or -EINVAL if it has more than USAGE_WORDS words. */
static int usage_parse(const char *line, struct usage *out)
{
	struct usage_word *before = NULL; /* the option whose value the next word can be */
	char text[USAGE_TEXT];
	bool closed;

	memset(out, 0, sizeof(*out));
	while (next_word(&line, text, &closed)) {
		/* "|" separates alternatives; "--" and "::" begin the words of another command. */
		if (strcmp(text, "|") == 0 || strcmp(text, "--") == 0 || strcmp(text, "::") == 0 ||
		    text[0] == '\0') {
			before = NULL;
			continue;
		}
		if (before && text[0] != '-') {
			strcpy(before->value, text);
			before = NULL;
			continue;
		}
		if (out->count == USAGE_WORDS)
			return -EINVAL;
		before = &out->word[out->count++];
		strcpy(text[0] == '-' ? before->option : before->value, text);
		if (closed || text[0] != '-')
			before = NULL;
	}
	return 0;
}

/* Directories in which the driver lists the processes that use a GPU, and the nodes. */
#define PIDS "/sys/class/kfd/kfd/proc"
#define NODES "/sys/class/kfd/kfd/topology/nodes"

/* Kinds of values; the shell completes each kind in a different way. */
enum kind { KIND_NONE, KIND_CHOICE, KIND_PID, KIND_NODE, KIND_FILE, KIND_COMMAND };

static enum kind kind_of(const char *value)
{
	if (usage_is_choice(value))
		return KIND_CHOICE;
	if (strcmp(value, "PID") == 0)
		return KIND_PID;
	if (strcmp(value, "NODE") == 0)
		return KIND_NODE;
	if (strcmp(value, "COMMAND") == 0)
		return KIND_COMMAND;
	if (strstr(value, "FILE") || strstr(value, "DIR") || strstr(value, "PATH") ||
	    strstr(value, "TRACE"))
		return KIND_FILE;
	return KIND_NONE;
}

/* Writes the words of a choice such as "table|c|json", with blanks between them. A range such as
 * "0..15" in the choice is written as one word. */
static void choices(const char *value, FILE *out)
{
	for (; *value; value++)
		fputc(*value == '|' ? ' ' : *value, out);
}

static int parse(const struct cli_command *cmd, struct usage *usage)
{
	int rc = usage_parse(cmd->usage, usage);

	if (rc)
		fprintf(stderr, "kfdsched_pages: the usage of %s cannot be parsed: %s\n", cmd->name,
			cmd->usage);
	return rc;
}

/* ---- both shells ---- */

struct shell {
	const char *before; /* shell expression for the word before the one under the cursor */
	/* Writes shell code that completes a value of `kind`; `value`: its text in the usage
	 * line. */
	void (*offer)(enum kind kind, const char *value, FILE *out);
};

/* Writes for each option that has a value a case arm that completes the value. */
static void after_options(const struct shell *shell, const struct cli_command *cmd,
			  const struct usage *usage, FILE *out)
{
	for (size_t i = 0; i < usage->count; i++) {
		const struct usage_word *word = &usage->word[i];

		if (!word->option[0] || !word->value[0])
			continue;
		fprintf(out, "\t%s\\ %s)\n\t\t", cmd->name, word->option);
		shell->offer(kind_of(word->value), word->value, out);
		fputs("\t\treturn\n\t\t;;\n", out);
	}
}

/* Writes the case arm that completes the command's options and its arguments without an option. */
static void alone(const struct shell *shell, const struct cli_command *cmd,
		  const struct usage *usage, FILE *out)
{
	fprintf(out, "\t%s)\n\t\toptions='--help", cmd->name);
	for (size_t i = 0; i < usage->count; i++)
		if (usage->word[i].option[0])
			fprintf(out, " %s", usage->word[i].option);
	fputs("'\n", out);
	for (size_t i = 0; i < usage->count; i++) {
		const struct usage_word *word = &usage->word[i];

		if (word->option[0])
			continue;
		fputs("\t\t", out);
		shell->offer(kind_of(word->value), word->value, out);
	}
	fputs("\t\t;;\n", out);
}

/* Writes the case statements for all commands. Returns 0, or -EINVAL for a wrong usage line. */
static int arms(const struct shell *shell, FILE *out)
{
	struct usage usage;

	fprintf(out, "\tcase \"$verb %s\" in\n", shell->before);
	for (const struct pages_entry *e = pages_commands; e->cmd || e->heading; e++) {
		if (!e->cmd)
			continue;
		if (parse(e->cmd, &usage))
			return -EINVAL;
		after_options(shell, e->cmd, &usage, out);
	}
	fputs("\tesac\n\tcase \"$verb\" in\n", out);
	for (const struct pages_entry *e = pages_commands; e->cmd || e->heading; e++)
		if (e->cmd && parse(e->cmd, &usage) == 0)
			alone(shell, e->cmd, &usage, out);
	fputs("\thelp)\n\t\t", out);
	shell->offer(KIND_CHOICE, "$verbs", out);
	fputs("\t\t;;\n\tesac\n", out);
	return 0;
}

static void commands(FILE *out)
{
	fputs("\tlocal verbs='help", out);
	for (const struct pages_entry *e = pages_commands; e->cmd || e->heading; e++)
		if (e->cmd)
			fprintf(out, " %s", e->cmd->name);
	fputs("'\n", out);
}

/* ---- bash ---- */

static void offer_bash(enum kind kind, const char *value, FILE *out)
{
	switch (kind) {
	case KIND_CHOICE:
		fputs("words+=\" ", out);
		choices(value, out);
		fputs("\"\n", out);
		break;
	case KIND_PID:
		fputs("words+=\" $(ls " PIDS " 2>/dev/null)\"\n", out);
		break;
	case KIND_NODE:
		fputs("words+=\" $(cat " NODES "/*/gpu_id 2>/dev/null | grep -vx 0)\"\n", out);
		break;
	case KIND_FILE:
		fputs("COMPREPLY+=($(compgen -f -- \"$word\"))\n", out);
		break;
	case KIND_COMMAND:
		fputs("COMPREPLY+=($(compgen -c -- \"$word\"))\n", out);
		break;
	default:
		fputs(":\n", out);
	}
}

int pages_bash(FILE *out)
{
	static const struct shell bash = {"$before", offer_bash};
	int rc;

	fputs("# bash completion for kfdsched, generated from its commands\n"
	      "_kfdsched_words()\n"
	      "{\n",
	      out);
	commands(out);
	rc = arms(&bash, out);
	fputs("}\n\n"
	      "_kfdsched()\n{\n"
	      "\tlocal word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]}\n"
	      "\tlocal verb=${COMP_WORDS[1]} options='' words=''\n"
	      "\tCOMPREPLY=()\n"
	      "\tif [ \"$COMP_CWORD\" = 1 ]; then\n"
	      "\t\tverb=help\n"
	      "\t\twords='help --help'\n"
	      "\tfi\n"
	      "\t_kfdsched_words\n"
	      "\tcase $word in\n"
	      "\t-*) words+=\" $options\" ;;\n"
	      "\tesac\n"
	      "\tCOMPREPLY+=($(compgen -W \"$words\" -- \"$word\"))\n"
	      "}\n"
	      "complete -F _kfdsched kfdsched\n",
	      out);
	return rc;
}

/* ---- zsh ---- */

static void offer_zsh(enum kind kind, const char *value, FILE *out)
{
	switch (kind) {
	case KIND_CHOICE:
		if (value[0] == '$') {
			fprintf(out, "compadd -- ${=%s}\n", value + 1);
			break;
		}
		fputs("compadd -- ", out);
		choices(value, out);
		fputc('\n', out);
		break;
	case KIND_PID:
		fputs("compadd -- " PIDS "/*(N:t)\n", out);
		break;
	case KIND_NODE:
		fputs("compadd -- ${(f)\"$(cat " NODES "/*/gpu_id(N) /dev/null | grep -vx 0)\"}\n",
		      out);
		break;
	case KIND_FILE:
		fputs("_files\n", out);
		break;
	case KIND_COMMAND:
		fputs("_command_names -e\n", out);
		break;
	default:
		fputs(":\n", out);
	}
}

/* Writes text for use within single quotes, with escaped colons, which zsh takes for separators. */
static void quoted(const char *text, FILE *out)
{
	for (; *text; text++) {
		if (*text == '\'')
			fputs("'\\''", out);
		else if (*text == ':')
			fputs("\\:", out);
		else
			fputc(*text, out);
	}
}

int pages_zsh(FILE *out)
{
	static const struct shell zsh = {"$words[CURRENT-1]", offer_zsh};
	int rc;

	fputs("#compdef kfdsched\n"
	      "# generated from the commands of kfdsched\n"
	      "_kfdsched()\n"
	      "{\n",
	      out);
	commands(out);
	fputs("\tlocal verb=$words[2] options=''\n"
	      "\tlocal -a described\n"
	      "\tif (( CURRENT == 2 )); then\n"
	      "\t\tdescribed=('help:describe a command'",
	      out);
	for (const struct pages_entry *e = pages_commands; e->cmd || e->heading; e++) {
		if (!e->cmd)
			continue;
		fprintf(out, "\n\t\t\t'%s:", e->cmd->name);
		quoted(e->cmd->summary, out);
		fputc('\'', out);
	}
	fputs(")\n\t\t_describe verb described\n\t\treturn\n\tfi\n", out);
	rc = arms(&zsh, out);
	fputs("\tcompadd -- ${=options}\n}\n\n_kfdsched \"$@\"\n", out);
	return rc;
}

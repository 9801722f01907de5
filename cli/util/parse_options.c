// SPDX-License-Identifier: MIT
/* Parses by getopt_long(3), which returns LONG_ONLY + i for the long option of entry i, and the
 * letter for a short option. Words (positional arguments) are parsed afterwards, in their order. */
#include "cli/util/parse_options.h"

#include <errno.h>
#include <getopt.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "channel/protocol.h"
#include "cli/util/daemon_query.h"
#include "common/parse.h"

#define OPTIONS 16    /* limit of the entries of a command, with --help */
#define LONG_ONLY 256 /* result of getopt_long() for options[0]; letters are smaller */
#define HELP (LONG_ONLY + OPTIONS)
#define CHOICES 128 /* size of the text that lists all choices */

/* ---- one value ---- */

/* Parses a finite decimal number above 0 with nothing behind it. Returns 0 or -EINVAL. */
static int positive(const char *text, double *out)
{
	char *end;

	/* strtod() also accepts blanks, "inf", "nan" and hexadecimal, which are wrong here. */
	if (text[strspn(text, "0123456789.eE-+")] != '\0' || text[0] == '\0')
		return -EINVAL;
	errno = 0;
	double value = strtod(text, &end);

	if (errno != 0 || *end != '\0' || !isfinite(value) || value <= 0)
		return -EINVAL;
	*out = value;
	return 0;
}

/* Parses a time above 0 in the grammar of common/parse.h ("20ms", "1.5s", "500 us") into
 * microseconds. Returns 0 or -EINVAL. */
static int duration_us(const char *text, double *out)
{
	uint64_t ns;

	if (!parse_time_ns(text, &ns) || ns == 0)
		return -EINVAL;
	*out = (double)ns / 1e3;
	return 0;
}

static bool read_time(const struct cli_option *option, const char *text)
{
	double us;

	if (option->value == VALUE_SECONDS && positive(text, &us) == 0)
		us *= 1e6;
	else if (duration_us(text, &us))
		return false;
	if (us < option->least || us > option->most)
		return false;
	*option->into.us = us;
	return true;
}

static bool read_number(const struct cli_option *option, const char *text)
{
	double value;

	if (positive(text, &value) || (option->most > 0 && value > option->most))
		return false;
	*option->into.number = (struct option_number){.value = value, .text = text};
	return true;
}

static bool read_count(const struct cli_option *option, const char *text)
{
	char *end;
	long n;

	errno = 0;
	n = strtol(text, &end, 10);
	if (errno || end == text || *end || n < 0 || (double)n < option->least ||
	    (double)n > option->most)
		return false;
	*option->into.count = (unsigned long)n;
	return true;
}

static bool read_choice(const struct cli_option *option, const char *text)
{
	for (unsigned i = 0; option->choices[i]; i++) {
		if (strcmp(option->choices[i], text) == 0) {
			*option->into.choice = i;
			return true;
		}
	}
	return false;
}

/* Parses `text` and stores the value. Returns false if the option does not accept it. */
static bool read_value(const struct cli_option *option, const char *text)
{
	int number;

	switch (option->value) {
	case VALUE_NONE:
		*option->into.flag = true;
		return true;
	case VALUE_IS:
		*option->into.choice = option->is;
		return true;
	case VALUE_TIME:
	case VALUE_SECONDS:
		return read_time(option, text);
	case VALUE_NUMBER:
		return read_number(option, text);
	case VALUE_COUNT:
		return read_count(option, text);
	case VALUE_CHOICE:
		return read_choice(option, text);
	case VALUE_READ:
		return option->read(text, option->into.any) == 0;
	case VALUE_PID:
		number = cli_pid(text);
		if (number)
			*option->into.pid = number;
		return number != 0;
	case VALUE_PRIORITY:
		if (protocol_priority(text, &number))
			return false;
		break;
	case VALUE_TEXT:
		if (option->most > 0 && (!*text || (double)strlen(text) > option->most))
			return false;
		break;
	case VALUE_SOCKET:
		break;
	}
	*option->into.text = text;
	return true;
}

/* Writes the list of choices for a message: "table, c or json". */
static const char *choices(char text[CHOICES], const char *const *list)
{
	const char *before = "";
	size_t used = 0;

	for (; *list && used < CHOICES; list++) {
		used += (size_t)snprintf(text + used, CHOICES - used, "%s%s", before, *list);
		before = list[1] && list[2] ? ", " : " or ";
	}
	return text;
}

/* Reports on stderr a value that is not accepted. Returns CLI_USAGE. */
static int refuse(const struct cli_command *cmd, const struct cli_option *option, const char *text)
{
	char list[CHOICES];
	const char *takes = option->choices ? choices(list, option->choices) : option->takes;

	if (option->word && option->choices)
		return cli_usage(cmd, "'%s' is not a valid %s: %s", text, option->name, takes);
	if (option->word)
		return cli_usage(cmd, "'%s' is not a valid %s", text, takes);
	if (!option->name)
		return cli_usage(cmd, "-%c takes %s, not '%s'", option->letter, takes, text);
	return cli_usage(cmd, "--%s takes %s, not '%s'", option->name, takes, text);
}

static int take(const struct cli_command *cmd, const struct cli_option *option, const char *text)
{
	return read_value(option, text) ? CLI_GO_ON : refuse(cmd, option, text);
}

/* ---- options ---- */

static bool is_there(const struct cli_option *option)
{
	return option->name || option->letter;
}

/* Converts the options to the arguments of getopt_long(3). Both arrays have room for OPTIONS
 * entries. */
static void describe(const struct cli_option *options, char *letters, struct option *names)
{
	size_t n = 0;

	for (size_t i = 0; is_there(&options[i]); i++) {
		const struct cli_option *o = &options[i];
		int argument = o->value == VALUE_NONE || o->value == VALUE_IS ? no_argument
			       : o->without				      ? optional_argument
									      : required_argument;

		if (i + 1 >= OPTIONS)
			abort(); /* a bug of the command: OPTIONS is too small for it */
		if (o->word)
			continue;
		if (o->name)
			names[n++] = (struct option){o->name, argument, NULL, LONG_ONLY + (int)i};
		if (o->letter)
			*letters++ = o->letter;
		for (int colons = 0; o->letter && colons < argument; colons++)
			*letters++ = ':';
	}
	names[n] = (struct option){"help", no_argument, NULL, HELP};
	names[n + 1] = (struct option){0};
	strcpy(letters, "h");
}

/* Returns the value of the option that getopt_long(3) has just found. If the option has no value,
 * returns option->without. */
static const char *value_of(const struct cli_option *option, char **argv)
{
	const char *next = argv[optind];

	if (optarg)
		return optarg;
	if (!option->apart || !next || (next[0] == '-' && next[1]))
		return option->without;
	optind++;
	return next;
}

static const struct cli_option *find(const struct cli_option *options, int found)
{
	if (found >= LONG_ONLY)
		return &options[found - LONG_ONLY];
	while (options->letter != found)
		options++;
	return options;
}

/* Reports an error of getopt_long(), which has returned '?' or ':'. Returns CLI_USAGE. */
static int unknown(const struct cli_command *cmd, int found, char **argv)
{
	const char *last = argv[optind - 1];

	if (found == ':')
		return cli_usage(cmd, "%s needs a value", last);
	/* If several short options are in one word (-ab), optind can still point to that word. So
	 * name the letter. */
	if (optopt != 0 && optopt < LONG_ONLY)
		return cli_usage(cmd, "unknown option -%c", optopt);
	return cli_usage(cmd, "%s option %s", optopt ? "wrong" : "unknown", last);
}

/* Parses the options. `how`: prefix of getopt(3)'s option string ("+" stops at the first word, ":"
 * reports a missing value as ':'). Returns CLI_GO_ON, or the exit code of the command. */
static int read_options(const struct cli_command *cmd, int argc, char **argv, const char *how,
			const struct cli_option *options)
{
	struct option names[OPTIONS + 1];
	char letters[3 * OPTIONS + 4];
	int found, code = CLI_GO_ON;

	for (const struct cli_option *o = options; is_there(o); o++)
		if (o->value == VALUE_SOCKET)
			*o->into.text = query_socket();
	strcpy(letters, how);
	describe(options, letters + strlen(how), names);
	opterr = 0;
	optind = 0; /* resets getopt(3), which was used before */
	while (code == CLI_GO_ON && (found = getopt_long(argc, argv, letters, names, NULL)) != -1) {
		if (found == 'h' || found == HELP)
			return cli_help(cmd);
		if (found == '?' || found == ':')
			return unknown(cmd, found, argv);
		const struct cli_option *option = find(options, found);

		code = take(cmd, option, value_of(option, argv));
	}
	return code;
}

int options_before_command(const struct cli_command *cmd, int argc, char **argv,
			   const struct cli_option *options, char ***command)
{
	int code = read_options(cmd, argc, argv, "+:", options);

	*command = argv + optind;
	return code;
}

/* ---- words ---- */

int options_too_many(const struct cli_command *cmd, const char *word)
{
	return cli_usage(cmd, "unexpected argument '%s'", word);
}

int options_read(const struct cli_command *cmd, int argc, char **argv,
		 const struct cli_option *options)
{
	int code = read_options(cmd, argc, argv, ":", options);
	char **word = argv + optind;

	for (; code == CLI_GO_ON && is_there(options); options++) {
		if (!options->word || (!*word && options->optional))
			continue;
		code = *word ? take(cmd, options, *word) : cli_usage(cmd, "no %s", options->name);
		word += *word != NULL;
	}
	return code == CLI_GO_ON && *word ? options_too_many(cmd, *word) : code;
}

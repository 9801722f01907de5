/* SPDX-License-Identifier: MIT */
/*
 * Parser of the command line of a kfdsched command.
 *
 * A command describes its options and positional arguments ("words") in one array. Each entry names
 * the values that are allowed and the variable that receives the value. A wrong command line is
 * reported in the same way by all commands: one line on stderr and CLI_USAGE.
 *
 *	const struct cli_option options[] = {
 *		{OPTION_SECONDS("interval", &us, 1e3, 86400e6, "seconds, or a time of ...")},
 *		{OPTION_FLAG("follow", &follow), .letter = 'f'},
 *		{OPTION_SOCKET(&socket)},
 *		{WORD_PID(&pid), .optional = true},
 *		{0},
 *	};
 *	int code = options_read(&cmd_x, argc, argv, options);
 *
 * -h and --help are always accepted. A variable keeps its value if its option is not given. If an
 * option is given several times, the last one counts.
 *
 * Ownership: texts point into argv and are not copied. Threads: not thread-safe, because getopt(3)
 * keeps its state in globals.
 */
#ifndef KFDSHIM_CLI_UTIL_PARSE_OPTIONS_H
#define KFDSHIM_CLI_UTIL_PARSE_OPTIONS_H

#include "cli/util/command.h"

/* A number above 0, and the text from which it was parsed. */
struct option_number {
	double value;
	const char *text;
};

struct cli_option {
	/* Of an option: its long name without the dashes; NULL: the option has a letter only. Of a
	 * word (positional argument): what the message calls it if it is missing ("no PID"). */
	const char *name;
	char letter; /* short option; 0: none */
	enum {
		VALUE_NONE,   /* no value; stores true in *into.flag */
		VALUE_IS,     /* no value; stores `is` in *into.choice */
		VALUE_TEXT,   /* not empty, at most `most` bytes; `most` 0: any text */
		VALUE_SOCKET, /* default: query_socket() */
		VALUE_PRIORITY,
		VALUE_TIME,    /* with a unit, "20ms"; `least` to `most` us */
		VALUE_SECONDS, /* as VALUE_TIME, or a bare number of seconds */
		VALUE_NUMBER,  /* above 0, at most `most`; `most` 0: no limit */
		VALUE_COUNT,   /* integer, `least` to `most` */
		VALUE_PID,
		VALUE_CHOICE, /* one of `choices` */
		VALUE_READ,   /* any text that `read` accepts */
	} value;
	bool word;     /* a positional argument, not an option */
	bool optional; /* the word can be left out */
	/* Completes the error message. Of an option: "--NAME takes ..., not '...'". Of a word:
	 * "'...' is not a valid ...". */
	const char *takes;
	double least, most;
	const char *const *choices; /* ends with NULL */
	unsigned is;		    /* value that VALUE_IS stores */
	/* Value if the option is given without one; NULL: a value is required. */
	const char *without;
	/* If `without` is set: the next argument is also accepted as the value, if it is "-" or
	 * does not begin with '-'. Only for a command that has no positional arguments. */
	bool apart;
	/* Parses `text` into *out. Returns 0, or a negative errno if the text is not valid. */
	int (*read)(const char *text, void *out);
	union {
		bool *flag;
		const char **text;
		double *us;
		struct option_number *number;
		unsigned long *count;
		int *pid;
		unsigned *choice; /* index in `choices` */
		void *any;
	} into;
};

/* Initializers of one entry. Further members can follow the macro: {OPTION_FLAG(...), .letter =
 * 'f'}. No macro expands to another one of these macros, because cppcheck cannot parse that. */
#define OPTION_FLAG(NAME, INTO) .name = (NAME), .into.flag = (INTO)
#define OPTION_IS(NAME, INTO, CHOICE)                                                              \
	.name = (NAME), .value = VALUE_IS, .into.choice = (INTO), .is = (CHOICE)
#define OPTION_TEXT(NAME, INTO) .name = (NAME), .value = VALUE_TEXT, .into.text = (INTO)
/* Initializes an option whose value is a text that is not empty and has at most MOST bytes. */
#define OPTION_NAME(NAME, INTO, MOST, TAKES)                                                       \
	.name = (NAME), .value = VALUE_TEXT, .into.text = (INTO), .most = (MOST), .takes = (TAKES)
/* OPTION_TIME and OPTION_SECONDS: *INTO, LEAST and MOST are in microseconds. */
#define OPTION_TIME(NAME, INTO, LEAST, MOST, TAKES)                                                \
	.name = (NAME), .value = VALUE_TIME, .into.us = (INTO), .least = (LEAST), .most = (MOST),  \
	.takes = (TAKES)
#define OPTION_SECONDS(NAME, INTO, LEAST, MOST, TAKES)                                             \
	.name = (NAME), .value = VALUE_SECONDS, .into.us = (INTO), .least = (LEAST),               \
	.most = (MOST), .takes = (TAKES)
#define OPTION_NUMBER(NAME, INTO, MOST, TAKES)                                                     \
	.name = (NAME), .value = VALUE_NUMBER, .into.number = (INTO), .most = (MOST),              \
	.takes = (TAKES)
#define OPTION_COUNT(NAME, INTO, LEAST, MOST, TAKES)                                               \
	.name = (NAME), .value = VALUE_COUNT, .into.count = (INTO), .least = (LEAST),              \
	.most = (MOST), .takes = (TAKES)
#define OPTION_PID(NAME, INTO)                                                                     \
	.name = (NAME), .value = VALUE_PID, .into.pid = (INTO), .takes = "a process id"
#define OPTION_CHOICE(NAME, INTO, CHOICES)                                                         \
	.name = (NAME), .value = VALUE_CHOICE, .into.choice = (INTO), .choices = (CHOICES)
/* READ(text, INTO) parses the value; see struct cli_option. */
#define OPTION_READ(NAME, INTO, READ, TAKES)                                                       \
	.name = (NAME), .value = VALUE_READ, .into.any = (INTO), .read = (READ), .takes = (TAKES)

/* Options and words that several commands have. */
#define OPTION_JSON(INTO) .name = "json", .into.flag = (INTO)
/* Option --json [FILE]: the JSON is written to FILE. If FILE is missing, *INTO is "-" and the JSON
 * is written to stdout, as in all other commands. */
#define OPTION_JSON_FILE(INTO)                                                                     \
	.name = "json", .value = VALUE_TEXT, .into.text = (INTO), .without = "-", .apart = true
#define OPTION_SOCKET(INTO) .name = "socket", .value = VALUE_SOCKET, .into.text = (INTO)
#define HELP_SOCKET                                                                                \
	"  --socket PATH  where the daemon listens; without it KFDSHIM_SOCKET, or\n"               \
	"                 /run/kfdsched/socket\n"
#define OPTION_PRIORITY(INTO)                                                                      \
	.name = "priority", .value = VALUE_PRIORITY, .into.text = (INTO),                          \
	.takes = "online, offline or 0 to 15"
#define OPTION_CONTAINER(INTO)                                                                     \
	.name = "container", .value = VALUE_TEXT, .into.text = (INTO), .most = INT_MAX,            \
	.takes = "a name or the beginning of an id"
#define WORD_PID(INTO)                                                                             \
	.name = "PID", .value = VALUE_PID, .into.pid = (INTO), .word = true, .takes = "process id"

/*
 * Parses the whole command line. `options` ends with {0}, has at most 15 entries, and lists its
 * words in the order of the command line.
 *
 * Returns CLI_GO_ON, or the exit code with which the command has to end: CLI_DONE after it has
 * printed the help, CLI_USAGE after it has reported an error in one line on stderr.
 */
int options_read(const struct cli_command *cmd, int argc, char **argv,
		 const struct cli_option *options);
/* Parses the command line like options_read(), but for a command of kfdsched that is followed by a
 * command to execute. Parsing stops at the first word. Sets *command to the remaining part of argv,
 * which begins with this word and ends with NULL. If the user has typed "--" before the word,
 * (*command)[-1] is "--". */
int options_before_command(const struct cli_command *cmd, int argc, char **argv,
			   const struct cli_option *options, char ***command);

/* Reports `word` as superfluous, in one line on stderr. Returns CLI_USAGE. */
int options_too_many(const struct cli_command *cmd, const char *word);

#endif

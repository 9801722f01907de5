/* SPDX-License-Identifier: MIT */
/*
 * A verb's command line as one array: its options, and the words beside them, each with
 * what it takes and where that goes. What is wrong is said in one way for all verbs.
 *
 *	const struct verb_option options[] = {
 *		{OPTION_SECONDS("interval", &us, 1e3, 86400e6, "seconds, or a time of ...")},
 *		{OPTION_FLAG("follow", &follow), .letter = 'f'},
 *		{OPTION_SOCKET(&socket)},
 *		{WORD_PID(&pid), .optional = true},
 *		{0},
 *	};
 *	int code = options_read(&verb_x, argc, argv, options);
 *
 * -h and --help are always there. What is not given stays as it was; what is given several
 * times counts as it was given last. Texts point into argv. Threads: none, as getopt(3).
 */
#ifndef KFDSHIM_CLI_OPTIONS_H
#define KFDSHIM_CLI_OPTIONS_H

#include "scheduler/cli/cli.h"

/* A number above 0, and as it was typed. */
struct option_number {
	double value;
	const char *text;
};

struct verb_option {
	/* An option's, without its dashes (NULL: it has but a letter); of a word what is said
	 * to be missing, "no PID". */
	const char *name;
	char letter; /* 0: none */
	enum {
		VALUE_NONE,
		VALUE_IS,     /* none, and a choice is made by it */
		VALUE_TEXT,   /* most: bytes, and it is not empty; 0: any */
		VALUE_SOCKET, /* where it was not given: the session's */
		VALUE_PRIORITY,
		VALUE_TIME,    /* with its unit, "20ms"; of least to most, in us */
		VALUE_SECONDS, /* the same, and a number alone is of seconds */
		VALUE_NUMBER,  /* above 0, at most `most`; 0: any */
		VALUE_COUNT,   /* whole, of least to most */
		VALUE_PID,
		VALUE_CHOICE, /* one of `choices` */
		VALUE_READ,   /* what `read` takes */
	} value;
	bool word;	   /* it is no option, but the next word, and has to be there... */
	bool optional;	   /* ... or not */
	const char *takes; /* "--NAME takes ..., not '...'"; a word: "'...' is no ..." */
	double least, most;
	const char *const *choices; /* up to NULL */
	unsigned is;		    /* the choice of VALUE_IS */
	const char *without;	    /* not NULL: the value may be left away, and is this then */
	int (*read)(const char *text, void *out); /* 0, or a negative errno: it is none */
	union {
		bool *flag;
		const char **text;
		double *us;
		struct option_number *number;
		unsigned long *count;
		int *pid;
		unsigned *choice; /* its place in choices */
		void *any;
	} into;
};

/* The fields of one; further ones stand behind them: {OPTION_FLAG(...), .letter = 'f'}. None
 * is made of another, for cppcheck does not take that. */
#define OPTION_FLAG(NAME, INTO) .name = (NAME), .into.flag = (INTO)
#define OPTION_IS(NAME, INTO, CHOICE)                                                              \
	.name = (NAME), .value = VALUE_IS, .into.choice = (INTO), .is = (CHOICE)
#define OPTION_TEXT(NAME, INTO) .name = (NAME), .value = VALUE_TEXT, .into.text = (INTO)
/* Not empty, and no longer than MOST bytes. */
#define OPTION_NAME(NAME, INTO, MOST, TAKES)                                                       \
	.name = (NAME), .value = VALUE_TEXT, .into.text = (INTO), .most = (MOST), .takes = (TAKES)
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
#define OPTION_READ(NAME, INTO, READ, TAKES)                                                       \
	.name = (NAME), .value = VALUE_READ, .into.any = (INTO), .read = (READ), .takes = (TAKES)

/* What several verbs have. */
#define OPTION_JSON(INTO) .name = "json", .into.flag = (INTO)
#define OPTION_SOCKET(INTO) .name = "socket", .value = VALUE_SOCKET, .into.text = (INTO)
#define OPTION_PRIORITY(INTO)                                                                      \
	.name = "priority", .value = VALUE_PRIORITY, .into.text = (INTO),                          \
	.takes = "online, offline or 0 to 15"
#define OPTION_CONTAINER(INTO)                                                                     \
	.name = "container", .value = VALUE_TEXT, .into.text = (INTO), .most = INT_MAX,            \
	.takes = "a name or the beginning of an id"
#define WORD_PID(INTO)                                                                             \
	.name = "PID", .value = VALUE_PID, .into.pid = (INTO), .word = true, .takes = "process id"

/* Reads all of it. `options` ends with {0} and has its words in their order. CLI_GO_ON, or
 * the exit code to end with: help was printed, or one line has said what is wrong. */
int options_read(const struct verb *verb, int argc, char **argv, const struct verb_option *options);
/* The same for a verb that a command follows: it stops at the first word, from which on
 * *command has all, up to NULL; command[-1] is "--" where one stood before it. */
int options_before_command(const struct verb *verb, int argc, char **argv,
			   const struct verb_option *options, char ***command);

int options_too_many(const struct verb *verb, const char *word);

#endif

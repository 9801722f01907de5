/* SPDX-License-Identifier: MIT */
/*
 * Parser of a command's usage line (command.h, struct command): its options, their values, and its other
 * arguments. Completions are generated from it, so that each command describes its arguments in one
 * place only.
 *
 * The line consists of words: --option, -o, VALUE or a|b|c behind an option, VALUE or a|b|c alone;
 * [ ] around optional words, "..." behind a word that can be repeated. Pure. Threads: any.
 */
#ifndef KFDSHIM_CLI_DOCGEN_USAGE_H
#define KFDSHIM_CLI_DOCGEN_USAGE_H

#include <stdbool.h>
#include <stddef.h>

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

/* Parses a usage line. Returns 0, or -EINVAL if it has more than USAGE_WORDS words. */
int usage_parse(const char *line, struct usage *out);
/* Returns true if the value is a list of possible words in lower case, as table|c|json. */
bool usage_is_choice(const char *value);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * A verb's usage line, taken apart: which options it has, what each takes, and what stands
 * without one. Manual pages and completions are made of it, so that there is one place
 * where a verb says what it takes (cli.h, struct verb).
 *
 * The line is of words: --option, -o, VALUE or a|b|c behind one, VALUE or a|b|c alone;
 * [ ] around what may be left out, "..." behind what may come again. Pure. Threads: any.
 */
#ifndef KFDSHIM_PAGES_USAGE_H
#define KFDSHIM_PAGES_USAGE_H

#include <stdbool.h>
#include <stddef.h>

#define USAGE_WORDS 32
#define USAGE_TEXT 128

struct usage_word {
	char option[USAGE_TEXT]; /* "--seconds"; empty: it stands alone */
	char value[USAGE_TEXT];	 /* "N", "table|c|json"; empty: the option takes none */
};

struct usage {
	struct usage_word word[USAGE_WORDS];
	size_t count;
};

/* -EINVAL: it is not of that form (or of too many words). */
int usage_parse(const char *line, struct usage *out);
/* It names what may stand there, as lower case words: table|c|json. */
bool usage_is_choice(const char *value);

#endif

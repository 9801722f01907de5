/* SPDX-License-Identifier: MIT */
/*
 * What is made of the verbs for those who do not ask the command itself: a manual page
 * each (scdoc's source), and completions for bash and zsh. Run when kfdsched is built.
 *
 * Threads: none. Each writes all it has to `out`; the caller looks for errors there.
 */
#ifndef KFDSHIM_PAGES_PAGES_H
#define KFDSHIM_PAGES_PAGES_H

#include <stdio.h>

#include "scheduler/cli/cli.h"

struct pages_entry {
	const struct verb *verb; /* NULL: a heading */
	const char *heading;
};

/* Ends with an entry that is neither. */
extern const struct pages_entry pages_verbs[];

void pages_man_verb(const struct verb *verb, FILE *out);
void pages_man_overview(FILE *out);
/* -EINVAL: the usage of a verb is not of usage.h's form; told on stderr. */
int pages_bash(FILE *out);
int pages_zsh(FILE *out);

#endif

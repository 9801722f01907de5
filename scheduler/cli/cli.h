/* SPDX-License-Identifier: MIT */
/*
 * What the verbs of kfdsched share: the dispatch table's entry, exit codes,
 * how wrong use is told, and where the other binaries of a build are found.
 *
 * Threads: none. stdout is data, stderr is talk.
 */
#ifndef KFDSHIM_CLI_CLI_H
#define KFDSHIM_CLI_CLI_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

#define CLI_DONE 0
#define CLI_FAILED 1
#define CLI_USAGE 2
#define CLI_IMPOSSIBLE 77
#define CLI_EXITS "0 done, 1 failed, 2 wrong use, 77 not possible here."
/* No exit code: what was to be found out allows to go on. */
#define CLI_GO_ON (-1)

/* One verb. `run` gets argv[0] = the verb and returns the exit code. */
struct verb {
	const char *name;
	const char *summary; /* a few words, for the list of verbs */
	const char *usage;   /* what follows "kfdsched VERB", one line */
	const char *help;    /* options and two examples */
	const char *exits;   /* what its exit codes mean; NULL: CLI_EXITS */
	int (*run)(int argc, char **argv);
};

#define VERB_HEADING(text)
#define VERB(name) extern const struct verb verb_##name;
#include "scheduler/cli/verbs.def"
#undef VERB
#undef VERB_HEADING

/* Prints the verb's help on stdout; CLI_DONE. */
int cli_help(const struct verb *verb);
/* One line on stdout; what a terminal would obey or hide in it becomes '?', as in the lines
 * below. */
void cli_say(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* One line on stderr: what is wrong, and the usage. CLI_USAGE. */
int cli_usage(const struct verb *verb, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* One line on stderr, "kfdsched VERB: ...". CLI_FAILED. */
int cli_failed(const struct verb *verb, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* One line on stderr, before a debug session is opened on process `pid`: what that can do to it. */
#define CLI_SESSION_DANGER "on a real GPU a busy runtime has died of opening a debug session"
void cli_warn_session(const struct verb *verb, int pid);

/* A command's exit code of what waitpid(2) has given; 128 + N: signal N ended it. */
int cli_exit_code(int status);
/* A process id; 0: it is none. */
int cli_pid(const char *text);
/* A finite number > 0, nothing behind it. -EINVAL otherwise. */
int cli_positive(const char *text, double *out);
/* A time above 0 as common/parse.h has it, "20ms", "1.5s", "500 us". -EINVAL otherwise. */
int cli_duration_us(const char *text, double *out);

/* The absolute path of a binary that belongs to this kfdsched: in its own
 * folder, or (libraries of an installed one) in ../lib. -ENOENT: neither. */
int cli_beside(const char *name, char path[PATH_MAX]);
/* Sets LD_PRELOAD: every earlier libkfdshim.so is taken out of it, and `shim`
 * (NULL: nothing) goes before the rest. -EINVAL: the path has a space or a
 * colon, which LD_PRELOAD cannot carry. */
int cli_preload(const char *shim);

#endif

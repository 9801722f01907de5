/* SPDX-License-Identifier: MIT */
/*
 * Shared by all commands of kfdsched: the entry of the command table, exit codes, messages
 * about failures and wrong use, and where to find the other binaries of the build.
 *
 * Data goes to stdout, messages go to stderr. Threads: none.
 */
#ifndef KFDSHIM_CLI_UTIL_COMMAND_H
#define KFDSHIM_CLI_UTIL_COMMAND_H

#include <limits.h>
#include <stdbool.h>
#include <stdio.h>

#define CLI_DONE 0
#define CLI_FAILED 1
#define CLI_USAGE 2
#define CLI_IMPOSSIBLE 77
#define CLI_EXITS "0 success, 1 failure, 2 usage error, 77 not possible here."
/* Not an exit code: the check has succeeded, and the command continues. */
#define CLI_GO_ON (-1)

/* One command of kfdsched. */
struct cli_command {
	const char *name;
	const char *summary;		   /* a few words, for the list of commands */
	const char *usage;		   /* what follows "kfdsched COMMAND", one line */
	const char *help;		   /* options and two examples */
	const char *exits;		   /* meaning of its exit codes; NULL: CLI_EXITS */
	int (*run)(int argc, char **argv); /* argv[0]: the command's name; returns the exit code */
};

#define COMMAND_HEADING(text)
#define COMMAND(name) extern const struct cli_command cmd_##name;
#include "cli/commands.def"
#undef COMMAND
#undef COMMAND_HEADING

/* Prints the command's help on stdout. Returns CLI_DONE. */
int cli_help(const struct cli_command *cmd);
/* Prints one line on stdout. Characters that a terminal would interpret or hide become '?', because
 * names in the text are chosen by other users. The functions below replace such characters, too. */
void cli_print_error(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* Prints one line on stderr: what is wrong with the arguments, and the usage. Returns
 * CLI_USAGE. */
int cli_usage(const struct cli_command *cmd, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
/* Prints one line on stderr, "kfdsched COMMAND: ...". Returns CLI_FAILED. */
int cli_failed(const struct cli_command *cmd, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

#define CLI_SESSION_DANGER                                                                         \
	"on a real GPU a busy runtime has crashed when a debug session was opened"
/* Prints one line on stderr about the danger of a debug session on process `pid`, before the
 * session is opened. Prints nothing if there is no /dev/kfd, because then no session can be
 * opened. */
void cli_warn_session(const struct cli_command *cmd, int pid);

/* Returns the exit code for `status`, which waitpid(2) has filled; 128 + N if signal N ended
 * the process. */
int cli_exit_code(int status);
/* Parses a process id. Returns 0 if `text` is not a process id. */
int cli_pid(const char *text);

/* Checks before a measurement that the file for its result can be written, because the result would
 * be lost otherwise. Creates a file that does not exist, and removes it again. Returns CLI_DONE, or
 * CLI_FAILED after one line on stderr. */
int cli_check_output(const struct cli_command *cmd, const char *path);
/* Closes a file that was opened for writing. If `file` is NULL, opening it has failed, and errno
 * has the reason. Returns CLI_DONE; or CLI_FAILED, after one line on stderr, if the file is not
 * complete. */
int cli_close_output(const struct cli_command *cmd, const char *path, FILE *file);

/* Finds the absolute path of another binary of this build: in the directory of kfdsched, or in
 * ../lib (libraries of an installed kfdsched). Returns 0, or -ENOENT if it is in neither. */
int cli_beside(const char *name, char path[PATH_MAX]);
/* Finds a program as cli_beside() does. `shim`: the program is libkfdshim.so, whose path must not
 * contain a blank or colon, because these separate the paths in LD_PRELOAD. Returns CLI_DONE, or
 * CLI_FAILED after one line on stderr. */
int cli_need(const struct cli_command *cmd, const char *name, bool shim, char path[PATH_MAX]);
/*
 * Returns the LD_PRELOAD setting for a program that is to be started, in the form for putenv(3):
 * "LD_PRELOAD=", then `shim` (from cli_need(); NULL: nothing), then the libraries in LD_PRELOAD of
 * this process, except libkfdshim.so. If there is no library, the result is "LD_PRELOAD", which
 * removes the variable. The caller frees it.
 */
char *cli_preload(const char *shim);
/* Returns the directory for temporary files. */
const char *cli_temporary(void);
/* Removes a directory and all that is in it; does nothing if `path` is "". Prints on stderr what
 * cannot be removed. */
void cli_remove(const char *path);

#endif

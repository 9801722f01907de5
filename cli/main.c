// SPDX-License-Identifier: MIT
/* kfdsched: finds the command in the table of commands.def and runs it. */
#include "cli/util/command.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "common/allocate.h"
#include "common/version.h"

/* The commands in the order in which the help lists them. An entry is either a command or the
 * heading of a group of commands. */
static const struct {
	const struct cli_command *cmd;
	const char *heading;
} commands[] = {
#define COMMAND_HEADING(text) {.heading = (text)},
#define COMMAND(name) {.cmd = &cmd_##name},
#include "cli/commands.def"
#undef COMMAND
#undef COMMAND_HEADING
};
#define COMMANDS (sizeof(commands) / sizeof(commands[0]))

static const struct cli_command *find(const char *name)
{
	for (size_t i = 0; i < COMMANDS; i++)
		if (commands[i].cmd && strcmp(commands[i].cmd->name, name) == 0)
			return commands[i].cmd;
	return NULL;
}

/* Prints the list of commands. */
static int overview(void)
{
	printf("kfdsched - priorities for processes that share an AMD GPU\n"
	       "\n"
	       "Usage: kfdsched COMMAND [OPTIONS]\n");
	for (size_t i = 0; i < COMMANDS; i++) {
		if (commands[i].heading)
			printf("\n%s\n", commands[i].heading);
		else
			printf("  %-10s %s\n", commands[i].cmd->name, commands[i].cmd->summary);
	}
	printf("\n"
	       "'kfdsched help COMMAND' describes a command, with examples; 'kfdsched --version' "
	       "prints\n"
	       "release and commit.\n"
	       "Exit codes: 0 success, 1 failure, 2 usage error, 77 not possible here.\n");
	return CLI_DONE;
}

/* Prints one line on stderr: what is wrong with the command line (`what` and `name`), the names of
 * all commands, and the usage. Returns CLI_USAGE. */
static int wrong(const char *what, const char *name)
{
	const char *before = "";

	fprintf(stderr, "kfdsched: %s%s; commands:", what, name);
	for (size_t i = 0; i < COMMANDS; i++) {
		if (!commands[i].cmd)
			continue;
		fprintf(stderr, "%s %s", before, commands[i].cmd->name);
		before = ",";
	}
	fprintf(stderr, "; usage: kfdsched COMMAND [OPTIONS] (kfdsched help COMMAND)\n");
	return CLI_USAGE;
}

static int dispatch(int argc, char **argv)
{
	const struct cli_command *cmd;

	if (argc < 2)
		return wrong("no command", "");
	if (version_print(argc, argv, "kfdsched"))
		return CLI_DONE;
	if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0)
		return overview();
	if (strcmp(argv[1], "help") == 0) {
		if (argc < 3)
			return overview();
		cmd = find(argv[2]);
		return cmd ? cli_help(cmd) : wrong("unknown command ", argv[2]);
	}
	cmd = find(argv[1]);
	return cmd ? cmd->run(argc - 1, argv + 1) : wrong("unknown command ", argv[1]);
}

static void *json_memory(size_t bytes)
{
	return allocated(malloc(bytes));
}

int main(int argc, char **argv)
{
	int code;

	json_set_alloc_funcs(json_memory, free);
	code = dispatch(argc, argv);

	/* Every command fails if its output could not be written (full disk, closed pipe). */
	if (fflush(stdout) != 0 || ferror(stdout)) {
		fprintf(stderr, "kfdsched: cannot write all of the output: %m\n");
		return CLI_FAILED;
	}
	return code;
}

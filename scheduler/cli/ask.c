// SPDX-License-Identifier: MIT
#include "scheduler/cli/ask.h"

#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "channel/protocol.h"
#include "scheduler/lib/kfdsched.h"
#include "scheduler/observe/sources.h"

const char *ask_socket(void)
{
	const char *path = getenv("KFDSHIM_SOCKET");

	return path && path[0] != '\0' ? path : PROTOCOL_SOCKET;
}

/* With `verb` an error is told as one line. */
static int ask(const struct verb *verb, const char *socket, int pid, json_t **out)
{
	struct kfdsched *daemon = kfdsched_open(socket);
	char *text = NULL;
	int rc = daemon ? kfdsched_status(daemon, pid, &text) : -ENOMEM;

	*out = rc ? NULL : json_loads(text, 0, NULL);
	if (verb && !daemon)
		cli_failed(verb, "no memory");
	else if (verb && rc)
		cli_failed(verb, "%s", kfdsched_sentence(daemon));
	else if (verb && !*out)
		cli_failed(verb,
			   "what answers at %s is no kfdschedd of this version: use the kfdsched "
			   "that belongs to it",
			   socket);
	free(text);
	kfdsched_close(daemon);
	return rc ? rc : *out ? 0 : -EPROTO;
}

int ask_daemon(const char *socket, int pid, json_t **out)
{
	return ask(NULL, socket, pid, out);
}

/* A daemon outside of our pid namespace tells beside its own number the process' own. */
static bool is_it(const json_t *process, bool otherwise, int pid)
{
	struct stat own;

	if (!otherwise)
		return json_integer_value(json_object_get(process, "pid")) == pid;
	return json_integer_value(json_object_get(process, "own_pid")) == pid &&
	       stat("/proc/self/ns/pid", &own) == 0 &&
	       json_integer_value(json_object_get(process, "pid_namespace")) ==
		       (json_int_t)own.st_ino;
}

int ask_number(const char *socket, int pid)
{
	bool otherwise = source_daemon_counts_otherwise(socket);
	const json_t *process;
	json_int_t number = 0;
	json_t *status;
	size_t i;

	if (ask_daemon(socket, 0, &status) != 0)
		return 0;
	json_array_foreach(json_object_get(status, "processes"), i, process)
	{
		if (is_it(process, otherwise, pid))
			number = json_integer_value(json_object_get(process, "pid"));
	}
	json_decref(status);
	return (int)number;
}

int ask_options(const struct verb *verb, int argc, char **argv, struct ask_options *out)
{
	static const struct option options[] = {
		{"dump", no_argument, NULL, 'd'}, /* first: not every verb has it */
		{"json", no_argument, NULL, 'j'}, {"socket", required_argument, NULL, 's'},
		{"help", no_argument, NULL, 'h'}, {0},
	};
	const struct option *known = out->dump ? options : options + 1;
	int option;

	*out = (struct ask_options){.socket = ask_socket()};
	opterr = 0;
	while ((option = getopt_long(argc, argv, ":h", known, NULL)) != -1) {
		switch (option) {
		case 'd':
			out->dump = true;
			break;
		case 'j':
			out->json = true;
			break;
		case 's':
			out->socket = optarg;
			break;
		case 'h':
			return cli_help(verb);
		default:
			return cli_usage_getopt(verb, option, argv);
		}
	}
	return ASK_GO_ON;
}

int ask_pid(const struct verb *verb, int argc, char **argv, int *pid)
{
	*pid = 0;
	if (optind == argc)
		return ASK_GO_ON;
	*pid = cli_pid(argv[optind]);
	if (!*pid)
		return cli_usage(verb, "'%s' is not a process id", argv[optind]);
	if (++optind < argc)
		return cli_usage(verb, "'%s' is one argument too many", argv[optind]);
	return ASK_GO_ON;
}

int ask_status(const struct verb *verb, const char *socket, int pid, json_t **out)
{
	return ask(verb, socket, pid, out) ? CLI_FAILED : ASK_GO_ON;
}

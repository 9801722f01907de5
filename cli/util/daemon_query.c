// SPDX-License-Identifier: MIT
#include "cli/util/daemon_query.h"

#include <errno.h>
#include <stdlib.h>

#include "channel/protocol.h"
#include "cli/inspect/sources.h"
#include "common/allocate.h"
#include "include/kfdsched.h"

const char *query_socket(void)
{
	const char *path = getenv("KFDSHIM_SOCKET");

	return path && path[0] != '\0' ? path : PROTOCOL_SOCKET;
}

/* Queries the daemon's state of process `pid`. `pid` 0: of all processes. `summary` true: of all
 * processes, in brief. Prints one line after an error, unless `cmd` is NULL. Returns 0 or a
 * negative errno. */
static int query(const struct cli_command *cmd, const char *socket, int pid, bool summary,
		 json_t **out)
{
	struct kfdsched *daemon = allocated(kfdsched_open(socket));
	char *text = NULL;
	int rc = summary ? kfdsched_summary(daemon, &text) : kfdsched_status(daemon, pid, &text);

	*out = rc ? NULL : json_loads(text, 0, NULL);
	if (cmd && rc)
		cli_failed(cmd, "%s", kfdsched_errmsg(daemon));
	else if (cmd && !*out)
		cli_failed(cmd,
			   "the process that listens at %s is not a kfdschedd of this version: use "
			   "the kfdsched of its version",
			   socket);
	free(text);
	kfdsched_close(daemon);
	return rc ? rc : *out ? 0 : -EPROTO;
}

int query_daemon(const char *socket, int pid, json_t **out)
{
	return query(NULL, socket, pid, false, out);
}

int daemon_query_number(const char *socket, int pid)
{
	/* True if the daemon's pids are those of another pid namespace than this process has. */
	bool otherwise = source_daemon_counts_otherwise(socket);
	json_int_t number;
	json_t *status;

	if (query_daemon(socket, 0, &status) != 0)
		return 0;
	number = json_integer_value(
		json_object_get(source_daemon_process(status, otherwise, pid), "pid"));
	json_decref(status);
	return (int)number;
}

int daemon_query_status(const struct cli_command *cmd, const char *socket, int pid, bool summary,
			json_t **out)
{
	return query(cmd, socket, pid, summary, out) ? CLI_FAILED : CLI_GO_ON;
}

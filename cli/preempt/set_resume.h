/* SPDX-License-Identifier: MIT */
/*
 * Functions of the commands that send a control request to the daemon (suspend, resume and set for
 * one process, policy for nodes): they parse the arguments and print the daemon's reply.
 *
 * Threads: none.
 */
#ifndef KFDSHIM_CLI_PREEMPT_SET_RESUME_H
#define KFDSHIM_CLI_PREEMPT_SET_RESUME_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "cli/util/parse_options.h"
#include "include/kfdsched.h"

struct control_req {
	struct kfdsched *daemon; /* closed by kfdsched_close() */
	const char *socket;
	int pid; /* 0: policy */
	bool json;
};

/* Parses the command line by `options`, whose variables can be members of *req, and opens
 * req->daemon (no connection yet). Returns CLI_GO_ON, or the exit code to end with; req->daemon
 * is open only after CLI_GO_ON. */
int control_req_read(const struct cli_command *cmd, int argc, char **argv,
		     const struct cli_option *options, struct control_req *req);

/* Returns true if the result `rc` of a request means that no daemon is responsible for process
 * `pid`: no daemon answers (-ENOENT, -ECONNREFUSED), or the daemon does not know the process
 * (-ESRCH) although the process exists. */
bool control_req_needs_daemon(int rc, int pid);

/* Prints the daemon's reply (kfdsched_errmsg()) in one line: on stdout if rc >= 0, else on stderr
 * as an error. Returns CLI_DONE or CLI_FAILED. */
int control_req_print(const struct cli_command *cmd, const struct control_req *req, int rc);
/* As control_req_print(), but if req->json is set and rc >= 0, prints the reply as JSON with
 * `more`, the keys of this command (reference taken; can be NULL). */
int control_req_print_done(const struct cli_command *cmd, const struct control_req *req, int rc,
			   json_t *more);
/* Prints one JSON object: "request" (the command), "pid" unless it is 0, the keys of `more`
 * (reference taken; can be NULL) and "reply". */
void control_req_print_json(const struct cli_command *cmd, int pid, const char *reply,
			    json_t *more);

/* ---- suspend ---- */

#define SUSPEND_IDS_MAX 1024u /* limit of the ids that --queues accepts: 0 to 1023 */

struct suspend_ids {
	uint32_t id[SUSPEND_IDS_MAX]; /* ascending, without duplicates */
	uint32_t count;
};

/* Parses a list of queue ids, "0,2-5"; `ids` is a struct suspend_ids. Returns 0, or -EINVAL if the
 * text is not such a list. */
int suspend_read_ids(const char *text, void *ids);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * Checks the process that a command names, opens a pidfd for it, and reports why processes cannot
 * be read.
 *
 * The functions that return CLI_FAILED or CLI_IMPOSSIBLE have reported the reason in one line on
 * stderr.
 *
 * Threads: none.
 */
#ifndef KFDSHIM_CLI_UTIL_SELECT_PROCESS_H
#define KFDSHIM_CLI_UTIL_SELECT_PROCESS_H

#include "cli/inspect/snapshot.h"
#include "cli/util/command.h"

/* Reads a snapshot. Returns NULL after one line on stderr if the processes cannot be listed. */
const struct snapshot *select_read(const struct cli_command *cmd, struct snapshot_reader *reader,
				   const struct snapshot_request *request);
/* Prints on stderr the number of processes whose GPU use only root can see. Prints nothing if there
 * are none. */
void select_warn_hidden(const struct cli_command *cmd, const struct snapshot *snapshot);

/* Reads the identity of process `pid`. Returns CLI_GO_ON, or CLI_FAILED if the process cannot have
 * queues: it does not exist, or it is a thread, a kernel thread, or a zombie. Returns CLI_GO_ON
 * also if only the first thread of the process has ended. */
int select_process(const struct cli_command *cmd, pid_t pid, struct process_identity *out);

/* Checks that an AMD GPU exists here (/dev/kfd or the driver's sysfs directory). Returns CLI_DONE
 * or CLI_IMPOSSIBLE. */
int select_needs_gpu(const struct cli_command *cmd);
/* Checks that a complete list of the GPU processes can be read here (observe_can_list()). Returns
 * CLI_DONE or CLI_IMPOSSIBLE. */
int select_needs_list(const struct cli_command *cmd, const char *socket);
/* Reads the processes of a container; if `pid` is not 0, only the one with that pid in it. Returns
 * CLI_GO_ON, or CLI_FAILED after one line on stderr; then out->count is 0. *out is valid until the
 * next use of `reader`. */
int select_container(const struct cli_command *cmd, struct snapshot_reader *reader,
		     const char *container, struct container_names *names, pid_t pid,
		     struct snapshot *out);

/* Reports on stderr that no source has listed a queue of the process, with the reason of each
 * source from OBSERVE_DAEMON to `last`. */
void select_no_queues(const struct cli_command *cmd, const struct process_identity *identity,
		      const struct observation *seen, enum observe_source last);

/* Writes the engine and the first 12 digits of the container id, "docker 3f2a9c0d1e4b"; "unknown"
 * if the engine is not known, "-" without a container. Returns `text`. */
#define SELECTED_TEXT 192
const char *selected_container(char text[static SELECTED_TEXT], const struct container *container);
/* Writes the command line of the process, cut to `length` bytes with "..." at the end. If the
 * process has none, writes its name in brackets. Returns `text`. */
const char *selected_command(char text[static SELECTED_TEXT],
			     const struct process_identity *identity, size_t length);

/* ---- the process on which a command acts ---- */

/* The process that a command acts on. The pidfd pins it, so that another process that gets the same
 * pid later is not mistaken for it. */
struct target_process {
	pid_t pid;
	int pidfd;
	char name[sizeof(((struct process_identity *)0)->comm)]; /* control characters replaced */
};

/* Opens the process `pid`. Returns CLI_GO_ON, after which the caller has to call target_close().
 * Returns CLI_FAILED after one line on stderr if there is no such process, or if it is a thread, a
 * kernel thread, a zombie, or a process whose first thread has ended (a tracer needs the first
 * thread). */
int target_process_open(const struct cli_command *cmd, pid_t pid, struct target_process *out);
/* Closes the pidfd. */
void target_close(struct target_process *target);
/* Returns true as soon as the process begins to release its resources at its end. From then on, the
 * driver ends the debug sessions on it (kfd_process_notifier_release), and kfdschedd ends the
 * leases on it (holds that control requests have placed). The pidfd reports the end later than this
 * function. */
bool target_has_ended(const struct target_process *target);

#endif

// SPDX-License-Identifier: MIT
/* The processes to follow are found in the daemon's status at the start of the trace, and in its
 * events afterwards. */
#include "cli/trace/source_daemon.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "cli/trace/source_shm.h"
#include "cli/trace/timeline_decode.h"
#include "cli/util/daemon_query.h"
#include "include/kfdsched.h"

#define MS 1000000u

static void add(void *context, const struct trace_event *event)
{
	trace_output_add(context, event);
}

static bool is_chosen(const struct trace_daemon *d, pid_t pid)
{
	return trace_is_chosen(d->output->options, pid);
}

/* Follows the shared memory of a wanted process. Records a note if too many are followed
 * already. */
static void follow(struct trace_daemon *d, pid_t pid, const char *comm, bool fresh)
{
	if (pid > 0 && is_chosen(d, pid) && !shm_source_follow(d->shm_source, pid, comm, fresh))
		trace_note(d->output,
			   "the queues of process %d (%s) are not traced, because those of %u "
			   "others are, which is the limit: choose processes with --pid",
			   (int)pid, comm, SHM_SOURCE_PROCESSES);
}

/* Adds the state at the start of the trace: which processes there are, and which of them
 * are suspended. */
static void take_status(struct trace_daemon *d, const json_t *status)
{
	const json_t *process, *node;
	size_t i, k;

	json_array_foreach(json_object_get(status, "processes"), i, process)
	{
		struct trace_event event = {.source = TRACE_DAEMON, .ns = d->output->begin_ns};
		const char *comm = decode_text(process, "comm");

		event.pid = (pid_t)json_integer_value(json_object_get(process, "pid"));
		trace_copy(event.comm, sizeof(event.comm), comm, strlen(comm));
		follow(d, event.pid, event.comm, false);
		json_array_foreach(json_object_get(process, "nodes"), k,
				   node) if (k < CLIENT_SHM_NODES) event.gpu_ids[k] =
			(uint32_t)json_integer_value(json_object_get(node, "gpu_id"));
		if (!is_chosen(d, event.pid))
			continue;
		snprintf(event.name, sizeof(event.name), "there");
		snprintf(event.text, sizeof(event.text),
			 "process %d (%s) is registered, %s, level %s", (int)event.pid, event.comm,
			 decode_text(process, "state"), decode_text(process, "level"));
		event.mark = strcmp(decode_text(process, "state"), "suspended") == 0
				     ? TRACE_SUSPENDED
				     : TRACE_POINT;
		trace_output_add(d->output, &event);
	}
}

/* Adds an event of the daemon, unless it has a process, and neither this process nor the one
 * that was the cause is wanted. */
static void take_event(struct trace_daemon *d, json_t *json)
{
	struct trace_event event;

	if (!decode_daemon(json, trace_wall_ns(), &event))
		return;
	if (event.mark == TRACE_GONE)
		shm_source_ended(d->shm_source, event.pid);
	else if (event.pid)
		follow(d, event.pid, event.comm, strcmp(event.name, "came") == 0);
	if (!event.pid || is_chosen(d, event.pid) ||
	    (event.cause_pid && is_chosen(d, event.cause_pid)))
		trace_output_add(d->output, &event);
}

void trace_daemon_read(struct trace_daemon *d)
{
	char text[KFDSCHED_EVENT_BYTES + 1];
	ssize_t n;

	while (d->events_fd >= 0 && (n = kfdsched_next_event(d->daemon, d->events_fd, text,
							     sizeof(text), 0)) != -EAGAIN) {
		json_t *json = n > 0 ? json_loads(text, 0, NULL) : NULL;

		if (json)
			take_event(d, json);
		json_decref(json);
		if (n < 0 && n != -EMSGSIZE) {
			close(d->events_fd);
			d->events_fd = kfdsched_events(d->daemon);
			trace_note(d->output, "the daemon was not running for a moment%s",
				   d->events_fd < 0
					   ? ", and still is not: its later events are missing in "
					     "the trace"
					   : ": its events of that time are missing in the trace");
		}
	}
}

bool trace_daemon_open(struct trace_daemon *d, struct trace_output *output)
{
	*d = (struct trace_daemon){.output = output, .events_fd = -1};
	d->daemon = kfdsched_open(output->options->socket);
	if (d->daemon)
		d->events_fd = kfdsched_events(d->daemon);
	if (d->events_fd < 0) {
		trace_note(output, "the trace has no decisions of the daemon: %s",
			   d->daemon ? kfdsched_errmsg(d->daemon) : "out of memory");
		return false;
	}
	return true;
}

/* Records a note for each chosen process that the daemon does not know. */
static void print_unknown(struct trace_daemon *d, const json_t *status)
{
	const struct trace_options *options = d->output->options;
	const json_t *process;
	size_t k;

	for (unsigned i = 0; i < options->pids; i++) {
		bool known = false;

		json_array_foreach(json_object_get(status, "processes"), k, process) known |=
			json_integer_value(json_object_get(process, "pid")) == options->pid[i];
		if (!known)
			trace_note(d->output,
				   "process %d is not registered with the daemon: its queues are "
				   "not in the trace unless it uses a GPU with libkfdshim.so later",
				   (int)options->pid[i]);
	}
}

int trace_daemon_follow(struct trace_daemon *d)
{
	json_t *status = NULL;

	d->shm_source =
		shm_source_start(d->output->options->socket, d->output->begin_ns, add, d->output);
	if (!d->shm_source)
		return cli_failed(&cmd_trace, "cannot start the thread that reads the shared "
					      "memory of the processes");
	if (query_daemon(d->output->options->socket, 0, &status) == 0) {
		take_status(d, status);
		print_unknown(d, status);
	}
	json_decref(status);
	return CLI_GO_ON;
}

/* `context`: the struct trace_output. */
static void print_unseen(void *context, pid_t pid, uint64_t lost, uint64_t unseen_ns)
{
	if (lost)
		trace_note(context,
			   "%llu events of process %d are missing in the trace: its shared memory "
			   "was not read in time",
			   (unsigned long long)lost, (int)pid);
	if (unseen_ns)
		trace_note(context,
			   "the queue events of process %d in its last %llu ms are missing in the "
			   "trace",
			   (int)pid, (unsigned long long)(unseen_ns / MS) + 1);
}

void trace_daemon_end(struct trace_daemon *d)
{
	if (d->shm_source)
		shm_source_end(d->shm_source, print_unseen, d->output);
	d->shm_source = NULL;
}

void trace_daemon_close(struct trace_daemon *d)
{
	kfdsched_close(d->daemon);
	d->daemon = NULL;
}

// SPDX-License-Identifier: MIT
/*
 * Secondary contexts (CREATE_PROCESS of Linux 7): the open file on which the ioctl is called
 * becomes a KFD process of its own, with its own queues, ids, doorbells and events in the same
 * address space. Only the primary one can debug and be debugged. The fds of a context are
 * identified by their file position, like all others (file_owner.c). A context ends when its last
 * fd is closed, or with its process.
 */
#include <errno.h>
#include <unistd.h>

#include "sim/driver/queue.h"

struct process *context_of(struct process *process, const struct caller_file *file)
{
	struct process *other;
	off_t mark = file->mark;

	if (!process->contexts)
		return process;
	if (mark < 0)
		mark = process_fd_mark(process, file->fd);
	TAILQ_FOREACH(other, &process->sim->processes, link)
	if (other->primary == process && (off_t)other->token == mark)
		return other;
	return process;
}

uint32_t context_number(const struct process *process)
{
	const struct process *other;

	for (uint32_t number = 0;; number++) {
		TAILQ_FOREACH(other, &process->sim->processes, link)
		if (other->primary == process && other->context == number)
			break;
		if (!other)
			return number;
	}
}

int ioctl_create_process(struct call *call)
{
	struct process *process = call->process, *context;
	const struct sim *sim = call->sim;

	if (process->primary)
		return rule_errno(sim, RULE_context_of_a_context_is_einval, -EINVAL, 0);
	context = process_new_context(process);
	if (!context)
		return -ENOMEM;
	if (process_mark_fd(process, call->fd, context) && !context->dead) {
		process_die(context);
		return -EINVAL;
	}
	if (!rule_holds(sim, RULE_context_has_own_queue_ids))
		context->queue_ids[0] = process->queue_ids[0];
	return 0;
}

void contexts_end(struct process *process, bool all)
{
	struct process *other, *next;

	if (!process->contexts)
		return;
	for (other = TAILQ_FIRST(&process->sim->processes); other; other = next) {
		next = TAILQ_NEXT(other, link);
		if (other->primary == process && (all || !process_holds_mark(other)) &&
		    (all || rule_holds(process->sim, RULE_context_ends_with_descriptor)))
			process_die(other);
	}
}

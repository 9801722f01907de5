// SPDX-License-Identifier: MIT
#include "cli/top/actions.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "channel/protocol.h"
#include "include/kfdsched.h"

/* A process that is suspended as long as fd (from kfdsched_hold()) is open. */
struct foreground_hold {
	pid_t pid;
	int fd;
};

struct top_actions {
	struct kfdsched *daemon;
	struct foreground_hold hold[ACTIONS_HOLDS];
	unsigned holds;
};

struct top_actions *actions_open(const char *socket)
{
	struct top_actions *actions = calloc(1, sizeof(*actions));

	if (!actions)
		return NULL;
	actions->daemon = kfdsched_open(socket);
	if (!actions->daemon) {
		free(actions);
		return NULL;
	}
	return actions;
}

void actions_close(struct top_actions *actions)
{
	if (!actions)
		return;
	for (unsigned i = 0; i < actions->holds; i++)
		close(actions->hold[i].fd);
	kfdsched_close(actions->daemon);
	free(actions);
}

static void forget(struct top_actions *actions, unsigned i)
{
	close(actions->hold[i].fd);
	actions->hold[i] = actions->hold[--actions->holds];
}

static void format_result(const struct top_actions *actions, char *message, size_t size)
{
	snprintf(message, size, "%s", kfdsched_errmsg(actions->daemon));
}

void actions_suspend(struct top_actions *actions, pid_t pid, char *message, size_t size)
{
	int fd;

	for (unsigned i = 0; i < actions->holds; i++)
		if (actions->hold[i].pid == pid) {
			snprintf(message, size, "Process %d is suspended from here already.",
				 (int)pid);
			return;
		}
	if (actions->holds == ACTIONS_HOLDS) {
		snprintf(message, size, "%u processes are suspended from here: resume one first.",
			 ACTIONS_HOLDS);
		return;
	}
	fd = kfdsched_hold(actions->daemon, pid);
	format_result(actions, message, size);
	if (fd < 0)
		return;
	actions->hold[actions->holds++] = (struct foreground_hold){.pid = pid, .fd = fd};
	snprintf(message, size, "%s until R is pressed or this top ends",
		 kfdsched_errmsg(actions->daemon));
}

void actions_resume(struct top_actions *actions, pid_t pid, char *message, size_t size)
{
	kfdsched_resume(actions->daemon, pid);
	format_result(actions, message, size);
	for (unsigned i = 0; i < actions->holds; i++)
		if (actions->hold[i].pid == pid) {
			forget(actions, i);
			break;
		}
}

void actions_set_priority(struct top_actions *actions, pid_t pid, const char *word, char *message,
			  size_t size)
{
	int priority;

	if (strcmp(word, "none") == 0) {
		priority = KFDSCHED_PRIORITY_NONE;
	} else if (strcmp(word, "own") == 0) {
		priority = KFDSCHED_PRIORITY_OWN;
	} else if (protocol_priority(word, &priority)) {
		snprintf(message, size,
			 "A priority is online, offline, 0 to 15, none or own, not '%s'.", word);
		return;
	}
	kfdsched_set_priority(actions->daemon, pid, priority);
	format_result(actions, message, size);
}

unsigned actions_holds(const struct top_actions *actions)
{
	return actions->holds;
}

unsigned actions_poll(const struct top_actions *actions, struct pollfd out[static ACTIONS_HOLDS])
{
	for (unsigned i = 0; i < actions->holds; i++)
		out[i] = (struct pollfd){.fd = actions->hold[i].fd, .events = POLLIN};
	return actions->holds;
}

void actions_ended(struct top_actions *actions, char *message, size_t size)
{
	for (unsigned i = 0; i < actions->holds;) {
		if (kfdsched_held(actions->daemon, actions->hold[i].fd, 0) == 0) {
			i++;
			continue;
		}
		snprintf(message, size, "Process %d: %s", (int)actions->hold[i].pid,
			 kfdsched_errmsg(actions->daemon));
		forget(actions, i);
	}
}

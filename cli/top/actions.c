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
struct hold {
	pid_t pid;
	int fd;
};

struct orders {
	struct kfdsched *daemon;
	struct hold hold[ORDERS_HOLDS];
	unsigned holds;
};

struct orders *orders_open(const char *socket)
{
	struct orders *orders = calloc(1, sizeof(*orders));

	if (!orders)
		return NULL;
	orders->daemon = kfdsched_open(socket);
	if (!orders->daemon) {
		free(orders);
		return NULL;
	}
	return orders;
}

void orders_close(struct orders *orders)
{
	if (!orders)
		return;
	for (unsigned i = 0; i < orders->holds; i++)
		close(orders->hold[i].fd);
	kfdsched_close(orders->daemon);
	free(orders);
}

static void forget(struct orders *orders, unsigned i)
{
	close(orders->hold[i].fd);
	orders->hold[i] = orders->hold[--orders->holds];
}

static void tell(const struct orders *orders, char *said, size_t size)
{
	snprintf(said, size, "%s", kfdsched_sentence(orders->daemon));
}

void orders_suspend(struct orders *orders, pid_t pid, char *said, size_t size)
{
	int fd;

	for (unsigned i = 0; i < orders->holds; i++)
		if (orders->hold[i].pid == pid) {
			snprintf(said, size, "Process %d is suspended from here already.",
				 (int)pid);
			return;
		}
	if (orders->holds == ORDERS_HOLDS) {
		snprintf(said, size, "%u processes are suspended from here: resume one first.",
			 ORDERS_HOLDS);
		return;
	}
	fd = kfdsched_hold(orders->daemon, pid);
	tell(orders, said, size);
	if (fd < 0)
		return;
	orders->hold[orders->holds++] = (struct hold){.pid = pid, .fd = fd};
	snprintf(said, size, "%s until R is pressed or this top ends",
		 kfdsched_sentence(orders->daemon));
}

void orders_resume(struct orders *orders, pid_t pid, char *said, size_t size)
{
	kfdsched_resume(orders->daemon, pid);
	tell(orders, said, size);
	for (unsigned i = 0; i < orders->holds; i++)
		if (orders->hold[i].pid == pid) {
			forget(orders, i);
			break;
		}
}

void orders_set_priority(struct orders *orders, pid_t pid, const char *word, char *said,
			 size_t size)
{
	int priority;

	if (strcmp(word, "none") == 0) {
		priority = KFDSCHED_PRIORITY_NONE;
	} else if (strcmp(word, "own") == 0) {
		priority = KFDSCHED_PRIORITY_OWN;
	} else if (protocol_priority(word, &priority)) {
		snprintf(said, size,
			 "A priority is online, offline, 0 to 15, none or own, not '%s'.", word);
		return;
	}
	kfdsched_set_priority(orders->daemon, pid, priority);
	tell(orders, said, size);
}

unsigned orders_holds(const struct orders *orders)
{
	return orders->holds;
}

unsigned orders_poll(const struct orders *orders, struct pollfd out[static ORDERS_HOLDS])
{
	for (unsigned i = 0; i < orders->holds; i++)
		out[i] = (struct pollfd){.fd = orders->hold[i].fd, .events = POLLIN};
	return orders->holds;
}

void orders_ended(struct orders *orders, char *said, size_t size)
{
	for (unsigned i = 0; i < orders->holds;) {
		if (kfdsched_held(orders->daemon, orders->hold[i].fd, 0) == 0) {
			i++;
			continue;
		}
		snprintf(said, size, "Process %d: %s", (int)orders->hold[i].pid,
			 kfdsched_sentence(orders->daemon));
		forget(orders, i);
	}
}

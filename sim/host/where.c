// SPDX-License-Identifier: MIT
#include "sim/host/where.h"

#include <stdio.h>
#include <sys/stat.h>

#include "sim/host/idle.h"
#include "sim/host/kernel_wait.h"
#include "sim/host/sim_priv.h"
#include "sim/host/time_slots.h"

struct list {
	const struct world *world;
	json_t *threads;
};

/* Returns a time as seconds since the start of the simulation; null if there is none. */
static json_t *seconds_of(const struct world *world, uint64_t ns)
{
	if (ns == UINT64_MAX)
		return json_null();
	return json_real(ns > world->start_ns ? (double)(ns - world->start_ns) / 1e9 : 0);
}

static void add_thread(void *context, pid_t pid, pid_t tid)
{
	const struct list *list = context;
	struct kernel_wait wait;
	char command[16];

	if (pid == list->world->init)
		return;
	idle_name(tid, command, sizeof(command));
	kernel_wait_read(pid, tid, &wait);
	json_array_append_new(
		list->threads,
		json_pack("{s:i, s:i, s:s, s:s?, s:s, s:o}", "pid", idle_number(pid), "tid",
			  idle_number(tid), "command", command, "call", wait.call, "place",
			  wait.place, "until_s",
			  seconds_of(list->world, time_slots_deadline(list->world->time, tid))));
}

json_t *where_threads_wait(const struct world *world, const struct idle *idle)
{
	struct list list = {world, json_array()};

	idle_each(idle, add_thread, &list);
	return list.threads;
}

static const char *text_of(const json_t *thread, const char *key)
{
	const char *text = json_string_value(json_object_get(thread, key));

	return text ? text : "?";
}

static int number_of(const json_t *thread, const char *key)
{
	return (int)json_integer_value(json_object_get(thread, key));
}

void where_say(const json_t *threads)
{
	const json_t *thread;
	size_t i;

	json_array_foreach(threads, i, thread)
	{
		say("  %s (process %d, thread %d): %s, %s", text_of(thread, "command"),
		    number_of(thread, "pid"), number_of(thread, "tid"), text_of(thread, "call"),
		    text_of(thread, "place"));
	}
}

struct search {
	const struct world *world;
	bool found;
};

/* Returns whether the standard input of the process is the file that kfdsim has as its own, which
 * is written from outside of the simulation. */
static bool has_our_input(const struct world *world, pid_t pid)
{
	char path[64];
	struct stat st;

	snprintf(path, sizeof(path), "/proc/%d/fd/0", pid);
	return !stat(path, &st) && st.st_dev == world->config.input_dev &&
	       st.st_ino == world->config.input_ino;
}

static void find_other(void *context, pid_t pid, pid_t tid)
{
	struct search *search = context;
	struct kernel_wait wait;

	kernel_wait_read(pid, tid, &wait);
	search->found |= wait.timed || (wait.reads_input && has_our_input(search->world, pid));
}

bool where_is_deadlock(const struct world *world, const struct idle *idle)
{
	struct search search = {world, false};

	idle_each(idle, find_other, &search);
	return !search.found;
}

// SPDX-License-Identifier: MIT
#include "sim/host/where.h"

#include <stdio.h>
#include <sys/stat.h>

#include "sim/host/idle.h"
#include "sim/host/kernel_wait.h"
#include "sim/host/sim_priv.h"
#include "sim/host/time_slots.h"

struct thread_list {
	const struct sim *sim;
	json_t *threads;
};

/* Returns a time as seconds since the start of the simulation; null if there is none. */
static json_t *seconds_of(const struct sim *sim, uint64_t ns)
{
	if (ns == UINT64_MAX)
		return json_null();
	return json_real(ns > sim->start_ns ? (double)(ns - sim->start_ns) / 1e9 : 0);
}

static void add_thread(void *context, pid_t pid, pid_t tid)
{
	const struct thread_list *list = context;
	struct kernel_wait wait;
	char command[16];

	if (pid == list->sim->init)
		return;
	idle_name(tid, command, sizeof(command));
	kernel_wait_read(pid, tid, &wait);
	json_array_append_new(
		list->threads,
		json_pack("{s:i, s:i, s:s, s:s?, s:s, s:o}", "pid", idle_number(pid), "tid",
			  idle_number(tid), "command", command, "call", wait.call, "place",
			  wait.wait_channel, "until_s",
			  seconds_of(list->sim, time_slots_deadline(list->sim->time, tid))));
}

json_t *where_threads_wait(const struct sim *sim, const struct idle *idle)
{
	struct thread_list list = {sim, json_array()};

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

void where_log(const json_t *threads)
{
	const json_t *thread;
	size_t i;

	json_array_foreach(threads, i, thread)
	{
		sim_log("  %s (process %d, thread %d): %s, %s", text_of(thread, "command"),
			number_of(thread, "pid"), number_of(thread, "tid"), text_of(thread, "call"),
			text_of(thread, "place"));
	}
}

struct search {
	const struct sim *sim;
	bool found;
};

/* Returns whether the standard input of the process is the file that kfdsim has as its own, which
 * is written from outside of the simulation. */
static bool has_our_input(const struct sim *sim, pid_t pid)
{
	char path[64];
	struct stat st;

	snprintf(path, sizeof(path), "/proc/%d/fd/0", pid);
	return !stat(path, &st) && st.st_dev == sim->config.input_dev &&
	       st.st_ino == sim->config.input_ino;
}

static void find_other(void *context, pid_t pid, pid_t tid)
{
	struct search *search = context;
	struct kernel_wait wait;

	kernel_wait_read(pid, tid, &wait);
	search->found |= wait.timed || (wait.reads_input && has_our_input(search->sim, pid));
}

bool where_is_deadlock(const struct sim *sim, const struct idle *idle)
{
	struct search search = {sim, false};

	idle_each(idle, find_other, &search);
	return !search.found;
}

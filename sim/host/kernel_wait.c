// SPDX-License-Identifier: MIT
#include "sim/host/kernel_wait.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "common/proc.h"
#include "sim/host/idle.h"
#include "sim/host/sim_priv.h"
#include "sim/host/time/page.h"
#include "sim/host/time_slots.h"

#ifndef SYS_futex_waitv
#define SYS_futex_waitv 449 /* Linux 5.16; missing in older system headers */
#endif

#define ARGUMENTS 6

/* What ends a system call besides the event that it waits for. "The argument" is that with the
 * index kernel_call.argument. */
enum end {
	NEVER,	   /* none */
	TIME,	   /* timeout; the argument is a pointer to a time or NULL */
	MS,	   /* timeout; the argument is in milliseconds, negative: none */
	CLOCK,	   /* time of a clock; the argument is the clock's id */
	CONTINUED, /* restart_syscall(): as in the interrupted call that it continues */
};

static const struct kernel_call {
	int nr;
	const char *name;
	enum end end;
	unsigned argument;
} calls[] = {
#define CALL(name, end, argument)                                                                  \
	{                                                                                          \
		SYS_##name, #name, end, argument                                                   \
	}
#define WAITS(name) CALL(name, NEVER, 0)
	CALL(nanosleep, TIME, 0),
	CALL(clock_nanosleep, CLOCK, 0),
	CALL(restart_syscall, CONTINUED, 0),
	CALL(futex, TIME, 3),
	CALL(futex_waitv, TIME, 3),
	CALL(poll, MS, 2),
	CALL(ppoll, TIME, 2),
	CALL(select, TIME, 4),
	CALL(pselect6, TIME, 4),
	CALL(epoll_wait, MS, 3),
	CALL(epoll_pwait, MS, 3),
	CALL(epoll_pwait2, TIME, 3),
	CALL(rt_sigtimedwait, TIME, 2),
	CALL(semtimedop, TIME, 3),
	CALL(mq_timedsend, TIME, 4),
	CALL(mq_timedreceive, TIME, 4),
	CALL(io_getevents, TIME, 4),
	WAITS(read),
	WAITS(readv),
	WAITS(write),
	WAITS(writev),
	WAITS(recvfrom),
	WAITS(recvmsg),
	WAITS(sendto),
	WAITS(sendmsg),
	WAITS(accept),
	WAITS(accept4),
	WAITS(connect),
	WAITS(openat),
	WAITS(flock),
	WAITS(fcntl),
	WAITS(ioctl),
	WAITS(wait4),
	WAITS(waitid),
	WAITS(pause),
	WAITS(rt_sigsuspend),
	WAITS(clone),
	WAITS(clone3),
	WAITS(vfork),
	WAITS(execve)};

static const struct kernel_call *call_of(long nr)
{
	for (size_t i = 0; i < sizeof(calls) / sizeof(*calls); i++)
		if (calls[i].nr == nr)
			return &calls[i];
	return NULL;
}

/* Reads the first line of a /proc file of the thread; empty if it cannot be read. */
static void read_line(pid_t tid, const char *name, char *line, size_t size)
{
	proc_read(tid, name, line, size);
	line[strcspn(line, "\n")] = '\0';
}

/* Returns true for CPU-time clocks. The time library passes sleeps on these to the kernel. */
static bool is_of_cpu(clockid_t clock)
{
	return clock < 0 || clock == CLOCK_PROCESS_CPUTIME_ID || clock == CLOCK_THREAD_CPUTIME_ID;
}

/* Returns true if the machine's clock ends the call. That is not so for the time library's own
 * calls: it marks its futex calls with the sixth argument, which the kernel ignores. */
static bool is_timed(const struct kernel_call *call, const uint64_t a[ARGUMENTS])
{
	switch (call->end) {
	case TIME:
		return a[call->argument] && (call->nr != SYS_futex || a[5] != TIME_OWN_CALL);
	case MS:
		return (int)a[call->argument] > 0;
	case CLOCK:
		return !is_of_cpu((clockid_t)a[call->argument]);
	case CONTINUED:
		return a[5] != TIME_OWN_CALL;
	default:
		return false;
	}
}

/* Returns whether the call waits for standard input only. For select(), the number of file
 * descriptors is 1 in that case. */
static bool is_input(const struct kernel_call *call, const uint64_t a[ARGUMENTS])
{
	switch (call->nr) {
	case SYS_read:
	case SYS_readv:
		return a[0] == STDIN_FILENO;
	case SYS_select:
	case SYS_pselect6:
		return a[0] == STDIN_FILENO + 1;
	default:
		return false;
	}
}

/* Parses /proc/PID/task/TID/syscall: call number, arguments, stack pointer and instruction
 * pointer. */
static void evaluate_line(struct kernel_wait *wait, const char *line)
{
	uint64_t a[ARGUMENTS + 2];
	const struct kernel_call *call;
	char *at;
	long nr = strtol(line, &at, 10);

	if (at == line || nr < 0) /* the thread runs, or is blocked outside of a system call */
		return;
	wait->is_call = true;
	for (size_t i = 0; i < ARGUMENTS + 2; i++)
		a[i] = strtoull(at, &at, 16);
	/* 32-bit programs have other call numbers. If the stack pointer or the instruction pointer
	 * is above 4 GiB, the program is a 64-bit one. */
	call = a[ARGUMENTS] >> 32 || a[ARGUMENTS + 1] >> 32 ? call_of(nr) : NULL;
	if (!call)
		return;
	wait->call = call->name;
	wait->timed = is_timed(call, a);
	wait->reads_input = is_input(call, a);
}

void kernel_wait_read(pid_t tid, struct kernel_wait *wait)
{
	char line[256];

	*wait = (struct kernel_wait){0};
	read_line(tid, "wchan", wait->wait_channel, sizeof(wait->wait_channel));
	if (!strcmp(wait->wait_channel, "0"))
		wait->wait_channel[0] = '\0';
	read_line(tid, "syscall", line, sizeof(line));
	evaluate_line(wait, line);
}

bool kernel_wait_is_stop(const struct kernel_wait *wait)
{
	return !strcmp(wait->wait_channel, "do_signal_stop") ||
	       !strcmp(wait->wait_channel, "ptrace_stop");
}

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
	kernel_wait_read(tid, &wait);
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

/* Returns whether the process has the same standard input as kfdsim itself, which is written from
 * outside of the simulation. */
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

	kernel_wait_read(tid, &wait);
	search->found |= wait.timed || (wait.reads_input && has_our_input(search->sim, pid));
}

bool where_is_deadlock(const struct sim *sim, const struct idle *idle)
{
	struct search search = {sim, false};

	idle_each(idle, find_other, &search);
	return !search.found;
}

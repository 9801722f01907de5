// SPDX-License-Identifier: MIT
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "common/array.h"
#include "common/clock.h"
#include "common/proc.h"
#include "sim/host/idle.h"
#include "sim/host/kernel_wait.h"
#include "sim/host/sim_priv.h"
#include "sim/host/time/page.h"
#include "sim/host/time_slots.h"

#ifndef SYS_futex_waitv
#define SYS_futex_waitv 449 /* Linux 5.16; missing in older system headers */
#endif

#define ARGUMENTS 6

struct kernel_wait {
	const char *call; /* the system call; NULL: none, or one that is not in the table */
	/* The kernel function; empty: the thread runs, or the name is not readable. */
	char wait_channel[64];
	bool timed;	  /* the call has a timeout and was not made by the time library */
	bool reads_input; /* the thread waits for its standard input and nothing else */
	bool is_call;	  /* the thread is in a system call that blocks */
};

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

/* Fills in *wait for the thread. Fields that cannot be read stay zero. */
static void kernel_wait_read(pid_t tid, struct kernel_wait *wait)
{
	char line[256];

	*wait = (struct kernel_wait){0};
	read_line(tid, "wchan", wait->wait_channel, sizeof(wait->wait_channel));
	if (!strcmp(wait->wait_channel, "0"))
		wait->wait_channel[0] = '\0';
	read_line(tid, "syscall", line, sizeof(line));
	evaluate_line(wait, line);
}

/* Returns true if the thread was stopped by a signal or a debugger. */
static bool kernel_wait_is_stop(const struct kernel_wait *wait)
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

/* ---- programs that bypass the time library ---- */

#define LIBRARY "libkfdsim-time.so"
#define PROGRAMS 64u /* programs that are named in the report */
/* The CPU time of bypass_check() is limited to 1/CHECK_SHARE of the real time plus
 * CHECK_FREE_NS. */
#define CHECK_SHARE 50u
#define CHECK_FREE_NS 20000000ull

struct program {
	char command[16];
	bool has_library;
	/* The system call in which the program waited on the machine's clock instead of virtual
	 * time; NULL: no such wait was seen. */
	const char *call;
	pid_t pid; /* pid (inside the simulation) of the first process that ran it */
	unsigned processes;
};

/* A process that has been examined. If it executes another program, it is examined again. */
struct process_seen {
	pid_t pid;
	dev_t device;
	ino_t inode;	  /* of the program that was examined */
	bool has_library; /* it has loaded the time library, or its maps are unreadable */
	bool is_counted;
};

struct bypass {
	pid_t init;
	uint64_t begin_ns; /* real time */
	uint64_t spent_ns; /* CPU time of all checks */
	struct program programs[PROGRAMS];
	size_t n_programs;
	struct process_seen *seen;
	size_t n_seen, cap_seen;
};

struct bypass *bypass_new(pid_t init)
{
	struct bypass *bypass = calloc(1, sizeof(*bypass));

	if (!bypass)
		return NULL;
	bypass->init = init;
	bypass->begin_ns = clock_of(CLOCK_MONOTONIC);
	return bypass;
}

void bypass_free(struct bypass *bypass)
{
	if (!bypass)
		return;
	free(bypass->seen);
	free(bypass);
}

static struct process_seen *find(const struct bypass *bypass, pid_t pid)
{
	for (size_t i = 0; i < bypass->n_seen; i++)
		if (bypass->seen[i].pid == pid)
			return &bypass->seen[i];
	return NULL;
}

static struct process_seen *add(struct bypass *bypass, pid_t pid)
{
	if (ARRAY_GROW(bypass->seen, bypass->cap_seen, bypass->n_seen + 1))
		return NULL;
	bypass->seen[bypass->n_seen] = (struct process_seen){.pid = pid, .has_library = true};
	return &bypass->seen[bypass->n_seen++];
}

/* Returns the entry of the process, and examines its program if that is new; NULL: no memory. */
static struct process_seen *see(struct bypass *bypass, pid_t pid)
{
	struct process_seen *process = find(bypass, pid);
	char path[64];
	struct stat st;

	if (!process)
		process = add(bypass, pid);
	snprintf(path, sizeof(path), "/proc/%d/exe", pid);
	if (!process || stat(path, &st) ||
	    (st.st_dev == process->device && st.st_ino == process->inode))
		return process;
	*process = (struct process_seen){
		.pid = pid,
		.device = st.st_dev,
		.inode = st.st_ino,
		.has_library = proc_maps_find(pid, LIBRARY, NULL, 0) != 0,
	};
	return process;
}

/* Returns the entry of a program, a new one if necessary; NULL if the table is full. */
static struct program *program_of(struct bypass *bypass, const char *command, bool has_library)
{
	struct program *program = bypass->programs;

	for (; program < bypass->programs + bypass->n_programs; program++)
		if (program->has_library == has_library && !strcmp(program->command, command))
			return program;
	if (bypass->n_programs == PROGRAMS)
		return NULL;
	bypass->n_programs++;
	snprintf(program->command, sizeof(program->command), "%s", command);
	program->has_library = has_library;
	return program;
}

/* Records a process that bypasses the time library. Each process counts once for its program. */
static void count(struct bypass *bypass, struct process_seen *process, const char *call)
{
	char command[16];
	struct program *program;

	idle_name(process->pid, command, sizeof(command));
	program = program_of(bypass, command, process->has_library);
	if (!program)
		return;
	if (call && !program->call)
		program->call = call;
	if (process->is_counted)
		return;
	process->is_counted = true;
	if (!program->processes++)
		program->pid = idle_number(process->pid);
}

/* Checks whether a thread bypasses the time library. A stopped process is skipped, because it may
 * not have loaded its libraries yet. */
static void read_thread(void *context, pid_t pid, pid_t tid)
{
	struct bypass *bypass = context;
	struct process_seen *process;
	struct kernel_wait wait;

	if (pid == bypass->init)
		return;
	kernel_wait_read(tid, &wait);
	if (!wait.is_call || kernel_wait_is_stop(&wait))
		return;
	process = see(bypass, pid);
	if (process && (wait.timed || !process->has_library))
		count(bypass, process, wait.timed ? wait.call : NULL);
}

void bypass_check(struct bypass *bypass, const struct idle *idle)
{
	uint64_t real = clock_of(CLOCK_MONOTONIC) - bypass->begin_ns, begin;

	if (bypass->spent_ns > CHECK_FREE_NS + real / CHECK_SHARE)
		return;
	begin = clock_of(CLOCK_THREAD_CPUTIME_ID);
	idle_each(idle, read_thread, bypass);
	bypass->spent_ns += clock_of(CLOCK_THREAD_CPUTIME_ID) - begin;
}

void bypass_end(struct bypass *bypass, pid_t tid)
{
	struct process_seen *process = find(bypass, tid);

	if (process)
		*process = bypass->seen[--bypass->n_seen];
}

static void log_program(const struct program *program)
{
	char others[32] = "";

	if (program->processes > 1)
		snprintf(others, sizeof(others), " and %u more", program->processes - 1);
	if (program->has_library)
		sim_log("%s (process %d%s) waited in %s on this machine's clock, because it called the "
			"kernel directly, bypassing the time library",
			program->command, program->pid, others, program->call);
	else
		sim_log("%s (process %d%s) uses this machine's clock%s%s, because it runs without the "
			"time library: it is linked statically, is for another processor, or has "
			"another /run",
			program->command, program->pid, others,
			program->call ? ", on which it waited in " : "",
			program->call ? program->call : "");
}

void bypass_log(const struct bypass *bypass)
{
	for (size_t i = 0; i < bypass->n_programs; i++)
		log_program(&bypass->programs[i]);
}

json_t *bypass_json(const struct bypass *bypass)
{
	json_t *list = json_array();

	for (size_t i = 0; i < bypass->n_programs; i++) {
		const struct program *program = &bypass->programs[i];

		json_array_append_new(
			list, json_pack("{s:s, s:i, s:i, s:b, s:s?}", "command", program->command,
					"pid", program->pid, "processes", (int)program->processes,
					"library", program->has_library, "call", program->call));
	}
	return list;
}

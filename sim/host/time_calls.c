// SPDX-License-Identifier: MIT
/* Serves the calls that the time library makes to the supervisor (sim/host/time/page.h). */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "common/proc.h"
#include "sim/host/sim_priv.h"
#include "sim/host/time_slots.h"
#include "sim/host/timers.h"

#define HIGH 1024 /* the library's eventfds get the highest free numbers below this */
#define TRIES 256

/* Answers @n with a result or a negative errno. Returns false if a signal has interrupted the
 * caller, which then repeats the call. */
static bool time_reply(const struct sim *sim, const struct seccomp_notif *n, int64_t result)
{
	struct seccomp_notif_resp response = {
		.id = n->id, .val = result > 0 ? result : 0, .error = result < 0 ? (int)result : 0};

	return !ioctl(sim->listener, SECCOMP_IOCTL_NOTIF_SEND, &response);
}

/* Reads the link of the caller's @fd in /proc. Returns false if @fd is not open. */
static bool descriptor_link(const struct seccomp_notif *n, int fd, char *link, size_t size)
{
	char path[64];
	ssize_t length;

	snprintf(path, sizeof(path), "/proc/%u/fd/%d", n->pid, fd);
	length = readlink(path, link, size - 1);
	link[length > 0 ? length : 0] = '\0';
	return length >= 0;
}

/* Returns the number for a file descriptor of the library in the caller's process, away from the
 * program's own numbers. This is @lost, the number to replace (-1: none), if it is free or an
 * eventfd inherited from the parent. Otherwise it is the highest free number below the limit.
 * Returns 0 if none was found. */
static int time_address(const struct seccomp_notif *n, int lost)
{
	struct rlimit limit = {.rlim_cur = HIGH};
	char link[64];
	int top;

	if (lost >= 0 && (!descriptor_link(n, lost, link, sizeof(link)) ||
			  !strcmp(link, "anon_inode:[eventfd]")))
		return lost;
	prlimit((pid_t)n->pid, RLIMIT_NOFILE, NULL, &limit);
	top = limit.rlim_cur < HIGH ? (int)limit.rlim_cur : HIGH;
	for (int fd = top - 1; fd > 2 && fd > top - TRIES; fd--)
		if (!descriptor_link(n, fd, link, sizeof(link)))
			return fd;
	return 0;
}

/* Installs the supervisor's @fd in the caller's process with the number @address (0: the lowest
 * free number); the supervisor keeps its own. @flags: O_CLOEXEC or 0. Returns the caller's file
 * descriptor or a negative errno. */
static int time_give(const struct sim *sim, const struct seccomp_notif *n, int fd, int address,
		     uint32_t flags)
{
	struct seccomp_notif_addfd add = {
		.id = n->id,
		.flags = address ? SECCOMP_ADDFD_FLAG_SETFD : 0,
		.srcfd = (uint32_t)fd,
		.newfd = (uint32_t)address,
		.newfd_flags = flags,
	};
	int r = ioctl(sim->listener, SECCOMP_IOCTL_NOTIF_ADDFD, &add);

	return r < 0 ? -errno : r;
}

/* TIME_IOC_EVENT: gives the calling thread the eventfd of its slot. */
static void give_event(struct sim *sim, const struct seccomp_notif *n)
{
	int event = time_slots_event(sim->time, (pid_t)n->pid), r = event;

	if (event >= 0) {
		r = time_give(sim, n, event, time_address(n, (int)n->data.args[2]), O_CLOEXEC);
		close(event);
	}
	time_reply(sim, n, r);
}

/* The arguments of a TIME_IOC_TIMER call, and the process of the calling thread. */
struct timer_request {
	pid_t pid;
	uint64_t what, number, first, second;
};

/* Returns the id of thread @tid in its own PID namespace, which is the last of its ids. */
static pid_t own_number(pid_t tid)
{
	char status[PROC_STATUS_BYTES];
	pid_t numbers[PROC_NS_LEVELS_MAX];
	unsigned n = proc_status_read(tid, status, sizeof(status))
			     ? 0
			     : proc_status_ns_pids(status, numbers);

	return n ? numbers[n - 1] : 0;
}

/* Returns the thread of the process that has the id @own in its own PID namespace; 0 if
 * there is none. */
static pid_t thread_of(pid_t pid, pid_t own)
{
	struct dirent *entry;
	char path[64];
	pid_t found = 0;
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	dir = opendir(path);
	if (!dir)
		return 0;
	while (!found && (entry = readdir(dir)))
		if (own_number(atoi(entry->d_name)) == own)
			found = atoi(entry->d_name);
	closedir(dir);
	return found;
}

/* Decodes and checks the arguments of TIME_OP_MAKE. Returns 0 or -EINVAL. */
static int describe(const struct timer_request *r, struct timer_new *new)
{
	*new = (struct timer_new){
		.kind = (enum time_kind)(r->what >> 16 & 0xff),
		.pid = r->pid,
		.signal = (int)(r->what >> 24 & 0xff),
		.flags = (int)(r->what >> 32),
		.offset_ns = (int64_t)r->first,
		.value = r->second,
	};
	if (new->kind > TIME_KIND_HELPER)
		return -EINVAL;
	if ((new->kind == TIME_KIND_SIGNAL || new->kind == TIME_KIND_THREAD) &&
	    (new->signal < 1 || new->signal > SIGRTMAX))
		return -EINVAL;
	if (new->kind != TIME_KIND_THREAD)
		return 0;
	new->tid = thread_of(r->pid, (pid_t)r->number);
	return new->tid ? 0 : -EINVAL;
}

/* Installs the file descriptor of a new timer in the caller's process. Returns its number there, 0
 * if the timer needs none, or a negative errno. */
static int give(const struct sim *sim, const struct seccomp_notif *n, const struct timer_new *new,
		int number)
{
	int event = timers_event(sim->timers, number);

	if (event < 0)
		return 0;
	if (new->kind == TIME_KIND_HELPER)
		return time_give(sim, n, event, time_address(n, -1), O_CLOEXEC);
	return time_give(sim, n, event, 0, new->flags &TFD_CLOEXEC ? O_CLOEXEC : 0);
}

/* TIME_OP_MAKE: makes a timer. Deletes it again if the caller did not get its file descriptor, or
 * was interrupted and repeats the call. */
static void make(struct sim *sim, const struct seccomp_notif *n,
		 const struct timer_request *request)
{
	struct timer_new new;
	int number, fd, r = describe(request, &new);

	number = r ? r : timers_make(sim->timers, &new);
	if (number < 0) {
		time_reply(sim, n, number);
		return;
	}
	fd = give(sim, n, &new, number);
	if (!time_reply(sim, n, fd < 0 ? fd : (int64_t)number << 32 | fd) || fd < 0)
		timers_delete(sim->timers, number);
}

/* Returns the number of the timer that the call refers to, or a negative errno. If the call is a
 * TIME_OP_SET of an ITIMER_REAL that does not exist, creates the timer. */
static int find(struct sim *sim, const struct seccomp_notif *n, const struct timer_request *r)
{
	struct timer_new real = {.kind = TIME_KIND_REAL, .pid = r->pid, .signal = SIGALRM};
	int number;

	switch (r->what >> 8 & 0xff) {
	case TIME_SPACE_FD:
		number = event_number((pid_t)n->pid, (int)r->number);
		return number < 0 ? number : timers_by_event(sim->timers, number);
	case TIME_SPACE_ID:
		number = (int)r->number;
		return timers_belongs(sim->timers, number, r->pid) ? number : -EINVAL;
	default:
		number = timers_real(sim->timers, r->pid);
		if (number < 0 && (r->what & 0xff) == TIME_OP_SET && r->first)
			return timers_make(sim->timers, &real);
		return number;
	}
}

static int64_t operate(struct sim *sim, const struct seccomp_notif *n,
		       const struct timer_request *r)
{
	int number = find(sim, n, r);

	if (number < 0)
		return number;
	switch (r->what & 0xff) {
	case TIME_OP_SET:
		return timers_set(sim->timers, number, r->what & TIME_WHAT_ABSOLUTE, r->first,
				  r->second);
	case TIME_OP_LEFT:
		return timers_left(sim->timers, number);
	case TIME_OP_INTERVAL:
		return timers_interval(sim->timers, number);
	case TIME_OP_OVERRUN:
		return timers_overrun(sim->timers, number);
	case TIME_OP_DELETE:
		timers_delete(sim->timers, number);
		return 0;
	default:
		return -EINVAL;
	}
}

/* TIME_IOC_TIMER: performs and answers the operation. */
static void timer_serve(struct sim *sim, const struct seccomp_notif *n)
{
	const uint64_t *a = (const uint64_t *)n->data.args;
	const struct timer_request request = {proc_status_number((pid_t)n->pid, "\nTgid:"), a[2],
					      a[3], a[4], a[5]};

	/* The process was found by a thread id, which may have been reused. If the call still
	 * waits, the id is the caller's. */
	if (!request.pid || !notify_alive(sim, n->id)) {
		time_reply(sim, n, -ESRCH);
	} else if ((request.what & 0xff) == TIME_OP_MAKE) {
		make(sim, n, &request);
	} else if ((request.what & 0xff) == TIME_OP_EXEC) {
		timers_exec(sim->timers, request.pid);
		time_reply(sim, n, 0);
	} else {
		time_reply(sim, n, operate(sim, n, &request));
	}
}

bool time_serve(struct sim *sim, const struct seccomp_notif *n)
{
	uint32_t command = (uint32_t)n->data.args[1];

	if (!sim->time || n->data.nr != SYS_ioctl)
		return false;
	if (command == TIME_IOC_SLOT)
		time_reply(sim, n, time_slots_of(sim->time, (pid_t)n->pid));
	else if (command == TIME_IOC_EVENT)
		give_event(sim, n);
	else if (command == TIME_IOC_TIMER)
		timer_serve(sim, n);
	else
		return false;
	return true;
}

// SPDX-License-Identifier: MIT
#include "sim/host/timers.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/uio.h>
#include <unistd.h>

#include "common/array.h"
#include "common/proc.h"
#include "common/wait.h"

#define NUMBER "eventfd-id:"
#define LINK "anon_inode:[eventfd]"
/* Upper limit of all times, so that the sum of two does not overflow. */
#define FAR_NS (INT64_MAX / 4)
/* After this many unread expirations of a timerfd, the processes that have it open are searched
 * for. */
#define UNREAD_MIN 4u
#define FILES_MIN 64u /* if there are this many timerfds, their holders are searched for */

struct host_timer {
	bool used, armed;
	struct timer_new is;
	int pidfd; /* pidfd of the process, if signals are sent to the process; otherwise -1 */
	int event; /* eventfd; -1: none */
	int event_number; /* see event_number() */
	int64_t deadline_ns, interval_ns;
	uint64_t overrun; /* expirations without a signal since the last signal was sent */
	unsigned unread;  /* expirations since the eventfd was last found empty */
};

struct timers {
	struct time_page *page;
	struct host_timer *all;
	unsigned n, cap;
	/* files: number of timerfds; files_max: the number at which find_holders() acts */
	unsigned files, files_max;
};

int event_number(pid_t pid, int fd)
{
	char name[32], text[512], *at;
	ssize_t n;

	snprintf(name, sizeof(name), "fdinfo/%d", fd);
	n = proc_read(pid, name, text, sizeof(text));
	if (n < 0)
		return (int)n;
	at = strstr(text, NUMBER);
	return at ? atoi(at + strlen(NUMBER)) : -ENOENT;
}

/* Returns true if the link of a file descriptor in /proc is that of an eventfd. It is checked
 * before fdinfo, because it is read faster, and few file descriptors of a process are eventfds. */
static bool is_event(int directory, const char *name)
{
	char link[sizeof(LINK)];
	ssize_t n = readlinkat(directory, name, link, sizeof(link));

	return n == sizeof(LINK) - 1 && !memcmp(link, LINK, sizeof(LINK) - 1);
}

/* Returns true if the process has eventfd @number open; false also if its fds are not readable. */
static bool is_held_by(pid_t pid, int number)
{
	char path[64];
	struct dirent *entry;
	bool held = false;
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%d/fd", pid);
	dir = opendir(path);
	if (!dir)
		return false;
	while (!held && (entry = readdir(dir)))
		held = is_event(dirfd(dir), entry->d_name) &&
		       event_number(pid, atoi(entry->d_name)) == number;
	closedir(dir);
	return held;
}

/* Returns a process that has eventfd @number open. Prefers @likely; otherwise returns any process
 * except the caller. Returns 0 if there is none, but @likely if /proc cannot be read. An eventfd
 * that is in flight in a socket is not found. */
static pid_t event_holder(int number, pid_t likely)
{
	struct dirent *entry;
	pid_t pid = 0;
	DIR *dir;

	if (likely && is_held_by(likely, number))
		return likely;
	dir = opendir("/proc");
	if (!dir)
		return likely; /* unknown: assume that it has the eventfd */
	while (!pid && (entry = readdir(dir))) {
		pid_t other = atoi(entry->d_name);

		if (other > 0 && other != getpid() && is_held_by(other, number))
			pid = other;
	}
	closedir(dir);
	return pid;
}

int timers_open(struct time_page *page, struct timers **out)
{
	struct timers *timers = calloc(1, sizeof(*timers));

	if (!timers)
		return -ENOMEM;
	timers->page = page;
	timers->files_max = FILES_MIN;
	*out = timers;
	return 0;
}

static int64_t now_of(const struct timers *timers)
{
	return (int64_t)atomic_load(&timers->page->now_ns);
}

/* Returns true for a POSIX timer, also for one that a helper thread serves. */
static bool is_posix(const struct host_timer *timer)
{
	return timer->is.kind != TIME_KIND_FD && timer->is.kind != TIME_KIND_REAL;
}

static void close_files(const struct host_timer *timer)
{
	if (timer->pidfd >= 0)
		close(timer->pidfd);
	if (timer->event >= 0)
		close(timer->event);
}

void timers_close(struct timers *timers)
{
	if (!timers)
		return;
	for (unsigned i = 0; i < timers->n; i++)
		if (timers->all[i].used)
			close_files(&timers->all[i]);
	free(timers->all);
	free(timers);
}

/* Closes the files of a timer and frees its entry. */
static void release(struct timers *timers, struct host_timer *timer)
{
	close_files(timer);
	if (is_posix(timer))
		atomic_fetch_sub(&timers->page->posix_timers, 1);
	timers->files -= timer->is.kind == TIME_KIND_FD;
	timer->used = timer->armed = false;
}

/* Finds a new owner for a timerfd whose process has ended or seems to have closed it. Releases the
 * timer if no process has it open. */
static void find_holder(struct timers *timers, struct host_timer *timer)
{
	pid_t holder = event_holder(timer->event_number, timer->is.pid);

	if (holder)
		timer->is.pid = holder;
	else
		release(timers, timer);
}

/* Releases timerfds that no process has open any more, because a program may create and close
 * timerfds again and again. Does nothing while there are only a few. */
static void find_holders(struct timers *timers)
{
	if (timers->files < timers->files_max)
		return;
	for (unsigned i = 0; i < timers->n; i++)
		if (timers->all[i].used && timers->all[i].is.kind == TIME_KIND_FD)
			find_holder(timers, &timers->all[i]);
	timers->files_max = 2 * timers->files < FILES_MIN ? FILES_MIN : 2 * timers->files;
}

/* Returns the number of a free entry, or -ENOMEM. */
static int find_slot(struct timers *timers)
{
	for (unsigned i = 0; i < timers->n; i++)
		if (!timers->all[i].used)
			return (int)i;
	if (ARRAY_GROW(timers->all, timers->cap, timers->n + 1))
		return -ENOMEM;
	return (int)timers->n++;
}

/* Opens what the kind of timer needs: a pidfd for signals to a process, or an eventfd for a timer
 * that the program reads. The signal number of F_SETSIG marks the eventfd as the library's
 * (sim/host/time/page.h). */
static int open_files(struct host_timer *timer)
{
	enum time_kind kind = timer->is.kind;

	timer->pidfd = timer->event = -1;
	if (kind == TIME_KIND_SIGNAL || kind == TIME_KIND_REAL) {
		timer->pidfd = (int)syscall(SYS_pidfd_open, timer->is.pid, 0);
		return timer->pidfd < 0 ? -errno : 0;
	}
	if (kind != TIME_KIND_FD && kind != TIME_KIND_HELPER)
		return 0;
	timer->event =
		eventfd(0, EFD_CLOEXEC | (timer->is.flags & TFD_NONBLOCK ? EFD_NONBLOCK : 0));
	if (timer->event < 0)
		return -errno;
	fcntl(timer->event, F_SETSIG, TIME_TIMER_SIGNAL);
	timer->event_number = event_number(getpid(), timer->event);
	return timer->event_number < 0 ? timer->event_number : 0;
}

int timers_make(struct timers *timers, const struct timer_new *new)
{
	struct host_timer timer = {.used = true, .is = *new};
	int number, r = open_files(&timer);

	find_holders(timers);
	number = r ? r : find_slot(timers);
	if (number < 0) {
		close_files(&timer);
		return number;
	}
	timers->all[number] = timer;
	timers->files += new->kind == TIME_KIND_FD;
	if (is_posix(&timer))
		atomic_fetch_add(&timers->page->posix_timers, 1);
	return number;
}

static struct host_timer *timer_of(const struct timers *timers, int number)
{
	return &timers->all[number];
}

/* Resets the eventfd's count to zero. The program decides whether the eventfd blocks, so this uses
 * a call that never blocks. */
static void empty(const struct host_timer *timer)
{
	uint64_t count;
	struct iovec to = {&count, sizeof(count)};

	while (preadv2(timer->event, &to, 1, -1, RWF_NOWAIT) > 0)
		;
}

static void add(const struct host_timer *timer, uint64_t count)
{
	ssize_t n;

	do
		n = write(timer->event, &count, sizeof(count));
	while (n < 0 && errno == EINTR);
}

void timers_delete(struct timers *timers, int number)
{
	struct host_timer *timer = timer_of(timers, number);

	if (timer->is.kind == TIME_KIND_HELPER) {
		empty(timer);
		add(timer, TIME_HELPER_ENDS);
	}
	release(timers, timer);
}

void timers_exec(struct timers *timers, pid_t pid)
{
	for (unsigned i = 0; i < timers->n; i++)
		if (timers->all[i].used && timers->all[i].is.pid == pid &&
		    is_posix(&timers->all[i]))
			release(timers, &timers->all[i]);
}

void timers_end(struct timers *timers, pid_t tid)
{
	for (unsigned i = 0; i < timers->n; i++) {
		struct host_timer *timer = &timers->all[i];

		if (!timer->used || timer->is.pid != tid)
			continue;
		if (timer->is.kind == TIME_KIND_FD)
			find_holder(timers, timer);
		else
			release(timers, timer);
	}
}

int timers_event(const struct timers *timers, int number)
{
	return timer_of(timers, number)->event;
}

int timers_by_event(const struct timers *timers, int event_number)
{
	for (unsigned i = 0; i < timers->n; i++)
		if (timers->all[i].used && timers->all[i].is.kind == TIME_KIND_FD &&
		    timers->all[i].event_number == event_number)
			return (int)i;
	return -ENOENT;
}

int timers_real(const struct timers *timers, pid_t pid)
{
	for (unsigned i = 0; i < timers->n; i++)
		if (timers->all[i].used && timers->all[i].is.kind == TIME_KIND_REAL &&
		    timers->all[i].is.pid == pid)
			return (int)i;
	return -ENOENT;
}

bool timers_belongs(const struct timers *timers, int number, pid_t pid)
{
	return number >= 0 && (unsigned)number < timers->n && timers->all[number].used &&
	       timers->all[number].is.pid == pid && is_posix(&timers->all[number]);
}

/* Returns the time, limited so that sums cannot overflow. */
static int64_t bounded(uint64_t ns)
{
	return ns < FAR_NS ? (int64_t)ns : FAR_NS;
}

int64_t timers_left(const struct timers *timers, int number)
{
	const struct host_timer *timer = timer_of(timers, number);
	int64_t left = timer->deadline_ns - now_of(timers);

	if (!timer->armed)
		return 0;
	/* A timer without a signal is never fired, so the expirations that have passed
	 * are skipped here. */
	if (left <= 0 && timer->is.kind == TIME_KIND_NOTHING)
		return timer->interval_ns ? timer->interval_ns - -left % timer->interval_ns : 0;
	return left > 0 ? left : 1;
}

int64_t timers_set(struct timers *timers, int number, bool absolute, uint64_t value_ns,
		   uint64_t interval_ns)
{
	struct host_timer *timer = timer_of(timers, number);
	int64_t left = timers_left(timers, number);

	timer->armed = value_ns != 0;
	timer->deadline_ns = bounded(value_ns) + (absolute ? -timer->is.offset_ns : now_of(timers));
	timer->interval_ns = value_ns ? bounded(interval_ns) : 0;
	timer->overrun = 0;
	timer->unread = 0;
	if (timer->event >= 0)
		empty(timer);
	return left;
}

int64_t timers_interval(const struct timers *timers, int number)
{
	return timer_of(timers, number)->interval_ns;
}

int64_t timers_overrun(const struct timers *timers, int number)
{
	uint64_t overrun = timer_of(timers, number)->overrun;

	return overrun < INT_MAX ? (int64_t)overrun : INT_MAX; /* DELAYTIMER_MAX */
}

static struct host_timer *first_of(const struct timers *timers)
{
	struct host_timer *first = NULL;

	for (unsigned i = 0; i < timers->n; i++) {
		struct host_timer *timer = &timers->all[i];

		if (timer->used && timer->armed && timer->is.kind != TIME_KIND_NOTHING &&
		    (!first || timer->deadline_ns < first->deadline_ns))
			first = timer;
	}
	return first;
}

uint64_t timers_first(const struct timers *timers)
{
	const struct host_timer *first = first_of(timers);

	if (!first)
		return UINT64_MAX;
	return first->deadline_ns > 0 ? (uint64_t)first->deadline_ns : 0;
}

/* Returns how often the timer has expired by @now, at least 1, and arms it for the next time. */
static uint64_t expire(struct host_timer *timer, int64_t now)
{
	int64_t n = 1;

	timer->armed = timer->interval_ns != 0;
	if (timer->armed) {
		n += (now - timer->deadline_ns) / timer->interval_ns;
		timer->deadline_ns += n * timer->interval_ns;
	}
	return (uint64_t)n;
}

/* Adds expirations to the eventfd. An eventfd that is not read may have been closed by all
 * processes. Its holders are searched for at 4, 8, 16, ... unread expirations, because the program
 * may as well have it open without reading it. */
static void count(struct timers *timers, struct host_timer *timer, uint64_t expirations)
{
	timer->unread = poll_now(timer->event, POLLIN) > 0 ? timer->unread + 1 : 0;
	add(timer, expirations);
	if (timer->is.kind == TIME_KIND_FD && timer->unread >= UNREAD_MIN &&
	    !(timer->unread & (timer->unread - 1)))
		find_holder(timers, timer);
}

/* Returns true if the timer's signal is pending for its process or thread; false also if that
 * cannot be read. */
static bool is_pending(const struct timer_new *is)
{
	const char *name = is->kind == TIME_KIND_THREAD ? "\nSigPnd:" : "\nShdPnd:", *at;
	char status[PROC_STATUS_BYTES];

	if (proc_status_read(is->kind == TIME_KIND_THREAD ? is->tid : is->pid, status,
			     sizeof(status)))
		return false;
	at = proc_status_field(status, name);
	return at && strtoull(at, NULL, 16) >> (is->signal - 1) & 1;
}

static int send_signal(const struct timers *timers, const struct host_timer *timer)
{
	const struct timer_new *is = &timer->is;
	siginfo_t info = {.si_signo = is->signal, .si_code = SI_TIMER};
	long r;

	info.si_timerid = (int)(timer - timers->all);
	info.si_overrun = (int)timers_overrun(timers, info.si_timerid);
	info.si_value.sival_ptr = (void *)(uintptr_t)is->value;
	if (is->kind == TIME_KIND_THREAD)
		r = syscall(SYS_rt_tgsigqueueinfo, is->pid, is->tid, is->signal, &info);
	else
		r = syscall(SYS_pidfd_send_signal, timer->pidfd, is->signal, &info, 0);
	return r ? -errno : 0;
}

/* Sends a timer's signal. While the previous signal of a POSIX timer is pending, only counts the
 * expirations as overrun. */
static void signal_expirations(struct timers *timers, struct host_timer *timer,
			       uint64_t expirations)
{
	if (timer->is.kind != TIME_KIND_REAL && is_pending(&timer->is)) {
		timer->overrun += expirations;
		return;
	}
	timer->overrun = expirations - 1;
	if (send_signal(timers, timer) != -ESRCH)
		return;
	/* ESRCH: if the signal was for a thread, the thread has ended, but its process may go on.
	 * Otherwise the process has ended. */
	if (timer->is.kind == TIME_KIND_THREAD)
		timer->armed = false;
	else
		release(timers, timer);
}

bool timers_fire(struct timers *timers)
{
	struct host_timer *timer = first_of(timers);
	int64_t now = now_of(timers);
	uint64_t expirations;

	if (!timer || timer->deadline_ns > now)
		return false;
	expirations = expire(timer, now);
	if (timer->event >= 0)
		count(timers, timer, expirations);
	else
		signal_expirations(timers, timer, expirations);
	return true;
}

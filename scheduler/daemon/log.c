// SPDX-License-Identifier: MIT
#include "scheduler/daemon/log.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/text.h"
#include "common/wait.h"

#define LINE 600 /* bytes; below PIPE_BUF, so that a pipe accepts the whole line or nothing */

static const struct ratelimit_rule budgets[] = {
	[LOG_OF_CLIENT] = {.burst = 20, .period_ns = 1000000000u},
	/* A user can cause lines in the worker and in kfdschedd-door. Each of these two processes
	 * applies the limit separately. */
	[LOG_OF_USER] = {.burst = 100, .period_ns = 400000000u},
};

/* How a line is written:
 * - FILE_LIKE: write() to stderr, which always accepts a line;
 * - OWN: write() to own_fd, which is a non-blocking open file description of stderr, or the pipe to
 *   kfdschedd-log;
 * - SOCKET: send() to stderr without waiting;
 * - SHARED: write() to stderr after a check that it has room. */
static enum { FILE_LIKE, OWN, SOCKET, SHARED } way = SHARED;
static int own_fd = -1;
static bool journal;
static bool always, verbose;	     /* verbose: written by the loop's thread, read by any thread */
static uint32_t dropped;	     /* lines, not reported yet */
static struct log_losses own_losses; /* used until log_count_in() is called */
static struct log_losses *losses = &own_losses;

/* Chooses `way` by the type of stderr. O_NONBLOCK belongs to the open file description, which other
 * processes may share. So for a pipe or a terminal, a second open file description is opened. */
void log_open(void)
{
	struct stat st;

	if (fstat(STDERR_FILENO, &st) < 0)
		return;
	if (S_ISREG(st.st_mode)) {
		way = FILE_LIKE;
	} else if (S_ISSOCK(st.st_mode)) {
		way = SOCKET;
	} else if (S_ISFIFO(st.st_mode) || S_ISCHR(st.st_mode)) {
		own_fd = open("/proc/self/fd/2", O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
		if (own_fd >= 0)
			way = OWN;
	}
}

bool log_is_file(void)
{
	return way == FILE_LIKE;
}

void log_to_pipe(int fd)
{
	if (way == OWN)
		close(own_fd);
	own_fd = fd;
	way = fd < 0 ? FILE_LIKE : OWN;
}

void log_count_in(struct log_losses *shared)
{
	__atomic_add_fetch(&shared->dropped, own_losses.dropped, __ATOMIC_RELAXED);
	__atomic_add_fetch(&shared->left_out, own_losses.left_out, __ATOMIC_RELAXED);
	own_losses = (struct log_losses){0};
	losses = shared;
}

int log_descriptor(void)
{
	return own_fd;
}

void log_to_journal(void)
{
	journal = true;
}

void log_set_verbose(bool wanted)
{
	__atomic_store_n(&verbose, wanted || always, __ATOMIC_RELAXED);
}

void log_verbose(void)
{
	always = true;
	log_set_verbose(true);
}

/* Returns true if stderr can accept a line now. Only used if there is no non-blocking descriptor
 * for it (SHARED). The result can be wrong, because another process can fill the pipe between this
 * check and the write. */
static bool has_room(void)
{
	return poll_now(STDERR_FILENO, POLLOUT) == POLLOUT;
}

/* Writes a line. Returns false if the log had no room for it, so that it must be counted as
 * dropped; true if it was written, or failed in another way. */
static bool put(const char *text, size_t length)
{
	ssize_t n = 0;

	switch (way) {
	case OWN:
		n = write(own_fd, text, length);
		if (n < 0 && errno == EPIPE) /* kfdschedd-log was killed */
			n = write(STDERR_FILENO, text, length);
		break;
	case SOCKET:
		n = send(STDERR_FILENO, text, length, MSG_DONTWAIT | MSG_NOSIGNAL);
		break;
	case SHARED:
		if (!has_room())
			return false;
		/* fallthrough */
	default:
		n = write(STDERR_FILENO, text, length);
	}
	return n >= 0 || (errno != EAGAIN && errno != ENOBUFS);
}

/* Writes the prefix of a line into `text`. Returns the length of the prefix. */
static size_t begin(char text[static LINE], int priority)
{
	return (size_t)(journal ? snprintf(text, LINE, "<%d>", priority)
				: snprintf(text, LINE, "kfdschedd: "));
}

static void drop(void)
{
	__atomic_add_fetch(&dropped, 1, __ATOMIC_RELAXED);
	__atomic_add_fetch(&losses->dropped, 1, __ATOMIC_RELAXED);
}

/* Logs the number of dropped lines, if any. Returns false if there is no room for that line; the
 * number is then kept and logged later. */
static bool log_dropped(void)
{
	uint32_t lost = __atomic_exchange_n(&dropped, 0, __ATOMIC_RELAXED);
	char text[LINE];
	size_t start;
	int n;

	if (!lost)
		return true;
	start = begin(text, LOG_PRIORITY_WARNING);
	n = snprintf(text + start, sizeof(text) - start,
		     "%u lines are missing here, because the log was not read in time\n", lost);
	if (put(text, start + (size_t)n))
		return true;
	__atomic_add_fetch(&dropped, lost, __ATOMIC_RELAXED);
	return false;
}

__attribute__((format(printf, 2, 0))) static void line(int priority, const char *format,
						       va_list args)
{
	char text[LINE];
	size_t start, length;
	int n;

	if (!log_dropped()) {
		drop();
		return;
	}
	start = begin(text, priority);
	n = vsnprintf(text + start, sizeof(text) - start - 1, format, args);
	if (n < 0)
		return;
	length = start + (size_t)n;
	if (length > sizeof(text) - 2)
		length = sizeof(text) - 2;
	text[length] = '\0';
	plain_text(text + start);
	text[length++] = '\n';
	if (!put(text, length))
		drop();
}

void log_line(enum log_priority priority, const char *format, ...)
{
	va_list args;

	if (priority == LOG_PRIORITY_DEBUG && !__atomic_load_n(&verbose, __ATOMIC_RELAXED))
		return;
	va_start(args, format);
	line(priority, format, args);
	va_end(args);
}

/* Returns true if the rate limit of `share` allows a line now. If it has suppressed lines since the
 * last allowed one, their number is logged first. */
static bool granted(struct log_share *share, enum log_budget of)
{
	if (!ratelimit_take(&share->limit, &budgets[of], clock_ns())) {
		share->left_out++;
		__atomic_add_fetch(&losses->left_out, 1, __ATOMIC_RELAXED);
		return false;
	}
	if (share->left_out)
		log_info("%u lines about the %s of the next line suppressed by the rate limit",
			 share->left_out, of == LOG_OF_CLIENT ? "process" : "user");
	share->left_out = 0;
	return true;
}

void log_within(struct log_share *share, enum log_budget of, const char *format, ...)
{
	va_list args;

	if (!granted(share, of))
		return;
	va_start(args, format);
	line(LOG_PRIORITY_INFO, format, args);
	va_end(args);
}

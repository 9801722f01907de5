// SPDX-License-Identifier: MIT
/* kfdsched import-log: reads queues, threads and packets from a log of HIP. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/import_log/stats.h"
#include "cli/output/progress.h"
#include "cli/util/interrupt.h"
#include "cli/util/parse_options.h"
#include "common/allocate.h"
#include "common/clock.h"
#include "common/text.h"
#include "common/wait.h"

/* Bytes of one read(): more is not faster, and this much stays in the cache of a CPU. */
#define WINDOW (256u << 10)
#define NAME 512	   /* bytes of a log's name in messages */
#define LIVE_NS 200000000u /* between updates of the progress line */

struct import {
	struct import_read read;
	struct log_stats *stats;
	int fd;
	uint64_t size;		    /* bytes of a regular file; 0: not known */
	bool in_long;		    /* in a too long line whose beginning was counted already */
	uint64_t began_ns, live_ns; /* begin; next update of the progress line */
};

/* Parses and counts one line, cut to HIPLOG_LINE_MAX. */
static void take_line(struct import *import, const char *line, size_t bytes)
{
	struct hiplog_record record;

	import->read.lines++;
	if (bytes > HIPLOG_LINE_MAX) {
		import->read.cut++;
		bytes = HIPLOG_LINE_MAX;
	}
	if (hiplog_parse(line, bytes, &record))
		log_stats_add(import->stats, &record);
}

/* Counts all complete lines in the window, and moves the incomplete line behind them to the
 * window's beginning. A line longer than HIPLOG_LINE_MAX is counted by its beginning, and the rest
 * of it is skipped. Returns the bytes that are left in the window. */
static size_t take_lines(struct import *import, char *window, size_t bytes)
{
	char *at = window, *end = window + bytes, *newline;

	while ((newline = memchr(at, '\n', (size_t)(end - at)))) {
		if (!import->in_long)
			take_line(import, at, (size_t)(newline - at));
		import->in_long = false;
		at = newline + 1;
	}
	if (import->in_long)
		return 0;
	if ((size_t)(end - at) > HIPLOG_LINE_MAX) {
		take_line(import, at, (size_t)(end - at));
		import->in_long = true;
		return 0;
	}
	memmove(window, at, (size_t)(end - at));
	return (size_t)(end - at);
}

/* Updates the progress line if its last update is at least LIVE_NS ago. */
static void live(struct import *import)
{
	const uint64_t now = clock_ns();
	double seconds, mega;

	if (now < import->live_ns)
		return;
	import->live_ns = now + LIVE_NS;
	seconds = (double)(now - import->began_ns) / 1e9;
	mega = (double)import->read.bytes / 1e6;
	if (import->size > import->read.bytes)
		progress_live("%.0f of %.0f MB (%.0f %%), %.0f MB/s", mega,
			      (double)import->size / 1e6,
			      100 * (double)import->read.bytes / (double)import->size,
			      seconds > 0 ? mega / seconds : 0);
	else
		progress_live("%.0f MB, %.0f MB/s", mega, seconds > 0 ? mega / seconds : 0);
}

/* Waits until the log can be read. Returns false if a signal stops the command. */
static bool wait_readable(const struct import *import)
{
	struct pollfd fds[] = {{.fd = import->fd, .events = POLLIN},
			       {.fd = stop_fd(), .events = POLLIN}};

	poll_until_ns(fds, 2, WAIT_FOREVER); /* read() reports an error */
	return !fds[1].revents;
}

/* Reads the log to its end, or until a signal stops it. Returns 0 or a negative errno. */
static int read_all(struct import *import)
{
	char *window = allocate(WINDOW, 1);
	const bool show = progress_is_live();
	size_t left = 0;
	ssize_t n;
	int rc = 0;

	import->began_ns = clock_ns();
	import->live_ns = import->began_ns + LIVE_NS;
	for (;;) {
		if (!wait_readable(import)) {
			import->read.stopped = true;
			break;
		}
		n = read(import->fd, window + left, WINDOW - left);
		if (n < 0 && (errno == EINTR || errno == EAGAIN))
			continue;
		if (n < 0)
			rc = -errno;
		if (n <= 0)
			break;
		import->read.bytes += (uint64_t)n;
		left = take_lines(import, window, left + (size_t)n);
		if (show)
			live(import);
	}
	/* The last line has no newline if the log is still being written or was cut. Count this
	 * line, unless a signal stopped the reading in its middle. */
	if (left && !import->read.stopped)
		take_line(import, window, left);
	progress_clear();
	free(window);
	return rc;
}

/* Opens the log. Returns 0 or a negative errno. O_NOCTTY: if the log is a terminal, it must not
 * become the controlling terminal. */
static int open_log(struct import *import)
{
	struct stat st;

	if (strcmp(import->read.file, "-") == 0)
		import->fd = STDIN_FILENO;
	else
		import->fd = open(import->read.file, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	if (import->fd < 0 || fstat(import->fd, &st))
		return -errno;
	if (S_ISDIR(st.st_mode))
		return -EISDIR;
	if (S_ISREG(st.st_mode)) {
		import->size = (uint64_t)st.st_size;
		(void)posix_fadvise(import->fd, 0, 0, POSIX_FADV_SEQUENTIAL);
	}
	return 0;
}

/* Returns true if the log seems to be of HIP 5.6 to 6.1, which log a queue by one address when it
 * is created and by another when it is used. */
static bool two_names(const struct log_stats *stats)
{
	for (uint32_t i = 0; i < stats->queues; i++) {
		const struct log_stats_queue *queue = &stats->queue[i];

		if (stats->process[queue->process].apart && queue->created && !queue->ring)
			return true;
	}
	return false;
}

/* Prints notes that a reader of the tables needs: what is missing in the log, and why. */
static void remarks(const struct import *import)
{
	const struct log_stats *stats = import->stats;
	bool packets = false;

	for (uint32_t i = 0; i < stats->processes; i++)
		packets |= stats->process[i].seen[HIPLOG_DISPATCH] ||
			   stats->process[i].seen[HIPLOG_BARRIER];
	if (import->read.stopped)
		cli_failed(&cmd_import_log, "stopped after %.1f MB%s: the result covers that part",
			   (double)import->read.bytes / 1e6, import->size ? "" : " of it");
	if (stats->left_out)
		cli_failed(&cmd_import_log,
			   "%" PRIu64
			   " lines are not counted: the limit is %u processes, %u threads, %u "
			   "queues and %u uses of a queue by a thread",
			   stats->left_out, LOG_STATS_PROCESSES, LOG_STATS_THREADS,
			   LOG_STATS_QUEUES, LOG_STATS_USES);
	if (stats->nameless && !stats->only_pid)
		cli_failed(&cmd_import_log,
			   "%" PRIu64 " lines name no process and no thread: from HIP 6.4 on "
			   "AMD_LOG_LEVEL must be 4 or more for that",
			   stats->nameless);
	if (!packets)
		cli_failed(
			&cmd_import_log,
			"the log has no packets: AMD_LOG_LEVEL=4 logs them, from HIP 7 on level 5");
	if (two_names(stats))
		cli_failed(
			&cmd_import_log,
			"HIP 5.6 to 6.1 log the hsa_queue_t of a queue when it is created, and its "
			"ring when it is used, but do not relate them, so each counts as a queue "
			"here");
}

/* Returns the log's name for messages, cut to NAME bytes and without control characters. */
static const char *name_of(const char *file, char name[NAME])
{
	if (strcmp(file, "-") == 0)
		file = "stdin";
	snprintf(name, NAME, "%s", file);
	return plain_text(name);
}

/* Reports why no line of the log was counted. Returns the exit code. */
static int nothing(const struct import *import)
{
	const struct log_stats *stats = import->stats;
	char name[NAME];
	const char *file = name_of(import->read.file, name);

	if (stats->records && stats->only_pid)
		return cli_failed(
			&cmd_import_log,
			"%s has no line of process %" PRIu64 ": run this without --pid to list its "
			"processes (a process in a container logs its pid in that container)",
			file, stats->only_pid);
	if (import->read.bytes == 0 && !import->read.stopped)
		return cli_failed(&cmd_import_log, "%s is empty", file);
	return cli_failed(
		&cmd_import_log,
		"%s%s has no line of a HIP log: set AMD_LOG_LEVEL=4 for the program, which then "
		"logs to stderr or to AMD_LOG_LEVEL_FILE",
		import->read.stopped ? "the part that was read of " : "", file);
}

/* Reads the log and prints the result. Returns the exit code. */
static int import(struct import *import, enum import_format format)
{
	char name[NAME];
	int rc;

	if (stop_begin(&cmd_import_log))
		return CLI_FAILED;
	rc = open_log(import);
	if (rc == 0)
		rc = read_all(import);
	if (rc)
		return cli_failed(&cmd_import_log, "%s cannot be read: %s",
				  name_of(import->read.file, name), strerror(-rc));
	if (import->stats->threads == 0)
		return nothing(import);
	remarks(import);
	import_show(&import->read, import->stats, format);
	return CLI_DONE;
}

static int run(int argc, char **argv)
{
	static const char *const formats[] = {"table", "json", "python", NULL};
	enum import_format format = IMPORT_TABLE;
	const char *file = NULL;
	int pid = 0;
	const struct cli_option options[] = {
		{OPTION_CHOICE("format", &format, formats)},
		{OPTION_IS("json", &format, IMPORT_JSON)},
		{OPTION_PID("pid", &pid)},
		{OPTION_TEXT("FILE ('-' is stdin)", &file), .word = true},
		{0},
	};
	int code = options_read(&cmd_import_log, argc, argv, options);

	if (code != CLI_GO_ON)
		return code;
	struct import all = {.read.file = file, .fd = -1, .stats = log_stats_new((uint64_t)pid)};

	code = import(&all, format);
	log_stats_free(all.stats);
	if (all.fd > STDIN_FILENO)
		close(all.fd);
	return code;
}

const struct cli_command cmd_import_log = {
	.name = "import-log",
	.summary = "extract queues, threads and packets from a HIP log (AMD_LOG_LEVEL)",
	.usage = "FILE [--pid N] [--format table|json|python]",
	.help = "Reads a log of HIP (5.2 to 7.2) with AMD_LOG_LEVEL 3 to 5, of any size, and prints its\n"
		"processes, their hardware queues and their threads, with the number of packets of each\n"
		"thread in each queue. FILE '-' is stdin. RPTR and WPTR are those of the queue's last packet,\n"
		"BACKLOG the packets in the queue then, MOST its highest backlog, LIMIT the number of queues\n"
		"that HIP creates for each priority before streams share them. A value that the log does not\n"
		"have is '-'. A pid is that of the process's own namespace, a thread is its pthread_t, an\n"
		"HSA ID is not the id of KFD. Ctrl-C prints the result so far.\n"
		"\n"
		"  --pid N       only the lines of process N\n"
		"  --format F    table (default); json: docs/reference/import-log.md describes the keys;\n"
		"                python: the same as a literal, for ast.literal_eval()\n"
		"  --json        --format json\n"
		"\n"
		"Examples:\n"
		"  AMD_LOG_LEVEL=5 ./train 2>&1 | kfdsched import-log -\n"
		"  kfdsched import-log hip.log --json | jq '.processes[].queues[].hsa_queue'\n",
	.run = run,
};

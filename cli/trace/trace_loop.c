// SPDX-License-Identifier: MIT
/* Main loop of a trace: opens the sources, starts the command, reads all sources every TICK_MS or
 * when data arrives, and reads what is left after the end. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/output/progress.h"
#include "cli/trace/trace.h"
#include "cli/util/interrupt.h"
#include "common/allocate.h"
#include "common/child.h"
#include "common/clock.h"
#include "common/proc.h"
#include "common/wait.h"

#define MS 1000000u
#define TICK_MS 50
/* How long the sources are still read after the end of the trace, because events arrive late. */
#define QUIET_NS (100ull * MS)
#define TERM_NS (3000ull * MS)
/* Limit of what is read from a log at once, in bytes. */
#define LOG_PIECE (16u << 20)
/* Exit codes of kfdsched if the command cannot be started, as those of a shell. */
#define NOT_FOUND 127
#define NOT_EXECUTABLE 126
/* The shim drops a log line for which the pipe has no room, so the pipe is made large. */
#define PIPE_BYTES (1 << 20)

/* The command whose run is traced. */
struct command {
	pid_t pid; /* 0: no command was started */
	int pidfd; /* readable when the command has ended */
	/* Read end of the command's stderr, O_NONBLOCK; -1: the stderr is not redirected. */
	int talk;
	bool ended; /* `status` is valid */
	int status; /* as from waitpid(2) */
};

/* Longest line, in bytes. A longer one is written to `rest` in pieces, or cut if that is NULL. */
#define TEXT_LINE 8192

/* Handles a line, without its newline. Returns true if it consumes the line, false if the line has
 * to be written to `rest` of struct line_reader. */
typedef bool text_take(void *context, const char *line, size_t bytes);

/* Splits a stream into lines: the stderr of the command, or a log. take() gets each line; lines
 * that it does not use are written to `rest`. */
struct line_reader {
	FILE *rest; /* receives the lines that were not consumed; NULL: they are dropped */
	text_take *take;
	void *context;
	bool begun; /* the start of this line was passed on to `rest` already */
	size_t used;
	char line[TEXT_LINE];
};

struct trace_session {
	const struct trace_options *options;
	struct trace_output output;
	struct trace_daemon daemon;
	uint64_t end_ns; /* UINT64_MAX: the trace still runs */
	/* Start times of the chosen processes, to recognize reused pids. */
	uint64_t started[TRACE_PIDS];
	struct tracefs tracefs;
	struct command command;
	struct line_reader talk, log;
	struct open_calls calls;
	uint64_t log_number; /* number of the last event in the shim's log */
	pid_t log_pid;
	uint64_t log_lost;
	char before[64]; /* text that stood before the last HIP record in its line */
	size_t before_bytes;
	int log_fd;
};

/* ---- the command's stderr, and HIP's log ---- */

/* Writes the current piece of the line to `rest`. */
static void pass_on(struct line_reader *text)
{
	if (text->rest && text->used > 0) {
		fwrite(text->line, 1, text->used, text->rest);
		fflush(text->rest);
	}
	text->begun = text->used > 0 || text->begun;
	text->used = 0;
}

static void line_ends(struct line_reader *text)
{
	if (text->begun || !text->take(text->context, text->line, text->used)) {
		pass_on(text);
		if (text->rest) {
			putc('\n', text->rest);
			fflush(text->rest);
		}
	}
	text->used = 0;
	text->begun = false;
}

/* Reads from `fd` what is available, at most about LOG_PIECE bytes. Returns false at the end of the
 * stream or on an error. */
static bool text_read(struct line_reader *text, int fd)
{
	char piece[65536];
	size_t got = 0;
	ssize_t n = 0;

	while (got < LOG_PIECE && (n = read(fd, piece, sizeof(piece))) > 0) {
		got += (size_t)n;
		for (const char *c = piece, *end = piece + n; c < end;) {
			const char *stop = memchr(c, '\n', (size_t)(end - c));
			size_t bytes = (size_t)((stop ? stop : end) - c);
			size_t room = sizeof(text->line) - text->used;

			memcpy(text->line + text->used, c, bytes < room ? bytes : room);
			text->used += bytes < room ? bytes : room;
			c += bytes;
			if (stop) {
				line_ends(text);
				c++;
			} else if (text->rest && text->used == sizeof(text->line)) {
				pass_on(text); /* no line of a log is that long */
			}
		}
	}
	return n > 0 || (n < 0 && (errno == EAGAIN || errno == EINTR));
}

/* Called when the stream is idle. Writes an incomplete line to `rest`, because it may be a prompt
 * that the user has to see. A line that begins like one that take() uses ("kfdshim[", or ":" of
 * HIP's log) is kept. */
static void text_idle(struct line_reader *text)
{
	static const char *const ours[] = {"kfdshim[", ":"};

	for (size_t i = 0; i < sizeof(ours) / sizeof(ours[0]); i++) {
		size_t n = strlen(ours[i]);

		if (text->used > 0 &&
		    memcmp(text->line, ours[i], text->used < n ? text->used : n) == 0)
			return;
	}
	if (text->used > 0)
		pass_on(text);
}

/* Handles the end of the stream: gives an incomplete last line to take(), or writes it to
 * `rest`. */
static void text_end(struct line_reader *text)
{
	if (text->used > 0 && (text->begun || !text->take(text->context, text->line, text->used)))
		pass_on(text);
	text->used = 0;
}

/* Writes the text before a record of HIP's log in the same line to the user's stderr: it is other
 * output, such as a prompt. Leaves out a prefix that each line has (the rank that mpirun adds). */
static void pass_on_prompt(struct trace_session *run, const struct hiplog_text *before)
{
	size_t n_valid = before->bytes < sizeof(run->before) ? before->bytes : sizeof(run->before);

	if (before->bytes > 0 && (before->bytes != run->before_bytes ||
				  memcmp(before->text, run->before, n_valid) != 0)) {
		fwrite(before->text, 1, before->bytes, run->talk.rest);
		fflush(run->talk.rest);
	}
	memcpy(run->before, before->text, n_valid);
	run->before_bytes = before->bytes;
}

/* Adds the record of HIP's log in `line` to the trace. Returns false if the line has no record. */
static bool take_hip(struct trace_session *run, const struct line_reader *from, const char *line,
		     size_t bytes)
{
	struct hiplog_record record;
	struct trace_event event;
	pid_t pid = run->command.pid;

	if (!pid && run->options->pids == 1)
		pid = run->options->pid[0];
	if (!hiplog_parse(line, bytes, &record))
		return false;
	if (from->rest)
		pass_on_prompt(run, &record.before);
	if (decode_hip(&record, pid, &run->calls, &event)) {
		if (event.ns + event.duration_ns < run->output.begin_ns)
			run->output.hip_before++;
		else if (event.ns + event.duration_ns > clock_ns())
			run->output.hip_future++;
		else if (event.ns <= run->end_ns)
			trace_output_add(&run->output, &event);
	}
	return true;
}

/* Handles a line of the --hip-log file. Returns true for every line, so that none is written to the
 * user's stderr. */
static bool take_log(void *context, const char *line, size_t bytes)
{
	struct trace_session *run = context;

	take_hip(run, &run->log, line, bytes);
	return true;
}

/* Handles a line of the command's stderr: an event of the shim, or with --hip a record of HIP's
 * log. Returns false for other lines, which are then written to the user's stderr. */
static bool take_talk(void *context, const char *line, size_t bytes)
{
	struct trace_session *run = context;
	struct trace_event event;
	uint64_t number;

	if (decode_log(line, bytes, clock_ns(), &event, &number)) {
		if (event.pid == run->log_pid && number > run->log_number + 1)
			run->log_lost += number - run->log_number - 1;
		run->log_pid = event.pid;
		run->log_number = number;
		/* With a daemon this event also arrives by the shared memory, with its own time, so
		 * it is not added here. */
		if (!run->daemon.shm_source && trace_is_chosen(run->options, event.pid))
			trace_output_add(&run->output, &event);
		return true;
	}
	return run->options->hip && take_hip(run, &run->talk, line, bytes);
}

static int open_log(struct trace_session *run)
{
	run->log_fd = -1;
	if (!run->options->hip_log)
		return 0;
	/* O_NONBLOCK: open() of a FIFO without a writer must not block. */
	run->log_fd = open(run->options->hip_log, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	run->log = (struct line_reader){.take = take_log, .context = run};
	return run->log_fd < 0 ? -errno : 0;
}

/* ---- the command ---- */

/* Returns the exit code with which a shell reports that a command could not be started. */
static int exit_code_of(int error)
{
	switch (error) {
	case ENOENT:
		return NOT_FOUND;
	case EMFILE: /* kfdsched itself lacks fds or memory; the command is not the reason */
	case ENFILE:
	case EAGAIN:
	case ENOMEM:
		return CLI_FAILED;
	default:
		return NOT_EXECUTABLE;
	}
}

/* Starts the command with libkfdshim.so preloaded, as by "kfdsched run". It stays in the process
 * group of kfdsched, so that Ctrl-C reaches both. Its stderr is redirected to kfdsched if it will
 * have events: without a daemon those of the shim, with --hip those of HIP. Returns CLI_GO_ON or
 * the exit code. */
static int start_command(struct trace_session *run, bool daemon)
{
	char *const *argv = run->options->command;
	struct command *command = &run->command;
	char shim[PATH_MAX], level[sizeof("AMD_LOG_LEVEL=") + 1];
	const char *environment[5] = {0};
	const struct child_program program = {
		.argv = (const char *const *)argv,
		.environment = environment,
		.stdio = {STDIN_FILENO, run->output.file == stdout ? STDERR_FILENO : STDOUT_FILENO,
			  !daemon || run->options->hip ? CHILD_PIPE : STDERR_FILENO},
		.death_signal = SIGTERM,
	};
	int output[2];
	size_t n = 0;

	if (cli_need(&cmd_trace, "libkfdshim.so", true, shim))
		return CLI_FAILED;
	run->talk = (struct line_reader){.rest = stderr, .take = take_talk, .context = run};
	char *preload = cli_preload(shim);

	environment[n++] = preload;
	/* Without a daemon the shim has to log its events, and with --hip HIP has to log, on
	 * stderr. */
	if (!daemon)
		environment[n++] = "KFDSHIM_LOG=debug";
	if (run->options->hip) {
		snprintf(level, sizeof(level), "AMD_LOG_LEVEL=%c", '0' + run->options->hip);
		environment[n++] = level;
		environment[n++] = "AMD_LOG_LEVEL_FILE";
	}
	pid_t pid = child_start(&program, output);

	free(preload);
	if (pid < 0) {
		cli_failed(&cmd_trace, "cannot start %s: %s", argv[0], strerror(-pid));
		trace_output_end(&run->output,
				 clock_ns()); /* the file is complete, with no event */
		return exit_code_of(-pid);
	}
	command->pid = pid;
	command->talk = output[1];
	fcntl(command->talk, F_SETPIPE_SZ, PIPE_BYTES); /* fails: the default size stays */
	command->pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
	return CLI_GO_ON;
}

/* Returns true if the command has ended. Does not wait. */
static bool command_has_ended(struct command *command)
{
	if (command->pid && !command->ended)
		command->ended = waitpid(command->pid, &command->status, WNOHANG) == command->pid;
	return command->ended;
}

/* ---- driver ---- */

static void take_driver(void *context, struct trace_event *event)
{
	trace_output_add(context, event);
}

static void open_driver(struct trace_session *run)
{
	char name[64];

	run->tracefs.pipe = -1;
	if (run->output.simulated) {
		trace_note(&run->output,
			   "the trace has no activity of the driver: the driver is simulated, so "
			   "no kernel function is called");
		return;
	}
	tracefs_name(name);
	if (tracefs_open(&run->tracefs, TRACEFS_ROOT, name) == 0)
		trace_note(&run->output, "driver: %s", run->tracefs.why);
	else
		trace_note(&run->output, "the trace has no activity of the driver: %s",
			   run->tracefs.why);
}

/* ---- course of the trace ---- */

static void read_all(struct trace_session *run)
{
	trace_daemon_read(&run->daemon);
	tracefs_read(&run->tracefs, take_driver, &run->output);
	if (run->command.talk >= 0 && text_read(&run->talk, run->command.talk))
		text_idle(&run->talk);
	if (run->log_fd >= 0)
		text_read(&run->log, run->log_fd);
}

/* Waits until a source has data, but at most `ms`. `until_stopped`: also until stop_fd() is
 * readable. */
static void wait_a_tick(struct trace_session *run, int ms, bool until_stopped)
{
	struct pollfd p[] = {
		{.fd = until_stopped ? stop_fd() : -1, .events = POLLIN},
		{.fd = run->daemon.events_fd, .events = POLLIN},
		{.fd = run->tracefs.pipe, .events = POLLIN},
		{.fd = run->command.talk, .events = POLLIN},
		{.fd = run->command.ended ? -1 : run->command.pidfd, .events = POLLIN},
		{.fd = run->output.file == stdout && !run->output.unread ? STDOUT_FILENO : -1},
	};

	poll_until_ns(p, sizeof(p) / sizeof(p[0]), wait_end_ms(ms));
	run->output.unread |= p[5].revents & (POLLERR | POLLHUP);
	/* A hang-up without data: close the fd, because poll() would return at once every time. */
	if (p[3].revents & (POLLHUP | POLLERR) && !(p[3].revents & POLLIN)) {
		text_end(&run->talk);
		close(run->command.talk);
		run->command.talk = -1;
	}
}

/* Returns true if processes were chosen and all of them have ended. Returns false if a command was
 * started, because then the end of the command ends the trace. */
static bool all_have_gone(const struct trace_session *run)
{
	struct proc_stat stat;

	for (unsigned i = 0; i < run->options->pids; i++)
		if (proc_stat(run->options->pid[i], &stat) && stat.started == run->started[i] &&
		    stat.state != 'Z')
			return false;
	return run->options->pids > 0 && !run->options->command;
}

static void trace(struct trace_session *run)
{
	uint64_t until = run->options->seconds > 0
				 ? run->output.begin_ns + (uint64_t)(run->options->seconds * 1e9)
				 : UINT64_MAX;
	/* True if no other output goes to the terminal, so that a live line is possible. */
	bool is_quiet = progress_is_live() && !run->options->command && run->output.file != stdout;
	unsigned long long seconds = 1;
	uint64_t now;

	while ((now = clock_ns()) < until && !stop_requested() &&
	       !command_has_ended(&run->command) && !all_have_gone(run) &&
	       !trace_output_failed(&run->output)) {
		uint64_t ms = (until - now) / MS + 1;

		wait_a_tick(run, ms < TICK_MS ? (int)ms : TICK_MS, true);
		read_all(run);
		trace_output_flush(&run->output, clock_ns());
		if (is_quiet && (clock_ns() - run->output.begin_ns) / 1000000000u >= seconds)
			progress_live("tracing for %llu s; Ctrl-C ends it", seconds++);
	}
	progress_clear();
}

/* Ends the command by SIGTERM, and if it still runs after TERM_NS, by SIGKILL. The command has
 * received SIGINT already if Ctrl-C ends the trace, but not if --seconds does. */
static void end_command(struct trace_session *run)
{
	static const int signals[] = {SIGTERM, SIGKILL};

	for (size_t i = 0; run->command.pid && i < 2; i++) {
		uint64_t until = clock_ns() + TERM_NS;

		if (command_has_ended(&run->command))
			return;
		kill(run->command.pid, signals[i]);
		while (!command_has_ended(&run->command) && clock_ns() < until) {
			wait_a_tick(run, TICK_MS, false);
			read_all(run);
		}
	}
}

/* Records a note for each kind of events that the trace lacks. */
static void print_losses(struct trace_session *run)
{
	const struct {
		uint64_t count;
		const char *what;
	} losses[] = {
		{run->log_lost, "lines of the shim's log were not read in time and are lost"},
		{run->tracefs.lost,
		 "events of the driver were lost: the kernel's trace buffer was full"},
		{run->output.hip_before,
		 "lines of HIP's log are from before the trace, or of another machine, and are ignored"},
		{run->output.hip_future,
		 "lines of HIP's log have times later than now, so they are of another machine or from before a reboot, and are ignored"},
	};

	trace_daemon_end(&run->daemon);
	for (size_t i = 0; i < sizeof(losses) / sizeof(losses[0]); i++)
		if (losses[i].count)
			trace_note(&run->output, "%llu %s", (unsigned long long)losses[i].count,
				   losses[i].what);
}

static bool is_file(int fd)
{
	struct stat status;

	return fd >= 0 && fstat(fd, &status) == 0 && S_ISREG(status.st_mode);
}

/* Stops tracing the driver, reads what arrives within QUIET_NS, and the rest of a log file. */
static void drain(struct trace_session *run)
{
	uint64_t until = clock_ns() + QUIET_NS;

	tracefs_stop(&run->tracefs);
	while (clock_ns() < until) {
		wait_a_tick(run, (int)(QUIET_NS / MS / 4), false);
		read_all(run);
	}
	while (tracefs_read(&run->tracefs, take_driver, &run->output))
		;
	while (is_file(run->log_fd) && text_read(&run->log, run->log_fd))
		;
	text_end(&run->talk);
	text_end(&run->log);
}

static int finish(struct trace_session *run)
{
	run->end_ns = clock_ns();
	end_command(run);
	drain(run);
	print_losses(run);
	return trace_output_end(&run->output, run->end_ns);
}

/* Opens all sources and starts the command. The command is started before trace_daemon_follow(),
 * because that starts a thread. Returns CLI_GO_ON or the exit code. */
static int open_sources(struct trace_session *run)
{
	int error = open_log(run), code;
	bool daemon;

	if (error)
		return cli_failed(&cmd_trace, "%s cannot be read: %s", run->options->hip_log,
				  strerror(-error));
	daemon = trace_daemon_open(&run->daemon, &run->output);
	open_driver(run);
	if (!daemon && run->tracefs.pipe < 0 && run->log_fd < 0 && !run->options->command) {
		cli_failed(&cmd_trace, "there is nothing to trace here: start a daemon, give a "
				       "log with --hip-log, or give a command after --");
		return CLI_IMPOSSIBLE;
	}
	if (run->options->command && !daemon)
		trace_note(&run->output,
			   "the shim's events are taken from the log of COMMAND, at the time at "
			   "which it is read");
	code = run->options->command ? start_command(run, daemon) : CLI_GO_ON;
	return code == CLI_GO_ON && daemon ? trace_daemon_follow(&run->daemon) : code;
}

int trace_run(const struct trace_options *options)
{
	struct trace_session *run = allocate(1, sizeof(*run));
	struct proc_stat stat;
	int code;

	*run = (struct trace_session){.options = options,
				      .end_ns = UINT64_MAX,
				      .daemon = {.events_fd = -1},
				      .log_fd = -1,
				      .command = {.pidfd = -1, .talk = -1},
				      .tracefs = {.pipe = -1}};
	for (unsigned i = 0; i < options->pids; i++) {
		proc_stat(options->pid[i], &stat);
		run->started[i] = stat.started;
	}
	/* A reader that closes our stdout must not kill kfdsched, because the trace instance has
	 * to be removed. */
	signal(SIGPIPE, SIG_IGN);
	if (stop_begin(&cmd_trace))
		return CLI_FAILED;
	code = trace_output_open(&run->output, options);
	if (code == CLI_GO_ON)
		code = open_sources(run);
	if (code == CLI_GO_ON) {
		trace(run);
		code = finish(run);
		if (code == CLI_DONE && run->command.pid) {
			code = cli_exit_code(run->command.status);
			if (code)
				fprintf(stderr, "kfdsched trace: %s ended with exit code %d\n",
					options->command[0], code);
		}
	}
	tracefs_close(&run->tracefs);
	if (run->command.pidfd >= 0)
		close(run->command.pidfd);
	if (run->command.talk >= 0)
		close(run->command.talk);
	trace_daemon_close(&run->daemon);
	trace_output_free(&run->output);
	free(run);
	return code;
}

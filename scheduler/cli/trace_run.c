// SPDX-License-Identifier: MIT
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/proc_stat.h"
#include "scheduler/cli/ask.h"
#include "scheduler/cli/progress.h"
#include "scheduler/cli/simulation.h"
#include "scheduler/cli/stop.h"
#include "scheduler/cli/trace.h"
#include "scheduler/cli/trace_command.h"
#include "scheduler/cli/trace_lanes.h"
#include "scheduler/cli/trace_perfetto.h"
#include "scheduler/cli/trace_text.h"
#include "scheduler/cli/trace_told.h"
#include "scheduler/cli/trace_tracefs.h"
#include "scheduler/lib/kfdsched.h"

#define MS 1000000u
#define TICK_MS 50
/* Sources tell late: a lane by what lies between two questions, a log by its buffer. */
#define KEEP_NS (1000ull * MS)
#define KEEP_ROOM 16384u
/* After the end, for what is still on its way. */
#define QUIET_NS (100ull * MS)
#define TERM_NS (3000ull * MS)
#define LOG_PIECE (16u << 20)

struct run {
	const struct trace_options *options;
	uint64_t begin_ns, end_ns; /* end_ns: UINT64_MAX: not decided */
	uint64_t started[TRACE_PIDS];
	pthread_mutex_t mutex; /* of the timeline: the lanes' thread adds, too */
	struct timeline *timeline;
	struct perfetto *perfetto;
	FILE *file;
	json_t *notes;
	struct kfdsched *daemon;
	int events_fd;
	struct lanes *lanes;
	struct tracefs tracefs;
	struct command command;
	struct text talk, log;
	struct told_calls calls;
	uint64_t log_number; /* of the last event of the shim's log */
	pid_t log_pid;
	uint64_t log_lost, hip_before;
	int log_fd;
	bool unread; /* nobody takes stdout any more: a pipe's reader, a terminal */
	bool simulated;
	struct simulation simulation;
};

/* ---- what is said, and what is written ---- */

static void note(struct run *run, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* On stderr, and for who opens the file. */
static void note(struct run *run, const char *format, ...)
{
	char text[1024];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	progress_clear();
	fprintf(stderr, "kfdsched trace: %s\n", text);
	json_array_append_new(run->notes, json_string(text));
}

static int64_t wall_ns(void)
{
	struct timespec t;
	uint64_t now = clock_ns();

	clock_gettime(CLOCK_REALTIME, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec - (int64_t)now;
}

static void write_out(void *context, const struct trace_event *event)
{
	struct run *run = context;
	char text[TRACE_LINE];

	if (run->perfetto) {
		perfetto_add(run->perfetto, event);
	} else if (run->options->json) {
		json_t *json = trace_json(event, wall_ns());

		json_dumpf(json, stdout, JSON_COMPACT);
		putchar('\n');
		json_decref(json);
	} else {
		puts(trace_line(text, event, run->begin_ns));
	}
}

static void add(void *context, const struct trace_event *event)
{
	struct run *run = context;

	pthread_mutex_lock(&run->mutex);
	/* After the end: what ends what was under way before is cut there. */
	if (event->ns >= run->begin_ns || event->mark != TRACE_POINT)
		timeline_add(run->timeline, event);
	pthread_mutex_unlock(&run->mutex);
}

static void flush(struct run *run, uint64_t now_ns)
{
	pthread_mutex_lock(&run->mutex);
	timeline_flush(run->timeline, now_ns);
	pthread_mutex_unlock(&run->mutex);
	fflush(run->file);
}

/* ---- the daemon and the lanes ---- */

static bool is_chosen(const struct run *run, pid_t pid)
{
	bool chosen = run->options->pids == 0;

	for (unsigned i = 0; i < run->options->pids; i++)
		chosen |= run->options->pid[i] == pid;
	return chosen;
}

static void follow(struct run *run, pid_t pid, const char *comm, bool fresh)
{
	if (pid > 0 && is_chosen(run, pid) && !lanes_follow(run->lanes, pid, comm, fresh))
		note(run,
		     "the queues of process %d (%s) are not followed, as those of %u others are: "
		     "choose some with --pid",
		     (int)pid, comm, LANES_PROCESSES);
}

static const char *text_of(const json_t *object, const char *key)
{
	const char *text = json_string_value(json_object_get(object, key));

	return text ? text : "";
}

/* What was so before we listened: whom there is, and who is suspended. */
static void take_status(struct run *run, const json_t *status)
{
	const json_t *process, *node;
	size_t i, k;

	json_array_foreach(json_object_get(status, "processes"), i, process)
	{
		struct trace_event event = {.source = TRACE_DAEMON, .ns = run->begin_ns};
		const char *comm = text_of(process, "comm");

		event.pid = (pid_t)json_integer_value(json_object_get(process, "pid"));
		trace_copy(event.comm, sizeof(event.comm), comm, strlen(comm));
		follow(run, event.pid, event.comm, false);
		json_array_foreach(json_object_get(process, "nodes"), k, node) if (k < LANE_NODES)
			event.gpu_ids[k] =
			(uint32_t)json_integer_value(json_object_get(node, "gpu_id"));
		if (!is_chosen(run, event.pid))
			continue;
		snprintf(event.name, sizeof(event.name), "there");
		snprintf(event.text, sizeof(event.text), "process %d (%s) is there, %s, level %s",
			 (int)event.pid, event.comm, text_of(process, "state"),
			 text_of(process, "level"));
		event.mark = strcmp(text_of(process, "state"), "suspended") == 0 ? TRACE_SUSPENDED
										 : TRACE_POINT;
		add(run, &event);
	}
}

static void take_event(struct run *run, json_t *json)
{
	struct trace_event event;

	if (!told_by_daemon(json, wall_ns(), &event))
		return;
	if (event.mark == TRACE_GONE)
		lanes_ended(run->lanes, event.pid);
	else if (event.pid)
		follow(run, event.pid, event.comm, strcmp(event.name, "came") == 0);
	if (!event.pid || is_chosen(run, event.pid) ||
	    (event.cause_pid && is_chosen(run, event.cause_pid)))
		add(run, &event);
}

static void read_events(struct run *run)
{
	char text[KFDSCHED_EVENT_BYTES + 1];
	ssize_t n;

	while (run->events_fd >= 0 && (n = kfdsched_next_event(run->daemon, run->events_fd, text,
							       sizeof(text), 0)) != -EAGAIN) {
		json_t *json = n > 0 ? json_loads(text, 0, NULL) : NULL;

		if (json)
			take_event(run, json);
		json_decref(json);
		if (n < 0 && n != -EMSGSIZE) {
			close(run->events_fd);
			run->events_fd = kfdsched_events(run->daemon);
			note(run, "the daemon was gone for a moment%s",
			     run->events_fd < 0 ? ", and is: nothing more of it is in the trace"
						: ": what it did meanwhile is not in the trace");
		}
	}
}

/* false: there is no daemon. */
static bool open_daemon(struct run *run)
{
	run->events_fd = -1;
	run->daemon = kfdsched_open(run->options->socket);
	if (run->daemon)
		run->events_fd = kfdsched_events(run->daemon);
	if (run->events_fd < 0) {
		note(run, "no decisions are in the trace: %s",
		     run->daemon ? kfdsched_sentence(run->daemon) : "no memory");
		return false;
	}
	return true;
}

/* Chosen ones of which the daemon knows nothing. */
static void tell_unknown(struct run *run, const json_t *status)
{
	const json_t *process;
	size_t k;

	for (unsigned i = 0; i < run->options->pids; i++) {
		bool known = false;

		json_array_foreach(json_object_get(status, "processes"), k, process) known |=
			json_integer_value(json_object_get(process, "pid")) == run->options->pid[i];
		if (!known)
			note(run,
			     "the daemon does not know process %d: unless it comes to use a GPU "
			     "with libkfdshim.so, its queues are not in the trace",
			     (int)run->options->pid[i]);
	}
}

/* Behind all that forks: it is a thread. */
static int open_lanes(struct run *run)
{
	json_t *status = NULL;

	run->lanes = lanes_start(run->options->socket, run->begin_ns, add, run);
	if (!run->lanes)
		return cli_failed(&verb_trace, "no thread, or no memory, for the processes' lanes");
	if (ask_daemon(run->options->socket, 0, &status) == 0) {
		take_status(run, status);
		tell_unknown(run, status);
	}
	json_decref(status);
	return ASK_GO_ON;
}

/* ---- the command's stderr, and HIP's log ---- */

static bool take_hip(struct run *run, const char *line, size_t bytes)
{
	struct hiplog_record record;
	struct trace_event event;
	pid_t pid = run->command.pid;

	if (!pid && run->options->pids == 1)
		pid = run->options->pid[0];
	if (!hiplog_parse(line, bytes, &record))
		return false;
	if (told_by_hip(&record, pid, &run->calls, &event)) {
		if (event.ns + event.duration_ns < run->begin_ns)
			run->hip_before++;
		else if (event.ns <= run->end_ns)
			add(run, &event);
	}
	return true;
}

static bool take_log(void *context, const char *line, size_t bytes)
{
	take_hip(context, line, bytes);
	return true;
}

static bool take_talk(void *context, const char *line, size_t bytes)
{
	struct run *run = context;
	struct trace_event event;
	uint64_t number;

	if (told_by_log(line, bytes, clock_ns(), &event, &number)) {
		if (event.pid == run->log_pid && number > run->log_number + 1)
			run->log_lost += number - run->log_number - 1;
		run->log_pid = event.pid;
		run->log_number = number;
		if (!run->lanes && is_chosen(run, event.pid))
			add(run, &event);
		return true;
	}
	return run->options->hip && take_hip(run, line, bytes);
}

static int open_log(struct run *run)
{
	run->log_fd = -1;
	if (!run->options->hip_log)
		return 0;
	/* A fifo that nobody writes yet must not hold us up. */
	run->log_fd = open(run->options->hip_log, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	run->log = (struct text){.take = take_log, .context = run};
	return run->log_fd < 0 ? -errno : 0;
}

static int start_command(struct run *run, bool daemon)
{
	const struct trace_options *options = run->options;
	char level[2] = {(char)('0' + options->hip), '\0'};
	const char *environment[4][2] = {{0}};
	struct command_options how = {.argv = options->command, .environment = environment};
	size_t n = 0;
	int error;

	if (!daemon) {
		environment[n][0] = "KFDSHIM_LOG";
		environment[n++][1] = "debug";
	}
	if (options->hip) {
		environment[n][0] = "AMD_LOG_LEVEL";
		environment[n++][1] = level;
		environment[n++][0] = "AMD_LOG_LEVEL_FILE"; /* to its stderr, then */
	}
	how.reads_stderr = n > 0;
	how.stdout_is_ours = run->file == stdout;
	run->talk = (struct text){.rest = stderr, .take = take_talk, .context = run};
	error = command_start(&run->command, &verb_trace, &how);
	if (error == -ENOENT)
		return cli_failed(&verb_trace,
				  "libkfdshim.so is neither in the folder of kfdsched nor in "
				  "../lib: build or install it there");
	if (error)
		return cli_failed(&verb_trace, "cannot start %s: %s", options->command[0],
				  strerror(-error));
	return ASK_GO_ON;
}

/* ---- the driver ---- */

static void take_driver(void *context, struct trace_event *event)
{
	add(context, event);
}

static void open_driver(struct run *run)
{
	char name[64];

	run->tracefs.pipe = -1;
	if (run->simulated) {
		note(run, "no activity of the driver is in the trace: it is simulated, so no "
			  "function of a kernel is called");
		return;
	}
	tracefs_name(name);
	if (tracefs_open(&run->tracefs, TRACEFS_ROOT, name) == 0)
		note(run, "driver: %s", run->tracefs.why);
	else
		note(run, "no activity of the driver is in the trace: %s", run->tracefs.why);
}

/* ---- from begin to end ---- */

static void read_all(struct run *run)
{
	read_events(run);
	tracefs_read(&run->tracefs, take_driver, run);
	if (run->command.talk >= 0 && text_read(&run->talk, run->command.talk, LOG_PIECE))
		text_idle(&run->talk);
	if (run->log_fd >= 0)
		text_read(&run->log, run->log_fd, LOG_PIECE);
}

static void wait_a_tick(struct run *run, int ms, bool until_asked)
{
	struct pollfd p[] = {
		{.fd = until_asked ? stop_fd() : -1, .events = POLLIN},
		{.fd = run->events_fd, .events = POLLIN},
		{.fd = run->tracefs.pipe, .events = POLLIN},
		{.fd = run->command.talk, .events = POLLIN},
		{.fd = run->command.ended ? -1 : run->command.pidfd, .events = POLLIN},
		{.fd = run->file == stdout && !run->unread ? STDOUT_FILENO : -1},
	};

	poll(p, sizeof(p) / sizeof(p[0]), ms);
	run->unread |= p[5].revents & (POLLERR | POLLHUP);
	/* Gone without an end that we are told of: not to be looked at again and again. */
	if (p[3].revents & (POLLHUP | POLLERR) && !(p[3].revents & POLLIN)) {
		text_end(&run->talk);
		close(run->command.talk);
		run->command.talk = -1;
	}
}

/* Those that were chosen, if any were. */
static bool all_have_gone(const struct run *run)
{
	struct proc_stat stat;

	for (unsigned i = 0; i < run->options->pids; i++)
		if (proc_stat(run->options->pid[i], &stat) && stat.started == run->started[i] &&
		    stat.state != 'Z')
			return false;
	return run->options->pids > 0 && !run->options->command;
}

static void trace(struct run *run)
{
	uint64_t until = run->options->seconds > 0
				 ? run->begin_ns + (uint64_t)(run->options->seconds * 1e9)
				 : UINT64_MAX;
	/* Nobody else writes to the terminal. */
	bool is_quiet = progress_is_live() && !run->options->command && run->file != stdout;
	unsigned long long seconds = 1;
	uint64_t now;

	while ((now = clock_ns()) < until && !stop_asked() && !command_has_ended(&run->command) &&
	       !all_have_gone(run) && !ferror(run->file) && !run->unread) {
		uint64_t ms = (until - now) / MS + 1;

		wait_a_tick(run, ms < TICK_MS ? (int)ms : TICK_MS, true);
		read_all(run);
		flush(run, clock_ns());
		if (is_quiet && (clock_ns() - run->begin_ns) / 1000000000u >= seconds)
			progress_live("tracing for %llu s, Ctrl-C ends it", seconds++);
	}
	progress_clear();
}

/* Ctrl-C has reached it already; the end of the time has not. */
static void end_command(struct run *run)
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

static void tell_unseen(void *context, pid_t pid, uint64_t lost, uint64_t unseen_ns)
{
	struct run *run = context;

	if (lost)
		note(run,
		     "%llu events of process %d are not in the trace: there were more than its "
		     "lane keeps until it was read",
		     (unsigned long long)lost, (int)pid);
	if (unseen_ns)
		note(run,
		     "what the queues of process %d did in its last %llu ms is not in the trace",
		     (int)pid, (unsigned long long)(unseen_ns / MS) + 1);
}

static void tell_losses(struct run *run)
{
	if (run->lanes)
		lanes_end(run->lanes, tell_unseen, run);
	run->lanes = NULL;
	if (run->log_lost)
		note(run, "%llu lines of the shim's log were not read in time and are lost",
		     (unsigned long long)run->log_lost);
	if (run->tracefs.lost)
		note(run, "%llu moments of the driver were more than the kernel could keep",
		     (unsigned long long)run->tracefs.lost);
	if (run->hip_before)
		note(run,
		     "%llu lines of HIP's log are of the time before the trace, or of another "
		     "machine, and are left out",
		     (unsigned long long)run->hip_before);
}

static bool is_file(int fd)
{
	struct stat status;

	return fd >= 0 && fstat(fd, &status) == 0 && S_ISREG(status.st_mode);
}

/* What is still on its way, until nothing comes; and the rest of a log. */
static void drain(struct run *run)
{
	uint64_t until = clock_ns() + QUIET_NS;

	tracefs_stop(&run->tracefs);
	while (clock_ns() < until) {
		wait_a_tick(run, (int)(QUIET_NS / MS / 4), false);
		read_all(run);
	}
	while (is_file(run->log_fd) && text_read(&run->log, run->log_fd, LOG_PIECE))
		;
	text_end(&run->talk);
	text_end(&run->log);
}

static json_t *about(const struct run *run)
{
	json_t *json = json_pack("{sb sO}", "simulated", (int)run->simulated, "notes", run->notes);

	if (run->simulated)
		json_object_set_new(json, "time_scale", json_real(run->simulation.time_scale));
	json_object_set_new(json, "clock", json_string("CLOCK_MONOTONIC"));
	json_object_set_new(json, "time_us_at_0", json_integer(wall_ns() / 1000));
	return json;
}

static int finish(struct run *run)
{
	bool to_file = run->file != stdout;
	size_t count;
	json_t *said;
	int error = 0;

	run->end_ns = clock_ns();
	end_command(run);
	drain(run);
	tell_losses(run);
	flush(run, UINT64_MAX);
	count = timeline_count(run->timeline);
	if (run->perfetto) {
		said = about(run);
		error = perfetto_end(run->perfetto, clock_ns(), said);
		json_decref(said);
		if (to_file && fclose(run->file) != 0 && !error)
			error = -errno;
		run->perfetto = NULL;
	}
	if (error)
		return cli_failed(&verb_trace, "%s could not be written: %s",
				  run->options->perfetto, strerror(-error));
	if (ferror(stdout) || run->unread)
		return cli_failed(&verb_trace, "nobody takes the timeline any more");
	fprintf(stderr, "kfdsched trace: %zu moments of %.1f s%s%s\n", count,
		(double)(run->end_ns - run->begin_ns) / 1e9, to_file ? " are in " : "",
		to_file ? run->options->perfetto : "");
	return CLI_DONE;
}

static int open_output(struct run *run)
{
	const char *path = run->options->perfetto;

	run->file = stdout;
	if (path && strcmp(path, "-") != 0)
		run->file = fopen(path, "we");
	if (!run->file)
		return cli_failed(&verb_trace, "%s cannot be written: %s", path, strerror(errno));
	if (path)
		run->perfetto = perfetto_begin(run->file);
	run->timeline = timeline_new(KEEP_NS, KEEP_ROOM, write_out, run);
	return run->timeline && (!path || run->perfetto)
		       ? ASK_GO_ON
		       : cli_failed(&verb_trace, "no memory for the timeline");
}

static int open_sources(struct run *run)
{
	int error = open_log(run), code;
	bool daemon;

	if (error)
		return cli_failed(&verb_trace, "%s cannot be read: %s", run->options->hip_log,
				  strerror(-error));
	daemon = open_daemon(run);
	open_driver(run);
	if (!daemon && run->tracefs.pipe < 0 && run->log_fd < 0 && !run->options->command) {
		cli_failed(&verb_trace, "there is nothing to trace here: start a daemon, name a "
					"log with --hip-log, or start a command behind --");
		return CLI_IMPOSSIBLE;
	}
	if (run->options->command && !daemon)
		note(run, "the shim's events are from the log of what is started, at the time at "
			  "which it is read");
	code = run->options->command ? start_command(run, daemon) : ASK_GO_ON;
	return code == ASK_GO_ON && daemon ? open_lanes(run) : code;
}

int trace_run(const struct trace_options *options)
{
	struct run *run = calloc(1, sizeof(*run));
	struct proc_stat stat;
	int code;

	if (!run)
		return cli_failed(&verb_trace, "no memory");
	*run = (struct run){.options = options,
			    .begin_ns = clock_ns(),
			    .end_ns = UINT64_MAX,
			    .events_fd = -1,
			    .log_fd = -1,
			    .mutex = PTHREAD_MUTEX_INITIALIZER,
			    .notes = json_array(),
			    .command = {.pidfd = -1, .talk = -1},
			    .tracefs = {.pipe = -1}};
	run->simulated = simulation_read(SIMULATION_PATH, &run->simulation) == 0;
	for (unsigned i = 0; i < options->pids; i++) {
		proc_stat(options->pid[i], &stat);
		run->started[i] = stat.started;
	}
	/* Who stops reading ends the trace, not us: the trace instance is to be removed. */
	signal(SIGPIPE, SIG_IGN);
	if (stop_begin())
		return cli_failed(&verb_trace, "cannot wait for signals: %s", strerror(errno));
	code = open_output(run);
	if (code == ASK_GO_ON)
		code = open_sources(run);
	if (code == ASK_GO_ON) {
		trace(run);
		code = finish(run);
		if (code == CLI_DONE && run->command.pid) {
			code = command_code(&run->command);
			if (code)
				fprintf(stderr, "kfdsched trace: %s ended with exit code %d\n",
					options->command[0], code);
		}
	}
	tracefs_close(&run->tracefs);
	command_close(&run->command);
	kfdsched_close(run->daemon);
	timeline_free(run->timeline);
	json_decref(run->notes);
	free(run);
	return code;
}

// SPDX-License-Identifier: MIT
/* kfdsched top: nodes and processes, updated live. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "channel/protocol.h"
#include "cli/top/collect.h"
#include "cli/top/screen.h"
#include "cli/util/gpus.h"
#include "cli/util/interrupt.h"
#include "cli/util/parse_options.h"
#include "cli/util/sample_loop.h"
#include "cli/util/select_process.h"
#include "common/allocate.h"
#include "common/clock.h"
#include "common/wait.h"
#include "include/kfdsched.h"

#define INTERVAL_US 1e6
#define LEAST_US 50e3
#define MOST_US 60e6
#define HOLDS 32u /* maximum number of processes that are suspended at a time */

struct top_options {
	const char *socket;
	double interval_us;
	bool once, json;
	int pid;
};

static int parse(int argc, char **argv, struct top_options *out)
{
	const struct cli_option options[] = {
		{OPTION_SECONDS("interval", &out->interval_us, LEAST_US, MOST_US,
				"seconds, or a time such as 500ms, of 50ms to 60s")},
		{OPTION_FLAG("once", &out->once)},
		{OPTION_JSON(&out->json)},
		{OPTION_SOCKET(&out->socket)},
		{WORD_PID(&out->pid), .optional = true},
		{0},
	};
	int code = options_read(&cmd_top, argc, argv, options);

	if (code == CLI_GO_ON && out->json && !out->once)
		return cli_usage(&cmd_top, "--json needs --once: it prints one frame");
	return code;
}

/* ---- one frame ---- */

static int show(const struct top_options *options, const struct top_state *before,
		const struct top_state *now)
{
	const struct top_view view = {.sort = TOP_PID, .pid = options->pid};
	struct top_frame frame = {0};
	int code = CLI_DONE;
	json_t *json;

	top_frame_make(&frame, before, now, &view);
	if (options->pid && frame.row_count == 0) {
		code = cli_failed(&cmd_top,
				  "process %d uses no GPU that is visible from here: 'kfdsched "
				  "diagnose %d' prints more",
				  options->pid, options->pid);
	} else if (options->json) {
		json = top_json(&frame);
		json_object_set_new(json, "gpus", gpus_json());
		render_print(json, JSON_INDENT(2) | JSON_REAL_PRECISION(12));
	} else {
		top_print(&frame);
	}
	top_frame_free(&frame);
	return code;
}

/* Prints one frame. Collects two samples, because shares and rates need an interval. */
static int once(const struct top_options *options)
{
	struct top_state before = {0}, now = {0};
	struct gatherer *gatherer = collect_open(options->socket);
	int code;

	collect_sample(gatherer, false, &before);
	if (stop_sleep_until(before.ns + (uint64_t)(options->interval_us * 1000))) {
		/* Interrupted: print without shares and rates */
		code = show(options, NULL, &before);
	} else {
		collect_sample(gatherer, true, &now);
		code = show(options, &before, &now);
	}
	collect_close(gatherer);
	top_state_free(&before);
	top_state_free(&now);
	return code;
}

/* ---- control requests ---- */

/* A process that is suspended as long as fd (from kfdsched_hold()) is open. */
struct foreground_hold {
	pid_t pid;
	int fd;
};

/* State of top's control requests to the daemon. A process that top suspends stays suspended until
 * it is resumed or top ends, even by SIGKILL, because the daemon ends the suspension with the
 * connection of top. Each request waits for its result, up to about 2 s, and writes it to `message`
 * as a sentence for the user. */
struct top_actions {
	struct kfdsched *daemon;
	struct foreground_hold hold[HOLDS];
	unsigned holds;
};

static void forget_hold(struct top_actions *actions, unsigned i)
{
	close(actions->hold[i].fd);
	actions->hold[i] = actions->hold[--actions->holds];
}

static void format_result(const struct top_actions *actions, char *message, size_t size)
{
	snprintf(message, size, "%s", kfdsched_errmsg(actions->daemon));
}

static void suspend(struct top_actions *actions, pid_t pid, char *message, size_t size)
{
	int fd;

	for (unsigned i = 0; i < actions->holds; i++)
		if (actions->hold[i].pid == pid) {
			snprintf(message, size, "Process %d is suspended from here already.",
				 (int)pid);
			return;
		}
	if (actions->holds == HOLDS) {
		snprintf(message, size, "%u processes are suspended from here: resume one first.",
			 HOLDS);
		return;
	}
	fd = kfdsched_hold(actions->daemon, pid);
	format_result(actions, message, size);
	if (fd < 0)
		return;
	actions->hold[actions->holds++] = (struct foreground_hold){.pid = pid, .fd = fd};
	snprintf(message, size, "%s until R is pressed or this top ends",
		 kfdsched_errmsg(actions->daemon));
}

/* Ends every suspension of the process that a user has requested, in top or by another command. */
static void resume(struct top_actions *actions, pid_t pid, char *message, size_t size)
{
	kfdsched_resume(actions->daemon, pid);
	format_result(actions, message, size);
	for (unsigned i = 0; i < actions->holds; i++)
		if (actions->hold[i].pid == pid) {
			forget_hold(actions, i);
			break;
		}
}

/* Requests a priority for the process. word: "online", "offline", "0" to "15", "none" or "own". */
static void set_priority(struct top_actions *actions, pid_t pid, const char *word, char *message,
			 size_t size)
{
	int priority;

	if (strcmp(word, "none") == 0) {
		priority = KFDSCHED_PRIORITY_NONE;
	} else if (strcmp(word, "own") == 0) {
		priority = KFDSCHED_PRIORITY_OWN;
	} else if (protocol_priority(word, &priority)) {
		snprintf(message, size,
			 "A priority is online, offline, 0 to 15, none or own, not '%s'.", word);
		return;
	}
	kfdsched_set_priority(actions->daemon, pid, priority);
	format_result(actions, message, size);
}

/* Writes to out[] the fds that become readable when a suspension ends without a request of top:
 * another command, or the end of the process or the daemon, has ended it. Returns their number. */
static unsigned poll_holds(const struct top_actions *actions, struct pollfd out[static HOLDS])
{
	for (unsigned i = 0; i < actions->holds; i++)
		out[i] = (struct pollfd){.fd = actions->hold[i].fd, .events = POLLIN};
	return actions->holds;
}

/* Removes the suspensions that have ended; called after poll(). If there are any, writes a sentence
 * about the last of them to `message`. */
static void check_holds(struct top_actions *actions, char *message, size_t size)
{
	for (unsigned i = 0; i < actions->holds;) {
		if (kfdsched_held(actions->daemon, actions->hold[i].fd, 0) == 0) {
			i++;
			continue;
		}
		snprintf(message, size, "Process %d: %s", (int)actions->hold[i].pid,
			 kfdsched_errmsg(actions->daemon));
		forget_hold(actions, i);
	}
}

/* ---- live ---- */

/* The terminal counts as closed after this number of consecutive polls that report stdin as
 * readable while no key can be read. */
#define EMPTY_READS 20u

struct top_loop {
	struct gatherer *gatherer;
	struct top_actions actions;
	struct detail *detail;
	struct top_state state[2];
	unsigned samples; /* number of samples; the last one is in state[samples % 2] */
	struct top_frame frame;
	struct screen screen;
	struct top_ui ui;
	unsigned empty_reads;
	bool quit;
	int error; /* of a wait: negative errno */
	struct sample_task task;
};

static void sample(void *context)
{
	struct top_loop *live = context;

	collect_sample(live->gatherer, live->ui.visible[TOP_HQDS] || live->ui.visible[TOP_RATIO],
		       &live->state[(live->samples + 1) % 2]);
	live->samples++;
	if (live->ui.under == UI_QUEUES)
		detail_read(live->detail, live->ui.subject);
}

static void draw_frame(struct top_loop *live)
{
	const struct top_state *now = &live->state[live->samples % 2];
	const struct top_state *before =
		live->samples > 1 ? &live->state[(live->samples + 1) % 2] : NULL;

	top_frame_make(&live->frame, before, now, &live->ui.view);
	live->ui.holds = live->actions.holds;
	terminal_screen(&live->screen);
	draw(&live->screen, &live->ui, &live->frame, detail_seen(live->detail));
	terminal_show(&live->screen);
}

/* Carries out the action of a key; the next sample is then taken at once. A suspend can take two
 * seconds, so first shows a message. */
static void act(struct top_loop *live, enum ui_action action)
{
	struct top_ui *ui = &live->ui;

	switch (action) {
	case UI_QUIT:
		live->quit = true;
		return;
	case UI_REDRAW:
		detail_forget(live->detail);
		detail_read(live->detail, ui->subject);
		return;
	case UI_SUSPEND:
		snprintf(ui->message, sizeof(ui->message), "Suspending %d ...", (int)ui->subject);
		draw_frame(live);
		suspend(&live->actions, ui->subject, ui->message, sizeof(ui->message));
		break;
	case UI_RESUME:
		resume(&live->actions, ui->subject, ui->message, sizeof(ui->message));
		break;
	case UI_PRIORITISE:
		set_priority(&live->actions, ui->subject, ui->word, ui->message,
			     sizeof(ui->message));
		break;
	default:
		return;
	}
	live->task.began_ns = clock_ns();
	live->task.next = 0;
}

/* Handles all keys that are waiting. `readable`: poll() reported stdin as readable. Returns 0, or
 * -EIO if the terminal was closed. */
static int keys(struct top_loop *live, bool readable)
{
	int key = terminal_key();

	/* stdin of a closed terminal stays readable, but no key can be read from it. */
	live->empty_reads = readable && key == TERMINAL_NO_KEY ? live->empty_reads + 1 : 0;
	if (live->empty_reads >= EMPTY_READS)
		return -EIO;
	for (; !live->quit && key != TERMINAL_NO_KEY; key = terminal_key())
		if (key != TERMINAL_RESIZED)
			act(live, ui_key(&live->ui, &live->frame, key));
	return 0;
}

/* Draws a frame, waits until `until_ns`, or until there is a key, a signal, a request to stop, or
 * the end of a suspension, and handles it. Returns true if top is to end. */
static bool draw_and_wait(void *context, uint64_t until_ns)
{
	struct top_loop *live = context;
	struct pollfd fd[2 + HOLDS] = {
		{.fd = STDIN_FILENO, .events = POLLIN},
		{.fd = stop_fd(), .events = POLLIN},
	};
	nfds_t n = 2 + poll_holds(&live->actions, fd + 2);
	int ready;

	draw_frame(live);
	ready = poll_or_signal_ns(fd, n, until_ns);
	/* Treat a signal (-EINTR) like a key: it may be SIGWINCH, after which ncurses returns a
	 * key. */
	if (ready < 0 && ready != -EINTR)
		live->error = ready;
	else if (fd[0].revents & (POLLHUP | POLLERR | POLLNVAL))
		live->error = -EIO;
	live->quit |= live->error || fd[1].revents;
	check_holds(&live->actions, live->ui.message, sizeof(live->ui.message));
	if (!live->quit)
		live->error = keys(live, fd[0].revents & POLLIN);
	return live->quit || live->error;
}

/*
 * Shows frames until the user quits, the terminal is closed, or a signal stops the command. Returns
 * 0, a negative errno of terminal_begin(), -EIO (the terminal was closed), or an error of poll(2).
 */
static int run_live(const struct top_options *options)
{
	struct top_loop live = {0};
	struct sample_loop loop = {
		.tasks = {&live.task}, .count = 1, .wait = draw_and_wait, .context = &live};
	int rc;

	ui_begin(&live.ui, options->pid);
	live.gatherer = collect_open(options->socket);
	live.actions.daemon = allocated(kfdsched_open(options->socket));
	live.detail = detail_open(options->socket);
	rc = terminal_begin();
	if (!rc) {
		sample_task_begin(&live.task, options->interval_us, sample, &live);
		sample_loop_run(&loop);
		rc = live.error;
		terminal_end();
	}
	for (unsigned i = 0; i < live.actions.holds; i++)
		close(live.actions.hold[i].fd); /* resumes the process */
	kfdsched_close(live.actions.daemon);
	collect_close(live.gatherer);
	detail_close(live.detail);
	screen_free(&live.screen);
	top_frame_free(&live.frame);
	top_state_free(&live.state[0]);
	top_state_free(&live.state[1]);
	return rc;
}

static int live(const struct top_options *options)
{
	const char *term = getenv("TERM");
	int rc = run_live(options);

	switch (rc) {
	case 0:
	case -EIO: /* the terminal is gone, so no message is possible */
		return CLI_DONE;
	case -ENOTTY:
		return cli_usage(&cmd_top, "stdin and stdout are not a terminal: use --once");
	case -ENODEV:
		return cli_usage(&cmd_top, "unknown terminal type '%s' (TERM): use --once",
				 term ? term : "");
	default:
		return cli_failed(&cmd_top, "%s", strerror(-rc));
	}
}

/* Returns CLI_GO_ON if process `pid` exists and can have queues. Otherwise prints the reason and
 * returns the exit code. */
static int is_there(int pid)
{
	struct process_identity process;

	/* -EACCES: /proc hides the process from this user, but the daemon can report it. */
	return process_identify(pid, &process) == -EACCES ? CLI_GO_ON
							  : select_process(&cmd_top, pid, &process);
}

static int run(int argc, char **argv)
{
	struct top_options options = {.interval_us = INTERVAL_US};
	int code = parse(argc, argv, &options);

	if (code == CLI_GO_ON && options.pid)
		code = is_there(options.pid);
	/* Skip this check for live output without a terminal: run_live() reports the missing
	 * terminal instead. */
	if (code == CLI_GO_ON && (options.once || isatty(STDOUT_FILENO)) &&
	    select_needs_list(&cmd_top, options.socket) != CLI_DONE)
		code = CLI_IMPOSSIBLE;
	if (code != CLI_GO_ON)
		return code;
	if (stop_begin(&cmd_top))
		return CLI_FAILED;
	return options.once ? once(&options) : live(&options);
}

const struct cli_command cmd_top = {
	.name = "top",
	.summary = "show nodes and processes live, like htop",
	.usage = "[PID] [--interval 1] [--once [--json]] [--socket PATH]",
	.help = "Shows the utilization of the nodes, the number of their queues and hardware slots, how often\n"
		"the daemon suspends and how long that takes; and the processes that use a GPU, with or\n"
		"without the shim, or only PID. Key ? lists the keys: sort, filter, show the queues of a\n"
		"process, suspend and resume it, set its priority. A process that is suspended from here is\n"
		"resumed when top ends, however it ends. A value that is not known is '-'; without a daemon\n"
		"these are levels, states, suspensions and the time in which nodes had work. The exit code is\n"
		"77 if the processes cannot be listed: without a driver, or in a container without the\n"
		"daemon's socket.\n"
		"\n"
		"  --interval 1     seconds between samples, or a time such as 500ms; 50ms to 60s\n"
		"  --once           prints one frame as text, after two samples, and ends\n"
		"  --json           the same as one JSON object (docs/reference/processes.md)\n"
		"  --socket PATH    where the daemon listens; without it KFDSHIM_SOCKET, or\n"
		"                   /run/kfdsched/socket\n"
		"\n"
		"Examples:\n"
		"  kfdsched top --interval 500ms\n"
		"  kfdsched top --once --json | jq '.nodes[] | {gpu_id, busy_ratio}'\n",
	.run = run,
};

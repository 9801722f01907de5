// SPDX-License-Identifier: MIT
#include "cli/top/loop.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#include "cli/top/actions.h"
#include "cli/top/collect.h"
#include "cli/top/detail.h"
#include "cli/top/draw.h"
#include "cli/top/terminal.h"
#include "common/clock.h"
#include "common/wait.h"

/* Number of consecutive polls that report stdin as readable while there is no key, after which the
 * terminal counts as closed. */
#define EMPTY_READS 20u

struct top_loop {
	const struct live_options *options;
	struct gatherer *gatherer;
	struct top_actions *actions;
	struct detail *detail;
	struct top_state state[2];
	unsigned samples; /* number of samples; the last one is in state[looks % 2] */
	struct top_frame frame;
	struct screen screen;
	struct top_ui ui;
	unsigned empty_reads;
	bool quit;
	bool again; /* an action was done: take the next sample at once */
};

static int sample(struct top_loop *live)
{
	int rc = collect_sample(live->gatherer,
				live->ui.visible[TOP_HQDS] || live->ui.visible[TOP_RATIO],
				&live->state[(live->samples + 1) % 2]);

	live->samples++;
	if (!rc && live->ui.under == UI_QUEUES)
		rc = detail_read(live->detail, live->ui.subject);
	return rc;
}

static int show(struct top_loop *live)
{
	const struct top_state *now = &live->state[live->samples % 2];
	const struct top_state *before =
		live->samples > 1 ? &live->state[(live->samples + 1) % 2] : NULL;
	int rc = top_frame_make(&live->frame, before, now, &live->ui.view);

	live->ui.holds = actions_holds(live->actions);
	if (!rc)
		rc = terminal_screen(&live->screen);
	if (rc)
		return rc;
	draw(&live->screen, &live->ui, &live->frame, detail_seen(live->detail));
	terminal_show(&live->screen);
	return 0;
}

/* Do the action of a key. A suspend can take two seconds, so a message is shown before it. */
static int act(struct top_loop *live, enum ui_action action)
{
	struct top_ui *ui = &live->ui;
	int rc = 0;

	switch (action) {
	case UI_QUIT:
		live->quit = true;
		return 0;
	case UI_REDRAW:
		detail_forget(live->detail);
		return detail_read(live->detail, ui->subject);
	case UI_SUSPEND:
		snprintf(ui->message, sizeof(ui->message), "Suspending %d ...", (int)ui->subject);
		rc = show(live);
		actions_suspend(live->actions, ui->subject, ui->message, sizeof(ui->message));
		break;
	case UI_RESUME:
		actions_resume(live->actions, ui->subject, ui->message, sizeof(ui->message));
		break;
	case UI_PRIORITISE:
		actions_set_priority(live->actions, ui->subject, ui->word, ui->message,
				     sizeof(ui->message));
		break;
	default:
		return 0;
	}
	live->again = true;
	return rc;
}

/* Handle all keys that are waiting. readable: poll() reported stdin as readable. */
static int keys(struct top_loop *live, bool readable)
{
	int rc = 0, key = terminal_key();

	/* stdin of a closed terminal stays readable, without a key. */
	live->empty_reads = readable && key == TERMINAL_NO_KEY ? live->empty_reads + 1 : 0;
	if (live->empty_reads >= EMPTY_READS)
		return -EIO;
	for (; !rc && !live->quit && key != TERMINAL_NO_KEY; key = terminal_key())
		if (key != TERMINAL_RESIZED)
			rc = act(live, ui_key(&live->ui, &live->frame, key));
	return rc;
}

/* Wait until `until_ns`, or until there is a key, a signal, a request to stop, or the end of a
 * suspension; and handle it. */
static int wait_for_something(struct top_loop *live, uint64_t until_ns)
{
	struct pollfd fd[2 + ACTIONS_HOLDS] = {
		{.fd = STDIN_FILENO, .events = POLLIN},
		{.fd = live->options->stop_fd, .events = POLLIN},
	};
	nfds_t n = 2 + actions_poll(live->actions, fd + 2);
	int ready = poll_or_signal_ns(fd, n, until_ns);

	/* Treat a signal (-EINTR) like a key: it may be SIGWINCH, after which ncurses returns a
	 * key. */
	if (ready < 0 && ready != -EINTR)
		return ready;
	if (fd[1].revents)
		live->quit = true;
	if (fd[0].revents & (POLLHUP | POLLERR | POLLNVAL))
		return -EIO;
	actions_ended(live->actions, live->ui.message, sizeof(live->ui.message));
	return live->quit ? 0 : keys(live, fd[0].revents & POLLIN);
}

static int go_on(struct top_loop *live)
{
	uint64_t next = clock_ns();
	int rc = 0;

	while (!rc && !live->quit) {
		uint64_t now = clock_ns();

		if (live->again)
			next = now;
		live->again = false;
		if (now >= next) {
			rc = sample(live);
			next += live->options->interval_ns;
			/* If a whole interval was missed, do not catch up. */
			if (next < now)
				next = now + live->options->interval_ns;
		}
		if (!rc)
			rc = show(live);
		if (!rc)
			rc = wait_for_something(live, next);
	}
	return rc;
}

int live_run(const struct live_options *options)
{
	struct top_loop live = {.options = options};
	int rc = -ENOMEM;

	ui_begin(&live.ui, options->pid);
	live.gatherer = collect_open(options->socket);
	live.actions = actions_open(options->socket);
	live.detail = detail_open(options->socket);
	if (!live.gatherer || !live.actions || !live.detail)
		goto out;
	rc = terminal_begin();
	if (rc)
		goto out;
	rc = go_on(&live);
	terminal_end();
out:
	actions_close(live.actions);
	collect_close(live.gatherer);
	detail_close(live.detail);
	screen_free(&live.screen);
	top_frame_free(&live.frame);
	top_state_free(&live.state[0]);
	top_state_free(&live.state[1]);
	return rc;
}

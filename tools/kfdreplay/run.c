// SPDX-License-Identifier: MIT
#include "tools/kfdreplay/run.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/wait.h"

#define SECOND_NS 1000000000ull
#define SLICE_NS (SECOND_NS / 10) /* longest wait without a check for a signal */
#define RING_NAP_NS 50000u	  /* 50 us: pause before a full ring is tried again */
#define DRAIN_NS (10 * SECOND_NS) /* time for a started request to finish after the window */
#define GRACE_NS SECOND_NS	  /* time for the current request to finish after a signal */

struct runner {
	struct rt *rt;
	const struct plan *plan;
	const struct run_options *options;
	struct run_result *out;
	struct arrivals arrivals;
	uint64_t due_ns;		      /* next arrival, model time since start_ns */
	uint64_t start_ns, end_ns;	      /* window in wall time; end_ns UINT64_MAX: no limit */
	uint64_t stop_ns;		      /* wall time at which a signal was noticed; 0: none */
	uint64_t last_done_ns;		      /* wall time at which the last request was complete */
	uint64_t progress_ns;		      /* time of the last progress line; 0: no terminal */
	const struct plan_request *under_way; /* current request; NULL: complete or given up */
};

static volatile sig_atomic_t signalled;

static void on_signal(int number)
{
	(void)number;
	signalled = 1;
	signal(SIGTERM, SIG_DFL);
	signal(SIGINT, SIG_DFL);
}

void run_catch_signals(void)
{
	struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART};

	sigaction(SIGTERM, &action, NULL);
	sigaction(SIGINT, &action, NULL);
}

static bool stopped(struct runner *r)
{
	if (signalled && r->stop_ns == 0)
		r->stop_ns = clock_ns();
	return r->stop_ns != 0;
}

static uint64_t min_u64(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* Returns `limit`. If a signal has arrived, returns the earlier of `limit` and GRACE_NS after the
 * signal. */
static uint64_t unless_stopped(struct runner *r, uint64_t limit)
{
	return stopped(r) ? min_u64(limit, r->stop_ns + GRACE_NS) : limit;
}

/* Returns the time until which the current request can still complete and count. */
static uint64_t limit_ns(struct runner *r)
{
	return unless_stopped(r, r->end_ns);
}

/* Sleeps until an absolute time, so that delays between two reads of the clock do not add up.
 * Returns early after a signal. */
static void sleep_until(struct runner *r, uint64_t until_ns)
{
	uint64_t now;

	while (!stopped(r) && (now = clock_ns()) < until_ns)
		sleep_until_ns(min_u64(until_ns, now + SLICE_NS));
}

/* Converts a duration from model time to wall time. */
static uint64_t wall_of(const struct runner *r, uint64_t model_ns)
{
	return (uint64_t)((double)model_ns / r->options->scale);
}

static uint64_t model_of(const struct runner *r, uint64_t wall_ns)
{
	return (uint64_t)((double)wall_ns * r->options->scale);
}

/* Writes a byte to sync_write, to notify that everything is ready, and waits for a byte or the end
 * of file on sync_read. */
static void wait_for_go(struct runner *r)
{
	const int fd = r->options->sync_read;
	char byte = 'r';

	if (fd < 0)
		return;
	if (write(r->options->sync_write, &byte, 1) != 1)
		fail(EXIT_FAILURE, "--sync-fd: cannot write to %d: %s", r->options->sync_write,
		     strerror(errno));
	while (!stopped(r)) {
		int ready = poll_one_ns(fd, POLLIN, clock_ns() + SLICE_NS);

		if (ready < 0 || ready & POLLNVAL)
			fail(EXIT_FAILURE, "--sync-fd: cannot wait on %d", fd);
		if (ready > 0 && (read(fd, &byte, 1) >= 0 || errno != EINTR))
			return;
	}
}

/* Submits the operations of a request, until all are submitted or limit_ns() is reached. */
static void submit_all(struct runner *r, const struct plan_request *request)
{
	const struct plan_op *ops = &r->plan->ops[request->first];
	uint64_t begin = clock_ns();

	while (r->rt->submitted < request->count) {
		uint64_t limit = limit_ns(r);

		if (r->options->spaced) {
			uint64_t at = begin + wall_of(r, ops[r->rt->submitted].launch_ns);

			sleep_until(r, min_u64(at, limit));
			if (stopped(r))
				return;
		}
		if (clock_ns() >= limit)
			return;
		if (!r->rt->api->submit(r->rt))
			sleep_ns(RING_NAP_NS);
	}
}

/* Waits until the request is complete (returns true) or the limit is reached (returns false). The
 * limit is computed again every SLICE_NS, because a signal shortens it. */
static bool wait_done(struct runner *r, uint64_t (*limit)(struct runner *))
{
	for (;;) {
		uint64_t now = clock_ns(), until = limit(r);

		if (!r->rt->ended && !r->rt->api->request_end(r->rt))
			sleep_ns(RING_NAP_NS);
		else if (r->rt->api->wait(r->rt, until > now ? min_u64(until - now, SLICE_NS) : 0))
			return true;
		if (clock_ns() >= until)
			return false;
	}
}

static uint64_t drain_limit_ns(struct runner *r)
{
	return unless_stopped(r, min_u64(r->end_ns, UINT64_MAX - DRAIN_NS) + DRAIN_NS);
}

/* Counts how often each workgroup of the submitted operations was executed, and clears its cell. */
static void check_cells(struct runner *r, const struct plan_request *request)
{
	struct run_result *out = r->out;
	uint32_t *cells = r->rt->cells;
	uint64_t used = 0;

	if (!r->options->count)
		return;
	for (size_t i = 0; i < r->rt->submitted; i++)
		used += r->plan->ops[request->first + i].workgroups;
	for (uint64_t i = 0; i < used; i++) {
		uint32_t value = __atomic_exchange_n(&cells[i], 0, __ATOMIC_ACQUIRE);

		out->count.executed += value >= 1;
		out->count.twice += value > 1;
		out->count.never += value == 0;
	}
	out->count.submitted += used;
}

/* Runs one request. Returns true if it is complete within the window (the caller counts it). */
static bool serve(struct runner *r, const struct plan_request *request)
{
	r->rt->api->request_begin(r->rt, request);
	r->under_way = request;
	submit_all(r, request);
	if (r->rt->submitted == 0) {
		r->under_way = NULL;
		return false;
	}
	if (!wait_done(r, limit_ns) || r->rt->submitted < request->count)
		return false;
	r->last_done_ns = clock_ns();
	r->under_way = NULL;
	check_cells(r, request);
	return true;
}

/* Waits for the request that is not complete at the end of the window. Stops the queue if the
 * request has not finished by drain_limit_ns(). */
static void give_up(struct runner *r)
{
	const struct plan_request *request = r->under_way;

	r->out->steps += r->rt->api->finished_share(r->rt);
	if (!wait_done(r, drain_limit_ns)) {
		fprintf(stderr, "kfdreplay: the last request was still running and was cut off\n");
		r->rt->api->stop_queue(r->rt);
	}
	check_cells(r, request);
	r->under_way = NULL;
}

static void show_progress(struct runner *r, bool last)
{
	uint64_t now = clock_ns();

	if (r->progress_ns == 0 || (!last && now - r->progress_ns < SECOND_NS / 2))
		return;
	r->progress_ns = now;
	fprintf(stderr, "\rkfdreplay: %zu requests in %.1f s%s", r->out->stats.count,
		(double)(now - r->start_ns) / 1e9, last ? "\n" : "");
}

static void next_arrival(struct runner *r)
{
	r->out->arrived++;
	if (r->options->open_loop)
		r->due_ns = arrivals_next(&r->arrivals);
}

/* Runs requests until the window ends. */
static void serve_all(struct runner *r)
{
	const struct run_options *o = r->options;
	struct stats *stats = &r->out->stats;

	for (size_t i = 0; o->requests == 0 || i < o->requests; i++) {
		const struct plan_request *request = &r->plan->requests[i % r->plan->request_count];
		uint64_t from = clock_ns(), begin;

		show_progress(r, false);
		if (o->open_loop) {
			from = r->start_ns + wall_of(r, r->due_ns);
			sleep_until(r, min_u64(from, r->end_ns));
		}
		if (stopped(r) || from >= r->end_ns || (begin = clock_ns()) >= r->end_ns)
			return;
		if (o->times)
			request_times_begin(o->times, r->due_ns, model_of(r, begin - r->start_ns));
		next_arrival(r);
		if (!serve(r, request))
			return;
		if (o->times)
			request_times_end(o->times, model_of(r, r->last_done_ns - r->start_ns));
		if (stats_add(stats, model_of(r, r->last_done_ns - from)))
			fail(EXIT_FAILURE, "out of memory");
		r->out->busy_ns += (double)request->duration_ns;
	}
}

/* Computes the values that depend on the end of the window. In an open loop this includes the
 * requests that arrived after the last one that was started. */
static void close_books(struct runner *r)
{
	struct run_result *out = r->out;
	uint64_t end = clock_ns();

	if (r->options->requests && out->stats.count == r->options->requests)
		end = r->last_done_ns;
	else if (end > r->end_ns)
		end = r->end_ns;
	out->seconds = (double)(end - r->start_ns) / 1e9 * r->options->scale;
	out->steps += (double)out->stats.count;
	out->keeps_up = true;
	if (r->options->open_loop) {
		while (r->start_ns + wall_of(r, r->due_ns) <= end)
			next_arrival(r);
		out->keeps_up = stats_keeps_up(&out->stats, out->arrived);
	}
}

void run(struct rt *rt, const struct plan *plan, const struct run_options *options,
	 struct run_result *out)
{
	struct runner r = {
		.rt = rt, .plan = plan, .options = options, .out = out, .end_ns = UINT64_MAX};

	*out = (struct run_result){0};
	/* The default timer slack of 50 us would be a large part of a short latency. */
	prctl(PR_SET_TIMERSLACK, 1ul);
	r.arrivals = options->arrivals;
	r.due_ns = options->open_loop ? arrivals_next(&r.arrivals) : 0;
	wait_for_go(&r);
	r.start_ns = r.last_done_ns = clock_ns();
	if (options->seconds > 0)
		r.end_ns = r.start_ns + (uint64_t)(options->seconds * 1e9);
	r.progress_ns = isatty(STDERR_FILENO) ? r.start_ns : 0;
	serve_all(&r);
	close_books(&r);
	show_progress(&r, true);
	if (r.under_way)
		give_up(&r);
}

// SPDX-License-Identifier: MIT
#include "scheduler/daemon/recording/feed.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "scheduler/daemon/log.h"

#define LINE 320u /* maximum length of a line; the longest is a configuration with all values */

/* ---- recording ---- */

static void stop(struct feed *feed)
{
	free(feed->text);
	free(feed->living);
	feed->text = NULL;
	feed->living = NULL;
	feed->used = 0;
}

/* Returns the number of bytes for one write(): the complete lines that fit in FEED_PIECE. It is
 * never 0, because LINE is below FEED_PIECE. */
static size_t piece(const char *text, size_t used)
{
	const char *end;

	if (used <= FEED_PIECE)
		return used;
	end = memrchr(text, '\n', FEED_PIECE);
	return (size_t)(end - text) + 1;
}

void feed_flush(struct feed *feed)
{
	size_t done = 0;

	while (done < feed->used) {
		ssize_t n = write(feed->out, feed->text + done,
				  piece(feed->text + done, feed->used - done));

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno != EAGAIN) {
			stop(feed); /* kfdschedd-rec has ended and has logged the reason */
			return;
		}
		if (n < 0)
			break;
		done += (size_t)n;
	}
	feed->used -= done;
	if (done > 0)
		memmove(feed->text, feed->text + done, feed->used);
}

static bool has_room(struct feed *feed)
{
	if (feed->text && FEED_BUFFER - feed->used < LINE)
		feed_flush(feed);
	if (!feed->text || FEED_BUFFER - feed->used >= LINE)
		return feed->text;
	log_error("the recording ends here, because its file is written too slowly: %u KiB are "
		  "waiting to be written; record to a faster disk",
		  FEED_BUFFER / 1024);
	stop(feed);
	return false;
}

/* Records one line with the present time. */
__attribute__((format(printf, 2, 3))) static void note(struct feed *feed, const char *format, ...)
{
	va_list args;
	int n;

	if (!has_room(feed))
		return;
	n = snprintf(feed->text + feed->used, LINE, "%" PRIu64 " ", feed->now_ns - feed->start_ns);
	va_start(args, format);
	n += vsnprintf(feed->text + feed->used + n, LINE - (size_t)n, format, args);
	va_end(args);
	feed->used += (size_t)n;
	feed->text[feed->used++] = '\n';
	feed->changed = true;
}

/* Returns true if calls about the client are recorded: if the core knows the client, because a call
 * has no effect otherwise. */
static bool is_noted(const struct feed *feed, core_id client)
{
	return feed->living && client && feed->living[core_index(client)] == client;
}
#define NOTE_OF(feed, client, ...) (is_noted(feed, client) ? note(feed, __VA_ARGS__) : (void)0)

static uint64_t advance(struct feed *feed, uint64_t now)
{
	if (now > feed->now_ns)
		feed->now_ns = now;
	return feed->now_ns;
}

static const char *yes_no(bool yes)
{
	return yes ? "yes" : "no";
}

/* Formats a time; CORE_NEVER is "never". */
static const char *time_text(const struct feed *feed, uint64_t at, char text[static 24])
{
	if (at == CORE_NEVER)
		return "never";
	snprintf(text, 24, "%" PRIu64, at - feed->start_ns);
	return text;
}

void feed_iterate(struct feed *feed, uint64_t now)
{
	if (!feed->used || (feed->used < FEED_PIECE && now < feed->flushed_ns + FEED_FLUSH_NS))
		return;
	feed->flushed_ns = now;
	feed_flush(feed);
}

/* ---- calls of the core ---- */

const struct core *feed_create(struct feed *feed, const struct core_config *config,
			       uint32_t max_clients, int out, uint64_t start_ns, uint64_t now)
{
	*feed = (struct feed){.out = out, .start_ns = start_ns, .now_ns = now};
	feed->core = core_create(config, max_clients);
	if (!feed->core || out < 0)
		return feed->core;
	feed->text = malloc(FEED_BUFFER);
	feed->living = calloc(max_clients, sizeof(*feed->living));
	if (!feed->text || !feed->living) {
		feed_destroy(feed);
		return NULL;
	}
	note(feed, "worker %" PRIu32, max_clients);
	return feed->core;
}

void feed_destroy(struct feed *feed)
{
	stop(feed);
	core_destroy(feed->core);
	feed->core = NULL;
}

void feed_configure(struct feed *feed, const struct core_config *c)
{
	core_configure(feed->core, c);
	note(feed,
	     "config slow_suspend_ns=%" PRIu64 " max_suspended_ns=%" PRIu64 " min_run_ns=%" PRIu64
	     " share_window_ns=%" PRIu64 " online_weight=%" PRIu32 " max_online_overhead=%" PRIu32
	     " hold_over=%s policy=%s share_percent=%" PRIu32,
	     c->slow_suspend_ns, c->max_suspended_ns, c->min_run_ns, c->share_window_ns,
	     c->online_weight, c->max_online_overhead, yes_no(c->hold_over),
	     policy_name(c->policy.rule), c->policy.share_percent);
}

bool feed_set_policy(struct feed *feed, uint32_t gpu_id, const struct core_policy *policy)
{
	note(feed, "policy %" PRIu32 " %s %" PRIu32, gpu_id, policy_name(policy->rule),
	     policy->share_percent);
	return core_set_policy(feed->core, gpu_id, policy);
}

core_id feed_add(struct feed *feed, uint32_t tenant, uint32_t group, int priority, uint64_t now)
{
	core_id client = core_add(feed->core, tenant, group, priority, advance(feed, now));

	if (!client)
		return 0;
	note(feed, "add %" PRIu32 " %" PRIu32 " %" PRIu32 " %d", client, tenant, group, priority);
	if (feed->living)
		feed->living[core_index(client)] = client;
	return client;
}

void feed_move(struct feed *feed, core_id client, const struct core_rights *rights, uint32_t group,
	       uint64_t now)
{
	core_move(feed->core, client, rights, group, advance(feed, now));
	NOTE_OF(feed, client, "move %" PRIu32 " %" PRIu32 " %#" PRIx64 " %#" PRIx64 " %" PRIu32,
		client, rights->tenant, rights->can_preempt, rights->preemptible_by, group);
}

void feed_remove(struct feed *feed, core_id client)
{
	core_remove(feed->core, client);
	if (!is_noted(feed, client))
		return;
	feed->living[core_index(client)] = 0;
	note(feed, "remove %" PRIu32, client);
}

void feed_set_capability(struct feed *feed, core_id client, enum core_capability capability)
{
	static const char *const words[] = {
		[CORE_PENDING] = "pending", [CORE_ABLE] = "able", [CORE_REFUSED] = "refused"};

	core_set_capability(feed->core, client, capability);
	NOTE_OF(feed, client, "capability %" PRIu32 " %s", client, words[capability]);
}

void feed_clear_exempt(struct feed *feed, core_id client)
{
	core_clear_exempt(feed->core, client);
	NOTE_OF(feed, client, "forgive %" PRIu32, client);
}

void feed_set_priority(struct feed *feed, core_id client, int priority)
{
	core_set_priority(feed->core, client, priority);
	NOTE_OF(feed, client, "priority %" PRIu32 " %d", client, priority);
}

void feed_set_victim_only(struct feed *feed, core_id client)
{
	core_set_victim_only(feed->core, client);
	NOTE_OF(feed, client, "passive %" PRIu32, client);
}

void feed_set_slo(struct feed *feed, core_id client, uint64_t slo_ns)
{
	core_set_slo(feed->core, client, slo_ns);
	NOTE_OF(feed, client, "slo %" PRIu32 " %" PRIu64, client, slo_ns);
}

bool feed_set_activity(struct feed *feed, core_id client, uint32_t gpu_id, bool active,
		       uint64_t now)
{
	now = advance(feed, now);
	NOTE_OF(feed, client, "%s %" PRIu32 " %" PRIu32, active ? "active" : "idle", client,
		gpu_id);
	return core_set_activity(feed->core, client, gpu_id, active, now);
}

void feed_set_teardown(struct feed *feed, core_id client, bool teardown_begin)
{
	core_set_teardown(feed->core, client, teardown_begin);
	NOTE_OF(feed, client, "leaving %" PRIu32 " %s", client, yes_no(teardown_begin));
}

void feed_set_lease(struct feed *feed, core_id client, uint64_t until_ns)
{
	char text[24];

	core_set_lease(feed->core, client, until_ns);
	NOTE_OF(feed, client, "lease %" PRIu32 " %s", client,
		until_ns ? time_text(feed, until_ns, text) : "none");
}

void feed_finished(struct feed *feed, core_id client, int error, uint64_t duration_ns, uint64_t now)
{
	core_finished(feed->core, client, error, duration_ns, advance(feed, now));
	NOTE_OF(feed, client, "finished %" PRIu32 " %d %" PRIu64, client, error, duration_ns);
}

size_t feed_decide(struct feed *feed, uint64_t now, struct core_action *actions, size_t max,
		   uint64_t *deadline)
{
	bool matters;
	char text[24];
	size_t n;

	now = advance(feed, now);
	matters = feed->changed || now >= feed->deadline_ns;
	n = core_decide(feed->core, now, actions, max, deadline);
	feed->deadline_ns = *deadline;
	if (!matters)
		return n;
	note(feed, "decide %zu %s", n, time_text(feed, *deadline, text));
	for (size_t i = 0; i < n; i++)
		note(feed, "%s %" PRIu32 " %s",
		     actions[i].op == CORE_SUSPEND ? "suspend" : "resume", actions[i].client,
		     yes_no(actions[i].prompt));
	feed->changed = false;
	return n;
}

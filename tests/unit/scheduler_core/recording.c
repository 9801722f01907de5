// SPDX-License-Identifier: MIT
#include "tests/unit/scheduler_core/recording.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "scheduler/core/sched.h"
#include "tests/unit/scheduler_core/recorded_value.h"

#define VERSION "1"
#define VALUES 5u
#define WORDS 16u

struct player {
	const char *name;
	unsigned line;
	char *problem;
	size_t size;
	enum recording_result result;
	struct recording_counts *counts;

	uint64_t start_ns, now_ns;
	struct core *core;
	uint32_t max_clients;
	struct {
		uint32_t recorded; /* id in the recording; 0: unused */
		core_id id;
	} * clients; /* indexed by core_index() of the recorded id */
	struct core_action *actions;
	size_t decided, compared, recorded; /* number of actions of the last decision */
	uint64_t deadline_ns, recorded_deadline_ns;
};

struct event {
	const char *name;
	const char *values; /* the kind of each value (recorded_value.h) */
	void (*apply)(struct player *player, const uint64_t *v);
};

/* ---- errors ---- */

__attribute__((format(printf, 3, 4))) static bool
fail(struct player *p, enum recording_result result, const char *format, ...)
{
	va_list args;
	int n;

	if (p->result != RECORDING_SAME) /* only the first error is reported */
		return false;
	p->result = result;
	n = snprintf(p->problem, p->size, "%s:%u: ", p->name, p->line);
	if (n < 0 || (size_t)n >= p->size)
		return false;
	va_start(args, format);
	vsnprintf(p->problem + n, p->size - (size_t)n, format, args);
	va_end(args);
	return false;
}
#define BAD(p, ...) fail(p, RECORDING_BAD, __VA_ARGS__)

/* ---- values ---- */

static bool take_client(const struct player *p, const char *text, uint64_t *out)
{
	uint32_t index;

	if (!recorded_number(text, UINT32_MAX, out) || !*out)
		return false;
	index = core_index((core_id)*out);
	if (index >= p->max_clients || p->clients[index].recorded != *out)
		return false;
	*out = p->clients[index].id;
	return true;
}

static bool take_new_client(const struct player *p, const char *text, uint64_t *out)
{
	uint32_t index;

	if (!recorded_number(text, UINT32_MAX, out) || !*out)
		return false;
	index = core_index((core_id)*out);
	return index < p->max_clients && !p->clients[index].recorded;
}

static bool take_value(const struct player *p, char kind, const char *text, uint64_t *out)
{
	if (kind == 'c')
		return take_client(p, text, out);
	if (kind == 'n')
		return take_new_client(p, text, out);
	return recorded_value(kind, text, p->start_ns, out);
}

/* ---- decisions ---- */

static const char *action_text(const struct player *p, const struct core_action *action,
			       char text[static 48])
{
	uint32_t recorded = 0;

	for (uint32_t i = 0; i < p->max_clients; i++)
		if (p->clients[i].recorded && p->clients[i].id == action->client)
			recorded = p->clients[i].recorded;
	snprintf(text, 48, "%s %" PRIu32 " %s", action->op == CORE_SUSPEND ? "suspend" : "resume",
		 recorded, action->prompt ? "yes" : "no");
	return text;
}

static const char *deadline_text(const struct player *p, uint64_t at, char text[static 24])
{
	if (at == CORE_NEVER)
		return "never";
	snprintf(text, 24, "%" PRIu64, at - p->start_ns);
	return text;
}

/* All actions of a decision have been compared. Checks that the core has decided no further action,
 * and the same next deadline. */
static void end_decision(struct player *p)
{
	char core[48], time[24];

	if (p->compared < p->decided)
		fail(p, RECORDING_DIFFERS,
		     "the core decides %zu actions and not %zu; the next is: %s", p->decided,
		     p->recorded, action_text(p, &p->actions[p->compared], core));
	else if (p->deadline_ns != p->recorded_deadline_ns)
		fail(p, RECORDING_DIFFERS,
		     "the core's next deadline is %s, and %s in the recording",
		     deadline_text(p, p->deadline_ns, core),
		     deadline_text(p, p->recorded_deadline_ns, time));
}

static void decide(struct player *p, const uint64_t *v)
{
	if (v[0] > p->max_clients) {
		BAD(p, "%" PRIu64 " actions, and there are %" PRIu32 " clients at most", v[0],
		    p->max_clients);
		return;
	}
	p->decided = core_decide(p->core, p->now_ns, p->actions, p->max_clients, &p->deadline_ns);
	p->recorded = (size_t)v[0];
	p->recorded_deadline_ns = v[1];
	p->compared = 0;
	p->counts->decisions++;
	if (p->recorded == 0)
		end_decision(p);
}

/* Compares a recorded action with the next one that the core has decided. */
static void compare(struct player *p, enum core_op op, const uint64_t *v)
{
	const struct core_action recorded = {(core_id)v[0], op, v[1]}, *core;
	char ours[48], theirs[48];

	if (p->compared == p->recorded) {
		BAD(p, "an action that the last decision has not announced");
		return;
	}
	action_text(p, &recorded, theirs);
	if (p->compared == p->decided) {
		fail(p, RECORDING_DIFFERS, "the core decides %zu actions and not %zu, without: %s",
		     p->decided, p->recorded, theirs);
		return;
	}
	core = &p->actions[p->compared++];
	if (core->client != recorded.client || core->op != op || core->prompt != recorded.prompt)
		fail(p, RECORDING_DIFFERS, "the core decides: %s; in the recording: %s",
		     action_text(p, core, ours), theirs);
	p->counts->actions++;
	if (p->compared == p->recorded)
		end_decision(p);
}

static void suspend(struct player *p, const uint64_t *v)
{
	compare(p, CORE_SUSPEND, v);
}

static void resume(struct player *p, const uint64_t *v)
{
	compare(p, CORE_RESUME, v);
}

/* ---- the core's calls ---- */

static void forget_core(struct player *p)
{
	core_destroy(p->core);
	free(p->clients);
	free(p->actions);
	p->core = NULL;
	p->clients = NULL;
	p->actions = NULL;
	p->max_clients = 0;
}

static void worker(struct player *p, const uint64_t *v)
{
	const struct core_config config = CORE_CONFIG_DEFAULT;

	forget_core(p);
	p->max_clients = (uint32_t)v[0];
	p->core = core_create(&config, p->max_clients);
	p->clients = calloc(p->max_clients, sizeof(*p->clients));
	p->actions = calloc(p->max_clients, sizeof(*p->actions));
	p->counts->workers++;
	if (!p->core || !p->clients || !p->actions)
		BAD(p, "no memory for %" PRIu32 " clients", p->max_clients);
}

static bool take_policy(struct player *p, const uint64_t *v, struct core_policy *out)
{
	*out = (struct core_policy){(enum policy)v[0], (uint32_t)v[1]};
	if (out->rule == POLICY_share && !out->share_percent)
		return BAD(p, "policy share has a share of 1..99");
	return true;
}

static void set_policy(struct player *p, const uint64_t *v)
{
	struct core_policy policy;

	if (take_policy(p, v + 1, &policy))
		core_set_policy(p->core, (uint32_t)v[0], &policy);
}

static void add(struct player *p, const uint64_t *v)
{
	uint32_t recorded = (uint32_t)v[0];
	core_id id =
		core_add(p->core, (uint32_t)v[1], (uint32_t)v[2], (int)(int64_t)v[3], p->now_ns);

	if (!id) {
		fail(p, RECORDING_DIFFERS, "the core has no room for client %" PRIu32, recorded);
		return;
	}
	p->clients[core_index(recorded)].recorded = recorded;
	p->clients[core_index(recorded)].id = id;
}

static void move(struct player *p, const uint64_t *v)
{
	const struct core_rights rights = {
		.tenant = (uint32_t)v[1], .can_preempt = v[2], .preemptible_by = v[3]};

	core_move(p->core, (core_id)v[0], &rights, (uint32_t)v[4], p->now_ns);
}

static void remove_client(struct player *p, const uint64_t *v)
{
	core_remove(p->core, (core_id)v[0]);
	for (uint32_t i = 0; i < p->max_clients; i++)
		if (p->clients[i].id == v[0])
			p->clients[i].recorded = p->clients[i].id = 0;
}

static void set_capability(struct player *p, const uint64_t *v)
{
	core_set_capability(p->core, (core_id)v[0], (enum core_capability)v[1]);
}

static void clear_exempt(struct player *p, const uint64_t *v)
{
	core_clear_exempt(p->core, (core_id)v[0]);
}

static void set_priority(struct player *p, const uint64_t *v)
{
	core_set_priority(p->core, (core_id)v[0], (int)(int64_t)v[1]);
}

static void set_victim_only(struct player *p, const uint64_t *v)
{
	core_set_victim_only(p->core, (core_id)v[0]);
}

static void set_slo(struct player *p, const uint64_t *v)
{
	core_set_slo(p->core, (core_id)v[0], v[1]);
}

static void set_active(struct player *p, const uint64_t *v)
{
	core_set_activity(p->core, (core_id)v[0], (uint32_t)v[1], true, p->now_ns);
}

static void set_idle(struct player *p, const uint64_t *v)
{
	core_set_activity(p->core, (core_id)v[0], (uint32_t)v[1], false, p->now_ns);
}

static void set_teardown(struct player *p, const uint64_t *v)
{
	core_set_teardown(p->core, (core_id)v[0], v[1]);
}

static void set_lease(struct player *p, const uint64_t *v)
{
	core_set_lease(p->core, (core_id)v[0], v[1]);
}

static void finished(struct player *p, const uint64_t *v)
{
	core_finished(p->core, (core_id)v[0], (int)(int64_t)v[1], v[2], p->now_ns);
}

static const struct event events[] = {
	{"worker", "k", worker},
	{"policy", "ir%", set_policy},
	{"add", "niip", add},
	{"move", "cixxi", move},
	{"remove", "c", remove_client},
	{"capability", "ca", set_capability},
	{"forgive", "c", clear_exempt},
	{"priority", "cp", set_priority},
	{"passive", "c", set_victim_only},
	{"slo", "ct", set_slo},
	{"active", "ci", set_active},
	{"idle", "ci", set_idle},
	{"leaving", "cy", set_teardown},
	{"lease", "cl", set_lease},
	{"finished", "cet", finished},
	{"decide", "id", decide},
	{"suspend", "cy", suspend},
	{"resume", "cy", resume},
};
#define EVENTS (sizeof(events) / sizeof(*events))

/* ---- the configuration ---- */

struct times {
	uint64_t slow_suspend_ns, max_suspended_ns, min_run_ns, share_window_ns;
	uint64_t online_weight, max_online_overhead, hold_over, policy[2];
};

static const struct key {
	const char *name;
	char kind;
	size_t offset;
} keys[] = {
	{"slow_suspend_ns", 't', offsetof(struct times, slow_suspend_ns)},
	{"max_suspended_ns", 't', offsetof(struct times, max_suspended_ns)},
	{"min_run_ns", 't', offsetof(struct times, min_run_ns)},
	{"share_window_ns", 't', offsetof(struct times, share_window_ns)},
	{"online_weight", 'w', offsetof(struct times, online_weight)},
	{"max_online_overhead", 'o', offsetof(struct times, max_online_overhead)},
	{"hold_over", 'y', offsetof(struct times, hold_over)},
	{"policy", 'r', offsetof(struct times, policy[0])},
	{"share_percent", '%', offsetof(struct times, policy[1])},
};

static bool take_key(struct player *p, char *word, struct times *times)
{
	char *value = strchr(word, '=');

	if (!value)
		return BAD(p, "%.40s: must be KEY=VALUE", word);
	*value++ = '\0';
	for (size_t i = 0; i < sizeof(keys) / sizeof(*keys); i++) {
		if (strcmp(word, keys[i].name) != 0)
			continue;
		if (take_value(p, keys[i].kind, value,
			       (uint64_t *)((char *)times + keys[i].offset)))
			return true;
		return BAD(p, "%s=%.40s: must be %s", word, value, recorded_allowed(keys[i].kind));
	}
	return BAD(p, "unknown key %.40s of the configuration", word);
}

/* A key that is not named has its default value. */
static bool configure(struct player *p, char **words, unsigned count)
{
	struct core_config config = CORE_CONFIG_DEFAULT;
	struct times f = {
		.slow_suspend_ns = config.slow_suspend_ns,
		.max_suspended_ns = config.max_suspended_ns,
		.min_run_ns = config.min_run_ns,
		.share_window_ns = config.share_window_ns,
		.online_weight = config.online_weight,
		.max_online_overhead = config.max_online_overhead,
		.hold_over = config.hold_over,
		.policy = {config.policy.rule, config.policy.share_percent},
	};

	for (unsigned i = 0; i < count; i++)
		if (!take_key(p, words[i], &f))
			return false;
	if (!f.share_window_ns)
		return BAD(p, "share_window_ns=0: must be 1 at least");
	config = (struct core_config){
		.slow_suspend_ns = f.slow_suspend_ns,
		.max_suspended_ns = f.max_suspended_ns,
		.min_run_ns = f.min_run_ns,
		.share_window_ns = f.share_window_ns,
		.online_weight = (uint32_t)f.online_weight,
		.max_online_overhead = (uint32_t)f.max_online_overhead,
		.hold_over = f.hold_over,
	};
	if (!take_policy(p, f.policy, &config.policy))
		return false;
	core_configure(p->core, &config);
	return true;
}

/* ---- lines ---- */

static bool take_event(struct player *p, const struct event *event, char **words, unsigned count)
{
	uint64_t values[VALUES];
	size_t wanted = strlen(event->values);

	if (count != wanted)
		return BAD(p, "%s has %zu values, here are %u", event->name, wanted, count);
	for (size_t i = 0; i < wanted; i++)
		if (!take_value(p, event->values[i], words[i], &values[i]))
			return BAD(p, "%s: %.40s: must be %s", event->name, words[i],
				   recorded_allowed(event->values[i]));
	event->apply(p, values);
	return p->result == RECORDING_SAME;
}

static bool is_action(const char *word)
{
	return strcmp(word, "suspend") == 0 || strcmp(word, "resume") == 0;
}

static bool play_event(struct player *p, char **words, unsigned count)
{
	if (!p->core && strcmp(words[0], "worker") != 0)
		return BAD(p, "%.40s: the first event must be worker", words[0]);
	if (p->compared < p->recorded && !is_action(words[0]))
		return BAD(p, "%.40s: the last decision has %zu actions, and only %zu follow it",
			   words[0], p->recorded, p->compared);
	p->counts->calls += !is_action(words[0]);
	if (strcmp(words[0], "config") == 0)
		return configure(p, words + 1, count - 1);
	for (size_t i = 0; i < EVENTS; i++)
		if (strcmp(words[0], events[i].name) == 0)
			return take_event(p, &events[i], words + 1, count - 1);
	return BAD(p, "unknown event %.40s", words[0]);
}

/* Plays one line: TIME EVENT VALUE... */
static bool play_line(struct player *p, char **words, unsigned count)
{
	uint64_t at;

	if (!recorded_number(words[0], RECORDED_TIME_MAX, &at))
		return BAD(p, "%.40s: must be a time in nanoseconds after the start, at most 2^60",
			   words[0]);
	if (count < 2)
		return BAD(p, "a time without an event");
	if (at + p->start_ns < p->now_ns)
		return BAD(p, "time goes back, from %" PRIu64 " to %" PRIu64,
			   p->now_ns - p->start_ns, at);
	p->now_ns = at + p->start_ns;
	return play_event(p, words + 1, count - 1);
}

/* Checks the first two lines. */
static bool take_header(struct player *p, unsigned number, char **words, unsigned count)
{
	if (number == 1) {
		if (count != 2 || strcmp(words[0], "kfdschedd-record") != 0)
			return BAD(p,
				   "no recording: the first line must be 'kfdschedd-record " VERSION
				   "'");
		if (strcmp(words[1], VERSION) != 0)
			return BAD(p, "version %.40s: this program plays version " VERSION,
				   words[1]);
		return true;
	}
	if (count != 2 || strcmp(words[0], "start") != 0 ||
	    !recorded_number(words[1], RECORDED_TIME_MAX, &p->start_ns))
		return BAD(p, "the second line must be 'start TIME', in nanoseconds, at most 2^60");
	p->now_ns = p->start_ns;
	return true;
}

/* Splits a line into words. `count` 0: the line is empty or a comment. */
static bool split(struct player *p, char *text, char **words, unsigned *count)
{
	char *rest = NULL;

	*count = 0;
	if (*text == '#')
		return true;
	for (char *word = strtok_r(text, " ", &rest); word; word = strtok_r(NULL, " ", &rest)) {
		if (*count == WORDS)
			return BAD(p, "more than %u words", WORDS);
		words[(*count)++] = word;
	}
	return true;
}

static bool take_text(struct player *p, char *text, size_t length)
{
	if (text[length - 1] != '\n')
		return BAD(p, "the last line does not end: the file is not complete. Remove it to "
			      "play what comes before");
	text[length - 1] = '\0';
	if (length > RECORDING_LINE_MAX)
		return BAD(p, "longer than %u characters", RECORDING_LINE_MAX);
	for (size_t i = 0; i + 1 < length; i++)
		if (text[i] < ' ' || text[i] > '~')
			return BAD(p, "not text: byte %#x", (unsigned char)text[i]);
	return true;
}

static void check_end(struct player *p)
{
	if (p->compared < p->recorded)
		BAD(p, "the file ends after %zu of %zu actions of its last decision", p->compared,
		    p->recorded);
	else if (!p->counts->decisions)
		BAD(p, "the file ends before the first decision");
}

enum recording_result recording_play(FILE *in, const char *name, struct recording_counts *counts,
				     char *problem, size_t size)
{
	struct player p = {.name = name, .problem = problem, .size = size, .counts = counts};
	char *text = NULL, *words[WORDS];
	unsigned headers = 0, count;
	size_t room = 0;
	ssize_t n;
	bool ok = true;

	*counts = (struct recording_counts){0};
	while (ok && (n = getline(&text, &room, in)) > 0) {
		p.line++;
		ok = take_text(&p, text, (size_t)n) && split(&p, text, words, &count);
		if (!ok || !count)
			continue;
		ok = headers < 2 ? take_header(&p, ++headers, words, count)
				 : play_line(&p, words, count);
	}
	if (ok && ferror(in))
		BAD(&p, "cannot be read: %s", strerror(errno));
	if (ok)
		check_end(&p);
	free(text);
	forget_core(&p);
	return p.result;
}

// SPDX-License-Identifier: MIT
#include "scheduler/daemon/config/config.h"

#include <errno.h>
#include <fcntl.h>
#include <ini.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "scheduler/daemon/config/value.h"

#define MS UINT64_C(1000000)
#define S (1000 * MS)
#define HOUR (3600 * S)
#define SLO_MAX (UINT32_MAX * UINT64_C(1000)) /* maximum of slo_us in struct client_shm, in ns */

/* ---- keys: the kind of each value, its bounds, and where it is stored ---- */

#define KEY_ALLOWED 160 /* bytes of a text of key_allowed() */

/* How the value of a key is parsed, and the meaning of `min` and `max`. */
enum key_kind {
	KEY_TIME,	  /* uint64_t in ns, min..max; the text has a unit */
	KEY_MICROSECONDS, /* as KEY_TIME; the text is in microseconds, without a unit */
	KEY_COUNT,	  /* uint32_t, min..max */
	KEY_PERCENT,	  /* uint32_t, min..max; the text has a percent sign */
	KEY_YES_NO,	  /* bool */
	KEY_POLICY,	  /* KEY_POLICY, KEY_SHARE: stored in a field of struct config_node */
	KEY_SHARE,
	KEY_ADMIN_GROUP,
	KEY_GRANT,
	KEY_UIDS, /* KEY_UIDS to KEY_SHIM: conditions, in the bit order of enum rule_condition */
	KEY_GIDS,
	KEY_CGROUPS,
	KEY_EXECUTABLES,
	KEY_CONTAINERS,
	KEY_SHIM,
	KEY_PRIORITY, /* KEY_PRIORITY to KEY_SLO: effects, in the bit order of enum rule_effect */
	KEY_LEVEL,
	KEY_GROUP,
	KEY_SLO,
	KEY_LISTEN,
	KEY_LOG_LEVEL,
};

/* One key of a section. */
struct config_key {
	const char *name;
	enum key_kind kind;
	uint64_t min, max;
	size_t offset; /* offset of the value in struct config; KEY_TIME to KEY_YES_NO only */
	bool again;    /* the key can be repeated */
};

/* Allowed values by kind; key_allowed() appends the bounds of a key that has some. */
static const char *const allowed[] = {
	[KEY_TIME] = "a number with its unit (us, ms, s)",
	[KEY_MICROSECONDS] = "a whole number of microseconds",
	[KEY_COUNT] = "a whole number",
	[KEY_PERCENT] = "whole percent",
	[KEY_YES_NO] = "yes or no",
	[KEY_SHARE] = "whole percent",
	[KEY_ADMIN_GROUP] = "an existing group, by name or number",
	[KEY_GRANT] = "SUBJECT over TARGET, each of them `uid NAME`, `gid NAME`, `cgroup "
		      "/PATTERN` or `all`, at most 64 grants",
	[KEY_UIDS] = "existing users, by name or number, at most 8, separated by commas",
	[KEY_GIDS] = "existing groups, by name or number, at most 8, separated by commas",
	[KEY_CGROUPS] = "patterns that begin with /, at most 8, separated by commas",
	[KEY_EXECUTABLES] = "patterns that begin with /, at most 8, separated by commas",
	[KEY_CONTAINERS] = "the first 6 to 64 hexadecimal digits (0-9, a-f) of an id, at most 8, "
			   "separated by commas",
	[KEY_SHIM] = "yes or no",
	[KEY_PRIORITY] = "online, offline, 0..15, or none (observed, never scheduled)",
	[KEY_LEVEL] = "auto, trap, self, gate, weight or observe",
	[KEY_GROUP] = "a name of letters, digits, `.`, `_`, `-`, at most 63",
	[KEY_SLO] = "a number with its unit (us, ms, s)",
	[KEY_LISTEN] = "off or 127.0.0.1:PORT",
	[KEY_LOG_LEVEL] = "info or debug",
};

/* Returns a description of the allowed values, which completes "KEY = VALUE: must be". May use
 * the buffer `text`. */
static const char *key_allowed(const struct config_key *key, char text[static KEY_ALLOWED])
{
	bool percent = key->kind == KEY_PERCENT || key->kind == KEY_SHARE;
	uint64_t unit = key->kind == KEY_MICROSECONDS ? 1000 : 1;
	char low[24], high[24];

	if (key->kind == KEY_POLICY)
		return policy_names();
	if (!key->max)
		return allowed[key->kind];
	snprintf(low, sizeof(low), "%llu%s", (unsigned long long)(key->min / unit),
		 percent ? "%" : "");
	snprintf(high, sizeof(high), "%llu%s", (unsigned long long)(key->max / unit),
		 percent ? "%" : "");
	if (key->kind == KEY_TIME || key->kind == KEY_SLO) {
		value_time_text(key->min, low);
		value_time_text(key->max, high);
	}
	snprintf(text, KEY_ALLOWED, "%s, %s..%s", allowed[key->kind], low, high);
	return text;
}

static bool take_effect(struct rule *rule, const struct config_key *key, const char *text)
{
	uint64_t ns;

	rule->effects |= 1u << (key->kind - KEY_PRIORITY);
	switch (key->kind) {
	case KEY_PRIORITY:
		if (strcmp(text, "none") != 0)
			return protocol_priority(text, &rule->priority) == 0;
		rule->priority = PRIORITY_UNSET;
		return true;
	case KEY_LEVEL:
		return protocol_level(text, &rule->level) == 0;
	case KEY_GROUP:
		return value_name(text, rule->group, sizeof(rule->group));
	default:
		if (!value_time(text, key->min, key->max, &ns))
			return false;
		rule->slo_us = (uint32_t)(ns / 1000);
		return true;
	}
}

static bool take_figure(void *at, const struct config_key *key, const char *text)
{
	uint64_t unit = key->kind == KEY_MICROSECONDS ? 1000 : 1, number;

	if (key->kind == KEY_YES_NO)
		return value_yes_no(text, at);
	if (key->kind == KEY_PERCENT)
		return value_percent(text, (uint32_t)key->min, (uint32_t)key->max, at);
	if (key->kind == KEY_TIME ? !value_time(text, key->min, key->max, &number)
				  : !value_number(text, key->min / unit, key->max / unit, &number))
		return false;
	if (key->kind == KEY_COUNT)
		*(uint32_t *)at = (uint32_t)number;
	else
		*(uint64_t *)at = number * unit;
	return true;
}

/* Parses `text` and stores it in *config, or in *target, which is the object that the section
 * describes (struct config_node or struct rule). Returns false if the value is not allowed. */
static bool key_take(struct config *config, void *target, const struct config_key *key,
		     const char *text)
{
	struct config_node *node = target;

	if (key->kind <= KEY_YES_NO)
		return take_figure((char *)config + key->offset, key, text);
	if (key->kind >= KEY_PRIORITY && key->kind <= KEY_SLO)
		return take_effect(target, key, text);
	switch (key->kind) {
	case KEY_POLICY:
		return policy_parse(text, &node->policy.rule) == 0;
	case KEY_SHARE:
		return value_percent(text, (uint32_t)key->min, (uint32_t)key->max,
				     &node->policy.share_percent);
	case KEY_ADMIN_GROUP:
		config->authority.has_admin_group = true;
		return value_group(text, &config->authority.admin_group);
	case KEY_GRANT:
		return rules_take_grant(&config->authority, text);
	case KEY_LISTEN:
		return value_listen(text, &config->metrics_port);
	case KEY_LOG_LEVEL:
		config->verbose = strcmp(text, "debug") == 0;
		return config->verbose || strcmp(text, "info") == 0;
	default:
		return rule_take(target, 1u << (key->kind - KEY_UIDS), text);
	}
}

/* ---- sections and their keys ---- */

/* State of the parser while a file is read. */
struct config_reading {
	FILE *file;
	int line;
	char problem[512]; /* without file name and line number; empty: no problem */
	int problem_line;
	char notice[256]; /* as `problem`: about a line that is accepted but has no effect */
	int notice_line;

	struct config *config;
	const struct section *section; /* NULL: before the first section */
	int section_line;
	uint32_t seen; /* keys of this section that were seen; bit i: keys[i] */
	void *target;  /* the object that this section describes */
	struct config_node every_node;
};

/* A type of section. */
struct section {
	const char *word, *usage;
	bool named; /* its heading has a name: [rule NAME] */
	/* Called at the heading; NULL: nothing to do. Returns false after reporting a problem. */
	bool (*begin)(struct config_reading *r, const char *name);
	/* Called at the end of the section. Returns the description of what is missing, or NULL. */
	const char *(*end)(const struct config_reading *r);
	const struct config_key *keys;
	size_t key_count;
};

#define CORE(field) offsetof(struct config, core.field)
static const struct config_key scheduler_keys[] = {
	{"slow_suspend", KEY_TIME, 1000, 60 * S, CORE(slow_suspend_ns), false},
	{"max_suspended", KEY_TIME, 1 * MS, HOUR, CORE(max_suspended_ns), false},
	{"min_run", KEY_TIME, 0, 60 * S, CORE(min_run_ns), false},
	{"share_window", KEY_TIME, 10 * MS, 60 * S, CORE(share_window_ns), false},
	{"online_weight", KEY_COUNT, 0, 1000, CORE(online_weight), false},
	{"max_online_overhead", KEY_PERCENT, 0, 100, CORE(max_online_overhead), false},
	{"hold_over", KEY_YES_NO, 0, 0, CORE(hold_over), false},
	{"slow_suspend_us", KEY_MICROSECONDS, 1000, 60 * S, CORE(slow_suspend_ns), false},
	{"max_suspended_us", KEY_MICROSECONDS, 1 * MS, HOUR, CORE(max_suspended_ns), false},
	{"min_run_us", KEY_MICROSECONDS, 0, 60 * S, CORE(min_run_ns), false},
};
static const struct config_key node_keys[] = {
	{.name = "policy", .kind = KEY_POLICY},
	{.name = "share", .kind = KEY_SHARE, .min = 1, .max = 99},
};
static const struct config_key authority_keys[] = {
	{.name = "admin_group", .kind = KEY_ADMIN_GROUP},
	{.name = "grant", .kind = KEY_GRANT, .again = true},
};
static const struct config_key rule_keys[] = {
	{.name = "uid", .kind = KEY_UIDS},
	{.name = "gid", .kind = KEY_GIDS},
	{.name = "cgroup", .kind = KEY_CGROUPS},
	{.name = "executable", .kind = KEY_EXECUTABLES},
	{.name = "container", .kind = KEY_CONTAINERS},
	{.name = "shim", .kind = KEY_SHIM},
	{.name = "priority", .kind = KEY_PRIORITY},
	{.name = "level", .kind = KEY_LEVEL},
	{.name = "group", .kind = KEY_GROUP},
	{.name = "slo", .kind = KEY_SLO, .min = 1000, .max = SLO_MAX},
};
static const struct config_key metrics_keys[] = {{.name = "listen", .kind = KEY_LISTEN}};
static const struct config_key log_keys[] = {{.name = "level", .kind = KEY_LOG_LEVEL}};

/* Keys of earlier versions. A file that still has one is accepted, and a notice names the
 * replacement. */
static const struct {
	const char *section, *name, *instead;
} retired_keys[] = {
	{"scheduler", "max_holds_per_s",
	 "the number of suspends follows from the gaps between requests and online_weight; "
	 "max_online_overhead limits it"},
};

/* ---- problems ---- */

/* Records a problem; only the first one is kept. Always returns false. */
__attribute__((format(printf, 2, 3))) static bool bad(struct config_reading *r, const char *format,
						      ...)
{
	va_list args;

	if (r->problem[0])
		return false;
	r->problem_line = r->line;
	va_start(args, format);
	vsnprintf(r->problem, sizeof(r->problem), format, args);
	va_end(args);
	return false;
}

/* ---- sections ---- */

static bool begin_node(struct config_reading *r, const char *name)
{
	struct config *config = r->config;
	uint64_t gpu_id;

	r->target = &r->every_node;
	if (strcmp(name, "all") == 0)
		return r->every_node.gpu_id ? bad(r, "[node all] is a duplicate section")
					    : (r->every_node.gpu_id = 1);
	if (!value_number(name, 1, UINT32_MAX, &gpu_id))
		return bad(r,
			   "[node %s]: must be [node all] or the gpu_id of a node, as `kfdsched "
			   "status` lists it",
			   name);
	for (uint32_t i = 0; i < config->node_count; i++)
		if (config->node[i].gpu_id == gpu_id)
			return bad(r, "[node %s] is a duplicate section", name);
	if (config->node_count == CORE_POLICIES)
		return bad(r, "[node %s]: at most %u nodes can have their own policy", name,
			   CORE_POLICIES);
	r->target = &config->node[config->node_count++];
	*(struct config_node *)r->target = (struct config_node){
		.gpu_id = (uint32_t)gpu_id,
		.policy = r->every_node.policy,
	};
	return true;
}

static const char *end_node(const struct config_reading *r)
{
	return r->seen & 1 ? NULL : "has no policy";
}

static bool begin_rule(struct config_reading *r, const char *name)
{
	struct rules *rules = &r->config->rules;
	struct rule *rule = &rules->rule[rules->count];

	if (rules->count == RULES_MAX)
		return bad(r, "[rule %s]: at most %u rules", name, RULES_MAX);
	*rule = (struct rule){.priority = PRIORITY_UNSET};
	if (!value_name(name, rule->name, sizeof(rule->name)))
		return bad(r, "[rule %s]: must be a name of letters, digits, `.`, `_`, `-`", name);
	for (uint32_t i = 0; i < rules->count; i++)
		if (strcmp(rules->rule[i].name, rule->name) == 0)
			return bad(r, "[rule %s] is a duplicate section", name);
	rules->count++;
	r->target = rule;
	return true;
}

static const char *end_rule(const struct config_reading *r)
{
	const struct rule *rule = r->target;

	if (!rule->conditions)
		return "has no condition: uid, gid, cgroup, executable, container, shim";
	if (!rule->effects)
		return "has no effect: priority, level, group, slo";
	return NULL;
}

#define KEYS(of) (of), sizeof(of) / sizeof(*(of))
static const struct section sections[] = {
	{"scheduler", "[scheduler]", false, NULL, NULL, KEYS(scheduler_keys)},
	{"node", "[node GPU_ID|all]", true, begin_node, end_node, KEYS(node_keys)},
	{"authority", "[authority]", false, NULL, NULL, KEYS(authority_keys)},
	{"rule", "[rule NAME]", true, begin_rule, end_rule, KEYS(rule_keys)},
	{"metrics", "[metrics]", false, NULL, NULL, KEYS(metrics_keys)},
	{"log", "[log]", false, NULL, NULL, KEYS(log_keys)},
};
#define SECTIONS (sizeof(sections) / sizeof(*sections))

static bool end_section(struct config_reading *r)
{
	const char *missing = r->section && r->section->end ? r->section->end(r) : NULL;
	int line = r->line;

	if (!missing)
		return true;
	r->line = r->section_line;
	bad(r, "this section %s", missing);
	r->line = line;
	return false;
}

/* Begins the section with the heading [text]. Returns false after it has recorded a problem. */
static bool begin_section(struct config_reading *r, char *text)
{
	char *name = text + strcspn(text, " \t");
	const struct section *section = sections;
	char known[160] = "";
	size_t used = 0;

	if (*name)
		*name++ = '\0';
	name += strspn(name, " \t");
	while (section < sections + SECTIONS && strcmp(section->word, text) != 0)
		section++;
	if (section == sections + SECTIONS || section->named != (*name != '\0')) {
		for (size_t i = 0; i < SECTIONS && used < sizeof(known); i++)
			used += (size_t)snprintf(known + used, sizeof(known) - used, "%s%s",
						 i ? ", " : "", sections[i].usage);
		return bad(r, "unknown section [%s%s%s]; known sections are %s", text,
			   *name ? " " : "", name, known);
	}
	r->section = NULL; /* so that end_section() does nothing after a wrong heading */
	if (section->begin && !section->begin(r, name))
		return false;
	r->section = section;
	r->section_line = r->line;
	r->seen = 0;
	return true;
}

static bool is_retired(struct config_reading *r, const char *name)
{
	for (size_t i = 0; i < sizeof(retired_keys) / sizeof(*retired_keys); i++) {
		if (strcmp(retired_keys[i].section, r->section->word) != 0 ||
		    strcmp(retired_keys[i].name, name) != 0)
			continue;
		r->notice_line = r->line;
		snprintf(r->notice, sizeof(r->notice),
			 "%s is obsolete and ignored, remove the line: %s", name,
			 retired_keys[i].instead);
		return true;
	}
	return false;
}

/* Stores the value of a key of the section; inih calls it for each `key = value`. Returns 1 if the
 * key was accepted, 0 at a problem. section_name is unused: inih cuts it after 49 bytes. */
static int take_key(void *user, const char *section_name, const char *name, const char *value)
{
	struct config_reading *r = user;
	const struct section *section = r->section;
	char known[256] = "", text[KEY_ALLOWED];
	size_t i = 0, used = 0;

	(void)section_name;
	if (!section)
		return bad(r, "%s precedes any section header, such as [scheduler]", name);
	if (is_retired(r, name))
		return true;
	for (; i < section->key_count && strcmp(section->keys[i].name, name) != 0; i++)
		if (used < sizeof(known))
			used += (size_t)snprintf(known + used, sizeof(known) - used, "%s%s",
						 i ? ", " : "", section->keys[i].name);
	if (i == section->key_count)
		return bad(r, "unknown key %s in [%s]; known keys are %s", name, section->word,
			   known);
	if (r->seen >> i & 1 && !section->keys[i].again)
		return bad(r, "%s is a duplicate key", name);
	r->seen |= 1u << i;
	if (!key_take(r->config, r->target, &section->keys[i], value))
		return bad(r, "%s = %s: must be %s", name, value,
			   key_allowed(&section->keys[i], text));
	return true;
}

/* ---- lines of the file ---- */

/* Handles `line` if it is the heading of a section. Returns false after it has recorded a problem.
 * This and next_line() do what inih does not: report the number of a line, and detect a line that
 * is too long, a section without keys, and a file that is not text. */
static bool read_key(struct config_reading *r, const char *line)
{
	char copy[CONFIG_LINE_MAX + 1], *end;

	if (line[0] != '[')
		return true;
	snprintf(copy, sizeof(copy), "%s", line + 1);
	end = strchr(copy, ']');
	if (!end)
		return true; /* inih reports this error */
	*end = '\0';
	return end_section(r) && begin_section(r, copy);
}

/* Reads the next line for inih, as fgets(3) does. Removes leading blanks, because inih would treat
 * an indented line as a continuation of the line before. */
static char *next_line(char *line, int room, void *user)
{
	struct config_reading *r = user;
	size_t length = 0, max = CONFIG_LINE_MAX;
	int c;

	if (r->problem[0])
		return NULL;
	if ((size_t)room < max + 3)
		max = (size_t)room - 3;
	r->line++;
	while ((c = getc(r->file)) != EOF && c != '\n') {
		if (c != '\t' && c != '\r' && (c < ' ' || c == 0x7f)) {
			bad(r, "has a byte 0x%02x: not a text file", (unsigned)c);
			return NULL;
		}
		if (length == 0 && (c == ' ' || c == '\t'))
			continue;
		if (length == max) {
			bad(r, "longer than %zu characters", max);
			return NULL;
		}
		line[length++] = (char)c;
	}
	if (c == EOF && length == 0)
		return NULL;
	line[length] = '\0';
	if (!read_key(r, line))
		return NULL;
	line[length++] = '\n';
	line[length] = '\0';
	return line;
}

/* ---- file ---- */

/* Opens the file. Returns 0, or a negative errno with a short reason in *why. */
static int open_file(const char *path, FILE **out, const char **why)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY), error;
	struct stat st;

	if (fd < 0) {
		error = errno;
		*why = strerror(error);
		return -error;
	}
	if (fstat(fd, &st) < 0)
		*why = strerror(errno);
	else if (S_ISDIR(st.st_mode))
		*why = "is a directory; it must be a file";
	else if (!S_ISREG(st.st_mode))
		*why = "is not a regular file";
	else if (st.st_size > CONFIG_BYTES_MAX)
		*why = "is larger than 1 MiB, the limit for a configuration";
	else
		*out = fdopen(fd, "r");
	if (*out)
		return 0;
	if (!*why)
		*why = "out of memory";
	close(fd);
	return -EINVAL;
}

void config_default(struct config *out)
{
	memset(out, 0, sizeof(*out));
	out->core = (struct core_config)CORE_CONFIG_DEFAULT;
}

static void parse(struct config_reading *r)
{
	int line = ini_parse_stream(next_line, r, take_key, r);

	if (line > 0 && (!r->problem[0] || line < r->problem_line)) {
		r->line = line;
		r->problem[0] = '\0';
		bad(r, "not `key = value`, [section], or a comment with # or ;");
	}
	if (line < 0)
		bad(r, "out of memory");
	if (ferror(r->file))
		bad(r, "cannot be read: %s", strerror(errno));
	end_section(r);
	if (r->every_node.gpu_id)
		r->config->core.policy = r->every_node.policy;
}

int config_load(const char *path, struct config *out, char *problem, size_t size)
{
	struct config_reading *r = calloc(1, sizeof(*r));
	struct config *config = malloc(sizeof(*config));
	const char *why = "out of memory";
	int error = -ENOMEM;

	problem[0] = '\0';
	if (!r || !config)
		goto out;
	why = NULL;
	error = open_file(path, &r->file, &why);
	if (error)
		goto out;
	config_default(config);
	r->config = config;
	r->every_node.policy = config->core.policy;
	parse(r);
	if (r->problem[0]) {
		error = -EINVAL;
		snprintf(problem, size, "%s:%d: %s", path, r->problem_line, r->problem);
	} else {
		*out = *config;
		if (r->notice[0])
			snprintf(problem, size, "%s:%d: %s", path, r->notice_line, r->notice);
	}
	fclose(r->file);
out:
	if (why)
		snprintf(problem, size, "%s: %s", path, why);
	free(config);
	free(r);
	return error;
}

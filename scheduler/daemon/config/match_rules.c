// SPDX-License-Identifier: MIT
#include "scheduler/daemon/config/match_rules.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define HEX "0123456789abcdef"

static bool take_ids(struct rule_ids *out, const char *text,
		     bool (*parse)(const char *text, uint32_t *id))
{
	char item[VALUE_NAME];

	for (out->count = 0; value_next(&text, item, sizeof(item)); out->count++)
		if (out->count == RULE_VALUES || !parse(item, &out->id[out->count]))
			return false;
	return true;
}

static bool is_path(const char *text)
{
	return text[0] == '/';
}

static bool is_container(const char *text)
{
	size_t length = strspn(text, HEX);

	return !text[length] && length >= CONTAINER_MIN && length <= CONTAINER_ID;
}

static bool take_texts(struct rule_texts *out, const char *text, bool (*allowed)(const char *text))
{
	char item[RULE_PATTERN];

	for (out->count = 0; value_next(&text, item, sizeof(item)); out->count++) {
		if (out->count == RULE_VALUES || !allowed(item))
			return false;
		memcpy(out->text[out->count], item, sizeof(item));
	}
	return true;
}

bool rule_take(struct rule *rule, enum rule_condition condition, const char *text)
{
	rule->conditions |= condition;
	switch (condition) {
	case RULE_UID:
		return take_ids(&rule->uids, text, value_user);
	case RULE_GID:
		return take_ids(&rule->gids, text, value_group);
	case RULE_CGROUP:
		return take_texts(&rule->cgroups, text, is_path);
	case RULE_EXECUTABLE:
		return take_texts(&rule->executables, text, is_path);
	case RULE_CONTAINER:
		return take_texts(&rule->containers, text, is_container);
	default:
		return value_yes_no(text, &rule->shim);
	}
}

/* ---- grants ---- */

/* Returns the text after `word` and blanks if `text` begins with them, otherwise NULL. */
static const char *after(const char *text, const char *word)
{
	size_t length = strlen(word);

	if (strncmp(text, word, length) != 0 || (text[length] != ' ' && text[length] != '\t'))
		return NULL;
	text += length;
	return text + strspn(text, " \t");
}

static bool take_party(struct party *out, const char *text)
{
	const char *rest;

	*out = (struct party){.kind = PARTY_ALL};
	if (strcmp(text, "all") == 0)
		return true;
	rest = after(text, "uid");
	if (rest) {
		out->kind = PARTY_UID;
		return value_user(rest, &out->id);
	}
	rest = after(text, "gid");
	if (rest) {
		out->kind = PARTY_GID;
		return value_group(rest, &out->id);
	}
	rest = after(text, "cgroup");
	if (!rest || !is_path(rest) || strlen(rest) >= sizeof(out->cgroup))
		return false;
	out->kind = PARTY_CGROUP;
	strcpy(out->cgroup, rest);
	return true;
}

bool rules_take_grant(struct authority *out, const char *text)
{
	static const char over[] = " over ";
	const char *middle = strstr(text, over);
	char preemptor[RULE_PATTERN];
	size_t length;

	if (!middle || out->count == GRANTS_MAX)
		return false;
	length = (size_t)(middle - text);
	while (length && (text[length - 1] == ' ' || text[length - 1] == '\t'))
		length--;
	if (length >= sizeof(preemptor))
		return false;
	memcpy(preemptor, text, length);
	preemptor[length] = '\0';
	middle += sizeof(over) - 1;
	middle += strspn(middle, " \t");
	if (!take_party(&out->grant[out->count].preemptor, preemptor) ||
	    !take_party(&out->grant[out->count].victim, middle))
		return false;
	out->count++;
	return true;
}

/* ---- evaluation ---- */

static bool has_gid(const struct proc_attrs *s, gid_t gid)
{
	for (uint32_t i = 0; i < s->gid_count; i++)
		if (s->gids[i] == gid)
			return true;
	return false;
}

static bool any_uid(const struct rule_ids *ids, const struct proc_attrs *s)
{
	for (uint32_t i = 0; i < ids->count; i++)
		if (ids->id[i] == s->uid)
			return true;
	return false;
}

static bool any_gid(const struct rule_ids *ids, const struct proc_attrs *s)
{
	for (uint32_t i = 0; i < ids->count; i++)
		if (has_gid(s, ids->id[i]))
			return true;
	return false;
}

/* Returns true if `text` matches `pattern`. An unknown attribute (empty text) never matches. */
static bool fits(const char *pattern, const char *text)
{
	return text[0] && fnmatch(pattern, text, 0) == 0;
}

static bool any_path(const struct rule_texts *patterns, const char *path)
{
	for (uint32_t i = 0; i < patterns->count; i++)
		if (fits(patterns->text[i], path))
			return true;
	return false;
}

static bool any_beginning(const struct rule_texts *beginnings, const char *id)
{
	for (uint32_t i = 0; i < beginnings->count; i++)
		if (strncmp(beginnings->text[i], id, strlen(beginnings->text[i])) == 0)
			return true;
	return false;
}

static bool applies(const struct rule *rule, const struct proc_attrs *s)
{
	return (!(rule->conditions & RULE_SHIM) || rule->shim == s->shim) &&
	       (!(rule->conditions & RULE_UID) || any_uid(&rule->uids, s)) &&
	       (!(rule->conditions & RULE_GID) || any_gid(&rule->gids, s)) &&
	       (!(rule->conditions & RULE_CGROUP) || any_path(&rule->cgroups, s->cgroup)) &&
	       (!(rule->conditions & RULE_EXECUTABLE) || any_path(&rule->executables, s->exe)) &&
	       (!(rule->conditions & RULE_CONTAINER) ||
		any_beginning(&rule->containers, s->container));
}

bool rules_match(const struct rules *rules, const struct proc_attrs *s, struct rule_match *out)
{
	*out = (struct rule_match){.priority = PRIORITY_UNSET};
	for (uint32_t i = 0; i < rules->count; i++) {
		const struct rule *rule = &rules->rule[i];

		if (!applies(rule, s))
			continue;
		memcpy(out->rule, rule->name, sizeof(out->rule));
		memcpy(out->group, rule->group, sizeof(out->group));
		out->effects = rule->effects;
		out->priority = rule->priority;
		out->level = rule->level;
		out->slo_us = rule->slo_us;
		return true;
	}
	return false;
}

static bool is_party(const struct party *party, const struct proc_attrs *s)
{
	switch (party->kind) {
	case PARTY_ALL:
		return true;
	case PARTY_UID:
		return s->native && s->uid == party->id;
	case PARTY_GID:
		return s->native && has_gid(s, party->id);
	default:
		return fits(party->cgroup, s->cgroup);
	}
}

void authority_match(const struct authority *authority, const struct proc_attrs *s,
		     uint64_t *preemptor, uint64_t *victim)
{
	*preemptor = *victim = 0;
	for (uint32_t i = 0; i < authority->count; i++) {
		if (is_party(&authority->grant[i].preemptor, s))
			*preemptor |= UINT64_C(1) << i;
		if (is_party(&authority->grant[i].victim, s))
			*victim |= UINT64_C(1) << i;
	}
}

/* ---- attributes of a process ---- */

#define TEXT_MAX 16384u /* maximum bytes of a file in /proc: enough for about ten cgroups */

/* Reads a whole file as text. Returns false if it cannot be read or does not fit. */
static bool read_text(pid_t pid, const char *name, char text[static TEXT_MAX])
{
	ssize_t n = proc_read(pid, name, text, TEXT_MAX);

	return n > 0 && n < (ssize_t)TEXT_MAX - 1;
}

static void read_ids(const char *status, struct proc_attrs *out)
{
	const char *at = proc_status_field(status, "\nUid:\t");
	unsigned real, effective, gid;
	int used;

	if (at && sscanf(at, "%u %u", &real, &effective) == 2)
		out->uid = effective;
	at = proc_status_field(status, "\nGid:\t");
	if (at && sscanf(at, "%u %u", &real, &effective) == 2)
		out->gids[out->gid_count++] = effective;
	for (at = proc_status_field(status, "\nGroups:\t"); at && *at >= '0' && *at <= '9';) {
		if (out->gid_count == SUBJECT_GIDS || sscanf(at, "%u%n", &gid, &used) != 1)
			return;
		out->gids[out->gid_count++] = gid;
		at += used;
		at += *at == ' ';
	}
}

static void read_exe(pid_t pid, char out[static SUBJECT_PATH])
{
	/* the kernel appends this when the file was replaced, for example by an upgrade */
	static const char gone[] = " (deleted)";
	const size_t tail = sizeof(gone) - 1;
	char path[64];
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/%d/exe", (int)pid);
	n = readlink(path, out, SUBJECT_PATH);
	if (n <= 0 || n == (ssize_t)SUBJECT_PATH || out[0] != '/') {
		out[0] = '\0';
		return;
	}
	out[n] = '\0';
	if ((size_t)n > tail && strcmp(out + n - tail, gone) == 0)
		out[(size_t)n - tail] = '\0';
}

static bool same_namespace(pid_t pid, const char *kind)
{
	uint64_t its = proc_namespace(pid, kind);

	return its && its == proc_namespace(0, kind);
}

int subject_read(pid_t pid, struct proc_attrs *out)
{
	char text[TEXT_MAX];

	*out = (struct proc_attrs){.pid = pid, .uid = (uid_t)-1};
	if (!read_text(pid, "status", text))
		return -ESRCH;
	read_ids(text, out);
	if (read_text(pid, "cgroup", text)) {
		cgroup_path(text, out->cgroup, sizeof(out->cgroup));
		cgroup_container_id(out->cgroup, out->container);
	}
	read_exe(pid, out->exe);
	out->native = same_namespace(pid, "pid") && same_namespace(pid, "user");
	return 0;
}

/* ---- owners of uids ---- */

#define LINE_BYTES 512

/* Parses USER:FIRST:COUNT. Writes NUL bytes into `line` at the colons. */
static bool parse_line(char *line, struct owner_range *out)
{
	char *first = strchr(line, ':'), *count = first ? strchr(first + 1, ':') : NULL;
	uint64_t first_uid, uids;

	if (!count)
		return false;
	*first++ = '\0';
	*count++ = '\0';
	if (!value_number(first, 1, UINT32_MAX, &first_uid) ||
	    !value_number(count, 1, UINT32_MAX, &uids))
		return false;
	out->first = (uid_t)first_uid;
	out->count = (uint32_t)uids;
	return value_user(line, &out->owner);
}

static void add_line(struct owners *out, char *line)
{
	struct owner_range range;

	if (*line == '\0' || *line == '#')
		return;
	if (!parse_line(line, &range))
		out->bad_lines++;
	else if (out->count == OWNERS_MAX)
		out->unused++;
	else
		out->ranges[out->count++] = range;
}

void owners_read(const char *path, struct owners *out)
{
	char line[LINE_BYTES];
	FILE *f = fopen(path, "re");
	bool whole = true;

	*out = (struct owners){0};
	while (f && fgets(line, sizeof(line), f)) {
		/* A line longer than the buffer arrives in several pieces. It is counted as bad
		 * once, at its first piece, and its other pieces are skipped. */
		bool begins = whole;
		char *end = strchr(line, '\n');

		whole = end != NULL || feof(f);
		if (end)
			*end = '\0';
		if (begins && whole)
			add_line(out, line);
		else if (begins)
			out->bad_lines++;
	}
	if (f)
		fclose(f);
}

uid_t owners_find(const struct owners *owners, uid_t uid)
{
	for (uint32_t i = 0; i < owners->count; i++)
		if (uid >= owners->ranges[i].first &&
		    uid - owners->ranges[i].first < owners->ranges[i].count)
			return owners->ranges[i].owner;
	return uid;
}

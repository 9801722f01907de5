// SPDX-License-Identifier: MIT
#include "scheduler/daemon/config/match.h"

#include <fnmatch.h>
#include <string.h>

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

/* An empty text is an unknown attribute, which no pattern matches. */
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

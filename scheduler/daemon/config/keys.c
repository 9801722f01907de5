// SPDX-License-Identifier: MIT
#include "scheduler/daemon/config/keys.h"

#include <stdio.h>
#include <string.h>

#include "scheduler/daemon/config/value.h"

/* Allowed values; a kind with bounds also has these. */
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

const char *key_allowed(const struct config_key *key, char text[static KEY_ALLOWED])
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

static bool take_condition(struct rule *rule, enum key_kind kind, const char *text)
{
	switch (kind) {
	case KEY_UIDS:
		rule->conditions |= RULE_UID;
		return rules_take_uids(&rule->uids, text);
	case KEY_GIDS:
		rule->conditions |= RULE_GID;
		return rules_take_gids(&rule->gids, text);
	case KEY_CGROUPS:
		rule->conditions |= RULE_CGROUP;
		return rules_take_paths(&rule->cgroups, text);
	case KEY_EXECUTABLES:
		rule->conditions |= RULE_EXECUTABLE;
		return rules_take_paths(&rule->executables, text);
	case KEY_CONTAINERS:
		rule->conditions |= RULE_CONTAINER;
		return rules_take_containers(&rule->containers, text);
	default:
		rule->conditions |= RULE_SHIM;
		return value_yes_no(text, &rule->shim);
	}
}

static bool take_effect(struct rule *rule, const struct config_key *key, const char *text)
{
	uint64_t ns;

	switch (key->kind) {
	case KEY_PRIORITY:
		rule->effects |= RULE_PRIORITY;
		if (strcmp(text, "none") != 0)
			return protocol_priority(text, &rule->priority) == 0;
		rule->priority = PRIORITY_UNSET;
		return true;
	case KEY_LEVEL:
		rule->effects |= RULE_LEVEL;
		return protocol_level(text, &rule->level) == 0;
	case KEY_GROUP:
		rule->effects |= RULE_GROUP;
		return value_name(text, rule->group, sizeof(rule->group));
	default:
		rule->effects |= RULE_SLO;
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

bool key_take(struct config *config, void *target, const struct config_key *key, const char *text)
{
	struct config_node *node = target;

	switch (key->kind) {
	case KEY_TIME:
	case KEY_MICROSECONDS:
	case KEY_COUNT:
	case KEY_PERCENT:
	case KEY_YES_NO:
		return take_figure((char *)config + key->offset, key, text);
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
	case KEY_PRIORITY:
	case KEY_LEVEL:
	case KEY_GROUP:
	case KEY_SLO:
		return take_effect(target, key, text);
	case KEY_LISTEN:
		return value_listen(text, &config->metrics_port);
	case KEY_LOG_LEVEL:
		config->verbose = strcmp(text, "debug") == 0;
		return config->verbose || strcmp(text, "info") == 0;
	default:
		return take_condition(target, key->kind, text);
	}
}
